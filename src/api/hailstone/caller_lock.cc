#include "api/hailstone/caller_lock.h"

#include <utility>

#include "base/check.h"

namespace hailstone::capi {

CallerLock::~CallerLock() {
  HAILSTONE_CHECK(owner_.load() == 0, "a transaction goes while a call is in it, {} deep", depth_);
}

uintptr_t CallerLock::this_thread() {
  thread_local char of_this_thread;
  return reinterpret_cast<uintptr_t>(&of_this_thread);
}

bool CallerLock::try_enter(uintptr_t thread) {
  uintptr_t nobody = 0;
  if (!owner_.compare_exchange_strong(nobody, thread)) return false;
  depth_ = 1;
  return true;
}

void CallerLock::enter() {
  const uintptr_t thread = this_thread();
  if (owner_.load(std::memory_order_relaxed) == thread) {
    ++depth_;
    return;
  }
  if (try_enter(thread)) [[likely]]
    return;
  const MutexLock guard(mutex_);
  ++waiting_;
  for (;;) {
    wanted_.store(true);
    if (try_enter(thread)) break;
    left_.wait(mutex_);
  }
  --waiting_;
}

void CallerLock::leave() noexcept {
  if (depth_ > 1) {
    --depth_;
    return;
  }
  owner_.store(0);
  if (wanted_.load()) [[unlikely]]
    destroy_discarded();
}

void CallerLock::discard(std::unique_ptr<Guarded> part) noexcept {
  if (part == nullptr) return;
  {
    const MutexLock guard(mutex_);
    part->next_ = std::move(discarded_);
    discarded_ = std::move(part);
  }
  wanted_.store(true);
  destroy_discarded();
}

void CallerLock::destroy_discarded() noexcept {
  const uintptr_t thread = this_thread();
  // The thread that is in destroys what is discarded before it leaves for good; a thread that discards in the
  // midst of a call of its own is such a thread.
  while (wanted_.load() && owner_.load(std::memory_order_relaxed) != thread && try_enter(thread)) {
    std::unique_ptr<Guarded> list;
    {
      const MutexLock guard(mutex_);
      list = std::move(discarded_);
      wanted_.store(waiting_ > 0);
    }
    while (list != nullptr) list = std::move(list->next_);
    owner_.store(0);
    const MutexLock guard(mutex_);
    if (waiting_ == 0) continue;
    left_.notify_one();
    return;
  }
}

}  // namespace hailstone::capi
