// What a thread that looks up one key after the other keeps of the segments that it meets: the blocks, the
// pieces of their filters. Belongs to one thread, which lets go of it when it has no more keys to look up.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "segment/filter_pins.h"
#include "table/key_search.h"
#include "table/table_view.h"

namespace hailstone {

class SegmentReaders {
 public:
  /// Those that read rows pin the block of each column that they read last. Few do: a key is looked for in
  /// some tens of segments (table/merge.cc), most of which their filters rule out.
  static constexpr size_t most_row_readers = 128;
  explicit SegmentReaders(std::shared_ptr<const TableKeys> keys,
                          size_t most_that_read_rows = most_row_readers)
      : keys_(std::move(keys)), most_that_read_rows_(most_that_read_rows) {}
  SegmentReaders(const SegmentReaders&) = delete;
  SegmentReaders& operator=(const SegmentReaders&) = delete;

  /// Of one segment. Most segments are ruled out by their filters: what reads rows is made when it is needed.
  class Reader {
   public:
    Reader(std::shared_ptr<TableSegment> segment, SegmentReaders& all)
        : segment_(std::move(segment)), all_(all) {}
    const TableSegment* segment() const { return segment_.get(); }
    /// These two are valid until rows of many other segments have been read.
    SegmentKeys& keys();
    BlockReader& blocks();
    FilterPins& filter() { return filter_; }
    const FilterPins& filter() const { return filter_; }
    FilterPins& filter_of_index(size_t secondary) {
      while (index_filters_.size() <= secondary) index_filters_.emplace_back();
      return index_filters_[secondary];
    }

   private:
    friend class SegmentReaders;
    bool reads_rows() const { return keys_ || blocks_; }
    void let_go_of_rows() {
      keys_.reset();
      blocks_.reset();
    }

    const std::shared_ptr<TableSegment> segment_;
    SegmentReaders& all_;
    FilterPins filter_;
    std::deque<FilterPins> index_filters_;  // by secondary index
    std::optional<SegmentKeys> keys_;
    std::optional<BlockReader> blocks_;  // of values
  };
  /// Valid until the next call.
  Reader& of(const std::shared_ptr<TableSegment>& segment);
  /// The segments of this view follow: one that is no longer there is let go of, file and all.
  void follow(const TableView& view);
  /// The same as of(), of a segment of that view.
  Reader& at(const TableView& view, uint32_t position);
  /// Whether it is known that a segment of that view, by its position there, has no row with this clustered
  /// key: its hash_bytes().
  bool is_ruled_out(uint32_t segment, uint64_t hash) const {
    const Reader* const reader = by_position_[segment];
    return reader != nullptr && !reader->filter().admits(hash).value_or(true);
  }
  /// is_ruled_out() is going to be asked, of some segments: what it reads lies anywhere in memory.
  void prefetch(uint32_t segment, uint64_t hash) const {
    if (const Reader* const reader = by_position_[segment]) reader->filter().prefetch(hash);
  }

 private:
  void clear();
  /// For one more reader of rows.
  void make_room_for_rows();

  const std::shared_ptr<const TableKeys> keys_;
  const size_t most_that_read_rows_;
  std::shared_ptr<const SegmentOrders> orders_;  // of the view that was followed last
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<Reader*> by_position_;  // in that view; null: there is none
  size_t last_ = 0;
  size_t row_readers_ = 0;  // how many readers read rows
};

/// Rows [first, last) of the segment that have exactly this clustered key; empty when it has none.
struct OrdinalRange {
  uint32_t first = 0, last = 0;
  bool empty() const { return first == last; }
};
/// `hash`: hash_bytes(key). `reader`: null where no other key is looked up.
Result<OrdinalRange> find_clustered(const TableSegment& segment, const TableKeys& keys, ByteView key,
                                    uint64_t hash, Counters& counters, SegmentReaders::Reader* reader);

}  // namespace hailstone
