#include "query/expression/evaluator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace hailstone {

namespace {

using Opcode = Program::Opcode;

/// Numbers of fewer bits than this have sums and differences of 64 bits.
constexpr int bits_of_addend = 62;
/// Products have at most as many bits as both factors together; but -2^a * -2^b, one more.
constexpr int bits_of_product = 62;

constexpr uint8_t unasked = 0, known = 1, not_told = 2;

/// How many bits the greatest magnitude among the numbers takes, about.
int bits_of(const int64_t* numbers, uint32_t rows) {
  uint64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row)
    all |= static_cast<uint64_t>(numbers[row] < 0 ? ~numbers[row] : numbers[row]);
  return static_cast<int>(std::bit_width(all));
}

void unite_nulls(const Computed& left, const Computed& right, uint32_t rows, Computed& to) {
  to.any_nulls = left.any_nulls || right.any_nulls;
  if (!to.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    to.nulls[row] = static_cast<uint8_t>((left.any_nulls ? left.nulls[row] : 0) |
                                         (right.any_nulls ? right.nulls[row] : 0));
  }
}

void copy_nulls(const uint8_t* nulls, bool any, uint32_t rows, Computed& to) {
  to.any_nulls = any;
  if (any) std::copy_n(nulls, rows, to.nulls.begin());
}

uint8_t null_at(const Computed& of, uint32_t row) { return of.any_nulls ? of.nulls[row] : uint8_t{0}; }

/// Whether a live row is among those with `wrong` set.
bool any_live(const uint8_t* wrong, const std::vector<uint8_t>& live, uint32_t rows) {
  uint8_t any = 0;
  for (uint32_t row = 0; row < rows; ++row)
    any |= static_cast<uint8_t>((wrong[row] != 0 ? 1 : 0) & live[row]);
  return any != 0;
}

template <typename T, typename Compare>
void compare_all(const T* left, const T* right, uint32_t rows, int64_t* to, Compare compare) {
  for (uint32_t row = 0; row < rows; ++row) to[row] = compare(left[row], right[row]) ? 1 : 0;
}

template <typename T>
void compare_numbers(Opcode operation, const T* left, const T* right, uint32_t rows, int64_t* to) {
  switch (operation) {
    case Opcode::NotEqual:
      return compare_all(left, right, rows, to, [](T a, T b) { return a != b; });
    case Opcode::Less:
      return compare_all(left, right, rows, to, [](T a, T b) { return a < b; });
    case Opcode::LessEqual:
      return compare_all(left, right, rows, to, [](T a, T b) { return a <= b; });
    default:
      return compare_all(left, right, rows, to, [](T a, T b) { return a == b; });
  }
}

/// One row of IntegerDivide, Remainder and what may leave 64 bits. False: out of range.
bool calculate_one(Opcode operation, int64_t left, int64_t right, int64_t& to) {
  switch (operation) {
    case Opcode::Add:
      return !__builtin_add_overflow(left, right, &to);
    case Opcode::Subtract:
      return !__builtin_sub_overflow(left, right, &to);
    case Opcode::Multiply:
      return !__builtin_mul_overflow(left, right, &to);
    case Opcode::IntegerDivide:
      if (right == 0 || (right == -1 && left == INT64_MIN)) return false;
      to = left / right;
      return true;
    default:
      if (right == 0) return false;
      to = right == -1 ? 0 : left % right;
      return true;
  }
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Program> program)
    : program_(std::move(program)), live_(batch_rows), unknown_(batch_rows) {
  const auto instructions = program_->instructions();
  registers_.resize(instructions.size());
  codes_.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Program::Instruction& instruction = instructions[i];
    Computed& to = registers_[i];
    to.nulls.resize(batch_rows);
    if (instruction.kind == Program::Kind::Integer) {
      to.integers.resize(batch_rows, instruction.integer);
    } else {
      to.reals.resize(batch_rows, instruction.real);
    }
    if (instruction.operation == Opcode::Null) {
      to.any_nulls = true;
      std::ranges::fill(to.nulls, uint8_t{1});
    }
  }
}

Status Evaluator::run(const RowBatch& batch) {
  const auto instructions = program_->instructions();
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!execute(instructions[i], i, batch)) {
      return fail(ErrorCode::Unsupported, "an expression has a value that it is not computed for here");
    }
  }
  return {};
}

bool Evaluator::execute(const Program::Instruction& instruction, size_t number, const RowBatch& batch) {
  Computed& to = registers_[number];
  switch (instruction.operation) {
    case Opcode::Column:
      return load_column(instruction, *batch.columns[instruction.position], batch.rows, to);
    case Opcode::Function:
      return apply_function(instruction, codes_[number], *batch.columns[instruction.position], batch.rows,
                            to);
    case Opcode::Matches:
      match(instruction, codes_[number], *batch.columns[instruction.position], batch.rows, to);
      return true;
    case Opcode::Constant:
    case Opcode::Null:
      return true;
    case Opcode::Add:
    case Opcode::Subtract:
    case Opcode::Multiply:
    case Opcode::Divide:
    case Opcode::IntegerDivide:
    case Opcode::Remainder:
      return calculate(instruction, batch.rows, to);
    case Opcode::Equal:
    case Opcode::NotEqual:
    case Opcode::Less:
    case Opcode::LessEqual:
    case Opcode::SameOrNull:
      compare(instruction, batch.rows, to);
      return true;
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Not:
    case Opcode::IsTrue:
    case Opcode::IsNull:
      combine_truths(instruction, batch.rows, to);
      return true;
    case Opcode::NotNegative:
      return check_sign(instruction, batch.rows, to);
    case Opcode::ToReal:
      return to_real(instruction, batch.rows, to);
    case Opcode::Choose:
      choose(instruction, batch.rows, to);
      return true;
  }
  return false;
}

void Evaluator::find_live(const Program::Instruction& instruction, const Computed& of, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row) live_[row] = of.any_nulls ? of.nulls[row] ^ 1U : 1U;
  if (instruction.mask == Program::none) return;
  const int64_t* const mask = registers_[instruction.mask].integers.data();
  for (uint32_t row = 0; row < rows; ++row) live_[row] &= static_cast<uint8_t>(mask[row]);
}

bool Evaluator::load_column(const Program::Instruction& instruction, const ColumnVector& vector,
                            uint32_t rows, Computed& to) {
  copy_nulls(vector.nulls.data(), vector.any_nulls, rows, to);
  const uint64_t* const values = vector.integers.data();
  switch (instruction.column.type) {
    case Type::Float:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_float(values[row]);
      return true;
    case Type::Double:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_double(values[row]);
      return true;
    case Type::Signed: {
      const auto bias = static_cast<int64_t>(sign_of_width(instruction.column.width));
      // Of eight bytes the bias is the sign, and takes itself away.
      if (instruction.column.width == sizeof(uint64_t)) {
        for (uint32_t row = 0; row < rows; ++row)
          to.integers[row] = static_cast<int64_t>(values[row] ^ sign_of_width(sizeof(uint64_t)));
      } else {
        for (uint32_t row = 0; row < rows; ++row) to.integers[row] = static_cast<int64_t>(values[row]) - bias;
      }
      return true;
    }
    default:
      break;
  }
  uint64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    to.integers[row] = static_cast<int64_t>(values[row]);
    all |= values[row];
  }
  if (all >> 63 == 0) return true;
  find_live(instruction, to, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (live_[row] != 0 && values[row] >> 63 != 0) return false;
  }
  return true;
}

bool Evaluator::apply_function(const Program::Instruction& instruction, Codes& codes,
                               const ColumnVector& vector, uint32_t rows, Computed& to) {
  copy_nulls(vector.nulls.data(), vector.any_nulls, rows, to);
  find_live(instruction, to, rows);
  const ColumnFunction& function = *instruction.function;
  if (vector.dictionary != nullptr) {
    if (codes.dictionary != vector.dictionary) {
      codes.dictionary = vector.dictionary;
      codes.numbers.resize(vector.dictionary->size());
      codes.known.assign(vector.dictionary->size(), unasked);
    }
    for (uint32_t row = 0; row < rows; ++row) {
      if (live_[row] == 0) continue;
      const uint32_t code = vector.codes[row];
      if (codes.known[code] == unasked) {
        const auto number = function.of(Value::of(vector.dictionary->value(code)));
        codes.numbers[code] = number.value_or(0);
        codes.known[code] = number ? known : not_told;
      }
      if (codes.known[code] == not_told) return false;
      to.integers[row] = codes.numbers[code];
    }
    return true;
  }
  if (instruction.column.integer) {
    function.of_all({vector.integers.data(), rows}, to.integers.data(), unknown_.data());
    return !any_live(unknown_.data(), live_, rows);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (live_[row] == 0) continue;
    const auto number = function.of(Value::of(vector.bytes[row]));
    if (!number) return false;
    to.integers[row] = *number;
  }
  return true;
}

void Evaluator::match(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector,
                      uint32_t rows, Computed& to) {
  const Predicate& predicate = *instruction.predicate;
  to.any_nulls = false;
  if (predicate.kind() == Predicate::Kind::IsNull || predicate.kind() == Predicate::Kind::IsNotNull) {
    const int64_t of_null = predicate.kind() == Predicate::Kind::IsNull ? 1 : 0;
    for (uint32_t row = 0; row < rows; ++row) {
      to.integers[row] = vector.is_null(row) ? of_null : 1 - of_null;
    }
    return;
  }
  if (vector.dictionary != nullptr) {
    if (codes.dictionary != vector.dictionary) {
      codes.dictionary = vector.dictionary;
      codes.known.assign(vector.dictionary->size(), unasked);
    }
    for (uint32_t row = 0; row < rows; ++row) {
      if (vector.is_null(row)) continue;
      uint8_t& code = codes.known[vector.codes[row]];
      if (code == unasked)
        code = predicate.test().matches(vector.dictionary->value(vector.codes[row])) ? known : not_told;
      to.integers[row] = code == known ? 1 : 0;
    }
  } else if (instruction.column.integer) {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = in_ranges(predicate.ranges(), vector.integers[row]) ? 1 : 0;
  } else {
    for (uint32_t row = 0; row < rows; ++row) {
      if (vector.is_null(row)) continue;
      to.integers[row] = predicate.test().matches(vector.bytes[row]) ? 1 : 0;
    }
  }
  if (!vector.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.nulls[row] != 0) to.integers[row] = 0;
  }
}

bool Evaluator::calculate(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& left = registers_[instruction.inputs[0]];
  const Computed& right = registers_[instruction.inputs[1]];
  const Opcode operation = instruction.operation;
  unite_nulls(left, right, rows, to);
  if (instruction.kind == Program::Kind::Real) {
    const double* const a = left.reals.data();
    const double* const b = right.reals.data();
    double* const c = to.reals.data();
    // A sum of what leaves the numbers is no number.
    double all = 0;
    for (uint32_t row = 0; row < rows; ++row) {
      switch (operation) {
        case Opcode::Add:
          c[row] = a[row] + b[row];
          break;
        case Opcode::Subtract:
          c[row] = a[row] - b[row];
          break;
        case Opcode::Multiply:
          c[row] = a[row] * b[row];
          break;
        default:
          c[row] = a[row] / b[row];
      }
      all += c[row] * 0;
    }
    if (all == 0) return true;
    find_live(instruction, to, rows);
    for (uint32_t row = 0; row < rows; ++row) {
      if (live_[row] != 0 && !std::isfinite(c[row])) return false;
    }
    return true;
  }
  const int64_t* const a = left.integers.data();
  const int64_t* const b = right.integers.data();
  int64_t* const c = to.integers.data();
  const bool multiplies = operation == Opcode::Multiply;
  if (multiplies || operation == Opcode::Add || operation == Opcode::Subtract) {
    const int left_bits = bits_of(a, rows), right_bits = bits_of(b, rows);
    const bool fits = multiplies ? left_bits + right_bits <= bits_of_product
                                 : std::max(left_bits, right_bits) <= bits_of_addend;
    if (fits) {
      if (multiplies) {
        for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] * b[row];
      } else if (operation == Opcode::Add) {
        for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] + b[row];
      } else {
        for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] - b[row];
      }
      return true;
    }
  }
  find_live(instruction, to, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    c[row] = 0;
    if (live_[row] != 0 && !calculate_one(operation, a[row], b[row], c[row])) return false;
  }
  return true;
}

void Evaluator::compare(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& left = registers_[instruction.inputs[0]];
  const Computed& right = registers_[instruction.inputs[1]];
  if (program_->kind(instruction.inputs[0]) == Program::Kind::Real) {
    compare_numbers(instruction.operation, left.reals.data(), right.reals.data(), rows, to.integers.data());
  } else {
    compare_numbers(instruction.operation, left.integers.data(), right.integers.data(), rows,
                    to.integers.data());
  }
  if (instruction.operation != Opcode::SameOrNull) return unite_nulls(left, right, rows, to);
  to.any_nulls = false;
  if (!left.any_nulls && !right.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool left_null = null_at(left, row) != 0, right_null = null_at(right, row) != 0;
    if (left_null || right_null) to.integers[row] = left_null && right_null ? 1 : 0;
  }
}

void Evaluator::combine_truths(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& left = registers_[instruction.inputs[0]];
  const Opcode operation = instruction.operation;
  to.any_nulls = false;
  if (operation == Opcode::IsNull) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = null_at(left, row);
    return;
  }
  const int64_t* const a = left.integers.data();
  if (operation == Opcode::IsTrue) {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = a[row] != 0 && null_at(left, row) == 0 ? 1 : 0;
    return;
  }
  if (operation == Opcode::Not) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = a[row] == 0 ? 1 : 0;
    return copy_nulls(left.nulls.data(), left.any_nulls, rows, to);
  }
  const Computed& right = registers_[instruction.inputs[1]];
  const int64_t* const b = right.integers.data();
  const bool both = operation == Opcode::And;
  if (!left.any_nulls && !right.any_nulls) {
    for (uint32_t row = 0; row < rows; ++row) {
      const bool x = a[row] != 0, y = b[row] != 0;
      to.integers[row] = (both ? x && y : x || y) ? 1 : 0;
    }
    return;
  }
  to.any_nulls = true;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool left_null = null_at(left, row) != 0, right_null = null_at(right, row) != 0;
    // What decides alone is FALSE for And, TRUE for Or.
    const bool decided = (!left_null && (a[row] != 0) != both) || (!right_null && (b[row] != 0) != both);
    to.integers[row] = decided != both ? 1 : 0;
    to.nulls[row] = !decided && (left_null || right_null) ? 1 : 0;
  }
}

bool Evaluator::check_sign(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& from = registers_[instruction.inputs[0]];
  copy_nulls(from.nulls.data(), from.any_nulls, rows, to);
  int64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row) all |= to.integers[row] = from.integers[row];
  if (all >= 0) return true;
  find_live(instruction, to, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (live_[row] != 0 && to.integers[row] < 0) return false;
  }
  return true;
}

bool Evaluator::to_real(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& from = registers_[instruction.inputs[0]];
  constexpr int exact_bits = 53;
  copy_nulls(from.nulls.data(), from.any_nulls, rows, to);
  const auto divisor = static_cast<double>(instruction.integer);
  for (uint32_t row = 0; row < rows; ++row) to.reals[row] = static_cast<double>(from.integers[row]) / divisor;
  // A whole number is rounded once; with a division behind it, twice.
  if (instruction.integer == 1 || bits_of(from.integers.data(), rows) <= exact_bits) return true;
  find_live(instruction, to, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (live_[row] != 0 && bits_of(from.integers.data() + row, 1) > exact_bits) return false;
  }
  return true;
}

void Evaluator::choose(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& condition = registers_[instruction.inputs[0]];
  const Computed& first = registers_[instruction.inputs[1]];
  const Computed& second = registers_[instruction.inputs[2]];
  const auto is_true = [&](uint32_t row) {
    return condition.integers[row] != 0 && null_at(condition, row) == 0;
  };
  if (instruction.kind == Program::Kind::Real) {
    for (uint32_t row = 0; row < rows; ++row)
      to.reals[row] = is_true(row) ? first.reals[row] : second.reals[row];
  } else {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = is_true(row) ? first.integers[row] : second.integers[row];
  }
  to.any_nulls = first.any_nulls || second.any_nulls;
  if (!to.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row)
    to.nulls[row] = is_true(row) ? null_at(first, row) : null_at(second, row);
}

}  // namespace hailstone
