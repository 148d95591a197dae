#include "schema/retention.h"

#include <gtest/gtest.h>

#include <chrono>

#include "schema/packed_definition.h"
#include "schema/row_codec.h"

namespace hailstone {
namespace {

using namespace std::chrono;

/// Seconds since 1970-01-01 00:00.
int64_t at(int y, unsigned m, unsigned d, int h = 0, int min = 0, int s = 0) {
  const sys_days date = year(y) / month(m) / day(d);
  return int64_t{date.time_since_epoch().count()} * 86'400 + h * 3600 + min * 60 + s;
}

Retention interval(uint32_t amount, Retention::Unit unit) { return {.amount = amount, .unit = unit}; }

TEST(RetentionTest, HoursDaysAndWeeksAreSoManySeconds) {
  using enum Retention::Unit;
  EXPECT_EQ(second_before(at(2026, 3, 1, 0, 30), interval(1, Hour)), at(2026, 2, 28, 23, 30));
  EXPECT_EQ(second_before(at(2026, 3, 1, 0, 0, 0), interval(1, Day)), at(2026, 2, 28));
  EXPECT_EQ(second_before(at(2024, 3, 1, 0, 0, 1), interval(1, Day)), at(2024, 2, 29, 0, 0, 1));
  EXPECT_EQ(second_before(at(2026, 1, 3), interval(2, Week)), at(2025, 12, 20));
  EXPECT_EQ(second_before(at(1970, 1, 1), interval(1, Day)), at(1969, 12, 31));
}

TEST(RetentionTest, MonthsAndYearsEndAtTheLastDay) {
  using enum Retention::Unit;
  EXPECT_EQ(second_before(at(2026, 3, 31, 23, 59, 59), interval(1, Month)), at(2026, 2, 28, 23, 59, 59));
  EXPECT_EQ(second_before(at(2024, 3, 30), interval(1, Month)), at(2024, 2, 29));
  EXPECT_EQ(second_before(at(2026, 1, 15, 12), interval(1, Month)), at(2025, 12, 15, 12));
  EXPECT_EQ(second_before(at(2026, 1, 15), interval(13, Month)), at(2024, 12, 15));
  EXPECT_EQ(second_before(at(2024, 2, 29), interval(1, Year)), at(2023, 2, 28));
  EXPECT_EQ(second_before(at(2024, 2, 29), interval(4, Year)), at(2020, 2, 29));
  EXPECT_EQ(second_before(at(1969, 12, 31, 23), interval(1, Month)), at(1969, 11, 30, 23));
  EXPECT_EQ(second_before(at(2026, 1, 1), interval(most_retention_units, Year)), at(1, 1, 1));
  EXPECT_EQ(second_before(at(2026, 1, 1), interval(2025, Year)), at(1, 1, 1));
}

TableDefinition table_of(Type type, uint32_t width, TimeScale scale) {
  TableDefinition table;
  table.name = "d/t";
  table.columns.push_back({.name = "at", .type = type, .width = width});
  table.retention = {
      .amount = 1, .unit = Retention::Unit::Day, .column = 0, .scale = static_cast<uint8_t>(scale)};
  return table;
}

/// Whether a row of this value has expired at `now`.
bool has_expired(const TableDefinition& table, int64_t value, int64_t now) {
  const auto values = RetentionClock().expired(table, now);
  EXPECT_TRUE(values.has_value());
  if (!values || !*values) return false;
  const Column& column = table.columns[0];
  const uint64_t ordered =
      column.type == Type::Signed ? order_signed(value, column.width) : static_cast<uint64_t>(value);
  return (*values)->low <= ordered && ordered <= (*values)->high;
}

TEST(RetentionTest, SecondsExpireWhenTheyAreOlder) {
  const int64_t now = at(2026, 3, 29, 12);
  for (const auto& table :
       {table_of(Type::Signed, 8, TimeScale::Seconds), table_of(Type::Signed, 4, TimeScale::Seconds),
        table_of(Type::Unsigned, 4, TimeScale::Seconds)}) {
    EXPECT_TRUE(has_expired(table, now - 86'401, now));
    EXPECT_FALSE(has_expired(table, now - 86'400, now));
    EXPECT_FALSE(has_expired(table, now, now));
    EXPECT_TRUE(has_expired(table, 0, now));
  }
  EXPECT_TRUE(has_expired(table_of(Type::Signed, 8, TimeScale::Seconds), -5, now));
}

TEST(RetentionTest, NarrowColumnsHoldNothingYounger) {
  const int64_t now = at(2026, 3, 29, 12);
  for (const auto type : {Type::Signed, Type::Unsigned}) {
    const TableDefinition table = table_of(type, 2, TimeScale::Seconds);
    EXPECT_TRUE(has_expired(table, 30'000, now));
    EXPECT_TRUE(has_expired(table, 0, now));
    EXPECT_FALSE(has_expired(table, 30'000, 100'000));
    EXPECT_TRUE(has_expired(table, 13'599, 100'000));
    EXPECT_FALSE(has_expired(table, 13'600, 100'000));
  }
  EXPECT_FALSE(has_expired(table_of(Type::Unsigned, 4, TimeScale::Seconds), 0, 86'400));
  EXPECT_TRUE(has_expired(table_of(Type::Unsigned, 4, TimeScale::Seconds), 0, 86'401));
  // Nothing of a column for small numbers is so old.
  EXPECT_FALSE(has_expired(table_of(Type::Signed, 1, TimeScale::Seconds), -128, -1'000'000));
}

TEST(RetentionTest, DaysExpireWhenTheyAreOver) {
  const TableDefinition table = table_of(Type::Signed, 4, TimeScale::Days);
  const int64_t day = at(2026, 3, 29) / 86'400;
  EXPECT_FALSE(has_expired(table, day - 1, at(2026, 3, 29, 23, 59, 59)));
  EXPECT_TRUE(has_expired(table, day - 1, at(2026, 3, 30)));
  EXPECT_FALSE(has_expired(table, day, at(2026, 3, 30)));
}

TEST(RetentionTest, MicrosecondsCountFromTheSecond) {
  const TableDefinition table = table_of(Type::Signed, 8, TimeScale::Microseconds);
  const int64_t now = at(2026, 3, 29, 12);
  EXPECT_TRUE(has_expired(table, (now - 86'400) * 1'000'000 - 1, now));
  EXPECT_FALSE(has_expired(table, (now - 86'400) * 1'000'000, now));
}

TEST(RetentionTest, TimesOfAnotherProgramAreRefused) {
  TableDefinition table = table_of(Type::Signed, 8, TimeScale::Seconds);
  table.retention.scale = first_application_scale;
  const auto values = RetentionClock().expired(table, 0);
  ASSERT_FALSE(values.has_value());
  EXPECT_EQ(values.error().code(), ErrorCode::Unsupported);
}

TEST(RetentionTest, ADefinitionKeepsItAndSaysSo) {
  TableDefinition table = table_of(Type::Signed, 8, TimeScale::Seconds);
  for (const bool in_memory : {false, true}) {
    table.in_memory = in_memory;
    std::string bytes;
    table.append_to(bytes);
    ByteReader reader(bytes);
    const auto read = TableDefinition::parse(reader);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, table);
    EXPECT_TRUE(reader.empty());
    EXPECT_TRUE(PackedDefinition(table).has_retention());
  }
  table.retention = {};
  EXPECT_FALSE(PackedDefinition(table).has_retention());
  EXPECT_FALSE(PackedDefinition().has_retention());
}

TEST(RetentionTest, ADefinitionOfAnImpossibleOneIsRefused) {
  TableDefinition table = table_of(Type::Signed, 8, TimeScale::Seconds);
  ASSERT_TRUE(table.validate().has_value());
  table.retention.column = 1;
  EXPECT_FALSE(table.validate().has_value());
  table = table_of(Type::Double, 8, TimeScale::Seconds);
  EXPECT_FALSE(table.validate().has_value());
  table = table_of(Type::Varchar, 8, TimeScale::Seconds);
  EXPECT_FALSE(table.validate().has_value());
  table = table_of(Type::Signed, 8, TimeScale::Seconds);
  table.retention.amount = most_retention_units + 1;
  EXPECT_FALSE(table.validate().has_value());
  table = table_of(Type::Signed, 8, TimeScale::Seconds);
  table.retention.scale = 0;
  EXPECT_FALSE(table.validate().has_value());
}

}  // namespace
}  // namespace hailstone
