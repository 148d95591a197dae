// The versions that a statement takes from the deltas of a view, some at a time: the one loop over deltas,
// for scans, counts and aggregates. Shared by threads, which take turns at the deltas' trees; what they do
// with the rows they do at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "table/table_view.h"
#include "table/visibility.h"

namespace hailstone {

/// What one thread has at hand of the deltas' rows.
struct DeltaRows {
  std::vector<DeltaReader::Entry> entries;
  size_t delta = 0;  // the number of the delta in the view that all of them are from
  // Scratch space.
  std::vector<ByteView> encoded;
  std::vector<uint64_t> row_ids;
  std::vector<uint16_t> matching;
};

class DeltaScan {
 public:
  DeltaScan(std::shared_ptr<const TableView> view, const Visibility& visibility)
      : view_(std::move(view)), visibility_(visibility) {}

  /// Replaces the entries of `rows` by the next ones, at most `most`. False: none is left.
  bool next(size_t most, DeltaRows& rows) HAILSTONE_EXCLUDES(mutex_);
  /// How many versions there are, taken or not.
  uint64_t versions() const;

 private:
  const std::shared_ptr<const TableView> view_;
  const Visibility visibility_;
  Mutex mutex_;
  size_t delta_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  bool begun_ HAILSTONE_GUARDED_BY(mutex_) = false;  // that delta
  ByteView last_ HAILSTONE_GUARDED_BY(mutex_);       // key of its entry that was taken last
};

}  // namespace hailstone
