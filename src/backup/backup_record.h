// backup.json: what a backup of a server is of, and which files it has (docs/backup.md). It is written last,
// so that a folder with it is a whole backup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backup/file_tree.h"
#include "base/status.h"
#include "segment/file_identity.h"

namespace hailstone {

struct BinaryLogRecord {
  std::string file;
  uint64_t position = 0;
  std::string gtid;

  bool operator==(const BinaryLogRecord&) const = default;
};

/// A backup that another one only has the changes to.
struct BaseRecord {
  std::string id;
  std::string path;  // where it was then, from the root on

  bool operator==(const BaseRecord&) const = default;
};

struct BackupRecord {
  /// The latest form of the file; a later one is refused. The second one tells of files that are compressed;
  /// where none is, the first is written, for earlier releases.
  static constexpr uint64_t format = 2, format_without_compressed = 1;
  static constexpr const char* file_name = "backup.json";
  /// What other programs have printed.
  static constexpr const char* log_name = "backup.log";
  /// Folders of a backup: what mariadb-backup or this program copied of the server, and the engine's
  /// database.
  static constexpr const char* server_folder = "server";
  static constexpr const char* database_folder = "hailstone";
  /// How the server's files were copied: by that program, or without it (alone.h).
  static constexpr const char* by_mariadb_backup = "mariadb-backup";
  static constexpr const char* alone = "alone";

  std::string id;                  // of this backup: 16 hexadecimal digits
  std::optional<BaseRecord> base;  // nothing: it is whole
  std::string method;              // by_mariadb_backup or alone
  std::string begun, cut, ended;   // UTC, 2026-11-29T14:00:00Z
  std::string program;             // version of this one
  std::string server_version, plugin_version, host, data_directory;
  std::optional<BinaryLogRecord> binary_log;  // nothing: the server writes none
  std::string gtid_slave_pos;                 // of a server that is a replica itself
  uint64_t cut_microseconds = 0;
  std::vector<DatabaseIdentity> identities;  // of the engine's database
  bool is_checked = false;
  std::vector<StoredFile> server_files, database_files;
  std::vector<StoredFile> base_files;  // of the database, which the base has, or its base
};

/// GTIDs as in `0-1-11,2-2-7`: of each domain that either has, the one with the higher number.
std::string later_in_each_domain(const std::string& one, const std::string& other);

/// The numbers that the database had when it was copied, without the one that the copy got.
std::vector<DatabaseIdentity> identities_of_original(const BackupRecord& record);

/// Whether a path stays below the folder that it is looked for in, whoever wrote it.
bool is_path_below(const std::string& path);
/// The form in which the record is written.
uint64_t format_of(const BackupRecord& record);

std::string to_json(const BackupRecord& record);
/// `name` is the file's, for errors. ErrorCode::Corruption; Unsupported for a later form.
Result<BackupRecord> parse_backup_record(const std::string& json, const std::string& name);
Result<BackupRecord> read_backup_record(const std::string& folder);

}  // namespace hailstone
