// GROUP BY: rows, by several threads, to groups, each with its keys and aggregates.
//
// Each thread fills a GroupTable of its own. While they hold everything they are put together where they are
// (GroupMerge), or, while they are small, by way of records, and that is all. Else what the threads have met
// is divided into partitions by hash (GroupCollector, RecordPartitions), and each partition is put together
// by itself, several at once by several threads; one that is too big is divided again. Pairs of a group and a
// distinct value are divided by both: first they are put together and counted, and what they add up to joins
// the partitions of the groups. So memory bounds the groups, and the pairs, at a time, never the answer.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/operator_counts.h"
#include "query/group_collector.h"
#include "query/group_merge.h"
#include "query/group_table.h"
#include "query/query_memory.h"
#include "query/record_partitions.h"
#include "query/row_batches.h"

namespace hailstone {

/// Groups one after the other.
class Groups {
 public:
  Groups() = default;
  virtual ~Groups() = default;
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  /// Goes to the next group. False: there is none.
  virtual Result<bool> next() = 0;
  /// Of the group where it stands; bytes are valid until next().
  virtual std::span<const Value> keys() const = 0;
  virtual AggregateResult result(size_t aggregate) const = 0;
  /// How many rows have been read so far.
  virtual uint64_t rows_read() const = 0;
  /// Of the rows that they are made of.
  virtual const QueryHost& host() const = 0;
  /// Of the rows that became groups, if they have places (RowBatches::add_places()).
  virtual Status read_place(uint64_t place, std::span<Value> values) const = 0;
};

/// All groups, in no promised order.
class Grouping final : public Groups {
 public:
  /// `keys`: positions among the columns of the rows; without any, all rows are one group, also where there
  /// are none. `threads`: how many may work at it, the caller's included. ErrorCode::Unsupported: more keys
  /// than most_keys, a sum of what is no number; and next() gives it when an expression is not computed.
  /// `counts`: of this operator, which it fills; they outlive it; may be null.
  static Result<std::unique_ptr<Grouping>> make(std::unique_ptr<RowBatches> rows,
                                                std::span<const uint16_t> keys,
                                                std::span<const Aggregate> aggregates, unsigned threads,
                                                OperatorCounts* counts = nullptr);
  /// So many groupings of a block are there at a time: each has its part of the block's floor. Before the
  /// first call of next().
  void share_floor(size_t groupings) { floor_shared_by_ = std::max<size_t>(groupings, 1); }
  /// Results of several groups are to be added up (MergedGroup). Before the first call of next().
  void keep_states() { plan_.keeps_states = true; }
  /// Instead of LookUps::quick_units.
  void set_quick_units(size_t units) { quick_units_ = units; }

  /// ErrorCode::DiskFull, Io: records that memory has no room for could not be written, or read again. After
  /// an error there is nothing to be had any more.
  Result<bool> next() override;
  std::span<const Value> keys() const override;
  AggregateResult result(size_t aggregate) const override {
    return table(place_.table).result(place_.group, aggregate);
  }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  Status read_place(uint64_t place, std::span<Value> values) const override {
    return rows_->read_place(place, values);
  }
  const GroupingPlan& plan() const { return plan_; }
  /// What one operator of these groups may always have, in bytes.
  size_t floor(FloorPart part) const;
  unsigned threads() const { return threads_; }

  /// Instead of next(): the next tables are at hand; the groups of theirs that are not gone come nowhere
  /// else. False: there are no more. Errors as of next().
  Result<bool> next_tables();

  // Once next() has found the first group, or next_tables() some tables: the tables that are at hand, with
  // some groups or all.
  struct Place {
    uint32_t table = 0;
    uint32_t group = 0;
  };
  size_t tables() const { return tables_.size(); }
  const GroupTable& table(size_t number) const { return tables_[number].groups; }
  Place place() const { return place_; }
  bool has_all() const { return rounds_ <= 1 && groups_.empty(); }
  void go_to(Place place) {
    place_ = place;
    keys_known_ = false;
  }
  const QueryHost& host() const override { return rows_->host(); }

  /// Of the rows that have become groups so far: whether some have texts in a key that are equal and have
  /// other bytes. keys() then gives one of these for all of them, which, where there is another key, need not
  /// be one that the group's own rows have.
  bool has_variants() const { return variants_.load(std::memory_order_relaxed); }
  /// Of the rows, once next() has been called: whether they have been divided into partitions.
  bool divided() const { return divided_; }
  /// How often next() had to make tables.
  unsigned rounds() const { return rounds_; }

 private:
  /// Records of one partition, whose hashes have so many of their first bits in common.
  struct Run {
    RecordRun records;
    unsigned bits = 0;
  };
  struct Table {
    GroupTable groups;
    OperatorMemory memory;
  };
  using Runs = std::vector<RecordRun>;

  Grouping(std::unique_ptr<RowBatches> rows, unsigned threads, OperatorCounts* counts)
      : rows_(std::move(rows)), threads_(rows_->threads(threads)), counts_(counts) {}
  Status make_tables();
  class Collecting;
  /// Adds the groups of pairs_, with what their pairs add up to, to `groups`.
  Status count_pairs(Runs& groups);
  Status count_pairs_of(Run&& run, GroupCollector& pairs, RecordPartitions& counted, const GoOn& go_on);
  Status put_groups_together();
  Result<bool> put_runs_together(GroupCollector& groups, size_t expected, const GoOn& go_on);
  Status put_together(Run&& run, GroupCollector& groups, const GoOn& go_on);
  void put_runs(Runs& runs, unsigned bits, std::vector<Run>& to);
  /// The last one, if fits(const Run&) says so.
  template <typename Fits>
  std::optional<Run> take_run(std::vector<Run>& from, const Fits& fits);
  /// What a thread's table may always have. Rows that come back of files may have it within any limit of
  /// queries: they would go to files again and again.
  size_t floor_of_table(GroupCollector::Source source) const;
  GroupCollector collector(GroupCollector::Source source, size_t most);
  GroupCollector collector(GroupCollector::Source source, size_t most, OperatorMemory memory);
  /// Whether tables are put together where they are.
  bool merges_in_place() const {
    return threads_ <= GroupMerge::most_tables && GroupMerge::is_possible(plan_);
  }
  void count_groups(const GroupTable& made);
  size_t share() const;

  const std::unique_ptr<RowBatches> rows_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  std::atomic<bool> variants_{false};
  GroupingPlan plan_;
  std::optional<RecordMemory> record_memory_;  // goes after all that takes of it
  size_t floor_shared_by_ = 1;                 // groupings
  size_t quick_units_ = LookUps::quick_units;
  bool divided_ = false;
  unsigned rounds_ = 0;
  Mutex mutex_;               // guards the next four while several threads work
  std::vector<Run> pairs_;    // to be counted
  std::vector<Run> groups_;   // to be put together
  std::deque<Table> tables_;  // at hand
  size_t bytes_at_hand_ = 0;  // of tables_
  Place place_;
  // Of the group at `place_`, once they are asked for.
  mutable std::vector<Value> keys_;
  mutable bool keys_known_ = false;
};

}  // namespace hailstone
