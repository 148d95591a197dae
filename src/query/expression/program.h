// Expressions over the columns of a batch, as a list of instructions, each of which computes one register
// from earlier ones, for all rows of the batch. Equal instructions are one. Immutable once it is made, shared
// by threads; each of them runs it by an Evaluator of its own.
//
// What a program computes is exact or marked (Failure): where a row's result leaves 64 bits, divides by zero,
// or is a value that a ColumnFunction cannot tell. A failure belongs to its row and register, and goes on to
// the registers that are made of it, but not where the embedding application would not have looked: behind
// what decides AND or OR, in what CASE does not take, compared with a first NULL.
//
// Truth is an Integer register: 0, 1 or NULL.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "column/predicate.h"
#include "table/scan.h"

namespace hailstone {

/// Why a row's value in a register is not the whole answer.
using Failure = uint8_t;
/// So many divisions by zero, or other reasons for a value to be NULL, of which the embedding application is
/// to warn.
constexpr Failure most_warnings = 0x7f;
/// The value is not known here: the embedding application is to be asked.
constexpr Failure unknown_value = 0x80;
/// It may have more than 64 bits.
constexpr Failure wide_value = 0xff;
/// Of what is made of two values.
constexpr Failure both_failures(Failure one, Failure other) {
  if (((one | other) & unknown_value) != 0) return std::max(one, other);
  return static_cast<Failure>(std::min<unsigned>(one + other, most_warnings));
}

/// A whole number made of a stored value, by the embedding application's rules. Thread-safe. Of a column of
/// strings that is stored as codes it is asked once a code.
class ColumnFunction {
 public:
  virtual ~ColumnFunction() = default;
  /// Nothing: not to be told here. Of a value that is not NULL, of an Integer or a Bytes column.
  virtual std::optional<int64_t> of(const Value& value) const = 0;
  /// Sets bits in `unknown` for ordered values that are not to be told; their numbers are any.
  virtual void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const;
};

/// A whole number made of one or two others. Thread-safe.
class NumberFunction {
 public:
  enum class State : uint8_t {
    Known,
    Null,     // of which the embedding application warns once
    Unknown,  // not to be told here
  };
  virtual ~NumberFunction() = default;
  /// Of `rows` numbers each, which may be any where they are a NULL's; `second`: null where there is but one.
  /// Where `state` becomes another one than Known, the number is any.
  virtual void of_all(uint32_t rows, const int64_t* first, const int64_t* second, int64_t* to,
                      State* state) const = 0;
};

class Program {
 public:
  enum class Kind : uint8_t { Integer, Real };
  using Register = uint16_t;
  static constexpr Register none = 0xffff;

  enum class Opcode : uint8_t {
    Column,    // numbers of a column
    Function,  // a ColumnFunction of a column
    Constant,
    Null,
    Matches,  // whether a predicate of a single leaf is true: 0 or 1
    // Of two Integer or two Real registers.
    Add,
    Subtract,
    Multiply,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    SameOrNull,  // <=>: never NULL
    Between,     // the first, between the two others
    Divide,      // Real only
    // Integer only.
    IntegerDivide,
    Remainder,    // the dividend's sign
    NotNegative,  // the number itself; unknown below 0
    And,
    Or,
    Not,
    IsTrue,     // 0 or 1
    IsNull,     // 0 or 1; of both kinds
    ToReal,     // whole numbers below 2^53 divided by a power of ten: `integer`, from 1 to 10^22
    Choose,     // first where it is true, then the second, else the third
    Coalesce,   // the first where it is not NULL, else the second
    Silenced,   // the number itself, whose failures another register has
    Apply,      // a NumberFunction of one or two Integer registers; Integer
    Otherwise,  // the first where it has no failure, else the second, of which nobody wants to know failures
  };

  struct Instruction {
    Opcode operation = Opcode::Null;
    Kind kind = Kind::Integer;
    bool tells_zero = false;  // of divisions: one by zero is a failure, and not just NULL
    std::array<Register, 3> inputs{none, none, none};
    uint16_t position = 0;  // of the column among the batch's
    ScanColumn column = {};
    int64_t integer = 0;
    double real = 0;
    std::shared_ptr<const ColumnFunction> function = nullptr;
    std::shared_ptr<const NumberFunction> applied = nullptr;
    std::shared_ptr<const Predicate> predicate = nullptr;
  };

  /// Of a column of Signed, Unsigned, Float or Double; Unsigned values beyond int64_t are wide.
  Register column(uint16_t position, const ScanColumn& column);
  Register function(uint16_t position, const ScanColumn& column,
                    std::shared_ptr<const ColumnFunction> function);
  Register constant(int64_t value);
  Register constant(double value);
  Register null(Kind kind);
  /// `predicate` is Always, Never or one leaf, which reads the column at `position`.
  Register matches(const Predicate& predicate, uint16_t position, const ScanColumn& column);
  /// The operations from Add on but divisions; all inputs but a condition of Choose are of one kind.
  Register call(Opcode operation, std::span<const Register> inputs);
  /// Divide, IntegerDivide or Remainder. By zero it is NULL; `tells_zero`: and a failure.
  Register divide(Opcode operation, Register dividend, Register divisor, bool tells_zero);
  Register to_real(Register number, int64_t divisor);
  /// `second`: of a function of two numbers, which is asked only where the first is not NULL.
  Register apply(std::shared_ptr<const NumberFunction> function, Register first, Register second = none);

  /// Whether a row of the columns may have a failure.
  bool may_fail() const;

  Kind kind(Register number) const { return instructions_[number].kind; }
  std::span<const Instruction> instructions() const { return instructions_; }

 private:
  Register add(Instruction instruction);
  std::vector<Instruction> instructions_;
};

}  // namespace hailstone
