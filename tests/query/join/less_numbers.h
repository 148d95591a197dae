// A further condition on pairs of rows, for the tests of joins.
#pragma once

#include <memory>
#include <utility>

#include "query/join/join_plan.h"

namespace hailstone {

/// Pairs are joined where the number of four bytes at the position `one` is less than that at `other`.
inline void add_less_numbers(JoinPlan& plan, uint16_t one, uint16_t other) {
  const ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
  auto program = std::make_shared<Program>();
  plan.passes = program->add(
      Expression::call(Function::Less, {Expression::column(one, column), Expression::column(other, column)}));
  plan.conditions = std::move(program);
}

}  // namespace hailstone
