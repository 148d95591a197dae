// Groups in an order, all or the first ones: ORDER BY and LIMIT behind GROUP BY.
//
// While all groups are at hand, only their places are sorted. Where they come partition by partition, or the
// host has a part in their order, copies of them are kept: of the first ones in memory, of all as records
// that memory does not bound (GroupSort).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "query/group_order.h"
#include "query/group_sort.h"
#include "query/grouping.h"

namespace hailstone {

/// Values of a group that only the embedding application can compute.
struct HostGroupValues {
  std::vector<ScanColumn> columns = {};
  /// Of the group where `group` stands; bytes are valid until the next call.
  std::function<Status(const Groups& group, std::span<Value> values)> compute = {};
};

class SortedGroups final : public Groups {
 public:
  static constexpr size_t all = ~size_t{0};
  /// The first `most` groups, at least 1. `counts`: of this operator, which it fills; they outlive it; may be
  /// null.
  SortedGroups(std::unique_ptr<Grouping> groups, std::vector<GroupOrder> order, size_t most = all,
               HostGroupValues host = {}, OperatorCounts* counts = nullptr)
      : groups_(std::move(groups)),
        order_(std::move(order)),
        most_(most),
        host_(std::move(host)),
        counts_(counts) {}

  Result<bool> next() override;
  std::span<const Value> keys() const override {
    if (sort_) return sort_->keys().first(groups_->plan().keys.size());
    return rows_.empty() ? groups_->keys()
                         : std::span<const Value>(rows_[place_].keys).first(groups_->plan().keys.size());
  }
  AggregateResult result(size_t aggregate) const override {
    if (sort_) return sort_->result(aggregate);
    return rows_.empty() ? groups_->result(aggregate) : rows_[place_].results[aggregate];
  }
  uint64_t rows_read() const override { return groups_->rows_read(); }
  const QueryHost& host() const override { return groups_->host(); }
  Status read_place(uint64_t place, std::span<Value> values) const override {
    return groups_->read_place(place, values);
  }

 private:
  struct Row {
    uint64_t head = 0;
    std::vector<Value> keys;  // and the host's values behind them
    std::vector<char> bytes;  // of the keys; they stay where they are when the row is moved
    std::vector<AggregateResult> results;
  };
  /// Places are sorted with a head: of two groups the one with the smaller head comes first, and of equal
  /// heads nothing is known.
  struct Headed {
    uint64_t head = 0;
    Grouping::Place place;
  };
  class FirstPlaces;
  uint64_t head_of_group(const GroupTable& table, uint32_t group, std::string& weights) const;
  bool comes_before(const Headed& left, const Headed& right) const;
  /// Whether the head is all of the first column.
  bool heads_are_exact() const;
  Status collect();
  bool reserve_places();
  bool reserve_copies();
  Status sort_places();
  /// Calls `take` for each group, where `groups_` then stands: from the one where it stands now. How many
  /// there were.
  template <typename Take>
  Result<uint64_t> each_group(const Take& take);
  Status copy_first();
  Status sort_all();
  void take(Row& row);
  /// Of equal heads.
  template <typename Left, typename Right>
  int compare(const Left& left, const Right& right) const;

  const std::unique_ptr<Grouping> groups_;
  const std::vector<GroupOrder> order_;
  const size_t most_;
  const HostGroupValues host_;
  std::vector<Value> host_values_;  // of the group at hand, while groups are taken
  OperatorCounts* const counts_;
  bool collected_ = false;
  unsigned threads_ = 1;        // that look for the first places
  std::vector<Headed> places_;  // of the groups, in order; or
  std::vector<Row>
      rows_;  // copies: a heap while they are collected, the last one in front; then in order; or
  std::optional<GroupSort> sort_;
  /// Of places and of the first ones' copies: of few ones also beyond the budget. It goes before copies of
  /// all are sorted, which have the same part of the floor.
  std::optional<OperatorMemory> memory_;
  uint64_t given_ = 0;  // of a sort of copies
  size_t place_ = 0;
  std::string weights_;  // scratch space
};

}  // namespace hailstone
