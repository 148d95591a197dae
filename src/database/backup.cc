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
#include "database/manifest.h"
#include "database/state_recorder.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

constexpr size_t copied_at_once = size_t{1} << 20;

class Backup {
 public:
  Backup(DatabaseCore& core, const std::string& target)
      : core_(core), filesystem_(core.filesystem()), target_(target) {}

  Status run() {
    HAILSTONE_TRY(make_target());
    // Most of the log then need not be copied.
    Status made = core_.checkpointer->run();
    if (made) {
      made = core_.checkpointer->with_checkpoints_stopped(
          [&] { return core_.recorder->with_manifest_kept([&] { return copy_all(); }); });
    }
    if (made) return made;
    // The backup has failed for that reason; a file that stays can be told from a database by the missing
    // manifest.
    for (const std::string& path : made_) static_cast<void>(filesystem_.remove(path));
    return made;
  }

 private:
  Status make_target() {
    if (target_.empty()) return fail(ErrorCode::InvalidArgument, "the backup's directory has no name");
    HAILSTONE_TRY(filesystem_.make_directory(target_));
    HAILSTONE_ASSIGN(const auto names, filesystem_.list(target_));
    if (names.empty()) return {};
    return fail(ErrorCode::AlreadyExists,
                fmt::format("directory '{}' is not empty; give a backup a directory of its own", target_));
  }

  Status copy_all() {
    Lsn end = 0;
    HAILSTONE_TRY(core_.transactions().with_commits_stopped([&](Timestamp) -> Status {
      HAILSTONE_ASSIGN(end, core_.log->rotate());
      return {};
    }));
    HAILSTONE_TRY(core_.log->sync(end));
    HAILSTONE_ASSIGN(const auto names, filesystem_.list(core_.directory()));
    std::vector<Lsn> logs;
    for (const std::string& name : names) {
      if (file_number_of(name)) HAILSTONE_TRY(link_file(name));
      if (const auto begin = parse_log_file_name(name); begin && *begin < end) logs.push_back(*begin);
    }
    std::ranges::sort(logs);
    for (size_t i = 0; i < logs.size(); ++i) {
      const Lsn file_end = i + 1 < logs.size() ? logs[i + 1] : end;
      HAILSTONE_TRY(copy_file(log_file_name(logs[i]), file_end - logs[i]));
    }
    HAILSTONE_TRY(filesystem_.sync_directory(target_));
    const std::string manifest = Manifest::path_in(core_.directory());
    HAILSTONE_ASSIGN(const uint64_t size, filesystem_.file_size(manifest));
    HAILSTONE_TRY(copy_file(manifest.substr(core_.directory().size() + 1), size));
    HAILSTONE_TRY(filesystem_.sync_directory(target_));
    const size_t slash = target_.find_last_of('/');
    return filesystem_.sync_directory(slash == std::string::npos ? "."
                                      : slash == 0               ? "/"
                                                                 : target_.substr(0, slash));
  }

  Status link_file(const std::string& name) {
    const std::string from = core_.directory() + "/" + name, to = target_ + "/" + name;
    Status linked = filesystem_.link(from, to);
    if (linked) {
      made_.push_back(to);
      return {};
    }
    if (linked.error().code() == ErrorCode::Unsupported) {
      auto size = filesystem_.file_size(from);
      linked = size ? copy_file(name, *size) : std::unexpected(std::move(size).error());
    }
    // What goes now is named by neither manifest nor log: a merge or a load that was given up.
    if (!linked && linked.error().code() == ErrorCode::NotFound && !filesystem_.exists(from)) return {};
    return linked;
  }

  /// The first `size` bytes of the file, or all when it is shorter: the end of a log file may not have been
  /// written out to its full length.
  Status copy_file(const std::string& name, uint64_t size) {
    const std::string to = target_ + "/" + name;
    HAILSTONE_ASSIGN(const auto source, filesystem_.open(core_.directory() + "/" + name));
    HAILSTONE_ASSIGN(const uint64_t present, source->size());
    HAILSTONE_ASSIGN(const auto copy, filesystem_.create(to));
    made_.push_back(to);
    std::string buffer;
    const uint64_t end = std::min(size, present);
    for (uint64_t offset = 0; offset < end; offset += buffer.size()) {
      buffer.resize(static_cast<size_t>(std::min<uint64_t>(copied_at_once, end - offset)));
      HAILSTONE_TRY(source->read_at(offset, buffer.size(), buffer.data()));
      HAILSTONE_TRY(copy->append(buffer));
    }
    HAILSTONE_TRY(copy->sync());
    return copy->close();
  }

  DatabaseCore& core_;
  Filesystem& filesystem_;
  const std::string target_;
  std::vector<std::string> made_;
};

}  // namespace

Status DatabaseCore::backup(const std::string& target) { return Backup(*this, target).run(); }

}  // namespace hailstone
