#include "segment/delete_vector.h"

#include "base/snapshots_in_use.h"
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

/// Memory of the vector when all rows of a block have ended.
size_t block_memory(const std::function<Timestamp(uint32_t row)>& end) {
  MemoryBudget budget(size_t{1} << 30);
  DeleteVector vector(block_rows, budget);
  for (uint32_t row = 0; row < block_rows; ++row) vector.set(row, marker_of(7));
  for (uint32_t row = 0; row < block_rows; ++row) vector.set(row, end(row));
  for (uint32_t row = 0; row < block_rows; ++row) EXPECT_EQ(vector.end(row), end(row));
  return budget.used();
}

TEST(DeleteVectorTest, RowsThatEndedTogetherTakeABitEach) {
  EXPECT_LT(block_memory([](uint32_t) { return 5; }), 3 * block_rows / 8);
  EXPECT_LT(block_memory([](uint32_t row) { return 5 + row % 100; }), 3 * block_rows / 2);
  EXPECT_GE(block_memory([](uint32_t row) { return 5 + row; }), 8 * block_rows);
}

TEST(DeleteVectorTest, ACommitStampsEachRowOfItsMarkerAndNeedsNoMemory) {
  for (const uint32_t rows_ended : {100U, 512U, 600U, uint32_t{block_rows}}) {
    MemoryBudget budget(size_t{1} << 30);
    DeleteVector vector(block_rows, budget);
    const auto marker = [](uint32_t row) { return marker_of(row % 3 + 1); };
    for (uint32_t row = 0; row < rows_ended; ++row) vector.set(row, marker(row));
    size_t memory = budget.used();
    for (uint32_t owner = 0; owner < 3; ++owner) {
      for (uint32_t row = owner; row < rows_ended; row += 3) {
        vector.stamp(row, 10 + owner % 2);
        ASSERT_LE(budget.used(), memory);
        memory = budget.used();
      }
      for (uint32_t row = 0; row < rows_ended; ++row) {
        const Timestamp end = row % 3 <= owner ? 10 + row % 3 % 2 : marker(row);
        ASSERT_EQ(vector.end(row), end) << row;
      }
    }
    // What was taken back is live; the others stay.
    for (uint32_t row = 0; row < rows_ended; row += 2) vector.reset(row);
    EXPECT_LE(budget.used(), memory);
    EXPECT_EQ(vector.count(), rows_ended / 2);
    BlockBitmap bitmap;
    bitmap.set_first(block_rows);
    vector.mask(0, Snapshot{.read = 10}, bitmap);
    for (uint32_t row = 0; row < rows_ended; ++row)
      ASSERT_EQ(bitmap.test(row), row % 2 == 0 || row % 3 == 1) << row;
  }
}

TEST(DeleteVectorTest, EndsThatNoSnapshotTellsApartBecomeOne) {
  MemoryBudget budget(size_t{1} << 30);
  DeleteVector vector(block_rows, budget);
  for (uint32_t row = 0; row < block_rows; ++row) vector.set(row, row % 10 == 0 ? marker_of(3) : row + 1);
  ASSERT_TRUE(vector.is_wide());
  const SnapshotsInUse snapshots({100, 5000}, 9000);
  const uint64_t changes = vector.change_count();
  vector.compact([&](Timestamp end) { return snapshots.same_end(end); });
  EXPECT_EQ(vector.change_count(), changes);
  EXPECT_EQ(vector.count(), block_rows);
  std::mt19937_64 random(test_seed());
  for (const Timestamp read : {Timestamp{100}, Timestamp{5000}, Timestamp{9000}, 9000 + random() % 8000}) {
    const Snapshot snapshot{.read = read, .own = random() % 2 == 0 ? marker_of(3) : 0};
    BlockBitmap bitmap;
    bitmap.set_first(block_rows);
    vector.mask(0, snapshot, bitmap);
    for (uint32_t row = 0; row < block_rows; ++row) {
      const Timestamp end = row % 10 == 0 ? marker_of(3) : row + 1;
      ASSERT_EQ(bitmap.test(row), snapshot.sees(0, end)) << row;
    }
  }
  // Those behind the last commit are kept, as snapshots are still to come.
  EXPECT_EQ(vector.end(9001), 9002U);
  DeleteVector few(block_rows, budget);
  for (uint32_t row = 0; row < block_rows; ++row) few.set(row, row + 1);
  const size_t before = budget.used();
  few.compact([&](Timestamp end) { return SnapshotsInUse({100, 5000}, block_rows).same_end(end); });
  EXPECT_FALSE(few.is_wide());
  EXPECT_LT(budget.used() + 6 * size_t{block_rows}, before);
}

}  // namespace
}  // namespace hailstone
