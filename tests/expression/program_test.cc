// What is known of expressions before they run.
#include "expression/program.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace hailstone {
namespace {

Expression signed_column(uint32_t width, uint16_t position = 0) {
  return Expression::column(position, {.type = Type::Signed, .width = width});
}
Expression unsigned_column(uint32_t width) {
  return Expression::column(0, {.type = Type::Unsigned, .width = width});
}
Expression real_column() { return Expression::column(0, {.type = Type::Double, .width = 8}); }
Expression constant(int64_t number) { return Expression::constant(number); }
Expression call(Function called, std::vector<Expression> arguments) {
  return Expression::call(called, std::move(arguments), {.range = NumberRange::Signed});
}

bool may_fail(const Expression& expression) {
  Program program;
  program.add(expression);
  return program.may_fail();
}

TEST(ProgramTest, TellsWhetherARowMayFail) {
  EXPECT_FALSE(Program().may_fail());
  EXPECT_FALSE(may_fail(signed_column(8)));
  EXPECT_FALSE(may_fail(unsigned_column(4)));
  EXPECT_FALSE(may_fail(unsigned_column(8)));
  EXPECT_TRUE(may_fail(call(Function::InRange, {unsigned_column(8)})));
  EXPECT_TRUE(may_fail(Expression::call(Function::Absolute, {unsigned_column(8)})));
  EXPECT_FALSE(may_fail(real_column()));
  EXPECT_FALSE(may_fail(call(Function::Less, {signed_column(8), constant(3)})));
}

TEST(ProgramTest, CountsTheBitsOfWholeNumbers) {
  // INT + 1 has 33 bits; BIGINT + 1 may have 65.
  EXPECT_FALSE(may_fail(call(Function::Add, {signed_column(4), constant(1)})));
  EXPECT_TRUE(may_fail(call(Function::Add, {signed_column(8), constant(1)})));
  EXPECT_TRUE(may_fail(call(Function::Subtract, {signed_column(8), signed_column(4, 1)})));
  const Expression square = call(Function::Multiply, {signed_column(4), signed_column(4, 1)});
  EXPECT_FALSE(may_fail(square));
  EXPECT_TRUE(may_fail(call(Function::Multiply, {signed_column(8), constant(100)})));
  EXPECT_TRUE(may_fail(call(Function::Multiply, {square, signed_column(1, 2)})));
  const auto chosen = [](uint32_t width) {
    const Expression which = call(Function::IsNull, {signed_column(4)});
    const Expression either = call(Function::Choose, {which, signed_column(2, 1), signed_column(width, 2)});
    return call(Function::Add, {either, either});
  };
  EXPECT_FALSE(may_fail(chosen(4)));
  EXPECT_TRUE(may_fail(chosen(8)));
}

TEST(ProgramTest, DividesByWhatIsKnownNotToBeZero) {
  const auto fails = [](Function called, uint32_t width, std::optional<int64_t> divisor, bool tells_zero) {
    return may_fail(
        Expression::call(called, {signed_column(width), divisor ? constant(*divisor) : signed_column(4, 1)},
                         {.tells_zero = tells_zero, .range = NumberRange::Signed}));
  };
  EXPECT_FALSE(fails(Function::Remainder, 4, 7, true));
  EXPECT_TRUE(fails(Function::Remainder, 4, 0, true));
  EXPECT_FALSE(fails(Function::Remainder, 4, 0, false));
  EXPECT_TRUE(fails(Function::IntegerDivide, 4, std::nullopt, true));
  EXPECT_FALSE(fails(Function::IntegerDivide, 4, std::nullopt, false));
  EXPECT_TRUE(fails(Function::IntegerDivide, 8, -1, true));
}

TEST(ProgramTest, DecimalsHaveRoom) {
  EXPECT_FALSE(may_fail(Expression::call(Function::Multiply, {signed_column(8), constant(100)})));
  const auto fails = [](bool tells_zero) {
    return may_fail(Expression::call(Function::DecimalDivide, {signed_column(8), signed_column(8)},
                                     {.tells_zero = tells_zero, .digits = 18}));
  };
  EXPECT_FALSE(fails(false));
  EXPECT_TRUE(fails(true));
}

TEST(ProgramTest, RealNumbersMayBeTooGreat) {
  EXPECT_FALSE(may_fail(Expression::call(Function::ToReal, {signed_column(8)}, {.digits = 2})));
  EXPECT_TRUE(may_fail(call(Function::Add, {real_column(), real_column()})));
}

TEST(ProgramTest, HasEqualNodesOnce) {
  Program program;
  const auto sum = [](uint16_t position) {
    return call(Function::Add, {signed_column(4, position), constant(1)});
  };
  const Program::Register first = program.add(sum(0));
  EXPECT_EQ(program.instructions().size(), 3U);
  EXPECT_EQ(program.add(sum(0)), first);
  EXPECT_NE(program.add(sum(1)), first);
  EXPECT_EQ(program.instructions().size(), 5U);
  // The same values under another type.
  EXPECT_EQ(program.add(sum(0).as(ValueType::decimal(2))), first);
}

/// As nested NULLIF() have.
TEST(ProgramTest, GoesThroughASharedPartOnce) {
  Expression nested = signed_column(4);
  for (int i = 0; i < 200; ++i) nested = call(Function::Greatest, {nested, nested});
  Program program;
  program.add(nested);
  EXPECT_EQ(program.instructions().size(), 201U);
}

}  // namespace
}  // namespace hailstone
