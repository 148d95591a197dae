// What is gathered for one append to a spool: records, and where their sources stand behind them. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "collect/spool_format.h"

namespace hailstone {

class SpoolFrame {
 public:
  void add(ByteView record) {
    bytes_.resize(record_end_);  // without the positions that encoded() may have put there
    append_string(bytes_, record);
    record_end_ = bytes_.size();
    ++records_;
  }
  /// Where a source stands when the records added so far are in the spool; empty: nothing is known of it any
  /// more.
  void set_position(const std::string& source, std::string position) {
    positions_.insert_or_assign(source, std::move(position));
  }
  uint32_t records() const { return records_; }
  const SourcePositions& positions() const { return positions_; }
  /// Of records.
  size_t bytes() const { return record_end_ - spool_frame_header_size; }
  bool empty() const { return records_ == 0 && positions_.empty(); }
  void clear() {
    bytes_.resize(spool_frame_header_size);
    record_end_ = spool_frame_header_size;
    records_ = 0;
    positions_.clear();
  }

  /// All bytes of the frame; `sequence` and `durable` as in SpoolFrameHeader. Valid until the next change.
  ByteView encoded(const SpoolPlace& place, uint64_t sequence, uint64_t durable);
  /// What encoded() gives at most.
  size_t encoded_bytes() const;

 private:
  std::string bytes_ = std::string(spool_frame_header_size, '\0');  // the header's place, then records
  size_t record_end_ = spool_frame_header_size;
  uint32_t records_ = 0;
  SourcePositions positions_;
};

}  // namespace hailstone
