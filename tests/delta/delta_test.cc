#include "delta/delta.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

std::string number_key(uint64_t number) {
  std::string key(8, '\0');
  store_big_endian(key.data(), number, 8);
  return key;
}

const std::vector<std::string> no_secondary;

TEST(DeltaTest, NewestVersionComesFirst) {
  Delta delta(0, nullptr);
  EXPECT_EQ(delta.find("a"), nullptr);
  Version* const first = delta.insert("a", "row 1", 5, no_secondary);
  Version* const second = delta.insert("a", "row 2", 9, no_secondary);
  EXPECT_EQ(delta.find("a"), second);
  EXPECT_EQ(second->older(), first);
  EXPECT_EQ(first->older(), nullptr);
  EXPECT_EQ(second->row(), "row 2");
  EXPECT_EQ(second->key(), "a");
  EXPECT_EQ(second->begin(), 9u);
  EXPECT_EQ(second->end(), infinity);
  EXPECT_EQ(delta.version_count(), 2u);
  EXPECT_EQ(delta.clustered().size(), 1u);
}

TEST(DeltaTest, RemovedVersionsLeaveTheirChain) {
  Delta delta(0, nullptr);
  Version* const first = delta.insert("a", "1", 1, no_secondary);
  Version* const second = delta.insert("a", "2", 2, no_secondary);
  Version* const third = delta.insert("a", "3", 3, no_secondary);
  const uint64_t changes = delta.change_count();
  delta.remove(second);
  EXPECT_GT(delta.change_count(), changes);
  EXPECT_EQ(third->older(), first);
  EXPECT_EQ(second->row(), "2");  // memory lives as long as the delta
  delta.remove(third);
  EXPECT_EQ(delta.find("a"), first);
  delta.remove(first);
  EXPECT_EQ(delta.find("a"), nullptr);
  EXPECT_TRUE(delta.clustered().empty());
  EXPECT_EQ(delta.version_count(), 0u);
}

TEST(DeltaTest, EmptyKeysAndRowsAreKept) {
  Delta delta(1, nullptr);
  const std::vector<std::string> secondary{""};
  Version* const version = delta.insert("", "", 1, secondary);
  EXPECT_EQ(delta.find(""), version);
  EXPECT_TRUE(version->row().empty());
  EXPECT_TRUE(delta.secondary(0).empty());
  delta.remove(version);
  EXPECT_EQ(delta.find(""), nullptr);
}

TEST(DeltaTest, BudgetIsChargedAndGivenBack) {
  MemoryBudget budget(size_t{1} << 30);
  std::atomic<uint64_t> total = 5;
  {
    Delta delta(1, &budget, &total);
    for (uint64_t i = 0; i < 10'000; ++i) {
      const std::vector<std::string> secondary{number_key(i % 100) + number_key(i)};
      Version* const version =
          delta.insert(number_key(i * 7919 % 10'007), std::string(100, 'r'), 1, secondary);
      if (i % 3 == 0) delta.remove(version);
    }
    EXPECT_EQ(budget.used(), delta.bytes());
    EXPECT_EQ(total.load(), 5 + delta.bytes());
    EXPECT_GT(delta.bytes(), 10'000u * 110);
    EXPECT_LT(delta.bytes(), 10'000u * 500);
  }
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(total.load(), 5u);
}

TEST(DeltaTest, VersionsAreEndedAndTakenBack) {
  Delta delta(1, nullptr);
  const std::vector<std::string> secondary{"s"};
  Version* const version = delta.insert("a", "row", marker_of(7), secondary);
  EXPECT_EQ(version->begin(), marker_of(7));
  EXPECT_EQ(version->end(), infinity);
  const size_t bytes = delta.bytes();
  delta.make_endable(*version);
  EXPECT_EQ(version->begin(), marker_of(7));
  EXPECT_EQ(version->end(), infinity);
  version->set_end(marker_of(7));
  version->stamp_begin(20);
  EXPECT_EQ(version->begin(), 20u);
  EXPECT_EQ(version->end(), marker_of(7));
  version->set_end(20);
  EXPECT_EQ(version->end(), 20u);
  version->set_end(infinity);
  EXPECT_EQ(version->end(), infinity);
  delta.make_endable(*version);  // nothing more is taken
  EXPECT_EQ(delta.bytes(), bytes);
  EXPECT_EQ(version->key(), "a");
  EXPECT_EQ(version->row(), "row");
  EXPECT_EQ(version->secondary_key(0), "s");
}

TEST(DeltaTest, LongKeysAndRowsAreKept) {
  Delta delta(2, nullptr);
  std::map<std::string, Version*> versions;
  for (const size_t size :
       std::initializer_list<size_t>{0, 1, 62, 63, 64, 127, 128, 8191, 8192, 16'383, 16'384, 100'000}) {
    const std::string key(size, 'k');
    const std::vector<std::string> secondary{"", key + key};
    for (const char row : {'a', 'b'}) versions[key] = delta.insert(key, std::string(size, row), 1, secondary);
  }
  for (const auto& [key, version] : versions) {
    EXPECT_EQ(delta.find(key), version);
    EXPECT_EQ(version->key(), key);
    EXPECT_EQ(version->row(), std::string(key.size(), 'b'));
    EXPECT_EQ(version->secondary_key(0), "");
    EXPECT_EQ(version->secondary_key(1), key + key);
    ASSERT_NE(version->older(), nullptr);
    EXPECT_EQ(version->older()->row(), std::string(key.size(), 'a'));
    EXPECT_EQ(version->older()->older(), nullptr);
  }
}

// Each key lacks the end of the prefix that those before it share.
TEST(DeltaTest, PrefixesBecomeShorter) {
  for (const bool falling : {false, true}) {
    Delta delta(0, nullptr);
    std::map<std::string, Version*> model;
    for (size_t common = 60; common > 0; --common) {
      for (const char next : {'a', falling ? 'A' : 'z'}) {
        const std::string key = std::string(common, 'm') + next + std::string(common % 7, 'e');
        model[key] = delta.insert(key, key, 1, no_secondary);
      }
    }
    auto entry = delta.clustered().begin();
    for (const auto& [key, version] : model) {
      ASSERT_EQ(entry.version(), version);
      ASSERT_EQ(delta.find(key), version);
      ++entry;
      ASSERT_TRUE(delta.clustered().upper_bound(key) == entry);
    }
    for (const char* const absent : {"", "a", "m", "mmmm", "mmmmy", "z", "mmmmmmmmmmmmmmmmmmmm"}) {
      const auto expected = model.lower_bound(absent);
      const auto found = delta.clustered().lower_bound(absent);
      if (expected == model.end()) {
        ASSERT_TRUE(found == delta.clustered().end());
      } else {
        ASSERT_EQ(found.key(), expected->first);
      }
    }
  }
}

TEST(DeltaTest, ARowTakesLittleBesideItsValues) {
  // An INT key and 40 bytes of text, as rows and keys are encoded.
  constexpr size_t values = 4 + 40, rows = 500'000, chunk_bytes = size_t{16} << 10;
  Delta delta(0, nullptr, nullptr, chunk_bytes);
  std::string key(4, '\0');
  const std::string row(2 + 1 + 4 + values, 'r');
  for (uint64_t i = 0; i < rows; ++i) {
    store_big_endian(key.data(), i, 4);
    delta.insert(key, row, i + 1, no_secondary);
  }
  // Chunks are small: their ends must lose next to nothing.
  EXPECT_LE(static_cast<double>(delta.bytes()) / rows - values, 40);
}

// Random inserts and removals against ordinary maps.
TEST(DeltaTest, AgreesWithAModel) {
  std::mt19937_64 random(test_seed(30));
  for (int round = 0; round < 20; ++round) {
    Delta delta(2, nullptr);
    struct Known {
      Version* version;
      std::string row;
      std::vector<std::string> secondary;
    };
    std::map<std::string, std::vector<Known>> model;  // newest last
    std::map<std::pair<std::string, Version*>, bool> model_secondary[2];
    const uint64_t keys = 1 + random() % 500;
    std::string prefix = random() % 2 == 0 ? std::string(random() % 30, 'p') : "";
    size_t versions = 0;
    for (int step = 0; step < 2'000; ++step) {
      const std::string key =
          prefix + (random() % 2 == 0 ? number_key(random() % keys)
                                      : std::string(random() % 5, static_cast<char>(random())));
      if (random() % 200 == 0 && !prefix.empty()) prefix.pop_back();
      std::vector<Known>& chain = model[key];
      if (!chain.empty() && random() % 3 == 0) {
        const auto at = chain.begin() + static_cast<std::ptrdiff_t>(random() % chain.size());
        delta.remove(at->version);
        for (size_t i = 0; i < 2; ++i) model_secondary[i].erase({at->secondary[i], at->version});
        chain.erase(at);
        --versions;
      } else {
        Known known;
        known.row = std::string(random() % 50, static_cast<char>(random()));
        for (int i = 0; i < 2; ++i)
          known.secondary.push_back(random() % 4 == 0 ? "" : number_key(random() % 5) + key);
        const uint64_t begin = static_cast<uint64_t>(step);
        known.version = delta.insert(key, known.row, begin, known.secondary);
        ASSERT_EQ(known.version->begin(), begin);
        for (size_t i = 0; i < 2; ++i) {
          if (!known.secondary[i].empty()) model_secondary[i][{known.secondary[i], known.version}] = true;
        }
        chain.push_back(std::move(known));
        ++versions;
      }
      if (chain.empty()) model.erase(key);
    }
    ASSERT_EQ(delta.version_count(), versions);
    ASSERT_EQ(delta.clustered().size(), model.size());
    auto entry = delta.clustered().begin();
    for (const auto& [key, chain] : model) {
      ASSERT_EQ(entry.key(), key);
      ASSERT_EQ(delta.find(key), entry.version());
      const Version* version = entry.version();
      for (auto known = chain.rbegin(); known != chain.rend(); ++known, version = version->older()) {
        ASSERT_EQ(version, known->version);
        ASSERT_EQ(version->key(), key);
        ASSERT_EQ(version->row(), known->row);
      }
      ASSERT_EQ(version, nullptr);
      ++entry;
    }
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(delta.secondary(i).size(), model_secondary[i].size());
      auto at = delta.secondary(i).begin();
      for (const auto& [expected, present] : model_secondary[i]) {
        ASSERT_EQ(at.key(), expected.first);
        ASSERT_EQ(at.version(), expected.second);
        ++at;
      }
      const std::string from = number_key(2);
      const auto bound = delta.secondary(i).lower_bound(from);
      const auto model_bound = model_secondary[i].lower_bound({from, nullptr});
      ASSERT_EQ(bound == delta.secondary(i).end(), model_bound == model_secondary[i].end());
      if (bound != delta.secondary(i).end()) {
        ASSERT_EQ(bound.key(), model_bound->first.first);
      }
    }
  }
}

}  // namespace
}  // namespace hailstone
