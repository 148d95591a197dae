// Several tables gone through as one, against the rows that were written to them.
#include "table/scans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "base/test_seed.h"
#include "segment/geometry.h"
#include "table/bulk_load.h"
#include "table/test_host.h"

namespace hailstone {
namespace {

enum PartColumn : uint16_t { number, small, word, note };

TableDefinition part_definition(size_t part, bool columnar) {
  TableDefinition definition;
  definition.name = "test/whole#P#p" + std::to_string(part);
  definition.columns = {
      {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "small", .type = Type::Signed, .width = 2},
      {.name = "word", .type = Type::Varchar, .width = 20, .columnar = columnar},
      {.name = "note", .type = Type::Varchar, .width = 50, .columnar = false},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

struct PartRow {
  std::optional<int64_t> small;
  std::optional<std::string> word;
  bool operator==(const PartRow&) const = default;
};
using PartRows = std::map<int64_t, PartRow>;

std::string note_of(int64_t each) { return "note " + std::to_string(each); }

class ScansTest : public testing::Test {
 protected:
  ScansTest() : random_(test_seed(31)) {
    host_.background = true;
    host_.segment_rows = 20'000;
  }
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  void add_table() {
    const size_t part = tables_.size();
    tables_.push_back(host_.create(part_definition(part, below(3) != 0), static_cast<TableId>(part + 1)));
  }

  void add_rows(size_t part, int32_t first, int32_t last, bool in_bulk) {
    Table& table = *tables_[part];
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    std::optional<BulkLoad> load;
    if (in_bulk) load.emplace(tables_[part], *transaction);
    for (int32_t each = first; each < last; ++each) {
      PartRow row;
      if (below(10) != 0) row.small = static_cast<int64_t>(below(2000)) - 1000;
      if (below(10) != 0) row.word = "word " + std::to_string(below(30));
      const std::string text = note_of(each);
      const std::array<Value, 4> values{
          Value::of(order_signed(each, 4)),
          row.small ? Value::of(order_signed(*row.small, 2)) : Value{},
          row.word ? Value::of(ByteView(*row.word)) : Value{},
          Value::of(ByteView(text)),
      };
      if (load) {
        ASSERT_TRUE(load->append(values));
      } else {
        std::string encoded;
        ASSERT_TRUE(table.layout()->row_codec().encode(values, encoded));
        ASSERT_TRUE(table.insert(*transaction, encoded, duplicate));
      }
      rows_[each] = row;
    }
    if (load) {
      ASSERT_TRUE(load->finish(duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }

  void erase(size_t part, int32_t each) {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    const Value value = Value::of(order_signed(each, 4));
    std::string key;
    ASSERT_TRUE(tables_[part]->key_codec(0).append({&value, 1}, key));
    ASSERT_TRUE(tables_[part]->erase(*transaction, key));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    rows_.erase(each);
  }

  /// Of some size each: none, rows in a delta, in segments, or in both.
  void fill(size_t tables) {
    int32_t next = 0;
    for (size_t part = 0; part < tables; ++part) {
      add_table();
      const auto some = static_cast<int32_t>(std::array<size_t, 4>{0, 10, 3000, 30'000}[below(4)]);
      const auto more = static_cast<int32_t>(below(2) * below(below(4) == 0 ? 6000 : 200));
      if (some != 0) add_rows(part, next, next + some, true);
      if (more != 0) add_rows(part, next + some, next + some + more, false);
      for (int32_t each = next; each < next + some + more; each += 1 + static_cast<int32_t>(below(400)))
        erase(part, each);
      next += some + more;
    }
  }

  Scans scans(const std::shared_ptr<const Predicate>& predicate = nullptr) {
    std::vector<std::unique_ptr<Scan>> all;
    for (const auto& table : tables_) {
      all.push_back(std::make_unique<Scan>(table, *reader_, ReadLock::None, predicate,
                                           std::vector<uint16_t>{number, small, word},
                                           std::vector<bool>{false, false, below(2) == 0}));
    }
    return Scans(std::move(all));
  }

  PartRows rows_of(Scans& all, unsigned threads) {
    std::mutex mutex;
    PartRows found;
    EXPECT_TRUE(all.each_batch(threads, [&](unsigned part, const Batch& batch) -> Status {
      const std::lock_guard guard(mutex);
      EXPECT_LT(part, threads);
      for (uint32_t row = 0; row < batch.rows; ++row) {
        PartRow read;
        const Value some = batch.columns[1].value(row), text = batch.columns[2].value(row);
        if (!some.null) read.small = native_signed(some.integer, 2);
        if (!text.null) read.word = std::string(text.bytes);
        const int64_t each = native_signed(batch.columns[0].value(row).integer, 4);
        EXPECT_TRUE(found.emplace(each, read).second) << each << " is there twice";
      }
      return {};
    }));
    return found;
  }

  TestHost host_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<Table>> tables_;
  PartRows rows_;
  std::unique_ptr<Transaction> reader_;
};

TEST_F(ScansTest, HaveAllRowsOfAllTables) {
  fill(25);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto predicate = std::make_shared<const Predicate>(
      Predicate::integer(small, {{.low = order_signed(-100, 2), .high = order_signed(300, 2)}}));
  PartRows some;
  for (const auto& [each, row] : rows_) {
    if (row.small && *row.small >= -100 && *row.small <= 300) some.emplace(each, row);
  }
  for (const unsigned threads : {1U, 2U, 4U}) {
    Scans all = scans();
    EXPECT_EQ(rows_of(all, threads), rows_);
    EXPECT_EQ(rows_of(all, threads), rows_) << "when gone through again";
    Scans fewer = scans(predicate);
    EXPECT_EQ(rows_of(fewer, threads), some);
  }
}

TEST_F(ScansTest, SamplesCountTheRowsOfPartialBlocksAndOfDeltas) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  add_table();
  EXPECT_EQ(scans().sample().value(), 1) << "of no rows";
  const auto share_below = [this](int32_t limit) {
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
    return scans(std::make_shared<const Predicate>(Predicate::integer(
                     number, {{.low = order_signed(0, 4), .high = order_signed(limit - 1, 4)}})))
        .sample()
        .value();
  };
  add_rows(0, 0, 300, /*in_bulk=*/true);
  EXPECT_DOUBLE_EQ(share_below(100), 1.0 / 3);
  add_rows(0, 300, 400, /*in_bulk=*/false);
  EXPECT_DOUBLE_EQ(share_below(100), 0.25);
  EXPECT_DOUBLE_EQ(share_below(350), 0.875);
  add_table();
  add_rows(1, 400, 800, /*in_bulk=*/false);
  EXPECT_DOUBLE_EQ(share_below(600), 0.75);
  EXPECT_EQ(share_below(1000), 1);
}

TEST_F(ScansTest, SamplesKnowWhatSummariesDecide) {
  constexpr auto rows = static_cast<int32_t>(10 * block_rows);
  add_table();
  add_rows(0, 0, rows, /*in_bulk=*/true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  // Numbers are in order, so that at most one block has rows on both sides of a limit, and is read.
  for (const int32_t limit : {1, rows / 5, rows / 2, rows * 4 / 5 + 17}) {
    const Predicate below =
        Predicate::integer(number, {{.low = order_signed(0, 4), .high = order_signed(limit - 1, 4)}});
    const double share = scans(std::make_shared<const Predicate>(below)).sample().value();
    EXPECT_DOUBLE_EQ(share, static_cast<double>(limit) / rows) << limit;
  }
}

TEST_F(ScansTest, AggregateAllTables) {
  fill(25);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::array<Aggregate, 6> wanted{{{.kind = Aggregate::Kind::Rows},
                                         {.kind = Aggregate::Kind::Values, .position = 1},
                                         {.kind = Aggregate::Kind::Sum, .position = 1},
                                         {.kind = Aggregate::Kind::Minimum, .position = 1},
                                         {.kind = Aggregate::Kind::Maximum, .position = 0},
                                         {.kind = Aggregate::Kind::Maximum, .position = 2}}};
  uint64_t smalls = 0;
  int64_t sum = 0, least = INT64_MAX;
  std::string greatest;
  for (const auto& [each, row] : rows_) {
    if (row.word) greatest = std::max(greatest, *row.word);
    if (!row.small) continue;
    ++smalls;
    sum += *row.small;
    least = std::min(least, *row.small);
  }
  for (const unsigned threads : {1U, 3U}) {
    Scans all = scans();
    const auto results = all.aggregate(wanted, threads);
    ASSERT_TRUE(results);
    EXPECT_EQ((*results)[0].count, rows_.size());
    EXPECT_EQ((*results)[1].count, smalls);
    EXPECT_EQ((*results)[2].integer_sum, sum);
    EXPECT_EQ(native_signed((*results)[3].integer, 2), least);
    EXPECT_EQ(native_signed((*results)[4].integer, 4), rows_.rbegin()->first);
    EXPECT_EQ((*results)[5].bytes, greatest);
  }
}

TEST_F(ScansTest, AreAggregatedWhereTheyReadWhatIsUncommitted) {
  fill(3);
  add_table();
  const auto writer = host_.transactions().begin(Isolation::RepeatableRead);
  const std::array<Value, 4> values{Value::of(order_signed(-5, 4)), Value{}, Value{}, Value{}};
  std::string encoded;
  Duplicate duplicate;
  ASSERT_TRUE(tables_.back()->layout()->row_codec().encode(values, encoded));
  ASSERT_TRUE(tables_.back()->insert(*writer, encoded, duplicate));
  const Aggregate rows{.kind = Aggregate::Kind::Rows};
  for (const Isolation isolation : {Isolation::ReadUncommitted, Isolation::RepeatableRead}) {
    reader_ = host_.transactions().begin(isolation);
    const auto results = scans().aggregate({&rows, 1}, 2);
    ASSERT_TRUE(results);
    EXPECT_EQ(results->front().count, rows_.size() + (isolation == Isolation::ReadUncommitted ? 1 : 0));
  }
}

TEST_F(ScansTest, ReadRowsAtTheirPlaces) {
  fill(12);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  Scans all = scans();
  all.add_places({note, number});
  std::mutex mutex;
  std::vector<std::pair<uint64_t, int64_t>> places;
  ASSERT_TRUE(all.each_batch(3, [&](unsigned, const Batch& batch) -> Status {
    const std::lock_guard guard(mutex);
    for (uint32_t row = 0; row < batch.rows; ++row)
      places.emplace_back(batch.places.integers[row], native_signed(batch.columns[0].value(row).integer, 4));
    return {};
  }));
  EXPECT_EQ(places.size(), rows_.size());
  // What is written meanwhile, and brought into segments, is nothing to them.
  for (size_t part = 0; part < tables_.size(); ++part) {
    add_rows(part, 1'000'000 + static_cast<int32_t>(part), 1'000'001 + static_cast<int32_t>(part), false);
    ASSERT_TRUE(tables_[part]->optimize(StopToken()));
  }
  std::ranges::shuffle(places, random_);
  places.resize(std::min<size_t>(places.size(), 2000));
  for (const auto& [place, each] : places) {
    std::array<Value, 2> values;
    ASSERT_TRUE(all.read_place(place, values));
    ASSERT_EQ(std::string(values[0].bytes), note_of(each));
    ASSERT_EQ(native_signed(values[1].integer, 4), each);
  }
}

TEST_F(ScansTest, LeaveOutWhatABoundExcludes) {
  fill(12);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  if (rows_.size() < 100) return;
  const int64_t last = std::prev(rows_.end(), 50)->first;
  Scans all = scans();
  const auto bound = all.add_bound(0, true);
  bound->tighten(order_signed(last, 4));
  const PartRows found = rows_of(all, 2);
  EXPECT_TRUE(std::equal(rows_.lower_bound(last), rows_.end(), found.lower_bound(last), found.end()));
}

/// Matches all values, and counts how often it is asked.
class CountedTest final : public BytesTest {
 public:
  bool matches(ByteView) const override {
    asked.fetch_add(1);
    return true;
  }
  mutable std::atomic<uint64_t> asked{0};
};

TEST_F(ScansTest, TestNoDictionaryOfASegmentThatABoundExcludes) {
  tables_.push_back(host_.create(part_definition(0, true), 1));
  add_rows(0, 0, 60'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto asked_within = [&](int64_t last) {
    const auto test = std::make_shared<CountedTest>();
    Scans all = scans(std::make_shared<const Predicate>(Predicate::bytes(word, test)));
    all.add_bound(0, false)->tighten(order_signed(last, 4));
    const PartRows found = rows_of(all, 1);
    for (auto row = rows_.begin(); row != rows_.upper_bound(last); ++row)
      EXPECT_EQ(found.contains(row->first), row->second.word.has_value());
    return test->asked.load();
  };
  const uint64_t of_one = asked_within(100);
  EXPECT_GT(of_one, 0U);
  EXPECT_GE(asked_within(60'000), 3 * of_one);
}

TEST_F(ScansTest, EndWhenTheyAreInterrupted) {
  fill(8);
  add_table();
  add_rows(tables_.size() - 1, 2'000'000, 2'000'100, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  reader_->set_interruption_check([] { return true; });
  Scans all = scans();
  const Status ended = all.each_batch(2, [](unsigned, const Batch&) -> Status { return {}; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::Interrupted);
  EXPECT_FALSE(all.check_interruption());
  EXPECT_FALSE(all.check_interruption_seen());
}

TEST_F(ScansTest, ShareTheRowsOfADeltaAmongThreads) {
  add_table();
  add_rows(0, 0, 60'000, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const unsigned threads : {1U, 4U}) {
    Scans all = scans();
    OperatorCounts counts;
    all.count_in(counts);
    EXPECT_EQ(rows_of(all, threads), rows_);
    EXPECT_EQ(counts.rows_in, rows_.size());
    EXPECT_EQ(counts.rows_out, rows_.size());
    EXPECT_LE(counts.threads(), threads);
  }
}

TEST_F(ScansTest, EndInTheMidstOfADelta) {
  add_table();
  add_rows(0, 0, 20'000, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  std::atomic<int> batches = 0;
  for (const unsigned threads : {1U, 3U}) {
    batches = 0;
    const auto ends = scans().each_batch(threads, [&](unsigned, const Batch&) -> Status {
      if (++batches < 5) return {};
      return fail(ErrorCode::Unsupported, "five batches are enough");
    });
    ASSERT_FALSE(ends);
    EXPECT_EQ(ends.error().code(), ErrorCode::Unsupported);
  }
  batches = 0;
  reader_->set_interruption_check([&] { return batches >= 10; });
  const auto interrupted = scans().each_batch(1, [&](unsigned, const Batch&) -> Status {
    ++batches;
    return {};
  });
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().code(), ErrorCode::Interrupted);
  EXPECT_EQ(batches, 10);
}

}  // namespace
}  // namespace hailstone
