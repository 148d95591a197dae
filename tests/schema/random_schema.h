// Random tables and values for the property tests of the schema room. Values come from small domains, so that
// equal ones and near misses are common.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "schema/row_codec.h"
#include "schema/table_definition.h"

namespace hailstone {

class RandomSchema {
 public:
  explicit RandomSchema(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }

  Column column(size_t ordinal) {
    Column column;
    column.name = "c" + std::to_string(ordinal);
    column.type = static_cast<Type>(1 + below(8));
    switch (column.type) {
      case Type::Signed:
        column.width = std::array{1u, 2u, 3u, 4u, 8u}[below(5)];
        break;
      case Type::Unsigned:
        column.width = 1 + static_cast<uint32_t>(below(8));
        break;
      case Type::Float:
        column.width = 4;
        break;
      case Type::Double:
        column.width = 8;
        break;
      case Type::OrderedBytes:
        column.width = 1 + static_cast<uint32_t>(below(14));
        break;
      case Type::Char:
      case Type::Varchar:
        column.width = static_cast<uint32_t>(below(40));
        break;
      case Type::Blob:
        column.width = 0;
        break;
    }
    if (column.type > Type::OrderedBytes) column.collation = static_cast<uint32_t>(below(2));
    column.nullable = one_in(2);
    column.columnar = one_in(2);
    if (one_in(4)) column.application = std::string("kept\0as is", 10);
    return column;
  }

  TableDefinition table() {
    TableDefinition table;
    table.name = "test/random";
    const size_t columns = 1 + below(20);
    for (size_t i = 0; i < columns; ++i) table.columns.push_back(column(i));
    const size_t indexes = below(4);
    for (size_t i = 0; i < indexes; ++i) table.indexes.push_back(index(table, "i" + std::to_string(i)));
    table.has_primary_key = false;
    if (one_in(2)) table.application = "engine options";
    return table;
  }

  Index index(const TableDefinition& table, std::string name) {
    Index index;
    index.name = std::move(name);
    index.unique = one_in(2);
    std::vector<uint16_t> order(table.columns.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint16_t>(i);
    std::shuffle(order.begin(), order.end(), random_);
    const size_t parts = 1 + below(std::min<size_t>(4, order.size()));
    for (size_t i = 0; i < parts; ++i) {
      IndexPart part;
      part.column = order[i];
      part.descending = one_in(3);
      if (table.columns[part.column].type >= Type::OrderedBytes && one_in(2))
        part.prefix = 1 + static_cast<uint32_t>(below(10));
      index.parts.push_back(part);
    }
    return index;
  }

  /// The bytes live in this object, until it dies.
  Value value(const Column& column) {
    if (column.nullable && one_in(5)) return {};
    if (column.is_integer()) return Value::of(integer(column));
    const size_t size = column.type == Type::OrderedBytes ? column.width
                        : column.type == Type::Blob       ? below(one_in(10) ? 300 : 30)
                                                          : below(column.width + 1);
    std::string bytes(size, '\0');
    // Mostly one character, so that values differ late, around the padding character and the escaped ones.
    const char common = one_in(2) ? ' ' : 'a';
    for (char& byte : bytes)
      byte = one_in(6) ? std::array{'\0', '\x01', '\t', ' ', '!', 'a', '\xff'}[below(7)] : common;
    return Value::of(ByteView(*kept_.insert(kept_.end(), std::move(bytes))));
  }

  std::vector<Value> row(const TableDefinition& table) {
    std::vector<Value> values;
    for (const Column& column : table.columns) values.push_back(value(column));
    return values;
  }

 private:
  uint64_t integer(const Column& column) {
    const uint64_t mask = column.width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * column.width)) - 1;
    switch (column.type) {
      case Type::Float:
        return order_float(static_cast<float>(real()));
      case Type::Double:
        return order_double(real());
      default:
        break;
    }
    switch (below(3)) {
      case 0:
        return random_() & mask;
      case 1:
        return below(4) & mask;
      default:
        return ((mask >> 1) + below(4)) & mask;
    }
  }
  double real() {
    constexpr double huge = 1e30;
    return std::array{0.0,
                      -0.0,
                      1.0,
                      -1.0,
                      1.5,
                      huge,
                      -huge,
                      std::numeric_limits<double>::infinity(),
                      -std::numeric_limits<double>::infinity(),
                      static_cast<double>(below(100)) - 50}[below(10)];
  }

  std::mt19937_64 random_;
  std::list<std::string> kept_;
};

}  // namespace hailstone
