// Expressions over the columns of a batch, as a list of instructions, each of which computes one register
// from earlier ones, for all rows of the batch. Equal instructions are one. Immutable once it is made, shared
// by threads; each of them runs it by an Evaluator of its own.
//
// What a program computes is exact or not at all: where a row's result leaves 64 bits, divides by zero, or
// is a value that a ColumnFunction cannot tell, the run ends with ErrorCode::Unsupported, and the caller
// computes in another way. A row for which an instruction's mask is 0 has any result, and never ends a run:
// so CASE does not compute what it does not take.
//
// Truth is an Integer register: 0, 1 or NULL.
#pragma once

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
    SameOrNull,  // <=>: never NULL
    Divide,      // Real only
    // Integer only.
    IntegerDivide,
    Remainder,    // the dividend's sign
    NotNegative,  // the number itself; out of range below 0
    And,
    Or,
    Not,
    IsTrue,  // 0 or 1
    IsNull,  // 0 or 1; of both kinds
    ToReal,  // whole numbers below 2^53 divided by a power of ten: `integer`, from 1 to 10^22
    Choose,  // first where it is true, then the second, else the third
  };

  struct Instruction {
    Opcode operation = Opcode::Null;
    Kind kind = Kind::Integer;
    Register mask = none;  // an Integer register without NULLs
    std::array<Register, 3> inputs{none, none, none};
    uint16_t position = 0;  // of the column among the batch's
    ScanColumn column = {};
    int64_t integer = 0;
    double real = 0;
    std::shared_ptr<const ColumnFunction> function = nullptr;
    std::shared_ptr<const Predicate> predicate = nullptr;
  };

  /// Of a column of Signed, Unsigned, Float or Double; Unsigned values beyond int64_t are out of range.
  Register column(uint16_t position, const ScanColumn& column, Register mask = none);
  Register function(uint16_t position, const ScanColumn& column,
                    std::shared_ptr<const ColumnFunction> function, Register mask = none);
  Register constant(int64_t value);
  Register constant(double value);
  Register null(Kind kind);
  /// `predicate` is Always, Never or one leaf, which reads the column at `position`.
  Register matches(const Predicate& predicate, uint16_t position, const ScanColumn& column);
  /// The operations from Add on; all inputs but a condition of Choose are of one kind.
  Register call(Opcode operation, std::span<const Register> inputs, Register mask = none);
  Register to_real(Register number, int64_t divisor, Register mask = none);

  /// Whether a row of the columns may end a run.
  bool may_end() const;

  Kind kind(Register number) const { return instructions_[number].kind; }
  std::span<const Instruction> instructions() const { return instructions_; }

 private:
  Register add(Instruction instruction);
  std::vector<Instruction> instructions_;
};

}  // namespace hailstone
