#include "collect/wall_time.h"

#include <gtest/gtest.h>

namespace hailstone {
namespace {

WallTime at(std::string_view text) {
  const auto time = parse_wall_time(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(WallTime());
}
TimeStep step(std::string_view text) {
  const auto parsed = parse_time_step(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(TimeStep());
}

TEST(WallTimeTest, ReadsWhatItWrites) {
  for (const char* text :
       {"2026-11-24 10:00:01", "1970-01-01 00:00:00", "2024-02-29 23:59:59", "1066-10-14 09:00:00"}) {
    EXPECT_EQ(to_text(at(text)), text);
  }
  EXPECT_EQ(at("2026-11-24"), at("2026-11-24 00:00:00"));
  EXPECT_EQ(at("2026-11-24T10:00:00"), at("2026-11-24 10:00:00.999999"));
  for (const char* text :
       {"", "2026", "2026-11-31", "2023-02-29", "26-11-24", "2026-11-24 24:00:00", "2026-11-24 10:60:00",
        "2026-11-24 10:00", "2026-11-24x", "0000-00-00", "2026/11/24"}) {
    EXPECT_FALSE(parse_wall_time(text)) << text;
  }
}

TEST(WallTimeTest, StepsAreOfHoursDaysAndMonths) {
  EXPECT_EQ(step("2 hours"), (TimeStep{2, TimeStep::Unit::Hour}));
  EXPECT_EQ(step("1 day"), (TimeStep{1, TimeStep::Unit::Day}));
  EXPECT_EQ(to_text(step("24 months")), "24 months");
  EXPECT_EQ(to_text(step("1 hours")), "1 hour");
  for (const char* text :
       {"", "day", "0 days", "-1 day", "1day", "1 week", "1  day", "100000 days", "1 dayss"}) {
    EXPECT_FALSE(parse_time_step(text)) << text;
  }
  EXPECT_TRUE(divides_time(step("12 hours")));
  EXPECT_FALSE(divides_time(step("5 hours")));
  EXPECT_FALSE(divides_time(step("2 days")));
}

TEST(WallTimeTest, AStepBeginsAtMidnightOrOnTheFirst) {
  const WallTime time = at("2026-11-24 13:59:59");
  EXPECT_EQ(beginning_of(time, step("2 hours")), at("2026-11-24 12:00:00"));
  EXPECT_EQ(beginning_of(time, step("1 day")), at("2026-11-24"));
  EXPECT_EQ(beginning_of(time, step("1 month")), at("2026-11-01"));
  EXPECT_EQ(beginning_of(at("1969-12-31 23:00:00"), step("1 day")), at("1969-12-31"));
  EXPECT_EQ(plus(at("2026-11-24 22:00:00"), step("2 hours")), at("2026-11-25"));
  EXPECT_EQ(plus(at("2026-12-01"), step("1 month")), at("2027-01-01"));
  EXPECT_EQ(minus(at("2024-03-31 10:00:00"), step("1 month")), at("2024-02-29 10:00:00"));
  EXPECT_EQ(minus(at("2026-11-24"), step("90 days")), at("2026-08-26"));
}

TEST(WallTimeTest, NamesAreOfDigits) {
  const WallTime time = at("2026-01-02 03:00:00");
  EXPECT_EQ(compact_text(time, TimeStep::Unit::Hour), "2026010203");
  EXPECT_EQ(compact_text(time, TimeStep::Unit::Day), "20260102");
  EXPECT_EQ(compact_text(time, TimeStep::Unit::Month), "202601");
  EXPECT_EQ(parse_compact_day("20260102"), at("2026-01-02"));
  for (const char* text : {"20260132", "2026010", "202601022", "2026010x"})
    EXPECT_FALSE(parse_compact_day(text)) << text;
}

}  // namespace
}  // namespace hailstone
