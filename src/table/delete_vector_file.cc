#include "table/delete_vector_file.h"

#include <fmt/format.h>

namespace hailstone {

namespace {

Result<std::string> read_file(TableHost& host, const std::string& path) {
  HAILSTONE_ASSIGN(const auto file, host.filesystem().open(path));
  HAILSTONE_ASSIGN(const uint64_t size, file->size());
  std::string bytes(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY(file->read_at(0, bytes.size(), bytes.data()));
  count(host.counters().segment_reads);
  count(host.counters().segment_read_bytes, bytes.size());
  return bytes;
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
  Status written = write();
  // The error that matters is the first; a half-written file that cannot be removed is an orphan, which
  // recovery removes.
  if (!written) static_cast<void>(filesystem.remove(path));
  return written;
}

}  // namespace

Result<std::shared_ptr<TableSegment>> open_table_segment(Table::State& state,
                                                         const TableState::SegmentEntry& entry) {
  TableHost& host = state.host;
  HAILSTONE_ASSIGN(auto segment, Segment::open(host.filesystem(), host.segment_path(entry.file), host.cache(),
                                               host.counters()));
  const uint32_t rows = segment->rows();
  std::unique_ptr<DeleteVector> ends;
  if (entry.delete_vector != 0) {
    const std::string path = host.delete_vector_path(entry.delete_vector);
    HAILSTONE_ASSIGN(const std::string bytes, read_file(host, path));
    HAILSTONE_ASSIGN(ends, DeleteVector::parse(bytes, rows, host.budget(), path));
  } else {
    ends = std::make_unique<DeleteVector>(rows, host.budget());
  }
  if (segment->index_count() != state.keys->secondary_count()) {
    return fail(
        ErrorCode::Corruption,
        fmt::format(
            "{}: holds {} secondary indexes in place of the {} of table {}; restore the file from a backup",
            segment->path(), segment->index_count(), state.keys->secondary_count(),
            state.layout->definition().name));
  }
  auto result = std::make_shared<TableSegment>(state.latch, state.layout, std::move(segment), entry.file,
                                               entry.begin, std::move(ends));
  result->ends_file = entry.delete_vector;
  result->ends_written = result->ends->change_count();
  return result;
}

Result<std::shared_ptr<TableSegment>> open_new_segment(Table::State& state, uint64_t file, Timestamp begin) {
  return open_table_segment(state, {.file = file, .delete_vector = 0, .begin = begin});
}

Result<bool> write_delete_vector(Table::State& state, TableSegment& segment, uint64_t& obsolete) {
  obsolete = 0;
  std::string bytes;
  uint64_t change_count = 0;
  {
    const std::shared_lock guard(*state.latch);
    change_count = segment.ends->change_count();
    if (change_count == segment.ends_written) return false;
    bytes = segment.ends->serialise();
  }
  const uint64_t file = state.host.new_file_number();
  HAILSTONE_TRY(write_file(state.host, state.host.delete_vector_path(file), bytes));
  const std::unique_lock guard(*state.latch);
  obsolete = segment.ends_file;
  segment.ends_file = file;
  segment.ends_written = change_count;
  state.generation.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace hailstone
