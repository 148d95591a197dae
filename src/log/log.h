// The write-ahead log: an endless sequence of records, cut into files. A position in it (Lsn) is a byte count
// from the log's beginning. append() puts a record into memory; write() and sync() bring all up to a position
// to the system or to the disk, many callers at once sharing one call (group commit). All members are
// thread-safe, but open() and replay().
//
// A write that fails, as on a full disk, is cut off, and the log is stalled: the same bytes are written again
// and again until they fit, and write() and sync() wait for that. append() never waits for a stalled log,
// since callers hold mutexes; a caller that holds none asks wait_for_room() first. The log fails for good
// when it has been stalled for write_timeout, or when a cut or a sync fails: every later append, write and
// sync then returns the same error, as nothing can be promised any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  Prepare = 4,  // the last operations of a transaction that its coordinator will commit or roll back
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
    size_t buffer_bytes = size_t{4} << 20;  // append() blocks on a write beyond this, unless it is stalled
    std::chrono::milliseconds write_timeout{0};
    std::chrono::milliseconds retry_pause{50};  // between two tries
  };

  /// Opens the log files in the directory, or starts the first one. Call replay() before the first append().
  static Result<std::unique_ptr<Log>> open(Filesystem& filesystem, Options options, Counters& counters);
  ~Log();

  /// Calls `visit` for every record that replay() would give; changes nothing. The same errors.
  Status scan(Lsn from, const std::function<Status(const LogRecord&)>& visit);
  /// Calls `apply` for every record at or after `from`, in order; then cuts a torn tail.
  /// ErrorCode::Corruption names file and offset when bytes that had been durable are damaged or a file is
  /// missing. An error of `apply` ends the replay.
  Status replay(Lsn from, const std::function<Status(const LogRecord&)>& apply);

  /// Position after the record. ErrorCode::RowTooLarge beyond 1 GiB; ReadOnly once the log has failed for
  /// good. While it is stalled: the error that stalls it, when more is waiting than memory should hold.
  Result<Lsn> append(LogRecordType type, ByteView payload);
  /// Asked at least every 50 ms by a caller that waits for a stalled log; true ends the wait with
  /// ErrorCode::Interrupted. Empty: never.
  using Interruption = std::function<bool()>;
  /// Positions beyond end() mean end().
  Status write(Lsn upto, const Interruption& interrupted = {});
  Status sync(Lsn upto, const Interruption& interrupted = {});
  /// Waits while the log is stalled and its buffer is full. Interrupted: the error that stalls it, as
  /// append() would return.
  Status wait_for_room(const Interruption& interrupted);
  /// Why the log is stalled; nothing when it is not.
  std::optional<Error> stall() const;
  void set_write_timeout(std::chrono::milliseconds timeout);
  Lsn end() const;
  Lsn durable() const;

  /// Starts a new file; the position from which on its records are. Records appended before are in older
  /// files. An error of a log that has not failed for good changes nothing. Does not wait for a stalled log.
  /// Does not sync: before anything durable names the position as a replay's `from`, it must have been
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
