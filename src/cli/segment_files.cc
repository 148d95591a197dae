#include "cli/segment_files.h"

#include <fmt/format.h>

#include "database/core.h"
#include "database/manifest.h"
#include "segment/delete_vector.h"

namespace hailstone {
namespace {

Error of_named_file(const Error& error, const std::string& path) {
  if (error.code() != ErrorCode::NotFound) return error;
  return {ErrorCode::Corruption,
          fmt::format("file '{}' is missing, though the manifest names it; restore it from a backup", path)};
}

}  // namespace

Result<SegmentFiles::Opened> SegmentFiles::open(const ManifestContent& manifest, TableId table,
                                                const TableRecord::SegmentEntry& entry) {
  Opened opened;
  const std::string path = segment_path_in(directory_, entry.file);
  auto segment = Segment::open(posix_filesystem(), path, cache_, counters_);
  if (!segment) return std::unexpected(of_named_file(segment.error(), path));
  opened.segment = std::move(*segment);
  HAILSTONE_TRY(check_identity(manifest.databases, path, table, entry.file, opened.segment->identity()));
  if (entry.delete_vector == 0) return opened;
  const std::string ends_path = delete_vector_path_in(directory_, entry.delete_vector);
  const auto file = posix_filesystem().open(ends_path);
  if (!file) return std::unexpected(of_named_file(file.error(), ends_path));
  HAILSTONE_ASSIGN(const uint64_t size, (*file)->size());
  std::string bytes(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY((*file)->read_at(0, bytes.size(), bytes.data()));
  HAILSTONE_ASSIGN(const auto ends, DeleteVector::parse(bytes, opened.segment->rows(), budget_, ends_path));
  HAILSTONE_TRY(check_identity(manifest.databases, ends_path, table, entry.delete_vector, ends.identity));
  opened.ended = ends.vector->count();
  return opened;
}

Result<std::map<std::string, std::string>> find_damaged_tables(const std::string& directory) {
  HAILSTONE_ASSIGN(const auto content, Manifest::load(posix_filesystem(), directory));
  std::map<std::string, std::string> damaged;
  if (!content) return damaged;
  SegmentFiles files(directory);
  for (const auto& [id, stored] : content->tables) {
    const TableRecord table = content->read(stored);
    for (const auto& entry : table.segments) {
      const auto opened = files.open(*content, id, entry);
      if (opened) continue;
      if (opened.error().code() != ErrorCode::Corruption) return std::unexpected(opened.error());
      damaged.emplace(table.definition.name(), opened.error().message());
      break;
    }
  }
  return damaged;
}

}  // namespace hailstone
