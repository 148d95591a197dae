// GROUP BY: rows, by several threads, to groups, each with its keys and aggregates.
//
// Each thread fills a GroupTable of its own; they are put together at the end. When one outgrows its share of
// the memory, it keeps only half of its groups, told by their hashes, and again half when that is too much;
// the rest is left to further passes over the rows. So memory bounds the groups at a time, never the answer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/memory_budget.h"
#include "query/computed_rows.h"
#include "query/group_table.h"

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
};

/// All groups, in no promised order.
class Grouping final : public Groups {
 public:
  /// `keys`: positions among the columns of the rows; without any, all rows are one group, also where there
  /// are none. `threads`: how many may work at it, the caller's included. ErrorCode::Unsupported: more keys
  /// than most_keys, a sum of what is no number; and next() gives it when an expression is not computed.
  static Result<std::unique_ptr<Grouping>> make(std::unique_ptr<ComputedRows> rows,
                                                std::span<const uint16_t> keys,
                                                std::span<const Aggregate> aggregates, unsigned threads);

  Result<bool> next() override;
  std::span<const Value> keys() const override { return keys_; }
  AggregateResult result(size_t aggregate) const override { return groups_->result(group_, aggregate); }
  const GroupingPlan& plan() const { return plan_; }
  MemoryBudget& budget() const { return rows_->budget(); }

  // Once next() has found the first group: the table in which it and some or all others are.
  const GroupTable& table() const { return *groups_; }
  uint32_t number() const { return group_; }
  bool has_all() const { return passes_ == 1 && left_.empty(); }
  void go_to(uint32_t group);
  /// How often the rows have been gone through so far.
  unsigned passes() const { return passes_; }

 private:
  /// The groups of one thread and the memory that they take.
  struct Part {
    explicit Part(MemoryBudget& budget) : memory(budget) {}
    std::optional<GroupTable> groups;
    Reservation memory;
  };
  explicit Grouping(std::unique_ptr<ComputedRows> rows, unsigned threads)
      : rows_(std::move(rows)), threads_(threads) {}
  Status pass(GroupPartition partition);
  void make_room(Part& part) const;

  const std::unique_ptr<ComputedRows> rows_;
  const unsigned threads_;
  GroupingPlan plan_;
  std::vector<GroupPartition> left_;  // to other passes
  unsigned passes_ = 0;
  std::optional<Reservation> memory_;  // of groups_
  std::optional<GroupTable> groups_;
  uint32_t group_ = 0;
  std::vector<Value> keys_;
};

}  // namespace hailstone
