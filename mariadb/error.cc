#include "error.h"

#include <utility>

#include "session.h"

namespace hailstone {

namespace {

void warn_of(THD* thd, const Error& error) { add_warning(thd, ER_INTERNAL_ERROR, error.message()); }

}  // namespace

void add_warning(THD* thd, uint code, const std::string& message) {
  // In a strict sql_mode the server would take the warning for the statement's error, whose own code follows.
  const bool aborts = std::exchange(thd->abort_on_warning, false);
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, code, "Hailstone: %s", message.c_str());
  thd->abort_on_warning = aborts;
}

int handler_error(THD* thd, const Error& error) {
  switch (error.code()) {
    case ErrorCode::NotFound:
      return HA_ERR_KEY_NOT_FOUND;
    case ErrorCode::AlreadyExists:
      return HA_ERR_TABLE_EXIST;
    case ErrorCode::DuplicateKey:
      return HA_ERR_FOUND_DUPP_KEY;
    case ErrorCode::LockWaitTimeout:
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case ErrorCode::Deadlock:
      if (Session* session = Session::find(thd); session != nullptr) session->roll_back_deadlock();
      return HA_ERR_LOCK_DEADLOCK;
    case ErrorCode::TableChanged:
      return HA_ERR_TABLE_DEF_CHANGED;
    case ErrorCode::TooManyLocks:
      warn_of(thd, error);
      return HA_ERR_LOCK_TABLE_FULL;
    case ErrorCode::Interrupted:
      return HA_ERR_ABORTED_BY_USER;
    case ErrorCode::DiskFull:
    case ErrorCode::TableFull:
      warn_of(thd, error);
      return HA_ERR_RECORD_FILE_FULL;
    case ErrorCode::Corruption:
      warn_of(thd, error);
      sql_print_error("Hailstone: %s", error.message().c_str());
      return HA_ERR_CRASHED;
    case ErrorCode::RowTooLarge:
      warn_of(thd, error);
      return HA_ERR_TO_BIG_ROW;
    case ErrorCode::OutOfMemory:
    case ErrorCode::Io:
    case ErrorCode::InvalidArgument:
    case ErrorCode::Busy:
    case ErrorCode::ReadOnly:
    case ErrorCode::Unsupported:
    case ErrorCode::SnapshotTooOld:
      return error_with_message;
  }
  return HA_ERR_GENERIC;
}

void raise_error(const Error& error) {
  if (error.code() == ErrorCode::LockWaitTimeout) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return;
  }
  my_printf_error(ER_INTERNAL_ERROR, "Hailstone: %s", MYF(0), error.message().c_str());
}

}  // namespace hailstone
