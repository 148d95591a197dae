// The first rows in an order against all rows, sorted.
#include "query/sorted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "query/query_fixture.h"

namespace hailstone {
namespace {

enum SortedColumn : uint16_t { number, small, real, word, body };
constexpr std::array<uint16_t, 5> all_columns{number, small, real, word, body};

TableDefinition sorted_definition() {
  TableDefinition definition;
  definition.name = "test/sorted";
  definition.columns = {
      {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "small", .type = Type::Signed, .width = 1},
      {.name = "real", .type = Type::Double, .width = 8},
      {.name = "word", .type = Type::Varchar, .width = 20, .collation = binary_padded_collation_id},
      {.name = "body", .type = Type::Varchar, .width = 200, .columnar = false},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
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

SortedRow row_of(std::span<const Value> values) {
  SortedRow row{.number = native_signed(values[number].integer, 4), .body = std::string(values[body].bytes)};
  if (!values[small].null) row.small = native_signed(values[small].integer, 1);
  if (!values[real].null) row.real = native_double(values[real].integer);
  if (!values[word].null) row.word = std::string(values[word].bytes);
  return row;
}

class SortedRowsTest : public QueryTest {
 protected:
  SortedRowsTest() : QueryTest(11, sorted_definition()) {}

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

  Result<std::unique_ptr<SortedRows>> sorted(const std::vector<RowOrder>& order,
                                             const std::shared_ptr<const Predicate>& predicate, size_t most,
                                             unsigned threads, bool as_codes, bool counts = false) {
    // The scan reads what decides the order only; positions in the order are places in this list.
    std::vector<uint16_t> read;
    std::vector<RowOrder> by;
    for (const RowOrder& each : order) {
      by.push_back({.position = static_cast<uint16_t>(read.size()), .descending = each.descending});
      read.push_back(each.position);
    }
    const size_t width = read.size();
    auto rows =
        std::make_unique<ComputedRows>(scan(predicate, std::move(read), as_codes), width, Computation{});
    return SortedRows::make(std::move(rows),
                            {.order = std::move(by),
                             .most = most,
                             .columns = {all_columns.begin(), all_columns.end()},
                             .counts = counts},
                            threads);
  }
};

/// Less than 0: left comes first.
int compare(const SortedRow& left, const SortedRow& right, std::span<const RowOrder> order) {
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

TEST_F(SortedRowsTest, AreTheFirstOfAllRows) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 50'000, true);
  add_rows(50'000, 51'000, false);
  erase_rows(3, 51'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto some = std::make_shared<const Predicate>(
      Predicate::integer(small, {{.low = order_signed(-10, 1), .high = order_signed(10, 1)}}));
  for (const auto& predicate : {std::shared_ptr<const Predicate>(), some}) {
    std::vector<SortedRow> all = all_rows(predicate);
    for (int round = 0; round < 30; ++round) {
      std::vector<RowOrder> order;
      for (size_t i = 0; i < 1 + below(3); ++i)
        order.push_back({.position = all_columns[below(all_columns.size())], .descending = below(2) == 0});
      const size_t most = std::array<size_t, 4>{1, 10, 3000, 100'000}[below(4)];
      std::ranges::sort(all, [&](const SortedRow& left, const SortedRow& right) {
        return compare(left, right, order) < 0;
      });
      const bool counts = below(2) == 0;
      auto rows = sorted(order, predicate, most, below(2) == 0 ? 1 : 3, below(2) == 0, counts);
      ASSERT_TRUE(rows);
      size_t count = 0;
      std::vector<int64_t> numbers;
      for (auto found = (*rows)->next();; found = (*rows)->next(), ++count) {
        ASSERT_TRUE(found);
        if (!*found) break;
        const SortedRow row = row_of((*rows)->values());
        ASSERT_EQ(compare(row, all[count], order), 0) << "round " << round << ", row " << count;
        ASSERT_EQ(row.body, "body " + std::to_string(row.number));
        numbers.push_back(row.number);
      }
      EXPECT_EQ(count, std::min(most, all.size()));
      const uint16_t first = order.front().position;
      if (counts || first == word || first == body) {
        EXPECT_EQ((*rows)->rows_met(), all.size());
        EXPECT_EQ((*rows)->rows_read(), all.size());
      } else if (first == number && most <= 10 && predicate == nullptr) {
        // By the blocks' summaries, few of the rows have to be read.
        EXPECT_LT((*rows)->rows_read(), all.size());
      }
      std::ranges::sort(numbers);
      EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end()) << "a row is there twice";
    }
  }
}

TEST_F(SortedRowsTest, AreReadAsTheyWereWhenTheyWereSorted) {
  add_rows(0, 3000, true);
  add_rows(3000, 3100, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::vector<RowOrder> order{{.position = number, .descending = true}};
  auto rows = sorted(order, nullptr, 2000, 2, true);
  ASSERT_TRUE(rows);
  ASSERT_TRUE(*(*rows)->next());
  // What is written from here on, and brought into segments, is nothing to these rows.
  erase_rows(0, 3100, 2);
  add_rows(4000, 4100, false);
  ASSERT_TRUE(table_->optimize(StopToken()));
  int64_t next = 3099;
  do {
    const SortedRow row = row_of((*rows)->values());
    ASSERT_EQ(row.number, next);
    ASSERT_EQ(row.body, "body " + std::to_string(next));
    --next;
  } while (*(*rows)->next());
  EXPECT_EQ(next, 1099);
}

TEST_F(SortedRowsTest, OfNoRows) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  auto rows = sorted({{.position = word}}, nullptr, 5, 2, true);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_EQ((*rows)->rows_met(), 0U);
}

TEST_F(SortedRowsTest, NeedLittleMemory) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 40'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  host_.budget().set_limit(1);
  auto rows = sorted({{.position = body, .descending = true}}, nullptr, 1000, 2, true);
  ASSERT_TRUE(rows);
  std::string before = "c";
  size_t count = 0;
  for (; *(*rows)->next(); ++count) {
    const SortedRow row = row_of((*rows)->values());
    ASSERT_LE(row.body, before);
    before = row.body;
  }
  EXPECT_EQ(count, 1000U);
  host_.budget().set_limit(size_t{1} << 30);
}

}  // namespace
}  // namespace hailstone
