#include "backup/backup_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

namespace hailstone {
namespace {

Result<BackupChain::Part> find_base(const BackupChain::Part& of, const std::vector<std::string>& bases) {
  const BaseRecord& base = *of.record.base;
  std::vector<std::string> places = bases;
  places.push_back(base.path);
  for (const std::string& place : places) {
    auto record = read_backup_record(place);
    if (record && record->id == base.id) return BackupChain::Part{place, std::move(*record)};
    if (!record && record.error().code() != ErrorCode::NotFound) return std::unexpected(record.error());
  }
  return fail(ErrorCode::NotFound, fmt::format("'{}' has only the changes to the backup {}, which was '{}' "
                                               "and is not there now; name its folder by "
                                               "--base",
                                               of.folder, base.id, base.path));
}

}  // namespace

Result<BackupChain> BackupChain::read(const std::string& folder, const std::vector<std::string>& bases) {
  BackupChain chain;
  HAILSTONE_ASSIGN(BackupRecord record, read_backup_record(folder));
  chain.parts_.push_back({folder, std::move(record)});
  while (chain.parts_.back().record.base) {
    HAILSTONE_ASSIGN(Part base, find_base(chain.parts_.back(), bases));
    chain.parts_.push_back(std::move(base));
  }
  std::ranges::reverse(chain.parts_);
  return chain;
}

Result<std::vector<std::pair<const BackupChain::Part*, std::vector<StoredFile>>>>
BackupChain::database_files() const {
  std::map<std::string, StoredFile> missing;
  for (const StoredFile& file : record().base_files) missing[file.path] = file;
  std::vector<std::pair<const Part*, std::vector<StoredFile>>> all;
  for (const Part& part : parts_ | std::views::reverse) {
    std::vector<StoredFile> files;
    for (const StoredFile& file : part.record.database_files) {
      if (part.record.id != record().id && missing.erase(file.path) == 0) continue;
      files.push_back(file);
    }
    all.emplace_back(&part, std::move(files));
  }
  if (!missing.empty()) {
    return fail(ErrorCode::Corruption,
                fmt::format("'{}' of the backup '{}' is in none of its bases; use another backup",
                            missing.begin()->first, parts_.back().folder));
  }
  return all;
}

Status copy_compared(const std::string& from, const std::string& to, const std::vector<StoredFile>& wanted,
                     unsigned threads, const BytesDone& done) {
  std::vector<StoredFile> files = wanted;
  FolderTarget folder(to);
  HAILSTONE_TRY(copy_files(from, folder, "", files, threads, done));
  for (size_t i = 0; i < files.size(); ++i) {
    HAILSTONE_TRY(compare(fmt::format("'{}/{}'", from, stored_path(wanted[i])), files[i], wanted[i]));
  }
  return {};
}

}  // namespace hailstone
