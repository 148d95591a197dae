// A GroupTable that is held to a share of memory: when it outgrows that, or the size in which a table is
// quick, what it holds moves out to partitions, as records, and it starts anew. Belongs to one thread at a
// time.
#pragma once

#include <optional>
#include <string>

#include "base/operator_counts.h"
#include "query/group_partitions.h"
#include "query/group_table.h"

namespace hailstone {

class GroupCollector {
 public:
  /// What a table may always have.
  static constexpr size_t least_share = size_t{1} << 20;

  enum class Source : uint8_t {
    Rows,    // groups and pairs move out, each to partitions of their own
    Pairs,   // of records: nothing else moves out
    Groups,  // of records, with aggregates that are settled
  };
  /// `most`: bytes that the table may take. `level`: of the partitions (GroupPartitions); from
  /// GroupPartitions::levels on nothing can be divided any more, and the table takes what it needs.
  /// `counts`: of the operator whose memory it is; may be null.
  GroupCollector(const GroupingPlan& plan, MemoryBudget& budget, RecordMemory& records, Source source,
                 unsigned level, size_t most, OperatorCounts* counts)
      : plan_(&plan),
        records_(&records),
        source_(source),
        level_(level),
        most_(most),
        memory_(budget, counts) {}

  Status add(const RowBatch& batch, const GoOn& go_on);
  Status add(RecordRun&& records, const GoOn& go_on);
  /// Empties the table, and ends the partitions: nothing can be added afterwards.
  Status move_out(const GoOn& go_on);

  /// Whether something has moved out, so that the table is not all that there is.
  bool has_moved() const { return groups_.has_value() || pairs_.has_value(); }
  bool has_table() const { return table_.has_value(); }
  const GroupTable& table() const { return *table_; }
  /// Adds what another one has met; neither has moved anything out.
  Status merge(GroupCollector&& other, const GoOn& go_on);
  /// What has been met: where no keys are, there is a group even without rows.
  GroupTable&& take_table();
  OperatorMemory&& take_memory() { return std::move(memory_); }
  /// After move_out(); null where nothing of the kind has moved.
  GroupPartitions* groups() { return groups_ ? &*groups_ : nullptr; }
  GroupPartitions* pairs() { return pairs_ ? &*pairs_ : nullptr; }

 private:
  Status make_room(const GoOn& go_on);
  Status empty_table(const GoOn& go_on);

  const GroupingPlan* plan_;
  RecordMemory* records_;
  const Source source_;
  const unsigned level_;
  const size_t most_;
  std::optional<GroupTable> table_;
  OperatorMemory memory_;  // of the table
  std::optional<GroupPartitions> groups_, pairs_;
  std::string record_;
};

/// Appends all groups of the table, whose aggregates are settled or become so by the pairs, to `to`.
Status append_groups(const GroupTable& table, bool settled, GroupPartitions& to, const GoOn& go_on);

}  // namespace hailstone
