// Writing single rows, and reading them by clustered key.
#include <fmt/format.h>

#include "table/operation.h"
#include "table/table_state.h"

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
              fmt::format("table {}: {}", state.layout->definition().name, waited.error().message()));
}

std::string put_operation(TableId table, bool hidden_row_id, ByteView key, ByteView row) {
  std::string operation;
  operation.reserve(row.size() + 32);
  append_operation_head(operation, OperationKind::Put, table);
  append_varint(operation, hidden_row_id ? row_id_of(key) : 0);
  append_string(operation, row);
  return operation;
}

std::string delete_operation(TableId table, ByteView key) {
  std::string operation;
  append_operation_head(operation, OperationKind::Delete, table);
  append_string(operation, key);
  return operation;
}

/// Checks of one row against the newest state, and the write itself, all under the table's write mutex.
class RowWriter {
 public:
  RowWriter(Table& table, Table::State& state, Transaction& transaction)
      : table_(table), state_(state), transaction_(transaction), view_(state.current_view()) {}

  const TableView& view() const { return *view_; }

  /// Whether a new version of `key` may be added: its locks, its clustered key, its unique secondary keys.
  /// `replaced`: clustered key of the row that it takes the place of; empty for an insert. A needed wait goes
  /// to `wait`.
  Status check(ByteView key, ByteView row, std::span<const std::string> secondary, ByteView replaced,
               Duplicate& duplicate, Wait& wait) {
    const Timestamp own = transaction_.marker();
    if (key != replaced) {
      wait.holder = state_.host.locks().range_locked_by_other(transaction_, state_.id,
                                                              LockManager::clustered_order, key);
      if (wait.holder != 0) return {};
      if (state_.host.locks().row_locked_by_other(transaction_, state_.id, key)) {
        wait.row_lock = true;
        return {};
      }
      // A hidden row id is new by its making.
      if (!state_.keys->hidden_row_id()) {
        HAILSTONE_ASSIGN(const NewestRow newest, state_.noted(state_.find_newest(view(), key, own)));
        if (newest.blocker != 0) {
          wait.holder = newest.blocker;
          return {};
        }
        if (newest.place.found()) return refuse(0, key, row, duplicate);
        ended_ = newest.ended;
      }
    }
    for (size_t i = 0; i < secondary.size(); ++i) {
      wait.holder = state_.host.locks().range_locked_by_other(transaction_, state_.id,
                                                              static_cast<uint32_t>(i), secondary[i]);
      if (wait.holder != 0) return {};
      const KeyCodec& codec = state_.keys->secondary(i);
      if (!state_.keys->secondary_unique(i) || codec.has_null(state_.layout->row_codec(), row)) continue;
      const ByteView index_key = ByteView(secondary[i]).substr(0, secondary[i].size() - key.size());
      HAILSTONE_ASSIGN(const auto entry,
                       state_.noted(state_.find_unique(view(), i, index_key, replaced, own)));
      if (entry.blocker != 0) {
        wait.holder = entry.blocker;
        return {};
      }
      if (entry.found) return refuse(i + state_.keys->first_secondary(), entry.clustered_key, row, duplicate);
    }
    return {};
  }

  void insert(ByteView key, ByteView row, std::span<const std::string> secondary) {
    if (behind_snapshot(ended_)) supersede(key);
    const std::shared_ptr<TableDelta>& delta = view().deltas.front();
    Version* version = nullptr;
    {
      const std::unique_lock guard(*state_.latch);
      version = delta->rows.insert(key, row, transaction_.marker(), secondary);
      version->sequence = delta->next_sequence++;
      delta->uncommitted.fetch_add(1, std::memory_order_relaxed);
    }
    transaction_.add_change(delta, TableDelta::slot_of(version), Change::Kind::Insert);
  }

  /// Ends the live version of `key`, which is in `place`.
  Status end(ByteView key, const RowPlace& place) {
    Timestamp begin = place.begin;
    if (place.segment != nullptr && behind_snapshot(begin)) {
      HAILSTONE_ASSIGN(begin, state_.noted(place.segment->begin_of(place.ordinal)));
    }
    if (behind_snapshot(begin)) supersede(key);
    if (place.version != nullptr) {
      const std::shared_lock guard(*state_.latch);
      place.version->end.store(transaction_.marker(), std::memory_order_release);
      transaction_.add_change(place.delta, TableDelta::slot_of(place.version), Change::Kind::End);
      return {};
    }
    const std::unique_lock guard(*state_.latch);
    place.segment->set_end(place.ordinal, transaction_.marker());
    transaction_.add_change(place.segment, place.ordinal, Change::Kind::End);
    return {};
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
  bool behind_snapshot(Timestamp timestamp) const {
    return transaction_.has_snapshot() && !is_marker(timestamp) && timestamp > transaction_.snapshot().read;
  }
  void supersede(ByteView key) { state_.superseded.add(table_.shared_from_this(), transaction_, key); }

  Table& table_;
  Table::State& state_;
  Transaction& transaction_;
  const std::shared_ptr<const TableView> view_;
  Timestamp ended_ = 0;  // of the newest earlier row of the key that is inserted
};

Status check_row(const Table::State& state, ByteView row) {
  const Status checked = state.layout->row_codec().check(row);
  if (checked) return {};
  return fail(ErrorCode::InvalidArgument,
              fmt::format("table {}: the row given is not one of this table: {}",
                          state.layout->definition().name, checked.error().message()));
}

/// Asks for a flush when the active delta has grown over its limit.
void flush_when_full(Table& table, Table::State& state, const TableDelta& delta) {
  bool full = false;
  {
    const std::shared_lock guard(*state.latch);
    full = delta.rows.bytes() > state.host.delta_limit_bytes();
  }
  if (full && !state.flush_requested.exchange(true, std::memory_order_relaxed)) {
    state.host.request_flush(table.shared_from_this());
  }
}

}  // namespace

Result<std::string> Table::insert(Transaction& transaction, ByteView row, Duplicate& duplicate) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  HAILSTONE_TRY(check_row(state, row));
  HAILSTONE_TRY(state.make_room(*this, transaction, row.size() + sizeof(Version)));
  const uint64_t row_id =
      state.keys->hidden_row_id() ? state.next_row_id.fetch_add(1, std::memory_order_relaxed) : 0;
  std::string key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id, key));
  HAILSTONE_TRY(state.keys->secondary_keys(row, key, secondary));
  for (;;) {
    Wait wait;
    {
      const std::lock_guard guard(state.write_mutex);
      RowWriter writer(*this, state, transaction);
      HAILSTONE_TRY(writer.check(key, row, secondary, {}, duplicate, wait));
      if (!wait.needed()) {
        writer.insert(key, row, secondary);
        flush_when_full(*this, state, *writer.view().deltas.front());
        break;
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_inserted);
  HAILSTONE_TRY(transaction.add_redo(put_operation(state.id, state.keys->hidden_row_id(), key, row)));
  return key;
}

Result<std::string> Table::update(Transaction& transaction, ByteView key, ByteView row,
                                  Duplicate& duplicate) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  HAILSTONE_TRY(check_row(state, row));
  HAILSTONE_TRY(state.make_room(*this, transaction, row.size() + sizeof(Version)));
  std::string new_key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id_of(key), new_key));
  HAILSTONE_TRY(state.keys->secondary_keys(row, new_key, secondary));
  for (;;) {
    Wait wait;
    ByteView wait_key = key;
    {
      const std::lock_guard guard(state.write_mutex);
      RowWriter writer(*this, state, transaction);
      wait.row_lock = state.host.locks().row_locked_by_other(transaction, state.id, key);
      if (!wait.needed()) {
        HAILSTONE_ASSIGN(const NewestRow newest,
                         state.noted(state.find_newest(writer.view(), key, transaction.marker())));
        wait.holder = newest.blocker;
        if (!wait.needed()) {
          if (!newest.place.found()) {
            return fail(ErrorCode::NotFound,
                        fmt::format("table {}: the row to update is gone", definition().name));
          }
          wait_key = new_key;
          HAILSTONE_TRY(writer.check(new_key, row, secondary, key, duplicate, wait));
          if (!wait.needed()) {
            HAILSTONE_TRY(writer.end(key, newest.place));
            writer.insert(new_key, row, secondary);
            flush_when_full(*this, state, *writer.view().deltas.front());
            break;
          }
        }
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, wait_key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_updated);
  if (new_key != key) HAILSTONE_TRY(transaction.add_redo(delete_operation(state.id, key)));
  HAILSTONE_TRY(transaction.add_redo(put_operation(state.id, state.keys->hidden_row_id(), new_key, row)));
  return new_key;
}

Status Table::erase(Transaction& transaction, ByteView key) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  for (;;) {
    Wait wait;
    {
      const std::lock_guard guard(state.write_mutex);
      RowWriter writer(*this, state, transaction);
      wait.row_lock = state.host.locks().row_locked_by_other(transaction, state.id, key);
      if (!wait.needed()) {
        HAILSTONE_ASSIGN(const NewestRow newest,
                         state.noted(state.find_newest(writer.view(), key, transaction.marker())));
        wait.holder = newest.blocker;
        if (!wait.needed()) {
          if (!newest.place.found()) {
            return fail(ErrorCode::NotFound,
                        fmt::format("table {}: the row to delete is gone", definition().name));
          }
          HAILSTONE_TRY(writer.end(key, newest.place));
          break;
        }
      }
    }
    HAILSTONE_TRY(wait_for(state, transaction, key, wait, RowLockMode::Exclusive));
  }
  count(state.host.counters().rows_deleted);
  return transaction.add_redo(delete_operation(state.id, key));
}

Result<RowPlace> Table::State::lock_newest(Transaction& transaction, ByteView key, ReadLock lock) {
  const RowLockMode mode = lock == ReadLock::Shared ? RowLockMode::Shared : RowLockMode::Exclusive;
  for (;;) {
    Wait wait;
    {
      const std::lock_guard guard(write_mutex);
      HAILSTONE_ASSIGN(NewestRow newest, noted(find_newest(*current_view(), key, transaction.marker())));
      wait.holder = newest.blocker;
      if (!wait.needed()) {
        if (!newest.place.found()) {
          // Nobody may make the row that was not found.
          if (transaction.locks_ranges()) {
            host.locks().lock_range(transaction, id, LockManager::clustered_order, key,
                                    std::string(key) + '\0');
          }
          return RowPlace{};
        }
        if (host.locks().try_lock_row(transaction, id, key, mode)) return std::move(newest.place);
        wait.row_lock = true;
      }
    }
    HAILSTONE_TRY(wait_for(*this, transaction, key, wait, mode));
  }
}

Result<bool> Table::find(Transaction& transaction, ByteView key, ReadLock lock, const Projection& projection,
                         Batch& batch, std::span<Value> values) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  count(state.host.counters().point_lookups);
  if (lock == ReadLock::None) {
    const Snapshot snapshot = transaction.snapshot();
    const auto view = state.current_view();
    const auto superseded = state.superseded.of(transaction);
    HAILSTONE_ASSIGN(const RowPlace place,
                     state.noted(state.find_visible(*view, key, snapshot, superseded.get())));
    if (!place.found()) return false;
    HAILSTONE_TRY(state.noted(state.read_place(place, projection, batch, values)));
    return true;
  }
  HAILSTONE_ASSIGN(const RowPlace place, state.lock_newest(transaction, key, lock));
  if (!place.found()) return false;
  HAILSTONE_TRY(state.noted(state.read_place(place, projection, batch, values)));
  return true;
}

Result<bool> Table::find_row(Transaction& transaction, ByteView key, ReadLock lock, Batch& scratch,
                             std::string& row) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  count(state.host.counters().point_lookups);
  RowPlace place;
  if (lock == ReadLock::None) {
    const Snapshot snapshot = transaction.snapshot();
    const auto view = state.current_view();
    const auto superseded = state.superseded.of(transaction);
    HAILSTONE_ASSIGN(place, state.noted(state.find_visible(*view, key, snapshot, superseded.get())));
  } else {
    HAILSTONE_ASSIGN(place, state.lock_newest(transaction, key, lock));
  }
  if (!place.found()) return false;
  if (place.version != nullptr) {
    row.assign(place.version->row());
    return true;
  }
  scratch.clear();
  HAILSTONE_TRY(state.noted(Projection::read_encoded(place.segment->columns, place.ordinal, scratch, row)));
  return true;
}

void Table::unlock_row(Transaction& transaction, ByteView key) {
  state_->host.locks().unlock_row(transaction, state_->id, key);
}

}  // namespace hailstone
