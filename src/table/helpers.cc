#include "table/helpers.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/processor_turns.h"

namespace hailstone {

namespace {

/// A helper that starts after the work was done finds it closed and touches nothing else.
struct Helpers {
  Mutex mutex;
  Condition changed;
  bool closed HAILSTONE_GUARDED_BY(mutex) = false;
  unsigned running HAILSTONE_GUARDED_BY(mutex) = 0;
};

constexpr std::chrono::milliseconds between_looks(20);

}  // namespace

void run_with_helpers(TableHost& host, unsigned threads, const std::function<void(unsigned part)>& work,
                      const std::function<void()>& waiting) {
  const auto helpers = std::make_shared<Helpers>();
  const std::thread::id caller = std::this_thread::get_id();
  ProcessorTurns* const turns = host.processor_turns();
  for (unsigned part = 1; part < threads; ++part) {
    if (turns != nullptr && !turns->has_free()) break;
    const auto help = [helpers, &work, part, caller, turns] {
      // No thread was free, and the host has this one do it at once: it has a part of its own to do.
      if (std::this_thread::get_id() == caller) return;
      std::optional<ProcessorTurns::Work> turn;
      if (turns != nullptr && !turn.emplace(*turns, ProcessorTurns::Begin::IfFree).begun()) return;
      {
        const MutexLock guard(helpers->mutex);
        if (helpers->closed) return;
        ++helpers->running;
      }
      work(part);
      const MutexLock guard(helpers->mutex);
      --helpers->running;
      helpers->changed.notify_all();
    };
    // Without memory for a helper the others do its share.
    try_to([&] { host.run(help); });
  }
  work(0);
  const MutexLock guard(helpers->mutex);
  helpers->closed = true;
  if (helpers->running != 0) ProcessorTurns::pause();
  while (helpers->running != 0) {
    if (helpers->changed.wait_for(helpers->mutex, between_looks)) continue;
    const MutexUnlock unlocked(helpers->mutex);
    waiting();
  }
}

}  // namespace hailstone
