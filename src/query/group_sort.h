// Sorts copies of groups, of any number, by means of records (RecordSort): the key of a record is what
// decides the order, behind it are the keys, the host's values and the results of the group.
//
// Behind the key: of each key a byte, 0 for NULL and 1 for a value, and of a value its number, 8 bytes, or
// the length of its bytes, 4, and these; then of each aggregate its count, 8 bytes, and what its kind of
// result has: numbers of 8, 16 or 32 bytes, and of a text, or a state, its length, 4, and its bytes.
#pragma once

#include <string>
#include <vector>

#include "query/group_order.h"
#include "query/grouping.h"
#include "query/record_sort.h"

namespace hailstone {

class GroupSort {
 public:
  /// `groups` outlives it. `order`: as GroupOrder says, with values of the host's of these columns.
  /// `counts`: of the operator; may be null.
  GroupSort(const Grouping& groups, std::vector<GroupOrder> order, std::vector<ScanColumn> host_columns,
            OperatorCounts* counts);

  /// The group where `groups` stands.
  Status add(std::span<const Value> host_values);
  /// Once all groups are there.
  Status sort();
  /// Goes to the next one. False: there is none.
  Result<bool> next();
  // Of the group where it stands; bytes are valid until next().
  std::span<const Value> keys() const { return keys_; }
  const AggregateResult& result(size_t aggregate) const { return results_[aggregate]; }

  uint64_t bytes_spilled() const { return sort_.bytes_spilled(); }

 private:
  void append_order(const GroupOrder& by, std::span<const Value> host_values);

  const Grouping& groups_;
  const std::vector<GroupOrder> order_;
  const std::vector<ScanColumn> host_columns_;
  RecordSort sort_;
  std::vector<Value> keys_;
  std::vector<AggregateResult> results_;
  uint32_t steps_ = 0;  // since the last look for interruption
  std::string record_;  // scratch space
};

}  // namespace hailstone
