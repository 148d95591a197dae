#include "database/online_backup.h"

#include <fmt/format.h>

#include <algorithm>

#include "database/checkpoint.h"
#include "database/core.h"
#include "database/manifest.h"
#include "database/state_recorder.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

/// The name of a file in the target that whoever has the original open may go on writing to.
std::string linked_name(const std::string& name) { return "linked-" + name; }

}  // namespace

OnlineBackup::OnlineBackup(DatabaseCore& core, std::string target, const CopyProgress& progress)
    : core_(core),
      filesystem_(core.filesystem()),
      target_(std::move(target)),
      files_(filesystem_, core.directory(), target_, progress) {}

OnlineBackup::~OnlineBackup() = default;

/// Who removes or moves the database must not lose its backup.
Status OnlineBackup::check_target() const {
  HAILSTONE_ASSIGN(const bool is_staged, is_staged_backup(filesystem_, core_.directory(), target_));
  if (is_staged) return {};
  HAILSTONE_ASSIGN(const bool is_inside, is_within(filesystem_, target_, core_.directory()));
  if (!is_inside) return {};
  return fail(ErrorCode::InvalidArgument,
              fmt::format("the backup's directory '{}' is inside of the database's; give another", target_));
}

Status OnlineBackup::begin() {
  HAILSTONE_TRY(check_target());
  HAILSTONE_TRY(files_.make_directory("backup"));
  // Most of the log then need not be copied.
  HAILSTONE_TRY(core_.checkpointer->run());
  return link_new_files();
}

Status OnlineBackup::cut() {
  has_cut_ = false;
  Lsn end = 0;
  const auto link_all = [&](const StateRecorder::KeptManifest& manifest) -> Status {
    HAILSTONE_TRY(core_.transactions().with_commits_stopped([&](Timestamp) -> Status {
      HAILSTONE_ASSIGN(end, core_.log->rotate());
      return {};
    }));
    HAILSTONE_TRY(link_new_files());
    HAILSTONE_TRY(link_log(manifest.log_start, end));
    HAILSTONE_TRY(files_.remove(linked_name(Manifest::file_name)));
    HAILSTONE_TRY(files_.link(Manifest::file_name, linked_name(Manifest::file_name)));
    manifest_bytes_ = manifest.bytes;
    return {};
  };
  HAILSTONE_TRY(core_.recorder->with_manifest_kept(link_all));
  HAILSTONE_TRY(core_.log->sync(end));
  has_cut_ = true;
  return {};
}

/// Those that have come since the last time; those that have gone leave the target, too.
Status OnlineBackup::link_new_files() {
  HAILSTONE_ASSIGN(auto names, filesystem_.list(core_.directory()));
  std::erase_if(names, [](const std::string& name) { return !file_number_of(name); });
  std::ranges::sort(names);
  std::erase_if(linked_, [&](const std::string& name) {
    return !std::ranges::binary_search(names, name) && files_.remove(name).has_value();
  });
  std::erase_if(names, [&](const std::string& name) { return linked_.contains(name); });
  // What goes while this looks is named by neither manifest nor log: a merge or a load that was given up.
  const auto is_gone = [&](const Error& error, const std::string& name) {
    return error.code() == ErrorCode::NotFound && !filesystem_.exists(core_.directory() + "/" + name);
  };
  for (const std::string& name : names) {
    const auto size = filesystem_.file_size(core_.directory() + "/" + name);
    if (!size && is_gone(size.error(), name)) continue;
    HAILSTONE_TRY(size);
    files_.expect(*size);
  }
  for (const std::string& name : names) {
    const Status linked = files_.link(name, name);
    if (!linked && is_gone(linked.error(), name)) continue;
    HAILSTONE_TRY(linked);
    linked_.insert(name);
  }
  return {};
}

/// The files of the log that hold a position from `log_start` to `end`. None of them goes while the manifest
/// says that it is needed.
Status OnlineBackup::link_log(Lsn log_start, Lsn end) {
  HAILSTONE_ASSIGN(const auto names, filesystem_.list(core_.directory()));
  std::vector<Lsn> begins;
  for (const std::string& name : names) {
    if (const auto begin = parse_log_file_name(name); begin && *begin < end) begins.push_back(*begin);
  }
  std::ranges::sort(begins);
  for (const auto& [name, bytes] : std::exchange(logs_, {})) HAILSTONE_TRY(files_.remove(linked_name(name)));
  for (size_t i = 0; i < begins.size(); ++i) {
    const Lsn file_end = i + 1 < begins.size() ? begins[i + 1] : end;
    if (file_end <= log_start && i + 1 < begins.size()) continue;
    const std::string name = log_file_name(begins[i]);
    HAILSTONE_TRY(files_.link(name, linked_name(name)));
    logs_.emplace_back(name, file_end - begins[i]);
  }
  return {};
}

Status OnlineBackup::finish() {
  HAILSTONE_CHECK(has_cut(), "a backup in '{}' is to be finished that has no moment", target_);
  for (const auto& [name, bytes] : logs_) files_.expect(bytes);
  files_.expect(manifest_bytes_);
  for (const auto& [name, bytes] : logs_) HAILSTONE_TRY(files_.copy_linked(linked_name(name), name, bytes));
  HAILSTONE_TRY(files_.sync());
  HAILSTONE_TRY(files_.copy_linked(linked_name(Manifest::file_name), Manifest::file_name, manifest_bytes_));
  HAILSTONE_TRY(begin_new_identity(filesystem_, target_, manifest_bytes_, core_.file_numbers.databases(),
                                   core_.file_numbers.next()));
  HAILSTONE_TRY(files_.sync());
  HAILSTONE_TRY(filesystem_.sync_directory(parent_of(target_)));
  files_.keep();
  return {};
}

Result<bool> is_staged_backup(Filesystem& filesystem, const std::string& directory, const std::string& path) {
  if (path.empty()) return false;
  HAILSTONE_ASSIGN(const std::string given, filesystem.canonical_path(path));
  HAILSTONE_ASSIGN(const std::string staged, filesystem.canonical_path(directory + "/" + staged_backup));
  return given == staged;
}

Status remove_staged_backup(Filesystem& filesystem, const std::string& directory) {
  return remove_copied_database(filesystem, directory + "/" + staged_backup);
}

}  // namespace hailstone
