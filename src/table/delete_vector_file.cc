#include "table/delete_vector_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guard.h"
namespace hailstone {

namespace {

/// A file that is named must be there.
Error of_named_file(const Error& error, const std::string& path) {
  if (error.code() != ErrorCode::NotFound) return error;
  return {ErrorCode::Corruption,
          fmt::format("file '{}' is missing; put it back, or restore the table from a backup", path)};
}

Result<std::string> read_file(TableHost& host, const std::string& path) {
  const auto file = host.filesystem().open(path);
  if (!file) return std::unexpected(of_named_file(file.error(), path));
  HAILSTONE_ASSIGN(const uint64_t size, (*file)->size());
  std::string bytes(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY((*file)->read_at(0, bytes.size(), bytes.data()));
  count(host.counters().segment_reads);
  count(host.counters().segment_read_bytes, bytes.size());
  return bytes;
}

Result<std::unique_ptr<DeleteVector>> read_delete_vector(Table::State& state, uint64_t file, uint32_t rows) {
  TableHost& host = state.host;
  const std::string path = host.delete_vector_path(file);
  HAILSTONE_ASSIGN(const std::string bytes, read_file(host, path));
  HAILSTONE_ASSIGN(auto stored, DeleteVector::parse(bytes, rows, host.budget(), path));
  HAILSTONE_TRY(host.check_file(path, state.id, file, stored.identity));
  return std::move(stored.vector);
}

Status write_file(TableHost& host, const std::string& path, ByteView bytes) {
  Filesystem& filesystem = host.filesystem();
  const auto write = [&]() -> Status {
    HAILSTONE_ASSIGN(const auto file, filesystem.create_whole(path));
    HAILSTONE_TRY(file->append(bytes));
    count(host.counters().segment_writes);
    count(host.counters().segment_write_bytes, bytes.size());
    HAILSTONE_TRY(file->sync());
    count(host.counters().segment_fsyncs);
    return file->close();
  };
  Status written = guarded(write);
  // The error that matters is the first; a half-written file that cannot be removed is an orphan, which
  // recovery removes.
  if (!written) static_cast<void>(filesystem.remove(path));
  return written;
}

/// Many rows that ended one by one take 8 bytes each, until no snapshot tells their ends apart any more.
void compact_ends(Table::State& state, TableSegment& segment) {
  {
    const SharedLock guard(state.latch());
    if (!segment.ends->is_wide()) return;
  }
  // The snapshots first: who takes one later reads behind them.
  const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
  const ExclusiveLock guard(state.latch());
  segment.ends->compact([&](Timestamp end) { return snapshots.same_end(end); });
}

}  // namespace

Result<std::shared_ptr<TableSegment>> open_table_segment(Table::State& state,
                                                         const TableRecord::SegmentEntry& entry) {
  TableHost& host = state.host;
  const std::string path = host.segment_path(entry.file);
  auto opened = Segment::open(host.filesystem(), path, host.cache(), host.counters());
  if (!opened) return std::unexpected(of_named_file(opened.error(), path));
  std::shared_ptr<Segment> segment = std::move(*opened);
  HAILSTONE_TRY(host.check_file(segment->path(), state.id, entry.file, segment->identity()));
  const uint32_t rows = segment->rows();
  std::unique_ptr<DeleteVector> ends;
  if (entry.delete_vector != 0) {
    HAILSTONE_ASSIGN(ends, read_delete_vector(state, entry.delete_vector, rows));
  } else {
    ends = std::make_unique<DeleteVector>(rows, host.budget());
  }
  if (segment->index_count() != state.keys->secondary_count()) {
    return fail(
        ErrorCode::Corruption,
        fmt::format(
            "{}: holds {} secondary indexes in place of the {} of table {}; restore the file from a backup",
            segment->path(), segment->index_count(), state.keys->secondary_count(), state.definition().name));
  }
  return std::make_shared<TableSegment>(state.shared_latch, state.layout, std::move(segment), entry.file,
                                        entry.begin, std::move(ends), entry.delete_vector);
}

Result<std::shared_ptr<TableSegment>> open_new_segment(Table::State& state, uint64_t file, Timestamp begin) {
  return open_table_segment(state, {.file = file, .delete_vector = 0, .begin = begin});
}

Result<std::shared_ptr<TableSegment>> open_written_segment(Table::State& state, uint64_t file,
                                                           Timestamp begin) {
  auto segment = guarded([&] { return open_new_segment(state, file, begin); });
  // Nothing names it yet. A file that cannot be removed is an orphan, which recovery removes.
  if (!segment) static_cast<void>(state.host.filesystem().remove(state.host.segment_path(file)));
  return segment;
}

Status check_delete_vector(Table::State& state, const TableSegment& segment) {
  const auto file_now = [&] {
    const SharedLock guard(state.latch());
    return segment.ends_file;
  };
  for (;;) {
    const uint64_t file = file_now();
    if (file == 0) return {};
    const auto read = read_delete_vector(state, file, segment.rows());
    if (read) return {};
    // It was replaced meanwhile, or its segment was merged, and the file went with it.
    if (file_now() != file) continue;
    const auto view = state.current_view();
    if (!view->contains(segment)) return {};
    return std::unexpected(read.error());
  }
}

Result<bool> write_delete_vector(Table::State& state, TableSegment& segment, uint64_t& obsolete) {
  obsolete = 0;
  compact_ends(state, segment);
  {
    const SharedLock guard(state.latch());
    if (segment.ends->change_count() == segment.ends_written) return false;
  }
  const FileIdentity file = state.host.new_file(state.id);
  std::string bytes;
  uint64_t change_count = 0;
  {
    const SharedLock guard(state.latch());
    change_count = segment.ends->change_count();
    bytes = segment.ends->serialise(file);
  }
  HAILSTONE_TRY(write_file(state.host, state.host.delete_vector_path(file.file), bytes));
  const ExclusiveLock guard(state.latch());
  obsolete = segment.ends_file;
  segment.ends_file = file.file;
  segment.ends_written = change_count;
  state.generation.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace hailstone
