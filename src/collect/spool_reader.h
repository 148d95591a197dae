// Acknowledged records of a spool, one after another, from any that has not been released. One thread, which
// may be another than those of the spool; the spool outlives it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "collect/spool.h"
#include "collect/spool_scan.h"

namespace hailstone {

class SpoolReader {
 public:
  /// Begins behind the first `sequence` records.
  SpoolReader(const Spool& spool, uint64_t sequence) : spool_(spool), sequence_(sequence) {}

  /// The next record, valid until the next call. False: there is none for now. ErrorCode::Corruption, and
  /// ErrorCode::NotFound for a record that has been released.
  Result<bool> next(ByteView& record);
  /// Records of the spool before the next one.
  uint64_t sequence() const { return sequence_; }
  /// Records of the spool before the end of the last record's frame: another number for each frame, never 0.
  uint64_t frame_end() const { return scan_ ? scan_->sequence() : 0; }
  /// The positions that came with the last record's frame.
  const SourcePositions& frame_positions() const { return frame_positions_; }
  /// All positions, as they were behind the last record's frame.
  const SourcePositions& positions() const { return positions_; }

 private:
  /// Brings the frame that has the next record.
  Result<bool> next_frame();

  const Spool& spool_;
  uint64_t sequence_;
  std::optional<SpoolFileScan> scan_;
  SourcePositions frame_positions_, positions_;
  std::optional<SpoolRecords> records_;  // those of the frame that have not been given out
};

}  // namespace hailstone
