#include "collect/spool_reader.h"

namespace hailstone {

Result<bool> SpoolReader::next(ByteView& record) {
  for (;;) {
    if (records_ && records_->next(record)) {
      ++sequence_;
      return true;
    }
    if (records_ && (!records_->is_whole() || sequence_ != scan_->sequence())) {
      return scan_->damaged("a frame has other records than its header says");
    }
    HAILSTONE_ASSIGN(const bool found, next_frame());
    if (!found) return false;
  }
}

Result<bool> SpoolReader::next_frame() {
  records_.reset();
  // Before anything has been appended there are no files.
  if (spool_.state().end == sequence_) return false;
  HAILSTONE_ASSIGN(const Spool::FileExtent extent, spool_.file_of(sequence_));
  if (!scan_ || scan_->header().number != extent.number) {
    HAILSTONE_ASSIGN(scan_,
                     SpoolFileScan::open(spool_.filesystem(), spool_.path_of(extent.number), extent.number));
    positions_ = scan_->header().positions;
  }
  for (;;) {
    const uint64_t before = scan_->sequence();
    HAILSTONE_ASSIGN(const bool found, scan_->next(extent.bytes));
    if (!found) return scan_->damaged("a frame is damaged that had been synced");
    frame_positions_.clear();
    if (!take_positions(scan_->positions(), frame_positions_) ||
        !take_positions(scan_->positions(), positions_)) {
      return scan_->damaged("a frame's positions are damaged");
    }
    if (scan_->sequence() <= sequence_) continue;
    records_.emplace(scan_->records());
    ByteView passed;
    for (uint64_t at = before; at < sequence_; ++at) {
      if (!records_->next(passed)) return scan_->damaged("a frame has other records than its header says");
    }
    return true;
  }
}

}  // namespace hailstone
