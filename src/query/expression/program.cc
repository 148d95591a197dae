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
  return left.operation == right.operation && left.kind == right.kind && left.mask == right.mask &&
         left.inputs == right.inputs && left.position == right.position && left.integer == right.integer &&
         std::bit_cast<uint64_t>(left.real) == std::bit_cast<uint64_t>(right.real) &&
         left.function == right.function && left.predicate == right.predicate;
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

Program::Register Program::column(uint16_t position, const ScanColumn& column, Register mask) {
  const bool real = column.type == Type::Float || column.type == Type::Double;
  // Only Unsigned numbers of eight bytes can be out of range.
  const bool fits = column.type != Type::Unsigned || column.width < sizeof(uint64_t);
  return add({.operation = Opcode::Column,
              .kind = real ? Kind::Real : Kind::Integer,
              .mask = fits ? none : mask,
              .position = position,
              .column = column});
}

Program::Register Program::function(uint16_t position, const ScanColumn& column,
                                    std::shared_ptr<const ColumnFunction> function, Register mask) {
  return add({.operation = Opcode::Function,
              .mask = mask,
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

Program::Register Program::call(Opcode operation, std::span<const Register> inputs, Register mask) {
  Instruction instruction{.operation = operation, .mask = mask};
  HAILSTONE_CHECK(operation >= Opcode::Add && inputs.size() <= instruction.inputs.size(),
                  "{} inputs of an operation", inputs.size());
  std::ranges::copy(inputs, instruction.inputs.begin());
  switch (operation) {
    case Opcode::Add:
    case Opcode::Subtract:
    case Opcode::Multiply:
    case Opcode::Divide:
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

Program::Register Program::to_real(Register number, int64_t divisor, Register mask) {
  return add({.operation = Opcode::ToReal,
              .kind = Kind::Real,
              .mask = mask,
              .inputs = {number, none, none},
              .integer = divisor});
}

}  // namespace hailstone
