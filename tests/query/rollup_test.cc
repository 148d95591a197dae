// GROUP BY … WITH ROLLUP against plain maps of each level, filled from the same rows one by one.
#include "query/rollup_groups.h"

#include <gtest/gtest.h>

#include "query/group_fixture.h"
#include "query/value_order.h"

namespace hailstone {
namespace {

class RollupTest : public GroupFixture {
 protected:
  RollupTest() : GroupFixture(47) {}

  struct Wanted {
    std::vector<uint16_t> keys;
    std::vector<GroupOrder> order;
    std::vector<Aggregate> aggregates;
    bool merges() const { return std::ranges::all_of(aggregates, MergedGroup::can_merge); }
  };
  Wanted any(bool with_distinct) {
    std::vector<uint16_t> all{key, real, word, text, bits};
    std::ranges::shuffle(all, random_);
    all.resize(1 + below(4));
    Wanted wanted{.keys = all, .order = {}, .aggregates = any_aggregates(5, with_distinct)};
    for (size_t i = 0; i < all.size(); ++i)
      wanted.order.push_back({.number = i, .descending = below(2) == 0});
    return wanted;
  }

  /// As mariadb/group_rows.cc opens them. `finest`: the grouping of all keys.
  std::unique_ptr<Groups> rolled_up(const Wanted& wanted, unsigned threads, const Grouping*& finest) {
    const std::span<const uint16_t> keys(wanted.keys);
    std::vector<std::unique_ptr<Groups>> levels;
    for (size_t i = wanted.merges() ? keys.size() : 0; i <= keys.size(); ++i) {
      auto grouping = group(keys.first(i), wanted.aggregates, threads);
      if (wanted.merges()) {
        grouping->keep_states();
      } else {
        grouping->share_floor(keys.size() + 1);
      }
      finest = grouping.get();
      const std::vector<GroupOrder> order(wanted.order.begin(),
                                          wanted.order.begin() + static_cast<ptrdiff_t>(i));
      levels.push_back(std::make_unique<SortedGroups>(std::move(grouping), order));
    }
    if (wanted.merges()) return std::make_unique<RollupGroups>(std::move(levels.back()), finest->plan());
    return std::make_unique<RollupGroups>(std::move(levels), finest->plan());
  }

  std::vector<Expected> expected_levels(const Wanted& wanted) {
    std::vector<Expected> levels;
    for (size_t i = 0; i <= wanted.keys.size(); ++i)
      levels.push_back(expected(std::span(wanted.keys).first(i), wanted.aggregates));
    return levels;
  }

  struct Walked {
    size_t groups = 0;
    bool divided = false;
  };
  /// Checks each group, and that it comes where it should.
  Walked check_all(const Wanted& wanted, unsigned threads, const std::vector<Expected>& levels) {
    const Grouping* finest = nullptr;
    const auto groups = rolled_up(wanted, threads, finest);
    const size_t keys = wanted.keys.size();
    std::vector<std::set<std::vector<std::string>>> met(keys + 1);
    std::vector<std::string> last;  // keys of the last finest group, as they are compared
    std::vector<std::string> last_bytes(keys);
    std::vector<Value> last_values;
    size_t last_level = 0;
    for (;;) {
      const auto found = groups->next();
      EXPECT_TRUE(found) << found.error().message();
      if (!found || !*found) break;
      const std::span<const Value> here = groups->keys();
      const size_t level = here.size();
      if (level > keys) {
        ADD_FAILURE() << "a group has " << level << " keys of " << keys;
        break;
      }
      check_group(*groups, std::span(wanted.keys).first(level), wanted.aggregates, levels[level], met[level]);
      std::vector<std::string> texts;
      for (size_t i = 0; i < level; ++i) texts.push_back(common(here[i], wanted.keys[i]));
      if (level == keys) {
        if (!last_values.empty()) expect_behind(wanted, finest->plan(), last_values, here, last_level);
        last = texts;
        last_values.assign(here.begin(), here.end());
        for (size_t i = 0; i < keys; ++i) {
          last_bytes[i] = here[i].bytes;
          last_values[i].bytes = last_bytes[i];
        }
      } else {
        // Of the groups right before it, once each.
        EXPECT_EQ(level + 1, last_level);
        EXPECT_EQ(texts, std::vector(last.begin(), last.begin() + static_cast<ptrdiff_t>(level)));
      }
      last_level = level;
    }
    Walked walked{.divided = finest->divided()};
    for (size_t i = 0; i <= keys; ++i) {
      // Without rows there is no total.
      EXPECT_EQ(met[i].size(), levels[keys].empty() ? 0 : levels[i].size()) << "groups of " << i << " keys";
      walked.groups += met[i].size();
    }
    EXPECT_EQ(last_level, 0);
    EXPECT_FALSE(*groups->next());
    return walked;
  }

 private:
  /// A group of all keys behind the one before, and behind all totals which that one ends.
  static void expect_behind(const Wanted& wanted, const GroupingPlan& plan, std::span<const Value> before,
                            std::span<const Value> here, size_t last_level) {
    size_t common_keys = 0;
    int order = 0;
    while (common_keys < here.size() && order == 0) {
      order = compare_values(plan.keys[common_keys].column, before[common_keys], here[common_keys]);
      if (order == 0) ++common_keys;
    }
    ASSERT_LT(common_keys, here.size()) << "a group is there twice";
    EXPECT_EQ(order < 0, !wanted.order[common_keys].descending);
    EXPECT_EQ(last_level, common_keys + 1);
  }
};

TEST_F(RollupTest, AnyLevelsWithAnyMemory) {
  load(10'000, 60);
  size_t merged = 0, by_levels = 0;
  for (int round = 0; round < 14; ++round) {
    const Wanted wanted = any(/*with_distinct=*/round % 3 == 0);
    ++(wanted.merges() ? merged : by_levels);
    const std::vector<Expected> levels = expected_levels(wanted);
    for (const size_t limit : {size_t{1}, size_t{6} << 20, size_t{1} << 30}) {
      for (const unsigned threads : {1U, 3U}) {
        host_.budget().set_limit(limit);
        quick_units_ = below(2) == 0 ? LookUps::quick_units : 1 + below(5'000);
        check_all(wanted, threads, levels);
        ASSERT_FALSE(HasFailure()) << "round " << round << ", " << threads << " threads, " << limit
                                   << " bytes, " << quick_units_ << " quick units";
      }
    }
    host_.budget().set_limit(size_t{1} << 30);
  }
  EXPECT_GT(merged, 0);
  EXPECT_GT(by_levels, 0);
  expect_nothing_left(host_.budget().used());
}

/// Groups of all keys come partition by partition, and are sorted by way of files.
TEST_F(RollupTest, OfGroupsThatSpill) {
  load(20'000, 300);
  Wanted wanted{.keys = {word, key, text},
                .order = {{.number = 0}, {.number = 1, .descending = true}, {.number = 2}},
                .aggregates = {{Kind::Rows},
                               {Kind::Values, real},
                               {Kind::Sum, real},
                               {Kind::Spread, real},
                               {Kind::Spread, wide},
                               {Kind::Sum, wide},
                               {Kind::Sum, huge},
                               {Kind::Sum, summand},
                               {Kind::Minimum, word},
                               {Kind::Maximum, text},
                               {Kind::Maximum, huge},
                               {Kind::Minimum, real},
                               {Kind::BitAnd, bits},
                               {Kind::BitOr, bits},
                               {Kind::BitXor, bits}}};
  ASSERT_TRUE(wanted.merges());
  for (const bool with_distinct : {false, true}) {
    if (with_distinct) wanted.aggregates.push_back({Kind::Values, text, true});
    const std::vector<Expected> levels = expected_levels(wanted);
    for (const unsigned threads : {1U, 3U}) {
      host_.budget().set_limit(1);
      const uint64_t spilled = host_.counters().spill_write_bytes.load();
      const Walked walked = check_all(wanted, threads, levels);
      ASSERT_FALSE(HasFailure()) << threads << " threads";
      EXPECT_TRUE(walked.divided);
      EXPECT_GT(host_.counters().spill_write_bytes.load(), spilled);
      EXPECT_GT(walked.groups, 20'000);
      host_.budget().set_limit(size_t{1} << 30);
    }
  }
  expect_nothing_left(host_.budget().used());
}

TEST_F(RollupTest, OfNoRowsHasNoTotal) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const bool with_distinct : {false, true}) {
    Wanted wanted{.keys = {key, word},
                  .order = {{.number = 0}, {.number = 1}},
                  .aggregates = {{Kind::Rows}, {Kind::Sum, real}}};
    if (with_distinct) wanted.aggregates.push_back({Kind::Values, text, true});
    EXPECT_EQ(check_all(wanted, 2, expected_levels(wanted)).groups, 0);
  }
}

TEST_F(RollupTest, RefusesWhatCannotBeMerged) {
  const std::array<GroupingPlan::Item, 1> distinct{
      GroupingPlan::Item{.wanted = {Kind::Values, text, true}, .column = {}}};
  EXPECT_DEATH(MergedGroup{distinct}, "cannot be merged");
}

}  // namespace
}  // namespace hailstone
