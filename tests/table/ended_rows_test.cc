// Which segments a look for dead rows looks at, and what comes of it.
#include "table/ended_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "base/test_seed.h"
#include "table/places.h"
#include "table/row_reads.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

constexpr int32_t rows_of_one = 60;

/// A table of segments that are not merged for being small, or many.
class DeadRowsTest : public testing::Test {
 protected:
  DeadRowsTest() { host_.buffer_bytes = size_t{16} << 10; }

  std::unique_ptr<Transaction> begin() { return host_.transactions().begin(Isolation::RepeatableRead); }
  std::unique_ptr<Transaction> begin_to_read() {
    auto transaction = begin();
    static_cast<void>(transaction->snapshot());
    return transaction;
  }
  void commit(Transaction& transaction) { ASSERT_TRUE(host_.transactions().commit(transaction)); }
  void insert(Transaction& transaction, int32_t first, int32_t last) {
    for (int32_t id = first; id < last; ++id) {
      Duplicate duplicate;
      const TestRow row{.id = id, .number = id, .padding = 50};
      ASSERT_TRUE(table_->insert(transaction, encode(*table_, row), duplicate));
    }
  }
  void erase(Transaction& transaction, int32_t first, int32_t last) {
    for (int32_t id = first; id < last; ++id) ASSERT_TRUE(table_->erase(transaction, key_of(*table_, id)));
  }
  /// So many segments more, of rows_of_one each.
  void grow(int32_t segments) {
    for (const int32_t end = made_ + segments; made_ < end; ++made_) {
      const auto transaction = begin();
      insert(*transaction, made_ * rows_of_one, (made_ + 1) * rows_of_one);
      commit(*transaction);
      ASSERT_TRUE(table_->flush(true));
    }
  }
  /// Of a segment, the first rows, by a transaction of their own.
  void erase_part(int32_t segment, int32_t percent) {
    const auto transaction = begin();
    const int32_t first = segment * rows_of_one;
    erase(*transaction, first, first + rows_of_one * percent / 100);
    commit(*transaction);
  }
  /// How many merges there are to be done.
  int merge() {
    for (int merges = 0;; ++merges) {
      if (!table_->merge_due()) return merges;
      const auto merged = table_->merge();
      EXPECT_TRUE(merged) << message(merged);
      if (!merged) return merges;
    }
  }
  uint64_t deleted() const { return table_->statistics().deleted_rows; }

  TestHost host_;
  std::shared_ptr<Table> table_ = host_.create(test_definition(true));
  int32_t made_ = 0;
};

TEST_F(DeadRowsTest, TheSegmentOfWhichMostIsDeadIsMergedFirst) {
  grow(20);
  EXPECT_FALSE(table_->merge_due());
  erase_part(3, 20);
  EXPECT_FALSE(table_->merge_due());
  EXPECT_EQ(host_.dead_requests.load(), 0U);
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Never);
  for (const auto& [segment, percent] : {std::pair{5, 40}, {12, 90}, {7, 60}}) erase_part(segment, percent);
  EXPECT_EQ(host_.dead_requests.load(), 1U);
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Now);
  for (const uint64_t left : {120U, 60U, 20U}) {
    ASSERT_TRUE(table_->merge_due());
    ASSERT_TRUE(table_->merge());
    EXPECT_EQ(deleted(), left * rows_of_one / 100);
  }
  EXPECT_FALSE(table_->merge_due());
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Never);
  EXPECT_EQ(table_->statistics().segments, 20U);
}

TEST_F(DeadRowsTest, SegmentsThatAreDeadAsAWholeGoTogetherAndNothingIsWritten) {
  grow(50);
  const auto transaction = begin();
  erase(*transaction, 0, 40 * rows_of_one);
  commit(*transaction);
  const uint64_t written = host_.counters().segment_write_bytes.load();
  ASSERT_TRUE(table_->merge());
  EXPECT_EQ(table_->statistics().segments, 50U - 32U);
  EXPECT_EQ(merge(), 1);
  EXPECT_EQ(table_->statistics().segments, 10U);
  // But for the ends of rows, in files of their own.
  EXPECT_LT(host_.counters().segment_write_bytes.load() - written, written / 20);
  EXPECT_EQ(deleted(), 0U);
  // Both left room on the disk.
  EXPECT_EQ(host_.checkpoint_requests.load(), 2U);
}

TEST_F(DeadRowsTest, WhatASnapshotNeedsIsMergedWhenItHasGone) {
  grow(12);
  const auto oldest = begin_to_read();
  for (int32_t segment = 1; segment < 6; ++segment) erase_part(segment, 50);
  // Rows that the oldest snapshot does not see.
  grow(2);
  const auto middle = begin_to_read();
  for (const int32_t segment : {6, 12, 13}) erase_part(segment, 50);
  const auto newest = begin_to_read();
  for (int look = 0; look < 2; ++look) {
    EXPECT_FALSE(table_->merge_due());
    EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Later);
  }
  // More of a segment that was looked at already.
  erase_part(8, 40);
  EXPECT_FALSE(table_->merge_due());
  host_.transactions().rollback(*newest);
  EXPECT_FALSE(table_->merge_due());
  host_.transactions().rollback(*middle);
  EXPECT_EQ(merge(), 2);
  EXPECT_EQ(deleted(), static_cast<uint64_t>(6 * rows_of_one / 2 + rows_of_one * 40 / 100));
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Later);
  host_.transactions().rollback(*oldest);
  EXPECT_EQ(merge(), 7);
  EXPECT_EQ(deleted(), 0U);
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Never);
}

TEST_F(DeadRowsTest, RowsOfASegmentThatWasPutAsideMakeItWorthALook) {
  grow(4);
  const auto reader = begin_to_read();
  erase_part(2, 40);
  EXPECT_FALSE(table_->merge_due());
  grow(1);
  // The reader sees nothing of this one, which is mostly dead from its last rows on.
  {
    const auto transaction = begin();
    erase(*transaction, 4 * rows_of_one, 4 * rows_of_one + 20);
    const auto open = begin();
    erase(*open, 4 * rows_of_one + 20, 5 * rows_of_one);
    EXPECT_FALSE(table_->merge_due());
    commit(*transaction);
    ASSERT_TRUE(table_->merge_due());
    commit(*open);
  }
  EXPECT_EQ(merge(), 1);
  EXPECT_EQ(table_->statistics().segments, 4U);
  host_.transactions().rollback(*reader);
  EXPECT_EQ(merge(), 1);
}

TEST_F(DeadRowsTest, EndsCountWhereverTheirRowsHaveGone) {
  grow(6);
  const auto rolled_back = begin(), committed = begin();
  erase(*rolled_back, 0, rows_of_one);
  erase(*committed, rows_of_one, rows_of_one * 2);
  // Rows of a delta, too.
  {
    const auto transaction = begin();
    insert(*transaction, 6 * rows_of_one, 7 * rows_of_one);
    commit(*transaction);
  }
  erase(*committed, 6 * rows_of_one, 7 * rows_of_one);
  ASSERT_TRUE(table_->flush(true));
  EXPECT_FALSE(table_->merge_due());
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Later);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_FALSE(table_->merge_due());
  host_.transactions().rollback(*rolled_back);
  commit(*committed);
  ASSERT_TRUE(table_->merge_due());
  merge();
  EXPECT_EQ(table_->statistics().rows, static_cast<uint64_t>(5 * rows_of_one));
  EXPECT_LE(deleted() * 100, table_->statistics().rows * 30);
}

TEST_F(DeadRowsTest, ATableThatIsOpenedKnowsItsDeadRows) {
  grow(5);
  erase_part(1, 50);
  erase_part(2, 25);
  ASSERT_TRUE(host_.record(*table_));
  auto opened = Table::open(host_, host_.recorded(1));
  ASSERT_TRUE(opened) << message(opened);
  table_ = *opened;
  EXPECT_EQ(deleted(), 45U);
  EXPECT_EQ(merge(), 1);
  EXPECT_EQ(deleted(), 15U);
}

using DeadRowsConcurrentTest = DeadRowsTest;

/// Rows end and come back, segments come and go and are looked at, snapshots come and go: nothing that is to
/// be merged is forgotten.
TEST_F(DeadRowsConcurrentTest, NothingIsForgotten) {
  constexpr int32_t segments = 24;
  constexpr int writers = 3, rounds = 150;
  grow(segments);
  const uint64_t seed = test_seed(45);
  std::atomic<int> writing{writers};
  std::vector<std::thread> threads;
  std::array<std::set<int32_t>, writers> erased;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(writer));
      for (int round = 0; round < rounds; ++round) {
        const auto transaction = begin();
        std::set<int32_t> now;
        const auto below = [&](int32_t limit) {
          return static_cast<int32_t>(random() % static_cast<uint64_t>(limit));
        };
        const int32_t first = below(segments) * rows_of_one + below(rows_of_one);
        for (int32_t id = first; id < std::min(first + 40, segments * rows_of_one); ++id) {
          if (id % writers != writer || erased[static_cast<size_t>(writer)].contains(id)) continue;
          EXPECT_TRUE(table_->erase(*transaction, key_of(*table_, id)));
          now.insert(id);
        }
        if (random() % 3 == 0) {
          host_.transactions().rollback(*transaction);
        } else {
          EXPECT_TRUE(host_.transactions().commit(*transaction));
          erased[static_cast<size_t>(writer)].merge(now);
        }
      }
      writing.fetch_sub(1);
    });
  }
  threads.emplace_back([&] {
    std::mt19937_64 random(seed + 99);
    std::vector<std::unique_ptr<Transaction>> readers;
    while (writing.load() > 0) {
      readers.push_back(begin_to_read());
      if (readers.size() < 5) continue;
      const auto gone = readers.begin() + static_cast<std::ptrdiff_t>(random() % readers.size());
      host_.transactions().rollback(**gone);
      readers.erase(gone);
      std::this_thread::yield();
    }
    for (const auto& reader : readers) host_.transactions().rollback(*reader);
  });
  while (writing.load() > 0) {
    EXPECT_TRUE(table_->merge());
    static_cast<void>(table_->merge_of_dead());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  merge();
  EXPECT_EQ(table_->merge_of_dead(), Table::MergeOfDead::Never);
  const size_t gone = erased[0].size() + erased[1].size() + erased[2].size();
  const TableStatistics left = table_->statistics();
  EXPECT_EQ(left.rows, segments * rows_of_one - gone);
  EXPECT_LE(left.deleted_rows * 100, (left.rows + left.deleted_rows) * 30);
  const auto checker = begin();
  const Status checked = table_->check(*checker, {});
  EXPECT_TRUE(checked) << message(checked);
}

/// Segments beside a table's view, of ten rows each.
class EndedRowsTest : public DeadRowsTest {
 protected:
  static constexpr uint32_t rows = 10;
  EndedRowsTest() {
    for (uint64_t file = 1; file <= 3; ++file) {
      const auto transaction = begin();
      const auto first = static_cast<int32_t>(file * rows);
      insert(*transaction, first, first + static_cast<int32_t>(rows));
      EXPECT_TRUE(host_.transactions().commit(*transaction));
      EXPECT_TRUE(table_->flush(true));
      auto opened =
          Segment::open(host_.filesystem(), host_.segment_path(file), host_.cache(), host_.counters());
      EXPECT_TRUE(opened);
      segments_.push_back(std::make_shared<TableSegment>(
          latch_, table_->layout(), std::shared_ptr<Segment>(std::move(*opened)), file, 1,
          std::make_unique<DeleteVector>(rows, host_.budget()), 0));
      const ExclusiveLock guard(segments_.back()->latch());
      segments_.back()->count_ended_in(ended_);
    }
  }
  ~EndedRowsTest() override {
    for (const auto& segment : segments_) {
      const ExclusiveLock guard(segment->latch());
      segment->count_ended_in(nullptr);
    }
    EXPECT_EQ(ended_->count.load(), 0U);
    EXPECT_FALSE(ended_->lists_any());
  }
  void end(size_t segment, uint32_t ordinal, Timestamp at) {
    const ExclusiveLock guard(segments_[segment]->latch());
    segments_[segment]->set_end(ordinal, at);
  }
  /// The numbers of those that a look has to do with.
  std::vector<size_t> to_look_at() const {
    const SharedLock guard(segments_[0]->latch());
    std::vector<size_t> result;
    for (const auto& listed : ended_->to_look_at()) {
      const auto found =
          std::ranges::find(segments_, listed.segment, [](const auto& each) { return each.get(); });
      result.push_back(static_cast<size_t>(found - segments_.begin()));
    }
    std::ranges::sort(result);
    return result;
  }
  EndedRows::Looked look(size_t segment, Timestamp newest_end) const {
    const SharedLock guard(segments_[segment]->latch());
    return {.segment = segments_[segment].get(),
            .changes = segments_[segment]->ends->change_count(),
            .newest_end = newest_end};
  }
  void put_aside(const std::vector<EndedRows::Looked>& found, const SnapshotsInUse& snapshots) {
    const ExclusiveLock guard(segments_[0]->latch());
    ended_->put_aside(found, snapshots);
  }
  bool is_snapshot_gone(const SnapshotsInUse& snapshots) const {
    const SharedLock guard(segments_[0]->latch());
    return ended_->is_snapshot_gone(snapshots);
  }

  using Numbers = std::vector<size_t>;
  const std::shared_ptr<TableLatch> latch_ = std::make_shared<TableLatch>();
  const std::shared_ptr<EndedRows> ended_ = std::make_shared<EndedRows>(30);
  std::vector<std::shared_ptr<TableSegment>> segments_;
};

TEST_F(EndedRowsTest, ListsSegmentsWhileAGreatPartHasEnded) {
  for (uint32_t ordinal = 0; ordinal < 3; ++ordinal) end(1, ordinal, 5);
  EXPECT_FALSE(ended_->lists_any());
  EXPECT_EQ(to_look_at(), Numbers{});
  end(1, 3, 5);
  for (uint32_t ordinal = 0; ordinal < 9; ++ordinal) end(2, ordinal, 6);
  EXPECT_EQ(to_look_at(), (Numbers{1, 2}));
  EXPECT_EQ(ended_->count.load(), 13U);
  EXPECT_TRUE(segments_[1]->is_mostly_ended.load());
  // Taken back.
  end(1, 0, infinity);
  EXPECT_FALSE(segments_[1]->is_mostly_ended.load());
  EXPECT_EQ(to_look_at(), Numbers{2});
  EXPECT_EQ(ended_->count.load(), 12U);
}

TEST_F(EndedRowsTest, WhatWasPutAsideIsLookedAtAgainWhenARowEndsOrASnapshotIsGone) {
  for (size_t segment = 0; segment < 3; ++segment) {
    for (uint32_t ordinal = 0; ordinal < 5; ++ordinal) end(segment, ordinal, 10 * (segment + 1));
  }
  EXPECT_EQ(to_look_at(), (Numbers{0, 1, 2}));
  const auto first = look(0, 10), second = look(1, 20);
  // One that has changed since stays.
  end(1, 5, 21);
  put_aside({first, second}, SnapshotsInUse({4, 8, 15, 15, 40}, 40));
  EXPECT_EQ(to_look_at(), (Numbers{1, 2}));
  put_aside({look(1, 21), look(2, 30)}, SnapshotsInUse({4, 8, 15, 40}, 40));
  EXPECT_EQ(to_look_at(), Numbers{});
  EXPECT_TRUE(ended_->lists_any());
  // Snapshots that are too new to need any of the rows come and go.
  EXPECT_FALSE(is_snapshot_gone(SnapshotsInUse({4, 8, 15, 15, 50, 60}, 60)));
  EXPECT_FALSE(is_snapshot_gone(SnapshotsInUse({4, 8, 15}, 70)));
  for (const auto& left : {std::vector<Timestamp>{8, 15}, {4, 15, 70}, {4, 8}, {}})
    EXPECT_TRUE(is_snapshot_gone(SnapshotsInUse(left, 70)));
  end(2, 9, 71);
  EXPECT_EQ(to_look_at(), Numbers{2});
  {
    const ExclusiveLock guard(segments_[0]->latch());
    ended_->look_again();
  }
  EXPECT_EQ(to_look_at(), (Numbers{0, 1, 2}));
  EXPECT_FALSE(is_snapshot_gone(SnapshotsInUse({}, 71)));
  // Those that were aside come and go as others do.
  for (uint32_t ordinal = 0; ordinal < 5; ++ordinal) end(0, ordinal, infinity);
  end(1, 9, 72);
  EXPECT_EQ(to_look_at(), (Numbers{1, 2}));
}

TEST_F(EndedRowsTest, AnEndThatIsNotPublishedYetPutsNothingAside) {
  for (uint32_t ordinal = 0; ordinal < 5; ++ordinal) end(0, ordinal, 50);
  put_aside({look(0, 50)}, SnapshotsInUse({}, 49));
  EXPECT_EQ(to_look_at(), Numbers{0});
  put_aside({look(0, 50)}, SnapshotsInUse({49}, 50));
  EXPECT_EQ(to_look_at(), Numbers{});
}

}  // namespace
}  // namespace hailstone
