#include "base/status.h"

namespace hailstone {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return "not found";
    case ErrorCode::AlreadyExists:
      return "already exists";
    case ErrorCode::DuplicateKey:
      return "duplicate key";
    case ErrorCode::LockWaitTimeout:
      return "lock wait timeout";
    case ErrorCode::Deadlock:
      return "deadlock";
    case ErrorCode::Interrupted:
      return "interrupted";
    case ErrorCode::OutOfMemory:
      return "out of memory";
    case ErrorCode::DiskFull:
      return "disk full";
    case ErrorCode::TooManyLocks:
      return "too many locks";
    case ErrorCode::TableFull:
      return "table full";
    case ErrorCode::Io:
      return "input/output error";
    case ErrorCode::Corruption:
      return "corruption";
    case ErrorCode::InvalidArgument:
      return "invalid argument";
    case ErrorCode::RowTooLarge:
      return "row too large";
    case ErrorCode::Busy:
      return "busy";
    case ErrorCode::ReadOnly:
      return "read only";
    case ErrorCode::TableChanged:
      return "table changed";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::SnapshotTooOld:
      return "snapshot too old";
  }
  return "unknown error";
}

}  // namespace hailstone
