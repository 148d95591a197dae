// Writing single rows, and reading them by clustered key.
#include <fmt/format.h>

#include "base/guard.h"
#include "log/operation.h"
#include "table/private_rows.h"
#include "table/row_reads.h"
#include "table/table_state.h"
#include "transaction/statement.h"

namespace hailstone {

namespace {

/// A wait that a step under the write mutex found necessary. It is done outside of the mutex; then the step
/// is tried again.
struct Wait {
  TransactionId holder = 0;  // until this transaction has ended
  bool row_lock = false;     // or until the row lock is granted
  bool needed() const { return holder != 0 || row_lock; }
};

Status wait_for(Table::State& state, Transaction& transaction, ByteView key, const Wait& wait,
                RowLockMode mode) {
  LockManager& locks = state.host.locks();
  const Status waited = wait.row_lock ? locks.lock_row(transaction, state.id, key, mode)
                                      : locks.wait_for_end(transaction, wait.holder);
  if (waited) return {};
  return fail(waited.error().code(),
              fmt::format("table {}: {}", state.definition().name, waited.error().message()));
}

void append_put(std::string& to, TableId table, bool hidden_row_id, ByteView key, ByteView row) {
  append_operation(to, {.kind = OperationKind::Put,
                        .table = table,
                        .number = hidden_row_id ? row_id_of(key) : 0,
                        .bytes = row});
}

void append_delete(std::string& to, TableId table, ByteView key) {
  append_operation(to, {.kind = OperationKind::Delete, .table = table, .bytes = key});
}

/// What a step under the write mutex needs of the segments' files. It is read before the step, and holds as
/// long as the table has the same segments.
struct SegmentLook {
  std::shared_ptr<const TableView> view;
  SegmentMatches present;             // of the row that is changed
  SegmentMatches added;               // of the key that is added, when that is another one
  std::vector<UniqueMatches> unique;  // by secondary index
};

class SegmentLooker {
 public:
  SegmentLooker(Table::State& state, const Transaction& transaction, SegmentReaders* readers)
      : state_(state), transaction_(transaction), readers_(readers) {
    look_.view = state.current_view();
  }
  Status look_for_present(ByteView key) {
    HAILSTONE_ASSIGN(look_.present,
                     state_.noted(state_.match_key(*look_.view, key, &transaction_, readers_)));
    return {};
  }
  Status look_for_added(ByteView key, ByteView row, std::span<const std::string> secondary,
                        ByteView replaced) {
    // A hidden row id is new by its making.
    if (key != replaced && !state_.keys->hidden_row_id()) {
      HAILSTONE_ASSIGN(look_.added, state_.noted(state_.match_key(*look_.view, key, nullptr, readers_)));
    }
    look_.unique.resize(secondary.size());
    for (size_t i = 0; i < secondary.size(); ++i) {
      const KeyCodec& codec = state_.keys->secondary(i);
      if (!state_.keys->secondary_unique(i) || codec.has_null(state_.layout->row_codec(), row)) continue;
      const ByteView index_key = ByteView(secondary[i]).substr(0, secondary[i].size() - key.size());
      HAILSTONE_ASSIGN(look_.unique[i],
                       state_.noted(state_.match_unique(*look_.view, i, index_key, readers_)));
    }
    return {};
  }
  const SegmentLook& result() const { return look_; }

 private:
  Table::State& state_;
  const Transaction& transaction_;
  SegmentReaders* const readers_;
  SegmentLook look_;
};

/// Checks of one row against the newest state, and the write itself, all under the table's write mutex and
/// within a Write.
class RowWriter {
 public:
  RowWriter(Table::State& state, Transaction& transaction, const SegmentLook& look)
      : state_(state), transaction_(transaction), look_(look), view_(state.current_view()) {}

  /// False: the table has other segments than those that were looked at, so the caller must look again.
  bool look_holds() const { return view_->orders == look_.view->orders; }
  /// The newest version of the row that is to be changed.
  NewestRow present(ByteView key) const {
    return state_.find_newest(*view_, look_.present, key, transaction_.marker());
  }
  /// The same during recovery, where nobody waits.
  Result<RowPlace> restored(ByteView key) const {
    NewestRow newest = present(key);
    if (newest.blocker == 0) return std::move(newest.place);
    return fail(ErrorCode::Corruption, fmt::format("table {}: the log has changes of one row by two prepared "
                                                   "transactions; restore the database from a backup",
                                                   state_.definition().name));
  }
  /// insert() and end() note at most so many changes each.
  static constexpr size_t most_changes = 2;

  const TableView& view() const { return *view_; }

  /// Whether a new version of `key` may be added: its locks, its clustered key, its unique secondary keys.
  /// `replaced`: clustered key of the row that it takes the place of; empty for an insert. A needed wait goes
  /// to `wait`.
  Status check(ByteView key, ByteView row, std::span<const std::string> secondary, ByteView replaced,
               Duplicate& duplicate, Wait& wait) HAILSTONE_REQUIRES(table_write_mutex) {
    const Timestamp own = transaction_.marker();
    if (key != replaced) {
      wait.holder = state_.host.locks().range_locked_by_other(transaction_, state_.id,
                                                              LockManager::clustered_order, key);
      if (wait.holder != 0) return {};
      NewestRow newest;
      // A hidden row id is new by its making.
      if (!state_.keys->hidden_row_id()) {
        wait.holder = state_.load_with_key(transaction_, 0, key);
        if (wait.holder != 0) return {};
        newest = state_.find_newest(view(), look_.added, key, own);
        if (newest.blocker != 0) {
          wait.holder = newest.blocker;
          return {};
        }
        ended_ = newest.ended;
      }
      // Where others have only shared locks the row stays; one that has it alone may delete it.
      const bool is_there = newest.place.found();
      wait.row_lock = state_.is_locked_by_other(transaction_, key, newest.place,
                                                is_there ? RowLockMode::Shared : RowLockMode::Exclusive);
      if (wait.row_lock) return {};
      if (is_there) return refuse(0, key, row, duplicate);
    }
    for (size_t i = 0; i < secondary.size(); ++i) {
      wait.holder = state_.host.locks().range_locked_by_other(transaction_, state_.id,
                                                              static_cast<uint32_t>(i), secondary[i]);
      if (wait.holder != 0) return {};
      const KeyCodec& codec = state_.keys->secondary(i);
      if (!state_.keys->secondary_unique(i) || codec.has_null(state_.layout->row_codec(), row)) continue;
      const ByteView index_key = ByteView(secondary[i]).substr(0, secondary[i].size() - key.size());
      wait.holder = state_.load_with_key(transaction_, i + state_.keys->first_secondary(), index_key);
      if (wait.holder != 0) return {};
      const auto entry = state_.find_unique(view(), look_.unique[i], i, index_key, replaced, own);
      if (entry.blocker != 0) {
        wait.holder = entry.blocker;
        return {};
      }
      if (entry.found) return refuse(i + state_.keys->first_secondary(), entry.clustered_key, row, duplicate);
    }
    return {};
  }

  void insert(ByteView key, ByteView row, std::span<const std::string> secondary,
              TablePrivateRows* private_rows) HAILSTONE_REQUIRES(table_write_mutex) {
    if (is_behind(ended_)) transaction_.supersede(state_.id, key);
    if (private_rows != nullptr) {
      const auto inserted = private_rows->insert(key, row, secondary);
      transaction_.add_change(inserted.delta, TableDelta::slot_of(inserted.version), Change::Kind::Insert);
      return;
    }
    const std::shared_ptr<TableDelta>& delta = view().deltas.front();
    const Version* const version = delta->insert(transaction_, key, row, secondary);
    transaction_.add_change(delta, TableDelta::slot_of(version), Change::Kind::Insert);
  }

  /// Ends the live version of `key`, which is in `place`.
  void end(ByteView key, const RowPlace& place) HAILSTONE_REQUIRES(table_write_mutex) {
    if (is_behind(place.begin)) transaction_.supersede(state_.id, key);
    const ExclusiveLock guard(state_.latch());
    if (place.version != nullptr) {
      place.delta->end(*place.version, transaction_.marker());
      transaction_.add_change(place.delta, TableDelta::slot_of(place.version), Change::Kind::End);
      return;
    }
    place.segment->set_end(place.ordinal, transaction_.marker());
    transaction_.add_change(place.segment, place.ordinal, Change::Kind::End);
  }

 private:
  std::unexpected<Error> refuse(size_t index, ByteView clustered_key, ByteView row,
                                Duplicate& duplicate) const {
    duplicate.index = index;
    duplicate.clustered_key = clustered_key;
    duplicate.row = row;
    const TableDefinition& definition = state_.layout->definition();
    return fail(ErrorCode::DuplicateKey,
                fmt::format("table {}: a row with the same key is there already in index {}", definition.name,
                            definition.indexes[index].name));
  }

  /// Whether something that another transaction did at `timestamp` is newer than what this one sees.
  bool is_behind(Timestamp timestamp) const {
    return !is_marker(timestamp) && transaction_.is_behind(timestamp);
  }

  Table::State& state_;
  Transaction& transaction_;
  const SegmentLook& look_;
  const std::shared_ptr<const TableView> view_;
  Timestamp ended_ = 0;  // of the newest earlier row of the key that is inserted
};

Status check_row(const Table::State& state, ByteView row) {
  const Status checked = state.layout->row_codec().check(row);
  if (checked) return {};
  return fail(ErrorCode::InvalidArgument, fmt::format("table {}: the row given is not one of this table: {}",
                                                      state.definition().name, checked.error().message()));
}

/// Asks for a flush when the active delta has grown over its limit.
void flush_when_full(Table& table, Table::State& state, const TableDelta& delta) {
  bool full = false;
  {
    const SharedLock guard(state.latch());
    full = delta.rows.bytes() > state.delta_limit();
  }
  if (full && !state.flush_requested.exchange(true, std::memory_order_relaxed)) {
    const Status requested = guarded([&]() -> Status {
      state.host.request_flush(table.shared_from_this());
      return {};
    });
    // Then at a later row.
    if (!requested) state.flush_requested.store(false, std::memory_order_relaxed);
  }
}

}  // namespace

Result<std::string> Table::insert(Transaction& transaction, ByteView row, Duplicate& duplicate,
                                  KeyReads* reads) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  HAILSTONE_TRY(check_row(state, row));
  HAILSTONE_TRY(state.make_room(*this, transaction, row.size() + Version::most_overhead));
  TablePrivateRows* const private_rows = TablePrivateRows::of(*this, state, transaction);
  const uint64_t row_id =
      state.keys->hidden_row_id() ? state.next_row_id.fetch_add(1, std::memory_order_relaxed) : 0;
  std::string key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id, key));
  HAILSTONE_TRY(state.keys->secondary_keys(row, key, secondary));
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(RowWriter::most_changes));
  if (state.is_durable()) {
    append_put(write.redo(), state.id, state.keys->hidden_row_id(), key, row);
  } else {
    write.note_unlogged(key.size() + row.size());
  }
  for (;;) {
    SegmentLooker looker(state, transaction, KeyReads::segments_of(reads));
    HAILSTONE_TRY(looker.look_for_added(key, row, secondary, {}));
    Wait wait;
    {
      const MutexLock guard(state.write_mutex());
      RowWriter writer(state, transaction, looker.result());
      if (!writer.look_holds()) continue;
      HAILSTONE_TRY(writer.check(key, row, secondary, {}, duplicate, wait));
      if (!wait.needed()) {
        writer.insert(key, row, secondary, private_rows);
        flush_when_full(*this, state, *writer.view().deltas.front());
        write.keep();
        break;
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_inserted);
  count(state.host.counters().row_bytes_written, row.size());
  return key;
}

Result<std::string> Table::update(Transaction& transaction, ByteView key, ByteView row, Duplicate& duplicate,
                                  KeyReads* reads) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  HAILSTONE_TRY(check_row(state, row));
  HAILSTONE_TRY(state.make_room(*this, transaction, row.size() + Version::most_overhead));
  TablePrivateRows* const private_rows = TablePrivateRows::of(*this, state, transaction);
  std::string new_key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id_of(key), new_key));
  HAILSTONE_TRY(state.keys->secondary_keys(row, new_key, secondary));
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(2 * RowWriter::most_changes));
  if (state.is_durable()) {
    if (new_key != key) append_delete(write.redo(), state.id, key);
    append_put(write.redo(), state.id, state.keys->hidden_row_id(), new_key, row);
  } else {
    write.note_unlogged(new_key.size() + row.size());
  }
  for (;;) {
    SegmentLooker looker(state, transaction, KeyReads::segments_of(reads));
    HAILSTONE_TRY(looker.look_for_present(key));
    HAILSTONE_TRY(looker.look_for_added(new_key, row, secondary, key));
    Wait wait;
    ByteView wait_key = key;
    {
      const MutexLock guard(state.write_mutex());
      RowWriter writer(state, transaction, looker.result());
      if (!writer.look_holds()) continue;
      const NewestRow newest = writer.present(key);
      wait.holder = newest.blocker;
      if (!wait.needed()) {
        wait.row_lock = state.is_locked_by_other(transaction, key, newest.place);
        if (!wait.needed()) {
          if (!newest.place.found()) {
            return fail(ErrorCode::NotFound,
                        fmt::format("table {}: the row to update is gone", definition().name));
          }
          wait_key = new_key;
          HAILSTONE_TRY(writer.check(new_key, row, secondary, key, duplicate, wait));
          if (!wait.needed()) {
            writer.end(key, newest.place);
            writer.insert(new_key, row, secondary, private_rows);
            flush_when_full(*this, state, *writer.view().deltas.front());
            write.keep();
            break;
          }
        }
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, wait_key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_updated);
  count(state.host.counters().row_bytes_written, row.size());
  return new_key;
}

namespace {

/// A row with its keys in the secondary indexes.
struct RestoredRow {
  ByteView row;
  std::span<const std::string> secondary;
  TablePrivateRows* private_rows;
};

/// Ends the version of `key` that the transaction found; `row` takes its place, unless that is null.
Status restore(Table::State& state, Transaction& transaction, ByteView key, const RestoredRow* row) {
  HAILSTONE_TRY(state.usable());
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(2 * RowWriter::most_changes));
  SegmentLooker looker(state, transaction, nullptr);
  HAILSTONE_TRY(looker.look_for_present(key));
  const MutexLock guard(state.write_mutex());
  RowWriter writer(state, transaction, looker.result());
  HAILSTONE_ASSIGN(const RowPlace present, writer.restored(key));
  if (present.found()) writer.end(key, present);
  if (row != nullptr) writer.insert(key, row->row, row->secondary, row->private_rows);
  write.keep();
  return {};
}

}  // namespace

Status Table::restore_put(Transaction& transaction, uint64_t row_id, ByteView row) {
  State& state = *state_;
  TablePrivateRows* const private_rows = TablePrivateRows::of(*this, state, transaction);
  std::string key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id, key));
  HAILSTONE_TRY(state.keys->secondary_keys_to_read(row, key, secondary));
  if (state.keys->hidden_row_id()) raise_to(state.next_row_id, row_id + 1);
  const RestoredRow restored{.row = row, .secondary = secondary, .private_rows = private_rows};
  return restore(state, transaction, key, &restored);
}

Status Table::restore_delete(Transaction& transaction, ByteView key) {
  return restore(*state_, transaction, key, nullptr);
}

Status Table::erase(Transaction& transaction, ByteView key, KeyReads* reads) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(RowWriter::most_changes));
  if (state.is_durable()) append_delete(write.redo(), state.id, key);
  for (;;) {
    SegmentLooker looker(state, transaction, KeyReads::segments_of(reads));
    HAILSTONE_TRY(looker.look_for_present(key));
    Wait wait;
    {
      const MutexLock guard(state.write_mutex());
      RowWriter writer(state, transaction, looker.result());
      if (!writer.look_holds()) continue;
      const NewestRow newest = writer.present(key);
      wait.holder = newest.blocker;
      if (!wait.needed()) {
        wait.row_lock = state.is_locked_by_other(transaction, key, newest.place);
        if (!wait.needed()) {
          if (!newest.place.found()) {
            return fail(ErrorCode::NotFound,
                        fmt::format("table {}: the row to delete is gone", definition().name));
          }
          writer.end(key, newest.place);
          write.keep();
          break;
        }
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_deleted);
  return {};
}

bool Table::State::is_locked_by_other(const Transaction& transaction, ByteView key, const RowPlace& newest,
                                      RowLockMode mode) {
  const auto place = newest.to_lock(transaction);
  return host.locks().row_locked_by_other(transaction, id, key, mode, place ? &*place : nullptr);
}

namespace {

RowLockMode mode_of(ReadLock lock) {
  const bool shared = lock == ReadLock::Shared || lock == ReadLock::SharedSkippingLocked;
  return shared ? RowLockMode::Shared : RowLockMode::Exclusive;
}

}  // namespace

bool Table::State::try_lock_met(Transaction& transaction, const TableView& met_in, const RowPlace& place,
                                ByteView key, ReadLock lock) {
  if (place.segment == nullptr || is_marker(place.segment->shared_begin())) return false;
  if (!host.locks().has_room(transaction, id, mode_of(lock))) return false;
  const MutexLock guard(write_mutex());
  if (current_view()->orders != met_in.orders) return false;
  {
    // A newer version is not made without an end of the one before.
    const SharedLock latched(latch());
    if (place.segment->ends->end(place.ordinal) != infinity) return false;
  }
  const VersionPlace to_lock{.store = place.segment, .slot = place.ordinal};
  return host.locks().try_lock_row(transaction, id, key, mode_of(lock), &to_lock);
}

Result<RowPlace> Table::State::lock_newest(Transaction& transaction, ByteView key, ReadLock lock,
                                           SegmentReaders* readers) {
  const RowLockMode mode = mode_of(lock);
  const Status room = host.locks().make_room(transaction, id, mode, !skips_locked(lock));
  if (!room) {
    // Another one has locked all rows.
    if (skips_locked(lock) && room.error().code() == ErrorCode::LockWaitTimeout) return RowPlace{};
    return std::unexpected(room.error());
  }
  for (;;) {
    const auto looked_at = current_view();
    HAILSTONE_ASSIGN(const SegmentMatches matches, noted(match_key(*looked_at, key, nullptr, readers)));
    Wait wait;
    {
      const MutexLock guard(write_mutex());
      const auto now = current_view();
      if (now->orders != looked_at->orders) continue;  // other segments: look again
      NewestRow newest = find_newest(*now, matches, key, transaction.marker());
      wait.holder = newest.blocker;
      if (!wait.needed()) {
        if (!newest.place.found()) {
          // Nobody may make the row that was not found.
          if (transaction.locks_absent_keys()) {
            HAILSTONE_TRY(host.locks().lock_range(transaction, id, LockManager::clustered_order, key,
                                                  std::string(key) + '\0'));
          }
          return RowPlace{};
        }
        const auto place = newest.place.to_lock(transaction);
        if (host.locks().try_lock_row(transaction, id, key, mode, place ? &*place : nullptr))
          return std::move(newest.place);
        wait.row_lock = true;
      }
    }
    if (skips_locked(lock)) return RowPlace{};
    HAILSTONE_TRY(wait_for(*this, transaction, key, wait, mode));
  }
}

Result<RowPlace> Table::State::find_plain(Transaction& transaction, ByteView key, SegmentReaders* readers) {
  if (transaction.reads_uncommitted()) return find_latest(key);
  const Snapshot snapshot = transaction.snapshot();
  const auto places = current_view();
  HAILSTONE_ASSIGN(RowPlace place, find_visible(*places, key, snapshot, transaction, readers));
  HAILSTONE_TRY(transaction.check_snapshot());
  return place;
}

KeyReads::KeyReads(const Table& table) : segments_(table.state_->keys) {}

RowReads::RowReads(const Table& table, std::vector<uint16_t> columns, size_t most_segments)
    : projection_(table.state_->layout, std::move(columns)), segments_(table.state_->keys, most_segments) {}

Result<bool> Table::find(Transaction& transaction, ByteView key, ReadLock lock, RowReads& reads,
                         std::span<Value> values) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  count(state.host.counters().point_lookups);
  RowPlace place;
  if (lock == ReadLock::None) {
    HAILSTONE_ASSIGN(place, state.noted(state.find_plain(transaction, key, &reads.segments_)));
  } else {
    HAILSTONE_ASSIGN(place, state.lock_newest(transaction, key, lock, &reads.segments_));
  }
  if (!place.found()) return false;
  HAILSTONE_TRY(
      state.noted(state.read_place(place, reads.projection_, reads.segments_, reads.batch_, values)));
  return true;
}

Result<bool> Table::find_row(Transaction& transaction, ByteView key, ReadLock lock, std::string& row) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  count(state.host.counters().point_lookups);
  RowPlace place;
  if (lock == ReadLock::None) {
    HAILSTONE_ASSIGN(place, state.noted(state.find_plain(transaction, key)));
  } else {
    HAILSTONE_ASSIGN(place, state.lock_newest(transaction, key, lock));
  }
  if (!place.found()) return false;
  if (place.version != nullptr) {
    row.assign(place.version->row());
    return true;
  }
  BlockReader reader(place.segment->columns);
  HAILSTONE_TRY(state.noted(Projection::read_encoded(reader, place.ordinal, row)));
  return true;
}

void Table::unlock_row(Transaction& transaction, ByteView key) {
  State& state = *state_;
  LockManager& locks = state.host.locks();
  if (locks.unlock_row(transaction, state.id, key)) return;
  // It is locked by its place. Where that cannot be found the row stays locked until the transaction ends.
  for (;;) {
    const auto looked_at = state.current_view();
    const auto matches = state.match_key(*looked_at, key, nullptr, nullptr);
    if (!matches) return;
    const MutexLock guard(state.write_mutex());
    const auto now = state.current_view();
    if (now->orders != looked_at->orders) continue;
    const auto place =
        state.find_newest(*now, *matches, key, transaction.marker()).place.to_lock(transaction);
    if (place) locks.unlock_row(transaction, state.id, key, &*place);
    return;
  }
}

void Table::unlock_written_row(Transaction& transaction, ByteView key) {
  state_->host.locks().unlock_written_row(transaction, state_->id, key);
}

}  // namespace hailstone
