#include "segment/delete_vector.h"

#include "segment_test_support.h"

namespace hailstone {
namespace {

constexpr FileIdentity identity{.database = 11, .table = 12, .file = 13};

constexpr uint32_t rows = 2 * block_rows + 100;

TEST(DeleteVectorTest, AgreesWithAMap) {
  std::mt19937_64 random(test_seed());
  MemoryBudget budget(size_t{1} << 30);
  DeleteVector vector(rows, budget);
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(vector.end(5), infinity);
  vector.reset(5);
  EXPECT_EQ(budget.used(), 0U);
  std::map<uint32_t, Timestamp> model;
  uint64_t changes = vector.change_count();
  for (int i = 0; i < 20000; ++i) {
    // The first block gets most of it, so that both forms of a chunk are met.
    const auto ordinal = static_cast<uint32_t>(random() % 8 != 0 ? random() % 3000 : random() % rows);
    if (random() % 4 == 0) {
      vector.reset(ordinal);
      model.erase(ordinal);
    } else {
      const Timestamp end = random() % 10 == 0 ? marker_of(random() % 5 + 1) : random() % 1000 + 1;
      if (vector.end(ordinal) != end) {
        vector.set(ordinal, end);
        ASSERT_GT(vector.change_count(), changes);
      }
      model[ordinal] = end;
    }
    changes = vector.change_count();
    ASSERT_EQ(vector.count(), model.size());
    if (i % 500 != 0) continue;
    std::map<uint32_t, Timestamp> seen;
    uint32_t last = 0;
    vector.for_each([&](uint32_t row, Timestamp end) {
      ASSERT_TRUE(seen.empty() || row > last);
      last = row;
      seen[row] = end;
    });
    ASSERT_EQ(seen, model);
    const Snapshot snapshot{random() % 1100, random() % 2 == 0 ? marker_of(random() % 5 + 1) : 0};
    for (uint32_t block = 0; block < 3; ++block) {
      BlockBitmap bitmap;
      const uint32_t here = std::min(block_rows, rows - block * block_rows);
      bitmap.set_first(here);
      vector.mask(block, snapshot, bitmap);
      for (uint32_t row = 0; row < here; ++row) {
        const auto found = model.find(block * block_rows + row);
        const Timestamp end = found == model.end() ? infinity : found->second;
        ASSERT_EQ(vector.end(block * block_rows + row), end);
        ASSERT_EQ(bitmap.test(row), snapshot.sees(0, end));
      }
    }
  }
  EXPECT_GT(budget.used(), 0U);
  // What is committed comes back from its bytes.
  const std::string bytes = vector.serialise(identity);
  const auto parsed = DeleteVector::parse(bytes, rows, budget, "v");
  ASSERT_TRUE(parsed) << parsed.error().message();
  for (uint32_t row = 0; row < rows; ++row) {
    const Timestamp end = vector.end(row);
    ASSERT_EQ(parsed->vector->end(row), is_marker(end) ? infinity : end);
  }
}

TEST(DeleteVectorTest, MemoryIsGivenBack) {
  MemoryBudget budget(size_t{1} << 30);
  {
    DeleteVector vector(rows, budget);
    for (uint32_t row = 0; row < rows; ++row) vector.set(row, row + 1);
    EXPECT_GE(budget.used(), rows * sizeof(Timestamp));
    BlockBitmap bitmap;
    bitmap.set_first(100);
    vector.mask(2, Snapshot{infinity - 1, 0}, bitmap);
    EXPECT_TRUE(bitmap.none());
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(DeleteVectorTest, DamageIsFound) {
  std::mt19937_64 random(test_seed());
  MemoryBudget budget(size_t{1} << 30);
  DeleteVector vector(rows, budget);
  for (int i = 0; i < 50; ++i) vector.set(static_cast<uint32_t>(random() % rows), random() % 100000 + 1);
  const std::string good = vector.serialise(identity);
  for (size_t byte = 0; byte < good.size(); ++byte) {
    std::string damaged = good;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << random() % 8));
    const auto parsed = DeleteVector::parse(damaged, rows, budget, "some/path");
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code(), ErrorCode::Corruption);
    EXPECT_NE(parsed.error().message().find("some/path"), std::string::npos);
    ASSERT_FALSE(DeleteVector::parse(ByteView(good).substr(0, byte), rows, budget, "p"));
  }
  EXPECT_FALSE(DeleteVector::parse(good, rows + 1, budget, "p"));
  // Hostile entries under a right checksum.
  for (int i = 0; i < 2000; ++i) {
    std::string hostile = good.substr(0, good.size() - 8);
    for (int k = 0; k < 3; ++k) hostile[12 + random() % (hostile.size() - 12)] = static_cast<char>(random());
    append_number(hostile, checksum(hostile));
    const auto parsed = DeleteVector::parse(hostile, rows, budget, "p");
    if (parsed) parsed->vector->for_each([](uint32_t ordinal, Timestamp) { ASSERT_LT(ordinal, rows); });
  }
}

}  // namespace
}  // namespace hailstone
