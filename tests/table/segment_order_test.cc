#include "table/segment_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <string>

#include "table/segment_list.h"

namespace hailstone {
namespace {

/// Ranges of random keys, and a list of them that is searched from its front to its end.
class SegmentOrderTest : public testing::Test {
 protected:
  SegmentOrderTest() {
    const char* const given = std::getenv("HAILSTONE_TEST_SEED");
    const auto seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 4711U;
    std::cout << "HAILSTONE_TEST_SEED=" << seed << "\n";
    random_.seed(seed);
  }

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  ByteView key(uint32_t number) {
    // Some begin with others.
    std::string text = std::to_string(1000 + number / 3);
    text.append(number % 3, '0');
    return keys_.emplace_back(std::move(text));
  }
  SegmentRange range(uint32_t widest) {
    const uint32_t first = below(key_count), last = first + below(widest);
    SegmentRange made;
    made.first = key(first);
    made.last = key(last);
    if (made.last < made.first) std::swap(made.first, made.last);
    made.segment = next_++;
    made.bytes = below(1000);
    return made;
  }

  using Model = std::vector<SegmentRange>;
  static std::vector<uint32_t> numbers(const Model& model) {
    std::vector<uint32_t> result;
    for (const SegmentRange& each : model) result.push_back(each.segment);
    std::ranges::sort(result);
    return result;
  }

  /// Whether the order holds what the model holds, and answers as a walk over all of it does.
  void expect_same(const SegmentOrder& order, const Model& model) {
    const SortedRanges& by_first = order.by_first();
    const SortedRanges& by_last = order.by_last();
    ASSERT_EQ(by_first.size(), model.size());
    ASSERT_EQ(by_last.size(), model.size());
    Model met;
    by_first.for_each([&](const SegmentRange& each) { met.push_back(each); });
    ASSERT_EQ(numbers(met), numbers(model));
    for (size_t i = 1; i < met.size(); ++i) {
      ASSERT_LE(by_first[i - 1].first, by_first[i].first);
      ASSERT_LE(by_last[i - 1].last, by_last[i].last);
    }
    const auto meeting_at = [&](ByteView at) {
      return static_cast<size_t>(std::ranges::count_if(
          model, [&](const SegmentRange& each) { return each.first <= at && at <= each.last; }));
    };
    size_t most = 0;
    for (const SegmentRange& each : model) most = std::max(most, meeting_at(each.first));
    const auto [at, count] = by_first.deepest();
    ASSERT_EQ(count, most);
    if (at != nullptr) {
      ASSERT_EQ(meeting_at(at->first), most);
    }
    for (int i = 0; i < 20; ++i) {
      ByteView low = key(below(key_count)), high = key(below(key_count));
      if (high < low) std::swap(low, high);
      const auto in_range = [&](const SegmentRange& each) {
        return low <= each.last && (each.first <= high || each.first.starts_with(high));
      };
      Model expected, found;
      std::ranges::copy_if(model, std::back_inserter(expected), in_range);
      order.visit_between(low, high, [&](const SegmentRange& each) {
        found.push_back(each);
        return true;
      });
      ASSERT_EQ(numbers(found), numbers(expected)) << low << " to " << high;
      ASSERT_TRUE(std::ranges::is_sorted(found, {}, &SegmentRange::first));
      ASSERT_EQ(by_first.rank_of(low), static_cast<size_t>(std::ranges::count_if(
                                           model, [&](const auto& each) { return each.first < low; })));
      ASSERT_EQ(by_first.rank_behind(low), static_cast<size_t>(std::ranges::count_if(
                                               model, [&](const auto& each) { return each.first <= low; })));
      ASSERT_EQ(by_last.rank_of(low), static_cast<size_t>(std::ranges::count_if(
                                          model, [&](const auto& each) { return each.last < low; })));
    }
    const uint64_t bytes = below(1000);
    size_t smaller = 0;
    by_first.visit_smaller(bytes, [&](const SegmentRange& each, size_t rank) {
      EXPECT_EQ(by_first[rank].segment, each.segment);
      EXPECT_LT(each.bytes, bytes);
      ++smaller;
      return true;
    });
    ASSERT_EQ(smaller, static_cast<size_t>(std::ranges::count_if(
                           model, [&](const auto& each) { return each.bytes < bytes; })));
  }

  static constexpr uint32_t key_count = 3000;
  std::mt19937_64 random_;
  std::deque<std::string> keys_;
  uint32_t next_ = 0;
};

TEST_F(SegmentOrderTest, ChangesAnswerAsAWalkDoesAndLeaveEarlierOnesAsTheyWere) {
  for (const uint32_t widest : {1U, 20U, 1500U}) {
    SegmentOrder order;
    Model model;
    std::vector<std::pair<SegmentOrder, Model>> kept;
    for (int step = 0; step < 120; ++step) {
      const bool grows = step < 60;
      for (uint32_t i = below(30); i > 0; --i) {
        if (model.empty() || below(10) < (grows ? 8U : 2U)) {
          const SegmentRange added = range(widest);
          model.push_back(added);
          order.insert(added);
        } else if (below(4) == 0) {
          SegmentRange& each = model[below(static_cast<uint32_t>(model.size()))];
          order.renumber(each, next_);
          each.segment = next_++;
        } else {
          const uint32_t at = below(static_cast<uint32_t>(model.size()));
          ASSERT_TRUE(order.erase(model[at]));
          ASSERT_FALSE(order.erase(model[at]));
          model.erase(model.begin() + at);
        }
      }
      if (step % 10 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_same(order, model)) << "step " << step;
        kept.emplace_back(order, model);
      }
    }
    while (!model.empty()) {
      ASSERT_TRUE(order.erase(model.back()));
      model.pop_back();
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(order, model));
    for (const auto& [earlier, what] : kept) ASSERT_NO_FATAL_FAILURE(expect_same(earlier, what));
  }
}

TEST_F(SegmentOrderTest, MadeAtOnceItIsWhatChangesMakeOfIt) {
  for (const uint32_t widest : {1U, 40U, 3000U}) {
    Model model;
    for (int i = 0; i < 1000; ++i) model.push_back(range(widest));
    ASSERT_NO_FATAL_FAILURE(expect_same(SegmentOrder(model), model));
  }
  expect_same(SegmentOrder(Model()), {});
}

TEST_F(SegmentOrderTest, KeysThatComeInTheirOrderFillTheLeaves) {
  SegmentOrder order;
  Model model;
  for (uint32_t i = 0; i < 2000; ++i) {
    SegmentRange next;
    next.first = keys_.emplace_back(std::to_string(10'000 + 2 * i));
    next.last = keys_.emplace_back(std::to_string(10'001 + 2 * i));
    next.segment = i;
    model.push_back(next);
    order.insert(next);
  }
  expect_same(order, model);
}

/// A segment that is only a number.
std::shared_ptr<TableSegment> numbered(uintptr_t number) {
  // Never looked at: NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {std::make_shared<int>(0), reinterpret_cast<TableSegment*>(number)};
}

TEST_F(SegmentOrderTest, AListThatIsChangedLeavesItsCopiesAsTheyWere) {
  SegmentList list;
  std::vector<std::shared_ptr<TableSegment>> model;
  std::vector<std::pair<SegmentList, std::vector<std::shared_ptr<TableSegment>>>> kept;
  const auto expect_list = [](const SegmentList& found,
                              const std::vector<std::shared_ptr<TableSegment>>& what) {
    ASSERT_EQ(found.size(), what.size());
    size_t i = 0;
    for (const auto& each : found) ASSERT_EQ(each, what[i++]);
    if (!what.empty()) {
      ASSERT_EQ(found[what.size() - 1], what.back());
    }
  };
  for (uintptr_t step = 1; step < 4000; ++step) {
    if (model.empty() || below(10) < (step < 2500 ? 7U : 2U)) {
      model.push_back(numbered(step * 64));
      list.push_back(model.back());
    } else if (below(2) == 0) {
      const uint32_t at = below(static_cast<uint32_t>(model.size()));
      model[at] = numbered(step * 64);
      list.replace(at, model[at]);
    } else {
      model.pop_back();
      list.pop_back();
    }
    if (step % 100 == 0) kept.emplace_back(list, model);
  }
  expect_list(list, model);
  for (const auto& [earlier, what] : kept) expect_list(earlier, what);
}

}  // namespace
}  // namespace hailstone
