// What the segments of a table's view say of themselves, summed up: rows, bytes, different keys. A segment
// that comes is added, one that goes is taken off, so that another view costs no look at the other segments.
// What cannot be taken off (which values there are) stays as it was until the segments that went had as many
// rows as those that are there; then another one is to be made.
//
// Belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "segment/distinct_sketch.h"
#include "table/places.h"
#include "table/table.h"
#include "table/table_keys.h"

namespace hailstone {

/// Distinct values over several segments, of which each knows its own number: between the greatest (all have
/// the same values) and the sum (none has values of another); nearer to the sum the more distinct the values
/// are.
class DistinctEstimate {
 public:
  void add(uint64_t distinct, uint64_t rows) {
    greatest_ = std::max(greatest_, distinct);
    sum_ += distinct;
    rows_ += rows;
  }
  /// What was added; the greatest number stays.
  void take_off(uint64_t distinct, uint64_t rows) {
    sum_ -= distinct;
    rows_ -= rows;
  }
  /// With what a sketch of all values says.
  uint64_t value(const DistinctSketch& sketch) const {
    return std::clamp(sketch.estimate(), std::min(greatest_, sum_), sum_);
  }
  uint64_t value() const {
    if (rows_ == 0) return 0;
    const uint64_t greatest = std::min(greatest_, sum_);
    const double share = static_cast<double>(sum_) / static_cast<double>(rows_);
    return greatest + static_cast<uint64_t>(static_cast<double>(sum_ - greatest) * share);
  }

 private:
  uint64_t greatest_ = 0, sum_ = 0, rows_ = 0;
};

class SegmentStatistics {
 public:
  /// Of no segment.
  explicit SegmentStatistics(const TableKeys& keys);
  void add(const TableSegment& segment, const TableKeys& keys);
  /// What was added. Needs no memory.
  void take_off(const TableSegment& segment, const TableKeys& keys) noexcept;
  /// Whether so much was taken off that another one is to be made.
  bool is_worn() const { return rows_gone_ > rows_; }
  /// Of rows that have an end, too.
  TableStatistics value() const;

 private:
  /// Of an index.
  struct Keys {
    std::vector<DistinctEstimate> parts;
    DistinctSketch first;     // of the first part
    uint64_t unsketched = 0;  // segments that do not know the values of the first part
    bool is_sketched = false;
  };
  template <typename Change>
  void change(const TableSegment& segment, const TableKeys& keys, const Change& change);

  uint64_t segments_ = 0, rows_ = 0, data_bytes_ = 0, index_bytes_ = 0;
  uint64_t rows_gone_ = 0;
  std::vector<Keys> indexes_;
};

}  // namespace hailstone
