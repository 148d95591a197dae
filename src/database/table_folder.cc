#include "database/table_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "database/core.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

std::string path_in(const std::string& directory, const char* folder, const std::string& table) {
  return fmt::format("{}/{}/{}", directory, folder, table);
}

}  // namespace

std::string export_path(const std::string& directory, const std::string& table) {
  return path_in(directory, export_folder, table);
}

std::string import_path(const std::string& directory, const std::string& table) {
  return path_in(directory, import_folder, table);
}

Status make_folders_above(Filesystem& filesystem, const std::string& directory, const std::string& path) {
  for (size_t slash = path.find('/', directory.size() + 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    HAILSTONE_TRY(filesystem.make_directory(path.substr(0, slash)));
  }
  return {};
}

Status remove_table_folder(Filesystem& filesystem, const std::string& path) {
  HAILSTONE_TRY(remove_copied_database(filesystem, path));
  // Others may have theirs beside it.
  const std::string above = parent_of(path);
  if (filesystem.remove_directory(above)) static_cast<void>(filesystem.remove_directory(parent_of(above)));
  return {};
}

Status remove_exports(Filesystem& filesystem, const std::string& directory) {
  const std::string all = directory + "/" + export_folder;
  if (!filesystem.exists(all)) return {};
  HAILSTONE_ASSIGN(const auto schemas, filesystem.list(all));
  for (const std::string& schema : schemas) {
    const std::string folder = all + "/" + schema;
    HAILSTONE_ASSIGN(const auto tables, filesystem.list(folder));
    for (const std::string& table : tables)
      HAILSTONE_TRY(remove_copied_database(filesystem, folder + "/" + table));
    HAILSTONE_TRY(filesystem.remove_directory(folder));
  }
  return filesystem.remove_directory(all);
}

TableFolder::TableFolder(Filesystem& filesystem, std::string from, std::string to,
                         const CopyProgress& progress)
    : filesystem_(filesystem),
      from_(std::move(from)),
      to_(std::move(to)),
      files_(filesystem_, from_, to_, progress) {}

Status TableFolder::begin() {
  HAILSTONE_TRY(files_.make_directory("table"));
  files_.expect_made(log_file_name(0));
  HAILSTONE_ASSIGN(log_, Log::open(filesystem_, {.directory = to_}, counters_));
  return log_->replay(0, [](const LogRecord&) { return Status(); });
}

std::vector<std::string> files_of(const TableContents& contents) {
  std::vector<std::string> names;
  for (const auto& segment : contents.segments) {
    names.push_back(segment_file_name(segment.file));
    if (segment.delete_vector != 0) names.push_back(delete_vector_file_name(segment.delete_vector));
  }
  return names;
}

Status TableFolder::add_files(const std::vector<std::string>& names, How how) {
  std::vector<uint64_t> sizes;
  for (const std::string& name : names) {
    HAILSTONE_ASSIGN(const uint64_t size, filesystem_.file_size(from_ + "/" + name));
    sizes.push_back(size);
    files_.expect(size);
  }
  for (size_t i = 0; i < names.size(); ++i)
    HAILSTONE_TRY(how == How::Link ? files_.link(names[i], names[i]) : files_.copy(names[i], sizes[i]));
  return {};
}

Status TableFolder::finish(Content content) {
  HAILSTONE_TRY(log_->sync(log_->end()));
  HAILSTONE_TRY(files_.sync());
  CheckpointMark mark = content.mark;
  mark.log_start = 0;
  mark.carried = 0;
  ManifestRecords records;
  for (const DatabaseIdentity& each : content.databases) records.add_database(each);
  records.add_database(next_identity(content.databases, mark.next_file));
  if (content.table != nullptr) records.add_table(*content.table);
  records.add_mark(mark);
  files_.expect_made(Manifest::file_name);
  files_.expect_made(std::string(Manifest::file_name) + ".new");
  HAILSTONE_TRY(Manifest(filesystem_, to_, counters_, 0, true).rewrite(std::move(records)));
  HAILSTONE_TRY(files_.sync());
  HAILSTONE_TRY(filesystem_.sync_directory(parent_of(to_)));
  files_.keep();
  return {};
}

}  // namespace hailstone
