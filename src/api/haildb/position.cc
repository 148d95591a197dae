// Where cursors go, and what they read there.
#include <algorithm>
#include <limits>

#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"
#include "api/haildb/tuple.h"

namespace hailstone::haildb {
namespace {

using Place = ib_crsr_struct::Place;

void count_row(ib_crsr_struct& cursor) {
  // No other thread writes it, so it needs no locked instruction.
  cursor.rows_read.store(cursor.rows_read.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool reads_locking(const ib_crsr_struct& cursor) {
  return cursor.lock_mode == IB_LOCK_X || cursor.lock_mode == IB_LOCK_S ||
         cursor.trx->level == IB_TRX_SERIALIZABLE;
}

/// A new statement sees what is committed by now, where the isolation level says so. The place stays; but the
/// row where a miss stands is only looked for when it is to be kept.
void begin_statement(ib_crsr_struct& cursor, bool keep_place) {
  cursor.new_statement = false;
  if (cursor.trx->level > IB_TRX_READ_COMMITTED || cursor.memory != nullptr) return;
  Transaction& transaction = *cursor.trx->transaction;
  const bool nothing_new = cursor.trx->level == IB_TRX_READ_COMMITTED && transaction.has_snapshot() &&
                           transaction.snapshot().read == engine().database->transactions().last_committed();
  if (nothing_new && (cursor.walker == nullptr || cursor.statement == cursor.trx->statements)) return;
  if (!nothing_new) settle_misses(*cursor.trx, keep_place ? nullptr : &cursor);
  if (cursor.row_wanted && !keep_place) {
    cursor.place = Place::Nowhere;
    cursor.row_wanted = false;
  }
  leave_place(cursor);
  cursor.walker.reset();
  if (nothing_new) return;
  transaction.next_statement();
  ++cursor.trx->statements;
}

/// Locks the table where plain reads lock rows: set_lock_mode() has done so for all other cursors that do.
ib_err_t lock_for_reading(ib_crsr_struct& cursor) {
  ib_trx_struct& transaction = *cursor.trx;
  const bool locks_table = transaction.level == IB_TRX_SERIALIZABLE && cursor.lock_mode == IB_LOCK_NONE &&
                           cursor.memory == nullptr;
  if (!locks_table || cursor.read_lock_serial == transaction.serial) [[likely]]
    return DB_SUCCESS;
  transaction.ask = true;
  auto info = cursor.info;
  const ib_err_t code = lock_newest_table(transaction, info, TableLockMode::IntentionShared);
  if (code == DB_SUCCESS) cursor.read_lock_serial = transaction.serial;
  return code;
}

/// A snapshot from before the table was made, emptied or rebuilt sees none of its rows: that is an error, not
/// an empty table.
ib_err_t check_history(ib_crsr_struct& cursor) {
  if (reads_locking(cursor)) return DB_SUCCESS;
  if (!sees(*cursor.trx, *cursor.info)) return DB_MISSING_HISTORY;
  if (cursor.info->table == nullptr) return DB_SUCCESS;
  const Status fits = cursor.info->table->check_snapshot(*cursor.trx->transaction, /*by_name=*/false);
  return fits ? DB_SUCCESS : code_of(fits.error());
}

/// Takes the cursor to where the walker is now. When the move has failed, it is where it was, if its place
/// had been copied, and else nowhere.
ib_err_t arrive(ib_crsr_struct& cursor, const Result<bool>& found, bool forward) {
  if (!found) {
    if (cursor.at_walker) cursor.place = Place::Nowhere;
    cursor.at_walker = false;
    // The walker may be half way.
    cursor.walker.reset();
    return failed(*cursor.trx, found.error());
  }
  cursor.has_row = false;
  cursor.row_wanted = false;
  if (*found) {
    cursor.place = Place::Entry;
    cursor.at_walker = true;
    count_row(cursor);
    return DB_SUCCESS;
  }
  cursor.at_walker = false;
  cursor.place = forward ? Place::End : Place::Begin;
  return DB_END_OF_INDEX;
}

/// DB_SUCCESS: the cursor can be taken somewhere.
ib_err_t begin_move(ib_crsr_t cursor, bool keep_place) {
  if (const ib_err_t code = enter(cursor, DB_MISSING_HISTORY); code != DB_SUCCESS) return code;
  if (const ib_err_t code = lock_for_reading(*cursor); code != DB_SUCCESS) return code;
  if (!keep_place && reads_locking(*cursor)) leave_place(*cursor);
  // First, as the table is that of the statement's snapshot.
  if (!keep_place || cursor->new_statement) begin_statement(*cursor, keep_place);
  if (const ib_err_t code = refresh_table(*cursor, false); code != DB_SUCCESS) return code;
  if (const ib_err_t code = check_history(*cursor); code != DB_SUCCESS) return code;
  // In a plain read nobody waits for a lock, and only then is the application asked.
  cursor->trx->ask = reads_locking(*cursor);
  const Status opened = open_walker(*cursor);
  return opened ? DB_SUCCESS : failed(*cursor->trx, opened.error());
}

ib_err_t go_to_end(ib_crsr_t cursor, bool first) {
  if (const ib_err_t code = begin_move(cursor, false); code != DB_SUCCESS) return code;
  const auto found = first ? cursor->walker->seek_at_or_after({}) : cursor->walker->seek_before({});
  const ib_err_t code = arrive(*cursor, found, first);
  return code;
}

ib_err_t move(ib_crsr_t cursor, bool forward) {
  if (const ib_err_t code = begin_move(cursor, true); code != DB_SUCCESS) return code;
  // A miss stands on the next larger row, from which the move goes on.
  if (const ib_err_t code = go_to_wanted_row(*cursor); code != DB_SUCCESS) return code;
  Walker& walker = *cursor->walker;
  switch (cursor->place) {
    case Place::Nowhere:
      return DB_RECORD_NOT_FOUND;
    case Place::Begin:
      return forward ? arrive(*cursor, walker.seek_at_or_after({}), true) : DB_END_OF_INDEX;
    case Place::End:
      return forward ? DB_END_OF_INDEX : arrive(*cursor, walker.seek_before({}), false);
    case Place::Entry:
      break;
  }
  if (cursor->at_walker) {
    // The lock of the next row may be refused: the cursor then stays.
    if (reads_locking(*cursor)) leave_place(*cursor);
    return arrive(*cursor, forward ? walker.next() : walker.previous(), forward);
  }
  const std::string bound = forward ? cursor->key + '\0' : cursor->key;
  return arrive(*cursor, forward ? walker.seek_at_or_after(bound) : walker.seek_before(bound), forward);
}

/// The range of the first `parts` parts of the key.
Result<SearchRange> make_range(const TableInfo& info, const IndexInfo& index, const ib_tpl_struct& tuple,
                               size_t parts) {
  SearchRange range;
  if (index.generated) {
    const Value row_id = tuple.value(0);
    if (row_id.null || row_id.bytes.size() != 6) {
      range.high_is_end = true;
      return range;
    }
    range.low.assign(2, '\0');
    range.low.append(row_id.bytes);
  } else {
    std::vector<Value> values;
    std::vector<std::string> labels(parts);
    for (size_t i = 0; i < parts; ++i) {
      const IndexPartInfo& part = index.parts[i];
      Value value = tuple.value(i);
      const ColumnInfo& column = info.schema.columns[part.column];
      if (value.null) {
        // Before all values of a column that has no NULLs.
        range.may_exist = !column.not_null() && !info.indexes[0].has(part.column);
        if (!range.may_exist) break;
      } else if (part.order >= 0) {
        const ByteView bytes = part.prefix == 0 ? value.bytes : value.bytes.substr(0, part.prefix);
        const auto found = info.orders[static_cast<size_t>(part.order)]->find(bytes);
        labels[i] = found.low;
        value = Value::of(ByteView(labels[i]));
        range.may_exist = found.exists;
      }
      values.push_back(value);
      if (!range.may_exist) break;
    }
    HAILSTONE_TRY(info.codec(index).append(values, range.low, std::numeric_limits<size_t>::max()));
    if (range.low.size() > max_key_bytes) {
      // No row has such a key, nor is one equal to its beginning, which is at the same place between them.
      range.low.resize(max_key_bytes);
      range.may_exist = false;
    }
    if (!range.may_exist) {
      range.high = range.low;
      return range;
    }
  }
  range.high = key_after_prefix(range.low);
  range.high_is_end = range.high.empty();
  return range;
}

bool within(const SearchRange& range, ByteView key) {
  return range.may_exist && key >= range.low && (range.high_is_end || key < range.high);
}

/// Whether an entry of the cursor's index begins with the key: its last column with the key's bytes, those
/// before equal.
Result<bool> begins_with(ib_crsr_struct& cursor, const ib_tpl_struct& tuple, ByteView key,
                         const std::function<Status(std::string&)>& load_row) {
  const IndexInfo& index = cursor.index_info();
  if (index.parts.empty()) return true;
  const size_t last = index.parts.size() - 1;
  const ColumnInfo& column = cursor.info->schema.columns[index.parts[last].column];
  const Value wanted = tuple.value(last);
  if (wanted.null || column.is_number()) return false;
  HAILSTONE_ASSIGN(const SearchRange before, make_range(*cursor.info, index, tuple, last));
  if (!within(before, key)) return false;
  HAILSTONE_TRY(load_row(cursor.encoded));
  const Value found = cursor.info->layout->row_codec().value(cursor.encoded, index.parts[last].column);
  return !found.null && found.bytes.starts_with(wanted.bytes);
}

/// What a search with the cursor's match mode is for; none: any entry.
Walker::Wanted wanted_by(ib_crsr_struct& cursor, const ib_tpl_struct& tuple, const SearchRange& range,
                         bool forward) {
  switch (cursor.match_mode) {
    case IB_EXACT_MATCH:
      return [&range](ByteView key, const auto&) { return within(range, key); };
    case IB_EXACT_PREFIX:
      return [&cursor, &tuple, &range, forward](ByteView key, const auto& load_row) -> Result<bool> {
        if (within(range, key)) return true;
        if (!forward) return false;
        return begins_with(cursor, tuple, key, load_row);
      };
    default:
      return {};
  }
}

/// An exact search for a whole clustered key, without locks: no walker is needed. The cursor keeps a copy of
/// the row.
ib_err_t find_exactly(ib_crsr_struct& cursor, SearchRange& range, int& result) {
  cursor.at_walker = false;
  cursor.place = Place::Entry;
  cursor.clustered_size = range.low.size();
  cursor.key.swap(range.low);
  cursor.has_row = false;
  cursor.row_wanted = false;
  if (range.may_exist) {
    const auto found =
        cursor.info->table->find_row(*cursor.trx->transaction, cursor.key, ReadLock::None, cursor.row);
    if (!found) {
      cursor.place = Place::Nowhere;
      return failed(*cursor.trx, found.error());
    }
    if (*found) {
      cursor.has_row = true;
      count_row(cursor);
      result = 0;
      return DB_SUCCESS;
    }
  }
  cursor.row_wanted = cursor.trx->has_misses = true;
  if (cursor.trx->level == IB_TRX_READ_UNCOMMITTED) {
    // Other transactions can change what it sees at any time.
    if (const ib_err_t code = go_to_wanted_row(cursor); code != DB_SUCCESS) return code;
  }
  return DB_RECORD_NOT_FOUND;
}

ib_err_t move_to(ib_crsr_struct& cursor, const ib_tpl_struct& tuple, ib_srch_mode_t mode, int& result) {
  const IndexInfo& index = cursor.index_info();
  const bool exact = cursor.match_mode == IB_EXACT_MATCH;
  const bool whole_key = exact && index.clustered && !index.generated;
  auto range = make_range(*cursor.info, index, tuple, index.parts.size());
  result = -1;
  if (!range) return failed(*cursor.trx, range.error());
  if (whole_key && !reads_locking(cursor) && cursor.memory == nullptr)
    return find_exactly(cursor, *range, result);
  if (const Status opened = open_walker(cursor); !opened) return failed(*cursor.trx, opened.error());
  if (whole_key) mode = IB_CUR_GE;
  const bool forward = mode == IB_CUR_G || mode == IB_CUR_GE;
  const Walker::Wanted wanted = wanted_by(cursor, tuple, *range, forward);
  Result<bool> found = false;
  if (mode == IB_CUR_GE) {
    found = cursor.walker->seek_at_or_after(range->low, wanted);
  } else if (mode == IB_CUR_G) {
    if (!range->high_is_end) found = cursor.walker->seek_at_or_after(range->high, wanted);
  } else if (mode == IB_CUR_LE) {
    if (range->high_is_end || !range->high.empty()) {
      found = cursor.walker->seek_before(range->high_is_end ? ByteView() : ByteView(range->high), wanted);
    }
  } else if (!range->low.empty()) {
    found = cursor.walker->seek_before(range->low, wanted);
  }
  const ib_err_t arrived = arrive(cursor, found, forward);
  if (arrived != DB_SUCCESS && arrived != DB_END_OF_INDEX) return arrived;
  const bool there = arrived == DB_SUCCESS;
  if (there) {
    const auto key = cursor.walker->entry_key();
    if (!key) return failed(*cursor.trx, key.error());
    if (within(*range, *key)) {
      result = 0;
      return DB_SUCCESS;
    }
  }
  switch (cursor.match_mode) {
    case IB_CLOSEST_MATCH:
      result = there && !forward ? 1 : -1;
      return there ? DB_SUCCESS : DB_END_OF_INDEX;
    case IB_EXACT_MATCH:
      result = there && !forward ? 1 : -1;
      return DB_RECORD_NOT_FOUND;
    case IB_EXACT_PREFIX: {
      if (!there || !forward) return DB_RECORD_NOT_FOUND;
      const auto key = cursor.walker->entry_key();
      if (!key) return failed(*cursor.trx, key.error());
      const auto prefix = begins_with(cursor, tuple, *key,
                                      [&cursor](std::string& row) { return cursor.walker->load_row(row); });
      if (!prefix) return failed(*cursor.trx, prefix.error());
      return *prefix ? DB_SUCCESS : DB_RECORD_NOT_FOUND;
    }
  }
  return DB_ERROR;
}

/// A row tuple of the cursor's table; made to fit when the table has been rebuilt since. Key tuples stay as
/// they are.
bool fit_tuple(const ib_crsr_struct& cursor, ib_tpl_struct& tuple) {
  if (tuple.info == cursor.info) return true;
  if (!tuple.info->is_same_table(*cursor.info) ||
      tuple.info->schema.columns.size() != cursor.info->schema.columns.size()) {
    return false;
  }
  if (tuple.is_key()) {
    const IndexInfo* const index = cursor.info->find_index(tuple.key_index->name);
    if (index == nullptr || index->key_columns != tuple.columns) return false;
    tuple.key_index = index;
  }
  tuple.info = cursor.info;
  tuple.forget_values();
  return true;
}

/// Copies what the index holds of the row into fields.
void copy_index_columns(const ib_crsr_struct& cursor, ByteView row, ByteView clustered_key,
                        ib_tpl_struct& tuple) {
  const TableInfo& info = *cursor.info;
  const RowCodec& codec = info.layout->row_codec();
  const auto set = [&](size_t place, uint16_t column, uint32_t prefix) {
    if (column == row_id_column) {
      if (clustered_key.size() == 8) tuple.set_bytes(place, clustered_key.substr(2), 0, 0);
      return;
    }
    const Value value = codec.value(row, column);
    if (value.null) {
      tuple.set_null(place);
    } else if (info.schema.columns[column].is_number()) {
      tuple.set_integer(place, value.integer);
    } else {
      tuple.set_bytes(place, prefix == 0 ? value.bytes : value.bytes.substr(0, prefix), 0, 0);
    }
  };
  const IndexInfo& index = cursor.index_info();
  for (size_t i = 0; i < index.key_columns.size(); ++i) {
    const uint16_t column = index.key_columns[i];
    const uint32_t prefix = i < index.parts.size() && !cursor.cluster_access ? index.parts[i].prefix : 0;
    if (tuple.is_key()) {
      if (i < tuple.column_count()) set(i, column, prefix);
    } else if (column != row_id_column) {
      set(column, column, prefix);
    }
  }
}

ib_err_t read_row(ib_crsr_struct& cursor, ib_tpl_struct& tuple) {
  if (const ib_err_t code = go_to_wanted_row(cursor); code != DB_SUCCESS) return code;
  if (!fit_tuple(cursor, tuple)) return DB_DATA_MISMATCH;
  if (tuple.is_key() && tuple.columns != cursor.index_info().key_columns) return DB_DATA_MISMATCH;
  tuple.forget_values();
  const bool whole = !tuple.is_key() && (cursor.clustered() || cursor.cluster_access);
  std::string& row = whole ? tuple.row : cursor.encoded;
  const auto found = row_of(cursor, row);
  if (!found) return cursor.trx != nullptr ? failed(*cursor.trx, found.error()) : code_of(found.error());
  if (!*found) return DB_RECORD_NOT_FOUND;
  const bool needs_key = !whole || cursor.info->indexes[0].generated;
  const auto key = needs_key ? clustered_key_of(cursor) : ByteView();
  if (!key) return cursor.trx != nullptr ? failed(*cursor.trx, key.error()) : code_of(key.error());
  if (whole) {
    tuple.has_row = true;
    if (key->size() == 8) std::copy_n(key->data() + 2, sizeof tuple.row_id, tuple.row_id);
  } else {
    copy_index_columns(cursor, row, *key, tuple);
  }
  return DB_SUCCESS;
}

}  // namespace

ib_err_t go_to_wanted_row(ib_crsr_struct& cursor) {
  if (!cursor.row_wanted) [[likely]]
    return DB_SUCCESS;
  cursor.row_wanted = false;
  cursor.place = Place::Nowhere;
  if (const Status opened = open_walker(cursor); !opened) return failed(*cursor.trx, opened.error());
  const ib_err_t code = arrive(cursor, cursor.walker->seek_at_or_after(cursor.key), true);
  return code == DB_END_OF_INDEX ? DB_SUCCESS : code;
}

void settle_misses(ib_trx_struct& transaction, const ib_crsr_struct* but) {
  if (!transaction.has_misses) [[likely]]
    return;
  transaction.has_misses = false;
  for (const ib_crsr_t cursor : transaction.cursors) {
    if (cursor == but || !cursor->row_wanted) continue;
    // If the row cannot be found any more, read_row does not find it.
    static_cast<void>(go_to_wanted_row(*cursor));
    leave_place(*cursor);
  }
}

void settle_misses_at(ib_trx_struct& transaction, const TableInfo& info, ByteView inserted_key) {
  for (const ib_crsr_t cursor : transaction.cursors) {
    if (!cursor->row_wanted || cursor->info->table != info.table || inserted_key < cursor->key) continue;
    if (inserted_key == cursor->key) {
      // The program has inserted the row that it missed: the cursor still stands on the next one.
      cursor->key.push_back('\0');
      continue;
    }
    if (go_to_wanted_row(*cursor) != DB_SUCCESS || !cursor->at_walker) continue;
    const auto key = cursor->walker->entry_key();
    if (key && *key == inserted_key) static_cast<void>(arrive(*cursor, cursor->walker->next(), true));
  }
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_err_t ib_cursor_first(ib_crsr_t ib_crsr) try {
  return go_to_end(ib_crsr, true);
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_last(ib_crsr_t ib_crsr) try {
  return go_to_end(ib_crsr, false);
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_next(ib_crsr_t ib_crsr) try { return move(ib_crsr, true); } catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_prev(ib_crsr_t ib_crsr) try {
  return move(ib_crsr, false);
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_moveto(ib_crsr_t ib_crsr, ib_tpl_t ib_tpl, ib_srch_mode_t ib_srch_mode, int* result) try {
  if (const ib_err_t code = enter(ib_crsr, DB_MISSING_HISTORY); code != DB_SUCCESS) return code;
  if (!good(ib_tpl) || ib_srch_mode < IB_CUR_G || ib_srch_mode > IB_CUR_LE) return DB_INVALID_INPUT;
  if (const ib_err_t code = lock_for_reading(*ib_crsr); code != DB_SUCCESS) return code;
  if (reads_locking(*ib_crsr)) leave_place(*ib_crsr);
  begin_statement(*ib_crsr, false);
  if (const ib_err_t code = refresh_table(*ib_crsr, false); code != DB_SUCCESS) return code;
  if (!ib_tpl->is_key() || !ib_tpl->info->is_same_table(*ib_crsr->info) ||
      ib_tpl->columns != ib_crsr->index_info().key_columns) {
    return DB_DATA_MISMATCH;
  }
  if (const ib_err_t code = check_history(*ib_crsr); code != DB_SUCCESS) return code;
  ib_crsr->trx->ask = reads_locking(*ib_crsr);
  int compared = -1;
  const ib_err_t code = move_to(*ib_crsr, *ib_tpl, ib_srch_mode, compared);
  if (result != nullptr) *result = compared;
  return code;
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_read_row(ib_crsr_t ib_crsr, ib_tpl_t ib_tpl) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(ib_crsr) || !good(ib_tpl)) return DB_INVALID_INPUT;
  return read_row(*ib_crsr, *ib_tpl);
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}
