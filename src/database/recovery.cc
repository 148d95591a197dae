#include "database/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "base/clock.h"
#include "database/checkpoint.h"
#include "database/online_backup.h"
#include "database/state_recorder.h"
#include "database/table_folder.h"
#include "log/operation.h"

namespace hailstone {

namespace {
// What the system cannot read now is tried again so often before the table is set aside.
constexpr int tries_to_read = 20;
constexpr auto pause_between_tries = std::chrono::milliseconds(50);
}  // namespace

std::unexpected<Error> Recovery::damaged(const LogRecord& record, std::string_view what) const {
  return fail(
      ErrorCode::Corruption,
      fmt::format("the log in '{}' holds a record at position {} that {}; restore the database from a backup",
                  core_.directory(), record.begin, what));
}

Status Recovery::run() {
  const uint64_t begun = monotonic_microseconds();
  HAILSTONE_TRY(adopt_manifest());
  core_.recorder->set_recovering(true);
  const Lsn start = content_.mark.log_start;
  HAILSTONE_TRY(core_.log->scan(start, [this](const LogRecord& record) { return look_ahead(record); }));
  redo_.finish();
  HAILSTONE_TRY(core_.log->replay(start, [this](const LogRecord& record) { return apply(record); }));
  core_.counters().transactions_recovered.store(transactions_ + redo_.open_transactions());
  core_.recorder->set_recovering(false);
  HAILSTONE_TRY(core_.catalog().finish_recovery());
  core_.transactions().resume_after(last_committed_, last_transaction_);
  finish_restored();
  core_.next_table.store(last_table_ + 1);
  core_.file_numbers.skip_to(last_file_ + 1);
  core_.checkpointer->start_from(content_.mark, passed_over_);
  core_.checkpoint_timestamp.store(content_.mark.committed, std::memory_order_relaxed);
  for (const TableId id : passed_over_) {
    const EntryPointer entry = core_.catalog().find(id);
    if (entry == nullptr) continue;  // dropped further on
    if (const auto table = core_.catalog().opened(entry);
        table != nullptr && !table->usable() && table->usable().error().code() == ErrorCode::Unsupported) {
      continue;  // not damaged: whatever reads it is told
    }
    core_.log_message(
        DatabaseOptions::Severity::Warning,
        fmt::format(
            "changes of the damaged table '{}' that are in the log cannot be applied. The log is kept, so "
            "that they are when the table's files are whole again and the database is opened anew; restore "
            "the files, or drop or truncate the table",
            core_.catalog().last_definition(entry).unpack().name));
  }
  if (transactions_ + carried_rows_ > 0) {
    core_.log_message(
        DatabaseOptions::Severity::Note,
        fmt::format("recovered {} transactions and {} carried rows from {} bytes of log in {:.3f} s",
                    transactions_, carried_rows_, bytes_,
                    static_cast<double>(monotonic_microseconds() - begun) / 1e6));
  }
  return {};
}

Status Recovery::adopt_manifest() {
  core_.file_numbers.adopt(std::move(content_.databases));
  last_committed_ = content_.mark.committed;
  last_table_ = content_.mark.next_table - 1;
  last_file_ = content_.mark.next_file - 1;
  for (const std::string& name : names_) last_file_ = std::max(last_file_, file_number_of(name).value_or(0));
  core_.catalog().expect_tables(content_.tables.size());
  for (const auto& [id, stored] : content_.tables) {
    TableRecord record = content_.read(stored);
    last_table_ = std::max(last_table_, id);
    for (const auto& segment : record.segments) {
      last_file_ = std::max({last_file_, segment.file, segment.delete_vector});
    }
    const Timestamp timestamp = record.definition_timestamp;
    // The log does not hold the commits of tables in memory. A commit that were given such a time again would
    // count as one that the files hold.
    last_committed_ = std::max({last_committed_, timestamp, record.applied_until});
    const EntryPointer entry =
        core_.catalog().recover_create(id, std::move(record.definition), timestamp, /*changed=*/false);
    core_.recorder->adopt(*entry, std::move(record), content_.bytes_of(stored));
  }
  content_.tables.clear();
  content_.held_file.reset();
  for (const auto& [id, timestamp] : content_.dropped) last_table_ = std::max(last_table_, id);
  core_.recorder->adopt_mark(content_.mark, content_.dropped);
  return {};
}

Status Recovery::look_ahead(const LogRecord& record) {
  // What deltas held at the checkpoint comes before all that was committed later. Records of a transaction
  // that was open then may stand in front of it.
  if (record.type == LogRecordType::Carry) return apply_carry(record);
  const std::string_view wrong = redo_.add(record);
  if (!wrong.empty()) return damaged(record, wrong);
  note_files(record);
  return {};
}

void Recovery::note_files(const LogRecord& record) {
  RedoRecord redo;
  if (!redo.parse(record)) return;
  Operation operation;
  for (ByteReader reader(redo.operations);
       !reader.empty() && take_operation(reader, operation) == TakenOperation::Whole;) {
    for (const LoadedFile& each : operation.files) last_file_ = std::max(last_file_, each.file);
  }
}

Status Recovery::apply(const LogRecord& record) {
  bytes_ += record.end - record.begin;
  if (record.type == LogRecordType::Carry) return {};
  RedoRecord redo;
  if (!redo.parse(record)) return damaged(record, "is too short");
  last_transaction_ = std::max(last_transaction_, redo.id);
  switch (record.type) {
    case LogRecordType::Operations:
    case LogRecordType::Prepare: {
      const CommittedRedo::Valid* const valid = redo_.find(record.begin);
      if (valid == nullptr) return {};
      // Ahead of transactions that commit before this one: none of them changes the same rows later on.
      const ByteView operations = redo.operations.substr(0, valid->bytes);
      HAILSTONE_TRY(valid->commit != 0 ? apply_operations(operations, valid->commit, record)
                                       : restore(redo.id, operations, record));
      return flush_big_deltas();
    }
    case LogRecordType::Truncate:
    case LogRecordType::Rollback:
      return {};
    case LogRecordType::Commit:
      return apply_commit(redo, record);
    case LogRecordType::Carry:
      break;
  }
  return damaged(record,
                 fmt::format("is of a kind ({}) unknown to this program", static_cast<int>(record.type)));
}

Status Recovery::apply_commit(const RedoRecord& redo, const LogRecord& record) {
  if (redo.timestamp <= content_.mark.committed) return {};
  if (redo.timestamp <= last_applied_) return damaged(record, "is out of commit order");
  last_applied_ = redo.timestamp;
  last_committed_ = std::max(last_committed_, redo.timestamp);
  ++transactions_;
  HAILSTONE_TRY(apply_operations(redo.operations, redo.timestamp, record));
  return flush_big_deltas();
}

Status Recovery::apply_operations(ByteView operations, Timestamp timestamp, const LogRecord& record) {
  for (ByteReader reader(operations); !reader.empty();) {
    HAILSTONE_ASSIGN(const Operation operation, take(reader, record));
    HAILSTONE_TRY(is_of_catalog(operation.kind) ? apply_catalog(operation, timestamp, record)
                                                : apply_row(operation, timestamp));
  }
  return {};
}

Result<Operation> Recovery::take(ByteReader& reader, const LogRecord& record) {
  Operation operation;
  switch (take_operation(reader, operation)) {
    case TakenOperation::Whole:
      break;
    case TakenOperation::Cut:
      return damaged(record, "ends within an operation");
    case TakenOperation::Unknown:
      return damaged(record, fmt::format("holds an operation of a kind ({}) unknown to this program",
                                         static_cast<int>(operation.kind)));
  }
  last_table_ = std::max(last_table_, operation.table);
  return operation;
}

Status Recovery::restore(TransactionId id, ByteView operations, const LogRecord& record) {
  std::unique_ptr<Transaction>& transaction = restored_[id];
  if (transaction == nullptr) transaction = core_.transactions().begin_restored(id);
  for (ByteReader reader(operations); !reader.empty();) {
    HAILSTONE_ASSIGN(const Operation operation, take(reader, record));
    if (is_of_catalog(operation.kind)) return damaged(record, "is of a prepared transaction with DDL");
    HAILSTONE_TRY(restore_row(*transaction, operation));
  }
  TransactionManager::note_restored(*transaction, operations.size());
  return {};
}

Status Recovery::restore_row(Transaction& transaction, const Operation& operation) {
  return with_table(operation.table, [&](Table& table) -> Status {
    // Keeps DDL out, as the lock of a writer through hailstone.h does.
    HAILSTONE_TRY(core_.locks().lock_table(transaction, operation.table, TableLockMode::IntentionExclusive));
    switch (operation.kind) {
      case OperationKind::Put:
        count(core_.counters().rows_recovered);
        HAILSTONE_TRY(table.layout()->row_codec().check(operation.bytes));
        return table.restore_put(transaction, operation.number, operation.bytes);
      case OperationKind::Delete:
        count(core_.counters().rows_recovered);
        return table.restore_delete(transaction, operation.bytes);
      case OperationKind::Publish:
        for (const LoadedFile& each : operation.files) restored_files_.insert(each.file);
        return table.restore_publish(transaction, operation.files);
      case OperationKind::Counter:
        table.replay_counter(operation.number);
        return {};
      default:
        return {};  // of the catalog
    }
  });
}

void Recovery::finish_restored() {
  for (const auto& [id, prepared] : redo_.prepared()) {
    std::unique_ptr<Transaction>& transaction = restored_[id];
    if (transaction == nullptr) transaction = core_.transactions().begin_restored(id);
    core_.transactions().finish_restored(std::move(transaction), prepared.name, prepared.first);
  }
  restored_.clear();
  const size_t count = redo_.prepared().size();
  if (count == 0) return;
  core_.log_message(
      DatabaseOptions::Severity::Note,
      fmt::format("{} prepared transaction{} hold{} locks on the rows that they have changed until "
                  "they are committed or rolled back by their names",
                  count, count == 1 ? "" : "s", count == 1 ? "s" : ""));
}

Status Recovery::apply_catalog(const Operation& operation, Timestamp timestamp, const LogRecord& record) {
  Catalog& catalog = core_.catalog();
  const TableId id = operation.table;
  const EntryPointer entry = catalog.find(id);
  bool done = content_.dropped.contains(id);
  if (entry != nullptr) {
    const MutexLock opening(entry->opening);
    done = done || (entry->recorded && timestamp <= entry->recorded->definition_timestamp);
  }
  switch (operation.kind) {
    case OperationKind::CreateTable:
    case OperationKind::ReplaceDefinition: {
      ByteReader definition_reader(operation.bytes);
      HAILSTONE_ASSIGN(TableDefinition definition, TableDefinition::parse(definition_reader));
      if (done) return {};
      if (operation.kind == OperationKind::CreateTable) {
        if (entry != nullptr) return damaged(record, "creates a table that is there already");
        catalog.recover_create(id, definition, timestamp, /*changed=*/true);
      } else if (entry != nullptr) {
        catalog.recover_definition(entry, definition, timestamp);
      }
      return {};
    }
    case OperationKind::RenameTable: {
      if (done || entry == nullptr) return {};
      TableDefinition definition = catalog.last_definition(entry).unpack();
      definition.name = operation.bytes;
      catalog.recover_definition(entry, definition, timestamp);
      return {};
    }
    case OperationKind::DropTable:
      if (entry != nullptr) catalog.recover_drop(entry, timestamp);
      return {};
    default:
      return {};  // not of the catalog
  }
}

Status Recovery::apply_row(const Operation& operation, Timestamp timestamp) {
  const TableId id = operation.table;
  switch (operation.kind) {
    case OperationKind::Put:
      return with_table(id, [&](Table& table) -> Status {
        if (table.has_applied(timestamp)) return {};
        count(core_.counters().rows_recovered);
        HAILSTONE_TRY(table.layout()->row_codec().check(operation.bytes));
        return table.replay_put(timestamp, operation.number, operation.bytes);
      });
    case OperationKind::Delete:
      return with_table(id, [&](Table& table) {
        if (table.has_applied(timestamp)) return Status();
        count(core_.counters().rows_recovered);
        return table.replay_delete(timestamp, operation.bytes);
      });
    case OperationKind::Publish:
      for (const LoadedFile& each : operation.files) {
        HAILSTONE_TRY(
            with_table(id, [&](Table& table) { return table.replay_publish(timestamp, each.file); }));
        if (passed_over_.contains(id)) unpublished_files_.insert(each.file);
      }
      return {};
    case OperationKind::Counter:
      return with_table(id, [&](Table& table) -> Status {
        table.replay_counter(operation.number);
        return {};
      });
    default:
      return {};  // of the catalog
  }
}

Status Recovery::apply_carry(const LogRecord& record) {
  // Those of earlier checkpoints may hold rows that were deleted since.
  if (record.begin < content_.mark.carried) return {};
  for (ByteReader reader(record.payload); !reader.empty();) {
    Timestamp begin = 0;
    ByteView operation;
    if (!reader.take_varint(begin) || !reader.take_string(operation))
      return damaged(record, "ends within an operation");
    // Of a later checkpoint, which is not in force: the commit is still in the log, and has its place there
    // among loads of the same keys.
    if (begin > content_.mark.committed) continue;
    ++carried_rows_;
    HAILSTONE_TRY(apply_operations(operation, begin, record));
  }
  return flush_big_deltas();
}

Status Recovery::with_table(TableId id, const std::function<Status(Table&)>& work) {
  const EntryPointer entry = core_.catalog().find(id);
  if (entry == nullptr) return {};  // dropped, and the manifest knows it already
  std::shared_ptr<Table> table;
  for (int tries_left = tries_to_read;; --tries_left) {
    auto opened = core_.catalog().open(entry);
    Status status = opened ? Status() : std::unexpected(opened.error());
    if (opened) {
      table = std::move(*opened);
      if (!table->usable()) break;
      touched_.insert(id);
      status = work(*table);
      if (status) return {};
    }
    const ErrorCode code = status.error().code();
    if (code == ErrorCode::Unsupported) {
      status = fail(
          code, fmt::format("table '{}' was changed after the last checkpoint, and the log's changes can "
                            "be applied only by the program that made the table: start that server, or "
                            "program, once, and stop it ({})",
                            core_.catalog().last_definition(entry).unpack().name, status.error().message()));
    }
    // Where nothing is written, the other tables can be read.
    const bool is_others = code == ErrorCode::Unsupported && core_.options().read_only && table != nullptr;
    if (code != ErrorCode::Io && code != ErrorCode::Corruption && !is_others) return status;
    if (code == ErrorCode::Io && tries_left > 0) {
      std::this_thread::sleep_for(pause_between_tries);
      continue;
    }
    if (table == nullptr) {
      HAILSTONE_ASSIGN(table, core_.catalog().open(entry, /*set_aside=*/true));
    }
    table->mark_corrupt(status.error());
    break;
  }
  passed_over_.insert(id);
  return {};
}

Status Recovery::flush(Table& table) {
  auto flushed = table.flush(true);
  if (flushed || flushed.error().code() != ErrorCode::DiskFull) {
    return flushed ? Status() : std::unexpected(std::move(flushed).error());
  }
  // The rows stay in memory, so that the database comes up, and space can be made by dropping tables.
  disk_is_full_ = true;
  core_.log_message(
      DatabaseOptions::Severity::Warning,
      fmt::format("rows stay in memory until there is room for a segment: {}", flushed.error().message()));
  return {};
}

Status Recovery::flush_big_deltas() {
  if (disk_is_full_) {
    touched_.clear();
    return {};
  }
  for (const TableId id : touched_) {
    const EntryPointer entry = core_.catalog().find(id);
    if (entry == nullptr) continue;
    const auto table = core_.catalog().opened(entry);
    if (table == nullptr || !table->usable() || table->delta_bytes() < core_.delta_limit_bytes()) continue;
    // Versions that no later snapshot can see are left behind, so the manager must know how far the replay
    // is.
    core_.transactions().resume_after(last_committed_, last_transaction_);
    core_.file_numbers.skip_to(last_file_ + 1);
    if (first_new_file_ == 0) first_new_file_ = core_.file_numbers.next();
    if (const Status flushed = flush(*table); !flushed) return flushed;
    last_file_ = std::max(last_file_, core_.file_numbers.next() - 1);
  }
  touched_.clear();
  return {};
}

void Recovery::remove_new_files() {
  if (first_new_file_ == 0) return;
  for (uint64_t file = first_new_file_; file < core_.file_numbers.next(); ++file) {
    // One that cannot be removed is an orphan, which the recovery that succeeds removes.
    for (const std::string& path : {core_.segment_path(file), core_.delete_vector_path(file)}) {
      if (core_.filesystem().exists(path)) static_cast<void>(core_.filesystem().remove(path));
    }
  }
}

void Recovery::remove_leftovers() {
  for (const std::string& name : names_) {
    if (SpillSpace::is_spill_name(name)) remove_unused(name);
    if (core_.options().read_only) continue;
    Status removed;
    if (name == staged_backup) removed = remove_staged_backup(core_.filesystem(), core_.directory());
    if (name == export_folder) removed = remove_exports(core_.filesystem(), core_.directory());
    if (removed) continue;
    core_.log_message(DatabaseOptions::Severity::Warning,
                      fmt::format("what a {} left could not be removed: {}",
                                  name == staged_backup ? "backup" : "FLUSH TABLES ... FOR EXPORT",
                                  removed.error().message()));
  }
}

void Recovery::remove_unused(const std::string& name) {
  const std::string path = core_.directory() + "/" + name;
  if (!core_.filesystem().exists(path)) return;  // of a dropped table: gone already
  // A file that cannot be removed does no harm; the next start tries again.
  if (Status status = core_.filesystem().remove(path); !status) {
    core_.log_message(
        DatabaseOptions::Severity::Warning,
        fmt::format("a file that nothing uses could not be removed: {}", status.error().message()));
  }
}

void Recovery::remove_orphans() {
  if (std::ranges::none_of(names_, [](const std::string& name) { return file_number_of(name).has_value(); }))
    return;
  std::unordered_set<uint64_t> known;
  const auto add = [&](const std::vector<TableRecord::SegmentEntry>& segments) {
    for (const auto& segment : segments) {
      known.insert(segment.file);
      if (segment.delete_vector != 0) known.insert(segment.delete_vector);
    }
  };
  for (const EntryPointer& entry : core_.catalog().entries()) {
    {
      const MutexLock opening(entry->opening);
      if (entry->recorded) add(entry->recorded->segments);
    }
    if (const auto table = core_.catalog().opened(entry)) add(table->record().segments);
  }
  known.insert(unpublished_files_.begin(), unpublished_files_.end());
  known.insert(restored_files_.begin(), restored_files_.end());
  for (const std::string& name : names_) {
    const auto number = file_number_of(name);
    if (number && !known.contains(*number)) remove_unused(name);
  }
}

}  // namespace hailstone
