// Lets one thread at a time into a transaction and what was made from it. The thread that is in may come in
// again, from a function that the library calls in the midst (an Arrow stream that a load reads, which may be
// a scan of the same transaction).
//
// What must go while another thread is in is left to that thread: discard() never waits, so that whoever
// drops a cursor or a stream may hold locks of the application, such as Python's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"

namespace hailstone::capi {

/// A part of the engine that only the thread that is in may touch, and destroy.
class Guarded {
 public:
  virtual ~Guarded() = default;
  Guarded() = default;
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  friend class CallerLock;
  std::unique_ptr<Guarded> next_;  // in the list of those to be destroyed
};

class CallerLock {
 public:
  CallerLock() = default;
  CallerLock(const CallerLock&) = delete;
  CallerLock& operator=(const CallerLock&) = delete;
  ~CallerLock();

  /// Waits until no other thread is in.
  void enter();
  void leave() noexcept;
  /// How often the calling thread, which is in, has come in.
  unsigned depth() const { return depth_; }
  /// Destroys it now, or when the thread that is in leaves.
  void discard(std::unique_ptr<Guarded> part) noexcept;

 private:
  static uintptr_t this_thread();
  bool try_enter(uintptr_t thread);
  void destroy_discarded() noexcept;

  std::atomic<uintptr_t> owner_{0};  // 0: nobody is in
  unsigned depth_ = 0;               // the owner's
  /// Somebody waits, or something is to be destroyed. Whoever sets it tries to come in afterwards, and
  /// whoever leaves looks at it afterwards, so that one of the two sees the other.
  std::atomic<bool> wanted_{false};
  Mutex mutex_;
  Condition left_;
  unsigned waiting_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Guarded> discarded_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone::capi
