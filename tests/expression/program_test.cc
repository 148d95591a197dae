// What is known of programs before they run.
#include "expression/program.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

namespace hailstone {
namespace {

using Register = Program::Register;

Register signed_column(Program& program, uint32_t width, uint16_t position = 0) {
  return program.column(position, {.type = Type::Signed, .width = width});
}
Register unsigned_column(Program& program, uint32_t width) {
  return program.column(0, {.type = Type::Unsigned, .width = width});
}
Register call(Program& program, Function operation, std::initializer_list<Register> inputs) {
  return program.call(operation, std::vector<Register>(inputs), {.range = NumberRange::Signed});
}

bool may_fail(const std::function<void(Program&)>& add) {
  Program program;
  add(program);
  return program.may_fail();
}

TEST(ProgramTest, TellsWhetherARowMayFail) {
  EXPECT_FALSE(may_fail([](Program&) {}));
  EXPECT_FALSE(may_fail([](Program& p) { signed_column(p, 8); }));
  EXPECT_FALSE(may_fail([](Program& p) { unsigned_column(p, 4); }));
  EXPECT_FALSE(may_fail([](Program& p) { unsigned_column(p, 8); }));
  EXPECT_TRUE(may_fail([](Program& p) { call(p, Function::InRange, {unsigned_column(p, 8)}); }));
  EXPECT_TRUE(may_fail([](Program& p) { p.call(Function::Absolute, std::array{unsigned_column(p, 8)}); }));
  EXPECT_FALSE(may_fail([](Program& p) { p.column(0, {.type = Type::Double, .width = 8}); }));
  EXPECT_FALSE(may_fail([](Program& p) {
    call(p, Function::Less, {signed_column(p, 8), p.constant(int64_t{3})});
  }));
}

TEST(ProgramTest, CountsTheBitsOfWholeNumbers) {
  // INT + 1 has 33 bits; BIGINT + 1 may have 65.
  EXPECT_FALSE(may_fail([](Program& p) {
    call(p, Function::Add, {signed_column(p, 4), p.constant(int64_t{1})});
  }));
  EXPECT_TRUE(may_fail([](Program& p) {
    call(p, Function::Add, {signed_column(p, 8), p.constant(int64_t{1})});
  }));
  EXPECT_TRUE(may_fail([](Program& p) {
    call(p, Function::Subtract, {signed_column(p, 8), signed_column(p, 4, 1)});
  }));
  EXPECT_FALSE(may_fail([](Program& p) {
    call(p, Function::Multiply, {signed_column(p, 4), signed_column(p, 4, 1)});
  }));
  EXPECT_TRUE(may_fail([](Program& p) {
    call(p, Function::Multiply, {signed_column(p, 8), p.constant(int64_t{100})});
  }));
  EXPECT_TRUE(may_fail([](Program& p) {
    const Register square = call(p, Function::Multiply, {signed_column(p, 4), signed_column(p, 4, 1)});
    call(p, Function::Multiply, {square, signed_column(p, 1, 2)});
  }));
  const auto chosen = [](uint32_t width) {
    return [width](Program& p) {
      const Register which = call(p, Function::IsNull, {signed_column(p, 4)});
      const Register either =
          call(p, Function::Choose, {which, signed_column(p, 2, 1), signed_column(p, width, 2)});
      call(p, Function::Add, {either, either});
    };
  };
  EXPECT_FALSE(may_fail(chosen(4)));
  EXPECT_TRUE(may_fail(chosen(8)));
}

TEST(ProgramTest, DividesByWhatIsKnownNotToBeZero) {
  const auto fails = [](Function operation, int width, std::optional<int64_t> divisor, bool tells_zero) {
    return may_fail([&](Program& p) {
      const std::array inputs{signed_column(p, static_cast<uint32_t>(width)),
                              divisor ? p.constant(*divisor) : signed_column(p, 4, 1)};
      p.call(operation, inputs, {.tells_zero = tells_zero, .range = NumberRange::Signed});
    });
  };
  EXPECT_FALSE(fails(Function::Remainder, 4, 7, true));
  EXPECT_TRUE(fails(Function::Remainder, 4, 0, true));
  EXPECT_FALSE(fails(Function::Remainder, 4, 0, false));
  EXPECT_TRUE(fails(Function::IntegerDivide, 4, std::nullopt, true));
  EXPECT_FALSE(fails(Function::IntegerDivide, 4, std::nullopt, false));
  EXPECT_TRUE(fails(Function::IntegerDivide, 8, -1, true));
}

TEST(ProgramTest, DecimalsHaveRoom) {
  EXPECT_FALSE(may_fail([](Program& p) {
    p.call(Function::Multiply, std::array{signed_column(p, 8), p.constant(int64_t{100})});
  }));
  EXPECT_FALSE(
      may_fail([](Program& p) { p.divide_decimals(signed_column(p, 8), signed_column(p, 8), 18, false); }));
  EXPECT_TRUE(
      may_fail([](Program& p) { p.divide_decimals(signed_column(p, 8), signed_column(p, 8), 18, true); }));
}

TEST(ProgramTest, RealNumbersMayBeTooGreat) {
  EXPECT_FALSE(may_fail([](Program& p) { p.to_real(signed_column(p, 8), 2); }));
  EXPECT_TRUE(may_fail([](Program& p) {
    const Register real = p.column(0, {.type = Type::Double, .width = 8});
    call(p, Function::Add, {real, real});
  }));
}

}  // namespace
}  // namespace hailstone
