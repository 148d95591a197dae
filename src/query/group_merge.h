// Tables of groups that several threads have filled become one set of groups where they are. A group that an
// earlier table has, too, is added up there, and is gone from the later one; nothing else moves, and nothing
// is copied. The threads share the work: each looks for other groups of the later table, and as these differ
// from each other, no two threads meet at one group of an earlier table.
//
// Each table but the first looks for its groups in all tables before it, so they are few tables.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/page_allocator.h"
#include "query/group_table.h"
#include "query/work_by_threads.h"

namespace hailstone {

class GroupMerge {
 public:
  static constexpr size_t most_tables = 4;
  /// Whether the plan's aggregates can be added up by several threads: those that need memory of their own
  /// for that cannot.
  static bool is_possible(const GroupingPlan& plan);

  /// The tables outlive the merge, and stay together: minima and maxima of one may lie in another's memory.
  GroupMerge(const GroupingPlan& plan, std::vector<GroupTable*> tables)
      : plan_(plan), tables_(std::move(tables)) {}

  Status run(const Workers& workers);

 private:
  using Numbers = PageVector<uint32_t>;
  /// What of the later table an earlier one has, too.
  struct Twins {
    Numbers groups;               // by the later table's numbers; 0: none
    std::vector<Numbers> keys;    // numbers of texts, and one more; 0: none. By column, empty for numbers
    std::vector<Numbers> values;  // the same of distinct texts, by aggregate
  };
  using TakeSome = std::function<void(size_t first, size_t last)>;
  Status in_chunks(const Workers& workers, size_t units, const TakeSome& take) const;
  /// Of all tables before the later one.
  Status find_texts(const Workers& workers, const ValueSet& of_later,
                    const std::function<const ValueSet&(const GroupTable&)>& of_earlier,
                    const std::function<Numbers&(Twins&)>& found);
  Status find_all_texts(const Workers& workers);
  void find_groups(const GroupTable& earlier, Twins& twins, size_t first, size_t last) const;
  void add_up(size_t first, size_t last);
  void count_new_values(size_t aggregate, std::span<const DistinctSet::Pair> pairs);
  /// The first of the tables that has the group; null: none.
  GroupTable* owner(uint32_t group, uint32_t& there) const;

  const GroupingPlan& plan_;
  const std::vector<GroupTable*> tables_;
  size_t later_ = 0;
  std::vector<Twins> twins_;  // by table before the later one
};

}  // namespace hailstone
