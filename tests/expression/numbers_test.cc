// Whole numbers of more than 64 bits in registers, which DECIMALs are.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "expression/evaluator.h"
#include "schema/ordered_wide.h"

namespace hailstone {
namespace {

using Values = std::vector<std::optional<HugeInteger>>;

HugeInteger number(WideInteger value) { return HugeInteger::of(value); }

/// Columns of 32 bytes, and one of BIGINT UNSIGNED behind them.
class HugeNumbersTest : public testing::Test {
 protected:
  static Expression call(Function function, std::vector<Expression> inputs, FunctionSettings settings = {}) {
    return Expression::call(function, std::move(inputs), std::move(settings));
  }

  const Computed& run(const Expression& expression, const Values& a, const Values& b,
                      const std::vector<uint64_t>& c = {}) {
    vectors_.assign(3, {});
    bytes_.clear();
    fill(a, vectors_[0]);
    fill(b, vectors_[1]);
    vectors_[2].integers.resize(a.size());
    std::ranges::copy(c, vectors_[2].integers.begin());
    columns_.clear();
    for (const ColumnVector& vector : vectors_) columns_.push_back(&vector);
    const auto program = std::make_shared<Program>();
    const Program::Register result = program->add(expression);
    evaluator_.emplace(program);
    evaluator_->run({.rows = static_cast<uint32_t>(a.size()), .columns = columns_});
    return evaluator_->result(result);
  }

  void expect(const Computed& computed, const Values& values) {
    for (uint32_t row = 0; row < values.size(); ++row) {
      EXPECT_EQ(computed.failure(row), 0) << "row " << row;
      ASSERT_EQ(computed.is_null(row), !values[row]) << "row " << row;
      if (values[row]) {
        EXPECT_EQ(computed.number(row), *values[row]) << "row " << row;
      }
    }
  }

  static constexpr ScanColumn huge{
      .integer = false, .type = Type::OrderedBytes, .width = sizeof(HugeInteger)};
  const Expression a_ = Expression::column_of_numbers(0, huge), b_ = Expression::column_of_numbers(1, huge);
  const Expression c_ = Expression::column(2, {.integer = true, .type = Type::Unsigned, .width = 8});
  const HugeInteger great_ = power_of_ten(60), small_ = number(7);

 private:
  void fill(const Values& values, ColumnVector& to) {
    for (const auto& value : values) {
      char* const at = bytes_.allocate(sizeof(HugeInteger));
      order_huge(value.value_or(HugeInteger()), at);
      to.bytes.emplace_back(at, sizeof(HugeInteger));
      to.nulls.push_back(value ? 0 : 1);
      to.any_nulls |= !value;
    }
  }
  Arena bytes_;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> columns_;
  std::optional<Evaluator> evaluator_;
};

TEST_F(HugeNumbersTest, AreNarrowWhereTheyFit) {
  const Expression sum = call(Function::Add, {a_, b_});
  expect(run(sum, {great_, small_, {}}, {small_, -great_, great_}), {great_ + small_, small_ - great_, {}});
  const Computed& narrow = run(sum, {great_, small_, {}}, {number(1) - great_, small_, great_});
  expect(narrow, {number(1), number(14), {}});
  EXPECT_FALSE(narrow.any_huge);
  EXPECT_EQ(narrow.integers[1], 14);
}

TEST_F(HugeNumbersTest, GrowWhereSixtyFourBitsEnd) {
  const HugeInteger most = number(INT64_MAX), least = number(INT64_MIN);
  expect(run(call(Function::Add, {a_, b_}), {most, most}, {most, -most}),
         {number(WideInteger{INT64_MAX} * 2), number(0)});
  expect(run(call(Function::Subtract, {a_, b_}), {least, {}}, {most, most}),
         {number(WideInteger{INT64_MIN} - INT64_MAX), {}});
  expect(run(call(Function::Multiply, {a_, b_}), {least, most}, {least, most}), {least * least, most * most});
}

TEST_F(HugeNumbersTest, AreComparedAndChosen) {
  const Values a{great_, great_, -great_, small_, {}}, b{small_, great_, small_, {}, great_};
  expect(run(call(Function::Less, {a_, b_}), a, b), {number(0), number(0), number(1), {}, {}});
  expect(run(call(Function::Equal, {a_, b_}), a, b), {number(0), number(1), number(0), {}, {}});
  expect(run(call(Function::SameOrNull, {a_, b_}), a, b),
         {number(0), number(1), number(0), number(0), number(0)});
  expect(run(call(Function::Between, {a_, b_, Expression::constant(great_)}), a, b),
         {number(1), number(1), number(0), {}, {}});
  expect(run(call(Function::Coalesce, {a_, b_}), a, b), {great_, great_, -great_, small_, great_});
  const Expression less = call(Function::IsTrue, {call(Function::Less, {a_, b_})});
  expect(run(call(Function::Choose, {less, a_, Expression::constant(int64_t{5})}), a, b),
         {number(5), number(5), -great_, number(5), number(5)});
  expect(run(call(Function::IsTrue, {a_}), a, b), {number(1), number(1), number(1), number(1), number(0)});
}

TEST_F(HugeNumbersTest, AreDividedAndRounded) {
  const Expression quotient =
      Expression::call(Function::DecimalDivide, {a_, b_}, {.tells_zero = true, .digits = 9});
  expect(run(quotient, {great_, number(2), {}}, {number(3), number(3), number(0)}),
         {divide(great_ * power_of_ten(9), number(3)).quotient, number(666'666'666), {}});
  const Computed& by_zero = run(quotient, {great_, small_}, {number(0), small_});
  EXPECT_TRUE(by_zero.is_null(0));
  EXPECT_EQ(by_zero.failure(0), 1);
  EXPECT_EQ(by_zero.number(1), power_of_ten(9));
  const Expression rounded = call(Function::Round, {a_}, {.digits = 20});
  expect(run(rounded, {great_, -power_of_ten(20), power_of_ten(20) * small_ - number(1)}, {{}, {}, {}}),
         {power_of_ten(40), number(-1), small_});
  const Expression narrow = call(Function::Round, {a_}, {.digits = 2});
  expect(run(narrow, {number(149), number(150), number(-150), number(-149)}, {{}, {}, {}, {}}),
         {number(1), number(2), number(-2), number(-1)});
}

TEST_F(HugeNumbersTest, AreDividedAlikeHoweverLongTheyAre) {
  // Dividends whose products keep to 64 bits, to 128, to neither; quotients that keep to 64 bits or do not.
  const std::vector<HugeInteger> numbers{number(0),         number(1),         number(-7),
                                         number(1'000'003), number(INT64_MAX), number(INT64_MIN),
                                         power_of_ten(15),  -power_of_ten(17), power_of_ten(50)};
  for (size_t most = 2; most <= numbers.size(); ++most) {
    for (const unsigned digits : {0U, 3U, 9U, 18U, 19U, 30U}) {
      const Expression quotient =
          Expression::call(Function::DecimalDivide, {a_, b_}, {.tells_zero = true, .digits = digits});
      Values dividends, divisors, quotients;
      std::vector<Failure> failures;
      const auto add = [&](const std::optional<HugeInteger>& dividend,
                           const std::optional<HugeInteger>& divisor) {
        const bool is_null = !dividend || !divisor, by_zero = !is_null && *divisor == HugeInteger();
        dividends.push_back(dividend);
        divisors.push_back(divisor);
        failures.push_back(by_zero ? 1 : 0);
        quotients.push_back(is_null || by_zero
                                ? std::nullopt
                                : std::optional(divide(*dividend * power_of_ten(digits), *divisor).quotient));
      };
      for (size_t a = 0; a < most; ++a) {
        for (size_t b = 0; b < most; ++b) add(numbers[a], numbers[b]);
        add(numbers[a], {});
        add({}, numbers[a]);
      }
      const Computed& computed = run(quotient, dividends, divisors);
      for (uint32_t row = 0; row < failures.size(); ++row) {
        EXPECT_EQ(computed.failure(row), failures[row]) << most << ", " << digits << ", row " << row;
        ASSERT_EQ(computed.is_null(row), !quotients[row]) << most << ", " << digits << ", row " << row;
        if (quotients[row]) {
          EXPECT_EQ(computed.number(row), *quotients[row]) << most << ", " << digits << ", row " << row;
        }
      }
    }
  }
}

TEST_F(HugeNumbersTest, AreTheNearestDouble) {
  const Expression real = Expression::call(Function::ToReal, {a_}, {.digits = 30});
  const Computed& computed =
      run(real, {power_of_ten(60), -power_of_ten(29) * small_, number(0)}, {{}, {}, {}});
  EXPECT_EQ(computed.reals[0], 1e30);
  EXPECT_EQ(computed.reals[1], -0.7);
  EXPECT_EQ(computed.reals[2], 0.0);
  const Expression third = Expression::call(Function::ToReal, {a_}, {.digits = 3});
  // 2^53 + 1 thousandths.
  EXPECT_EQ(run(third, {number(9'007'199'254'740'993)}, {{}}).reals[0], 9'007'199'254'740.993);
}

TEST_F(HugeNumbersTest, FailWhereAnIntIsWanted) {
  const Expression as_signed = call(Function::InRange, {a_}, {.range = NumberRange::Signed});
  const Expression as_unsigned = call(Function::InRange, {a_}, {.range = NumberRange::Unsigned});
  const HugeInteger beyond = number(WideInteger{1} << 63);
  const Values values{beyond, -beyond, number(-1), number(WideInteger{1} << 64)};
  const Computed& of_signed = run(as_signed, values, {{}, {}, {}, {}});
  EXPECT_EQ(std::vector<Failure>(of_signed.failures.begin(), of_signed.failures.begin() + 4),
            (std::vector<Failure>{unknown_value, 0, 0, unknown_value}));
  EXPECT_EQ(of_signed.number(1), -beyond);
  const Computed& of_unsigned = run(as_unsigned, values, {{}, {}, {}, {}});
  EXPECT_EQ(std::vector<Failure>(of_unsigned.failures.begin(), of_unsigned.failures.begin() + 4),
            (std::vector<Failure>{0, unknown_value, unknown_value, unknown_value}));
  EXPECT_EQ(of_unsigned.number(0), beyond);
  expect(run(c_, {{}}, {{}}, {uint64_t{1} << 63}), {beyond});
}

TEST_F(HugeNumbersTest, AreUnknownToFunctionsThatDoNotTakeThem) {
  const Expression opposite = Expression::call(Function::Not, {a_});
  const Computed& computed = run(opposite, {great_, small_, {}}, {{}, {}, {}});
  EXPECT_EQ(computed.failure(0), unknown_value);
  EXPECT_EQ(computed.failure(1), 0);
  EXPECT_EQ(computed.integers[1], 0);
  EXPECT_TRUE(computed.is_null(2));
}

TEST_F(HugeNumbersTest, AreRounded) {
  const HugeInteger half = number(5) * power_of_ten(19), above = power_of_ten(30) + half;
  const Values values{above, -above};
  const auto rounded = [&](Function called) {
    const Computed& computed = run(Expression::call(called, {a_}, {.digits = 20}), values, {{}, {}});
    EXPECT_FALSE(computed.any_failures);
    return std::pair(computed.number(0).narrow() - 10'000'000'000,
                     computed.number(1).narrow() + 10'000'000'000);
  };
  EXPECT_EQ(rounded(Function::Floor), std::pair(int64_t{0}, int64_t{-1}));
  EXPECT_EQ(rounded(Function::Ceiling), std::pair(int64_t{1}, int64_t{0}));
  EXPECT_EQ(rounded(Function::Truncate), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(rounded(Function::Round), std::pair(int64_t{1}, int64_t{-1}));
  EXPECT_EQ(run(Expression::call(Function::Absolute, {a_}), values, {{}, {}}).number(1), above);
  EXPECT_EQ(run(Expression::call(Function::Sign, {a_}), values, {{}, {}}).integers[1], -1);
  const Expression in_digits = Expression::call(Function::InDigits, {a_}, {.digits = 30});
  EXPECT_EQ(run(in_digits, values, {{}, {}}).failure(0), unknown_value);
  const Expression with_room = Expression::call(Function::InDigits, {a_}, {.digits = 31});
  EXPECT_EQ(run(with_room, values, {{}, {}}).number(1), -above);
}

TEST_F(HugeNumbersTest, AreTextsOfAllDigits) {
  const Expression whole = call(Function::NumberText, {a_}),
                   parted = call(Function::NumberText, {a_}, {.digits = 30});
  const HugeInteger all = power_of_ten(65) - number(1);
  const Values values{all, -all, power_of_ten(36), small_, {}, -power_of_ten(29)};
  const Computed& of_whole = run(whole, values, {{}, {}, {}, {}, {}, {}});
  EXPECT_EQ(of_whole.texts[0], std::string(65, '9'));
  EXPECT_EQ(of_whole.texts[1], "-" + std::string(65, '9'));
  EXPECT_EQ(of_whole.texts[2], "1" + std::string(36, '0'));
  EXPECT_EQ(of_whole.texts[3], "7");
  EXPECT_TRUE(of_whole.is_null(4));
  const Computed& of_parted = run(parted, values, {{}, {}, {}, {}, {}, {}});
  EXPECT_EQ(of_parted.texts[0], std::string(35, '9') + "." + std::string(30, '9'));
  EXPECT_EQ(of_parted.texts[2], "1000000." + std::string(30, '0'));
  EXPECT_EQ(of_parted.texts[3], "0." + std::string(29, '0') + "7");
  EXPECT_EQ(of_parted.texts[5], "-0.1" + std::string(29, '0'));
}

}  // namespace
}  // namespace hailstone
