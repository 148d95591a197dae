// The manifest: a file of checksummed records that says what every table consists of and where the log
// starts. The last record for a table counts. docs/formats.md has it to the byte.
//
// append() makes records durable before it returns. Bytes behind the last seal, a record written after each
// sync, were never relied on: a damaged record there is the torn tail of an append that a crash cut short,
// and load() leaves it out; damage before a seal is ErrorCode::Corruption. After an append that failed, or a
// torn tail, the file must be rewritten before anything is appended; must_be_rewritten() says so. rewrite()
// puts a new file in the place of the old one in one step.
//
// A Manifest belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counters.h"
#include "base/page_allocator.h"
#include "base/status.h"
#include "file/filesystem.h"
#include "log/log.h"
#include "segment/file_identity.h"
#include "table/table.h"

namespace hailstone {

/// Everything committed up to `committed` is in the tables' states, or carried in the log from `carried` on.
struct CheckpointMark {
  Lsn log_start = 0;  // replay begins here: operations of transactions that were open lie before `carried`
  Lsn carried = 0;    // Carry records before this position are void
  Timestamp committed = 0;  // commits up to this one are not replayed
  TableId next_table = 1;   // identities never used before
  uint64_t next_file = 1;
};

/// Where the newest record of a table lies.
struct StoredTable {
  uint64_t offset = 0;  // of the record in the file
  Timestamp applied_until = 0;
};

/// What a manifest holds. The tables stay in the file's bytes until they are read: there may be very many.
struct ManifestContent {
  TableRecord read(const StoredTable& table) const;
  /// How much of the file the record takes.
  size_t bytes_of(const StoredTable& table) const;

  std::unordered_map<TableId, StoredTable> tables;
  std::map<TableId, Timestamp> dropped;  // tables whose drop may still have to be replayed
  CheckpointMark mark;
  std::vector<DatabaseIdentity>
      databases;              // ascending by their first files; none before the database had one
  ByteView file;              // its bytes
  PageBytes held_file;        // holds them, if load() made this
  uint64_t intact_bytes = 0;  // of them before the tail that was left out
  bool torn = false;          // a tail was left out
};

/// Records on their way into the manifest.
class ManifestRecords {
 public:
  void add_table(const TableRecord& record);
  void add_dropped(TableId table, Timestamp timestamp);
  void add_mark(const CheckpointMark& mark);
  void add_database(const DatabaseIdentity& identity);
  bool empty() const { return frames_.empty(); }
  size_t bytes() const { return frames_.size(); }
  size_t count() const { return count_; }

 private:
  friend class Manifest;
  void begin(uint8_t type);
  void end();
  std::string frames_;  // checksums still to be filled in, as they depend on the place in the file
  size_t begin_ = 0;
  size_t count_ = 0;
};

class Manifest {
 public:
  /// Nothing when the directory has no manifest. ErrorCode::Corruption names file and offset.
  static Result<std::optional<ManifestContent>> load(Filesystem& filesystem, const std::string& directory,
                                                     Counters* counters = nullptr);
  static constexpr const char* file_name = "manifest";
  static std::string path_in(const std::string& directory);

  /// `bytes`: of the file that load() read; `torn`: as load() found it. The file is opened at the first
  /// append.
  Manifest(Filesystem& filesystem, std::string directory, Counters& counters, uint64_t bytes, bool torn);

  Status append(ManifestRecords records);
  Status rewrite(ManifestRecords records);
  bool must_be_rewritten() const { return must_be_rewritten_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Status write_and_sync(WritableFile& file, ManifestRecords& records);

  Filesystem& filesystem_;
  const std::string directory_;
  Counters& counters_;
  std::unique_ptr<WritableFile> file_;
  uint64_t bytes_;
  bool must_be_rewritten_;
};

/// The records of a manifest file's bytes, which must outlive them; `path` is named in errors. For load(),
/// and for tests with hostile bytes.
Result<ManifestContent> parse_manifest(ByteView bytes, const std::string& path);

}  // namespace hailstone
