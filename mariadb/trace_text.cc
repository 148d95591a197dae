#include "trace_text.h"

#include <fmt/format.h>

#include "engine.h"
#include "server/differences.h"

namespace hailstone {

namespace {

// A constant of the server's under its own name.
#define HAILSTONE_NAME(constant) \
  case constant:                 \
    return #constant

std::string number_text(int64_t number) { return fmt::format("{}", number); }

std::string operation_text(int64_t operation) {
  switch (operation) {
    HAILSTONE_NAME(HA_EXTRA_NORMAL);
    HAILSTONE_NAME(HA_EXTRA_QUICK);
    HAILSTONE_NAME(HA_EXTRA_NOT_USED);
    HAILSTONE_NAME(HA_EXTRA_CACHE);
    HAILSTONE_NAME(HA_EXTRA_NO_CACHE);
    HAILSTONE_NAME(HA_EXTRA_NO_READCHECK);
    HAILSTONE_NAME(HA_EXTRA_READCHECK);
    HAILSTONE_NAME(HA_EXTRA_KEYREAD);
    HAILSTONE_NAME(HA_EXTRA_NO_KEYREAD);
    HAILSTONE_NAME(HA_EXTRA_NO_USER_CHANGE);
    HAILSTONE_NAME(HA_EXTRA_KEY_CACHE);
    HAILSTONE_NAME(HA_EXTRA_NO_KEY_CACHE);
    HAILSTONE_NAME(HA_EXTRA_WAIT_LOCK);
    HAILSTONE_NAME(HA_EXTRA_NO_WAIT_LOCK);
    HAILSTONE_NAME(HA_EXTRA_WRITE_CACHE);
    HAILSTONE_NAME(HA_EXTRA_FLUSH_CACHE);
    HAILSTONE_NAME(HA_EXTRA_NO_KEYS);
    HAILSTONE_NAME(HA_EXTRA_KEYREAD_CHANGE_POS);
    HAILSTONE_NAME(HA_EXTRA_REMEMBER_POS);
    HAILSTONE_NAME(HA_EXTRA_RESTORE_POS);
    HAILSTONE_NAME(HA_EXTRA_REINIT_CACHE);
    HAILSTONE_NAME(HA_EXTRA_FORCE_REOPEN);
    HAILSTONE_NAME(HA_EXTRA_FLUSH);
    HAILSTONE_NAME(HA_EXTRA_NO_ROWS);
    HAILSTONE_NAME(HA_EXTRA_RESET_STATE);
    HAILSTONE_NAME(HA_EXTRA_IGNORE_DUP_KEY);
    HAILSTONE_NAME(HA_EXTRA_NO_IGNORE_DUP_KEY);
    HAILSTONE_NAME(HA_EXTRA_PREPARE_FOR_DROP);
    HAILSTONE_NAME(HA_EXTRA_PREPARE_FOR_UPDATE);
    HAILSTONE_NAME(HA_EXTRA_PRELOAD_BUFFER_SIZE);
    HAILSTONE_NAME(HA_EXTRA_CHANGE_KEY_TO_UNIQUE);
    HAILSTONE_NAME(HA_EXTRA_CHANGE_KEY_TO_DUP);
    HAILSTONE_NAME(HA_EXTRA_KEYREAD_PRESERVE_FIELDS);
    HAILSTONE_NAME(HA_EXTRA_MMAP);
    HAILSTONE_NAME(HA_EXTRA_IGNORE_NO_KEY);
    HAILSTONE_NAME(HA_EXTRA_NO_IGNORE_NO_KEY);
    HAILSTONE_NAME(HA_EXTRA_MARK_AS_LOG_TABLE);
    HAILSTONE_NAME(HA_EXTRA_WRITE_CAN_REPLACE);
    HAILSTONE_NAME(HA_EXTRA_WRITE_CANNOT_REPLACE);
    HAILSTONE_NAME(HA_EXTRA_DELETE_CANNOT_BATCH);
    HAILSTONE_NAME(HA_EXTRA_UPDATE_CANNOT_BATCH);
    HAILSTONE_NAME(HA_EXTRA_INSERT_WITH_UPDATE);
    HAILSTONE_NAME(HA_EXTRA_PREPARE_FOR_RENAME);
    HAILSTONE_NAME(HA_EXTRA_ADD_CHILDREN_LIST);
    HAILSTONE_NAME(HA_EXTRA_ATTACH_CHILDREN);
    HAILSTONE_NAME(HA_EXTRA_IS_ATTACHED_CHILDREN);
    HAILSTONE_NAME(HA_EXTRA_DETACH_CHILDREN);
    HAILSTONE_NAME(HA_EXTRA_DETACH_CHILD);
    HAILSTONE_NAME(HA_EXTRA_PREPARE_FOR_FORCED_CLOSE);
    HAILSTONE_NAME(HA_EXTRA_PREPARE_FOR_ALTER_TABLE);
    HAILSTONE_NAME(HA_EXTRA_STARTING_ORDERED_INDEX_SCAN);
    default:
      break;
  }
  const char* const of_copy = name_of_copy_operation(static_cast<ha_extra_function>(operation));
  return of_copy != nullptr ? of_copy : number_text(operation);
}

std::string lock_text(int64_t lock) {
  switch (lock) {
    HAILSTONE_NAME(F_RDLCK);
    HAILSTONE_NAME(F_WRLCK);
    HAILSTONE_NAME(F_UNLCK);
    default:
      return number_text(lock);
  }
}

std::string table_lock_text(int64_t lock) {
  switch (static_cast<thr_lock_type>(lock)) {
    HAILSTONE_NAME(TL_IGNORE);
    HAILSTONE_NAME(TL_UNLOCK);
    HAILSTONE_NAME(TL_READ_DEFAULT);
    HAILSTONE_NAME(TL_READ);
    HAILSTONE_NAME(TL_READ_WITH_SHARED_LOCKS);
    HAILSTONE_NAME(TL_READ_HIGH_PRIORITY);
    HAILSTONE_NAME(TL_READ_NO_INSERT);
    HAILSTONE_NAME(TL_READ_SKIP_LOCKED);
    HAILSTONE_NAME(TL_WRITE_ALLOW_WRITE);
    HAILSTONE_NAME(TL_WRITE_CONCURRENT_INSERT);
    HAILSTONE_NAME(TL_WRITE_DELAYED);
    HAILSTONE_NAME(TL_WRITE_DEFAULT);
    HAILSTONE_NAME(TL_WRITE_LOW_PRIORITY);
    HAILSTONE_NAME(TL_WRITE_SKIP_LOCKED);
    HAILSTONE_NAME(TL_WRITE);
    HAILSTONE_NAME(TL_WRITE_ONLY);
  }
  return number_text(lock);
}

std::string search_mode_text(int64_t mode) {
  switch (mode) {
    HAILSTONE_NAME(HA_READ_KEY_EXACT);
    HAILSTONE_NAME(HA_READ_KEY_OR_NEXT);
    HAILSTONE_NAME(HA_READ_KEY_OR_PREV);
    HAILSTONE_NAME(HA_READ_AFTER_KEY);
    HAILSTONE_NAME(HA_READ_BEFORE_KEY);
    HAILSTONE_NAME(HA_READ_PREFIX);
    HAILSTONE_NAME(HA_READ_PREFIX_LAST);
    HAILSTONE_NAME(HA_READ_PREFIX_LAST_OR_PREV);
    default:
      return number_text(mode);
  }
}

std::string information_text(int64_t flags) {
  constexpr std::pair<int64_t, const char*> names[] = {
      {HA_STATUS_POS, "POS"},           {HA_STATUS_NO_LOCK, "NO_LOCK"},
      {HA_STATUS_TIME, "TIME"},         {HA_STATUS_CONST, "CONST"},
      {HA_STATUS_VARIABLE, "VARIABLE"}, {HA_STATUS_ERRKEY, "ERRKEY"},
      {HA_STATUS_AUTO, "AUTO"},         {HA_STATUS_VARIABLE_EXTRA, "VARIABLE_EXTRA"},
      {HA_STATUS_OPEN, "OPEN"}};
  std::string text;
  for (const auto& [flag, name] : names) {
    if ((flags & flag) == 0) continue;
    if (!text.empty()) text += '|';
    text.append("HA_STATUS_").append(name);
  }
  return text;
}

std::string index_text(const TABLE* table, int64_t index) {
  if (table == nullptr || index >= table->s->keys) return number_text(index);
  const LEX_CSTRING& name = table->key_info[index].name;
  return {name.str, name.length};
}

std::string error_text(int64_t error) {
  switch (error) {
    HAILSTONE_NAME(HA_ERR_KEY_NOT_FOUND);
    HAILSTONE_NAME(HA_ERR_FOUND_DUPP_KEY);
    HAILSTONE_NAME(HA_ERR_INTERNAL_ERROR);
    HAILSTONE_NAME(HA_ERR_RECORD_CHANGED);
    HAILSTONE_NAME(HA_ERR_CRASHED);
    HAILSTONE_NAME(HA_ERR_OUT_OF_MEM);
    HAILSTONE_NAME(HA_ERR_WRONG_COMMAND);
    HAILSTONE_NAME(HA_ERR_RECORD_FILE_FULL);
    HAILSTONE_NAME(HA_ERR_END_OF_FILE);
    HAILSTONE_NAME(HA_ERR_UNSUPPORTED);
    HAILSTONE_NAME(HA_ERR_TO_BIG_ROW);
    HAILSTONE_NAME(HA_ERR_LOCK_WAIT_TIMEOUT);
    HAILSTONE_NAME(HA_ERR_LOCK_DEADLOCK);
    HAILSTONE_NAME(HA_ERR_NO_SUCH_TABLE);
    HAILSTONE_NAME(HA_ERR_TABLE_EXIST);
    HAILSTONE_NAME(HA_ERR_TABLE_DEF_CHANGED);
    HAILSTONE_NAME(HA_ERR_AUTOINC_READ_FAILED);
    HAILSTONE_NAME(HA_ERR_AUTOINC_ERANGE);
    HAILSTONE_NAME(HA_ERR_GENERIC);
    HAILSTONE_NAME(HA_ERR_ABORTED_BY_USER);
    default:
      return fmt::format("error {}", error);
  }
}

std::string admin_text(int64_t result) {
  switch (result) {
    HAILSTONE_NAME(HA_ADMIN_OK);
    HAILSTONE_NAME(HA_ADMIN_FAILED);
    HAILSTONE_NAME(HA_ADMIN_CORRUPT);
    default:
      return number_text(result);
  }
}

std::string alter_text(int64_t result) {
  switch (result) {
    HAILSTONE_NAME(HA_ALTER_INPLACE_INSTANT);
    HAILSTONE_NAME(HA_ALTER_INPLACE_NOT_SUPPORTED);
    default:
      return number_text(result);
  }
}

#undef HAILSTONE_NAME

}  // namespace

std::string shown_name(const std::string& table_name) {
  // What the server puts before a name that is not encoded as its own are.
  constexpr std::string_view mark = "#mysql50#";
  std::string name = sql_names(table_name).second;
  if (name.starts_with(mark)) name.erase(0, mark.size());
  return name;
}

std::string argument_text(const TracedCall& call, const TABLE* table) {
  switch (call.argument) {
    case Argument::None:
      return {};
    case Argument::Text:
      return call.text != nullptr ? call.text : "";
    case Argument::RenamedTo:
      return "to " + shown_name(table_name_of_path(call.text));
    case Argument::Scan:
      return call.first != 0 ? "whole table" : "positions";
    case Argument::Index:
      return index_text(table, call.first);
    case Argument::SortedIndex:
      return index_text(table, call.first) + (call.second != 0 ? ", sorted" : "");
    case Argument::Search:
      return index_text(table, call.first) + ", " + search_mode_text(call.second);
    case Argument::Bounds: {
      constexpr const char* bounds[] = {"no bound", "lower bound", "upper bound", "both bounds"};
      return index_text(table, call.first) + ", " + bounds[call.second & 3];
    }
    case Argument::Operation:
      return operation_text(call.first);
    case Argument::Lock:
      return lock_text(call.first);
    case Argument::TableLock:
      return table_lock_text(call.first);
    case Argument::Information:
      return information_text(call.first);
    case Argument::Rows:
      return call.first == 0 ? "unknown number of rows" : fmt::format("{} rows", call.first);
    case Argument::Values:
      return fmt::format("{} wanted", call.first);
    case Argument::TransactionEnd:
      return fmt::format("all={}, end of {}", call.first, call.second != 0 ? "transaction" : "statement");
  }
  return {};
}

std::string result_text(Returns returns, int64_t result) {
  switch (returns) {
    case Returns::Nothing:
      return {};
    case Returns::Error:
    case Returns::Row:
      return result == 0 ? std::string() : error_text(result);
    case Returns::Number:
      return number_text(result);
    case Returns::Admin:
      return admin_text(result);
    case Returns::Alter:
      return alter_text(result);
    case Returns::Remainder:
      return result == 0 ? "taken" : "left to the server";
    case Returns::Pushed:
      return result == 0 ? "left to the server" : "taken";
  }
  return {};
}

}  // namespace hailstone
