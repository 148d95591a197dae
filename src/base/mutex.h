// Mutexes whose contracts the compiler checks: std's own, with the attributes of clang's thread safety
// analysis. A member says which mutex guards it, a function which mutex its caller holds, and `./run lint`
// refuses code that breaks either. Other compilers see std's types only. A mutex may tell how long it is held
// (base/held_time.h); else nothing here costs more than std's.
//
// The analysis goes by the names of things: it takes `a.mutex` and `b.mutex` for two even where b is a
// reference to a. So a function locks by the name that it goes on to use. It looks into no function that it
// calls: a callback that runs under a mutex says so itself, behind its parameters.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/held_time.h"

#ifdef __clang__
#define HAILSTONE_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define HAILSTONE_ATTRIBUTE(...)
#endif

// Of a type: it can be held, or holds something as long as it lives.
#define HAILSTONE_CAPABILITY(name) HAILSTONE_ATTRIBUTE(capability(name))
#define HAILSTONE_SCOPED_CAPABILITY HAILSTONE_ATTRIBUTE(scoped_lockable)
// Of a member: it is read with the mutex held, and written with the mutex held exclusively.
#define HAILSTONE_GUARDED_BY(...) HAILSTONE_ATTRIBUTE(guarded_by(__VA_ARGS__))
// Of a function: the caller holds the mutex (exclusively, shared, not at all).
#define HAILSTONE_REQUIRES(...) HAILSTONE_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define HAILSTONE_REQUIRES_SHARED(...) HAILSTONE_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define HAILSTONE_EXCLUDES(...) HAILSTONE_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// Of a function: it takes or releases the mutex.
#define HAILSTONE_ACQUIRE(...) HAILSTONE_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define HAILSTONE_ACQUIRE_SHARED(...) HAILSTONE_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define HAILSTONE_TRY_ACQUIRE(...) HAILSTONE_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define HAILSTONE_RELEASE(...) HAILSTONE_ATTRIBUTE(release_capability(__VA_ARGS__))
#define HAILSTONE_RELEASE_SHARED(...) HAILSTONE_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
// Of a function: it gives the mutex by a reference, as what goes by this name in contracts. Where many
// objects share a mutex by pointers of their own, that is a variable which is declared, never defined.
#define HAILSTONE_RETURN_CAPABILITY(...) HAILSTONE_ATTRIBUTE(lock_returned(__VA_ARGS__))
// Of a function that the analysis cannot follow; a comment says why it is right.
#define HAILSTONE_NO_THREAD_SAFETY_ANALYSIS HAILSTONE_ATTRIBUTE(no_thread_safety_analysis)

namespace hailstone {

class HAILSTONE_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  /// `held`: is told of each hold; outlives the mutex.
  explicit constexpr Mutex(HeldTime& held) : held_(&held) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() HAILSTONE_ACQUIRE() {
    mutex_.lock();
    note_begin();
  }
  /// A caller that gets true makes a MutexLock with std::adopt_lock.
  [[nodiscard]] bool try_lock() HAILSTONE_TRY_ACQUIRE(true) {
    const bool locked = mutex_.try_lock();
    if (locked) note_begin();
    return locked;
  }
  void unlock() HAILSTONE_RELEASE() {
    note_end();
    mutex_.unlock();
  }

 private:
  friend class Condition;
  void note_begin() noexcept {
    if (held_ != nullptr) held_->begin();
  }
  void note_end() noexcept {
    if (held_ != nullptr) held_->end();
  }

  std::mutex mutex_;
  HeldTime* held_ = nullptr;
};

/// Holds a mutex as long as it lives.
class HAILSTONE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HAILSTONE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// Takes over a mutex that the caller holds.
  MutexLock(Mutex& mutex, std::adopt_lock_t) HAILSTONE_REQUIRES(mutex) : mutex_(mutex) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() HAILSTONE_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// Gives a mutex that the caller holds to others as long as it lives.
class HAILSTONE_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) HAILSTONE_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;
  ~MutexUnlock() HAILSTONE_RELEASE() { mutex_.lock(); }

 private:
  Mutex& mutex_;
};

/// A condition variable. A wait gives up the mutex while it sleeps, and may end without a reason, so each is
/// in a loop that looks at what it waits for. There is no form that takes a function to ask: the analysis
/// would not know that it runs with the mutex held.
class Condition {
 public:
  void wait(Mutex& mutex) HAILSTONE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    mutex.note_end();
    changed_.wait(lock);
    mutex.note_begin();
    lock.release();
  }
  /// False: the time has passed.
  template <typename Clock, typename Duration>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> time) HAILSTONE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    mutex.note_end();
    const std::cv_status status = changed_.wait_until(lock, time);
    mutex.note_begin();
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  template <typename Rep, typename Period>
  bool wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> time) HAILSTONE_REQUIRES(mutex) {
    return wait_until(mutex, std::chrono::steady_clock::now() + time);
  }
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

class HAILSTONE_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() HAILSTONE_ACQUIRE() { mutex_.lock(); }
  /// A caller that gets true makes an ExclusiveLock with std::adopt_lock.
  [[nodiscard]] bool try_lock() HAILSTONE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() HAILSTONE_RELEASE() { mutex_.unlock(); }
  void lock_shared() HAILSTONE_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() HAILSTONE_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a shared mutex exclusively as long as it lives.
class HAILSTONE_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) HAILSTONE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// Takes over a mutex that the caller holds.
  ExclusiveLock(SharedMutex& mutex, std::adopt_lock_t) HAILSTONE_REQUIRES(mutex) : mutex_(mutex) {}
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;
  ~ExclusiveLock() HAILSTONE_RELEASE() { mutex_.unlock(); }

 private:
  SharedMutex& mutex_;
};

/// Holds a shared mutex beside others that do so, as long as it lives.
class HAILSTONE_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) HAILSTONE_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  ~SharedLock() HAILSTONE_RELEASE() { mutex_.unlock_shared(); }

 private:
  SharedMutex& mutex_;
};

}  // namespace hailstone
