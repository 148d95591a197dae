// The snapshots in use at an instant: which versions of rows somebody may still see. An idle snapshot from
// long ago keeps the one version of each row that it sees, not all versions that came after it. Immutable.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/timestamp.h"

namespace hailstone {

class SnapshotsInUse {
 public:
  /// `reads`: what the snapshots read, ascending. `newest`: the last commit; snapshots taken later read it or
  /// a later one.
  SnapshotsInUse(std::vector<Timestamp> reads, Timestamp newest)
      : reads_(std::move(reads)), newest_(newest) {}

  /// No snapshot in use, nor any taken later, reads before this.
  Timestamp oldest() const { return reads_.empty() ? newest_ : reads_.front(); }

  /// Whether a snapshot sees, or may come to see, a version with this end that began at `begin` or later. An
  /// end that is a marker or infinity may always be seen.
  bool may_see(Timestamp begin, Timestamp end) const {
    if (end > newest_) return true;
    const auto first = std::lower_bound(reads_.begin(), reads_.end(), begin);
    return first != reads_.end() && *first < end;
  }

  /// The earliest end that nobody can tell from `end`: every snapshot takes both for ended, or neither.
  Timestamp same_end(Timestamp end) const {
    if (end > newest_) return end;
    const auto behind = std::lower_bound(reads_.begin(), reads_.end(), end);
    return behind == reads_.begin() ? 0 : *std::prev(behind) + 1;
  }

 private:
  std::vector<Timestamp> reads_;
  Timestamp newest_;
};

}  // namespace hailstone
