// The table that the tests of this room use, and rows of it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <optional>
#include <ostream>
#include <string>

#include "table/bulk_load.h"
#include "table/table.h"

namespace hailstone {

/// id INT, number INT NULL, name VARCHAR NULL, note VARCHAR in the row group.
struct TestRow {
  int32_t id = 0;
  std::optional<int32_t> number = std::nullopt;
  std::optional<std::string> name = std::nullopt;
  std::string note = {};
  uint32_t padding =
      0;  // bytes behind the note, which make a row big without making the tests' own copies big
  auto operator<=>(const TestRow&) const = default;
};

inline void PrintTo(const TestRow& row, std::ostream* to) {
  *to << row.id << ", " << (row.number ? std::to_string(*row.number) : "NULL") << ", "
      << row.name.value_or("NULL") << ", " << row.note.substr(0, 20);
}

enum TestColumn : uint16_t { id_column, number_column, name_column, note_column };

/// Indexes: PRIMARY (id) if asked for, number (unique), name (descending, then id).
inline TableDefinition test_definition(bool primary_key) {
  TableDefinition definition;
  definition.name = "test/rows";
  definition.columns = {
      {.name = "id", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "number", .type = Type::Signed, .width = 4},
      {.name = "name", .type = Type::Varchar, .width = 100},
      {.name = "note", .type = Type::Varchar, .width = 10000, .nullable = false, .columnar = false},
  };
  definition.has_primary_key = primary_key;
  if (primary_key)
    definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}});
  definition.indexes.push_back({.name = "number", .unique = true, .parts = {{.column = 1}}});
  definition.indexes.push_back({.name = "name", .parts = {{.column = 2, .descending = true}, {.column = 0}}});
  return definition;
}

/// `note` holds what the last value points to.
inline std::array<Value, 4> values_of(const TestRow& row, std::string& note) {
  note = row.note + '|' + std::string(row.padding, 'n');
  return {
      Value::of(order_signed(row.id, 4)),
      row.number ? Value::of(order_signed(*row.number, 4)) : Value{},
      row.name ? Value::of(ByteView(*row.name)) : Value{},
      Value::of(ByteView(note)),
  };
}

inline Status append(BulkLoad& load, const TestRow& row) {
  std::string note;
  return load.append(values_of(row, note));
}

inline std::string encode(const Table& table, const TestRow& row) {
  std::string note, bytes;
  EXPECT_TRUE(table.layout()->row_codec().encode(values_of(row, note), bytes));
  return bytes;
}

inline TestRow decode(std::span<const Value> values) {
  TestRow row;
  row.id = static_cast<int32_t>(native_signed(values[0].integer, 4));
  if (!values[1].null) row.number = static_cast<int32_t>(native_signed(values[1].integer, 4));
  if (!values[2].null) row.name = std::string(values[2].bytes);
  const size_t end = values[3].bytes.find('|');
  row.note = values[3].bytes.substr(0, end);
  row.padding = static_cast<uint32_t>(values[3].bytes.size() - end - 1);
  return row;
}

inline std::vector<uint16_t> all_columns() { return {id_column, number_column, name_column, note_column}; }

inline std::string key_of(const Table& table, int32_t id) {
  const Value value = Value::of(order_signed(id, 4));
  std::string key;
  EXPECT_TRUE(table.key_codec(0).append({&value, 1}, key));
  return key;
}

template <typename T>
std::string message(const Result<T>& result) {
  return result ? std::string("no error") : result.error().message();
}

}  // namespace hailstone
