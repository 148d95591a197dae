// Rows with columns of all kinds to sort by, for the tests of orders.
#pragma once

#include <algorithm>

#include "query/query_fixture.h"
#include "query/row_records.h"

namespace hailstone {

enum SortedColumn : uint16_t { number, small, real, word, body };
constexpr std::array<uint16_t, 5> all_columns{number, small, real, word, body};

inline TableDefinition sorted_definition() {
  TableDefinition definition;
  definition.name = "test/sorted";
  definition.columns = {
      {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "small", .type = Type::Signed, .width = 1},
      {.name = "real", .type = Type::Double, .width = 8},
      {.name = "word", .type = Type::Varchar, .width = 20, .collation = binary_padded_collation_id},
      {.name = "body", .type = Type::Varchar, .width = 200, .columnar = false},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}},
                        {.name = "small", .parts = {{.column = 1}}},
                        {.name = "real", .parts = {{.column = 2, .descending = true}, {.column = 1}}},
                        {.name = "word", .parts = {{.column = 3}}}};
  definition.has_primary_key = true;
  return definition;
}

/// What a row has, as the order sees it.
struct SortedRow {
  int64_t number = 0;
  std::optional<int64_t> small = {};
  std::optional<double> real = {};
  std::optional<std::string> word = {};
  std::string body = {};
  bool operator==(const SortedRow&) const = default;
};

inline SortedRow row_of(std::span<const Value> values) {
  SortedRow row{.number = native_signed(values[number].integer, 4), .body = std::string(values[body].bytes)};
  if (!values[small].null) row.small = native_signed(values[small].integer, 1);
  if (!values[real].null) row.real = native_double(values[real].integer);
  if (!values[word].null) row.word = std::string(values[word].bytes);
  return row;
}

class OrderTest : public QueryTest {
 protected:
  OrderTest() : QueryTest(11, sorted_definition()) {}

  void add_rows(int32_t first, int32_t last, bool in_bulk) {
    write_rows(first, last, in_bulk, [&](int32_t each, const auto& take) {
      const std::string some_word =
          std::array<std::string, 5>{"", "a", "a  ", "a long word of its own", "b"}[below(5)];
      const std::string some_body = "body " + std::to_string(each);
      const std::array<double, 5> reals{0.0, -0.0, 1.5, -1.5, 1e300};
      const std::array<Value, 5> values{
          Value::of(order_signed(each, 4)),
          below(10) == 0 ? Value{} : Value::of(order_signed(static_cast<int64_t>(below(256)) - 128, 1)),
          below(10) == 0 ? Value{} : Value::of(order_double(reals[below(5)])),
          below(10) == 0 ? Value{} : Value::of(ByteView(some_word).substr(0, 20)),
          Value::of(ByteView(some_body)),
      };
      take(values);
    });
  }

  std::unique_ptr<Scan> scan(std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns,
                             bool as_codes) {
    const size_t width = columns.size();
    return std::make_unique<Scan>(table_, *reader_, ReadLock::None, std::move(predicate), std::move(columns),
                                  std::vector<bool>(width, as_codes));
  }

  std::vector<SortedRow> all_rows(const std::shared_ptr<const Predicate>& predicate) {
    std::vector<SortedRow> rows;
    const auto all = scan(predicate, {all_columns.begin(), all_columns.end()}, false);
    for (;;) {
      const auto batch = all->next();
      EXPECT_TRUE(batch);
      if (!batch || *batch == nullptr) return rows;
      for (uint32_t row = 0; row < (*batch)->rows; ++row) {
        std::array<Value, all_columns.size()> values;
        for (const uint16_t column : all_columns) values[column] = (*batch)->columns[column].value(row);
        rows.push_back(row_of(values));
      }
    }
  }
};

/// Less than 0: left comes first.
inline int compare(const SortedRow& left, const SortedRow& right, std::span<const RowOrder> order) {
  const auto compare_two = [](const auto& one, const auto& other) {
    return one < other ? -1 : (other < one ? 1 : 0);
  };
  for (const RowOrder& by : order) {
    int result = 0;
    switch (by.position) {
      case number:
        result = compare_two(left.number, right.number);
        break;
      case small:
        result = compare_two(left.small, right.small);
        break;
      case real:
        result = compare_two(left.real, right.real);
        break;
      case word: {
        const auto padded = [](std::optional<std::string> text) {
          if (text) text->resize(30, ' ');
          return text;
        };
        result = compare_two(padded(left.word), padded(right.word));
        break;
      }
      default:
        result = compare_two(left.body, right.body);
        break;
    }
    if (result != 0) return by.descending ? -result : result;
  }
  return 0;
}

}  // namespace hailstone
