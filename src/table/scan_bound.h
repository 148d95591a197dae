// What a consumer of a scan has learnt of the rows that it still wants while the scan goes on: none whose
// value of one column lies behind a bound. So the scan passes by blocks, by their summaries alone.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "column/segment_columns.h"

namespace hailstone {

class ScanBound {
 public:
  /// Of an Integer column of the table; `descending`: rows below the bound are not wanted, nor those with
  /// NULL, else those above it. `scaled`: the bound's values are the scaled numbers of the column's decimals.
  ScanBound(uint16_t column, bool descending, std::optional<DecimalFormat> scaled = {})
      : column_(column), descending_(descending), scaled_(scaled), value_(descending ? 0 : ~uint64_t{0}) {}

  bool descending() const { return descending_; }
  /// Values behind `ordered` are not wanted any more; that value itself still is.
  void tighten(uint64_t ordered) {
    if (scaled_) {
      // The summaries of longer ones are not compared.
      if (!scaled_->is_integer()) return;
      scaled_->pack({&ordered, 1}, &ordered);
    }
    uint64_t now = value_.load(std::memory_order_relaxed);
    while ((descending_ ? ordered > now : ordered < now) &&
           !value_.compare_exchange_weak(now, ordered, std::memory_order_relaxed)) {
    }
  }
  bool excludes(const SegmentColumns& columns, uint32_t block) const {
    const uint64_t value = value_.load(std::memory_order_relaxed);
    if (value == (descending_ ? 0 : ~uint64_t{0})) return false;
    const SegmentColumns::Location location = columns.location(column_);
    if (location.kind != SegmentColumns::Location::Kind::Stored) return false;
    const BlockSummary summary = columns.segment().summary(location.position, block);
    if (summary.nulls == summary.rows) return descending_;
    return descending_ ? summary.high < value : summary.nulls == 0 && summary.low > value;
  }

 private:
  const uint16_t column_;
  const bool descending_;
  const std::optional<DecimalFormat> scaled_;
  std::atomic<uint64_t> value_;
};

}  // namespace hailstone
