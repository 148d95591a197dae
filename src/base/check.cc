#include "base/check.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/mutex.h"

namespace hailstone {
namespace {

struct Handlers {
  struct Each {
    CheckHandler handler = nullptr;
    void* context = nullptr;
  };
  Mutex mutex;
  std::array<Each, 16> all HAILSTONE_GUARDED_BY(mutex);
};
Handlers& handlers() {
  // Never destroyed: a check may fail at the very end of the process.
  static Handlers& the_handlers = *new Handlers;
  return the_handlers;
}

}  // namespace

void add_check_handler(CheckHandler handler, void* context) {
  Handlers& list = handlers();
  const MutexLock guard(list.mutex);
  for (auto& each : list.all) {
    if (each.handler != nullptr) continue;
    each = {handler, context};
    return;
  }
}

void remove_check_handler(void* context) {
  Handlers& list = handlers();
  const MutexLock guard(list.mutex);
  for (auto& each : list.all) {
    if (each.handler != nullptr && each.context == context) each = {};
  }
}

void check_failed(const char* file, int line, const char* condition, std::string_view state) {
  char message[1000];
  std::snprintf(message, sizeof message,
                "%s:%d: an invariant of Hailstone does not hold: %s%s%.*s; the process ends, and what was "
                "committed is there when the database is opened again",
                file, line, condition, state.empty() ? "" : ": ", static_cast<int>(state.size()),
                state.data());
  std::array<Handlers::Each, 16> told;
  {
    Handlers& list = handlers();
    const MutexLock guard(list.mutex);
    told = list.all;
  }
  bool any = false;
  for (const auto& each : told) {
    if (each.handler == nullptr) continue;
    any = true;
    each.handler(each.context, message);
  }
  if (!any) std::fprintf(stderr, "%s\n", message);
  std::abort();
}

}  // namespace hailstone
