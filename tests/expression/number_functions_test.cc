// Functions of numbers: their limits, what NULL does, and what fails.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "expression/evaluator.h"

namespace hailstone {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
constexpr ScanColumn whole{.integer = true, .type = Type::Signed, .width = 8};
constexpr ScanColumn real{.integer = true, .type = Type::Double, .width = 8};

struct Answer {
  std::optional<int64_t> number;
  Failure failure = 0;
  bool operator==(const Answer&) const = default;
};
Answer failed(Failure failure) { return {.number = std::nullopt, .failure = failure}; }
void PrintTo(const Answer& answer, std::ostream* out) {
  *out << (answer.number ? std::to_string(*answer.number) : "none") << " failure " << int{answer.failure};
}

using Numbers = std::vector<std::optional<int64_t>>;

/// Of columns of numbers, one row for each of these.
std::vector<Answer> of_columns(Function function, const std::vector<Numbers>& columns,
                               FunctionSettings settings = {}) {
  const auto program = std::make_shared<Program>();
  std::vector<Expression> inputs;
  std::vector<ColumnVector> vectors(columns.size());
  std::vector<const ColumnVector*> batch;
  for (size_t i = 0; i < columns.size(); ++i) {
    inputs.push_back(Expression::column(static_cast<uint16_t>(i), whole));
    for (const auto& number : columns[i]) {
      vectors[i].integers.push_back(order_signed(number.value_or(17), 8));
      vectors[i].nulls.push_back(number ? 0 : 1);
      vectors[i].any_nulls |= !number;
    }
    batch.push_back(&vectors[i]);
  }
  const auto result = program->add(Expression::call(function, inputs, std::move(settings)));
  Evaluator evaluator(program);
  const auto rows = static_cast<uint32_t>(columns.front().size());
  evaluator.run({.rows = rows, .columns = batch});
  const Computed& made = evaluator.result(result);
  std::vector<Answer> answers;
  for (uint32_t row = 0; row < rows; ++row) {
    Answer answer{.number = made.integers[row], .failure = made.failure(row)};
    if (made.is_null(row) || answer.failure != 0) answer.number.reset();
    answers.push_back(answer);
  }
  return answers;
}
std::vector<Answer> known(const Numbers& numbers) {
  std::vector<Answer> answers;
  for (const auto& number : numbers) answers.push_back({.number = number});
  return answers;
}

std::vector<double> of_reals(Function function, const std::vector<double>& numbers,
                             FunctionSettings settings = {}) {
  const auto program = std::make_shared<Program>();
  ColumnVector vector;
  for (const double number : numbers) {
    vector.integers.push_back(order_double(number));
    vector.nulls.push_back(0);
  }
  const auto result =
      program->add(Expression::call(function, {Expression::column(0, real)}, std::move(settings)));
  const ColumnVector* const columns = &vector;
  Evaluator evaluator(program);
  evaluator.run({.rows = static_cast<uint32_t>(numbers.size()), .columns = {&columns, 1}});
  const Computed& made = evaluator.result(result);
  std::vector<double> results;
  for (size_t row = 0; row < numbers.size(); ++row)
    results.push_back(made.kind == ValueKind::Real ? made.reals[row]
                                                   : static_cast<double>(made.integers[row]));
  return results;
}

TEST(NumberFunctionsTest, TakesSignsAway) {
  EXPECT_EQ(of_columns(Function::Absolute, {{5, -5, 0, std::nullopt, -greatest, least}}),
            (std::vector<Answer>{{5}, {5}, {0}, {}, {greatest}, failed(unknown_value)}));
  EXPECT_EQ(of_columns(Function::Sign, {{least, -1, 0, 1, greatest, std::nullopt}}),
            known({-1, -1, 0, 1, 1, std::nullopt}));
  EXPECT_EQ(of_reals(Function::Sign, {-0.001, 0, 1e300}), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(of_reals(Function::Absolute, {-0.5, 2}), (std::vector<double>{0.5, 2}));
}

TEST(NumberFunctionsTest, DropsDigits) {
  const Numbers numbers{149, 150, -149, -150, 100, -100, 1, -1, greatest, least, std::nullopt};
  const FunctionSettings hundred{.digits = 2};
  EXPECT_EQ(of_columns(Function::Floor, {numbers}, hundred),
            known({1, 1, -2, -2, 1, -1, 0, -1, greatest / 100, least / 100 - 1, std::nullopt}));
  EXPECT_EQ(of_columns(Function::Ceiling, {numbers}, hundred),
            known({2, 2, -1, -1, 1, -1, 1, 0, greatest / 100 + 1, least / 100, std::nullopt}));
  EXPECT_EQ(of_columns(Function::Round, {numbers}, hundred),
            known({1, 2, -1, -2, 1, -1, 0, 0, greatest / 100, least / 100, std::nullopt}));
  EXPECT_EQ(of_columns(Function::Truncate, {numbers}, hundred),
            known({1, 1, -1, -1, 1, -1, 0, 0, greatest / 100, least / 100, std::nullopt}));
  EXPECT_EQ(of_columns(Function::Round, {{5'000'000'000'000'000, least}}, {.digits = 18}), known({0, -9}));
}

TEST(NumberFunctionsTest, DropsDigitsOfReals) {
  EXPECT_EQ(of_reals(Function::Floor, {1.5, -1.5, 1e300}), (std::vector<double>{1, -2, 1e300}));
  EXPECT_EQ(of_reals(Function::Ceiling, {1.5, -1.5}), (std::vector<double>{2, -1}));
  EXPECT_EQ(of_reals(Function::Round, {0.5, 1.5, 2.5, -2.5}), (std::vector<double>{0, 2, 2, -2}));
  EXPECT_EQ(of_reals(Function::Round, {1.25, -1.36, 1.7e308}, {.digits = 1}),
            (std::vector<double>{1.2, -1.4, 1.7e308}));
  EXPECT_EQ(of_reals(Function::Truncate, {1.29, -1.29}, {.digits = 1}), (std::vector<double>{1.2, -1.2}));
}

TEST(NumberFunctionsTest, FailsWhereDigitsDoNotFit) {
  EXPECT_EQ(of_columns(Function::InDigits, {{99, -99, 100, -100, std::nullopt}}, {.digits = 2}),
            (std::vector<Answer>{{99}, {-99}, failed(unknown_value), failed(unknown_value), {}}));
  EXPECT_EQ(
      of_columns(Function::InRange, {{0, greatest, -1, std::nullopt}}, {.range = NumberRange::Unsigned}),
      (std::vector<Answer>{{0}, {greatest}, failed(unknown_value), {}}));
  EXPECT_EQ(of_reals(Function::ToInteger, {2.5, 3.5, -0.5, 1e300}), (std::vector<double>{2, 4, 0, 0}));
}

TEST(NumberFunctionsTest, CombinesBits) {
  EXPECT_EQ(of_columns(Function::BitAnd, {{6, -1, std::nullopt, 1}, {3, least, 1, std::nullopt}}),
            known({2, least, std::nullopt, std::nullopt}));
  EXPECT_EQ(of_columns(Function::BitOr, {{6, 0}, {3, -1}}), known({7, -1}));
  EXPECT_EQ(of_columns(Function::BitXor, {{6, -1}, {3, -1}}), known({5, 0}));
  EXPECT_EQ(of_columns(Function::BitNot, {{0, -1, least}}), known({-1, 0, greatest}));
  EXPECT_EQ(of_columns(Function::ShiftLeft, {{1, 1, 1, 1, 3}, {63, 64, -1, 4'294'967'297, 1}}),
            known({least, 0, 0, 2, 6}));
  EXPECT_EQ(of_columns(Function::ShiftRight, {{-1, -1, -1, least}, {60, 64, 0, 63}}), known({15, 0, -1, 1}));
  EXPECT_EQ(of_columns(Function::BitCount, {{0, -1, least, 255}}), known({0, 64, 1, 8}));
}

TEST(NumberFunctionsTest, TakesExtremes) {
  const Numbers one{3, -4, std::nullopt, 5}, other{2, least, 1, std::nullopt};
  EXPECT_EQ(of_columns(Function::Greatest, {one, other}), known({3, -4, std::nullopt, std::nullopt}));
  EXPECT_EQ(of_columns(Function::Least, {one, other}), known({2, least, std::nullopt, std::nullopt}));
}

TEST(NumberFunctionsTest, FindsNumbersAmongOthers) {
  EXPECT_EQ(of_columns(Function::Among, {{5, 6, least, std::nullopt, 0}},
                       {.of_numbers = is_among({7, least, 5, 5})}),
            known({1, 0, 1, std::nullopt, 0}));
  EXPECT_EQ(of_columns(Function::Among, {{5, std::nullopt}}, {.of_numbers = is_among({})}),
            known({0, std::nullopt}));
}

/// A second argument that divides by zero counts only where the first one is not NULL.
TEST(NumberFunctionsTest, TellsNothingOfWhatIsNotLookedAt) {
  const auto program = std::make_shared<Program>();
  const Expression first = Expression::column(0, whole);
  const Expression quotient = Expression::call(
      Function::IntegerDivide, {Expression::constant(int64_t{8}), Expression::column(1, whole)},
      {.tells_zero = true});
  const auto of_first = program->add(Expression::call(Function::Greatest, {first, quotient})),
             of_second = program->add(Expression::call(Function::Greatest, {quotient, first})),
             sum = program->add(Expression::call(Function::Add, {first, quotient})),
             sum_in_order =
                 program->add(Expression::call(Function::Add, {first, quotient}, {.in_order = true}));
  std::array<ColumnVector, 2> vectors;
  for (const std::optional<int64_t> number : {std::optional<int64_t>(), std::optional<int64_t>(8)}) {
    vectors[0].integers.push_back(order_signed(number.value_or(0), 8));
    vectors[0].nulls.push_back(number ? 0 : 1);
    vectors[1].integers.push_back(order_signed(0, 8));
    vectors[1].nulls.push_back(0);
  }
  vectors[0].any_nulls = true;
  const std::array<const ColumnVector*, 2> columns{&vectors[0], &vectors[1]};
  Evaluator evaluator(program);
  evaluator.run({.rows = 2, .columns = columns});
  const auto failures = [&](Program::Register result) {
    return std::array{evaluator.result(result).failure(0), evaluator.result(result).failure(1)};
  };
  constexpr std::array<Failure, 2> of_both{1, 1}, of_last{0, 1};
  EXPECT_EQ(failures(of_first), of_last);
  EXPECT_EQ(failures(of_second), of_both);
  EXPECT_EQ(failures(sum), of_both);
  EXPECT_EQ(failures(sum_in_order), of_last);
}

TEST(NumberFunctionsTest, KnowsWhatCannotFail) {
  const auto may_fail = [](Function function, uint32_t width, FunctionSettings settings = {}) {
    Program program;
    program.add(Expression::call(function, {Expression::column(0, {.type = Type::Signed, .width = width})},
                                 std::move(settings)));
    return program.may_fail();
  };
  EXPECT_FALSE(may_fail(Function::Absolute, 4));
  EXPECT_TRUE(may_fail(Function::Absolute, 8));
  EXPECT_FALSE(may_fail(Function::Round, 8, {.digits = 1}));
  EXPECT_FALSE(may_fail(Function::BitNot, 8));
  EXPECT_TRUE(may_fail(Function::InDigits, 4, {.digits = 1}));
  EXPECT_TRUE(may_fail(Function::InRange, 4, {.range = NumberRange::Unsigned}));
  Program masked;
  const Expression bits =
      Expression::call(Function::BitAnd, {Expression::column(0, whole), Expression::constant(int64_t{1023})});
  masked.add(Expression::call(Function::Multiply,
                              {bits, Expression::column(1, {.type = Type::Signed, .width = 4})}));
  EXPECT_FALSE(masked.may_fail());
}

/// A NULL row has any bits, also such as no number of so few bytes has.
TEST(ColumnsOfNumbersTest, ComeFromAllWidthsWithAnyBitsOfNull) {
  for (const unsigned width : {1U, 2U, 3U, 4U, 8U}) {
    const int64_t least_of_width = least >> (64 - 8 * width);
    const std::vector<int64_t> numbers{least_of_width, -1, 0, 1, -(least_of_width + 1)};
    ColumnVector vector;
    for (const int64_t number : numbers) vector.integers.push_back(order_signed(number, width));
    for (const uint64_t bits : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0}})
      vector.integers.push_back(bits);
    vector.nulls = {0, 0, 0, 0, 0, 1, 1, 1};
    vector.any_nulls = true;
    const auto program = std::make_shared<Program>();
    const auto result =
        program->add(Expression::column(0, {.integer = true, .type = Type::Signed, .width = width}));
    Evaluator evaluator(program);
    const std::array<const ColumnVector*, 1> columns{&vector};
    evaluator.run({.rows = 8, .columns = columns});
    const Computed& computed = evaluator.result(result);
    for (uint32_t row = 0; row < 8; ++row) {
      EXPECT_EQ(computed.is_null(row), row >= numbers.size());
      if (row < numbers.size()) {
        EXPECT_EQ(computed.integers[row], numbers[row]) << "width " << width;
      }
    }
  }
}

}  // namespace
}  // namespace hailstone
