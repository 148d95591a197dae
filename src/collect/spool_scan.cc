#include "collect/spool_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/version.h"

namespace hailstone {

Result<SpoolFileScan> SpoolFileScan::open(Filesystem& filesystem, const std::string& path, uint64_t number) {
  SpoolFileScan scan;
  HAILSTONE_ASSIGN(scan.file_, filesystem.open_plain(path));
  HAILSTONE_ASSIGN(scan.size_, scan.file_->size());
  std::string bytes(std::min<uint64_t>(scan.size_, spool_file_header_size), '\0');
  HAILSTONE_TRY(scan.file_->read_at(0, bytes.size(), bytes.data()));
  if (const auto format = unknown_spool_format(bytes)) {
    return fail(ErrorCode::Unsupported,
                fmt::format("spool file '{}' {}; nothing was changed", path, unknown_format(*format)));
  }
  const auto extent = spool_file_header_extent(bytes);
  if (!extent || *extent > scan.size_) return scan.damaged("the file has no intact header");
  bytes.resize(*extent);
  HAILSTONE_TRY(scan.file_->read_at(0, bytes.size(), bytes.data()));
  size_t header_bytes = 0;
  auto header = decode_spool_file_header(bytes, header_bytes);
  if (!header) return scan.damaged("the file has no intact header");
  scan.header_ = std::move(*header);
  if (scan.header_.number != number) {
    return scan.damaged(fmt::format("the file's header is that of file {}", scan.header_.number));
  }
  scan.offset_ = scan.proven_ = header_bytes;
  scan.sequence_ = scan.header_.sequence;
  return scan;
}

std::unexpected<Error> SpoolFileScan::damaged(const std::string& what) const {
  return fail(
      ErrorCode::Corruption,
      fmt::format("{}: {} (offset {}); if the file cannot be brought back, move the spool's directory "
                  "away: a new spool begins, and what was not delivered of this one is lost",
                  file_->path(), what, offset_));
}

Result<bool> SpoolFileScan::next(uint64_t end) {
  if (end < offset_ || end - offset_ < spool_frame_header_size) return false;
  char bytes[spool_frame_header_size];
  HAILSTONE_TRY(file_->read_at(offset_, sizeof bytes, bytes));
  const auto frame = decode_spool_frame_header({bytes, sizeof bytes}, place(offset_));
  if (!frame || frame->sequence != sequence_) return false;
  // The header is right and tells what had been durable even when the body is torn.
  proven_ = std::max(proven_, frame->durable);
  if (frame->body_bytes > end - offset_ - spool_frame_header_size) return false;
  body_.resize(frame->body_bytes);
  HAILSTONE_TRY(file_->read_at(offset_ + spool_frame_header_size, body_.size(), body_.data()));
  if (checksum(body_) != frame->body_checksum) {
    body_.clear();
    return false;
  }
  frame_ = *frame;
  offset_ += spool_frame_header_size + body_.size();
  sequence_ += frame_.records;
  return true;
}

Status SpoolFileScan::check_tail() const {
  const std::string what = "a frame is damaged that had been synced";
  if (proven_ > offset_) return damaged(what);
  // Frames further on, at any offset.
  constexpr uint64_t step = uint64_t{1} << 20;
  std::string bytes;
  for (uint64_t begin = offset_; begin < size_; begin += step) {
    // Headers that begin within the step, so some bytes more.
    bytes.resize(std::min(size_ - begin, step + spool_frame_header_size - 1));
    HAILSTONE_TRY(file_->read_at(begin, bytes.size(), bytes.data()));
    for (size_t at = 0; (at = bytes.find(spool_frame_magic, at)) < step; ++at) {
      const auto frame = decode_spool_frame_header(ByteView(bytes).substr(at), place(begin + at));
      if (frame && frame->durable > offset_) return damaged(what);
    }
  }
  return {};
}

}  // namespace hailstone
