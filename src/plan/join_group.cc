#include "plan/join_group.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "plan/expressions.h"
#include "plan/join_keys.h"

namespace hailstone::plan {

namespace {

bool is_column(const Expression& side) { return side->kind == Expression::Kind::Column; }

/// Whether what is equal by one of the conditions to a column that the other one has is equal by the other,
/// too.
bool compare_alike(const Expression& one, const Expression& other) {
  const Expression::Node &side = *one->arguments[0], &other_side = *other->arguments[0];
  return one.is_call(Function::Equal) && other.is_call(Function::Equal) && side.values == other_side.values &&
         one->settings.collation == other->settings.collation &&
         are_keys(side.column, other_side.column, side.values, one->settings.collation);
}

/// Columns of which several equalities together say that they are equal; `one` is any of these.
Expression equal(const JoinGroup::KeyColumn& left, const JoinGroup::KeyColumn& right, const Expression& one) {
  const std::vector<Expression> sides{left.column, right.column};
  return Expression::call(Function::Equal, sides, one->settings)
      .said({.name = "=", .arguments = sides, .word = {}});
}

bool reads(const JoinGroup::Equality& equality, ColumnId id) {
  return std::ranges::find(equality.columns, id, &JoinGroup::KeyColumn::id) != equality.columns.end();
}

}  // namespace

const JoinGroup::KeyColumn* JoinGroup::Equality::of(JoinMembers members) const {
  const auto found = std::ranges::find_if(
      columns, [members](const KeyColumn& column) { return (members & bit_of(column.member)) != 0; });
  return found == columns.end() ? nullptr : &*found;
}

std::optional<size_t> JoinGroup::member_of(ColumnId id) const {
  for (size_t i = 0; i < members.size(); ++i) {
    if (find_column(members[i]->columns, id) != nullptr) return i;
  }
  return std::nullopt;
}

JoinMembers JoinGroup::members_read(const Expression& condition) const {
  JoinMembers read = 0;
  for (const ColumnId id : columns_read(condition)) {
    // Others are of the row that an Apply around is at.
    if (const auto member = member_of(id)) read |= bit_of(*member);
  }
  return read;
}

void JoinGroup::filter(size_t member, const Expression& condition) {
  Plan& input = members[member];
  const auto* const known = as<Filter>(input);
  if (known == nullptr || std::ranges::any_of(known->conditions, may_fail)) {
    input = make(Filter{.conditions = {condition}}, {input});
    return;
  }
  std::vector<Expression> all = known->conditions;
  all.push_back(condition);
  input = make(Filter{.conditions = std::move(all)}, {input->inputs[0]});
}

/// Whether it is an equality of columns of two members that a join looks up.
bool JoinGroup::add_equality(const Expression& condition) {
  if (!condition.is_call(Function::Equal) && !condition.is_call(Function::SameOrNull)) return false;
  const Expression &one = condition->arguments[0], &other = condition->arguments[1];
  if (!is_column(one) || !is_column(other) || one->values != other->values ||
      !are_keys(one->column, other->column, one->values, condition->settings.collation))
    return false;
  const auto of_one = member_of(one->position), of_other = member_of(other->position);
  if (!of_one || !of_other || *of_one == *of_other) return false;
  Equality added{.condition = condition, .columns = {{*of_one, one}, {*of_other, other}}};
  std::erase_if(equalities, [&](const Equality& known) {
    if (!compare_alike(known.condition, condition)) return false;
    if (!reads(known, one->position) && !reads(known, other->position)) return false;
    // Those that were met first stand first.
    Equality both = known;
    for (const KeyColumn& column : added.columns) {
      if (!reads(both, column.id())) both.columns.push_back(column);
    }
    added = std::move(both);
    return true;
  });
  equalities.push_back(std::move(added));
  return true;
}

/// A member's second column is equal to its first one.
void JoinGroup::leave_one_of_each_member(Equality& equality) {
  std::vector<KeyColumn> left;
  for (const KeyColumn& column : equality.columns) {
    const auto first = std::ranges::find(left, column.member, &KeyColumn::member);
    if (first == left.end()) {
      left.push_back(column);
    } else {
      filter(column.member, equal(*first, column, equality.condition));
    }
  }
  equality.columns = std::move(left);
}

void JoinGroup::arrange() {
  for (const Expression& condition : conditions) {
    const JoinMembers read = members_read(condition);
    if (read == 0) {
      behind.push_back(condition);
    } else if (std::has_single_bit(read)) {
      filter(static_cast<size_t>(std::countr_zero(read)), condition);
    } else if (!add_equality(condition)) {
      across.push_back({read, condition});
    }
  }
  for (Equality& equality : equalities) leave_one_of_each_member(equality);
}

JoinGraph JoinGroup::graph(Estimates& estimates) const {
  JoinGraph graph;
  for (const Plan& member : members) graph.rows.push_back(estimates.rows(member));
  for (const Equality& equality : equalities) {
    auto& columns = graph.equalities.emplace_back().columns;
    for (const KeyColumn& column : equality.columns) {
      const ColumnId id = column.id();
      const DistinctValues distinct = estimates.distinct(members[column.member], {&id, 1});
      columns.push_back(
          {.member = column.member, .distinct = distinct.values, .is_known = distinct.is_known});
    }
  }
  for (size_t one = 0; one < members.size(); ++one) {
    for (size_t other = one + 1; other < members.size(); ++other)
      add_combination(one, other, estimates, graph);
  }
  for (const Across& each : across)
    graph.factors.push_back({each.members, estimates.share_left(each.condition, members)});
  return graph;
}

/// Two members that are compared by several columns: of the values that these have, not all combinations are
/// there.
void JoinGroup::add_combination(size_t one, size_t other, Estimates& estimates, JoinGraph& graph) const {
  JoinGraph by_columns, together;
  std::vector<ColumnId> of_one, of_other;
  for (size_t i = 0; i < equalities.size(); ++i) {
    const KeyColumn *const first = equalities[i].of(bit_of(one)), *const second =
                                                                      equalities[i].of(bit_of(other));
    if (first == nullptr || second == nullptr) continue;
    of_one.push_back(first->id());
    of_other.push_back(second->id());
    by_columns.equalities.push_back(graph.equalities[i]);
  }
  if (of_one.size() < 2) return;
  const JoinMembers both = bit_of(one) | bit_of(other);
  // Far more rows than can come of the pair, so that shares of them can be told.
  constexpr double very_many = 1e30;
  by_columns.rows.assign(members.size(), 1);
  by_columns.rows[one] = by_columns.rows[other] = very_many;
  together.rows = by_columns.rows;
  const DistinctValues first = estimates.distinct(members[one], of_one);
  const DistinctValues second = estimates.distinct(members[other], of_other);
  together.equalities = {
      {.columns = {{.member = one, .distinct = first.values, .is_known = first.is_known},
                   {.member = other, .distinct = second.values, .is_known = second.is_known}}}};
  graph.factors.push_back({both, std::max(1.0, together.rows_of(both) / by_columns.rows_of(both))});
}

Plan JoinGroup::joined(std::span<const JoinStep> by) const {
  struct Part {
    Plan plan;
    JoinMembers members = 0;
    size_t scanned = 0;  // the member whose rows are looked up
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < members.size(); ++i) parts.push_back({members[i], bit_of(i), i});
  for (const JoinStep& step : by) {
    const Part probe = parts[step.probe], build = parts[step.build];
    const JoinMembers both = probe.members | build.members;
    Join join;
    for (const Equality& equality : equalities) {
      // A filter of the build side's keys goes as far down as the column that is looked up comes from.
      const KeyColumn* left = equality.of(bit_of(probe.scanned));
      if (left == nullptr) left = equality.of(probe.members);
      const KeyColumn* const right = equality.of(build.members);
      if (left == nullptr || right == nullptr) continue;
      const Expression& condition = equality.condition;
      const auto is_said_of = [&](const KeyColumn& first, const KeyColumn& second) {
        return condition->arguments[0]->position == first.id() &&
               condition->arguments[1]->position == second.id();
      };
      if (is_said_of(*left, *right) || is_said_of(*right, *left)) {
        join.conditions.push_back(condition);
      } else {
        join.conditions.push_back(equal(*left, *right, condition));
      }
    }
    for (const Across& each : across) {
      if ((each.members & ~both) == 0 && (each.members & ~probe.members) != 0 &&
          (each.members & ~build.members) != 0)
        join.conditions.push_back(each.condition);
    }
    if (both == bit_of(members.size()) - 1)
      join.conditions.insert(join.conditions.end(), behind.begin(), behind.end());
    parts.push_back({make(std::move(join), {probe.plan, build.plan}), both, probe.scanned});
  }
  return parts.back().plan;
}

}  // namespace hailstone::plan
