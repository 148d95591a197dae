#include "cli/new_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "database/core.h"
#include "database/manifest.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

constexpr std::string_view lock_name = "lock";

bool is_of_database(const std::string& name) {
  return name == "manifest" || name == "manifest.new" || name == lock_name || file_number_of(name) ||
         parse_log_file_name(name);
}

}  // namespace

Error with_what_stayed(const Error& error, const std::string& directory, const Status& removed) {
  if (removed) return error;
  // ErrorCode::Interrupted tells the user that nothing was done, which is not so here.
  const ErrorCode code = error.code() == ErrorCode::Interrupted ? ErrorCode::Io : error.code();
  return {code, fmt::format("{}; what is in directory '{}' is of no use, but could not be removed: {}",
                            error.message(), directory, removed.error().message())};
}

NewDatabase::NewDatabase(std::string directory) : directory_(std::move(directory)) {
  const auto names = posix_filesystem().list(directory_);
  directory_existed_ = names || names.error().code() != ErrorCode::NotFound;
  new_ = names ? std::ranges::none_of(*names, is_of_database) : !directory_existed_;
}

Status NewDatabase::remove_directory_if_made() const {
  if (directory_existed_) return {};
  const Status removed = posix_filesystem().remove_directory(directory_);
  if (removed) return {};
  // Files of others stay there.
  const int number = removed.error().system_error();
  if (number == ENOENT || number == ENOTEMPTY || number == EEXIST) return {};
  return removed;
}

Status NewDatabase::remove_files(bool with_tables) const {
  Filesystem& filesystem = posix_filesystem();
  const auto names = filesystem.list(directory_);
  if (!names) return names.error().code() == ErrorCode::NotFound ? Status() : std::unexpected(names.error());
  HAILSTONE_ASSIGN(const auto lock, filesystem.lock_directory(directory_));
  const std::string manifest = Manifest::path_in(directory_);
  if (filesystem.exists(manifest)) {
    if (!with_tables) {
      HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem, directory_));
      if (content && !content->tables.empty()) return {};
    }
    // Without a manifest the rest is no database.
    HAILSTONE_TRY(filesystem.remove(manifest));
  }
  for (const std::string& name : *names) {
    if (name == "manifest" || name == lock_name || !is_of_database(name)) continue;
    HAILSTONE_TRY(filesystem.remove(directory_ + "/" + name));
  }
  return filesystem.remove(fmt::format("{}/{}", directory_, lock_name));
}

Error NewDatabase::remove(const Error& error, bool with_tables) const {
  if (!new_) return error;
  Status removed = remove_files(with_tables);
  if (removed) removed = remove_directory_if_made();
  return with_what_stayed(error, directory_, removed);
}

Error NewDatabase::remove_all(const Error& error) const { return remove(error, true); }
Error NewDatabase::remove_if_empty(const Error& error) const { return remove(error, false); }

}  // namespace hailstone
