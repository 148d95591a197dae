// Random plans: the rows of their operators are those of the reference interpreter, by one thread and by
// several, pulled and pushed, with much memory and with little.
//
// HAILSTONE_PLANS says how many plans are asked, HAILSTONE_TEST_SEED which ones. A plan that goes wrong is
// shown as the smallest one that still does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "base/test_seed.h"
#include "plan/join_order.h"
#include "plan/plan_statistics.h"
#include "plan/plan_text.h"
#include "plan/random_plans.h"
#include "plan/rules/rules.h"
#include "plan/validate.h"

namespace hailstone::plan {
namespace {

constexpr uint64_t most_steps = 100'000;

/// Joins in another order, by chance.
constexpr Rule other_order{"join_order", [](const Plan& plan) {
                             ArbitraryStatistics statistics;
                             return order_joins(plan, statistics);
                           }};

/// What is wrong with the answer; empty: nothing, or it was not compared.
std::string difference(PlanTables& tables, const Plan& plan, const Way& way, bool& compared) {
  compared = false;
  const auto expected = tables.interpreter(most_steps).rows(plan);
  if (!expected) return {};
  const auto answer = tables.answer(planned_by(tables, plan, way), way);
  if (!answer) {
    if (answer.error().code() == ErrorCode::Unsupported) return {};
    return "the operators have an error: " + answer.error().message();
  }
  compared = true;
  if (is_answer(plan, way, *expected, *answer)) return {};
  return "expected:\n" + to_string(*expected) + "but the operators have:\n" + to_string(*answer);
}

/// What is wrong with the plan that a rule makes; empty: nothing. `rule`: null for all of them.
std::string wrong_after(PlanTables& tables, const Plan& plan, const Rule* rule, bool& compared) {
  compared = false;
  const auto expected = tables.interpreter(most_steps).rows(plan);
  if (!expected) return {};
  std::string wrong;
  const auto check = [&](const Rule& applied, const Plan& made) {
    if (!wrong.empty()) return;
    if (const Status valid = validate(made); !valid)
      wrong = fmt::format("{} makes what is no plan: {}\n", applied.name, valid.error().message());
    if (made->columns != plan->columns) wrong = fmt::format("{} changes the columns\n", applied.name);
    if (!wrong.empty()) wrong += to_text(made);
  };
  Plan made;
  if (rule != nullptr) {
    made = rule->apply(plan);
    check(*rule, made);
    // What a rule leaves has nothing more for it.
    if (const Plan again = rule->apply(made); wrong.empty() && again != made && rule->apply(again) != again)
      wrong = fmt::format("{} finds something again and again\n{}", rule->name, to_text(again));
  } else {
    made = other_order.apply(optimized(plan, check));
    check(other_order, made);
    made = optimized(made, check);
  }
  if (!wrong.empty()) return wrong;
  const auto answer = tables.interpreter(10 * most_steps).rows(made);
  if (!answer) return {};
  compared = true;
  if (is_answer(plan, {}, *expected, *answer)) return {};
  return "expected:\n" + to_string(*expected) + "but there is:\n" + to_string(*answer) + to_text(made);
}

/// What is wrong with the text of a plan; empty: nothing. `by_rules`: its expressions have the types that
/// they had before constants were computed, which their words may not say.
std::string wrong_text(const Plan& plan, bool by_rules) {
  const std::string text = to_text(plan);
  const auto first = parse_plan(text);
  if (!first) return first.error().message() + "\n" + text;
  if (!by_rules && (*first)->columns != plan->columns) return "other columns are read\n" + text;
  const std::string again = to_text(*first);
  if (!by_rules) return again == text ? std::string() : text + "is read as\n" + again;
  const auto second = parse_plan(again);
  if (!second) return second.error().message() + "\n" + again;
  return to_text(*second) == again ? std::string() : again + "is read as\n" + to_text(*second);
}

TEST(RandomPlansTest, TextsAreRead) {
  const uint64_t seed = test_seed(44), wanted = plans_wanted(1000);
  std::mt19937_64 random(seed);
  const PlanTables tables(random(), true);
  for (uint64_t done = 0; done < wanted; ++done) {
    RandomPlans plans(tables, random(),
                      {.all_kinds = true, .depth = 1 + static_cast<unsigned>(random() % 6)});
    const Plan plan = plans.next();
    for (const bool by_rules : {false, true}) {
      const auto wrong = [by_rules](const Plan& each) {
        return wrong_text(by_rules ? optimized(each) : each, by_rules);
      };
      if (wrong(plan).empty()) continue;
      const Plan least = smallest(plan, [&](const Plan& less) { return !wrong(less).empty(); });
      FAIL() << "plan " << done << (by_rules ? " by rules" : "") << "\n" << wrong(least);
    }
  }
}

/// Of all kinds of nodes, by the interpreter, before and after.
TEST(RandomPlansTest, RulesKeepTheRows) {
  const uint64_t seed = test_seed(43), wanted = plans_wanted(2000);
  std::mt19937_64 random(seed);
  uint64_t all_compared = 0;
  std::map<std::string_view, uint64_t> changed_by;
  std::vector<Rule> all(rules().begin(), rules().end());
  all.push_back(other_order);
  for (uint64_t done = 0; done < wanted;) {
    PlanTables tables(random(), true);
    for (size_t i = 0; i < 500 && done < wanted; ++i, ++done) {
      RandomPlans plans(tables, random(),
                        {.all_kinds = true, .depth = 1 + static_cast<unsigned>(random() % 6)});
      const Plan plan = plans.next();
      const auto check = [&](const Rule* rule) {
        bool compared = false;
        const std::string wrong = wrong_after(tables, plan, rule, compared);
        all_compared += compared ? 1U : 0U;
        if (wrong.empty()) return true;
        const Plan least = smallest(
            plan, [&](const Plan& less) { return !wrong_after(tables, less, rule, compared).empty(); });
        ADD_FAILURE() << "plan " << done << " after " << (rule == nullptr ? "all rules" : rule->name) << "\n"
                      << wrong_after(tables, least, rule, compared) << "of\n"
                      << to_text(least);
        return false;
      };
      for (const Rule& rule : all) {
        if (rule.apply(plan) == plan) continue;
        ++changed_by[rule.name];
        if (!check(&rule)) return;
      }
      if (!check(nullptr)) return;
    }
  }
  std::cout << all_compared << " changed plans compared";
  for (const auto& [name, times] : changed_by) std::cout << ", " << name << " " << times;
  std::cout << '\n';
  EXPECT_EQ(changed_by.size(), all.size());
}

TEST(RandomPlansConcurrentTest, OperatorsAndInterpreterAgree) {
  const uint64_t seed = test_seed(42), wanted = plans_wanted(3000);
  uint64_t compared = 0, spilled = 0;
  std::mt19937_64 random(seed);
  for (uint64_t done = 0; done < wanted;) {
    const bool few = random() % 4 != 0;
    PlanTables tables(random(), few);
    for (size_t i = 0; i < 500 && done < wanted; ++i, ++done) {
      RandomPlans plans(tables, random(), {.depth = 1 + static_cast<unsigned>(random() % 5)});
      const Plan plan = plans.next();
      const Status valid = validate(plan);
      ASSERT_TRUE(valid) << valid.error().message();
      const Way way = random_way(random);
      bool is_compared = false;
      const std::string wrong = difference(tables, plan, way, is_compared);
      compared += is_compared ? 1 : 0;
      if (wrong.empty()) continue;
      const Plan least = smallest(
          plan, [&](const Plan& less) { return !difference(tables, less, way, is_compared).empty(); });
      FAIL() << "plan " << done << " by " << to_string(way) << "\n"
             << difference(tables, least, way, is_compared) << "\n"
             << to_text(least);
    }
    spilled += tables.tables_host.counters().spill_write_bytes.load();
  }
  std::cout << compared << " of " << wanted << " plans compared, " << spilled << " bytes in spill files\n";
  EXPECT_GT(compared, wanted / 2);
  EXPECT_GT(spilled, 0);
}

}  // namespace
}  // namespace hailstone::plan
