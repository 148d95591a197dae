#include "database/file_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guard.h"
#include "database/core.h"
#include "database/manifest.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

constexpr size_t copied_at_once = size_t{1} << 20;

}  // namespace

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

DatabaseIdentity next_identity(std::span<const DatabaseIdentity> earlier, uint64_t next_file) {
  const uint64_t first = earlier.empty() ? next_file : std::max(next_file, earlier.back().first_file + 1);
  return {.first_file = first, .database = new_database_number()};
}

Status begin_new_identity(Filesystem& filesystem, const std::string& directory, uint64_t manifest_bytes,
                          std::span<const DatabaseIdentity> databases, uint64_t next_file) {
  ManifestRecords records;
  records.add_database(next_identity(databases, next_file));
  Counters counters;
  return Manifest(filesystem, directory, counters, manifest_bytes, false).append(std::move(records));
}

Status FileCopy::advance(uint64_t bytes) {
  done_ += bytes;
  if (!progress_ || progress_(done_, all_)) return {};
  return fail(ErrorCode::Interrupted, fmt::format("copying '{}' to '{}' was interrupted", from_, to_));
}

Status FileCopy::copy(const std::string& name, uint64_t size) {
  return copy_file(from_ + "/" + name, to_ + "/" + name, size);
}

Status FileCopy::copy_linked(const std::string& linked, const std::string& name, uint64_t size) {
  HAILSTONE_TRY(copy_file(to_ + "/" + linked, to_ + "/" + name, size));
  return remove(linked);
}

Status FileCopy::remove(const std::string& name) {
  const auto made = std::ranges::find(made_, to_ + "/" + name);
  if (made == made_.end()) return {};
  HAILSTONE_TRY(filesystem_.remove(*made));
  made_.erase(made);
  return {};
}

Status FileCopy::copy_file(const std::string& source_path, const std::string& to, uint64_t size) {
  HAILSTONE_ASSIGN(const auto source, filesystem_.open_plain(source_path));
  HAILSTONE_ASSIGN(const uint64_t present, source->size());
  made_.push_back(to);
  auto created = filesystem_.create(to);
  if (!created) {
    made_.pop_back();  // what is there already is not ours
    return std::unexpected(std::move(created).error());
  }
  const auto copied = std::move(*created);
  std::string buffer;
  const uint64_t end = std::min(size, present);
  for (uint64_t offset = 0; offset < end; offset += buffer.size()) {
    buffer.resize(static_cast<size_t>(std::min<uint64_t>(copied_at_once, end - offset)));
    HAILSTONE_TRY(source->read_at(offset, buffer.size(), buffer.data()));
    HAILSTONE_TRY(copied->append(buffer));
    HAILSTONE_TRY(advance(buffer.size()));
  }
  HAILSTONE_TRY(copied->sync());
  return copied->close();
}

Status FileCopy::link(const std::string& name, const std::string& as) {
  const std::string from = from_ + "/" + name, to = to_ + "/" + as;
  HAILSTONE_ASSIGN(const uint64_t size, filesystem_.file_size(from));
  made_.push_back(to);
  const Status linked = filesystem_.link(from, to);
  if (linked) return advance(size);
  made_.pop_back();
  if (linked.error().code() == ErrorCode::Unsupported) return copy_file(from, to, size);
  return linked;
}

Status FileCopy::sync() { return filesystem_.sync_directory(to_); }

FileCopy::~FileCopy() {
  if (kept_) return;
  // What stays can be told from a database by the missing manifest, which is copied last. A removal that
  // fails needs memory for its sentence, which nobody reads.
  for (const std::string& path : made_) try_to([&] { static_cast<void>(filesystem_.remove(path)); });
  if (is_new_) try_to([&] { static_cast<void>(filesystem_.remove_directory(to_)); });
}

Status FileCopy::make_directory(const std::string& what) {
  if (to_.empty())
    return fail(ErrorCode::InvalidArgument, fmt::format("the {}'s directory has no name", what));
  is_new_ = !filesystem_.exists(to_);
  if (const Status made = filesystem_.make_directory(to_); !made) {
    is_new_ = false;
    return made;
  }
  HAILSTONE_ASSIGN(const auto names, filesystem_.list(to_));
  if (names.empty()) return {};
  return fail(ErrorCode::AlreadyExists,
              fmt::format("directory '{}' is not empty; give a {} a directory of its own", to_, what));
}

Result<bool> is_within(Filesystem& filesystem, const std::string& path, const std::string& directory) {
  if (path.empty()) return false;  // no place at all: whatever makes it says so
  HAILSTONE_ASSIGN(const std::string inner, filesystem.canonical_path(path));
  HAILSTONE_ASSIGN(std::string outer, filesystem.canonical_path(directory));
  if (outer.back() != '/') outer.push_back('/');
  return inner.size() > outer.size() && inner.starts_with(outer);
}

Status remove_copied_database(Filesystem& filesystem, const std::string& folder) {
  if (!filesystem.exists(folder)) return {};
  HAILSTONE_ASSIGN(const auto names, filesystem.list(folder));
  const std::string manifest = Manifest::path_in(folder);
  if (filesystem.exists(manifest)) HAILSTONE_TRY(filesystem.remove(manifest));
  for (const std::string& name : names) {
    if (const std::string path = folder + "/" + name; path != manifest)
      HAILSTONE_TRY(filesystem.remove(path));
  }
  return filesystem.remove_directory(folder);
}

Status become_another_database(Filesystem& filesystem, const std::string& directory) {
  HAILSTONE_ASSIGN(const auto names, filesystem.list(directory));
  HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem, directory));
  if (!content)
    return fail(ErrorCode::NotFound, fmt::format("there is no database in directory '{}'", directory));
  uint64_t next_file = content->mark.next_file;
  for (const std::string& name : names) next_file = std::max(next_file, file_number_of(name).value_or(0) + 1);
  return begin_new_identity(filesystem, directory, content->intact_bytes, content->databases, next_file);
}

Status restore_database(Filesystem& filesystem, const std::string& from, const std::string& to,
                        const CopyProgress& progress) {
  const std::string manifest = Manifest::path_in(from);
  if (!filesystem.exists(manifest)) {
    return fail(ErrorCode::NotFound, fmt::format("there is no database in directory '{}'", from));
  }
  HAILSTONE_ASSIGN(const bool is_inside, is_within(filesystem, to, from));
  if (is_inside) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("directory '{}' is inside of the backup '{}', which is to stay as it is; restore to "
                    "another place",
                    to, from));
  }
  // Where nothing can be written no lock file can be made.
  HAILSTONE_ASSIGN(const auto lock, filesystem.is_writable(from) ? filesystem.lock_directory(from)
                                                                 : filesystem.lock_directory_to_read(from));
  HAILSTONE_ASSIGN(const auto names, filesystem.list(from));
  // Without an intact manifest nothing of the copy could be read.
  HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem, from));
  if (!content) return fail(ErrorCode::NotFound, fmt::format("the manifest '{}' is gone", manifest));
  FileCopy files(filesystem, from, to, progress);
  HAILSTONE_TRY(files.make_directory("restored database"));
  std::vector<std::pair<std::string, uint64_t>> wanted;
  for (const std::string& name : names) {
    if (!file_number_of(name) && !parse_log_file_name(name)) continue;
    HAILSTONE_ASSIGN(const auto file, filesystem.open_plain(from + "/" + name));
    HAILSTONE_ASSIGN(const uint64_t size, file->size());
    wanted.emplace_back(name, size);
    files.expect(size);
  }
  for (const auto& [name, size] : wanted) HAILSTONE_TRY(files.copy(name, size));
  HAILSTONE_TRY(files.sync());
  HAILSTONE_TRY(files.copy(Manifest::file_name, content->intact_bytes));
  HAILSTONE_TRY(become_another_database(filesystem, to));
  HAILSTONE_TRY(files.sync());
  HAILSTONE_TRY(filesystem.sync_directory(parent_of(to)));
  files.keep();
  return {};
}

}  // namespace hailstone
