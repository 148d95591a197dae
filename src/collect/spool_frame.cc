#include "collect/spool_frame.h"

#include "base/check.h"
#include "base/hash.h"

namespace hailstone {

ByteView SpoolFrame::encoded(const SpoolPlace& place, uint64_t sequence, uint64_t durable) {
  bytes_.resize(record_end_);
  append_positions(bytes_, positions_);
  const ByteView body = ByteView(bytes_).substr(spool_frame_header_size);
  HAILSTONE_CHECK(body.size() <= ~uint32_t{0}, "a frame of {} bytes", body.size());
  encode({.body_bytes = static_cast<uint32_t>(body.size()),
          .records = records_,
          .sequence = sequence,
          .record_bytes = static_cast<uint32_t>(record_end_ - spool_frame_header_size),
          .durable = durable,
          .body_checksum = checksum(body)},
         place, bytes_.data());
  return bytes_;
}

size_t SpoolFrame::encoded_bytes() const {
  size_t size = record_end_;
  for (const auto& [source, position] : positions_) size += source.size() + position.size() + 20;
  return size;
}

}  // namespace hailstone
