// Reading rows: scans, positions, index searches.
#include <algorithm>
#include <cstring>
#include <utility>

#include "error.h"
#include "ha_hailstone.h"
#include "pushdown.h"
#include "pushdown_warnings.h"
#include "server/differences.h"

namespace hailstone {

namespace {

const std::shared_ptr<const Predicate>& every_row() {
  static const auto predicate = std::make_shared<const Predicate>(Predicate::always());
  return predicate;
}

}  // namespace

void HailstoneHandler::use_read_columns() {
  // An update has to know the whole old row to build the new one.
  const bool all = lock_ == ReadLock::Exclusive && !bitmap_is_clear_all(table->write_set);
  const size_t bytes = no_words_in_map(table->read_set) * sizeof(my_bitmap_map);
  const ByteView now(reinterpret_cast<const char*>(table->read_set->bitmap), bytes);
  if (all == reads_all_ && read_set_ == now && !read_set_.empty()) return;
  reads_all_ = all;
  read_set_.assign(now);
  read_columns_.clear();
  read_formats_.clear();
  for (size_t i = 0; i < format_->column_count(); ++i) {
    if (!all && !bitmap_is_set(table->read_set, format_->field_of_column(i))) continue;
    read_columns_.push_back(static_cast<uint16_t>(i));
    read_formats_.push_back(&format_->column(i));
  }
  row_reads_.reset();
  cursor_.reset();
  if (place_ == Place::Cursor) place_ = Place::None;
}

// Of columns that are not read, nothing changes, not even the null bits: when the server intersects several
// index scans, each of them brings its own columns to the same record.
void HailstoneHandler::write_values(std::span<const Value> values, uchar* record) const {
  for (size_t i = 0; i < read_formats_.size(); ++i) read_formats_[i]->write_to(values[i], record);
}

void HailstoneHandler::write_batch_row(uchar* record) const {
  for (size_t i = 0; i < read_formats_.size(); ++i)
    read_formats_[i]->write_to(batch_->columns[i].value(batch_row_), record);
}

// --- whole table

int HailstoneHandler::rnd_init(bool whole_table) {
  return entry({"rnd_init", Returns::Error, Argument::Scan, whole_table}, [&]() -> int {
    if (const int error = begin_if_not_begun(/*writes=*/false); error != 0) return error;
    settle_lock();
    tell_of_rows_left_out();
    scan_.reset();
    batch_ = nullptr;
    place_ = Place::None;
    use_read_columns();
    return 0;
  });
}

int HailstoneHandler::rnd_end() {
  return traced({"rnd_end"}, [&]() -> int {
    tell_of_rows_left_out();
    return 0;
  });
}

bool HailstoneHandler::numbers_rows() const {
  if (!predicate_ || (lock_ == ReadLock::None && transaction_->reads_uncommitted())) return false;
  if (!may_warn_of_rows(*ha_thd())) return false;
  // Rows that the server sorts or buffers first it counts when it takes them from there.
  const JOIN_TAB* const join = table->reginfo.join_tab;
  return join == nullptr || (join->filesort == nullptr && join->cache == nullptr);
}

void HailstoneHandler::count_rows_passed_by(uint64_t next) {
  Diagnostics_area& diagnostics = *ha_thd()->get_stmt_da();
  const uint64_t passed_by = next - *row_number_ - 1;
  diagnostics.set_current_row_for_warning(
      static_cast<long>(diagnostics.current_row_for_warning() + passed_by));
  row_number_ = next;
}

void HailstoneHandler::tell_of_rows_left_out() {
  const uint64_t returned = std::exchange(rows_of_batches_, 0) + (batch_ == nullptr ? 0 : batch_row_ + 1);
  const uint64_t gone_by = scan_counts_.rows_in.exchange(0, std::memory_order_relaxed);
  if (gone_by <= returned) return;
  const uint64_t left_out = gone_by - returned;
  THD& thd = *ha_thd();
  count_examined_rows(thd, left_out);
  // Of a partition: that of the whole table.
  count_rows_read(*table->file, left_out);
  status_var_add(
      scan_is_of_index_ ? thd.status_var.ha_read_next_count : thd.status_var.ha_read_rnd_next_count,
      left_out);
}

int HailstoneHandler::next_batch() {
  if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
  if (!scan_) {
    use_read_columns();
    scan_ = std::make_unique<Scan>(table_, *transaction_, lock_, predicate_ ? predicate_ : every_row(),
                                   read_columns_);
    rows_of_batches_ = 0;
    scan_counts_.restart();
    scan_is_of_index_ = inited == INDEX;
    if (predicate_) scan_->count_in(scan_counts_);
    row_number_.reset();
    if (numbers_rows()) {
      scan_->number_rows();
      row_number_ = 0;
    }
  }
  if (batch_ != nullptr) rows_of_batches_ += batch_->rows;
  batch_ = nullptr;
  place_ = Place::None;
  const auto next = scan_->next();
  if (!next) return report(next.error());
  if (*next == nullptr) {
    tell_of_rows_left_out();
    return HA_ERR_END_OF_FILE;
  }
  batch_ = *next;
  batch_row_ = 0;
  return 0;
}

int HailstoneHandler::next_of_scan(uchar* record) {
  if (batch_ != nullptr) ++batch_row_;
  while (batch_ == nullptr || batch_row_ >= batch_->rows) {
    const int error = next_batch();
    if (error == HA_ERR_END_OF_FILE && row_number_) {
      count_rows_passed_by(scan_->rows_met() + 1);
      row_number_.reset();
    }
    if (error != 0) return error;
  }
  place_ = Place::Scan;
  if (row_number_) count_rows_passed_by(scan_->number(batch_row_));
  write_batch_row(record);
  return 0;
}

int HailstoneHandler::rnd_next(uchar* record) {
  return traced({"rnd_next", Returns::Row}, [&]() -> int { return next_of_scan(record); });
}

// --- whole queries

PushedCondition HailstoneHandler::condition(const Item* condition, bool row_is_there) const {
  PushedCondition pushed{.predicate = nullptr, .complete = true};
  if (condition != nullptr) pushed = translate_condition(*table, *format_, *condition, row_is_there);
  if (!pushed.predicate) pushed.predicate = every_row();
  return pushed;
}

int HailstoneHandler::open_scan(const std::shared_ptr<const Predicate>& predicate,
                                const std::vector<uint16_t>& columns, std::unique_ptr<Scan>& to) {
  if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
  to = std::make_unique<Scan>(table_, *transaction_, lock_, predicate, columns,
                              std::vector<bool>(columns.size(), true));
  return 0;
}

// --- positions: the length of the clustered key in two bytes, the key, zeros

Result<ByteView> HailstoneHandler::current_key() {
  switch (place_) {
    case Place::Scan:
      return scan_->clustered_key(batch_row_);
    case Place::Cursor:
      return cursor_->clustered_key();
    case Place::Key:
      return ByteView(key_);
    case Place::Duplicate:
    case Place::None:
      break;
  }
  return fail(ErrorCode::InvalidArgument, "the server asked for the position of a row before it read one");
}

void HailstoneHandler::position(const uchar*) {
  traced({"position", Returns::Nothing}, [&]() {
    std::memset(ref, 0, ref_length);
    const auto key = current_key();
    // A position cannot fail; a length that no key has makes rnd_pos() fail.
    const bool fits = key && key->size() + 2 <= ref_length;
    store<uint16_t>(ref, fits ? static_cast<uint16_t>(key->size()) : uint16_t{0xffff});
    if (fits) std::memcpy(ref + 2, key->data(), key->size());
  });
}

int HailstoneHandler::cmp_ref(const uchar* left, const uchar* right) {
  return traced({"cmp_ref", Returns::Nothing}, [&]() -> int {
    const auto key = [](const uchar* position) {
      return ByteView(reinterpret_cast<const char*>(position + 2), load<uint16_t>(position));
    };
    const int order = key(left).compare(key(right));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  });
}

int HailstoneHandler::rnd_pos(uchar* record, uchar* position) {
  return traced({"rnd_pos", Returns::Row}, [&]() -> int {
    const auto size = load<uint16_t>(position);
    if (size + 2U > ref_length)
      return report(Error(ErrorCode::InvalidArgument, "a row's position was not kept; repeat the statement"));
    use_read_columns();
    return find_row({reinterpret_cast<const char*>(position + 2), size}, record);
  });
}

int HailstoneHandler::find_row(ByteView key, uchar* record) {
  if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
  if (!row_reads_) row_reads_ = std::make_unique<RowReads>(*table_, read_columns_);
  found_values_.resize(read_columns_.size());
  place_ = Place::None;
  const auto found = table_->find(*transaction_, key, lock_, *row_reads_, found_values_);
  if (!found) return report(found.error());
  if (!*found) return HA_ERR_KEY_NOT_FOUND;
  key_.assign(key);
  place_ = Place::Key;
  write_values(found_values_, record);
  return 0;
}

// --- indexes

int HailstoneHandler::index_init(uint index, bool sorted) {
  return entry({"index_init", Returns::Error, Argument::SortedIndex, index, sorted}, [&]() -> int {
    if (const int error = begin_if_not_begun(/*writes=*/false); error != 0) return error;
    settle_lock();
    active_index = index;
    // A subquery may begin a thousand times.
    if (cursor_ && cursor_index_ == index && cursor_lock_ == lock_) {
      cursor_->begin_anew();
    } else {
      cursor_.reset();
    }
    place_ = Place::None;
    scans_index_ = !sorted || !order_matters(index);
    use_read_columns();
    return 0;
  });
}

int HailstoneHandler::index_end() {
  return traced({"index_end"}, [&]() -> int {
    if (scans_index_) tell_of_rows_left_out();
    active_index = MAX_KEY;
    return 0;
  });
}

void HailstoneHandler::open_cursor() {
  if (cursor_) return;
  cursor_ = std::make_unique<Cursor>(table_, *transaction_, active_index, lock_, read_columns_);
  cursor_index_ = active_index;
  cursor_lock_ = lock_;
}

int HailstoneHandler::finish_move(Result<bool> moved, int otherwise, uchar* record) {
  place_ = Place::None;
  if (!moved) return report(moved.error());
  if (!*moved) return otherwise;
  if (const Status loaded = cursor_->load_values(); !loaded) return report(loaded.error());
  place_ = Place::Cursor;
  write_values(cursor_->values(), record);
  return 0;
}

Status HailstoneHandler::encode_key(uint index, const uchar* key, key_part_map parts, std::string& to) const {
  const KEY& description = table->key_info[index];
  Value values[MAX_REF_PARTS];
  uint count = 0;
  for (; count < description.ext_key_parts && (parts >> count & 1) != 0; ++count) {
    const KEY_PART_INFO& part = description.key_part[count];
    const uchar* value = key;
    key += part.store_length;
    if (part.null_bit != 0 && *value++ != 0) {
      values[count] = Value{};
      continue;
    }
    values[count] = format_->column(format_->column_of_field(part.fieldnr - 1U)).read_key(value, part.length);
  }
  to.clear();
  const uint own = std::min(count, description.user_defined_key_parts);
  HAILSTONE_TRY(table_->key_codec(index).append(std::span<const Value>(values, own), to));
  if (count == own) return {};
  // What extends the key are the clustered key's columns that it has not got itself. An entry has the whole
  // clustered key behind its own.
  const KEY& clustered = table->key_info[0];
  Value of_clustered[MAX_REF_PARTS];
  uint found = 0;
  for (; found < clustered.user_defined_key_parts; ++found) {
    uint place = 0;
    while (place < count && description.key_part[place].fieldnr != clustered.key_part[found].fieldnr) ++place;
    if (place == count) break;
    of_clustered[found] = values[place];
  }
  return table_->key_codec(0).append(std::span<const Value>(of_clustered, found), to);
}

bool HailstoneHandler::is_whole_key(uint index, key_part_map parts) const {
  const key_part_map all = (key_part_map{1} << table->key_info[index].user_defined_key_parts) - 1;
  return (parts & all) == all;
}

bool HailstoneHandler::is_whole_primary_key(uint index, key_part_map parts) const {
  return index == 0 && table_->definition().has_primary_key && is_whole_key(index, parts);
}

bool HailstoneHandler::is_whole_unique_key(uint index, key_part_map parts) const {
  return (table->key_info[index].flags & HA_NOSAME) != 0 && is_whole_key(index, parts);
}

Cursor::Wanted HailstoneHandler::with_search_key() const {
  if (!reads_with_locks()) return {};
  return [this](ByteView found, const auto&) -> Result<bool> { return found.starts_with(search_key_); };
}

Result<bool> HailstoneHandler::if_begins_with_search_key(Result<bool> moved) {
  if (!moved || !*moved) return moved;
  const auto key = cursor_->entry_key();
  if (!key) return std::unexpected(key.error());
  return key->starts_with(search_key_);
}

Result<bool> HailstoneHandler::seek_exactly(key_part_map parts) {
  if (cursor_->takes_prefixes()) return cursor_->seek_prefix(search_key_);
  const Cursor::Wanted wanted = with_search_key();
  const auto seek = [&] { return if_begins_with_search_key(cursor_->seek_at_or_after(search_key_, wanted)); };
  Result<bool> found = seek();
  if (!found || *found || lock_ == ReadLock::None || !transaction_->locks_absent_keys() ||
      !is_whole_unique_key(active_index, parts)) {
    return found;
  }
  // Nobody may make the row that was not found, from the second look on.
  HAILSTONE_TRY(cursor_->lock_range(search_key_, key_after_prefix(search_key_)));
  return seek();
}

int HailstoneHandler::search(uchar* record, const uchar* key, key_part_map parts, ha_rkey_function mode) {
  if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
  if (bulk_ && bulk_->has_duplicate() && looks_at_duplicates()) {
    // The server looks for the row to replace, by the key that was refused.
    format_->decode(duplicate_row_, table_->layout()->row_codec(), record);
    place_ = Place::Duplicate;
    return 0;
  }
  use_read_columns();
  if (const Status encoded = encode_key(active_index, key, parts, search_key_); !encoded) {
    // A key too long to be stored is in no row; only a search for what lies next to it has to fail.
    if (encoded.error().code() == ErrorCode::RowTooLarge && mode == HA_READ_KEY_EXACT)
      return HA_ERR_KEY_NOT_FOUND;
    return report(encoded.error());
  }
  if (mode == HA_READ_KEY_EXACT && is_whole_primary_key(active_index, parts))
    return find_row(search_key_, record);
  open_cursor();
  // Empty when no key comes after those that begin with the search key.
  const std::string after =
      mode == HA_READ_KEY_EXACT || mode == HA_READ_KEY_OR_NEXT || mode == HA_READ_BEFORE_KEY
          ? std::string()
          : key_after_prefix(search_key_);
  switch (mode) {
    case HA_READ_KEY_EXACT:
      return finish_move(seek_exactly(parts), HA_ERR_KEY_NOT_FOUND, record);
    case HA_READ_KEY_OR_NEXT:
      return finish_move(cursor_->seek_at_or_after(search_key_), HA_ERR_KEY_NOT_FOUND, record);
    case HA_READ_AFTER_KEY:
      if (after.empty()) return finish_move(false, HA_ERR_KEY_NOT_FOUND, record);
      return finish_move(cursor_->seek_at_or_after(after), HA_ERR_KEY_NOT_FOUND, record);
    case HA_READ_BEFORE_KEY:
      return finish_move(cursor_->seek_before(search_key_), HA_ERR_KEY_NOT_FOUND, record);
    case HA_READ_PREFIX_LAST:
      return finish_move(if_begins_with_search_key(cursor_->seek_before(after, with_search_key())),
                         HA_ERR_KEY_NOT_FOUND, record);
    case HA_READ_KEY_OR_PREV:
    case HA_READ_PREFIX_LAST_OR_PREV:
      return finish_move(cursor_->seek_before(after), HA_ERR_KEY_NOT_FOUND, record);
    default:
      return HA_ERR_WRONG_COMMAND;
  }
}

int HailstoneHandler::index_read_map(uchar* record, const uchar* key, key_part_map parts,
                                     ha_rkey_function mode) {
  return traced({"index_read_map", Returns::Row, Argument::Search, active_index, mode},
                [&]() -> int { return search(record, key, parts, mode); });
}

int HailstoneHandler::index_read_last_map(uchar* record, const uchar* key, key_part_map parts) {
  return traced({"index_read_last_map", Returns::Row, Argument::Index, active_index},
                [&]() -> int { return search(record, key, parts, HA_READ_PREFIX_LAST); });
}

int HailstoneHandler::index_next(uchar* record) {
  return traced({"index_next", Returns::Row, Argument::Index, active_index}, [&]() -> int {
    if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
    if (place_ == Place::Key) {
      // The row was found without a cursor; the next entry has the least key that is greater.
      open_cursor();
      return finish_move(cursor_->seek_at_or_after(key_ + '\0'), HA_ERR_END_OF_FILE, record);
    }
    if (place_ == Place::Scan) return next_of_scan(record);
    if (place_ != Place::Cursor) return HA_ERR_END_OF_FILE;
    return finish_move(cursor_->next(), HA_ERR_END_OF_FILE, record);
  });
}

int HailstoneHandler::index_prev(uchar* record) {
  return traced({"index_prev", Returns::Row, Argument::Index, active_index}, [&]() -> int {
    if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
    if (place_ == Place::Key) {
      open_cursor();
      return finish_move(cursor_->seek_before(key_), HA_ERR_END_OF_FILE, record);
    }
    if (place_ != Place::Cursor) return HA_ERR_END_OF_FILE;
    return finish_move(cursor_->previous(), HA_ERR_END_OF_FILE, record);
  });
}

int HailstoneHandler::index_first(uchar* record) {
  return traced({"index_first", Returns::Row, Argument::Index, active_index}, [&]() -> int {
    if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
    use_read_columns();
    if (scans_index_) {
      tell_of_rows_left_out();
      scan_.reset();
      batch_ = nullptr;
      return next_of_scan(record);
    }
    open_cursor();
    return finish_move(cursor_->seek_at_or_after({}), HA_ERR_END_OF_FILE, record);
  });
}

int HailstoneHandler::index_last(uchar* record) {
  return traced({"index_last", Returns::Row, Argument::Index, active_index}, [&]() -> int {
    if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
    use_read_columns();
    open_cursor();
    return finish_move(cursor_->seek_before({}), HA_ERR_END_OF_FILE, record);
  });
}

int HailstoneHandler::index_next_same(uchar* record, const uchar*, uint) {
  return traced({"index_next_same", Returns::Row, Argument::Index, active_index}, [&]() -> int {
    if (const int error = need_transaction(/*writes=*/false); error != 0) return error;
    // Found by its whole primary key: there is no other.
    if (place_ != Place::Cursor) return HA_ERR_END_OF_FILE;
    const auto next = [&] {
      return cursor_->is_in_prefix() ? cursor_->next_in_prefix()
                                     : if_begins_with_search_key(cursor_->next(with_search_key()));
    };
    return finish_move(next(), HA_ERR_END_OF_FILE, record);
  });
}

void HailstoneHandler::unlock_row() {
  traced({"unlock_row", Returns::Nothing}, [&]() {
    if (lock_ == ReadLock::None || transaction_ == nullptr ||
        transaction_->isolation() > Isolation::ReadCommitted)
      return;
    if (const auto key = current_key(); key) table_->unlock_row(*transaction_, *key);
  });
}

}  // namespace hailstone
