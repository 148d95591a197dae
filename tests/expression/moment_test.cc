// Moments: their order, and what functions of them tell at the ends of months and of the calendar.
#include "expression/moment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expression/evaluator.h"

namespace hailstone {
namespace {

MomentParts day(uint64_t year, uint64_t month, uint64_t day_of_month) {
  return {.year = year, .month = month, .day = day_of_month};
}
MomentParts at(MomentParts day, uint64_t hour, uint64_t minute, uint64_t second, uint64_t microsecond = 0) {
  day.hour = hour;
  day.minute = minute;
  day.second = second;
  day.microsecond = microsecond;
  return day;
}

constexpr int64_t beyond = std::numeric_limits<int64_t>::max();  // stands for NULL

using State = NumberFunction::State;

/// Nothing: it is not told.
std::optional<int64_t> apply(const NumberFunction& function, int64_t first, const int64_t* second) {
  int64_t number = 0;
  State state = State::Unknown;
  function.of_all(1, &first, second, &number, &state);
  if (state == State::Null) return beyond;
  return state == State::Known ? std::optional(number) : std::nullopt;
}
std::optional<int64_t> part(MomentPart part, const MomentParts& of) {
  return apply(*part_of_moment(part), moment_of(of), nullptr);
}
std::optional<int64_t> after(const MomentParts& from, int64_t units, MomentUnit unit) {
  const int64_t less = -units;
  const auto found = apply(*moment_after(unit, /*before=*/false), moment_of(from), &units);
  EXPECT_EQ(found, apply(*moment_after(unit, /*before=*/true), moment_of(from), &less));
  return found;
}
std::optional<int64_t> between(const MomentParts& from, const MomentParts& to, MomentUnit unit) {
  const int64_t second = moment_of(to);
  return apply(*units_between(unit), moment_of(from), &second);
}

TEST(MomentTest, OrdersDaysThatAreNoneToo) {
  const std::vector<int64_t> moments{moment_of(day(0, 0, 0)),
                                     moment_of(at(day(0, 0, 0), 0, 0, 0, 1)),
                                     moment_of(day(1, 1, 1)),
                                     moment_of(day(2023, 12, 31)),
                                     moment_of(day(2024, 0, 0)),
                                     moment_of(day(2024, 0, 10)),
                                     moment_of(day(2024, 2, 29)),
                                     moment_of(at(day(2024, 2, 29), 0, 0, 1)),
                                     moment_of(at(day(2024, 2, 29), 0, 1, 0)),
                                     moment_of(at(day(2024, 2, 29), 1, 0, 0)),
                                     moment_of(day(2024, 2, 30)),
                                     moment_of(day(2024, 3, 1)),
                                     moment_of(at(day(9999, 12, 31), 23, 59, 59, 999'999))};
  EXPECT_TRUE(std::ranges::is_sorted(moments, std::less_equal<>()));
  EXPECT_EQ(std::ranges::adjacent_find(moments), moments.end());
}

TEST(MomentTest, TellsParts) {
  const MomentParts moment = at(day(2024, 11, 30), 21, 42, 59, 999'998);
  EXPECT_EQ(part(MomentPart::Year, moment), 2024);
  EXPECT_EQ(part(MomentPart::Quarter, moment), 4);
  EXPECT_EQ(part(MomentPart::Month, moment), 11);
  EXPECT_EQ(part(MomentPart::Day, moment), 30);
  EXPECT_EQ(part(MomentPart::YearMonth, moment), 202'411);
  EXPECT_EQ(part(MomentPart::Hour, moment), 21);
  EXPECT_EQ(part(MomentPart::Minute, moment), 42);
  EXPECT_EQ(part(MomentPart::Second, moment), 59);
  EXPECT_EQ(part(MomentPart::Microsecond, moment), 999'998);
  EXPECT_EQ(part(MomentPart::DayOfYear, moment), 335);
  EXPECT_EQ(part(MomentPart::Weekday, moment), 5);
  EXPECT_EQ(part(MomentPart::DayOfWeek, moment), 7);
  EXPECT_EQ(part(MomentPart::Weekday, day(2024, 12, 1)), 6);
  EXPECT_EQ(part(MomentPart::DayOfWeek, day(2024, 12, 1)), 1);
  EXPECT_EQ(part(MomentPart::DayNumber, day(1970, 1, 1)), 719'528);
  EXPECT_EQ(part(MomentPart::DayNumber, day(1, 1, 1)), 366);
  EXPECT_EQ(part(MomentPart::DayNumber, day(9999, 12, 31)), 3'652'424);
  EXPECT_EQ(part(MomentPart::Whole, moment), moment_of(moment));
  EXPECT_EQ(part(MomentPart::Midnight, moment), moment_of(day(2024, 11, 30)));
  EXPECT_EQ(part(MomentPart::LastDay, at(day(2024, 2, 1), 5, 6, 7)), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(part(MomentPart::LastDay, day(1900, 2, 28)), moment_of(day(1900, 2, 28)));
}

TEST(MomentTest, TellsNothingOfWhatIsNoDay) {
  for (const MomentParts& none : {day(0, 0, 0), day(2024, 0, 10), day(2024, 2, 0), day(2024, 2, 30),
                                  day(2023, 2, 29), day(0, 3, 1), day(10'000, 1, 1)}) {
    for (uint8_t i = 0; i <= static_cast<uint8_t>(MomentPart::LastDay); ++i)
      EXPECT_EQ(part(static_cast<MomentPart>(i), none), std::nullopt);
    for (uint8_t i = 0; i <= static_cast<uint8_t>(MomentUnit::Year); ++i) {
      const auto unit = static_cast<MomentUnit>(i);
      EXPECT_EQ(after(none, 0, unit), std::nullopt);
      EXPECT_EQ(between(none, day(2024, 1, 1), unit), std::nullopt);
      EXPECT_EQ(between(day(2024, 1, 1), none, unit), std::nullopt);
    }
  }
}

TEST(MomentTest, MovesByMonthsToTheirLastDay) {
  EXPECT_EQ(after(day(2024, 1, 31), 1, MomentUnit::Month), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(after(day(2023, 1, 31), 1, MomentUnit::Month), moment_of(day(2023, 2, 28)));
  EXPECT_EQ(after(day(2024, 3, 31), -1, MomentUnit::Month), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(after(day(2024, 2, 29), 1, MomentUnit::Year), moment_of(day(2025, 2, 28)));
  EXPECT_EQ(after(day(2024, 2, 29), -24, MomentUnit::Year), moment_of(day(2000, 2, 29)));
  EXPECT_EQ(after(day(2024, 11, 30), 1, MomentUnit::Quarter), moment_of(day(2025, 2, 28)));
  EXPECT_EQ(after(at(day(2024, 1, 31), 23, 59, 59, 1), 13, MomentUnit::Month),
            moment_of(at(day(2025, 2, 28), 23, 59, 59, 1)));
  EXPECT_EQ(after(day(2024, 1, 15), -1, MomentUnit::Month), moment_of(day(2023, 12, 15)));
}

TEST(MomentTest, MovesByTimes) {
  EXPECT_EQ(after(day(2024, 2, 28), 2, MomentUnit::Day), moment_of(day(2024, 3, 1)));
  EXPECT_EQ(after(day(2024, 3, 1), -1, MomentUnit::Day), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(after(day(1969, 12, 31), 1, MomentUnit::Week), moment_of(day(1970, 1, 7)));
  EXPECT_EQ(after(at(day(2024, 1, 1), 0, 0, 0), -1, MomentUnit::Microsecond),
            moment_of(at(day(2023, 12, 31), 23, 59, 59, 999'999)));
  EXPECT_EQ(after(at(day(1960, 5, 6), 7, 8, 9, 10), 86'401, MomentUnit::Second),
            moment_of(at(day(1960, 5, 7), 7, 8, 10, 10)));
  EXPECT_EQ(after(at(day(2024, 1, 1), 12, 30, 0), 36, MomentUnit::Hour),
            moment_of(at(day(2024, 1, 3), 0, 30, 0)));
  EXPECT_EQ(after(at(day(2024, 1, 1), 12, 30, 0), -751, MomentUnit::Minute),
            moment_of(at(day(2023, 12, 31), 23, 59, 0)));
}

TEST(MomentTest, EndsWithTheCalendar) {
  const MomentParts last = at(day(9999, 12, 31), 23, 59, 59, 999'999), first = day(1, 1, 1);
  EXPECT_EQ(after(day(9999, 12, 30), 1, MomentUnit::Day), moment_of(day(9999, 12, 31)));
  EXPECT_EQ(after(day(1, 1, 2), -1, MomentUnit::Day), moment_of(first));
  EXPECT_EQ(after(first, 3'652'058, MomentUnit::Day), moment_of(day(9999, 12, 31)));
  EXPECT_EQ(after(day(9999, 11, 30), 1, MomentUnit::Month), moment_of(day(9999, 12, 30)));
  EXPECT_EQ(after(first, 9'998, MomentUnit::Year), moment_of(day(9999, 1, 1)));
  for (uint8_t i = 0; i <= static_cast<uint8_t>(MomentUnit::Year); ++i) {
    const auto unit = static_cast<MomentUnit>(i);
    EXPECT_EQ(after(last, 1, unit), beyond);
    // Some months before are in the year 0.
    EXPECT_EQ(after(first, -1, unit), unit < MomentUnit::Month ? std::optional(beyond) : std::nullopt);
    EXPECT_EQ(after(first, -24, unit), beyond);
    for (const int64_t far : {std::numeric_limits<int64_t>::max(), -std::numeric_limits<int64_t>::max(),
                              int64_t{1} << 60, int64_t{-4'294'967'296}}) {
      // So many seconds are 136 years, so many minutes 8,166.
      const bool is_told = unit <= MomentUnit::Minute && far == -4'294'967'296;
      EXPECT_EQ(after(day(2024, 5, 6), far, unit).has_value(), is_told) << far << " of unit " << int{i};
    }
    const int64_t least = std::numeric_limits<int64_t>::min();
    EXPECT_EQ(apply(*moment_after(unit, false), moment_of(first), &least), std::nullopt);
    EXPECT_EQ(apply(*moment_after(unit, true), moment_of(first), &least), std::nullopt);
  }
}

TEST(MomentTest, CountsWholeUnitsBetween) {
  const MomentParts from = at(day(2024, 1, 31), 10, 0, 0), to = at(day(2024, 2, 29), 9, 59, 59, 999'999);
  EXPECT_EQ(between(from, to, MomentUnit::Day), 28);
  EXPECT_EQ(between(to, from, MomentUnit::Day), -28);
  EXPECT_EQ(between(from, to, MomentUnit::Week), 4);
  EXPECT_EQ(between(from, to, MomentUnit::Hour), 28 * 24 + 23);
  EXPECT_EQ(between(to, from, MomentUnit::Second), -(29 * 86'400 - 1));
  EXPECT_EQ(between(from, to, MomentUnit::Microsecond), 29LL * 86'400 * 1'000'000 - 1);
  EXPECT_EQ(between(from, to, MomentUnit::Month), 0);
  EXPECT_EQ(between(day(2024, 1, 29), day(2024, 2, 29), MomentUnit::Month), 1);
  EXPECT_EQ(between(at(day(2024, 1, 29), 0, 0, 1), day(2024, 2, 29), MomentUnit::Month), 0);
  EXPECT_EQ(between(day(2024, 2, 29), day(2024, 1, 29), MomentUnit::Month), -1);
  EXPECT_EQ(between(day(2024, 2, 29), day(2025, 2, 28), MomentUnit::Year), 0);
  EXPECT_EQ(between(day(2024, 2, 29), day(2025, 3, 1), MomentUnit::Year), 1);
  EXPECT_EQ(between(day(2025, 3, 1), day(2024, 2, 29), MomentUnit::Quarter), -4);
  EXPECT_EQ(between(day(1, 1, 1), day(9999, 12, 31), MomentUnit::Year), 9'998);
}

TEST(MomentTest, TellsPartsOfSeveralUnits) {
  const MomentParts moment = at(day(2024, 11, 30), 21, 42, 59, 98);
  EXPECT_EQ(part(MomentPart::DayHour, moment), 3021);
  EXPECT_EQ(part(MomentPart::DayMinute, moment), 302'142);
  EXPECT_EQ(part(MomentPart::DaySecond, moment), 30'214'259);
  EXPECT_EQ(part(MomentPart::DayMicrosecond, moment), 30'214'259'000'098);
  EXPECT_EQ(part(MomentPart::HourMinute, moment), 2142);
  EXPECT_EQ(part(MomentPart::HourSecond, moment), 214'259);
  EXPECT_EQ(part(MomentPart::HourMicrosecond, moment), 214'259'000'098);
  EXPECT_EQ(part(MomentPart::MinuteSecond, moment), 4259);
  EXPECT_EQ(part(MomentPart::MinuteMicrosecond, moment), 4'259'000'098);
  EXPECT_EQ(part(MomentPart::SecondMicrosecond, moment), 59'000'098);
  EXPECT_EQ(part(MomentPart::DateNumber, moment), 20'241'130);
  EXPECT_EQ(part(MomentPart::MomentNumber, moment), 20'241'130'214'259);
  EXPECT_EQ(part(MomentPart::SecondNumber, moment),
            part(MomentPart::DayNumber, moment).value() * 86'400 + 78'179);
}

TEST(MomentTest, NumbersWeeks) {
  const auto week = [](unsigned mode, const MomentParts& of) {
    return apply(*week_of_moment({mode}), moment_of(of), nullptr);
  };
  // Of 2024-01-01, a Monday; 2023-01-01, a Sunday; 2021-01-01, a Friday; and of a year's last day, a Tuesday.
  const std::array<std::array<int64_t, 4>, 8> weeks{{{0, 1, 0, 52},
                                                     {1, 0, 0, 53},
                                                     {53, 1, 52, 52},
                                                     {1, 52, 53, 1},
                                                     {1, 1, 0, 53},
                                                     {1, 0, 0, 53},
                                                     {1, 1, 53, 1},
                                                     {1, 52, 52, 53}}};
  for (unsigned mode = 0; mode < weeks.size(); ++mode) {
    EXPECT_EQ(week(mode, day(2024, 1, 1)), weeks[mode][0]) << mode;
    EXPECT_EQ(week(mode, day(2023, 1, 1)), weeks[mode][1]) << mode;
    EXPECT_EQ(week(mode, day(2021, 1, 1)), weeks[mode][2]) << mode;
    EXPECT_EQ(week(mode, day(2024, 12, 31)), weeks[mode][3]) << mode;
  }
  const auto year_and_week = [](unsigned mode, const MomentParts& of) {
    return apply(*year_and_week_of_moment({mode}), moment_of(of), nullptr);
  };
  EXPECT_EQ(year_and_week(3, day(2021, 1, 1)), 202'053);
  EXPECT_EQ(year_and_week(3, day(2024, 12, 31)), 202'501);
  EXPECT_EQ(year_and_week(2, day(1, 1, 1)), std::nullopt);
}

TEST(MomentTest, AreValuesWithSoManyDigits) {
  const auto value = [](std::optional<unsigned> digits, const MomentParts& of) {
    return apply(*moment_with(digits), moment_of(of), nullptr);
  };
  const MomentParts moment = at(day(2024, 2, 29), 0, 0, 0, 120'000);
  EXPECT_EQ(value(2, moment), moment_of(moment));
  EXPECT_EQ(value(6, moment), moment_of(moment));
  EXPECT_EQ(value(1, moment), std::nullopt);
  EXPECT_EQ(value(std::nullopt, moment), std::nullopt);
  EXPECT_EQ(value(std::nullopt, day(2024, 2, 29)), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(value(0, day(2024, 2, 30)), std::nullopt);
}

TEST(MomentTest, AreMadeOfNumbers) {
  const auto of_number = [](int64_t number) { return apply(*day_of_number(), number, nullptr); };
  EXPECT_EQ(of_number(719'528), moment_of(day(1970, 1, 1)));
  EXPECT_EQ(of_number(366), moment_of(day(1, 1, 1)));
  EXPECT_EQ(of_number(3'652'424), moment_of(day(9999, 12, 31)));
  for (const int64_t none : {int64_t{365}, int64_t{3'652'425}, std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(of_number(none), std::nullopt) << none;
  const auto of_year = [](int64_t year, int64_t number) {
    return apply(*day_of_year_and_number(), year, &number);
  };
  EXPECT_EQ(of_year(2024, 60), moment_of(day(2024, 2, 29)));
  EXPECT_EQ(of_year(2023, 366), moment_of(day(2024, 1, 1)));
  EXPECT_EQ(of_year(99, 1), std::nullopt);
  EXPECT_EQ(of_year(2024, 0), std::nullopt);
  EXPECT_EQ(of_year(9999, 366), std::nullopt);
  EXPECT_EQ(of_year(2024, std::numeric_limits<int64_t>::max()), std::nullopt);
}

TEST(MomentTest, GivesEqualFunctionsOnce) {
  EXPECT_EQ(part_of_moment(MomentPart::Year), part_of_moment(MomentPart::Year));
  EXPECT_NE(moment_after(MomentUnit::Day, false), moment_after(MomentUnit::Day, true));
  EXPECT_EQ(units_between(MomentUnit::Year), units_between(MomentUnit::Year));
}

std::string formatted(const MomentParts& parts, const char* format) {
  const auto program = std::make_shared<Program>();
  const auto result =
      program->add(Expression::call(Function::DateFormat, {Expression::constant(moment_of(parts)),
                                                           Expression::constant(std::string(format))}));
  Evaluator evaluator(program);
  evaluator.run({.rows = 2, .columns = {}});
  if (evaluator.result(result).failure(1) != 0) return "unknown";
  return std::string(evaluator.result(result).texts[1]);
}

TEST(MomentTest, AreWrittenInAFormat) {
  const MomentParts noon{
      .year = 2024, .month = 3, .day = 1, .hour = 12, .minute = 5, .second = 9, .microsecond = 70};
  EXPECT_EQ(formatted(noon, "%Y-%m-%d %H:%i:%s.%f"), "2024-03-01 12:05:09.000070");
  EXPECT_EQ(formatted(noon, "%y %c %e %D %j %w"), "24 3 1 1st 061 5");
  EXPECT_EQ(formatted(noon, "%k %h %I %l %p %r %T"), "12 12 12 12 PM 12:05:09 PM 12:05:09");
  EXPECT_EQ(formatted(noon, "100%% %Q %"), "100% Q %");
  const MomentParts night{.year = 9, .month = 11, .day = 13};
  EXPECT_EQ(formatted(night, "%Y %D %k %l %p %r"), "0009 13th 0 12 AM 12:00:00 AM");
  EXPECT_EQ(formatted({.year = 2024, .month = 2, .day = 30}, "%d"), "unknown");
  EXPECT_EQ(formatted({}, "%d"), "unknown");
}

TEST(MomentTest, RowsHaveTheTextOfTheirOwnMoment) {
  // Most have parts in common with the one before, at each place.
  std::vector<MomentParts> rows;
  MomentParts parts{.year = 2024, .month = 2, .day = 28, .hour = 9, .minute = 59, .second = 58};
  for (unsigned row = 0; row < 400; ++row) {
    const unsigned place = row % 7 == 0 ? row / 7 % 7 : 7;
    if (place == 0) parts.year = 2024 + row % 3;
    if (place == 1) parts.month = 1 + row % 12;
    if (place == 2) parts.day = row % 31;  // 0: none
    if (place == 3) parts.hour = row % 24;
    if (place == 4) parts.minute = row % 60;
    if (place == 5) parts.second = row % 60;
    if (place == 6) parts.microsecond = row * 997;
    rows.push_back(parts);
  }
  ColumnVector column;
  for (const MomentParts& each : rows) column.integers.push_back(order_signed(moment_of(each), 8));
  const std::array<const ColumnVector*, 1> columns{&column};
  for (const char directive : std::string_view("YymcdeDjwHkhIlisSfprT%")) {
    for (const std::string& format : {std::string{'%', directive}, std::string{'<', '%', directive, '>', '%'},
                                      std::string{'%', 'i', '%', directive, ' ', '%', 'e'}}) {
      const auto program = std::make_shared<Program>();
      const auto moment = Expression::column(0, {.integer = true, .type = Type::Signed, .width = 8});
      const auto result = program->add(
          Expression::call(Function::DateFormat, {moment, Expression::constant(std::string(format))}));
      Evaluator evaluator(program);
      evaluator.run({.rows = static_cast<uint32_t>(rows.size()), .columns = columns});
      const Computed& texts = evaluator.result(result);
      for (uint32_t row = 0; row < rows.size(); ++row) {
        const std::string expected = formatted(rows[row], format.c_str());
        ASSERT_EQ(texts.failure(row) != 0 ? "unknown" : std::string(texts.texts[row]), expected)
            << format << ", row " << row;
      }
    }
  }
}

TEST(MomentTest, NamesAndWeeksHaveNoFormat) {
  EXPECT_TRUE(knows_format("%Y-%m-%d %% %"));
  EXPECT_FALSE(knows_format(""));
  EXPECT_FALSE(knows_format("\xc3\xbc"));
  for (const char* const format : {"%M", "%b", "%W", "%a", "%U", "%u", "%V", "%v", "%X", "%x"}) {
    EXPECT_FALSE(knows_format(format)) << format;
  }
  EXPECT_TRUE(knows_format("%%M W"));
}

}  // namespace
}  // namespace hailstone
