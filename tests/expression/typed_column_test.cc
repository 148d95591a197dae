// Stored columns as typed expressions: their types, and the values of each form.
#include "expression/typed_column.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"
#include "expression/evaluator.h"
#include "expression/expression_text.h"
#include "expression/moment.h"
#include "expression/span.h"
#include "expression/stored_values.h"

namespace hailstone {
namespace {

/// The column's value of one row, which has an ordered number.
int64_t value_of(const Expression& column, uint64_t ordered) {
  const auto program = std::make_shared<Program>();
  const auto result = program->add(column);
  Evaluator evaluator(program);
  ColumnVector vector;
  vector.integers.push_back(ordered);
  vector.nulls.push_back(0);
  const ColumnVector* const columns[]{&vector};
  evaluator.run({.rows = 1, .columns = columns});
  EXPECT_EQ(evaluator.result(result).failure(0), 0);
  return evaluator.result(result).integers[0];
}

std::string stored(const Column& column) {
  const auto type = stored_type(column, CollationResolver());
  return type ? to_text(*type) : type.error().message();
}

TEST(TypedColumnTest, HasTheTypeOfItsStorage) {
  EXPECT_EQ(stored({.name = "a", .type = Type::Signed, .width = 4}), "BIGINT");
  EXPECT_EQ(stored({.name = "a", .type = Type::Unsigned, .width = 8}), "BIGINT UNSIGNED");
  EXPECT_EQ(stored({.name = "a", .type = Type::Double, .width = 8}), "DOUBLE");
  EXPECT_EQ(stored({.name = "a", .type = Type::Float, .width = 4}), "FLOAT");
  EXPECT_EQ(stored({.name = "a", .type = Type::OrderedBytes, .width = 5, .decimal = {10, 2}}),
            "DECIMAL(10,2)");
  EXPECT_EQ(stored({.name = "a", .type = Type::Varchar, .width = 20}), "VARCHAR(20)");
  EXPECT_EQ(stored_type({.name = "a", .type = Type::Signed, .width = 2}, CollationResolver())->digits, 5U);
  EXPECT_FALSE(
      stored_type({.name = "a", .type = Type::Signed, .width = 2, .nullable = false}, CollationResolver())
          ->is_nullable);
}

TEST(TypedColumnTest, ReadsDatesAndTimes) {
  using Kind = SqlType::Kind;
  const auto day =
      typed_column(0, {.name = "a", .type = Type::Unsigned, .width = 3}, SqlType::moment(Kind::Date));
  ASSERT_TRUE(day);
  EXPECT_EQ(value_of(day->value, 2024 << 9 | 2 << 5 | 29), moment_of({.year = 2024, .month = 2, .day = 29}));

  const auto moment = typed_column(0, {.name = "a", .type = Type::OrderedBytes, .width = 6},
                                   SqlType::moment(Kind::DateTime, 2));
  ASSERT_TRUE(moment);
  const MomentParts parts{.year = 2024, .month = 2, .day = 29, .hour = 10, .minute = 20, .second = 30};
  const auto bits = static_cast<uint64_t>(moment_of(parts)) >> 24;
  EXPECT_EQ(value_of(moment->value, (bits + 0x80'0000'0000) << 8 | 25), moment_of(parts) + 250'000);

  const auto instant =
      typed_column(0, {.name = "a", .type = Type::OrderedBytes, .width = 4}, SqlType::moment(Kind::Instant));
  ASSERT_TRUE(instant);
  EXPECT_EQ(value_of(instant->value, 86'400), moment_of({.year = 1970, .month = 1, .day = 2}));

  const auto span =
      typed_column(0, {.name = "a", .type = Type::OrderedBytes, .width = 3}, SqlType::moment(Kind::Time));
  ASSERT_TRUE(span);
  EXPECT_EQ(value_of(span->value, 0x80'0000 - (10 << 12)), span_of(true, {.hour = 10}));

  const auto year = year_column(0, {.name = "a", .type = Type::Unsigned, .width = 1});
  ASSERT_TRUE(year);
  EXPECT_EQ(value_of(year->value, 124), 2024);
}

TEST(TypedColumnTest, ReadsDecimalsAsNumbers) {
  const auto column = typed_column(
      0, {.name = "a", .type = Type::OrderedBytes, .width = 5, .decimal = {10, 2}}, SqlType::decimal(10, 2));
  ASSERT_TRUE(column);
  EXPECT_TRUE(column->is_scaled);
  EXPECT_EQ(value_of(column->value, order_signed(-1999, 8)), -1999);
}

TEST(TypedColumnTest, HasWords) {
  const auto column = words_column(0, {.name = "color", .type = Type::Unsigned, .width = 1}, {"red", "green"},
                                   false, utf8_collation());
  ASSERT_TRUE(column);
  EXPECT_EQ(to_text(column->value.sql()), "VARCHAR(5)");
  EXPECT_EQ(to_text(column->value, [](uint16_t) { return std::string("color"); }), "color");
  const auto program = std::make_shared<Program>();
  const auto result = program->add(column->value);
  Evaluator evaluator(program);
  ColumnVector vector;
  for (const uint64_t number : {uint64_t{1}, uint64_t{2}, uint64_t{0}}) vector.integers.push_back(number);
  const ColumnVector* const columns[]{&vector};
  evaluator.run({.rows = 3, .columns = columns});
  EXPECT_EQ(evaluator.result(result).texts[1], "green");
  EXPECT_EQ(evaluator.result(result).texts[2], "");
}

TEST(TypedColumnTest, IsRefusedWhereItsStorageHasNoSuchValues) {
  const Column whole{.name = "a", .type = Type::Signed, .width = 4};
  for (const SqlType& type : {SqlType::moment(SqlType::Kind::Date), SqlType::decimal(10, 2), SqlType::real(),
                              SqlType::text(10, utf8_collation()), SqlType::null()}) {
    const auto column = typed_column(0, whole, type);
    ASSERT_FALSE(column);
    EXPECT_EQ(column.error().code(), ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(typed_column(0, whole, SqlType::real()).error().message(),
            "column 'a': what it stores is no DOUBLE");
}

/// One by one and all at once; and back.
TEST(TypedColumnTest, MomentsSince1970) {
  constexpr int64_t second = 1'000'000, day = 86'400 * second;
  constexpr int64_t first_day = -719'162, last_day = 2'932'896;
  const auto of_days = [](int64_t days) {
    const uint64_t ordered = order_signed(days, 4);
    int64_t moment = 0;
    uint8_t unknown = 1;
    moment_of_days()->of_all({&ordered, 1}, &moment, &unknown);
    EXPECT_EQ(unknown, 0);
    EXPECT_EQ(moment_of_days()->of(Value::of(ordered)), moment);
    return moment;
  };
  const auto of_microseconds = [](int64_t microseconds) {
    const uint64_t ordered = order_signed(microseconds, 8);
    int64_t moment = 0;
    uint8_t unknown = 1;
    moment_of_microseconds()->of_all({&ordered, 1}, &moment, &unknown);
    EXPECT_EQ(unknown, 0);
    EXPECT_EQ(moment_of_microseconds()->of(Value::of(ordered)), moment);
    return moment;
  };
  EXPECT_EQ(of_days(19'782), moment_of({.year = 2024, .month = 2, .day = 29}));
  const int64_t before = -1;
  EXPECT_EQ(of_microseconds(before), moment_of({.year = 1969,
                                                .month = 12,
                                                .day = 31,
                                                .hour = 23,
                                                .minute = 59,
                                                .second = 59,
                                                .microsecond = 999'999}));
  EXPECT_EQ(of_days(first_day), moment_of({.year = 1, .month = 1, .day = 1}));
  EXPECT_EQ(of_days(last_day), moment_of({.year = 9999, .month = 12, .day = 31}));
  const int64_t end = moment_of({.year = 10'000, .month = 1, .day = 1});
  EXPECT_EQ(of_days(first_day - 1), 0);
  EXPECT_EQ(of_days(last_day + 1), end);
  EXPECT_EQ(of_microseconds(first_day * day - 1), 0);
  EXPECT_EQ(of_microseconds((last_day + 1) * day), end);
  EXPECT_EQ(of_microseconds(std::numeric_limits<int64_t>::min()), 0);
  EXPECT_EQ(of_microseconds(std::numeric_limits<int64_t>::max()), end);
  std::mt19937_64 random(test_seed(5));
  for (int i = 0; i < 10'000; ++i) {
    const auto days = std::uniform_int_distribution<int64_t>(first_day, last_day)(random);
    EXPECT_EQ(days_of(of_days(days)), days);
    const auto microseconds =
        std::uniform_int_distribution<int64_t>(first_day * day, (last_day + 1) * day - 1)(random);
    EXPECT_EQ(microseconds_of(of_microseconds(microseconds)), microseconds);
    EXPECT_GT(of_microseconds(microseconds + second), of_microseconds(microseconds));
  }
}

}  // namespace
}  // namespace hailstone
