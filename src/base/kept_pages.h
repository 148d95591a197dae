// Huge pages that were given back, kept for who needs such soon: fresh ones from the system cost more than it
// takes to fill them; where the machine is a virtual one, whose host takes free memory away, a second for a
// gigabyte. Pages are kept while the process has a KeptPages::User, a database mostly, within what its
// MemoryBudget has left, and go once nobody has needed them for 10 to 20 seconds. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>

#include "base/mutex.h"

namespace hailstone {

constexpr size_t huge_page_bytes = size_t{2} << 20;

class KeptPages {
 public:
  class User {
   public:
    User() noexcept;
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;
  };
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds time_to_keep{10};

  static KeptPages& of_process();

  /// What is kept, in bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Pages for so many bytes, at least huge_page_bytes, of those that are kept or fresh; they begin at a
  /// multiple of that and are not cleared. Throws std::bad_alloc.
  void* take(size_t bytes);
  /// Takes back what take() gave for so many bytes.
  void put(void* pages, size_t bytes) noexcept;
  /// Gives at least so many bytes back to the system, or all there are.
  void release(size_t bytes) noexcept;
  /// Gives back what nobody has needed since the call before. Does nothing until time_to_keep after that.
  void release_idle(Clock::time_point now) noexcept;

 private:
  using Pieces = std::map<char*, size_t>;  // whole huge pages; no two are neighbours

  KeptPages() = default;
  char* take_kept(size_t bytes) noexcept;
  bool keep(char* pages, size_t bytes) noexcept;
  void set_bytes(size_t bytes) HAILSTONE_REQUIRES(mutex_);

  std::atomic<size_t> bytes_{0};
  Mutex mutex_;
  Pieces pieces_ HAILSTONE_GUARDED_BY(mutex_);
  size_t users_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  size_t least_ HAILSTONE_GUARDED_BY(mutex_) = 0;  // that were kept since the last look for idle ones
  Clock::time_point next_look_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
