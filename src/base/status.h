// Errors as values. An Error names what failed, where (table, file, offset) and what to do; nothing in
// Hailstone throws.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace hailstone {

enum class ErrorCode : uint8_t {
  NotFound,         // no such row, table, file
  AlreadyExists,    // table or file of that name is there
  DuplicateKey,     // unique index violated
  LockWaitTimeout,  // row or table lock not granted in time; the transaction lives on
  Deadlock,         // this transaction was chosen as the victim; the caller must roll it back
  Interrupted,      // the application's interruption check said stop
  OutOfMemory,      // memory budget or system memory exhausted
  DiskFull,         // ENOSPC, EDQUOT
  TooManyLocks,     // row locks take all the memory that they may
  TableFull,        // the rows of a table in memory take all that they may
  Io,               // any other failure of the filesystem
  Corruption,       // checksum or structure of stored bytes is wrong
  InvalidArgument,  // caller's fault
  RowTooLarge,      // row or key beyond a documented limit
  Busy,             // another process or transaction has it
  ReadOnly,         // database was stopped from writing by an earlier failure
  Unsupported,      // valid, but not offered
  TableChanged,     // the table was made or renamed after the transaction's snapshot was taken
  SnapshotTooOld,   // the transaction's snapshot was ended; only a new transaction sees rows again
};

std::string_view to_string(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message, int system_error = 0)
      : code_(code), system_error_(system_error), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  /// The errno of a system call that failed; 0 for other errors.
  int system_error() const { return system_error_; }
  const std::string& message() const { return message_; }

 private:
  ErrorCode code_;
  int system_error_;
  std::string message_;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

/// `return fail(ErrorCode::Io, fmt::format(...));`
inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error(code, std::move(message)));
}

}  // namespace hailstone

#define HAILSTONE_JOIN_INNER(a, b) a##b
#define HAILSTONE_JOIN(a, b) HAILSTONE_JOIN_INNER(a, b)

/// Returns the error of a Status (or Result, whose value is dropped) to the caller.
#define HAILSTONE_TRY(expression)                            \
  do {                                                       \
    auto&& try_result = (expression);                        \
    if (!try_result) [[unlikely]]                            \
      return std::unexpected(std::move(try_result).error()); \
  } while (false)

/// Declares or assigns `target` from a Result, or returns its error to the caller.
#define HAILSTONE_ASSIGN(target, expression) \
  HAILSTONE_ASSIGN_INNER(HAILSTONE_JOIN(assign_result_, __LINE__), target, expression)
#define HAILSTONE_ASSIGN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result) [[unlikely]]                                \
    return std::unexpected(std::move(result).error());     \
  target = std::move(*result)
