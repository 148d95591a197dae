#include "expression/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/check.h"
#include "expression/stored_values.h"

namespace hailstone {

namespace {

using Node = Expression::Node;

/// Whether two nodes compute the same of the same registers.
bool same(const Node& left, const Node& right) {
  return left.kind == right.kind && left.values == right.values && left.function == right.function &&
         left.settings == right.settings && left.position == right.position &&
         left.integer == right.integer && left.huge == right.huge &&
         std::bit_cast<uint64_t>(left.real) == std::bit_cast<uint64_t>(right.real) &&
         left.text == right.text && left.of_column == right.of_column && left.predicate == right.predicate;
}

bool is_comparison(const Expression& expression) {
  constexpr std::array comparisons{Function::Equal,      Function::NotEqual, Function::Less,
                                   Function::LessEqual,  Function::Greater,  Function::GreaterEqual,
                                   Function::SameOrNull, Function::Between};
  return expression->kind == Expression::Kind::Call &&
         std::ranges::find(comparisons, expression->function) != comparisons.end();
}

/// What a program computes a call of. Columns that are compared by one AscendingFunction are compared as they
/// are stored: in the calendar that is the same, and joins compare them so, too.
std::vector<Expression> operands_of(const Expression& expression) {
  const std::vector<Expression>& arguments = expression->arguments;
  if (!is_comparison(expression)) return arguments;
  const ColumnFunction* const function = arguments.front()->of_column.get();
  const bool is_ascending = dynamic_cast<const AscendingFunction*>(function) != nullptr;
  const auto is_of_it = [&](const Expression& argument) { return argument->of_column.get() == function; };
  if (!is_ascending || !std::ranges::all_of(arguments, is_of_it)) return arguments;
  std::vector<Expression> stored;
  for (const Expression& argument : arguments)
    stored.push_back(Expression::column(argument->position, argument->column));
  return stored;
}

}  // namespace

Program::Register Program::add(const Expression& expression) {
  if (const auto known = known_.find(&*expression); known != known_.end()) return known->second.number;
  Instruction instruction{.of = expression, .inputs = {}};
  for (const Expression& operand : operands_of(expression)) instruction.inputs.push_back(add(operand));
  const auto found = std::ranges::find_if(instructions_, [&](const Instruction& other) {
    return instruction.inputs == other.inputs && same(*expression, *other.of);
  });
  const auto number = static_cast<Register>(found - instructions_.begin());
  if (found == instructions_.end()) {
    HAILSTONE_CHECK(instructions_.size() < none, "a program of {} instructions", instructions_.size());
    instructions_.push_back(std::move(instruction));
  }
  known_.emplace(&*expression, Known{expression, number});
  return number;
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
    const Expression& of = instructions_[number].of;
    return of.is_constant() && (of->integer != 0 || of->huge != HugeInteger());
  };
  /// What has so many bits, where the settings say what a result may be.
  const auto in_range = [](const Instruction& call, int result) {
    const int all = call.of->settings.range == NumberRange::Any ? huge_bits : narrow_bits;
    return result > all || call.of->settings.range == NumberRange::Unsigned ? fails : result;
  };
  const auto is_not_negative = [this](Register number) {
    const Expression& of = instructions_[number].of;
    return of.is_constant() && of->integer >= 0;
  };
  const auto bits_of_call = [&](const Instruction& call) -> int {
    const auto bits_of = [&](size_t input) { return bits[call.inputs[input]]; };
    const bool is_real = call.of.is_real();
    const FunctionLine& line = line_of(call.of->function);
    for (size_t i = 0; !line.takes_huge && i < call.inputs.size(); ++i) {
      if (bits_of(i) > narrow_bits) return fails;
    }
    switch (call.of->function) {
      case Function::Add:
      case Function::Subtract:
        return is_real ? fails : in_range(call, std::max(bits_of(0), bits_of(1)) + 1);
      case Function::Multiply:
        // The least numbers of both have a product of one bit more.
        return is_real ? fails : in_range(call, bits_of(0) + bits_of(1) + 1);
      case Function::IntegerDivide:
      case Function::Remainder:
      case Function::DecimalDivide:
        if (call.of->settings.tells_zero && !is_not_zero(call.inputs[1])) return fails;
        if (call.of->function == Function::DecimalDivide) return huge_bits;
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
        if (call.of->settings.of_texts != nullptr) return fails;
        // Truths have one bit.
        if (line.result == ResultKind::Integer && call.of->values == ValueKind::Integer &&
            call.of->function < Function::Concat)
          return 1;
        return call.of->settings.most_bytes != 0 ? fails : narrow_bits;
    }
  };
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Expression& of = instructions_[i].of;
    switch (of->kind) {
      case Expression::Kind::Column:
        if (of->values != ValueKind::Integer) break;
        bits[i] = static_cast<int>(of->column.width * 8) -
                  (of->column.integer && of->column.type == Type::Unsigned ? 0 : 1);
        break;
      case Expression::Kind::OfColumn:
        if (dynamic_cast<const AscendingFunction*>(of->of_column.get()) == nullptr) return true;
        break;
      case Expression::Kind::Constant:
        bits[i] = of->huge == HugeInteger() ? bits_of_magnitude(of->integer) : huge_bits;
        break;
      case Expression::Kind::Null:
        bits[i] = 0;
        break;
      case Expression::Kind::Matches:
        bits[i] = 1;
        break;
      case Expression::Kind::Call:
        bits[i] = bits_of_call(instructions_[i]);
        break;
    }
    if (bits[i] >= fails) return true;
  }
  return false;
}

}  // namespace hailstone
