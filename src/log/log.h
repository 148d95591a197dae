// The write-ahead log: an endless sequence of records, cut into files. A position in it (Lsn) is a byte count
// from the log's beginning. append() puts a record into memory; write() and sync() bring all up to a position
// to the system or to the disk, many callers at once sharing one call (group commit). After a failed write or
// sync every later append, write and sync returns the same error: nothing can be promised any more. All
// members are thread-safe, but open() and replay().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "file/filesystem.h"

namespace hailstone {

using Lsn = uint64_t;

/// What a record is; the payloads belong to src/database/ (docs/formats.md).
enum class LogRecordType : uint8_t {
  Operations = 1,  // some operations of a transaction that has not ended yet
  Truncate = 2,    // a transaction rolled back to a savepoint: its operations beyond a length are void
  Commit = 3,
  Prepare = 4,
  Rollback = 5,
  Carry = 6,  // committed rows written again at a checkpoint
};

struct LogRecord {
  Lsn begin = 0, end = 0;
  LogRecordType type{};
  ByteView payload;
};

class Log {
 public:
  struct Options {
    std::string directory;
    size_t buffer_bytes = size_t{4} << 20;  // append() blocks on a write beyond this
  };

  /// Opens the log files in the directory, or starts the first one. Call replay() before the first append().
  static Result<std::unique_ptr<Log>> open(Filesystem& filesystem, Options options, Counters& counters);
  ~Log();

  /// Calls `apply` for every record at or after `from`, in order; then cuts a torn tail.
  /// ErrorCode::Corruption names file and offset when bytes that had been durable are damaged or a file is
  /// missing. An error of `apply` ends the replay.
  Status replay(Lsn from, const std::function<Status(const LogRecord&)>& apply);

  /// Position after the record. ErrorCode::RowTooLarge beyond 1 GiB; ReadOnly once a write or sync has
  /// failed, which ends all appending.
  Result<Lsn> append(LogRecordType type, ByteView payload);
  /// Positions beyond end() mean end().
  Status write(Lsn upto);
  Status sync(Lsn upto);
  Lsn end() const;
  Lsn durable() const;

  /// Starts a new file; the position from which on its records are. Records appended before are in older
  /// files. Does not sync: before anything durable names the position as a replay's `from`, it must have been
  /// synced, as the log is corrupt without a file for it.
  Result<Lsn> rotate();
  /// Deletes files that end at or before `position`.
  Status drop_before(Lsn position);

 private:
  Log();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
