// Handles that C programs hold: objects of pools, each beginning with a magic number, so that NULL, a handle
// of another kind and one that was given back are told from a good one without a crash. Memory of handles
// never goes back to the system while the process lives, and one given back is used again only after many
// others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/guard.h"
#include "base/mutex.h"

namespace hailstone::haildb {

struct Handle {
  uint32_t magic = 0;  // of its kind while in use, else 0
};

/// `T` derives from Handle, has `static constexpr uint32_t kind` and `void clear()`, which frees what it
/// holds. Thread-safe; handles themselves are not.
template <typename T>
class HandlePool {
 public:
  T* take() {
    const MutexLock guard(mutex_);
    T* handle = nullptr;
    if (free_.size() > kept_apart) {
      handle = free_.front();
      free_.pop_front();
    } else {
      handle = all_.emplace_back(std::make_unique<T>()).get();
    }
    handle->magic = T::kind;
    return handle;
  }
  void give_back(T* handle) {
    handle->clear();
    const MutexLock guard(mutex_);
    handle->magic = 0;
    // Without memory it is not used again.
    try_to([&]() HAILSTONE_REQUIRES(mutex_) { free_.push_back(handle); });
  }
  /// Those in use. Nobody may take or give back handles meanwhile.
  std::vector<T*> in_use() {
    const MutexLock guard(mutex_);
    std::vector<T*> used;
    for (const auto& handle : all_) {
      if (handle->magic == T::kind) used.push_back(handle.get());
    }
    return used;
  }

 private:
  static constexpr size_t kept_apart = 512;
  Mutex mutex_;
  std::vector<std::unique_ptr<T>> all_ HAILSTONE_GUARDED_BY(mutex_);
  std::deque<T*> free_ HAILSTONE_GUARDED_BY(mutex_);
};

/// Whether `handle` is one of T in use.
template <typename T>
bool good(const T* handle) {
  return handle != nullptr && handle->magic == T::kind;
}

}  // namespace hailstone::haildb
