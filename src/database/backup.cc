// A copy of the database at one moment: the manifest, the files that it or the log names, and the log up to a
// position, just as a crash at that moment would have left them. Recovery of the copy then finds what was
// committed by then.
//
// The moment is the rotation of the log, under the commit mutex. Nothing that manifest and log name goes
// meanwhile: checkpoints wait, and files are removed only after the manifest has stopped naming them.
// Segments and delete vectors never change, so they are linked. The log and the manifest are copied, since
// whoever opens the copy appends to them. The manifest comes last: without it the directory is no database.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "database/checkpoint.h"
#include "database/core.h"
#include "database/file_copy.h"
#include "database/manifest.h"
#include "database/state_recorder.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

class Backup {
 public:
  Backup(DatabaseCore& core, const std::string& target, const CopyProgress& progress)
      : core_(core), filesystem_(core.filesystem()), target_(target), progress_(progress) {}

  Status run() {
    HAILSTONE_TRY(check_outside());
    FileCopy files(filesystem_, core_.directory(), target_, progress_);
    HAILSTONE_TRY(files.make_directory("backup"));
    // Most of the log then need not be copied.
    Status made = core_.checkpointer->run();
    if (made) {
      made = core_.checkpointer->with_checkpoints_stopped([&] {
        return core_.recorder->with_manifest_kept(
            [&](uint64_t manifest_bytes) { return copy_all(files, manifest_bytes); });
      });
    }
    if (made) files.keep();
    return made;
  }

 private:
  /// Who removes or moves the database must not lose its backup.
  Status check_outside() const {
    HAILSTONE_ASSIGN(const bool is_inside, is_within(filesystem_, target_, core_.directory()));
    if (!is_inside) return {};
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("the backup's directory '{}' is inside of the database's; give another", target_));
  }

  Status copy_all(FileCopy& files, uint64_t manifest_bytes) {
    Lsn end = 0;
    HAILSTONE_TRY(core_.transactions().with_commits_stopped([&](Timestamp) -> Status {
      HAILSTONE_ASSIGN(end, core_.log->rotate());
      return {};
    }));
    HAILSTONE_TRY(core_.log->sync(end));
    HAILSTONE_ASSIGN(const auto names, filesystem_.list(core_.directory()));
    std::vector<Lsn> logs;
    std::vector<std::string> unchanging;
    for (const std::string& name : names) {
      if (const auto begin = parse_log_file_name(name); begin && *begin < end) logs.push_back(*begin);
      if (!file_number_of(name)) continue;
      // What goes now is named by neither manifest nor log: a merge or a load that was given up.
      const auto size = filesystem_.file_size(core_.directory() + "/" + name);
      if (!size && size.error().code() == ErrorCode::NotFound) continue;
      HAILSTONE_TRY(size);
      unchanging.push_back(name);
      files.expect(*size);
    }
    for (const std::string& name : unchanging) HAILSTONE_TRY(link_file(files, name));
    std::ranges::sort(logs);
    for (size_t i = 0; i < logs.size(); ++i) {
      const Lsn file_end = i + 1 < logs.size() ? logs[i + 1] : end;
      HAILSTONE_TRY(files.copy(log_file_name(logs[i]), file_end - logs[i]));
    }
    HAILSTONE_TRY(files.sync());
    const std::string manifest = Manifest::path_in(core_.directory());
    HAILSTONE_TRY(files.copy(manifest.substr(core_.directory().size() + 1), manifest_bytes));
    HAILSTONE_TRY(begin_new_identity(filesystem_, target_, manifest_bytes, core_.file_numbers.databases(),
                                     core_.file_numbers.next()));
    HAILSTONE_TRY(files.sync());
    return filesystem_.sync_directory(parent_of(target_));
  }

  Status link_file(FileCopy& files, const std::string& name) {
    const Status linked = files.link(name);
    const bool gone = !linked && linked.error().code() == ErrorCode::NotFound &&
                      !filesystem_.exists(core_.directory() + "/" + name);
    if (gone) return {};  // as above
    return linked;
  }

  DatabaseCore& core_;
  Filesystem& filesystem_;
  const std::string target_;
  const CopyProgress& progress_;
};

}  // namespace

Status DatabaseCore::backup(const std::string& target, const CopyProgress& progress) {
  return Backup(*this, target, progress).run();
}

}  // namespace hailstone
