#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "expression/evaluator.h"
#include "expression/moment.h"
#include "expression/stored_values.h"
#include "schema/row_codec.h"

namespace hailstone {
namespace {

constexpr int64_t microseconds_of_day = 86'400'000'000;

/// By a count of days from the calendar's first, one by one.
class Calendar {
 public:
  bool next() {
    static constexpr std::array<uint64_t, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap = (year_ % 4 == 0 && year_ % 100 != 0) || year_ % 400 == 0;
    if (++day_ > days[month_ - 1] + (month_ == 2 && is_leap ? 1 : 0)) {
      day_ = 1;
      if (++month_ > 12) {
        month_ = 1;
        ++year_;
      }
    }
    return year_ < 10'000;
  }
  int64_t moment() const { return moment_of({.year = year_, .month = month_, .day = day_}); }

 private:
  uint64_t year_ = 1, month_ = 1, day_ = 1;
};

TEST(StoredDaysTest, AreThoseOfTheCalendar) {
  std::vector<uint64_t> days, microseconds;
  std::vector<int64_t> moments;
  Calendar calendar;
  int64_t day = -719'162;
  do {
    days.push_back(order_signed(day, 4));
    microseconds.push_back(order_signed(day * microseconds_of_day, 8));
    moments.push_back(calendar.moment());
    ++day;
  } while (calendar.next());
  ASSERT_EQ(day, 2'932'897);
  for (const auto& [function, stored] :
       {std::pair{moment_of_days(), &days}, std::pair{moment_of_microseconds(), &microseconds}}) {
    std::vector<int64_t> found(stored->size());
    std::vector<uint8_t> unknown(stored->size(), 1);
    function->of_all(*stored, found.data(), unknown.data());
    EXPECT_EQ(found, moments);
    EXPECT_EQ(std::ranges::count(unknown, 0), std::ssize(unknown));
    for (size_t i = 0; i < stored->size(); i += 997)
      EXPECT_EQ(function->of(Value::of((*stored)[i])), moments[i]);
  }
}

TEST(StoredDaysTest, BesideTheCalendarTheyAreItsEnds) {
  const int64_t behind = moment_of({.year = 10'000, .month = 1, .day = 1});
  for (const auto& [day, moment] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {-2'147'483'648, 0}, {-719'163, 0}, {2'932'897, behind}, {2'147'483'647, behind}}) {
    EXPECT_EQ(moment_of_days()->of(Value::of(order_signed(day, 4))), moment) << day;
  }
  for (const auto& [number, moment] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{std::numeric_limits<int64_t>::min(), 0},
                                                          {-719'162 * microseconds_of_day - 1, 0},
                                                          {2'932'897 * microseconds_of_day, behind},
                                                          {std::numeric_limits<int64_t>::max(), behind},
                                                          {-1, moment_of({.year = 1969,
                                                               .month = 12,
                                                               .day = 31,
                                                               .hour = 23,
                                                               .minute = 59,
                                                               .second = 59,
                                                               .microsecond = 999'999})}}) {
    EXPECT_EQ(moment_of_microseconds()->of(Value::of(order_signed(number, 8))), moment) << number;
  }
}

/// What a program makes of a call of one row's columns.
int64_t evaluate(Function function, std::span<const std::shared_ptr<const ColumnFunction>> of,
                 std::span<const uint64_t> stored) {
  std::vector<Expression> arguments;
  std::vector<ColumnVector> vectors(stored.size());
  std::vector<const ColumnVector*> columns;
  for (size_t i = 0; i < stored.size(); ++i) {
    vectors[i].integers = {stored[i]};
    vectors[i].nulls = {0};
    columns.push_back(&vectors[i]);
    const unsigned width = of[i] == moment_of_days() ? 4 : 8;
    arguments.push_back(Expression::of_column(
        static_cast<uint16_t>(i), {.integer = true, .type = Type::Signed, .width = width}, of[i]));
  }
  const auto program = std::make_shared<Program>();
  const auto result = program->add(Expression::call(function, arguments));
  Evaluator evaluator(program);
  evaluator.run({.rows = 1, .columns = columns});
  return evaluator.result(result).integers[0];
}

TEST(StoredDaysTest, AreComparedAsTheyAreStored) {
  const std::vector<int64_t> days{-2'147'483'648, -719'163, -719'162, -1, 0, 1, 2'932'896, 2'932'897};
  const std::vector of(3, moment_of_days());
  for (const int64_t one : days) {
    for (const int64_t other : days) {
      const std::array stored{order_signed(one, 4), order_signed(other, 4)};
      EXPECT_EQ(evaluate(Function::Equal, of, stored), one == other);
      EXPECT_EQ(evaluate(Function::SameOrNull, of, stored), one == other);
      EXPECT_EQ(evaluate(Function::NotEqual, of, stored), one != other);
      EXPECT_EQ(evaluate(Function::Less, of, stored), one < other);
      EXPECT_EQ(evaluate(Function::LessEqual, of, stored), one <= other);
      EXPECT_EQ(evaluate(Function::Greater, of, stored), one > other);
      EXPECT_EQ(evaluate(Function::GreaterEqual, of, stored), one >= other);
      const std::array three{order_signed(int64_t{0}, 4), stored[0], stored[1]};
      EXPECT_EQ(evaluate(Function::Between, of, three), one <= 0 && 0 <= other);
    }
  }
}

TEST(StoredDaysTest, AreComparedWithMicrosecondsAsMoments) {
  const std::array of{moment_of_days(), moment_of_microseconds()};
  for (const int64_t day : {-719'162, -1, 0, 1, 2'932'896}) {
    for (const int64_t late : {-1, 0, 1}) {
      const std::array stored{order_signed(day, 4), order_signed(day * microseconds_of_day + late, 8)};
      EXPECT_EQ(evaluate(Function::Less, of, stored), late > 0) << day;
      EXPECT_EQ(evaluate(Function::Equal, of, stored), late == 0) << day;
    }
  }
}

}  // namespace
}  // namespace hailstone
