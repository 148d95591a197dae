// Expressions as a list of instructions, each of which computes one register from earlier ones, for all rows
// of a batch. Equal instructions are one. Immutable once it is made, shared by threads; each of them runs it
// by an Evaluator of its own.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "expression/expression.h"

namespace hailstone {

class Program {
 public:
  using Register = uint16_t;
  static constexpr Register none = 0xffff;

  /// A node of an expression, whose arguments are in registers.
  struct Instruction {
    Expression of;
    std::vector<Register> inputs;
  };

  /// The register that has the expression's values. Parts that it has been given before take no time.
  Register add(const Expression& expression);

  /// Whether a row of the columns may have a failure.
  bool may_fail() const;

  ValueKind kind(Register number) const { return instructions_[number].of->values; }
  std::span<const Instruction> instructions() const { return instructions_; }

 private:
  /// An expression that was added. It is kept, so that no other node gets its address.
  struct Known {
    Expression of;
    Register number;
  };
  std::vector<Instruction> instructions_;
  std::unordered_map<const Expression::Node*, Known> known_;
};

}  // namespace hailstone
