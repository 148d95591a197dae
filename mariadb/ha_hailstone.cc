// Opening tables, what the engine can do, locking, conditions and statistics.
#include "ha_hailstone.h"

#include <algorithm>
#include <chrono>

#include "definition.h"
#include "discovery.h"
#include "engine.h"
#include "error.h"
#include "fmt/format.h"
#include "merged_views.h"
#include "missing_tables.h"
#include "pushdown.h"
#include "server/differences.h"
#include "two_phase.h"

namespace hailstone {

namespace {

/// The server loses rows in ranges of keys whose parts behind the first differ in their directions: such keys
/// are not extended.
void limit_extended_keys(TABLE& table) {
  for (uint i = 0; i < table.s->keys; ++i) {
    KEY& key = table.key_info[i];
    const auto descends = [&](uint part) {
      return (key.key_part[part].key_part_flag & HA_REVERSE_SORT) != 0;
    };
    for (uint part = key.user_defined_key_parts; part < key.ext_key_parts; ++part) {
      if (part < 2 || descends(part) == descends(1)) continue;
      key.ext_key_parts = key.user_defined_key_parts;
      key.ext_key_flags = key.flags;
      key.ext_key_part_map = 0;
    }
  }
}

/// Values of the first parts of an index, those that extend it included; 0: unknown.
uint64_t distinct_of_prefix(const TABLE& table, const TableStatistics& statistics, uint index, uint parts) {
  const KEY& key = table.key_info[index];
  const auto known = [&](uint of, uint first_parts) -> uint64_t {
    if (first_parts == 0 || of >= statistics.distinct.size()) return 0;
    const auto& counts = statistics.distinct[of];
    return first_parts <= counts.size() ? counts[first_parts - 1] : 0;
  };
  if (parts <= key.user_defined_key_parts) return known(index, parts);
  // Behind its own parts it has those of the clustered key: with all of them it tells each row.
  if (parts == key.ext_key_parts && (key.ext_key_flags & HA_EXT_NOSAME) != 0)
    return std::max<uint64_t>(1, statistics.rows);
  const KEY& clustered = table.key_info[0];
  const auto has = [&](const KEY_PART_INFO& part) {
    return std::any_of(key.key_part, key.key_part + parts,
                       [&](const KEY_PART_INFO& each) { return each.fieldnr == part.fieldnr; });
  };
  uint of_clustered = 0;
  while (of_clustered < clustered.user_defined_key_parts && has(clustered.key_part[of_clustered]))
    ++of_clustered;
  return std::max(known(index, key.user_defined_key_parts), known(0, of_clustered));
}

}  // namespace

HailstoneHandler::~HailstoneHandler() {
  leave_session();
  stop_tracing_work();
}

handler::Table_flags HailstoneHandler::table_flags() const {
  const THD* const thd = ha_thd();
  const Table_flags logged_as = thd != nullptr && repeats_statements(thd)
                                    ? HA_BINLOG_ROW_CAPABLE | HA_BINLOG_STMT_CAPABLE
                                    : HA_BINLOG_ROW_CAPABLE;
  // HA_PRIMARY_KEY_IN_READ_INDEX goes with HA_CLUSTERED_INDEX below: to merge a range of the clustered key
  // with scans of other indexes, the server looks at the key's columns in the rows of those scans. With the
  // flag it asks for them.
  return HA_REC_NOT_IN_SEQ | HA_NULL_IN_KEY | HA_CAN_INDEX_BLOBS | HA_CAN_GEOMETRY | HA_CAN_VIRTUAL_COLUMNS |
         HA_CAN_ONLINE_BACKUPS | HA_TABLE_SCAN_ON_INDEX | HA_ONLINE_ANALYZE | HA_CONCURRENT_OPTIMIZE |
         HA_PARTIAL_COLUMN_READ | HA_PRIMARY_KEY_IN_READ_INDEX | HA_CRASH_SAFE | logged_as |
         HA_CAN_TABLE_CONDITION_PUSHDOWN | HA_CAN_TABLES_WITHOUT_ROLLBACK | HA_CAN_SKIP_LOCKED |
         HA_CAN_EXPORT | no_online_alter;
}

ulong HailstoneHandler::index_flags(uint index, uint, bool) const {
  constexpr ulong all = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE;
  // The server may take a later index for its primary key, on which rows are not clustered.
  const bool is_clustered = index == 0 && table_share->primary_key == 0;
  return all | HA_KEYREAD_ONLY | (is_clustered ? HA_CLUSTERED_INDEX : 0);
}

const char* HailstoneHandler::index_type(uint) { return "BTREE"; }

// --- opening

uint HailstoneHandler::reference_length() const {
  if (!table_->definition().has_primary_key) return 2 + 8;
  size_t length = 2;
  const KEY& key = table->key_info[0];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    const Column& column = table_->definition().columns[format_->column_of_field(part.fieldnr - 1U)];
    if (column.type < Type::Char) {
      length += 1 + column.width;
      continue;
    }
    // Weights, of which every byte may have to be escaped, with their end and what pads them. Of a CHAR
    // column, even those of a prefix may be filled up to its length.
    const size_t bytes =
        column.type == Type::Char ? std::max<size_t>(part.length, column.width) : part.length;
    const size_t weights = std::max(bytes, part.field->charset()->strnxfrmlen(bytes));
    length += 2 * weights + weights / 4 + 64;
  }
  return static_cast<uint>(std::min(length, max_key_bytes + 2));
}

int HailstoneHandler::open(const char* name, int, uint) {
  return entry({.function = "open", .path = name}, [&]() -> int {
    name_ = table_name_of_path(name);
    lock_shared_ha_data();
    shared_ = static_cast<SharedTable*>(get_ha_share_ptr());
    if (shared_ == nullptr) {
      auto found = database().table(name_);
      if (!found) {
        unlock_shared_ha_data();
        if (found.error().code() != ErrorCode::NotFound) return report(found.error());
        if (is_partition_name(name_)) return refuse_missing_partition(name_);
        return HA_ERR_NO_SUCH_TABLE;
      }
      shared_ = new SharedTable(std::move(*found));
      set_ha_share_ptr(shared_);
    }
    unlock_shared_ha_data();
    generation_ = shared_->generation();
    table_ = shared_->table();

    // A .frm file that is older than the catalog: the server asks for the catalog's image then.
    if (!is_temporary_name(name_) && !is_partition_name(name_) &&
        contradicts(table_->definition().application, *table->s)) {
      return HA_ERR_TABLE_DEF_CHANGED;
    }
    const auto wanted = define_table(*table, name_, true);
    if (!wanted) return report(wanted.error());
    // The catalog's image is no other than the .frm file, so it is not worth asking for.
    if (const std::string reason = difference(table_->definition(), *wanted); !reason.empty()) {
      const Error error{
          ErrorCode::InvalidArgument,
          fmt::format(
              "table '{}' does not fit its definition in the server: {}; restore it and its .frm file "
              "from one backup, or drop it",
              name_, reason)};
      sql_print_error("Hailstone: %s", error.message().c_str());
      return report(error);
    }
    // The server then writes a TRUNCATE to the binary log, so that replicas have no rows either.
    if (table_->take_emptied()) implicit_emptied = true;
    format_ = std::make_unique<RecordFormat>(*table);
    read_set_.clear();
    ref_length = reference_length();
    limit_extended_keys(*table);
    stats.block_size = 4096;
    update_statistics(HA_STATUS_VARIABLE | HA_STATUS_CONST);
    return 0;
  });
}

int HailstoneHandler::close() {
  const int error = entry({"close"}, [&]() -> int {
    leave_session();
    exported_.reset();
    stop_tracing_work();
    format_.reset();
    table_.reset();
    return 0;
  });
  trace_ = nullptr;
  return error;
}

uint8 HailstoneHandler::table_cache_type() {
  // The server's query cache would not hear of rows that expire, and it does not ask partitions
  // (register_query_cache_table()).
  const bool expires = table_ != nullptr && table_->definition().retention.any();
  return expires || is_partition_name(name_) ? HA_CACHE_TBL_NOCACHE : HA_CACHE_TBL_TRANSACT;
}

my_bool HailstoneHandler::register_query_cache_table(THD* thd, const char*, uint,
                                                     qc_engine_callback* callback, ulonglong*) {
  // The server makes the cache forget a table when a statement has changed it, which is before the commit.
  // What others read until then must not come into the cache: nothing would make it forget that.
  *callback = nullptr;
  Session* const session = Session::find(thd);
  const Transaction* const transaction = session == nullptr ? nullptr : session->transaction();
  return transaction != nullptr && database().transactions().reads_newest(*transaction);
}

handler* HailstoneHandler::clone(const char* name, MEM_ROOT* root) {
  handler* const copy = handler::clone(name, root);
  // The server locks the copy for reading even where it looks for rows to change with it.
  if (copy != nullptr) {
    static_cast<HailstoneHandler*>(copy)->wanted_lock_ = lock_;
    static_cast<HailstoneHandler*>(copy)->feeds_change_ = feeds_change_;
  }
  return copy;
}

// --- transactions

void HailstoneHandler::take_newest_table() {
  if (generation_ == shared_->generation()) return;
  release_readers();
  generation_ = shared_->generation();
  table_ = shared_->table();
  read_set_.clear();
  last_estimate_.index = MAX_KEY;
}

int HailstoneHandler::begin_if_not_begun(bool writes) {
  // Under LOCK TABLES, the server does not say that a statement with a sequence begins.
  const bool is_sequence = table->s->sequence != nullptr;
  if (transaction_ != nullptr || (has_begun_ && !is_sequence)) return 0;
  return begin_statement(ha_thd(), writes || is_sequence);
}

int HailstoneHandler::need_transaction(bool writes) {
  if (transaction_ != nullptr) [[likely]]
    return 0;
  if (const int error = begin_if_not_begun(writes); error != 0) return error;
  return transaction_ != nullptr ? 0 : HA_ERR_LOCK_DEADLOCK;
}

int HailstoneHandler::begin_statement(THD* thd, bool writes) {
  if (Session& session = Session::of(thd); session_ != &session) {
    leave_session();
    session_ = &session;
  }
  transaction_ = &session_->enter_statement();
  if (table->s->sequence != nullptr) begin_sequence_transaction();
  // From now on the session tells when the transaction ends: nothing here may outlive it.
  session_->add_user(this);
  take_newest_table();
  lock_ = writes && !skips_locked(wanted_lock_) ? ReadLock::Exclusive : wanted_lock_;
  if (lock_ == ReadLock::None && transaction_->isolation() == Isolation::Serializable &&
      session_->in_multi_statement_transaction()) {
    lock_ = ReadLock::Shared;
  }
  if (writes && !sequence_transaction_) {
    if (const Status kept = session_->keep_table(*table_); !kept) return report(kept.error());
  }
  // These do not need what is damaged.
  if (const int command = thd_sql_command(thd);
      command == SQLCOM_CHECK || command == SQLCOM_TRUNCATE || thd->tablespace_op) {
    return 0;
  }
  if (const Status usable = table_->usable(); !usable) return report(usable.error());
  // No other connection sees a temporary table, so it has no past to be missed.
  if (lock_ != ReadLock::None || is_temporary_name(name_)) return 0;
  Status fits = table_->check_snapshot(*transaction_, true);
  if (fits && is_partition_name(name_)) fits = check_partition_snapshot(name_, *transaction_);
  return fits ? 0 : report(fits.error());
}

ReadLock HailstoneHandler::read_lock_of(thr_lock_type lock_type) {
  switch (lock_type) {
    case TL_READ_WITH_SHARED_LOCKS:
      return ReadLock::Shared;
    case TL_READ_SKIP_LOCKED:
      return ReadLock::SharedSkippingLocked;
    case TL_WRITE_SKIP_LOCKED:
      return ReadLock::ExclusiveSkippingLocked;
    default:
      return lock_type >= TL_FIRST_WRITE ? ReadLock::Exclusive : ReadLock::None;
  }
}

void HailstoneHandler::want_lock(THD* thd, thr_lock_type lock_type) {
  wanted_lock_ = read_lock_of(lock_type);
  // LOCK TABLES keeps others out by itself.
  feeds_change_ = (lock_type == TL_READ_NO_INSERT && thd_sql_command(thd) != SQLCOM_LOCK_TABLES) ||
                  (lock_type == TL_READ && applies_statement(thd));
}

void HailstoneHandler::settle_lock() {
  // Nobody else sees a temporary table. Without a transaction, which a deadlock has ended, the read fails.
  if (lock_ != ReadLock::None || !feeds_change_ || transaction_ == nullptr || is_temporary_name(name_) ||
      !repeats_this_statement(ha_thd())) {
    return;
  }
  lock_ = ReadLock::Shared;
  transaction_->set_locks_ranges(true);
}

int HailstoneHandler::external_lock(THD* thd, int lock_type) {
  return entry({"external_lock", Returns::Error, Argument::Lock, lock_type}, [&]() -> int {
    if (lock_type == F_UNLCK) {
      Session* const session = is_partition_name(name_) ? Session::find(thd) : nullptr;
      if (session != nullptr && session->take_partition_analysis())
        table->file->info(HA_STATUS_CONST | HA_STATUS_NO_LOCK);
      exported_.reset();
      stop_tracing_work();
      return 0;
    }
    start_tracing_work();
    has_begun_ = true;
    // What a copying ALTER TABLE does not read would not be in the copy.
    if (const int command = thd_sql_command(thd);
        command == SQLCOM_ALTER_TABLE || command == SQLCOM_CREATE_INDEX || command == SQLCOM_DROP_INDEX) {
      if (const Status waited = wait_for_prepared(thd, name_); !waited) return report(waited.error());
    }
    // While tables are locked, the server locks again what it has opened anew.
    const bool locks_tables =
        thd_sql_command(thd) == SQLCOM_LOCK_TABLES || thd->locked_tables_mode == LTM_LOCK_TABLES;
    if (locks_tables && lock_type == F_WRLCK) {
      if (const int error = ensure_definition_file(table->s->normalized_path.str); error != 0) return error;
    }
    if (const int error = begin_statement(thd, lock_type == F_WRLCK); error != 0) return error;
    if (lock_type != F_RDLCK || !exports_tables(thd)) return 0;
    auto exported = ExportedTable::make(thd, name_);
    if (!exported) return report(exported.error());
    exported_ = std::move(*exported);
    return 0;
  });
}

int HailstoneHandler::start_stmt(THD* thd, thr_lock_type lock_type) {
  return entry({"start_stmt", Returns::Error, Argument::TableLock, lock_type}, [&]() -> int {
    start_tracing_work();
    has_begun_ = true;
    want_lock(thd, lock_type);
    return begin_statement(thd, lock_type >= TL_FIRST_WRITE);
  });
}

THR_LOCK_DATA** HailstoneHandler::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  return entry({"store_lock", Returns::Nothing, Argument::TableLock, lock_type}, [&]() -> THR_LOCK_DATA** {
    if (lock_type == TL_IGNORE) return to;
    want_lock(thd, lock_type);
    return to;
  });
}

void HailstoneHandler::release_readers() {
  scan_.reset();
  batch_ = nullptr;
  cursor_.reset();
  bulk_.reset();
  row_reads_.reset();
  key_reads_.reset();
  has_written_ = false;
  place_ = Place::None;
}

void HailstoneHandler::leave_session() {
  release_readers();
  if (session_ != nullptr) session_->remove_user(this);
  transaction_ends();
}

void HailstoneHandler::transaction_ends() {
  release_readers();
  session_ = nullptr;
  transaction_ = nullptr;
  sequence_transaction_.reset();
}

void HailstoneHandler::begin_sequence_transaction() {
  release_readers();
  const std::chrono::milliseconds timeout = transaction_->lock_wait_timeout();
  sequence_transaction_ = database().transactions().begin(Isolation::ReadCommitted);
  THD* const thd = ha_thd();
  sequence_transaction_->set_interruption_check([thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
  sequence_transaction_->set_lock_wait_timeout(timeout);
  transaction_ = sequence_transaction_.get();
}

int HailstoneHandler::commit_sequence() {
  if (!sequence_transaction_) return 0;
  release_readers();
  const Status committed = database().transactions().commit(*sequence_transaction_);
  begin_sequence_transaction();
  return committed ? 0 : report(committed.error());
}

void HailstoneHandler::statement_rolls_back() { bulk_.reset(); }

int HailstoneHandler::extra(ha_extra_function operation) {
  return entry({"extra", Returns::Error, Argument::Operation, operation}, [&]() -> int {
    if (is_abort_of_copy(operation)) bulk_.reset();
    switch (operation) {
      case HA_EXTRA_IGNORE_DUP_KEY:
        duplicates_are_handled_ = true;
        break;
      case HA_EXTRA_NO_IGNORE_DUP_KEY:
        duplicates_are_handled_ = false;
        break;
      case HA_EXTRA_WRITE_CAN_REPLACE:
        can_replace_ = true;
        break;
      case HA_EXTRA_WRITE_CANNOT_REPLACE:
        can_replace_ = false;
        break;
      case HA_EXTRA_INSERT_WITH_UPDATE:
        updates_duplicates_ = true;
        break;
      case HA_EXTRA_PREPARE_FOR_RENAME:
        // ALTER TABLE to another engine moves the old table's file aside, and nothing else.
        if (thd_sql_command(ha_thd()) == SQLCOM_ALTER_TABLE)
          return ensure_definition_file(table->s->normalized_path.str);
        break;
      default:
        break;
    }
    return 0;
  });
}

int HailstoneHandler::reset() {
  const int error = entry({"reset"}, [&]() -> int {
    // A replica that reads the server's statistics resets its temporary tables in the middle of a statement.
    // Such a table keeps its transaction: no other thread takes it before that has ended.
    if (is_temporary_name(name_)) {
      release_readers();
    } else {
      leave_session();
      wanted_lock_ = lock_ = ReadLock::None;
      feeds_change_ = false;
    }
    has_begun_ = false;
    stop_tracing_work();
    last_estimate_.index = MAX_KEY;
    predicate_.reset();
    duplicates_are_handled_ = false;
    can_replace_ = false;
    updates_duplicates_ = false;
    message_.clear();
    return 0;
  });
  // The last call of a statement; the next one may be another connection's.
  trace_ = nullptr;
  return error;
}

// --- conditions

const COND* HailstoneHandler::cond_push(const COND* condition) {
  return entry({"cond_push", Returns::Remainder}, [&]() -> const COND* {
    // The server checks each row again, so a part of the condition is as good as it gets and never wrong.
    try {
      PushedCondition pushed = translate_condition(*table, *format_, *condition, /*row_is_there=*/false);
      if (!pushed.predicate) return condition;
      predicate_ = std::move(pushed.predicate);
      return nullptr;
    } catch (const std::bad_alloc&) {
      return condition;
    }
  });
}

void HailstoneHandler::cond_pop() {
  entry({"cond_pop", Returns::Nothing}, [&]() { predicate_.reset(); });
}

// --- statistics

int HailstoneHandler::info(uint flag) {
  return entry({"info", Returns::Error, Argument::Information, flag}, [&]() -> int {
    if (transaction_ == nullptr) take_newest_table();
    // So the optimizer asks each table of a block for its rows. When a table is opened, the server asks which
    // partition has room for history.
    if (has_begun_ && (flag & HA_STATUS_VARIABLE) != 0 && (flag & HA_STATUS_NO_LOCK) != 0)
      let_block_be_offered(*table);
    update_statistics(flag);
    return 0;
  });
}

void HailstoneHandler::update_statistics(uint flag) {
  if ((flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) != 0) {
    const TableStatistics statistics = table_->statistics();
    // An estimate of no rows would make each plan of the optimizer's look free. Who only shows the number
    // asks for the time of the last change, too, or, of a partition, for more about it; who looks for the
    // first partition without history rows, for what an open table needs.
    const bool shown = (flag & (HA_STATUS_TIME | HA_STATUS_VARIABLE_EXTRA | HA_STATUS_OPEN)) != 0;
    const ha_rows estimate = std::max<ha_rows>(shown ? 1 : 2, statistics.rows);
    stats.records = shown ? statistics.rows : estimate;
    stats.deleted = statistics.deleted_rows;
    stats.data_file_length = statistics.data_bytes;
    stats.index_file_length = statistics.index_bytes;
    stats.mean_rec_length =
        static_cast<ulong>(statistics.data_bytes / std::max<uint64_t>(1, statistics.rows));
    if ((flag & HA_STATUS_CONST) != 0) {
      for (uint i = 0; i < table_share->keys; ++i) {
        KEY& key = table->key_info[i];
        for (uint part = 0; part < key.ext_key_parts; ++part) {
          uint64_t distinct = distinct_of_prefix(*table, statistics, i, part + 1);
          const bool unique = (key.flags & HA_NOSAME) != 0 && part + 1 == key.user_defined_key_parts;
          // Unknown: a guess that grows more selective with every part.
          if (distinct == 0)
            distinct =
                unique ? estimate : std::max<uint64_t>(1, estimate / (uint64_t{10} >> std::min(part, 3U)));
          key.rec_per_key[part] =
              static_cast<ulong>(std::max<uint64_t>(1, estimate / distinct / understated_rows_of_key));
        }
      }
    }
  }
  if ((flag & HA_STATUS_ERRKEY) != 0) {
    // A partitioned table asks its partition used last, which need not be the one that found the duplicate.
    const bool of_another = duplicate_index_ == MAX_KEY && session_ != nullptr && is_partition_name(name_);
    errkey = of_another ? session_->duplicate_index(*table) : duplicate_index_;
  }
  if ((flag & HA_STATUS_AUTO) != 0) stats.auto_increment_value = table_->next_auto_increment();
}

// --- tracing

Trace* HailstoneHandler::follow_trace() {
  THD* const thd = ha_thd();
  // The server may call store_lock() for another connection, which it wants to give its lock up.
  Trace* const trace = Trace::of(thd);
  if (trace != trace_ && thd == current_thd) [[unlikely]]
    trace_ = trace;
  return trace;
}

void HailstoneHandler::start_tracing_work() {
  if (trace_ == nullptr || working_for_ != nullptr) return;
  working_for_ = trace_;
  working_for_->start_work();
}

void HailstoneHandler::stop_tracing_work() {
  if (working_for_ == nullptr) return;
  working_for_->stop_work();
  working_for_ = nullptr;
}

// --- errors

int HailstoneHandler::report(const Error& error) {
  message_ = error.message();
  return handler_error(ha_thd(), error);
}

bool HailstoneHandler::get_error_message(int error, String* buffer) {
  return entry({"get_error_message", Returns::Nothing}, [&]() -> bool {
    // The server would put it behind its own sentence, which says all.
    if (error == HA_ERR_LOCK_DEADLOCK) return false;
    buffer->append(message_.data(), message_.size(), system_charset_info);
    return false;
  });
}

}  // namespace hailstone
