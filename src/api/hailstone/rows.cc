// Rows one by one: insert, update, delete, get; and cursors.
#include <fmt/format.h>

#include <cstring>
#include <span>

#include "api/hailstone/values.h"
#include "table/cursor.h"

namespace hailstone::capi {

namespace {

constexpr const char* no_place = "the place for the values is NULL";

ReadLock lock_of(const SharedTransaction& shared, hs_lock lock) {
  if (lock == HS_LOCK_EXCLUSIVE) return ReadLock::Exclusive;
  if (lock == HS_LOCK_SHARED || shared.transaction->isolation() == Isolation::Serializable) {
    return ReadLock::Shared;
  }
  return ReadLock::None;
}

Outcome check_lock(hs_lock lock) {
  if (lock >= HS_LOCK_NONE && lock <= HS_LOCK_EXCLUSIVE) return {};
  return refuse(HS_INVALID, fmt::format("there is no lock {}", static_cast<int>(lock)));
}

Outcome primary_key(const TableShape& table, const hs_value* key, size_t count, std::string& to) {
  const TableDefinition& definition = table.table->layout()->definition();
  if (!definition.has_primary_key) {
    return refuse(HS_INVALID, fmt::format("table '{}' has no primary key to find rows by", table.name()));
  }
  if (count != definition.indexes[0].parts.size()) {
    return refuse(HS_INVALID,
                  fmt::format("the primary key of table '{}' has {} columns, but {} values were given",
                              table.name(), definition.indexes[0].parts.size(), count));
  }
  return encode_key(table, 0, key, count, to);
}

/// The primary key of a row.
Outcome key_of_row(const TableShape& table, std::span<const Value> row, std::string& to) {
  const TableDefinition& definition = table.table->layout()->definition();
  if (!definition.has_primary_key) {
    return refuse(HS_INVALID, fmt::format("table '{}' has no primary key to find rows by", table.name()));
  }
  std::vector<Value> parts;
  for (const IndexPart& part : definition.indexes[0].parts) parts.push_back(row[part.column]);
  to.clear();
  HAILSTONE_TRY(table.table->key_codec(0).append(parts, to));
  return {};
}

/// The error of a write, with the index that refused it.
Failure write_failure(const TableShape& table, const Error& error, const Duplicate& duplicate) {
  Failure failure(error);
  const auto& indexes = table.table->layout()->definition().indexes;
  if (failure.status == HS_DUPLICATE_KEY && duplicate.index < indexes.size()) {
    failure.message =
        fmt::format("table '{}': a row with key {} of index '{}' is there already", table.name(),
                    key_text(table, duplicate.index, duplicate.row), indexes[duplicate.index].name);
  }
  return failure;
}

std::unexpected<Failure> no_row(const TableShape& table) {
  return refuse(HS_NOT_FOUND, fmt::format("table '{}' has no row of this key", table.name()));
}

/// The new values of some columns.
Outcome set_columns(const TableShape& table, const uint32_t* columns, const hs_value* values, size_t count,
                    ColumnUpdate& to) {
  if (values == nullptr && count > 0) return refuse(HS_INVALID, "the values are NULL");
  to.clear();
  std::vector<bool> changed(table.columns.size());
  for (size_t i = 0; i < count; ++i) {
    if (columns[i] >= table.columns.size()) {
      return refuse(HS_NOT_FOUND,
                    fmt::format("table '{}' has no column number {}", table.name(), columns[i]));
    }
    if (changed[columns[i]]) {
      return refuse(HS_INVALID, fmt::format("column '{}' of table '{}' was given two values",
                                            table.columns[columns[i]].name, table.name()));
    }
    changed[columns[i]] = true;
    HAILSTONE_ASSIGN(const Value value, to_engine(table, columns[i], values[i]));
    to.set(static_cast<uint16_t>(columns[i]), value);
  }
  return {};
}

/// Replaces the row of transaction.key by `values`, or, with `columns`, gives these columns new values.
Outcome update(TransactionHandle& transaction, const TableShape& table, const uint32_t* columns,
               const hs_value* values, size_t count) {
  Transaction& writer = *transaction.shared->transaction;
  Duplicate duplicate;
  Status updated;
  if (columns == nullptr) {
    HAILSTONE_TRY(to_engine(table, values, count, transaction.values));
    HAILSTONE_TRY(table.table->layout()->row_codec().encode(transaction.values, transaction.row));
    const auto done = table.table->update(writer, transaction.key, transaction.row, duplicate);
    if (!done) updated = std::unexpected(done.error());
  } else {
    HAILSTONE_TRY(set_columns(table, columns, values, count, transaction.update));
    const auto done = transaction.update.run(*table.table, writer, transaction.key, duplicate);
    if (!done) updated = std::unexpected(done.error());
  }
  if (updated) return {};
  if (updated.error().code() == ErrorCode::NotFound) return no_row(table);
  return std::unexpected(write_failure(table, updated.error(), duplicate));
}

/// Replaces the row of the primary key of writer.row by that, or inserts it.
Outcome replace_or_insert(TransactionHandle& writer, const TableShape& table) {
  SharedTransaction& shared = *writer.shared;
  HAILSTONE_TRY(key_of_row(table, writer.values, writer.key));
  // Another transaction may end between the two: its row then is there, or gone, when the other is tried.
  for (;;) {
    Duplicate duplicate;
    const auto updated = table.table->update(*shared.transaction, writer.key, writer.row, duplicate);
    if (updated) return {};
    if (updated.error().code() != ErrorCode::NotFound)
      return std::unexpected(write_failure(table, updated.error(), duplicate));
    const auto inserted = table.table->insert(*shared.transaction, writer.row, duplicate);
    if (inserted) return {};
    if (inserted.error().code() != ErrorCode::DuplicateKey || duplicate.index != 0)
      return std::unexpected(write_failure(table, inserted.error(), duplicate));
    if (shared.is_stopped()) return shared.refuse_statement();
  }
}

/// A statement that writes a row of all columns: `write` gets it in the transaction's `values` and `row`.
template <typename Write>
int write_row(const hs_transaction* given_transaction, const hs_table* given_table, const hs_value* values,
              size_t value_count, Write&& write) {
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  const TableShape& shape = *table->shape;
  return run_statement(*transaction, *transaction->shared, [&]() -> Outcome {
    HAILSTONE_TRY(to_engine(shape, values, value_count, transaction->values));
    HAILSTONE_TRY(transaction->shared->check_table(*shape.table, true));
    HAILSTONE_TRY(shape.table->layout()->row_codec().encode(transaction->values, transaction->row));
    return std::forward<Write>(write)(*transaction, shape);
  });
}

void show_row(const TableShape& table, std::span<const Value> from, hs_value* to, size_t count) {
  for (size_t i = 0; i < std::min(count, from.size()); ++i) to[i] = from_engine(table.columns[i], from[i]);
}

}  // namespace

}  // namespace hailstone::capi

using namespace hailstone;
using namespace hailstone::capi;

namespace hailstone::capi {

namespace {

struct GuardedCursor : Guarded {
  template <typename... Arguments>
  explicit GuardedCursor(Arguments&&... arguments) : cursor(std::forward<Arguments>(arguments)...) {}
  Cursor cursor;
};

struct CursorHandle : OfTransaction {
  using Public = hs_cursor;
  static constexpr HandleKind its_kind = HandleKind::Cursor;
  CursorHandle(std::shared_ptr<SharedTransaction> reader, std::shared_ptr<const TableShape> read)
      : OfTransaction(its_kind, std::move(reader), std::move(read)) {}
  ~CursorHandle() override { shared->calls.discard(std::move(guarded)); }
  Cursor& cursor() const { return guarded->cursor; }
  std::unique_ptr<GuardedCursor> guarded;
  size_t index = Cursor::by_row_id;
  bool on_row = false, loaded = false;
  bool at_end = false;  // hs_cursor_rows() has given the last row
  std::string end;      // where entries are not sought any more; empty: nowhere
  const std::shared_ptr<std::string> bytes = std::make_shared<std::string>();  // of the row given out last
};

/// Copies the bytes of the values, which are then the copy's.
void copy_bytes(hs_value* values, size_t count, std::string& to) {
  size_t size = 0;
  for (const hs_value& value : std::span(values, count)) {
    if (value.kind == HS_VALUE_BYTES) size += value.as.bytes.size;
  }
  to.resize(size);
  size_t end = 0;
  for (hs_value& value : std::span(values, count)) {
    if (value.kind != HS_VALUE_BYTES || value.as.bytes.size == 0) continue;
    std::memcpy(to.data() + end, value.as.bytes.data, value.as.bytes.size);
    value.as.bytes.data = to.data() + end;
    end += value.as.bytes.size;
  }
}

}  // namespace

}  // namespace hailstone::capi

int hs_insert(hs_transaction* transaction, hs_table* table, const hs_value* values, size_t value_count) {
  return write_row(transaction, table, values, value_count,
                   [](TransactionHandle& writer, const TableShape& shape) -> Outcome {
                     Duplicate duplicate;
                     const auto key = shape.table->insert(*writer.shared->transaction, writer.row, duplicate);
                     if (!key) return std::unexpected(write_failure(shape, key.error(), duplicate));
                     return {};
                   });
}

int hs_update(hs_transaction* given_transaction, hs_table* given_table, const hs_value* key, size_t key_count,
              const uint32_t* columns, const hs_value* values, size_t value_count) {
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  return run_statement(*transaction, *transaction->shared, [&]() -> Outcome {
    HAILSTONE_TRY(primary_key(*table->shape, key, key_count, transaction->key));
    HAILSTONE_TRY(transaction->shared->check_table(*table->shape->table, true));
    return update(*transaction, *table->shape, columns, values, value_count);
  });
}

int hs_upsert(hs_transaction* transaction, hs_table* table, const hs_value* values, size_t value_count) {
  return write_row(transaction, table, values, value_count, replace_or_insert);
}

int hs_delete(hs_transaction* given_transaction, hs_table* given_table, const hs_value* key,
              size_t key_count) {
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(primary_key(*table->shape, key, key_count, transaction->key));
    HAILSTONE_TRY(shared.check_table(*table->shape->table, true));
    const Status erased = table->shape->table->erase(*shared.transaction, transaction->key);
    if (!erased && erased.error().code() == ErrorCode::NotFound) return no_row(*table->shape);
    HAILSTONE_TRY(erased);
    return {};
  });
}

int hs_get(hs_transaction* given_transaction, hs_table* given_table, const hs_value* key, size_t key_count,
           hs_lock lock, hs_value* values, size_t value_count) {
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  if (values == nullptr && value_count > 0) return misuse<TransactionHandle>(given_transaction, no_place);
  SharedTransaction& shared = *transaction->shared;
  const TableShape& shape = *table->shape;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(check_lock(lock));
    HAILSTONE_TRY(primary_key(shape, key, key_count, transaction->key));
    const ReadLock wanted = lock_of(shared, lock);
    HAILSTONE_TRY(shared.check_read(*shape.table, wanted));
    transaction->values.resize(shape.columns.size());
    HAILSTONE_ASSIGN(const bool found, shape.table->find(*shared.transaction, transaction->key, wanted,
                                                         shared.reads_of(shape), transaction->values));
    if (!found) return no_row(shape);
    show_row(shape, transaction->values, values, value_count);
    copy_bytes(values, std::min(value_count, shape.columns.size()), transaction->row);
    keep_for_this_thread(transaction->scratch);
    return {};
  });
}

int hs_cursor_open(hs_transaction* given_transaction, hs_table* given_table, const char* index, hs_lock lock,
                   hs_cursor** cursor) {
  if (cursor == nullptr) {
    return misuse<TransactionHandle>(given_transaction, "the place for the cursor's handle is NULL");
  }
  *cursor = nullptr;
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(check_lock(lock));
    const ReadLock wanted = lock_of(shared, lock);
    HAILSTONE_TRY(shared.check_read(*table->shape->table, wanted));
    const TableDefinition& definition = table->shape->table->layout()->definition();
    auto opened = std::make_unique<CursorHandle>(transaction->shared, table->shape);
    if (index != nullptr) {
      const auto found = std::ranges::find(definition.indexes, std::string_view(index), &Index::name);
      if (found == definition.indexes.end()) {
        return refuse(HS_NOT_FOUND, fmt::format("table '{}' has no index '{}'", table->shape->name(), index));
      }
      opened->index = static_cast<size_t>(found - definition.indexes.begin());
    } else if (definition.has_primary_key) {
      opened->index = 0;
    }
    opened->guarded = std::make_unique<GuardedCursor>(table->shape->table, *shared.transaction, opened->index,
                                                      wanted, table->shape->all_columns());
    return give_out(std::move(opened), cursor);
  });
}

void hs_cursor_close(hs_cursor* given_cursor) { close_handle<CursorHandle>(given_cursor); }

namespace {

enum class From : uint8_t { Anywhere, Row };

/// Runs a move of the cursor; `move` says whether it stands on a row then.
template <typename Move>
int move_cursor(hs_cursor* given_cursor, From from, Move&& move) {
  const Call<CursorHandle> cursor(given_cursor);
  if (!cursor) return HS_INVALID;
  return run_statement(*cursor, *cursor->shared, [&]() -> Outcome {
    if (from == From::Row && !cursor->on_row)
      return refuse(HS_INVALID, "the cursor stands on no row; seek one first");
    cursor->on_row = cursor->loaded = cursor->at_end = false;
    HAILSTONE_ASSIGN(cursor->on_row, std::forward<Move>(move)(*cursor));
    if (cursor->on_row) [[likely]]
      return {};
    return refuse(HS_NOT_FOUND, fmt::format("table '{}' has no further row there", cursor->shape->name()));
  });
}

/// A cursor that locks rows neither locks nor waits for one behind the end.
Cursor::Wanted before_end(const CursorHandle& cursor) {
  if (cursor.end.empty()) return {};
  return [&cursor](ByteView key, const auto&) -> Result<bool> { return key < cursor.end; };
}
/// Whether the row that the cursor has `found` lies before its end.
Returned<bool> is_before_end(const CursorHandle& cursor, bool found) {
  if (!found || cursor.end.empty()) return found;
  HAILSTONE_ASSIGN(const ByteView key, cursor.cursor().entry_key());
  return key < cursor.end;
}

Outcome cursor_bound(const CursorHandle& cursor, const hs_value* key, size_t count, std::string& to) {
  to.clear();
  if (count == 0) return {};
  if (cursor.index == Cursor::by_row_id) {
    return refuse(HS_INVALID, "a cursor in the order of insertion has no key to be sought");
  }
  return encode_key(*cursor.shape, cursor.index, key, count, to);
}

}  // namespace

int hs_cursor_until(hs_cursor* given_cursor, const hs_value* key, size_t key_count) {
  const Call<CursorHandle> cursor(given_cursor);
  if (!cursor) return HS_INVALID;
  return run_statement(*cursor, *cursor->shared, [&]() -> Outcome {
    std::string bound;
    HAILSTONE_TRY(cursor_bound(*cursor, key, key_count, bound));
    cursor->on_row = cursor->loaded = cursor->at_end = false;
    cursor->end = key_after_prefix(bound);
    return {};
  });
}

int hs_cursor_seek(hs_cursor* given_cursor, const hs_value* key, size_t key_count) {
  return move_cursor(given_cursor, From::Anywhere, [&](CursorHandle& cursor) -> Returned<bool> {
    std::string bound;
    HAILSTONE_TRY(cursor_bound(cursor, key, key_count, bound));
    HAILSTONE_ASSIGN(const bool found, cursor.cursor().seek_at_or_after(bound, before_end(cursor)));
    return is_before_end(cursor, found);
  });
}

int hs_cursor_seek_last(hs_cursor* given_cursor, const hs_value* key, size_t key_count) {
  return move_cursor(given_cursor, From::Anywhere, [&](CursorHandle& cursor) -> Returned<bool> {
    std::string bound;
    HAILSTONE_TRY(cursor_bound(cursor, key, key_count, bound));
    // Empty means the end here, which is also where a key of the greatest bytes leads.
    std::string end = key_after_prefix(bound);
    if (!cursor.end.empty() && (end.empty() || cursor.end < end)) end = cursor.end;
    HAILSTONE_ASSIGN(const bool found, cursor.cursor().seek_before(end));
    return found;
  });
}

int hs_cursor_next(hs_cursor* given_cursor) {
  return move_cursor(given_cursor, From::Row, [](CursorHandle& cursor) -> Returned<bool> {
    HAILSTONE_ASSIGN(const bool found, cursor.cursor().next(before_end(cursor)));
    return is_before_end(cursor, found);
  });
}

int hs_cursor_previous(hs_cursor* given_cursor) {
  return move_cursor(given_cursor, From::Row,
                     [](CursorHandle& cursor) { return cursor.cursor().previous(); });
}

int hs_cursor_row(hs_cursor* given_cursor, hs_value* values, size_t value_count) {
  if (values == nullptr && value_count > 0) return misuse<CursorHandle>(given_cursor, no_place);
  const Call<CursorHandle> cursor(given_cursor);
  if (!cursor) return HS_INVALID;
  return run(*cursor, [&]() -> Outcome {
    if (!cursor->shared->takes_statements()) return cursor->shared->refuse_statement();
    if (!cursor->on_row) return refuse(HS_INVALID, "the cursor stands on no row; seek one first");
    if (!cursor->loaded) {
      HAILSTONE_TRY(cursor->cursor().load_values());
      cursor->loaded = true;
    }
    show_row(*cursor->shape, cursor->cursor().values(), values, value_count);
    copy_bytes(values, std::min(value_count, cursor->shape->columns.size()), *cursor->bytes);
    keep_for_this_thread(cursor->bytes);
    return {};
  });
}

int hs_cursor_rows(hs_cursor* given_cursor, int backwards, hs_value* values, size_t value_count,
                   size_t most_rows, size_t* rows) {
  if (rows == nullptr || (values == nullptr && value_count > 0)) {
    return misuse<CursorHandle>(given_cursor, no_place);
  }
  *rows = 0;
  const Call<CursorHandle> cursor(given_cursor);
  if (!cursor) return HS_INVALID;
  return run_statement(*cursor, *cursor->shared, [&]() -> Outcome {
    if (cursor->at_end) return {};
    if (!cursor->on_row) return refuse(HS_INVALID, "the cursor stands on no row; seek one first");
    const size_t shown = std::min(value_count, cursor->shape->columns.size());
    std::string& bytes = *cursor->bytes;
    bytes.clear();
    size_t filled = 0;
    while (cursor->on_row && filled < most_rows) {
      if (!cursor->loaded) HAILSTONE_TRY(cursor->cursor().load_values());
      hs_value* const row = values + filled * value_count;
      show_row(*cursor->shape, cursor->cursor().values(), row, shown);
      for (const hs_value& value : std::span(row, shown)) {
        if (value.kind == HS_VALUE_BYTES)
          bytes.append(static_cast<const char*>(value.as.bytes.data), value.as.bytes.size);
      }
      ++filled;
      cursor->on_row = cursor->loaded = false;
      if (backwards != 0) {
        HAILSTONE_ASSIGN(cursor->on_row, cursor->cursor().previous());
      } else {
        HAILSTONE_ASSIGN(const bool found, cursor->cursor().next(before_end(*cursor)));
        HAILSTONE_ASSIGN(cursor->on_row, is_before_end(*cursor, found));
      }
    }
    // They lie where they stay only now.
    size_t end = 0;
    for (size_t row = 0; row < filled; ++row) {
      for (hs_value& value : std::span(values + row * value_count, shown)) {
        if (value.kind != HS_VALUE_BYTES) continue;
        value.as.bytes.data = bytes.data() + end;
        end += value.as.bytes.size;
      }
    }
    keep_for_this_thread(cursor->bytes);
    cursor->at_end = !cursor->on_row;
    *rows = filled;
    return {};
  });
}
