// What is known of numbers by their types, and what is computed of them.
#include "expression/exact_numbers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "expression/conditions.h"
#include "expression/evaluator.h"

namespace hailstone {
namespace {

using Scale = ValueType::Scale;

constexpr ScanColumn eight_bytes{.integer = true, .type = Type::Signed, .width = 8};
constexpr ValueType integer{};
const ValueType decimal = ValueType::decimal(0);

/// DECIMAL(whole + scale, scale).
Expression decimal_column(unsigned whole_digits, unsigned scale, uint16_t position = 0) {
  return Expression::column(position, eight_bytes).as(ValueType::decimal(scale, whole_digits, Scale::Sure));
}
Expression decimal_constant(int64_t number, unsigned scale) {
  return Expression::constant(number).as(ValueType::decimal(scale, 5, Scale::Sure));
}

/// Of one row, whose columns have these numbers. Nothing: NULL.
std::optional<HugeInteger> value_of(const Expression& expression, const std::vector<int64_t>& numbers) {
  std::vector<ColumnVector> vectors(numbers.size());
  std::vector<const ColumnVector*> columns;
  for (size_t i = 0; i < numbers.size(); ++i) {
    vectors[i].integers = {order_signed(numbers[i], 8)};
    vectors[i].nulls = {0};
    columns.push_back(&vectors[i]);
  }
  const auto program = std::make_shared<Program>();
  const auto result = program->add(expression);
  Evaluator evaluator(program);
  evaluator.run({.rows = 1, .columns = columns});
  const Computed& computed = evaluator.result(result);
  EXPECT_EQ(computed.failure(0), 0);
  return computed.is_null(0) ? std::nullopt : std::optional(computed.number(0));
}
HugeInteger number(WideInteger value) { return HugeInteger::of(value); }

TEST(ExactNumbersTest, GetMoreDigitsBehindThePoint) {
  const Expression price = decimal_column(8, 2);
  const auto wider = with_scale(price, 5);
  ASSERT_TRUE(wider);
  EXPECT_EQ(wider->type().scale, 5U);
  EXPECT_EQ(wider->type().whole_digits, 8U);
  EXPECT_EQ(value_of(*wider, {1250}), number(1'250'000));
  EXPECT_FALSE(with_scale(price, 1));
  EXPECT_FALSE(with_scale(decimal_column(60, 2), 20));
  EXPECT_FALSE(with_scale(Expression::constant(1.5), 2));
}

TEST(ExactNumbersTest, AreRounded) {
  const auto rounded = rounded_to(decimal_column(8, 2), 1);
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->type().scale, 1U);
  EXPECT_EQ(rounded->type().whole_digits, 9U);
  EXPECT_EQ(rounded->type().scale_is, Scale::Unsure);
  EXPECT_EQ(value_of(*rounded, {1255}), number(126));
  EXPECT_EQ(value_of(*rounded, {-1255}), number(-126));
}

TEST(ExactNumbersTest, SumsHaveTheLongerScale) {
  const Expression price = decimal_column(8, 2), tax = decimal_column(4, 4, 1);
  const auto both = sum(Function::Add, price, tax, decimal);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->type().scale, 4U);
  EXPECT_EQ(both->type().whole_digits, 9U);
  EXPECT_EQ(both->type().scale_is, Scale::SureUnlessZero);
  EXPECT_EQ(value_of(*both, {1250, 1}), number(125'001));
  // The zero that a difference may be has no scale; so that of a sum with a shorter one is not sure.
  const auto more = sum(Function::Add, *both, price, decimal);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->type().scale_is, Scale::Unsure);
  // Nine words of nine digits are the most.
  EXPECT_FALSE(sum(Function::Add, decimal_column(60, 5), decimal_column(5, 30), decimal));
}

TEST(ExactNumbersTest, ProductsHaveTheDigitsOfBoth) {
  const auto square = product(decimal_column(8, 2), decimal_column(8, 3), decimal);
  ASSERT_TRUE(square);
  EXPECT_EQ(square->type().scale, 5U);
  EXPECT_EQ(square->type().whole_digits, 16U);
  EXPECT_EQ(value_of(*square, {-300}), number(90'000));
  EXPECT_FALSE(product(decimal_column(10, 20), decimal_column(10, 19), decimal));
}

TEST(ExactNumbersTest, QuotientsEndWithAWord) {
  const auto third = quotient(decimal_column(8, 2), decimal_constant(3, 0), 4, true);
  ASSERT_TRUE(third);
  // Two digits are in a word of nine, and four more than those in another one.
  EXPECT_EQ(third->type().scale, 9U);
  EXPECT_EQ(value_of(*third, {100}), number(333'333'333));
  const Expression nothing = decimal_column(5, 0, 1);
  EXPECT_EQ(value_of(*quotient(decimal_column(8, 2), nothing, 4, false), {100, 0}), std::nullopt);
  // Of an unsure scale the server's own digits are not known.
  EXPECT_FALSE(quotient(*rounded_to(decimal_column(8, 2), 1), decimal_constant(3, 0), 4, true));
}

TEST(ExactNumbersTest, DivideToWholeNumbers) {
  const auto times =
      whole_division(Function::IntegerDivide, decimal_column(8, 2), decimal_constant(3, 1), integer, false);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->type().kind, ValueType::Kind::Integer);
  EXPECT_EQ(times->type().scale, 0U);
  EXPECT_EQ(value_of(*times, {1000}), number(33));
}

TEST(ExactNumbersTest, AreComparedByTheirValues) {
  const auto less = compared(Function::Less, decimal_column(8, 2), decimal_constant(12501, 3));
  ASSERT_TRUE(less);
  EXPECT_EQ(value_of(*less, {1250}), number(1));
  EXPECT_EQ(value_of(*less, {1251}), number(0));
}

TEST(ExactNumbersTest, AreFoundInLists) {
  const Expression price = decimal_column(8, 2), other = decimal_column(8, 2, 1);
  // 12.5 is a constant of another scale; 1.005 is none that the column can have.
  const std::vector<Expression> list{decimal_constant(125, 1), decimal_constant(1005, 3), other,
                                     Expression::null(ValueKind::Integer)};
  for (const bool is_narrow : {true, false}) {
    const auto found = in_list(price, list, is_narrow);
    ASSERT_TRUE(found);
    EXPECT_EQ(value_of(*found, {1250, 7}), number(1));
    EXPECT_EQ(value_of(*found, {7, 7}), number(1));
    EXPECT_EQ(value_of(*found, {8, 7}), std::nullopt);
  }
  const auto without_null = in_list(price, std::span(list).first(3), true);
  ASSERT_TRUE(without_null);
  EXPECT_EQ(value_of(*without_null, {8, 7}), number(0));
  EXPECT_FALSE(in_list(price, std::vector(17, other), false));
  EXPECT_TRUE(in_list(price, std::vector(1000, decimal_constant(5, 2)), true));
}

}  // namespace
}  // namespace hailstone
