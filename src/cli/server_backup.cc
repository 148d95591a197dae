#include "cli/server_backup.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <set>

#include "backup/alone.h"
#include "backup/backed_up_server.h"
#include "backup/backup_stream.h"
#include "backup/compressor.h"
#include "backup/file_tree.h"
#include "backup/innodb_log.h"
#include "backup/lasting_files.h"
#include "backup/mariadb_backup.h"
#include "backup/pace.h"
#include "base/version.h"
#include "cli/byte_progress.h"
#include "cli/check.h"
#include "cli/new_database.h"
#include "cli/stream_output.h"
#include "database/file_copy.h"
#include "database/manifest.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

constexpr int least_priority = 19;
/// How often it is looked whether mariadb-backup waits for a lock.
constexpr auto between_looks = std::chrono::seconds(1);
/// Of mariadb-backup, which may fail by what clients do meanwhile.
constexpr int most_attempts = 3;

/// Says of the folder TARGET.partial that a backup has made it, so that the next one may remove it.
constexpr const char* partial_mark = "backup.partial";

/// Of the GTIDs only the engine's is that of the binary log. mariadb-backup notes gtid_current_pos: on a
/// replica that has what its own log need not have, and may lack what has been committed a moment ago.
bool is_same_place(const std::optional<BinaryLogRecord>& one, const std::optional<BinaryLogRecord>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->file == other->file && one->position == other->position;
}

/// What mariadb-backup is to find in a base, and a server to read at a restore, stays as it is. A database
/// with a compressed manifest is none, which each program that opens it says.
StoredForm compressed_form(const std::string& path) {
  const size_t slash = path.find('/');
  const std::string name = path.substr(slash + 1);
  if (path.starts_with(BackupRecord::server_folder))
    return is_note_of_mariadb_backup(name) ? StoredForm::AsItIs : StoredForm::Smaller;
  return name == Manifest::file_name ? StoredForm::Compressed : StoredForm::Smaller;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  gmtime_r(&now, &fields);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", fields.tm_year + 1900, fields.tm_mon + 1,
                     fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec);
}

class ServerBackup {
 public:
  ServerBackup(Session& session, const ServerBackupOptions& options)
      : session_(session),
        options_(options),
        partial_(options.target + ".partial"),
        server_files_(partial_ + "/" + BackupRecord::server_folder),
        database_(partial_ + "/" + BackupRecord::database_folder),
        server_(options.option_file),
        pace_(uint64_t{options.max_rate} * 1'000'000) {}

  Status run() {
    record_.id = fmt::format("{:016x}", new_database_number());
    record_.program = release();
    record_.begun = utc_now();
    if (is_stream()) HAILSTONE_TRY(make_stream());
    HAILSTONE_TRY(read_base());
    HAILSTONE_TRY(server_.connect(record_));
    if (!is_stream()) HAILSTONE_TRY(make_partial());
    Status made = copy();
    if (made) made = server_.give_up();
    if (made && !is_stream()) made = check();
    if (made) made = is_stream() ? end_stream() : publish();
    if (!made) return std::unexpected(without_partial(made.error()));
    tell();
    return {};
  }

 private:
  std::function<bool()> stop() {
    return [this] { return session_.is_interrupted(); };
  }

  /// Work on files of so many bytes, at the pace of the backup.
  Status at_pace(const char* what, uint64_t bytes, const std::function<Status(const BytesDone&)>& work) {
    return with_byte_progress(session_, what, bytes, [&](const BytesDone& done) {
      return work([&](uint64_t more) {
        pace_.take(more);
        return done(more);
      });
    });
  }

  Status read_base() {
    if (options_.base.empty()) return {};
    HAILSTONE_ASSIGN(base_, read_backup_record(options_.base));
    HAILSTONE_ASSIGN(std::string path, posix_filesystem().canonical_path(options_.base));
    record_.base = BaseRecord{.id = base_->id, .path = std::move(path)};
    return {};
  }

  bool is_stream() const { return options_.target == ServerBackupOptions::stream; }

  Status make_stream() {
    HAILSTONE_ASSIGN(output_, StreamOutput::take_standard_output(stop()));
    const TakeBytes write = [this](std::string_view bytes) { return output_->write(bytes); };
    if (options_.compress == 0) {
      target_ = std::make_unique<StreamTarget>(write);
      return {};
    }
    compressor_.emplace(static_cast<int>(options_.compress), options_.threads, write);
    target_ =
        std::make_unique<StreamTarget>([this](std::string_view bytes) { return compressor_->append(bytes); });
    return {};
  }

  Status end_stream() {
    record_.ended = utc_now();
    HAILSTONE_ASSIGN(const std::string printed, read_text(log()));
    HAILSTONE_TRY(add_to_stream(BackupRecord::log_name, printed));
    HAILSTONE_TRY(add_to_stream(BackupRecord::file_name, to_json(record_)));
    if (compressor_) HAILSTONE_TRY(compressor_->finish());
    HAILSTONE_TRY(output_->finish());
    return posix_filesystem().remove(log());
  }

  Status add_to_stream(const char* name, const std::string& text) {
    HAILSTONE_ASSIGN(const auto file, target_->create(name));
    HAILSTONE_TRY(file->append(text));
    HAILSTONE_TRY(file->finish());
    return {};
  }

  /// Everything is made beside the target, which gets its name when it is whole.
  Status make_partial() {
    Filesystem& files = posix_filesystem();
    HAILSTONE_ASSIGN(const bool is_inside, is_within(files, options_.target, server_.data_directory()));
    if (is_inside) {
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format(
              "'{}' is in the server's data directory, where each folder is a database; give another target",
              options_.target));
    }
    if (files.exists(options_.target)) {
      HAILSTONE_ASSIGN(const auto names, files.list(options_.target));
      if (!names.empty()) {
        return fail(ErrorCode::AlreadyExists,
                    fmt::format("'{}' is not empty; give each backup a folder of its own", options_.target));
      }
    }
    if (files.exists(partial_)) {
      HAILSTONE_ASSIGN(const auto names, files.list(partial_));
      if (!names.empty() && !files.exists(partial_ + "/" + partial_mark)) {
        return fail(
            ErrorCode::AlreadyExists,
            fmt::format("'{}', where the backup is to be made, is there and no backup that was cut short; "
                        "remove it, or give another target",
                        partial_));
      }
      fmt::print("removing '{}', which a backup that was cut short has left\n", partial_);
      HAILSTONE_TRY(remove_tree(partial_));
    }
    if (files.exists(log())) HAILSTONE_TRY(files.remove(log()));
    HAILSTONE_TRY(files.make_directory(partial_));
    if (options_.compress == 0) {
      target_ = std::make_unique<FolderTarget>(partial_);
    } else {
      target_ =
          std::make_unique<FolderTarget>(partial_, static_cast<int>(options_.compress), compressed_form);
    }
    return write_text(partial_ + "/" + partial_mark, record_.id + "\n");
  }

  Error without_partial(const Error& error) {
    // What the server has staged goes with the connection, at the latest.
    static_cast<void>(server_.give_up());
    if (is_stream()) return error;
    return with_what_stayed(error, partial_, remove_tree(partial_));
  }

  Status copy() {
    HAILSTONE_TRY(choose_method());
    HAILSTONE_TRY(server_.arm());
    HAILSTONE_ASSIGN(const auto work, TemporaryFolder::make());
    const auto noted = record_.method == BackupRecord::alone ? copy_files_alone(work.path())
                                                             : copy_files_by_mariadb_backup(work.path());
    HAILSTONE_TRY(noted);
    HAILSTONE_TRY(server_.read_cut(record_));
    record_.cut = utc_now();
    if (!is_same_place(*noted, record_.binary_log)) return other_position(*noted);
    HAILSTONE_TRY(server_.finish());
    return copy_database();
  }

  Status choose_method() {
    HAILSTONE_ASSIGN(const auto others, server_.tables_of_other_engines());
    const bool alone = others.empty() && options_.mariadb_backup.empty();
    record_.method = alone ? BackupRecord::alone : BackupRecord::by_mariadb_backup;
    if (!base_ || base_->method == record_.method) return {};
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' was made {} mariadb-backup and this one is to be made {}; take a whole backup",
                    options_.base, alone ? "by" : "without", alone ? "without" : "by it"));
  }

  Result<std::optional<BinaryLogRecord>> copy_files_by_mariadb_backup(const std::string& work) {
    fmt::print("mariadb-backup copies the other engines; its output is in '{}'\n", log());
    const MariadbBackup with{
        .program = options_.mariadb_backup.empty() ? "mariadb-backup" : options_.mariadb_backup,
        .option_file = options_.option_file,
        .threads = options_.threads,
        .log = log()};
    const std::string base = base_ ? options_.base + "/" + BackupRecord::server_folder : "";
    HAILSTONE_ASSIGN(const std::string innodb_log, server_.innodb_log());
    for (int attempt = 1;; ++attempt) {
      CopiedInnodbLog copied_log(innodb_log, [this] { return server_.innodb_log_place(); });
      Result<CopiedServer> copied = fail(ErrorCode::Busy, "");
      bool is_late = false;
      const Status done = with_byte_progress(session_, "copying", 0, [&](const BytesDone& more) -> Status {
        copied = copy_server(
            with,
            {.data_directory = server_.data_directory(),
             .base = base,
             .target = *target_,
             .remove = [this](const std::string& path) { return remove_tree(partial_ + "/" + path); },
             .innodb_log = copied_log,
             .work = work,
             .pace = pace_},
            [&](uint64_t bytes) {
              is_late = is_late || lock_is_late();
              return more(bytes) && !is_late;
            });
        HAILSTONE_TRY(copied);
        return {};
      });
      if (!done && is_late) return std::unexpected(late_lock(options_.lock_seconds));
      if (done) {
        record_.server_files = std::move(copied->files);
        return copied->binary_log;
      }
      if (done.error().code() != ErrorCode::Busy || attempt == most_attempts)
        return std::unexpected(done.error());
      fmt::print("mariadb-backup has failed by what clients did meanwhile, and runs again\n");
      // In a stream its files come again, and take the place of the first.
      if (!is_stream()) HAILSTONE_TRY(remove_tree(server_files_));
      // Its moment has been too early now.
      HAILSTONE_TRY(server_.give_up());
      HAILSTONE_TRY(server_.arm());
    }
  }

  /// mariadb-backup waits for its locks as long as it takes, and other statements wait behind it.
  bool lock_is_late() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return false;
    next_look_ = now + between_looks;
    const auto wait = server_.lock_wait();
    // A server that does not answer has mariadb-backup fail.
    return wait && *wait > options_.lock_seconds;
  }

  Result<std::optional<BinaryLogRecord>> copy_files_alone(const std::string& work) {
    fmt::print("all tables are Hailstone's: definitions are copied, the server's own tables are dumped\n");
    HAILSTONE_ASSIGN(auto moment, copy_alone(server_,
                                             {.dump_program = options_.mariadb_dump,
                                              .option_file = options_.option_file,
                                              .lock_seconds = options_.lock_seconds,
                                              .log = log()},
                                             work + "/files", stop()));
    record_.gtid_slave_pos = std::move(moment.gtid_slave_pos);
    HAILSTONE_ASSIGN(record_.server_files, files_below(work + "/files"));
    HAILSTONE_TRY(at_pace("copying", bytes_of(record_.server_files), [&](const BytesDone& done) {
      return copy_files(work + "/files", *target_, BackupRecord::server_folder, record_.server_files,
                        options_.threads, done);
    }));
    return moment.binary_log;
  }

  /// It stays when the backup fails.
  std::string log() const {
    return is_stream() ? fmt::format("{}/hailstone-backup-{}.log", temporary_place(), record_.id)
                       : options_.target + ".log";
  }

  Status other_position(const std::optional<BinaryLogRecord>& noted) const {
    const auto shown = [](const std::optional<BinaryLogRecord>& position) {
      return position ? fmt::format("{} {}", position->file, position->position)
                      : std::string("no binary log");
    };
    return fail(ErrorCode::Corruption,
                fmt::format("the server's files are as of {}, the engine's of {}: they are not of one moment",
                            shown(noted), shown(record_.binary_log)));
  }

  Status copy_database() {
    auto files = files_below(server_.staged());
    if (!files) {
      return fail(files.error().code(),
                  fmt::format("{}; run this as root or as the server's user", files.error().message()));
    }
    HAILSTONE_ASSIGN(const auto manifest, Manifest::load(posix_filesystem(), server_.staged()));
    if (!manifest) return fail(ErrorCode::Corruption, fmt::format("'{}' has no manifest", server_.staged()));
    record_.identities = manifest->databases;
    HAILSTONE_TRY(divide(*files));
    if (!has_readable_copy()) HAILSTONE_TRY(check_tables_in(server_.staged()));
    return at_pace("copying", bytes_of(record_.database_files), [&](const BytesDone& done) {
      return copy_files(server_.staged(), *target_, BackupRecord::database_folder, record_.database_files,
                        options_.threads, done);
    });
  }

  /// Whether the copy is a database. With a base, not all of it is in one place.
  bool has_readable_copy() const { return !base_ && options_.compress == 0 && !is_stream(); }

  /// Files that the base has need no copy: a file with a number never changes, and there is no other of this
  /// number as long as the database is the same.
  Status divide(const std::vector<StoredFile>& files) {
    std::map<std::string, StoredFile> known;
    if (base_) {
      if (identities_of_original(*base_) != identities_of_original(record_)) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format(
                "'{}' is no base for this backup: it is of another server, or this one was restored since; "
                "take a whole backup",
                options_.base));
      }
      HAILSTONE_ASSIGN(const auto lasting, lasting_files_of_base());
      for (const auto* const of_base : {&base_->database_files, &base_->base_files}) {
        for (const StoredFile& file : *of_base) {
          if (!lasting.contains(file.path)) continue;
          known[file.path] = {.path = file.path, .bytes = file.bytes, .checksum = file.checksum};
        }
      }
    }
    for (const StoredFile& file : files) {
      const auto found = known.find(file.path);
      if (found != known.end() && found->second.bytes == file.bytes) {
        record_.base_files.push_back(found->second);
      } else {
        record_.database_files.push_back(file);
      }
    }
    return {};
  }

  Result<std::set<std::string>> lasting_files_of_base() const {
    const std::string database = options_.base + "/" + BackupRecord::database_folder;
    const auto is_manifest = [](const StoredFile& file) { return file.path == Manifest::file_name; };
    const auto manifest = std::ranges::find_if(base_->database_files, is_manifest);
    if (manifest == base_->database_files.end() || !manifest->zstd_bytes)
      return lasting_files(posix_filesystem(), database);
    HAILSTONE_ASSIGN(const auto plain, TemporaryFolder::make());
    FolderTarget target(plain.path());
    std::vector<StoredFile> files{*manifest};
    HAILSTONE_TRY(copy_files(database, target, "", files, 1, {}));
    return lasting_files(posix_filesystem(), plain.path());
  }

  Status check_tables_in(const std::string& directory) {
    if (options_.no_check) return {};
    DatabaseArguments arguments;
    arguments.command = "backup";
    arguments.directory = directory;
    HAILSTONE_TRY(session_.open_to_read(arguments));
    const auto result = check_tables(session_, {}, false);
    HAILSTONE_TRY(session_.close());
    HAILSTONE_TRY(result);
    if (result->damaged > 0) {
      return fail(
          ErrorCode::Corruption,
          fmt::format("{} of the server {} damaged, as said above; repair or drop what is damaged first, "
                      "or back up all the same by --no-check",
                      counted(result->damaged, "table"), result->damaged == 1 ? "is" : "are"));
    }
    checked_ = *result;
    record_.is_checked = true;
    return {};
  }

  /// Reads what was copied.
  Status check() {
    HAILSTONE_TRY(has_readable_copy() ? check_tables_in(database_)
                                      : check_copies(database_, record_.database_files));
    return check_copies(server_files_, record_.server_files);
  }

  Status check_copies(const std::string& folder, const std::vector<StoredFile>& written) {
    std::vector<StoredFile> files = written;
    HAILSTONE_TRY(at_pace("reading", bytes_of(files), [&](const BytesDone& done) {
      return read_checksums(folder, files, options_.threads, done);
    }));
    if (files == written) return {};
    return fail(ErrorCode::Corruption,
                fmt::format("what was written to '{}' is not what is there now; is the disk sound?", folder));
  }

  Status publish() {
    Filesystem& files = posix_filesystem();
    record_.ended = utc_now();
    HAILSTONE_TRY(write_text(partial_ + "/" + BackupRecord::file_name, to_json(record_)));
    HAILSTONE_TRY(files.rename(log(), partial_ + "/" + BackupRecord::log_name));
    HAILSTONE_TRY(sync_folders(partial_));
    HAILSTONE_TRY(files.rename(partial_, options_.target));
    HAILSTONE_TRY(files.sync_directory(parent_of(options_.target)));
    // Last: without it the folder under its first name would be taken for another's.
    HAILSTONE_TRY(files.remove(options_.target + "/" + partial_mark));
    return files.sync_directory(options_.target);
  }

  std::string shown_size(const std::vector<StoredFile>& files) const {
    uint64_t stored = 0;
    for (const StoredFile& file : files) stored += file.zstd_bytes.value_or(file.bytes);
    return fmt::format(
        "{} in {}{}", human_bytes(bytes_of(files)), counted(files.size(), "file"),
        options_.compress == 0 || is_stream() ? "" : fmt::format(", stored as {}", human_bytes(stored)));
  }

  void tell() const {
    fmt::print("{} is a backup of MariaDB {} on {}\n", is_stream() ? "the stream" : options_.target,
               record_.server_version, record_.host);
    fmt::print("  Hailstone: {}\n", shown_size(record_.database_files));
    if (record_.is_checked) fmt::print("  every byte of it was read: {}\n", summary_of(checked_));
    if (base_) {
      fmt::print("  the changes to {}, which a restore needs; it has {} of Hailstone\n", options_.base,
                 human_bytes(bytes_of(record_.base_files)));
    }
    fmt::print("  {}: {}\n", record_.method == BackupRecord::alone ? "the server's own" : "the other engines",
               shown_size(record_.server_files));
    if (const auto& log = record_.binary_log)
      fmt::print("  as of binary log {} position {}, GTID '{}'\n", log->file, log->position, log->gtid);
    fmt::print("  commits waited {:.1f} ms for Hailstone\n",
               static_cast<double>(record_.cut_microseconds) / 1000);
  }

  Session& session_;
  const ServerBackupOptions& options_;
  const std::string partial_, server_files_, database_;
  std::unique_ptr<StreamOutput> output_;  // of a stream
  std::optional<Compressor> compressor_;  // of all of it
  std::unique_ptr<FileTarget> target_;
  BackedUpServer server_;
  BackupRecord record_;
  std::optional<BackupRecord> base_;
  Pace pace_;
  std::chrono::steady_clock::time_point next_look_;
  CheckResult checked_;
};

}  // namespace

Status back_up_server(Session& session, const ServerBackupOptions& options) {
  // Nobody else is to read what is backed up.
  umask(S_IRWXG | S_IRWXO);
  // The server's clients go first; so it is with the programs that run for this one.
  setpriority(PRIO_PROCESS, 0, least_priority);
  return ServerBackup(session, options).run();
}

}  // namespace hailstone
