// Invariants that are checked in every build. One that does not hold is a mistake in this library: what it
// would do next is unknown, so the process ends before it does more. Those who asked for it are told first:
// file, line, the condition, and the state that the check names.
//
//   HAILSTONE_CHECK(changes < capacity);
//   HAILSTONE_CHECK(changes < capacity, "transaction {} has {} changes", id, changes);
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace hailstone {

/// Told of a check that failed, on the thread that met it, with any mutex held: it must not call the library.
/// The process ends when it returns.
using CheckHandler = void (*)(void* context, const char* message);

/// Kept until remove_check_handler() with the same context; at most 16 at a time, more are not told.
/// Thread-safe.
void add_check_handler(CheckHandler handler, void* context);
void remove_check_handler(void* context);

/// Needs no memory.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view state);

/// What a check that failed calls with the state that it names.
struct FailedCheck {
  const char* file;
  int line;
  const char* condition;

  template <typename... Values>
  [[noreturn]] [[gnu::cold, gnu::noinline]] void end(fmt::format_string<Values...> format,
                                                     Values&&... values) const {
    char state[400];
    const auto written = fmt::format_to_n(state, sizeof state, format, std::forward<Values>(values)...);
    check_failed(file, line, condition, {state, static_cast<size_t>(written.out - state)});
  }
  [[noreturn]] [[gnu::cold, gnu::noinline]] void end() const { check_failed(file, line, condition, {}); }
};

}  // namespace hailstone

#define HAILSTONE_CHECK(condition, ...)                                          \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::hailstone::FailedCheck(__FILE__, __LINE__, #condition).end(__VA_ARGS__); \
  } while (false)
