// Tests of rules: a plan before, and the plan after, as texts.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plan/plan_text.h"
#include "plan/rules/rules.h"
#include "plan/validate.h"

namespace hailstone::plan {

inline Plan parsed(const std::string& text) {
  const auto plan = parse_plan(text);
  EXPECT_TRUE(plan) << plan.error().message() << "\n" << text;
  return plan ? *plan : nullptr;
}

/// The rule makes `after` of `before`; and all rules, one by one, take what it makes.
inline void expect_change(Plan (*rule)(const Plan&), const std::string& before, const std::string& after) {
  const Plan plan = parsed(before), wanted = parsed(after);
  if (plan == nullptr || wanted == nullptr) return;
  const Plan made = rule(plan);
  EXPECT_EQ(to_text(made), to_text(wanted));
  const Status valid = validate(made);
  EXPECT_TRUE(valid) << valid.error().message();
  EXPECT_EQ(made->columns, plan->columns);
  for (const Rule& other : rules()) {
    const Plan next = other.apply(made);
    const Status still_valid = validate(next);
    EXPECT_TRUE(still_valid) << other.name << ": " << still_valid.error().message();
    EXPECT_EQ(next->columns, plan->columns) << other.name;
  }
}

/// The rule finds nothing.
inline void expect_same(Plan (*rule)(const Plan&), const std::string& text) {
  const Plan plan = parsed(text);
  if (plan == nullptr) return;
  const Plan made = rule(plan);
  EXPECT_EQ(made, plan) << to_text(made);
}

}  // namespace hailstone::plan
