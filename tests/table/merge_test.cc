// Merging, checking and reading when memory is short: how often files are read, and that rows stay.
#include <algorithm>
#include <numeric>
#include <random>

#include "base/failing_allocations.h"
#include "base/guard.h"
#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/row_map.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

TEST(RowMapTest, TellsWhereEachRowWent) {
  std::mt19937_64 random(test_seed(11));
  MemoryBudget budget(size_t{1} << 30);
  for (int round = 0; round < 50; ++round) {
    RowMap map(budget);
    std::vector<std::optional<uint64_t>> expected;
    // Positions beyond 32 bits, in steps of every size.
    uint64_t position = round % 3 == 0 ? 0 : uint64_t{1} << (30 + round % 20);
    const uint64_t step = uint64_t{1} << (random() % 36);
    const uint64_t left_out = random() % 4;
    for (uint64_t rows = random() % 5000; rows > 0; --rows) {
      if (random() % 8 < left_out) {
        map.append_left_out();
        expected.push_back(std::nullopt);
      } else {
        position += round % 5 == 0 ? 1 : 1 + random() % step;
        map.append(position);
        expected.push_back(position);
      }
    }
    map.finish();
    for (uint32_t row = 0; row < expected.size(); ++row) ASSERT_EQ(map.position(row), expected[row]);
  }
  EXPECT_EQ(budget.used(), 0U);
}

class MergeTest : public testing::Test {
 protected:
  std::unique_ptr<Transaction> begin() { return host_.transactions().begin(Isolation::RepeatableRead); }
  TestRow row(int32_t id) const {
    return {.id = id, .number = id, .name = "name " + std::to_string(id % 977), .note = std::to_string(id)};
  }
  /// `parts` segments whose keys lie between each other's.
  void make_segments(int32_t rows, int32_t parts) {
    for (int32_t part = 0; part < parts; ++part) {
      const auto transaction = begin();
      for (int32_t id = part; id < rows; id += parts) {
        Duplicate duplicate;
        const auto inserted = table_->insert(*transaction, encode(*table_, row(id)), duplicate);
        ASSERT_TRUE(inserted) << message(inserted);
      }
      ASSERT_TRUE(host_.transactions().commit(*transaction));
      ASSERT_TRUE(table_->flush(true));
    }
  }
  uint64_t reads() { return host_.counters().segment_reads.load(); }
  void expect_rows(int32_t rows) {
    const auto transaction = begin();
    for (size_t index = 0; index < 3; ++index) {
      Cursor cursor(table_, *transaction, index, ReadLock::None, all_columns());
      int32_t met = 0;
      auto on_row = cursor.seek_at_or_after({});
      for (; on_row && *on_row; on_row = cursor.next(), ++met) {
        ASSERT_TRUE(cursor.load_values());
        const TestRow found = decode(cursor.values());
        ASSERT_EQ(found, row(found.id));
        if (index < 2) {
          ASSERT_EQ(found.id, met);
        }
      }
      ASSERT_TRUE(on_row) << message(on_row);
      ASSERT_EQ(met, rows);
    }
  }

  TestHost host_;
  std::shared_ptr<Table> table_ = host_.create(test_definition(true));
};

TEST_F(MergeTest, ReadsEachBlockAFewTimesHoweverShortMemoryIs) {
  constexpr int32_t rows = 40'000, parts = 5;
  make_segments(rows, parts);
  // Nothing finds room in the cache.
  Reservation all(host_.budget());
  all.grow(host_.budget().limit());
  const uint64_t before = reads();
  ASSERT_TRUE(table_->optimize({}));
  // A row at a time they were 600,000.
  EXPECT_LT(reads() - before, 1200U);
  all.clear();
  EXPECT_EQ(table_->statistics().rows, static_cast<uint64_t>(rows));
  expect_rows(rows);
}

TEST_F(MergeTest, TakesLessMemoryWhereThereIsLittleAndWritesShorterSegments) {
  make_segments(40'000, 5);
  const auto most_beyond_limit = [&] {
    size_t most = 0;
    const StopToken look([&] {
      const size_t used = host_.budget().used(), limit = host_.budget().limit();
      most = std::max(most, std::max(used, limit) - limit);
      return false;
    });
    EXPECT_TRUE(table_->optimize(look));
    return most;
  };
  host_.buffer_bytes = size_t{4} << 20;
  EXPECT_EQ(most_beyond_limit(), 0U);
  const size_t segments = table_->statistics().segments;
  {
    Reservation all(host_.budget());
    all.grow(host_.budget().limit());
    // A quarter of the buffer, with as much again for keys.
    EXPECT_LT(most_beyond_limit(), host_.buffer_bytes * 2 / 3);
  }
  EXPECT_GT(table_->statistics().segments, segments);
  EXPECT_LE(table_->statistics().segments, segments * 4 + 1);
  EXPECT_EQ(most_beyond_limit(), 0U);
  EXPECT_EQ(table_->statistics().segments, segments);
  expect_rows(40'000);
}

TEST_F(MergeTest, ALargeTableTellsTheManifestOfManyFlushesAtOnce) {
  size_t most_unrecorded = 0;
  for (int32_t id = 0; id < 600; ++id) {
    const auto transaction = begin();
    Duplicate duplicate;
    ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row(id)), duplicate));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
    const size_t segments = table_->statistics().segments;
    ASSERT_EQ(segments, static_cast<size_t>(id) + 1);
    const size_t unrecorded = segments - host_.recorded(1).segments.size();
    ASSERT_LE(unrecorded, segments / 256);
    most_unrecorded = std::max(most_unrecorded, unrecorded);
  }
  EXPECT_EQ(most_unrecorded, 2U);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(host_.recorded(1).segments.size(), table_->statistics().segments);
  expect_rows(600);
}

TEST_F(MergeTest, MergesAndFlushesWithoutMemoryLeaveNothing) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  // As many files as the table has segments, whatever failed.
  const auto files = [&] {
    const std::string path = host_.segment_path(0);
    const auto names = host_.filesystem().list(path.substr(0, path.rfind('/')));
    return static_cast<size_t>(
        std::ranges::count_if(*names, [](const auto& name) { return name.starts_with("segment-"); }));
  };
  const auto with_failures = [&](const auto& work, size_t held_when_merged) {
    SampledAllocations sampled;
    // Merges that were done when recording them failed: the next one takes what they made, and rows that are
    // not committed hold on to that, too.
    size_t unrecorded = 0;
    for (uint64_t n = 0;; n = sampled.after(n)) {
      SCOPED_TRACE(n);
      FailingAllocations::arm(n, 1);
      const Status done = FailingAllocations::call([&] { return guarded(work); });
      const uint64_t failed = FailingAllocations::disarm();
      // What was merged away goes when the state is recorded.
      ASSERT_TRUE(host_.record(*table_));
      const size_t segments = table_->statistics().segments;
      const bool merged = held_when_merged > 0 && segments == 1;
      ASSERT_GE(files(), segments + (merged ? held_when_merged : 0));
      ASSERT_LE(files(), segments + (merged ? held_when_merged + unrecorded : 0));
      if (done) return;
      if (merged) ++unrecorded;
      ASSERT_GT(failed, 0U);
    }
  };
  const auto insert = [&](int32_t first, int32_t rows, int32_t step) {
    const auto writer = begin();
    for (int32_t id = first; id < rows; id += step) {
      Duplicate duplicate;
      ASSERT_TRUE(table_->insert(*writer, encode(*table_, row(id)), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*writer));
  };
  constexpr int32_t rows = 3'000, parts = 3;
  for (int32_t part = 0; part < parts; ++part) {
    insert(part, rows, parts);
    const auto flush = [&]() -> Status {
      HAILSTONE_TRY(table_->flush(true));
      return {};
    };
    with_failures(flush, 0);
    if (HasFatalFailure()) return;
  }
  // Rows whose end is uncommitted are found where the merge puts them.
  auto writer = begin();
  for (int32_t id = 0; id < rows; id += 7) {
    std::string key;
    const Value value = Value::of(order_signed(id, 4));
    ASSERT_TRUE(table_->key_codec(0).append({&value, 1}, key));
    ASSERT_TRUE(table_->erase(*writer, key));
  }
  with_failures([&] { return table_->optimize({}); }, parts);
  if (HasFatalFailure()) return;
  EXPECT_EQ(table_->statistics().segments, 1U);
  host_.transactions().rollback(*writer);
  writer.reset();
  EXPECT_EQ(files(), 1U);
  expect_rows(rows);
}

TEST_F(MergeTest, CheckAndIndexReadsReadBlocksAFewTimesHoweverShortMemoryIs) {
  constexpr int32_t rows = 20'000;
  make_segments(rows, 1);
  Reservation all(host_.budget());
  all.grow(host_.budget().limit());
  uint64_t before = reads();
  expect_rows(rows);
  EXPECT_LT(reads() - before, 1'500U);
  before = reads();
  ASSERT_TRUE(table_->check(*begin(), {}));
  EXPECT_LT(reads() - before, 3'000U);
}

TEST_F(MergeTest, ManySegmentsAreReadInOrder) {
  // Some lie behind each other, some between, and one around all.
  std::mt19937_64 random(test_seed(12));
  std::vector<int32_t> ids;
  for (int32_t part = 0; part < 60; ++part) {
    const auto transaction = begin();
    const auto insert = [&](int32_t id) {
      if (std::ranges::find(ids, id) != ids.end()) return;
      Duplicate duplicate;
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row(id)), duplicate));
      ids.push_back(id);
    };
    for (int32_t i = 0; i < 20; ++i) insert(part * 100 + (part % 3 == 0 ? i * 37 % 400 * 64 + 7000 : i));
    if (part == 30) {
      insert(-5);
      insert(1 << 20);
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
  }
  ASSERT_EQ(table_->statistics().segments, 60U);
  std::ranges::sort(ids);
  const auto transaction = begin();
  for (const ReadLock lock : {ReadLock::None, ReadLock::Shared}) {
    Cursor cursor(table_, *transaction, 0, lock, all_columns());
    for (int attempt = 0; attempt < 200; ++attempt) {
      const auto bound = static_cast<int32_t>(random() % 40'000) - 100;
      const Value value = Value::of(order_signed(bound, 4));
      std::string key;
      ASSERT_TRUE(table_->key_codec(0).append({&value, 1}, key));
      const bool forward = random() % 2 == 0;
      auto on_row = forward ? cursor.seek_at_or_after(key) : cursor.seek_before(key);
      auto expected = std::ranges::lower_bound(ids, bound) - ids.begin();
      if (!forward) --expected;
      for (int step = 0; step < 30; ++step) {
        ASSERT_TRUE(on_row) << message(on_row);
        const bool exists = expected >= 0 && expected < static_cast<std::ptrdiff_t>(ids.size());
        ASSERT_EQ(*on_row, exists) << "bound " << bound << " step " << step;
        if (!exists) break;
        ASSERT_TRUE(cursor.load_values());
        ASSERT_EQ(decode(cursor.values()).id, ids[static_cast<size_t>(expected)]);
        const bool back = random() % 8 == 0;
        expected += forward != back ? 1 : -1;
        on_row = forward != back ? cursor.next() : cursor.previous();
      }
    }
  }
}

/// Rows with random keys come in small parts, of which each lies among all the others.
TEST_F(MergeTest, RowsInNoOrderAreWrittenAFewTimesAndAreInAFewPlaces) {
  constexpr int32_t parts = 150, rows_of_part = 200;
  host_.buffer_bytes = size_t{64} << 10;
  std::vector<int32_t> ids(size_t{parts} * rows_of_part);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(test_seed(31)));
  Counters& counters = host_.counters();
  uint64_t flushed = 0, merged = 0;
  for (size_t first = 0; first < ids.size(); first += rows_of_part) {
    const auto transaction = begin();
    for (size_t i = first; i < first + rows_of_part; ++i) {
      Duplicate duplicate;
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row(ids[i])), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    uint64_t before = counters.segment_write_bytes.load();
    ASSERT_TRUE(table_->flush(true));
    flushed += counters.segment_write_bytes.load() - before;
    before = counters.segment_write_bytes.load();
    for (bool more = true; more;) {
      const auto result = table_->merge();
      ASSERT_TRUE(result) << message(result);
      more = *result;
    }
    merged += counters.segment_write_bytes.load() - before;
  }
  // Each merge is of eight at least, so that a row is written again two times or so.
  EXPECT_GT(merged, 0U);
  EXPECT_LT(merged, 3 * flushed);
  const uint64_t skipped = counters.bloom_filter_skips.load();
  constexpr size_t lookups = 1000;
  for (size_t i = 0; i < lookups; ++i) {
    const auto transaction = begin();
    RowReads reads(*table_, all_columns());
    std::vector<Value> values(all_columns().size());
    ASSERT_TRUE(table_->find(*transaction, key_of(*table_, ids[i]), ReadLock::None, reads, values).value());
  }
  EXPECT_LT(counters.bloom_filter_skips.load() - skipped, 30 * lookups);
  expect_rows(parts * rows_of_part);
}

/// Segments that do not overlap, as those of keys in order of time, of sizes that `bytes` gives.
TEST_F(MergeTest, KeysInOrderMakeNoMoreSegmentsThanATableMayHave) {
  constexpr uint64_t most_of_one_size = 1024;
  constexpr int32_t flushes = 3500;
  // Segments are neither small for a merge nor too big for one.
  host_.buffer_bytes = size_t{16} << 10;
  Counters& counters = host_.counters();
  uint64_t flushed = 0, merged = 0, most = 0;
  int32_t next = 0;
  std::mt19937_64 random(test_seed(6));
  for (int32_t i = 0; i < flushes; ++i) {
    const auto transaction = begin();
    for (const int32_t end = next + 4; next < end; ++next) {
      Duplicate duplicate;
      TestRow wanted = row(next);
      wanted.padding = static_cast<uint32_t>(600 + random() % 200);
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, wanted), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    uint64_t before = counters.segment_write_bytes.load();
    ASSERT_TRUE(table_->flush(true));
    flushed += counters.segment_write_bytes.load() - before;
    before = counters.segment_write_bytes.load();
    while (table_->merge_due()) ASSERT_TRUE(table_->merge());
    merged += counters.segment_write_bytes.load() - before;
    most = std::max(most, table_->statistics().segments);
  }
  EXPECT_EQ(table_->statistics().rows, static_cast<uint64_t>(next));
  EXPECT_GE(most, most_of_one_size);
  // A few that are too few side by side to be merged may be there besides.
  EXPECT_LE(most, most_of_one_size + most_of_one_size / 16);
  // A row is written again twice at most.
  EXPECT_GT(merged, 0U);
  EXPECT_LT(merged, 2 * flushed);
}

TEST_F(MergeTest, ALoadAsksForAMerge) {
  const auto transaction = begin();
  BulkLoad load(table_, *transaction);
  for (int32_t id = 0; id < 1000; ++id) ASSERT_TRUE(append(load, {.id = id, .number = id, .padding = 9000}));
  Duplicate duplicate;
  ASSERT_TRUE(load.finish(duplicate));
  EXPECT_EQ(host_.merge_requests.load(), 0U);
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  EXPECT_EQ(host_.merge_requests.load(), 1U);
}

/// How often a load of rows above `before` others, which are in the delta, asks whether it is interrupted.
TEST_F(MergeTest, ALoadIsComparedWithNoneOfTheRowsBeforeIt) {
  host_.delta_bytes = size_t{64} << 20;
  constexpr int32_t first = 100'000;
  const auto load = [&](int32_t from, Duplicate& duplicate, uint64_t& looks) -> Status {
    const auto transaction = begin();
    transaction->set_interruption_check([&] {
      ++looks;
      return false;
    });
    BulkLoad rows(table_, *transaction);
    for (int32_t id = from; id < from + 500; ++id) {
      TestRow big = row(id);
      big.padding = 9000;
      HAILSTONE_TRY(append(rows, big));
    }
    const Status loaded = rows.finish(duplicate);
    host_.transactions().rollback(*transaction);
    return loaded;
  };
  Duplicate duplicate;
  uint64_t alone = 0, beside = 0;
  Status loaded = load(first, duplicate, alone);
  ASSERT_TRUE(loaded) << message(loaded);
  for (int32_t part = 0; part < 50; ++part) {
    const auto transaction = begin();
    for (int32_t id = part * 1000; id < (part + 1) * 1000; ++id)
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row(id)), duplicate));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  loaded = load(first, duplicate, beside);
  ASSERT_TRUE(loaded) << message(loaded);
  // A look for an interruption comes with some thousand rows.
  EXPECT_EQ(beside, alone);
  // The first row of a load is compared, and so is the last one.
  for (const int32_t from : {49'999, 50'000 - 500, 10}) {
    loaded = load(from, duplicate, beside);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), ErrorCode::DuplicateKey) << message(loaded);
  }
  loaded = load(50'000, duplicate, beside);
  EXPECT_TRUE(loaded) << message(loaded);
}

/// The table has the even ids, in segments whose keys lie between each other's; a load brings the odd ones,
/// more than are hashed at a time.
TEST_F(MergeTest, TheKeysOfALoadAreLookedForWhereFiltersAdmitThem) {
  constexpr int32_t ids = 150'000, parts = 4;
  host_.buffer_bytes = host_.delta_bytes = size_t{64} << 20;
  for (int32_t part = 0; part < parts; ++part) {
    const auto transaction = begin();
    Duplicate duplicate;
    for (int32_t id = 2 * part; id < ids; id += 2 * parts)
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row(id)), duplicate));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
  }
  ASSERT_EQ(table_->statistics().segments, uint64_t{parts});
  const auto load = [&](Transaction& transaction, std::optional<int32_t> also,
                        Duplicate& duplicate) -> Status {
    BulkLoad rows(table_, transaction);
    for (int32_t id = 1; id < ids; id += 2) {
      if (also && *also == id - 1) HAILSTONE_TRY(append(rows, row(*also)));
      TestRow odd = row(id);
      odd.padding = 20;
      HAILSTONE_TRY(append(rows, odd));
    }
    return rows.finish(duplicate);
  };
  for (const int32_t also : {0, 140'000, ids - 2}) {
    const auto transaction = begin();
    Duplicate duplicate;
    const Status refused = load(*transaction, also, duplicate);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::DuplicateKey) << refused.error().message();
    EXPECT_EQ(duplicate.clustered_key, key_of(*table_, also));
    host_.transactions().rollback(*transaction);
  }
  const uint64_t skipped = host_.counters().bloom_filter_skips.load();
  const auto transaction = begin();
  Duplicate duplicate;
  const Status loaded = load(*transaction, std::nullopt, duplicate);
  ASSERT_TRUE(loaded) << loaded.error().message();
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  // Of both unique indexes: nearly all keys are in no segment.
  constexpr uint64_t looks = uint64_t{2} * parts * (ids / 2);
  EXPECT_GT(host_.counters().bloom_filter_skips.load() - skipped, looks - looks / 20);
  const auto reader = begin();
  Scan scan(table_, *reader, ReadLock::None, nullptr, {});
  EXPECT_EQ(scan.count_rest().value(), uint64_t{ids});
}

}  // namespace
}  // namespace hailstone
