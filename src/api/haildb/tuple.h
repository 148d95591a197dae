// Tuples of the HailDB interface: a row (the user's columns and three hidden ones) or a key of one index.
//
// A tuple that was read holds the encoded row as it was stored and decodes a column when it is asked for;
// values that the program sets lie over it. Clearing forgets both at once, and no memory is freed, so that a
// tuple that is used again and again costs no allocation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/haildb/handles.h"
#include "api/haildb/table.h"
#include "haildb.h"

struct ib_tpl_struct : hailstone::haildb::Handle {
  static constexpr uint32_t kind = 0x54504c31;
  using Value = hailstone::Value;

  void clear();
  /// All columns are NULL then.
  void forget_values() {
    ++stamp;
    has_row = false;
  }

  size_t column_count() const { return fields.size(); }
  /// The table column at a place, row_id_column, or for the other hidden ones a number behind all.
  uint16_t column_at(size_t place) const { return columns[place]; }
  const hailstone::haildb::ColumnInfo& info_at(size_t place) const;
  bool is_system(size_t place) const { return columns[place] >= info->schema.columns.size(); }
  /// Of a row that was read: the row id; of the other hidden columns zeros.
  hailstone::ByteView system_value(size_t place) const {
    const size_t number =
        columns[place] == hailstone::haildb::row_id_column ? 0 : columns[place] - info->schema.columns.size();
    return number == 0 ? hailstone::ByteView(row_id, sizeof row_id)
                       : hailstone::ByteView("\0\0\0\0\0\0", number == 1 ? 6 : 7);
  }
  bool is_key() const { return key_index != nullptr; }

  /// As set or read. Bytes are valid until the tuple changes.
  Value value(size_t place) const {
    const Field& field = fields[place];
    if (field.stamp == stamp) return field.value();
    if (!has_row) return {};
    if (is_system(place)) return Value::of(system_value(place));
    return info->layout->row_codec().value(row, columns[place]);
  }
  void set_null(size_t place);
  void set_integer(size_t place, uint64_t ordered) {
    Field& field = fields[place];
    field.stamp = stamp;
    field.null = false;
    field.integer = ordered;
    field.is_integer = true;
  }
  void set_bytes(size_t place, hailstone::ByteView bytes, size_t length, char pad);

  struct Field {
    uint64_t stamp = 0;  // the tuple's when it was set; else it is not set
    bool null = true;
    bool is_integer = false;
    uint64_t integer = 0;
    std::string bytes;
    unsigned char stored[8];  // what ib_col_get_value points to
    Value value() const {
      if (null) return {};
      return is_integer ? Value::of(integer) : Value::of(hailstone::ByteView(bytes));
    }
  };

  std::shared_ptr<hailstone::haildb::TableInfo> info;
  const hailstone::haildb::IndexInfo* key_index = nullptr;  // of a key; null for a row
  uint32_t row_index = 0;  // of a row made for a secondary index: the index's number; 0: the clustered one
  std::vector<uint16_t> columns;
  std::vector<Field> fields;
  uint64_t stamp = 1;
  bool has_row = false;
  std::string row;
  char row_id[6] = {};  // big-endian; zeros when the table has a clustered index of its own
};

namespace hailstone::haildb {

HandlePool<ib_tpl_struct>& tuples();

ib_tpl_t make_row_tuple(const std::shared_ptr<TableInfo>& info);
ib_tpl_t make_key_tuple(const std::shared_ptr<TableInfo>& info, const IndexInfo& index);

}  // namespace hailstone::haildb
