#include "database/committed_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/failing_allocations.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

/// So few hashes that most names share theirs with others.
uint64_t weak_hash(ByteView name) { return name.size() % 3; }

PackedDefinition called(const std::string& name) {
  TableDefinition definition;
  definition.name = name;
  definition.columns.push_back({.name = "a", .type = Type::Signed, .width = 8});
  return definition;
}

/// Beside a map from names to ids. No other thread has the tables, so no mutex is needed.
class CommittedTablesTest : public ::testing::Test {
 protected:
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void create(const std::string& name) {
    const auto entry = std::make_shared<CatalogEntry>(next_id_);
    entry->definition = called(name);
    tables_.add(entry);
    ASSERT_EQ(tables_.add_name(*entry), nullptr);
    model_[name] = next_id_++;
  }
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void drop(const std::string& name) {
    const EntryPointer entry = tables_.find(name);
    ASSERT_NE(entry, nullptr);
    tables_.remove_name(name);
    tables_.remove(*entry);
    model_.erase(name);
  }
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void rename(const std::string& from, const std::string& to) {
    const EntryPointer entry = tables_.find(from);
    ASSERT_NE(entry, nullptr);
    tables_.remove_name(from);
    entry->definition = called(to);
    ASSERT_EQ(tables_.add_name(*entry), nullptr);
    model_.erase(from);
    model_[to] = entry->id;
  }
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void expect_as_model() const {
    ASSERT_EQ(tables_.size(), model_.size());
    ASSERT_EQ(tables_.entries().size(), model_.size());
    for (const auto& [name, id] : model_) {
      const EntryPointer by_name = tables_.find(name);
      ASSERT_NE(by_name, nullptr) << name;
      ASSERT_EQ(by_name->id, id);
      ASSERT_EQ(tables_.find(id), by_name);
    }
    for (const std::string prefix : {"", "a", "ab", "c"}) {
      std::vector<std::string> expected;
      for (const auto& [name, id] : model_) {
        if (name.starts_with(prefix)) expected.push_back(name);
      }
      auto names = tables_.names(prefix);
      if (!tables_.names_are_ordered()) std::ranges::sort(names);
      ASSERT_TRUE(std::ranges::equal(names, expected)) << prefix;
    }
  }
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void order_names() { tables_.order_names(); }
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS bool names_are_ordered() const { return tables_.names_are_ordered(); }

  std::string random_name(std::mt19937_64& random) const {
    std::string name(1 + random() % 5, 'a');
    for (char& letter : name) letter = static_cast<char>('a' + random() % 3);
    return name;
  }
  const std::string& random_table(std::mt19937_64& random) const {
    return std::next(model_.begin(), static_cast<ptrdiff_t>(random() % model_.size()))->first;
  }

  CommittedTables tables_{weak_hash};
  std::map<std::string, TableId> model_;
  TableId next_id_ = 1;
};

TEST_F(CommittedTablesTest, FindsByIdAndNameWhateverNamesShareAHash) {
  std::mt19937_64 random(test_seed(11));
  for (int step = 0; step < 20'000; ++step) {
    if (step == 10'000) order_names();
    const std::string name = random_name(random);
    const uint64_t action = random() % 4;
    if (!model_.contains(name) && action < 2) {
      ASSERT_NO_FATAL_FAILURE(create(name));
    } else if (!model_.empty() && action == 2) {
      ASSERT_NO_FATAL_FAILURE(drop(std::string(random_table(random))));
    } else if (!model_.empty() && !model_.contains(name)) {
      ASSERT_NO_FATAL_FAILURE(rename(std::string(random_table(random)), name));
    }
    if (step % 500 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_as_model());
    }
  }
  EXPECT_TRUE(names_are_ordered());
  expect_as_model();
}

TEST_F(CommittedTablesTest, RefusesASecondTableOfOneName) {
  create("one");
  const auto second = std::make_shared<CatalogEntry>(next_id_);
  [&]() HAILSTONE_NO_THREAD_SAFETY_ANALYSIS {
    second->definition = called("one");
    tables_.add(second);
    const CatalogEntry* const other = tables_.add_name(*second);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->id, model_["one"]);
    EXPECT_EQ(tables_.find("one")->id, model_["one"]);
    tables_.remove(*second);
  }();
  expect_as_model();
}

TEST_F(CommittedTablesTest, ANameThatHasNoMemoryForItsPlaceInTheOrderIsFound) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  create("b");
  create("a");
  order_names();
  const auto entry = std::make_shared<CatalogEntry>(next_id_);
  [&]() HAILSTONE_NO_THREAD_SAFETY_ANALYSIS {
    entry->definition = called("aa");
    tables_.reserve(3);
    FailingAllocations::arm(0, 1'000'000);
    FailingAllocations::call([&] {
      tables_.add(entry);
      EXPECT_EQ(tables_.add_name(*entry), nullptr);
    });
    EXPECT_GT(FailingAllocations::disarm(), 0U);
  }();
  model_["aa"] = next_id_++;
  EXPECT_FALSE(names_are_ordered());
  expect_as_model();
  order_names();
  expect_as_model();
}

}  // namespace
}  // namespace hailstone
