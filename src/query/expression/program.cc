#include "query/expression/program.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace hailstone {

void ColumnFunction::of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const {
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto number = of(Value::of(ordered[i]));
    to[i] = number.value_or(0);
    unknown[i] = number ? 0 : 1;
  }
}

namespace {

bool same(const Program::Instruction& left, const Program::Instruction& right) {
  return left.operation == right.operation && left.kind == right.kind &&
         left.tells_zero == right.tells_zero && left.inputs == right.inputs &&
         left.position == right.position && left.integer == right.integer &&
         std::bit_cast<uint64_t>(left.real) == std::bit_cast<uint64_t>(right.real) &&
         left.function == right.function && left.applied == right.applied &&
         left.predicate == right.predicate;
}

}  // namespace

Program::Register Program::add(Instruction instruction) {
  const auto found =
      std::ranges::find_if(instructions_, [&](const Instruction& other) { return same(instruction, other); });
  if (found != instructions_.end()) return static_cast<Register>(found - instructions_.begin());
  HAILSTONE_CHECK(instructions_.size() < none, "a program of {} instructions", instructions_.size());
  instructions_.push_back(std::move(instruction));
  return static_cast<Register>(instructions_.size() - 1);
}

Program::Register Program::column(uint16_t position, const ScanColumn& column) {
  const bool real = column.type == Type::Float || column.type == Type::Double;
  return add({.operation = Opcode::Column,
              .kind = real ? Kind::Real : Kind::Integer,
              .position = position,
              .column = column});
}

Program::Register Program::function(uint16_t position, const ScanColumn& column,
                                    std::shared_ptr<const ColumnFunction> function) {
  return add({.operation = Opcode::Function,
              .position = position,
              .column = column,
              .function = std::move(function)});
}

Program::Register Program::constant(int64_t value) {
  return add({.operation = Opcode::Constant, .integer = value});
}

Program::Register Program::constant(double value) {
  return add({.operation = Opcode::Constant, .kind = Kind::Real, .real = value});
}

Program::Register Program::null(Kind kind) { return add({.operation = Opcode::Null, .kind = kind}); }

Program::Register Program::matches(const Predicate& predicate, uint16_t position, const ScanColumn& column) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
      return constant(int64_t{1});
    case Predicate::Kind::Never:
      return constant(int64_t{0});
    default:
      break;
  }
  HAILSTONE_CHECK(predicate.parts().empty(), "a predicate of {} parts where a leaf is wanted",
                  predicate.parts().size());
  return add({.operation = Opcode::Matches,
              .position = position,
              .column = column,
              .predicate = std::make_shared<const Predicate>(predicate)});
}

Program::Register Program::call(Opcode operation, std::span<const Register> inputs) {
  Instruction instruction{.operation = operation};
  HAILSTONE_CHECK(operation >= Opcode::Add && inputs.size() <= instruction.inputs.size(),
                  "{} inputs of an operation", inputs.size());
  std::ranges::copy(inputs, instruction.inputs.begin());
  switch (operation) {
    case Opcode::Add:
    case Opcode::Subtract:
    case Opcode::Multiply:
    case Opcode::Coalesce:
    case Opcode::Silenced:
    case Opcode::Otherwise:
      instruction.kind = kind(inputs[0]);
      break;
    case Opcode::Choose:
      instruction.kind = kind(inputs[1]);
      break;
    default:
      break;
  }
  return add(std::move(instruction));
}

Program::Register Program::divide(Opcode operation, Register dividend, Register divisor, bool tells_zero) {
  return add({.operation = operation,
              .kind = kind(dividend),
              .tells_zero = tells_zero,
              .inputs = {dividend, divisor, none}});
}

Program::Register Program::to_real(Register number, int64_t divisor) {
  return add(
      {.operation = Opcode::ToReal, .kind = Kind::Real, .inputs = {number, none, none}, .integer = divisor});
}

Program::Register Program::apply(std::shared_ptr<const NumberFunction> function, Register first,
                                 Register second) {
  return add({.operation = Opcode::Apply, .inputs = {first, second, none}, .applied = std::move(function)});
}

namespace {

int bits_of_magnitude(int64_t number) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(number < 0 ? ~number : number)));
}

}  // namespace

bool Program::may_fail() const {
  constexpr int all_bits = 63, bits_of_exact_real = 53;
  // How many bits the magnitude of an Integer register takes, at most.
  std::vector<int> bits(instructions_.size(), all_bits);
  const auto is_not_zero = [this](Register number) {
    return instructions_[number].operation == Opcode::Constant && instructions_[number].integer != 0;
  };
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const auto bits_of = [&](size_t input) { return bits[instruction.inputs[input]]; };
    const bool is_real = instruction.kind == Kind::Real;
    switch (instruction.operation) {
      case Opcode::Column:
        if (is_real) break;
        bits[i] = static_cast<int>(instruction.column.width * 8) -
                  (instruction.column.type == Type::Unsigned ? 0 : 1);
        break;
      case Opcode::Constant:
        bits[i] = bits_of_magnitude(instruction.integer);
        break;
      case Opcode::Add:
      case Opcode::Subtract:
        bits[i] = is_real ? all_bits + 1 : std::max(bits_of(0), bits_of(1)) + 1;
        break;
      case Opcode::Multiply:
        // The least numbers of both have a product of one bit more.
        bits[i] = is_real ? all_bits + 1 : bits_of(0) + bits_of(1) + 1;
        break;
      case Opcode::IntegerDivide:
      case Opcode::Remainder:
        if (instruction.tells_zero && !is_not_zero(instruction.inputs[1])) return true;
        // The least number divided by -1.
        bits[i] = bits_of(0) + 1;
        break;
      case Opcode::ToReal:
        if (instruction.integer != 1 && bits_of(0) > bits_of_exact_real) return true;
        break;
      case Opcode::Choose:
        bits[i] = std::max(bits_of(1), bits_of(2));
        break;
      case Opcode::Coalesce:
      case Opcode::Otherwise:
        bits[i] = std::max(bits_of(0), bits_of(1));
        break;
      case Opcode::Silenced:
        bits[i] = bits_of(0);
        break;
      case Opcode::Function:
      case Opcode::Apply:
      case Opcode::Divide:
      case Opcode::NotNegative:
        return true;
      case Opcode::Null:
        bits[i] = 0;
        break;
      case Opcode::Matches:
      case Opcode::Equal:
      case Opcode::NotEqual:
      case Opcode::Less:
      case Opcode::LessEqual:
      case Opcode::Greater:
      case Opcode::GreaterEqual:
      case Opcode::SameOrNull:
      case Opcode::Between:
      case Opcode::And:
      case Opcode::Or:
      case Opcode::Not:
      case Opcode::IsTrue:
      case Opcode::IsNull:
        bits[i] = 1;
        break;
    }
    if (bits[i] > all_bits) return true;
  }
  return false;
}

}  // namespace hailstone
