#include "api/haildb/tuple.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"

namespace hailstone::haildb {

HandlePool<ib_tpl_struct>& tuples() {
  static HandlePool<ib_tpl_struct>& pool = *new HandlePool<ib_tpl_struct>;
  return pool;
}

namespace {

ib_tpl_t new_tuple(const std::shared_ptr<TableInfo>& info, const IndexInfo* key,
                   std::vector<uint16_t> columns) {
  ib_tpl_t const tuple = tuples().take();
  tuple->info = info;
  tuple->key_index = key;
  tuple->columns = std::move(columns);
  tuple->fields.resize(tuple->columns.size());
  tuple->row_index = 0;
  tuple->forget_values();
  return tuple;
}

bool good_place(const ib_tpl_struct* tuple, ib_ulint_t place) {
  return good(tuple) && place < tuple->column_count();
}

/// What a tuple's writers return before they look at the value.
ib_err_t check_write(const ib_tpl_struct* tuple, ib_ulint_t place) {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good_place(tuple, place)) return DB_INVALID_INPUT;
  return tuple->is_system(place) ? DB_DATA_MISMATCH : DB_SUCCESS;
}

uint64_t ordered_integer(const ColumnInfo& column, const void* source) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, column.length);
  if (column.is_unsigned()) return bits;
  return bits ^ (uint64_t{1} << (8 * column.length - 1));
}

/// The other way round.
uint64_t native_bits(const ColumnInfo& column, uint64_t ordered) {
  return column.is_unsigned() ? ordered : ordered ^ (uint64_t{1} << (8 * column.length - 1));
}

/// Bytes of the number in the machine's form.
void store_native(const ColumnInfo& column, uint64_t ordered, void* to) {
  if (column.type == IB_FLOAT) {
    store(to, native_float(ordered));
  } else if (column.type == IB_DOUBLE) {
    store(to, native_double(ordered));
  } else {
    const uint64_t bits = native_bits(column, ordered);
    std::memcpy(to, &bits, column.length);
  }
}

ib_ulint_t length_of(const ColumnInfo& column, const Value& value) {
  if (value.null) return IB_SQL_NULL;
  return column.is_number() ? column.length : value.bytes.size();
}

template <typename Integer>
ib_err_t write_integer(ib_tpl_t tuple, int place, Integer value) {
  if (place < 0) return DB_INVALID_INPUT;
  const auto at = static_cast<ib_ulint_t>(place);
  if (const ib_err_t code = check_write(tuple, at); code != DB_SUCCESS) return code;
  const ColumnInfo& column = tuple->info_at(at);
  if (!column.is_integer() || column.length != sizeof value) return DB_DATA_MISMATCH;
  tuple->set_integer(at, ordered_integer(column, &value));
  return DB_SUCCESS;
}

template <typename Integer>
ib_err_t read_integer(ib_tpl_t tuple, ib_ulint_t place, Integer* to) {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good_place(tuple, place) || to == nullptr) return DB_INVALID_INPUT;
  const ColumnInfo& column = tuple->info_at(place);
  if (!column.is_integer() || column.length != sizeof *to) return DB_DATA_MISMATCH;
  if (std::is_signed_v<Integer> && column.is_unsigned()) return DB_DATA_MISMATCH;
  const Value value = tuple->value(place);
  if (!value.null) *to = static_cast<Integer>(native_bits(column, value.integer));
  return DB_SUCCESS;
}

ib_err_t write_real(ib_tpl_t tuple, int place, ib_col_type_t type, uint64_t ordered) {
  if (place < 0) return DB_INVALID_INPUT;
  const auto at = static_cast<ib_ulint_t>(place);
  if (const ib_err_t code = check_write(tuple, at); code != DB_SUCCESS) return code;
  if (tuple->info_at(at).type != type) return DB_DATA_MISMATCH;
  tuple->set_integer(at, ordered);
  return DB_SUCCESS;
}

template <typename Real>
ib_err_t read_real(ib_tpl_t tuple, ib_ulint_t place, ib_col_type_t type, Real* to) {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good_place(tuple, place) || to == nullptr) return DB_INVALID_INPUT;
  if (tuple->info_at(place).type != type) return DB_DATA_MISMATCH;
  const Value value = tuple->value(place);
  if (!value.null) store_native(tuple->info_at(place), value.integer, to);
  return DB_SUCCESS;
}

}  // namespace

ib_tpl_t make_row_tuple(const std::shared_ptr<TableInfo>& info) {
  std::vector<uint16_t> columns(info->schema.columns.size() + IB_N_SYS_COLS);
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(i);
  return new_tuple(info, nullptr, std::move(columns));
}

ib_tpl_t make_key_tuple(const std::shared_ptr<TableInfo>& info, const IndexInfo& index) {
  return new_tuple(info, &index, index.key_columns);
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;
using hailstone::ByteView;

void ib_tpl_struct::clear() {
  info.reset();
  key_index = nullptr;
  columns.clear();
  fields.clear();
  has_row = false;
  row = std::string();
}

const ColumnInfo& ib_tpl_struct::info_at(size_t place) const {
  const uint16_t column = columns[place];
  if (column == row_id_column) return system_column(0);
  const auto& all = info->schema.columns;
  return column < all.size() ? all[column] : system_column(column - all.size());
}

void ib_tpl_struct::set_null(size_t place) {
  fields[place].stamp = stamp;
  fields[place].null = true;
}

void ib_tpl_struct::set_bytes(size_t place, ByteView bytes, size_t length, char pad) {
  Field& field = fields[place];
  field.stamp = stamp;
  field.null = false;
  field.is_integer = false;
  field.bytes.assign(bytes);
  if (bytes.size() < length) field.bytes.append(length - bytes.size(), pad);
}

void ib_tuple_delete(ib_tpl_t ib_tpl) {
  if (good(ib_tpl)) tuples().give_back(ib_tpl);
}

ib_tpl_t ib_tuple_clear(ib_tpl_t ib_tpl) try {
  if (!good(ib_tpl)) return nullptr;
  ib_tpl->forget_values();
  return ib_tpl;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_err_t ib_tuple_copy(ib_tpl_t ib_dst_tpl, const ib_tpl_t ib_src_tpl) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_dst_tpl) || !good(ib_src_tpl)) return DB_INVALID_INPUT;
  if (ib_dst_tpl == ib_src_tpl) return DB_SUCCESS;
  const bool same_kind =
      ib_dst_tpl->is_key() == ib_src_tpl->is_key() && ib_dst_tpl->info->id == ib_src_tpl->info->id &&
      ib_dst_tpl->row_index == ib_src_tpl->row_index &&
      (!ib_dst_tpl->is_key() || ib_dst_tpl->key_index->number == ib_src_tpl->key_index->number);
  if (!same_kind || ib_dst_tpl->columns != ib_src_tpl->columns) return DB_DATA_MISMATCH;
  // The table may have been rebuilt between the making of the two; the row is encoded as in its own.
  ib_dst_tpl->info = ib_src_tpl->info;
  ib_dst_tpl->key_index = ib_src_tpl->key_index;
  ib_dst_tpl->stamp = ib_src_tpl->stamp;
  ib_dst_tpl->fields = ib_src_tpl->fields;
  ib_dst_tpl->has_row = ib_src_tpl->has_row;
  ib_dst_tpl->row = ib_src_tpl->row;
  std::ranges::copy(ib_src_tpl->row_id, ib_dst_tpl->row_id);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_ulint_t ib_tuple_get_n_cols(const ib_tpl_t ib_tpl) { return good(ib_tpl) ? ib_tpl->column_count() : 0; }

ib_ulint_t ib_tuple_get_n_user_cols(const ib_tpl_t ib_tpl) {
  if (!good(ib_tpl)) return 0;
  return ib_tpl->is_key() ? ib_tpl->key_index->parts.size() : ib_tpl->info->schema.columns.size();
}

ib_err_t ib_col_set_value(ib_tpl_t ib_tpl, ib_ulint_t col_no, const void* src, ib_ulint_t len) try {
  if (const ib_err_t code = check_write(ib_tpl, col_no); code != DB_SUCCESS) return code;
  if (len == IB_SQL_NULL) {
    ib_tpl->set_null(col_no);
    return DB_SUCCESS;
  }
  const ColumnInfo& column = ib_tpl->info_at(col_no);
  if (src == nullptr && len > 0) return DB_INVALID_INPUT;
  if (column.is_number()) {
    if (len != column.length) return DB_DATA_MISMATCH;
    if (column.type == IB_FLOAT) {
      ib_tpl->set_integer(col_no, hailstone::order_float(hailstone::load<float>(src)));
    } else if (column.type == IB_DOUBLE) {
      ib_tpl->set_integer(col_no, hailstone::order_double(hailstone::load<double>(src)));
    } else {
      ib_tpl->set_integer(col_no, ordered_integer(column, src));
    }
    return DB_SUCCESS;
  }
  if (len > std::numeric_limits<uint32_t>::max() - 1) return DB_DATA_MISMATCH;
  ByteView bytes(static_cast<const char*>(src), len);
  const bool limited = column.type != IB_BLOB && column.type != IB_DECIMAL && column.length != 0;
  if (limited) bytes = bytes.substr(0, column.length);
  const bool fixed = column.type == IB_CHAR || column.type == IB_BINARY || column.type == IB_CHAR_ANYCHARSET;
  ib_tpl->set_bytes(col_no, bytes, fixed ? column.length : 0, column.type == IB_BINARY ? '\0' : ' ');
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_ulint_t ib_col_get_len(ib_tpl_t ib_tpl, ib_ulint_t i) try {
  if (!good_place(ib_tpl, i)) return 0;
  return length_of(ib_tpl->info_at(i), ib_tpl->value(i));
} catch (const std::bad_alloc&) {
  return {};
}

ib_ulint_t ib_col_copy_value(ib_tpl_t ib_tpl, ib_ulint_t i, void* dst, ib_ulint_t len) try {
  if (!good_place(ib_tpl, i)) return 0;
  const ColumnInfo& column = ib_tpl->info_at(i);
  const hailstone::Value value = ib_tpl->value(i);
  if (value.null) return IB_SQL_NULL;
  if (dst == nullptr) return 0;
  if (column.is_number()) {
    if (len != column.length) return 0;
    store_native(column, value.integer, dst);
    return len;
  }
  const size_t copied = std::min<size_t>(len, value.bytes.size());
  if (copied > 0) std::memcpy(dst, value.bytes.data(), copied);
  return copied;
} catch (const std::bad_alloc&) {
  return {};
}

ib_ulint_t ib_col_get_meta(ib_tpl_t ib_tpl, ib_ulint_t i, ib_col_meta_t* ib_col_meta) try {
  if (!good_place(ib_tpl, i)) return 0;
  if (ib_col_meta != nullptr) {
    const ib_col_meta_t meta = ib_tpl->info_at(i).meta();
    ib_col_meta->type = meta.type;
    ib_col_meta->attr = meta.attr;
    ib_col_meta->type_len = meta.type_len;
    ib_col_meta->client_type = meta.client_type;
  }
  return ib_col_get_len(ib_tpl, i);
} catch (const std::bad_alloc&) {
  return {};
}

const void* ib_col_get_value(ib_tpl_t ib_tpl, ib_ulint_t i) {
  if (!good_place(ib_tpl, i)) return nullptr;
  const ColumnInfo& column = ib_tpl->info_at(i);
  const hailstone::Value value = ib_tpl->value(i);
  if (value.null) return nullptr;
  if (!column.is_number()) return value.bytes.empty() ? "" : value.bytes.data();
  unsigned char* const stored = ib_tpl->fields[i].stored;
  if (column.is_integer()) {
    hailstone::store_big_endian(stored, value.integer, column.length);
  } else {
    store_native(column, value.integer, stored);
  }
  return stored;
}

ib_err_t ib_tuple_write_i8(ib_tpl_t ib_tpl, int col_no, ib_i8_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_u8(ib_tpl_t ib_tpl, int col_no, ib_u8_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_i16(ib_tpl_t ib_tpl, int col_no, ib_i16_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_u16(ib_tpl_t ib_tpl, int col_no, ib_u16_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_i32(ib_tpl_t ib_tpl, int col_no, ib_i32_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_u32(ib_tpl_t ib_tpl, int col_no, ib_u32_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_i64(ib_tpl_t ib_tpl, int col_no, ib_i64_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_write_u64(ib_tpl_t ib_tpl, int col_no, ib_u64_t val) try {
  return write_integer(ib_tpl, col_no, val);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_tuple_write_float(ib_tpl_t ib_tpl, int col_no, float val) try {
  return write_real(ib_tpl, col_no, IB_FLOAT, hailstone::order_float(val));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_tuple_write_double(ib_tpl_t ib_tpl, int col_no, double val) try {
  return write_real(ib_tpl, col_no, IB_DOUBLE, hailstone::order_double(val));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_tuple_read_i8(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i8_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_u8(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u8_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_i16(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i16_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_u16(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u16_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_i32(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i32_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_u32(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u32_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_i64(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i64_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_u64(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u64_t* ival) try {
  return read_integer(ib_tpl, i, ival);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_float(ib_tpl_t ib_tpl, ib_ulint_t col_no, float* fval) try {
  return read_real(ib_tpl, col_no, IB_FLOAT, fval);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
ib_err_t ib_tuple_read_double(ib_tpl_t ib_tpl, ib_ulint_t col_no, double* dval) try {
  return read_real(ib_tpl, col_no, IB_DOUBLE, dval);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
