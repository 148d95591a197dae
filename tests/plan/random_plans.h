// Random plans over the tables of PlanTables, and the search for the smallest one that goes wrong.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "plan/plan_tables.h"

namespace hailstone::plan {

class RandomPlans {
 public:
  struct Wanted {
    /// Nodes that have no operator, too.
    bool all_kinds = false;
    unsigned depth = 4;
  };
  RandomPlans(const PlanTables& tables, uint64_t seed, Wanted wanted)
      : tables_(tables), random_(seed), wanted_(wanted) {}

  /// What validate() passes, and has the same rows each time.
  Plan next();

 private:
  using Columns = std::vector<Column>;
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  bool one_in(size_t times) { return below(times) == 0; }
  ColumnId new_id() { return next_id_++; }
  const Column& any(const Columns& columns) { return columns[below(columns.size())]; }
  const Column* any_of(const Columns& columns, const std::function<bool(const Column&)>& is_wanted);

  Plan plan(unsigned depth);
  Plan leaf();
  Plan filter(const Plan& input);
  Plan project(const Plan& input);
  Plan join(unsigned depth);
  Plan inner_joins(unsigned depth);
  Plan apply(unsigned depth);
  Plan aggregate(Plan input);
  Plan limited_join(unsigned depth);
  Plan window(const Plan& input);
  Plan sort(const Plan& input);
  Plan limit(const Plan& input);
  Plan set_operation(unsigned depth);
  Plan twice(unsigned depth);
  Plan recurse(unsigned depth);
  /// With columns of these types.
  Plan with_types(const Plan& input, const Columns& types);
  Plan one_row(unsigned depth);

  /// TRUE, FALSE or NULL.
  Expression truth(const Columns& columns, unsigned depth);
  Expression value(const Columns& columns, ValueKind kind, unsigned depth);
  Expression constant(ValueKind kind);
  /// The call; where there is none of such values, as numbers would be too long, the first of them.
  static Expression called(std::string_view name, std::vector<Expression> arguments);
  /// The same where it is of the kind that is wanted, also as a NULL that was of none.
  static Expression of_kind(const Expression& value, const Column& column);
  std::vector<Expression> join_conditions(const Columns& left, const Columns& right);
  std::vector<SortKey> total_order(const Columns& columns);
  Column column_of(ValueKind kind, std::string name);

  const PlanTables& tables_;
  std::mt19937_64 random_;
  const Wanted wanted_;
  ColumnId next_id_ = 1;
  uint32_t recursions_ = 0;
  bool takes_all_numbers_ = true;  // in a value; else those of 64 bits with a sign
};

/// The smallest plan that is made of this one and still `goes_wrong`. All that are tried pass validate().
Plan smallest(Plan plan, const std::function<bool(const Plan&)>& goes_wrong);

/// What is computed of the plan in this way.
Plan planned_by(PlanTables& tables, const Plan& plan, const Way& way);

/// Whether the answer may come of the plan: the rows are the expected ones, and, where they are pulled, in
/// the order of a Sort that the plan ends with.
bool is_answer(const Plan& plan, const Way& way, const Relation& expected, const Relation& answer);
std::string to_string(const Relation& relation);
}  // namespace hailstone::plan
