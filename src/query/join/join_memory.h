// What the tables of all joins of a statement may take of memory together. Those that need little leave the
// rest to the others, as far as each of these has its part of a half. Thread-safe; the joins share it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/mutex.h"

namespace hailstone {

class JoinMemory {
 public:
  /// `most`: bytes; `floor`: those that the tables can count on, whatever others take.
  JoinMemory(size_t most, size_t joins, size_t floor = 0)
      : most_(most),
        promised_(most / 2 / std::max<size_t>(joins, 1)),
        least_(std::max(least_of_table, floor / std::max<size_t>(joins, 1))),
        open_(joins) {}

  /// Bytes that each table may have, however short memory is.
  size_t least() const { return least_; }
  /// So little is allowed that no table stays in memory while rows are looked up: all go to files.
  bool is_none() const { return most_ < least_of_table; }
  /// For one of the tables that are not settled, which has taken `held` bytes. False: it may not have more.
  [[nodiscard]] bool try_take(size_t held, size_t by) {
    const MutexLock guard(mutex_);
    const size_t of_others = open_ < 2 ? 0 : (open_ - 1) * promised_;
    if (is_none()) return false;
    if (held + by > least_ && taken_ + by + of_others > most_) return false;
    taken_ += by;
    return true;
  }
  void give_back(size_t bytes) {
    const MutexLock guard(mutex_);
    taken_ -= bytes;
  }
  /// A table takes no more.
  void settle() {
    const MutexLock guard(mutex_);
    --open_;
  }

 private:
  static constexpr size_t least_of_table = size_t{64} << 10;

  const size_t most_;
  const size_t promised_;  // to each table that is not settled
  const size_t least_;
  Mutex mutex_;
  size_t open_ HAILSTONE_GUARDED_BY(mutex_);  // not settled yet
  size_t taken_ HAILSTONE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hailstone
