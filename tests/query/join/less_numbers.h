// A further condition on pairs of rows, for the tests of joins.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "query/join/join_plan.h"

namespace hailstone {

/// Pairs are joined where the number of four bytes at the position `one` is less than that at `other`.
inline void add_less_numbers(JoinPlan& plan, uint16_t one, uint16_t other) {
  const ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
  auto program = std::make_shared<Program>();
  const std::array<Program::Register, 2> numbers{program->column(one, column),
                                                 program->column(other, column)};
  plan.passes = program->call(Function::Less, numbers);
  plan.conditions = std::move(program);
}

}  // namespace hailstone
