// Rows that are all joined with each other: the members, what their pairs are asked, and trees of joins that
// are made of them. For plan/join_order.cc. Belongs to one thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/estimates.h"
#include "plan/plan.h"
#include "query/join/join_search.h"

namespace hailstone::plan {

struct JoinGroup {
  /// A column of a member, as conditions read it.
  struct KeyColumn {
    size_t member = 0;
    Expression column;
    ColumnId id() const { return column->position; }
  };
  /// Columns that are equal in each row which comes out, each of another member; or, of a `<=>`, two.
  struct Equality {
    Expression condition;  // the first one that says so
    std::vector<KeyColumn> columns;
    const KeyColumn* of(JoinMembers members) const;
  };
  /// A condition on several members that is no key.
  struct Across {
    JoinMembers members = 0;
    Expression condition;
  };

  // As it is written.
  std::vector<Plan> members = {};
  std::vector<Expression> conditions = {};  // which cannot fail
  std::vector<Expression> failing = {};     // to be asked of what comes of all joins
  std::vector<JoinStep> steps = {};

  // What arrange() makes of it.
  std::vector<Equality> equalities = {};
  std::vector<Across> across = {};
  std::vector<Expression> behind = {};  // conditions that read no member

  /// Finds what is equal to the same column, and puts conditions on one member above it.
  void arrange();
  JoinGraph graph(Estimates& estimates) const;
  /// The tree that these steps make.
  Plan joined(std::span<const JoinStep> by) const;

 private:
  std::optional<size_t> member_of(ColumnId id) const;
  JoinMembers members_read(const Expression& condition) const;
  bool add_equality(const Expression& condition);
  void leave_one_of_each_member(Equality& equality);
  void filter(size_t member, const Expression& condition);
  void add_combination(size_t one, size_t other, Estimates& estimates, JoinGraph& graph) const;
};

}  // namespace hailstone::plan
