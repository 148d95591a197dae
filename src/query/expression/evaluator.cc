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

void copy_failures(const Computed& from, uint32_t rows, Computed& to) {
  to.any_failures = from.any_failures;
  if (to.any_failures) std::copy_n(from.failures.begin(), rows, to.failures.begin());
}

void copy_marks(const Computed& from, uint32_t rows, Computed& to) {
  copy_nulls(from.nulls.data(), from.any_nulls, rows, to);
  copy_failures(from, rows, to);
}

/// Of each row what `failure` says.
template <typename Of>
void make_failures(uint32_t rows, Computed& to, Of&& failure) {
  to.any_failures = true;
  for (uint32_t row = 0; row < rows; ++row) to.failures[row] = failure(row);
}

/// Of what is made of two values.
void unite_failures(const Computed& left, const Computed& right, uint32_t rows, Computed& to) {
  to.any_failures = left.any_failures || right.any_failures;
  if (!to.any_failures) return;
  make_failures(rows, to, [&](uint32_t row) { return both_failures(left.failure(row), right.failure(row)); });
}

/// One more, of a row whose value is not NULL.
void add_failure(Computed& to, uint32_t rows, uint32_t row, Failure failure) {
  if (!to.any_failures) {
    to.any_failures = true;
    std::fill_n(to.failures.begin(), rows, Failure{0});
  }
  to.failures[row] = both_failures(to.failures[row], failure);
}

void add_null(Computed& to, uint32_t rows, uint32_t row) {
  if (!to.any_nulls) {
    to.any_nulls = true;
    std::fill_n(to.nulls.begin(), rows, uint8_t{0});
  }
  to.nulls[row] = 1;
}

/// What leaves the numbers of DOUBLE is an error of the embedding application.
void mark_infinite(uint32_t rows, Computed& to) {
  // A sum of what is no number is none.
  double all = 0;
  for (uint32_t row = 0; row < rows; ++row) all += to.reals[row] * 0;
  if (all == 0) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (!std::isfinite(to.reals[row]) && !to.is_null(row)) add_failure(to, rows, row, unknown_value);
  }
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
    case Opcode::Greater:
      return compare_all(left, right, rows, to, [](T a, T b) { return a > b; });
    case Opcode::GreaterEqual:
      return compare_all(left, right, rows, to, [](T a, T b) { return a >= b; });
    default:
      return compare_all(left, right, rows, to, [](T a, T b) { return a == b; });
  }
}

/// What may leave 64 bits. False: it does.
bool calculate_one(Opcode operation, int64_t left, int64_t right, int64_t& to) {
  switch (operation) {
    case Opcode::Add:
      return !__builtin_add_overflow(left, right, &to);
    case Opcode::Subtract:
      return !__builtin_sub_overflow(left, right, &to);
    default:
      return !__builtin_mul_overflow(left, right, &to);
  }
}

/// By what is not 0.
int64_t divide_one(Opcode operation, int64_t dividend, int64_t divisor) {
  if (operation == Opcode::IntegerDivide) return dividend / divisor;
  return divisor == -1 ? 0 : dividend % divisor;
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Program> program)
    : program_(std::move(program)), unknown_(batch_rows), states_(batch_rows) {
  const auto instructions = program_->instructions();
  registers_.resize(instructions.size());
  codes_.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Program::Instruction& instruction = instructions[i];
    Computed& to = registers_[i];
    to.nulls.resize(batch_rows);
    to.failures.resize(batch_rows);
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

void Evaluator::run(const RowBatch& batch) {
  const auto instructions = program_->instructions();
  for (size_t i = 0; i < instructions.size(); ++i) execute(instructions[i], i, batch);
}

void Evaluator::execute(const Program::Instruction& instruction, size_t number, const RowBatch& batch) {
  Computed& to = registers_[number];
  switch (instruction.operation) {
    case Opcode::Column:
      return load_column(instruction, *batch.columns[instruction.position], batch.rows, to);
    case Opcode::Function:
      return apply_function(instruction, codes_[number], *batch.columns[instruction.position], batch.rows,
                            to);
    case Opcode::Matches:
      return match(instruction, codes_[number], *batch.columns[instruction.position], batch.rows, to);
    case Opcode::Constant:
    case Opcode::Null:
      return;
    case Opcode::Add:
    case Opcode::Subtract:
    case Opcode::Multiply:
      return calculate(instruction, batch.rows, to);
    case Opcode::Divide:
    case Opcode::IntegerDivide:
    case Opcode::Remainder:
      return divide(instruction, batch.rows, to);
    case Opcode::Equal:
    case Opcode::NotEqual:
    case Opcode::Less:
    case Opcode::LessEqual:
    case Opcode::Greater:
    case Opcode::GreaterEqual:
    case Opcode::SameOrNull:
      return compare(instruction, batch.rows, to);
    case Opcode::Between:
      return compare_with_both(instruction, batch.rows, to);
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Not:
    case Opcode::IsTrue:
    case Opcode::IsNull:
      return combine_truths(instruction, batch.rows, to);
    case Opcode::NotNegative:
      return check_sign(instruction, batch.rows, to);
    case Opcode::ToReal:
      return to_real(instruction, batch.rows, to);
    case Opcode::Choose:
      return choose(instruction, batch.rows, to);
    case Opcode::Coalesce:
      return choose_first(instruction, batch.rows, to);
    case Opcode::Apply:
      return apply_to_numbers(instruction, batch.rows, to);
    case Opcode::Otherwise:
      return replace_failures(instruction, batch.rows, to);
    case Opcode::Silenced: {
      const Computed& from = input(instruction, 0);
      if (instruction.kind == Program::Kind::Real) {
        std::copy_n(from.reals.begin(), batch.rows, to.reals.begin());
      } else {
        std::copy_n(from.integers.begin(), batch.rows, to.integers.begin());
      }
      return copy_nulls(from.nulls.data(), from.any_nulls, batch.rows, to);
    }
  }
}

void Evaluator::load_column(const Program::Instruction& instruction, const ColumnVector& vector,
                            uint32_t rows, Computed& to) {
  copy_nulls(vector.nulls.data(), vector.any_nulls, rows, to);
  to.any_failures = false;
  const uint64_t* const values = vector.integers.data();
  switch (instruction.column.type) {
    case Type::Float:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_float(values[row]);
      return;
    case Type::Double:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_double(values[row]);
      return;
    case Type::Signed: {
      const auto bias = static_cast<int64_t>(sign_of_width(instruction.column.width));
      // Of eight bytes the bias is the sign, and takes itself away.
      if (instruction.column.width == sizeof(uint64_t)) {
        for (uint32_t row = 0; row < rows; ++row)
          to.integers[row] = static_cast<int64_t>(values[row] ^ sign_of_width(sizeof(uint64_t)));
      } else {
        for (uint32_t row = 0; row < rows; ++row) to.integers[row] = static_cast<int64_t>(values[row]) - bias;
      }
      return;
    }
    default:
      break;
  }
  uint64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    to.integers[row] = static_cast<int64_t>(values[row]);
    all |= values[row];
  }
  if (all >> 63 == 0) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (values[row] >> 63 != 0 && !to.is_null(row)) add_failure(to, rows, row, wide_value);
  }
}

void Evaluator::apply_function(const Program::Instruction& instruction, Codes& codes,
                               const ColumnVector& vector, uint32_t rows, Computed& to) {
  copy_nulls(vector.nulls.data(), vector.any_nulls, rows, to);
  to.any_failures = false;
  const ColumnFunction& function = *instruction.function;
  if (vector.dictionary != nullptr) {
    if (codes.dictionary != vector.dictionary) {
      codes.dictionary = vector.dictionary;
      codes.numbers.resize(vector.dictionary->size());
      codes.known.assign(vector.dictionary->size(), unasked);
    }
    for (uint32_t row = 0; row < rows; ++row) {
      if (to.is_null(row)) continue;
      const uint32_t code = vector.codes[row];
      if (codes.known[code] == unasked) {
        const auto number = function.of(Value::of(vector.dictionary->value(code)));
        codes.numbers[code] = number.value_or(0);
        codes.known[code] = number ? known : not_told;
      }
      if (codes.known[code] == not_told) add_failure(to, rows, row, unknown_value);
      to.integers[row] = codes.numbers[code];
    }
    return;
  }
  if (instruction.column.integer) {
    function.of_all({vector.integers.data(), rows}, to.integers.data(), unknown_.data());
    uint8_t any = 0;
    for (uint32_t row = 0; row < rows; ++row) any |= unknown_[row];
    for (uint32_t row = 0; any != 0 && row < rows; ++row) {
      if (unknown_[row] != 0 && !to.is_null(row)) add_failure(to, rows, row, unknown_value);
    }
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (to.is_null(row)) continue;
    const auto number = function.of(Value::of(vector.bytes[row]));
    to.integers[row] = number.value_or(0);
    if (!number) add_failure(to, rows, row, unknown_value);
  }
}

void Evaluator::apply_to_numbers(const Program::Instruction& instruction, uint32_t rows, Computed& to) {
  const Computed& first = input(instruction, 0);
  if (const bool is_of_one = instruction.inputs[1] == Program::none; is_of_one) {
    copy_marks(first, rows, to);
    instruction.applied->of_all(rows, first.integers.data(), nullptr, to.integers.data(), states_.data());
  } else {
    const Computed& second = input(instruction, 1);
    unite_nulls(first, second, rows, to);
    to.any_failures = first.any_failures || second.any_failures;
    if (to.any_failures) {
      make_failures(rows, to, [&](uint32_t row) {
        return first.is_null(row) ? first.failure(row)
                                  : both_failures(first.failure(row), second.failure(row));
      });
    }
    instruction.applied->of_all(rows, first.integers.data(), second.integers.data(), to.integers.data(),
                                states_.data());
  }
  const auto is_known = [](NumberFunction::State state) { return state == NumberFunction::State::Known; };
  if (std::all_of(states_.begin(), states_.begin() + rows, is_known)) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (is_known(states_[row]) || to.is_null(row)) continue;
    const bool is_null = states_[row] == NumberFunction::State::Null;
    add_failure(to, rows, row, is_null ? Failure{1} : unknown_value);
    if (is_null) add_null(to, rows, row);
  }
}

void Evaluator::replace_failures(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& first = input(instruction, 0);
  const Computed& second = input(instruction, 1);
  const auto choose = [&](const auto& one, const auto& other, auto& chosen) {
    for (uint32_t row = 0; row < rows; ++row) chosen[row] = first.failure(row) == 0 ? one[row] : other[row];
  };
  if (instruction.kind == Program::Kind::Real) {
    choose(first.reals, second.reals, to.reals);
  } else {
    choose(first.integers, second.integers, to.integers);
  }
  to.any_failures = false;
  to.any_nulls = first.any_nulls || second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < rows; ++row)
    to.nulls[row] = (first.failure(row) == 0 ? first : second).is_null(row) ? 1 : 0;
}

void Evaluator::match(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector,
                      uint32_t rows, Computed& to) {
  const Predicate& predicate = *instruction.predicate;
  to.any_nulls = false;
  to.any_failures = false;
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

void Evaluator::calculate(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& left = input(instruction, 0);
  const Computed& right = input(instruction, 1);
  const Opcode operation = instruction.operation;
  unite_nulls(left, right, rows, to);
  unite_failures(left, right, rows, to);
  if (instruction.kind == Program::Kind::Real) {
    const double* const a = left.reals.data();
    const double* const b = right.reals.data();
    double* const c = to.reals.data();
    if (operation == Opcode::Add) {
      for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] + b[row];
    } else if (operation == Opcode::Subtract) {
      for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] - b[row];
    } else {
      for (uint32_t row = 0; row < rows; ++row) c[row] = a[row] * b[row];
    }
    return mark_infinite(rows, to);
  }
  const int64_t* const a = left.integers.data();
  const int64_t* const b = right.integers.data();
  int64_t* const c = to.integers.data();
  const bool multiplies = operation == Opcode::Multiply;
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
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (!to.is_null(row) && !calculate_one(operation, a[row], b[row], c[row]))
      add_failure(to, rows, row, wide_value);
  }
}

void Evaluator::divide(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& left = input(instruction, 0);
  const Computed& right = input(instruction, 1);
  unite_nulls(left, right, rows, to);
  unite_failures(left, right, rows, to);
  const auto divide_by_zero = [&](uint32_t row) {
    if (to.is_null(row)) return;
    if (instruction.tells_zero) add_failure(to, rows, row, Failure{1});
    if (!to.any_nulls) {
      to.any_nulls = true;
      std::fill_n(to.nulls.begin(), rows, uint8_t{0});
    }
    to.nulls[row] = 1;
  };
  if (instruction.kind == Program::Kind::Real) {
    for (uint32_t row = 0; row < rows; ++row) {
      const double divisor = right.reals[row];
      to.reals[row] = divisor == 0 ? 0 : left.reals[row] / divisor;
      if (divisor == 0) divide_by_zero(row);
    }
    return mark_infinite(rows, to);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    const int64_t dividend = left.integers[row], divisor = right.integers[row];
    to.integers[row] = 0;
    if (divisor == 0) {
      divide_by_zero(row);
    } else if (divisor == -1 && dividend == INT64_MIN && instruction.operation == Opcode::IntegerDivide) {
      if (!to.is_null(row)) add_failure(to, rows, row, wide_value);
    } else {
      to.integers[row] = divide_one(instruction.operation, dividend, divisor);
    }
  }
}

void Evaluator::compare(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& left = input(instruction, 0);
  const Computed& right = input(instruction, 1);
  if (program_->kind(instruction.inputs[0]) == Program::Kind::Real) {
    compare_numbers(instruction.operation, left.reals.data(), right.reals.data(), rows, to.integers.data());
  } else {
    compare_numbers(instruction.operation, left.integers.data(), right.integers.data(), rows,
                    to.integers.data());
  }
  unite_failures(left, right, rows, to);
  if (instruction.operation != Opcode::SameOrNull) {
    // Behind a first NULL the second is not looked at.
    for (uint32_t row = 0; right.any_failures && row < rows; ++row) {
      if (left.is_null(row)) to.failures[row] = left.failure(row);
    }
    return unite_nulls(left, right, rows, to);
  }
  to.any_nulls = false;
  if (!left.any_nulls && !right.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool left_null = left.is_null(row), right_null = right.is_null(row);
    if (left_null || right_null) to.integers[row] = left_null && right_null ? 1 : 0;
  }
}

void Evaluator::compare_with_both(const Program::Instruction& instruction, uint32_t rows,
                                  Computed& to) const {
  const Computed& value = input(instruction, 0);
  const Computed& low = input(instruction, 1);
  const Computed& high = input(instruction, 2);
  const auto look = [&](const auto* values, const auto* lows, const auto* highs) {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = lows[row] <= values[row] && values[row] <= highs[row] ? 1 : 0;
    to.any_nulls = value.any_nulls || low.any_nulls || high.any_nulls;
    if (!to.any_nulls) return;
    for (uint32_t row = 0; row < rows; ++row) {
      // One bound may decide alone.
      const bool out =
          (!low.is_null(row) && values[row] < lows[row]) || (!high.is_null(row) && highs[row] < values[row]);
      const bool unsure = value.is_null(row) || low.is_null(row) || high.is_null(row);
      to.nulls[row] = value.is_null(row) || (unsure && !out) ? 1 : 0;
      if (unsure) to.integers[row] = 0;
    }
  };
  if (program_->kind(instruction.inputs[0]) == Program::Kind::Real) {
    look(value.reals.data(), low.reals.data(), high.reals.data());
  } else {
    look(value.integers.data(), low.integers.data(), high.integers.data());
  }
  to.any_failures = value.any_failures || low.any_failures || high.any_failures;
  if (!to.any_failures) return;
  make_failures(rows, to, [&](uint32_t row) {
    if (value.is_null(row)) return value.failure(row);
    return both_failures(value.failure(row), both_failures(low.failure(row), high.failure(row)));
  });
}

void Evaluator::combine_truths(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& left = input(instruction, 0);
  const Opcode operation = instruction.operation;
  to.any_nulls = false;
  if (operation != Opcode::And && operation != Opcode::Or) copy_failures(left, rows, to);
  if (operation == Opcode::IsNull) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = left.is_null(row) ? 1 : 0;
    return;
  }
  const int64_t* const a = left.integers.data();
  if (operation == Opcode::IsTrue) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = a[row] != 0 && !left.is_null(row) ? 1 : 0;
    return;
  }
  if (operation == Opcode::Not) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = a[row] == 0 ? 1 : 0;
    return copy_nulls(left.nulls.data(), left.any_nulls, rows, to);
  }
  const Computed& right = input(instruction, 1);
  const int64_t* const b = right.integers.data();
  const bool both = operation == Opcode::And;
  to.any_failures = left.any_failures || right.any_failures;
  if (to.any_failures) {
    make_failures(rows, to, [&](uint32_t row) {
      const bool decided = !left.is_null(row) && (a[row] != 0) != both;
      return decided ? left.failure(row) : both_failures(left.failure(row), right.failure(row));
    });
  }
  if (!left.any_nulls && !right.any_nulls) {
    for (uint32_t row = 0; row < rows; ++row) {
      const bool x = a[row] != 0, y = b[row] != 0;
      to.integers[row] = (both ? x && y : x || y) ? 1 : 0;
    }
    return;
  }
  to.any_nulls = true;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool left_null = left.is_null(row), right_null = right.is_null(row);
    // What decides alone is FALSE for And, TRUE for Or.
    const bool decided = (!left_null && (a[row] != 0) != both) || (!right_null && (b[row] != 0) != both);
    to.integers[row] = decided != both ? 1 : 0;
    to.nulls[row] = !decided && (left_null || right_null) ? 1 : 0;
  }
}

void Evaluator::check_sign(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& from = input(instruction, 0);
  copy_marks(from, rows, to);
  int64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row) all |= to.integers[row] = from.integers[row];
  if (all >= 0) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (to.integers[row] < 0 && !to.is_null(row)) add_failure(to, rows, row, unknown_value);
  }
}

void Evaluator::to_real(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& from = input(instruction, 0);
  constexpr int exact_bits = 53;
  copy_marks(from, rows, to);
  const auto divisor = static_cast<double>(instruction.integer);
  for (uint32_t row = 0; row < rows; ++row) to.reals[row] = static_cast<double>(from.integers[row]) / divisor;
  // A whole number is rounded once; with a division behind it, twice.
  if (instruction.integer == 1 || bits_of(from.integers.data(), rows) <= exact_bits) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (bits_of(from.integers.data() + row, 1) > exact_bits && !to.is_null(row))
      add_failure(to, rows, row, unknown_value);
  }
}

void Evaluator::choose(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& condition = input(instruction, 0);
  const Computed& first = input(instruction, 1);
  const Computed& second = input(instruction, 2);
  const auto is_true = [&](uint32_t row) { return condition.integers[row] != 0 && !condition.is_null(row); };
  if (instruction.kind == Program::Kind::Real) {
    for (uint32_t row = 0; row < rows; ++row)
      to.reals[row] = is_true(row) ? first.reals[row] : second.reals[row];
  } else {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = is_true(row) ? first.integers[row] : second.integers[row];
  }
  to.any_nulls = first.any_nulls || second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < rows; ++row)
    to.nulls[row] = (is_true(row) ? first : second).is_null(row) ? 1 : 0;
  to.any_failures = condition.any_failures || first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  make_failures(rows, to, [&](uint32_t row) {
    return both_failures(condition.failure(row), (is_true(row) ? first : second).failure(row));
  });
}

void Evaluator::choose_first(const Program::Instruction& instruction, uint32_t rows, Computed& to) const {
  const Computed& first = input(instruction, 0);
  const Computed& second = input(instruction, 1);
  if (instruction.kind == Program::Kind::Real) {
    for (uint32_t row = 0; row < rows; ++row)
      to.reals[row] = first.is_null(row) ? second.reals[row] : first.reals[row];
  } else {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = first.is_null(row) ? second.integers[row] : first.integers[row];
  }
  to.any_nulls = first.any_nulls && second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < rows; ++row)
    to.nulls[row] = first.is_null(row) && second.is_null(row) ? 1 : 0;
  to.any_failures = first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  make_failures(rows, to, [&](uint32_t row) {
    return first.is_null(row) ? both_failures(first.failure(row), second.failure(row)) : first.failure(row);
  });
}

}  // namespace hailstone
