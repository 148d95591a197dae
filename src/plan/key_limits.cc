#include "plan/key_limits.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hailstone::plan {

namespace {

/// All rows of a small table are looked at; a large one is worth a sample.
constexpr double most_rows_of_small = 131'072, fewest_rows_of_large = 500'000;
/// A range is worth it if it leaves at most so many of a column's values.
constexpr double most_values_left = 0.5;
/// From a table with conditions to the next one, and from there to another.
constexpr unsigned longest_way = 2;
/// Two tables have one order: what their conditions leave would be asked for nothing.
constexpr size_t fewest_members = 3;

class KeyLimits {
 public:
  KeyLimits(const JoinGroup& group, Statistics& statistics, JoinGraph& graph)
      : group_(group), statistics_(statistics), graph_(graph) {
    for (const Plan& member : group.members) {
      Member& of = members_.emplace_back();
      const auto* const filter = as<Filter>(member);
      of.scan = as<Scan>(filter == nullptr ? member : member->inputs[0]);
      if (filter != nullptr) of.conditions = filter->conditions;
      // Of other rows nothing is known that a range could leave some of.
      of.rows = of.scan == nullptr ? 0 : statistics.rows(of.scan->table);
    }
  }

  void run() {
    if (members_.size() < fewest_members) return;
    if (std::ranges::none_of(members_, [](const Member& of) { return of.rows >= fewest_rows_of_large; }))
      return;
    for (size_t member = 0; member < members_.size(); ++member) {
      if (members_[member].conditions.empty()) continue;
      go_on_from(member, /*within=*/{}, bit_of(member), /*from=*/graph_.equalities.size(), longest_way);
    }
  }

 private:
  using Within = std::vector<Statistics::WantedRows::Within>;
  struct Member {
    const Scan* scan = nullptr;
    std::vector<Expression> conditions;
    double rows = 0;  // of its table
  };

  Statistics::WantedRows wanted(size_t member, Within within) const {
    return {.scan = *members_[member].scan,
            .conditions = members_[member].conditions,
            .within = std::move(within)};
  }

  /// `within`: what is known of the member's rows once those of `by`, which it is one of, are joined; by the
  /// equality `from`, or its own conditions.
  void go_on_from(size_t member, const Within& within, JoinMembers by, size_t from, unsigned way_left) {
    if (members_[member].scan == nullptr || members_[member].rows > most_rows_of_small) return;
    std::vector<size_t> equalities;
    std::vector<ColumnId> columns;
    for (size_t i = 0; i < graph_.equalities.size(); ++i) {
      const JoinGroup::KeyColumn* const own = group_.equalities[i].of(bit_of(member));
      if (i == from || own == nullptr || !is_of_use(i, *own, by, way_left)) continue;
      equalities.push_back(i);
      columns.push_back(own->id());
    }
    if (columns.empty()) return;
    const auto found = statistics_.find(wanted(member, within), columns);
    if (!found) return;
    for (size_t i = 0; i < columns.size(); ++i)
      add_limit(equalities[i], member, found->ranges[i], found->rows, by, way_left);
  }

  static bool is_whole(const ScanColumn& column) {
    return column.integer && (column.type == Type::Signed || column.type == Type::Unsigned);
  }
  /// Whether equal values of both are the same numbers in their tables.
  static bool are_stored_alike(const JoinGroup::KeyColumn& one, const JoinGroup::KeyColumn& other) {
    return is_whole(one.column->column) && one.column->column == other.column->column;
  }

  /// Whether it leads to a large table, or to one from which others may lead on.
  bool is_of_use(size_t equality, const JoinGroup::KeyColumn& own, JoinMembers by, unsigned way_left) const {
    return std::ranges::any_of(group_.equalities[equality].columns, [&](const JoinGroup::KeyColumn& column) {
      const Member& to = members_[column.member];
      return (by & bit_of(column.member)) == 0 && to.scan != nullptr && are_stored_alike(own, column) &&
             (to.rows >= fewest_rows_of_large ||
              (way_left > 1 && to.rows <= most_rows_of_small && has_others(column.member, equality)));
    });
  }
  bool has_others(size_t member, size_t equality) const {
    for (size_t i = 0; i < graph_.equalities.size(); ++i) {
      if (i != equality && group_.equalities[i].of(bit_of(member)) != nullptr) return true;
    }
    return false;
  }

  void add_limit(size_t equality, size_t member, const IntegerRange& range, double rows, JoinMembers by,
                 unsigned way_left) {
    const std::vector<JoinGroup::KeyColumn>& columns = group_.equalities[equality].columns;
    const JoinGroup::KeyColumn& own = *group_.equalities[equality].of(bit_of(member));
    auto& to = graph_.equalities[equality];
    const double values = static_cast<double>(range.high - range.low) + 1;
    if (values > most_values_left * to.columns[static_cast<size_t>(&own - columns.data())].distinct) return;
    JoinGraph::Equality::Limit limit{.by = by};
    for (const JoinGroup::KeyColumn& column : columns) {
      auto& left = limit.columns.emplace_back();
      left.distinct = column.member == member ? std::min(values, rows) : values;
      if ((by & bit_of(column.member)) != 0 || members_[column.member].scan == nullptr ||
          !are_stored_alike(own, column))
        continue;
      const Within within{{.column = column.id(), .range = range}};
      left.share = statistics_.rows(wanted(column.member, within)) / graph_.rows[column.member];
      if (way_left > 1) go_on_from(column.member, within, by | bit_of(column.member), equality, way_left - 1);
    }
    to.limits.push_back(std::move(limit));
  }

  const JoinGroup& group_;
  Statistics& statistics_;
  JoinGraph& graph_;
  std::vector<Member> members_;
};

}  // namespace

void add_key_limits(const JoinGroup& group, Statistics& statistics, JoinGraph& graph) {
  KeyLimits(group, statistics, graph).run();
}

}  // namespace hailstone::plan
