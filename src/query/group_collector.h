// A GroupTable that is held to a share of memory: when it outgrows that, or the size in which a table is
// quick, what it holds moves out to partitions, as records, and it starts anew. Rows that would find little
// in it go to the partitions at once. Belongs to one thread at a time.
#pragma once

#include <optional>
#include <utility>

#include "base/operator_counts.h"
#include "query/group_table.h"
#include "query/record_partitions.h"

namespace hailstone {

/// Tells whether it is in vain to look for what rows bring, groups or pairs, among those that are there: when
/// most were new. How many there may be in all follows from how often one was met again. When several times
/// as many rows have been taken apart, records of them are more than a table would hold, and lookups are
/// tried again.
class LookUps {
 public:
  /// From so many units on in a table lookups are no longer quick.
  static constexpr size_t quick_units = size_t{1} << 16;
  /// As `fewest_tables`: lookups are never in vain.
  static constexpr uint64_t never = ~uint64_t{0};

  /// `long_records`: they take more memory than units of a table. `fewest_tables`: where all units would fill
  /// fewer quick tables, lookups are worth their time whatever they find.
  LookUps(size_t quick, bool long_records, uint64_t fewest_tables)
      : quick_(quick), rows_of_unit_(long_records ? 1 : 16), fewest_tables_(fewest_tables) {}
  bool in_vain() const { return vain_rows_ != 0; }
  /// So many have been looked for, and there are so many units. `ample`: memory is, for records of each row.
  void note(uint64_t looked_for, size_t units, bool ample);
  /// There is no memory for more units than these.
  void note_full(size_t units) { judge(units, /*ample=*/false); }
  /// So many have not been looked for.
  void note_apart(uint64_t rows, bool ample);
  /// The table starts anew.
  void restart();

 private:
  void judge(size_t units, bool ample);

  const size_t quick_;
  const uint64_t rows_of_unit_;  // that are taken apart
  const uint64_t fewest_tables_;
  size_t first_ = quick_;    // units from which on those of a new table are judged
  size_t next_ = quick_;     // the same of the table at hand
  size_t units_before_ = 0;  // when they were judged
  uint64_t looked_for_ = 0;  // since then
  uint64_t vain_rows_ = 0;   // that are still to be taken apart
  bool nearly_all_new_ = false;
};

class GroupCollector {
 public:
  /// A table of rows that may have less in all is divided however few groups it has.
  static constexpr size_t least_share = size_t{1} << 20;
  /// With fewer groups and pairs it is their values that take the memory: parts of them would not take less.
  static constexpr size_t fewest_units_to_divide = 64;

  enum class Source : uint8_t {
    Rows,    // groups and pairs move out, each to partitions of their own
    Pairs,   // of runs of records: nothing else moves out
    Groups,  // of runs of records, with aggregates that are settled
  };
  struct Limits {
    size_t most = 0;   // bytes that the table may take
    size_t least = 0;  // that it may always have
    size_t quick_units = LookUps::quick_units;
    bool stays = false;  // the table is what is wanted, unless something moves out
  };
  /// `memory`: of the table; a part that has limits.least for its floor.
  GroupCollector(const GroupingPlan& plan, OperatorMemory memory, RecordMemory& records, Source source,
                 const Limits& limits)
      : plan_(&plan),
        records_(&records),
        source_(source),
        limits_(limits),
        fewest_to_divide_(source == Source::Rows && limits.most < least_share && !plan.keys.empty()
                              ? 1
                              : fewest_units_to_divide),
        groups_looked_for_(groups_to_look_for(plan, limits)),
        pairs_looked_for_(pairs_to_look_for(plan, limits)),
        memory_(std::move(memory)) {}

  Status add(const RowBatch& batch, const GoOn& go_on);
  /// A run by itself, which has no group, or pair, in common with others. The table keeps the groups of runs
  /// before, and loses pairs. `used_bits`: of the hashes, as RecordPartitions has them; when none is left,
  /// nothing can be divided any more, and the table takes what it needs.
  Status add(RecordRun&& records, unsigned used_bits, const GoOn& go_on);
  /// So many more runs like those before will come, if there is memory for their groups.
  void expect_runs(size_t runs);
  /// Empties the table, of groups but of those of earlier runs, and ends the partitions.
  Status move_out(const GoOn& go_on);
  /// After that: gives the table's memory back.
  void drop_table() {
    table_.reset();
    memory_.clear();
  }

  /// Whether something has moved out, of the last run: the table is not all that there is.
  bool has_moved() const { return groups_.has_value() || pairs_.has_value(); }
  bool has_table() const { return table_.has_value(); }
  /// Whether another run, with records of so many bytes, has room in the table, as far as can be told: takes
  /// memory for it. Bytes of its groups would stay if it had not.
  bool has_room_for_run(size_t bytes);
  const GroupTable& table() const { return *table_; }
  /// Takes memory for so many bytes more than its table has. False: there is none.
  [[nodiscard]] bool try_expect(size_t bytes) { return memory_.try_grow(bytes); }
  /// Adds what another one has met; neither has moved anything out.
  Status merge(GroupCollector&& other, const GoOn& go_on);
  /// What has been met: where no keys are, there is a group even without rows.
  GroupTable&& take_table();
  OperatorMemory&& take_memory() { return std::move(memory_); }
  /// After move_out(); null where nothing of the kind has moved.
  RecordPartitions* groups() { return groups_ ? &*groups_ : nullptr; }
  RecordPartitions* pairs() { return pairs_ ? &*pairs_ : nullptr; }

 private:
  static LookUps groups_to_look_for(const GroupingPlan& plan, const Limits& limits);
  static LookUps pairs_to_look_for(const GroupingPlan& plan, const Limits& limits);
  GroupTable& table_at_hand();
  bool is_full();
  Status make_room(const GoOn& go_on);
  Status empty_table(const GoOn& go_on);
  Status move_groups(const GoOn& go_on);
  Status move_pairs(const GoOn& go_on);

  const GroupingPlan* plan_;
  RecordMemory* records_;
  const Source source_;
  const Limits limits_;
  const size_t fewest_to_divide_;  // groups, or pairs: fewer stay in memory
  LookUps groups_looked_for_, pairs_looked_for_;
  unsigned used_bits_ = 0;
  std::optional<GroupTable> table_;
  OperatorMemory memory_;  // of the table
  std::optional<RecordPartitions> groups_, pairs_;
  HashedRecords record_;
};

}  // namespace hailstone
