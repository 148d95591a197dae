#include "expression/program.h"

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

HugeInteger ColumnFunction::huge_of(ByteView value) const {
  return HugeInteger::of(of(Value::of(value)).value_or(0));
}

namespace {

bool same(const Program::Instruction& left, const Program::Instruction& right) {
  return left.operation == right.operation && left.kind == right.kind && left.function == right.function &&
         left.settings == right.settings && left.inputs == right.inputs && left.position == right.position &&
         left.integer == right.integer && left.huge == right.huge &&
         std::bit_cast<uint64_t>(left.real) == std::bit_cast<uint64_t>(right.real) &&
         left.text == right.text && left.of_column == right.of_column && left.predicate == right.predicate;
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
  const Kind kind = column.integer ? (real ? Kind::Real : Kind::Integer) : Kind::Text;
  return add({.operation = Opcode::Column, .kind = kind, .position = position, .column = column});
}

Program::Register Program::column_of_numbers(uint16_t position, const ScanColumn& column) {
  return add({.operation = Opcode::Column, .kind = Kind::Integer, .position = position, .column = column});
}

Program::Register Program::of_column(uint16_t position, const ScanColumn& column,
                                     std::shared_ptr<const ColumnFunction> function) {
  return add({.operation = Opcode::OfColumn,
              .position = position,
              .column = column,
              .of_column = std::move(function)});
}

Program::Register Program::constant(int64_t value) {
  return add({.operation = Opcode::Constant, .integer = value});
}

Program::Register Program::constant(const HugeInteger& value) {
  if (value.has_64_bits()) return constant(value.narrow());
  return add({.operation = Opcode::Constant, .huge = value});
}

Program::Register Program::constant(double value) {
  return add({.operation = Opcode::Constant, .kind = Kind::Real, .real = value});
}

Program::Register Program::constant(std::string value) {
  return add({.operation = Opcode::Constant, .kind = Kind::Text, .text = std::move(value)});
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
  auto kept = std::make_shared<const Predicate>(predicate);
  return add(
      {.operation = Opcode::Matches, .position = position, .column = column, .predicate = std::move(kept)});
}

Program::Register Program::call(Function function, std::span<const Register> inputs,
                                FunctionSettings settings) {
  Kind kind = Kind::Integer;
  switch (line_of(function).result) {
    case ResultKind::Integer:
      break;
    case ResultKind::Real:
      kind = Kind::Real;
      break;
    case ResultKind::Text:
      kind = Kind::Text;
      break;
    case ResultKind::OfFirst:
      kind = this->kind(inputs[0]);
      break;
    case ResultKind::OfSecond:
      kind = this->kind(inputs[1]);
      break;
  }
  Instruction instruction{.operation = Opcode::Call, .kind = kind, .function = function};
  instruction.settings = std::move(settings);
  instruction.inputs.assign(inputs.begin(), inputs.end());
  return add(std::move(instruction));
}

Program::Register Program::divide(Function function, Register dividend, Register divisor, bool tells_zero) {
  return call(function, std::array{dividend, divisor}, {.tells_zero = tells_zero});
}

Program::Register Program::divide_decimals(Register dividend, Register divisor, unsigned digits,
                                           bool tells_zero) {
  return call(Function::DecimalDivide, std::array{dividend, divisor},
              {.tells_zero = tells_zero, .digits = digits});
}

Program::Register Program::to_real(Register number, unsigned digits) {
  return call(Function::ToReal, std::array{number}, {.digits = digits});
}

Program::Register Program::of_moments(std::shared_ptr<const NumberFunction> function, Register moment) {
  return call(Function::PartOfMoment, std::array{moment}, {.of_numbers = std::move(function)});
}

Program::Register Program::of_moments(Function called, std::shared_ptr<const NumberFunction> function,
                                      Register moment, Register by) {
  return call(called, std::array{moment, by}, {.of_numbers = std::move(function)});
}

namespace {

int bits_of_magnitude(int64_t number) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(number < 0 ? ~number : number)));
}

}  // namespace

bool Program::may_fail() const {
  constexpr int narrow_bits = 63, huge_bits = 255, fails = huge_bits + 1;
  // How many bits the magnitude of an Integer register takes, at most.
  std::vector<int> bits(instructions_.size(), narrow_bits);
  const auto is_not_zero = [this](Register number) {
    const Instruction& of = instructions_[number];
    return of.operation == Opcode::Constant && (of.integer != 0 || of.huge != HugeInteger());
  };
  /// What has so many bits, where the settings say what a result may be.
  const auto in_range = [](const Instruction& call, int result) {
    const int all = call.settings.range == NumberRange::Any ? huge_bits : narrow_bits;
    return result > all || call.settings.range == NumberRange::Unsigned ? fails : result;
  };
  const auto is_not_negative = [this](Register number) {
    return instructions_[number].operation == Opcode::Constant && instructions_[number].integer >= 0;
  };
  const auto bits_of_call = [&](const Instruction& call) -> int {
    const auto bits_of = [&](size_t input) { return bits[call.inputs[input]]; };
    const bool is_real = call.kind == Kind::Real;
    const FunctionLine& line = line_of(call.function);
    for (size_t i = 0; !line.takes_huge && i < call.inputs.size(); ++i) {
      if (bits_of(i) > narrow_bits) return fails;
    }
    switch (call.function) {
      case Function::Add:
      case Function::Subtract:
        return is_real ? fails : in_range(call, std::max(bits_of(0), bits_of(1)) + 1);
      case Function::Multiply:
        // The least numbers of both have a product of one bit more.
        return is_real ? fails : in_range(call, bits_of(0) + bits_of(1) + 1);
      case Function::IntegerDivide:
      case Function::Remainder:
      case Function::DecimalDivide:
        if (call.settings.tells_zero && !is_not_zero(call.inputs[1])) return fails;
        if (call.function == Function::DecimalDivide) return huge_bits;
        // The least number divided by -1.
        return in_range(call, bits_of(0) + 1);
      case Function::InRange:
        return in_range(call, bits_of(0));
      case Function::ToReal:
        return narrow_bits;
      case Function::Absolute:
        // The least number has a bit more.
        return is_real ? narrow_bits : bits_of(0) < narrow_bits ? bits_of(0) : fails;
      case Function::Floor:
      case Function::Ceiling:
      case Function::Round:
      case Function::Truncate:
        return bits_of(0);
      case Function::BitAnd:
        return std::min(is_not_negative(call.inputs[0]) ? bits_of(0) : narrow_bits,
                        is_not_negative(call.inputs[1]) ? bits_of(1) : narrow_bits);
      case Function::BitOr:
      case Function::BitXor:
      case Function::BitNot:
      case Function::ShiftLeft:
      case Function::ShiftRight:
        return narrow_bits;
      case Function::AsUnsigned:
        return narrow_bits + 1;
      case Function::BitCount:
        return 7;
      case Function::Choose:
        return std::max(bits_of(1), bits_of(2));
      case Function::Coalesce:
      case Function::Greatest:
      case Function::Least:
      case Function::Otherwise:
        return std::max(bits_of(0), bits_of(1));
      case Function::Silenced:
        return bits_of(0);
      case Function::Divide:
      case Function::InDigits:
      case Function::ToInteger:
      case Function::PartOfMoment:
      case Function::MomentAfter:
      case Function::UnitsBetween:
      case Function::MomentOf:
      case Function::ByZone:
      case Function::DateFormat:
        return fails;
      default:
        if (call.settings.of_texts != nullptr) return fails;
        // Truths have one bit.
        if (line.result == ResultKind::Integer && call.kind == Kind::Integer &&
            call.function < Function::Concat)
          return 1;
        return call.settings.most_bytes != 0 ? fails : narrow_bits;
    }
  };
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    switch (instruction.operation) {
      case Opcode::Column:
        if (instruction.kind != Kind::Integer) break;
        bits[i] = static_cast<int>(instruction.column.width * 8) -
                  (instruction.column.integer && instruction.column.type == Type::Unsigned ? 0 : 1);
        break;
      case Opcode::OfColumn:
        return true;
      case Opcode::Constant:
        bits[i] = instruction.huge == HugeInteger() ? bits_of_magnitude(instruction.integer) : huge_bits;
        break;
      case Opcode::Null:
        bits[i] = 0;
        break;
      case Opcode::Matches:
        bits[i] = 1;
        break;
      case Opcode::Call:
        bits[i] = bits_of_call(instruction);
        break;
    }
    if (bits[i] >= fails) return true;
  }
  return false;
}

}  // namespace hailstone
