#include "table/segment_statistics.h"

#include <algorithm>
#include <span>

namespace hailstone {

namespace {

/// Of the first 1, 2 … parts of an index.
std::span<const uint64_t> distinct_prefixes(const TableSegment& segment, const TableKeys& keys,
                                            size_t index) {
  return index < keys.first_secondary()
             ? segment.segment->distinct_prefixes()
             : segment.segment->index_distinct_prefixes(index - keys.first_secondary());
}

uint64_t index_bytes(const TableSegment& segment, const TableKeys& keys) {
  // Four bytes a row are what an entry of a secondary index takes at most, but for its samples.
  uint64_t bytes = 0;
  for (size_t i = 0; i < keys.secondary_count(); ++i)
    bytes += uint64_t{segment.segment->index_entries(i)} * sizeof(uint32_t);
  return bytes;
}

/// Where the values of the index's first column are.
SegmentColumns::Location first_column(const TableSegment& segment, const Index& index) {
  return segment.columns.location(index.parts.front().column);
}

}  // namespace

SegmentStatistics::SegmentStatistics(const TableKeys& keys) {
  const auto& indexes = keys.definition().indexes;
  for (size_t i = 0; i < indexes.size(); ++i) {
    Keys& of = indexes_.emplace_back();
    of.parts.resize(keys.codec(i).part_count());
    // The first part of a key is a column, of whose values segments have sketches. Where no value repeats,
    // the sum is exact.
    const bool unique = indexes[i].unique && indexes[i].parts.size() == 1;
    of.is_sketched = indexes[i].parts.front().prefix == 0 && !unique;
  }
}

template <typename Change>
void SegmentStatistics::change(const TableSegment& segment, const TableKeys& keys, const Change& change) {
  const auto& indexes = keys.definition().indexes;
  for (size_t i = 0; i < indexes_.size(); ++i) {
    const auto counts = distinct_prefixes(segment, keys, i);
    Keys& of = indexes_[i];
    for (size_t part = 0; part < std::min(counts.size(), of.parts.size()); ++part)
      change(of.parts[part], counts[part]);
    if (of.is_sketched) change(of, first_column(segment, indexes[i]));
  }
}

void SegmentStatistics::add(const TableSegment& segment, const TableKeys& keys) {
  ++segments_;
  rows_ += segment.rows();
  data_bytes_ += segment.segment->file_bytes();
  index_bytes_ += index_bytes(segment, keys);
  struct Add {
    const TableSegment& segment;
    void operator()(DistinctEstimate& part, uint64_t distinct) const { part.add(distinct, segment.rows()); }
    void operator()(Keys& of, SegmentColumns::Location first) const {
      if (first.kind == SegmentColumns::Location::Kind::Stored) {
        segment.segment->add_distinct(first.position, of.first);
      } else {
        ++of.unsketched;
      }
    }
  };
  change(segment, keys, Add{segment});
}

void SegmentStatistics::take_off(const TableSegment& segment, const TableKeys& keys) noexcept {
  --segments_;
  rows_ -= segment.rows();
  rows_gone_ += segment.rows();
  data_bytes_ -= segment.segment->file_bytes();
  index_bytes_ -= index_bytes(segment, keys);
  struct TakeOff {
    const TableSegment& segment;
    void operator()(DistinctEstimate& part, uint64_t distinct) const {
      part.take_off(distinct, segment.rows());
    }
    void operator()(Keys& of, SegmentColumns::Location first) const {
      if (first.kind != SegmentColumns::Location::Kind::Stored) --of.unsketched;
    }
  };
  change(segment, keys, TakeOff{segment});
}

TableStatistics SegmentStatistics::value() const {
  TableStatistics result;
  result.rows = rows_;
  result.data_bytes = data_bytes_;
  result.index_bytes = index_bytes_;
  result.segments = segments_;
  for (const Keys& of : indexes_) {
    std::vector<uint64_t> distinct;
    for (const DistinctEstimate& part : of.parts) distinct.push_back(part.value());
    if (of.is_sketched && of.unsketched == 0 && !distinct.empty())
      distinct.front() = of.parts.front().value(of.first);
    result.distinct.push_back(std::move(distinct));
  }
  return result;
}

}  // namespace hailstone
