// The order in which joins of tables that are all joined with each other cost least, by estimates of rows.
// Knows nothing of tables: of each member it is told how many rows it has, of the conditions between them
// how many values they compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hailstone {

/// A bit for each member of what is joined.
using JoinMembers = uint64_t;
constexpr JoinMembers bit_of(size_t member) { return JoinMembers{1} << member; }
constexpr size_t most_join_members = 63;
/// Up to so many members all orders are tried, trees of all forms among them. Of more, the two parts of which
/// the fewest rows come are joined next, again and again; where an order is asked for, each member is joined
/// to those before it.
constexpr size_t most_in_all_orders = 12;

struct JoinGraph {
  /// Columns of which each row that comes out has equal ones; each is of another member.
  struct Equality {
    struct Column {
      size_t member = 0;
      double distinct = 1;  // values that the column has
      /// Whether this is known. Else there are no more than `distinct`, and they are taken for references to
      /// what the others have.
      bool is_known = true;
    };
    /// What the rows of some members, joined, leave of the others' values: of sales, those of the days that a
    /// condition on days leaves.
    struct Limit {
      struct Left {
        double share = 1;     // of the rows of the column's member
        double distinct = 1;  // values, at most
      };
      JoinMembers by = 0;
      std::vector<Left> columns = {};  // of each of the equality's
    };
    std::vector<Column> columns;
    std::vector<Limit> limits = {};
  };
  /// What else is known of rows that have these members.
  struct Factor {
    JoinMembers members = 0;
    double factor = 1;  // so many times what the equalities alone leave
  };
  /// Members that are joined with each other before others are joined to them. The numbers of `before` are
  /// less than those of `after`.
  struct Order {
    JoinMembers before = 0, after = 0;
  };
  std::vector<double> rows = {};  // of each member
  std::vector<Equality> equalities = {};
  std::vector<Factor> factors = {};
  std::vector<Order> orders = {};  // which the steps keep

  /// Estimated: that come of these members, joined; at least 1.
  double rows_of(JoinMembers members) const;
  /// Makes it known how many that are.
  void set_rows_of(JoinMembers members, double known);
};

/// Two parts that are joined: the members, by their numbers, and behind them what the steps before this one
/// have made, in their order. Rows of `probe` are looked up in those of `build`.
struct JoinStep {
  size_t probe = 0, build = 0;
  double rows = 0;  // estimated: that come out
};

/// One step less than there are members, of which there are `most_join_members` at most.
std::vector<JoinStep> search_joins(const JoinGraph& graph);
/// The steps that cost least, if that is at most `most_share` of what these ones cost; else none.
std::vector<JoinStep> search_better_joins(const JoinGraph& graph, const std::vector<JoinStep>& steps,
                                          double most_share);

/// Joins that have begun.
struct BegunJoins {
  std::vector<JoinStep> steps = {};
  std::vector<bool> built = {};  // of each step: whether the rows of its build side are all there
};
/// Once more is known of the rows than when these began: the steps that cost least from the start, if that is
/// at most `most_share` of what it costs to go on with these; else none.
std::vector<JoinStep> search_joins_again(const JoinGraph& graph, const BegunJoins& begun, double most_share);

}  // namespace hailstone
