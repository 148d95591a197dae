// Expressions over the columns of a batch, as a list of instructions, each of which computes one register
// from earlier ones, for all rows of the batch. Equal instructions are one. Immutable once it is made, shared
// by threads; each of them runs it by an Evaluator of its own.
//
// What a program computes is exact or marked (Failure): where a row's result leaves 64 bits, divides by zero,
// or is a value that a ColumnFunction cannot tell. A failure belongs to its row and register. It goes on to
// the registers that are made of that one. It ends behind what decides AND or OR, in a branch that CASE does
// not take, and behind a first NULL of a comparison: the embedding application would not have looked there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "column/predicate.h"
#include "expression/computed.h"
#include "expression/function.h"
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
  /// Whether numbers may have more than 64 bits: huge_of() gives them, of Bytes columns only.
  virtual bool is_huge() const { return false; }
  virtual HugeInteger huge_of(ByteView value) const;
};

class Program {
 public:
  using Kind = ValueKind;
  using Register = uint16_t;
  static constexpr Register none = 0xffff;

  enum class Opcode : uint8_t {
    Column,    // values of a column
    OfColumn,  // a ColumnFunction of a column
    Constant,
    Null,
    Matches,  // whether a predicate of a single leaf is true: 0 or 1
    Call,     // of a Function
  };

  struct Instruction {
    Opcode operation = Opcode::Null;
    Kind kind = Kind::Integer;
    Function function = Function::Add;  // Call
    FunctionSettings settings = {};
    std::vector<Register> inputs = {};
    uint16_t position = 0;  // of the column among the batch's
    ScanColumn column = {};
    int64_t integer = 0;
    HugeInteger huge = {};  // of a Constant of more bits, in the place of `integer`
    double real = 0;
    std::string text = {};
    std::shared_ptr<const ColumnFunction> of_column = nullptr;
    std::shared_ptr<const Predicate> predicate = nullptr;
  };

  /// Of a column of Signed, Unsigned, Float or Double, or of bytes.
  Register column(uint16_t position, const ScanColumn& column);
  /// Of a column of OrderedBytes, of 16 or 32, which are a number (ordered_wide.h).
  Register column_of_numbers(uint16_t position, const ScanColumn& column);
  Register of_column(uint16_t position, const ScanColumn& column,
                     std::shared_ptr<const ColumnFunction> function);
  Register constant(int64_t value);
  Register constant(const HugeInteger& value);
  Register constant(double value);
  Register constant(std::string value);
  Register null(Kind kind);
  /// `predicate` is Always, Never or one leaf, which reads the column at `position`.
  Register matches(const Predicate& predicate, uint16_t position, const ScanColumn& column);
  /// The inputs are of the kinds that the function's line says.
  Register call(Function function, std::span<const Register> inputs, FunctionSettings settings = {});
  /// Divide, IntegerDivide or Remainder. By zero it is NULL; `tells_zero`: and a failure.
  Register divide(Function function, Register dividend, Register divisor, bool tells_zero);
  /// DecimalDivide: the same of dividend * 10^digits.
  Register divide_decimals(Register dividend, Register divisor, unsigned digits, bool tells_zero);
  /// A whole number divided by 10^digits, at most 76.
  Register to_real(Register number, unsigned digits);

  /// Of moments; `by`: what they are moved by, or the other ones, asked for only where the first is not NULL.
  Register of_moments(std::shared_ptr<const NumberFunction> function, Register moment);
  Register of_moments(Function called, std::shared_ptr<const NumberFunction> function, Register moment,
                      Register by);

  /// Whether a row of the columns may have a failure.
  bool may_fail() const;

  Kind kind(Register number) const { return instructions_[number].kind; }
  std::span<const Instruction> instructions() const { return instructions_; }

 private:
  Register add(Instruction instruction);
  std::vector<Instruction> instructions_;
};

}  // namespace hailstone
