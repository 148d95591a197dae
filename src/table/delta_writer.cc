#include "table/delta_writer.h"

#include <algorithm>

#include "base/guard.h"
#include "table/delete_vector_file.h"

namespace hailstone {

namespace {
constexpr uint32_t sampled_rows = 4096;
}  // namespace

Result<DeltaWriter::Written> DeltaWriter::write() {
  const Status written = guarded([&] { return write_all(); });
  if (written) return std::move(written_);
  for (const auto& segment : written_.segments) segment->segment->remove_when_unused();
  return std::unexpected(written.error());
}

bool DeltaWriter::is_written(const Version& version) const {
  if (owner_) return true;
  // Rows that some snapshot can see, or that an open transaction is about to end.
  const auto [begin, end] = version.span();
  return end != begin && snapshots_.may_see(begin, end);
}

Status DeltaWriter::write_all() {
  {
    // Those that end rows meanwhile take memory of the delta.
    const SharedLock guard(delta_.latch());
    delta_bytes_ = delta_.rows.bytes();
  }
  Timestamp newest_begin = 0;
  for_each_version(delta_.settled_rows(), [&](const Version& version) {
    if (!is_written(version)) return;
    ++versions_;
    newest_begin = std::max(newest_begin, version.begin());
  });
  with_begin_ = !owner_ && newest_begin > state_.forgettable_begin(snapshots_.oldest());
  Status status;
  written_.is_row.reserve(delta_.settled_rows().version_count());
  for_each_version(delta_.settled_rows(), [&](const Version& version) {
    if (status) status = add(version);
  });
  HAILSTONE_TRY(status);
  HAILSTONE_TRY(finish_segment());
  return written_.segments.empty() ? Status() : state_.host.sync_files();
}

Status DeltaWriter::add(const Version& version) {
  written_.is_row.push_back(is_written(version));
  if (!written_.is_row.back()) return {};
  if (builder_ != nullptr) {
    // A segment that is big enough ends where a key does, so that segments of one delta do not overlap.
    const bool full = builder_->rows() >= state_.host.segment_rows_limit();
    const bool enough = builder_->bytes() >= state_.host.segment_buffer_bytes();
    if (full || (enough && version.key() != last_key_)) HAILSTONE_TRY(finish_segment());
  }
  if (builder_ == nullptr) builder_ = std::make_unique<SegmentBuilder>(state_, with_begin_);
  const Timestamp begin = version.begin();
  last_key_ = version.key();
  newest_begin_ = std::max(newest_begin_, begin);
  builder_->append(version.row(), row_id_of(version.key()), begin);
  if (builder_->rows() == sampled_rows) {
    // What all rows take, as the first ones tell, so that buffers need not be doubled and copied; never more
    // than the delta, as the first ones may be the longest.
    const size_t bytes = builder_->bytes();
    const size_t by_rows = bytes * versions_ / sampled_rows;
    builder_->reserve(std::min({by_rows, delta_bytes_, std::max(bytes, state_.host.segment_buffer_bytes())}));
  }
  return {};
}

Status DeltaWriter::finish_segment() {
  if (builder_ == nullptr) return {};
  // First, as a file that is there must not be forgotten.
  written_.segments.reserve(written_.segments.size() + 1);
  const FileIdentity file = state_.host.new_file(state_.id);
  HAILSTONE_TRY(builder_->write(file, false, {}));
  builder_.reset();
  const Timestamp begin = owner_ ? *owner_ : with_begin_ ? newest_begin_ : 0;
  HAILSTONE_ASSIGN(auto segment, state_.noted(open_written_segment(state_, file.file, begin)));
  written_.segments.push_back(std::move(segment));
  newest_begin_ = 0;
  return {};
}

}  // namespace hailstone
