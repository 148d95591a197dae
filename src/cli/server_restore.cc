#include "cli/server_restore.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "backup/alone.h"
#include "backup/backup_chain.h"
#include "backup/backup_stream.h"
#include "backup/child_process.h"
#include "backup/mariadb_backup.h"
#include "backup/private_server.h"
#include "cli/byte_progress.h"
#include "cli/new_database.h"
#include "database/file_copy.h"
#include "database/server_folder.h"
#include "text/plain_input.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

/// In the data directory: all is made there, and moves to its place when it is whole. A server does not start
/// with a data directory that has nothing else.
constexpr const char* partial_folder = "#restore";
/// Settings of InnoDB that its files need, as mariadb-backup notes them; for the first start.
constexpr std::string_view settings_name = "backup-my.cnf";
constexpr const char* standard_input = "-";

class ServerRestore {
 public:
  ServerRestore(Session& session, const ServerRestoreOptions& options)
      : session_(session),
        options_(options),
        partial_(options.data_directory + "/" + partial_folder),
        unpacked_(partial_ + "/#unpacked") {}

  Status run() {
    const bool has_stream = is_backup_stream(options_.backup);
    if (!has_stream) HAILSTONE_TRY(read_records(options_.backup));
    HAILSTONE_TRY(make_directory());
    Status made = has_stream ? unpack() : Status{};
    if (made) made = is_alone() ? make_server_files() : copy_server_files();
    if (made) made = copy_database();
    if (made && has_stream) made = remove_tree(unpacked_);
    if (made) made = move_in_place();
    if (!made) return std::unexpected(without_partial(made.error()));
    HAILSTONE_TRY(start_server());
    tell();
    return {};
  }

 private:
  std::function<bool()> stop() {
    return [this] { return session_.is_interrupted(); };
  }
  MariadbBackup with_mariadb_backup() const {
    return {.program = options_.mariadb_backup, .option_file = {}, .threads = options_.threads, .log = log()};
  }

  Status make_directory() {
    Filesystem& files = posix_filesystem();
    is_new_ = !files.exists(options_.data_directory);
    if (!is_new_) {
      HAILSTONE_ASSIGN(auto names, files.list(options_.data_directory));
      // What a restore that was cut short has left.
      std::erase_if(names,
                    [](const std::string& name) { return name == partial_folder || name == "restore.log"; });
      if (!names.empty()) {
        return fail(
            ErrorCode::AlreadyExists,
            fmt::format(
                "the data directory '{}' is not empty; move what is there to another place, and stop the "
                "server before",
                options_.data_directory));
      }
      if (files.exists(partial_)) HAILSTONE_TRY(remove_tree(partial_));
    }
    HAILSTONE_TRY(files.make_directory(options_.data_directory));
    user_ = options_.user;
    if (user_.empty() && is_root()) {
      HAILSTONE_ASSIGN(user_, owner_of(options_.data_directory));
      if (user_ == "root") user_ = "mysql";
    }
    return files.make_directory(partial_);
  }

  Error without_partial(const Error& error) {
    const std::string& made = is_new_ ? options_.data_directory : partial_;
    return with_what_stayed(error, made, remove_tree(made));
  }

  /// What a stream is of becomes a backup's folder beside the files that are made of it.
  Status unpack() {
    HAILSTONE_TRY(posix_filesystem().make_directory(unpacked_));
    HAILSTONE_ASSIGN(const auto input, open_plain_input(options_.backup, session_.interrupt_descriptor()));
    const Status unpacked =
        with_byte_progress(session_, "unpacking", 0, [&](const BytesDone& done) -> Status {
          HAILSTONE_TRY(unpack_stream(*input, unpacked_, done));
          return {};
        });
    HAILSTONE_TRY(unpacked);
    return read_records(unpacked_);
  }

  Status read_records(const std::string& folder) {
    HAILSTONE_ASSIGN(chain_, BackupChain::read(folder, options_.bases));
    return {};
  }
  const BackupRecord& record() const { return chain_->record(); }

  /// What is copied must be what was backed up. What was unpacked has been compared, and moves.
  Status copy_part(const BackupChain::Part& part, const char* part_folder, const std::string& to,
                   const std::vector<StoredFile>& wanted) {
    const std::string from = part.folder + "/" + part_folder;
    if (part.folder == unpacked_) return move_files(from, to, wanted);
    return with_byte_progress(session_, "restoring", bytes_of(wanted), [&](const BytesDone& done) {
      return copy_compared(from, to, wanted, options_.threads, done);
    });
  }

  bool is_alone() const { return record().method == BackupRecord::alone; }
  std::string log() const { return options_.data_directory + "/restore.log"; }

  /// A new server, with the definitions of the one that was backed up; its own tables come when it runs.
  Status make_server_files() {
    std::vector<std::string> command{options_.install_program, "--no-defaults",
                                     "--datadir=" + partial_,  "--auth-root-authentication-method=normal",
                                     "--skip-test-db",         "--skip-name-resolve"};
    if (!options_.base_directory.empty()) command.push_back("--basedir=" + options_.base_directory);
    if (!user_.empty()) command.push_back("--user=" + user_);
    // As the server's user it has to come through.
    if (!user_.empty()) HAILSTONE_TRY(give_to_user(options_.data_directory, user_));
    HAILSTONE_TRY(run_program(command, log(), stop()));
    return copy_part(chain_->parts().back(), BackupRecord::server_folder, partial_, record().server_files);
  }

  Status load_system_tables(PrivateServer& server) {
    const std::string dump = options_.data_directory + "/" + system_dump;
    HAILSTONE_TRY(run_program({options_.client_program, "--defaults-file=" + server.client_option_file(),
                               "--database=mysql", "--abort-source-on-error", "--execute=source " + dump},
                              log(), stop()));
    HAILSTONE_TRY(posix_filesystem().remove(dump));
    if (!record().gtid_slave_pos.empty()) {
      HAILSTONE_TRY(
          server.connection().execute("SET GLOBAL gtid_slave_pos = " + quoted_text(record().gtid_slave_pos)));
    }
    return {};
  }

  /// The whole backup, and the changes one after the other: each is brought in as a copy, as that changes it.
  Status copy_server_files() {
    const std::string changes = partial_ + "/#changes";
    for (const BackupChain::Part& part : chain_->parts()) {
      const bool is_whole = !part.record.base;
      HAILSTONE_TRY(copy_part(part, BackupRecord::server_folder, is_whole ? partial_ : changes,
                              part.record.server_files));
      HAILSTONE_TRY(prepare_server(with_mariadb_backup(), partial_, is_whole ? "" : changes, stop()));
      if (!is_whole) HAILSTONE_TRY(remove_tree(changes));
    }
    return {};
  }

  Status copy_database() {
    const std::string database = partial_ + "/" + server_folder;
    HAILSTONE_ASSIGN(const auto parts, chain_->database_files());
    for (const auto& [part, files] : parts)
      HAILSTONE_TRY(copy_part(*part, BackupRecord::database_folder, database, files));
    return become_another_database(posix_filesystem(), database);
  }

  Status move_in_place() {
    Filesystem& files = posix_filesystem();
    HAILSTONE_ASSIGN(const auto names, files.list(partial_));
    for (const std::string& name : names) {
      if (is_note_of_mariadb_backup(name) && name != settings_name) continue;
      HAILSTONE_TRY(files.rename(partial_ + "/" + name, options_.data_directory + "/" + name));
    }
    HAILSTONE_TRY(remove_tree(partial_));
    HAILSTONE_TRY(sync_folders(options_.data_directory));
    return user_.empty() ? Status{} : give_to_user(options_.data_directory, user_);
  }

  /// What only a server can settle.
  Status start_server() {
    const std::string settings = fmt::format("{}/{}", options_.data_directory, settings_name);
    PrivateServer server({.program = options_.server_program,
                          .data_directory = options_.data_directory,
                          .option_file = posix_filesystem().exists(settings) ? settings : "",
                          .plugin_directory = options_.plugin_directory,
                          .user = user_,
                          .log = log()});
    if (const Status started = server.start(stop(), rolled_back_); !started) {
      return fail(started.error().code(),
                  fmt::format("all is restored to '{}', but a server does not start with it: {}",
                              options_.data_directory, started.error().message()));
    }
    if (is_alone()) HAILSTONE_TRY(load_system_tables(server));
    HAILSTONE_ASSIGN(const auto prepared, server.connection().query("XA RECOVER FORMAT='SQL'"));
    for (const auto& row : prepared) prepared_.push_back(row.back());
    if (options_.as_replica && record().binary_log) {
      // Of a replica, it has what came from its own primary; the binary log need not have that.
      HAILSTONE_ASSIGN(const auto known, server.connection().query("SELECT @@global.gtid_slave_pos"));
      const std::string all = later_in_each_domain(known.at(0).at(0), record().binary_log->gtid);
      HAILSTONE_TRY(
          server.connection().execute(fmt::format("SET GLOBAL gtid_slave_pos = {}", quoted_text(all))));
    }
    HAILSTONE_ASSIGN(const auto tables,
                     server.connection().query("SELECT COUNT(*) FROM information_schema.tables WHERE "
                                               "engine = 'HAILSTONE'"));
    tables_ = number_of(tables.at(0).at(0));
    HAILSTONE_TRY(server.end(stop()));
    return posix_filesystem().exists(settings) ? posix_filesystem().remove(settings) : Status{};
  }

  void tell() const {
    fmt::print("{} is restored from {}, of {}: {} of Hailstone; a server has started with it\n",
               options_.data_directory, options_.backup == standard_input ? "the stream" : options_.backup,
               record().cut, counted(tables_, "table"));
    if (rolled_back_) fmt::print("  transactions that the server had prepared for itself were rolled back\n");
    for (const std::string& name : prepared_)
      fmt::print("  prepared by a client, and still so: XA COMMIT {} or XA ROLLBACK {}\n", name, name);
    if (const auto& log = record().binary_log) {
      fmt::print("  it is as of binary log {} position {}, GTID '{}'\n", log->file, log->position, log->gtid);
      if (options_.as_replica) {
        fmt::print(
            "  as a replica of {}: CHANGE MASTER TO MASTER_HOST='{}', MASTER_USE_GTID=slave_pos, with user "
            "and "
            "password; START SLAVE\n",
            record().host, record().host);
      } else {
        fmt::print("  what came later is in the binary logs of {}: docs/backup.md, point in time\n",
                   record().host);
      }
    }
    fmt::print("  next: start the server; then CHECK TABLE, and compare a count that you know\n");
  }

  Session& session_;
  const ServerRestoreOptions& options_;
  const std::string partial_, unpacked_;
  std::optional<BackupChain> chain_;
  std::string user_;
  bool is_new_ = false, rolled_back_ = false;
  uint64_t tables_ = 0;
  std::vector<std::string> prepared_;
};

}  // namespace

bool is_server_backup(const std::string& backup) {
  return is_backup_stream(backup) || posix_filesystem().exists(backup + "/" + BackupRecord::file_name);
}

Status restore_server(Session& session, const ServerRestoreOptions& options) {
  // Nobody else is to read what is restored.
  umask(S_IRWXG | S_IRWXO);
  return ServerRestore(session, options).run();
}

}  // namespace hailstone
