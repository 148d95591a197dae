#include "query/join/join_search.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hailstone {

namespace {

// What a row costs, against one that is only looked up in memory near at hand.
constexpr double cost_of_probe = 1, cost_of_build = 3, cost_of_row_out = 1;
/// One that a scan only asks the filters of build sides about.
constexpr double cost_of_filter = 0.2;
/// A lookup in many rows waits for memory.
constexpr double rows_near_at_hand = 50'000, cost_of_far_probe = 3;

/// What it costs to make rows.
struct Cost {
  /// Whatever they are joined to later.
  double once = 0;
  /// Of rows on their way from a scan through the probe sides of joins: a join above them leaves out those
  /// that have no partner there, in the scan already, by the filter of its build side.
  double on_the_way = 0;

  double sum() const { return once + on_the_way; }
};

Cost cost_of_scan(double rows) {
  return {.once = rows * cost_of_filter, .on_the_way = rows * cost_of_row_out};
}

struct Side {
  double rows = 0;
  Cost cost;
};

/// `share`: of the rows of the probe side, what the filters of the build side's keys leave. `has_keys`: else
/// each row meets each, whatever further conditions leave of the pairs.
Cost cost_of_join(const Side& probe, const Side& build, double share, double rows_out, bool has_keys) {
  const double lookup = build.rows > rows_near_at_hand ? cost_of_far_probe : cost_of_probe;
  const double pairs = has_keys ? rows_out : probe.rows * build.rows;
  return {.once = probe.cost.once + build.cost.sum() + build.rows * cost_of_build,
          .on_the_way = share * (probe.cost.on_the_way + probe.rows * lookup) + pairs * cost_of_row_out};
}

/// The members that an equality joins each member with.
std::vector<JoinMembers> neighbours_of(const JoinGraph& graph) {
  std::vector<JoinMembers> neighbours(graph.rows.size());
  for (const JoinGraph::Equality& equality : graph.equalities) {
    JoinMembers all = 0;
    for (const auto& column : equality.columns) all |= bit_of(column.member);
    for (const auto& column : equality.columns) neighbours[column.member] |= all & ~bit_of(column.member);
  }
  return neighbours;
}

/// Which share of the rows of a probe side the filters of a build side leave, each of which knows the values
/// of one column. Asked of very many pairs of sides.
class SharesLeft {
 public:
  /// More equalities than there are bits are left out: then filters may leave fewer rows.
  explicit SharesLeft(const JoinGraph& graph) : equalities_(std::min<size_t>(graph.equalities.size(), 64)) {
    const size_t sets = size_t{1} << graph.rows.size();
    has_.resize(sets);
    values_.resize(sets * equalities_);
    for (size_t i = 0; i < equalities_; ++i) {
      for (const auto& column : graph.equalities[i].columns) {
        const JoinMembers member = bit_of(column.member);
        has_[member] |= bit_of(i);
        values_[member * equalities_ + i].add(std::max(1.0, column.distinct), graph.rows[column.member]);
      }
    }
    for (JoinMembers members = 1; members < sets; ++members) {
      const JoinMembers rest = members & (members - 1), first = members & ~rest;
      if (rest == 0) continue;
      has_[members] = has_[rest] | has_[first];
      for (size_t i = 0; i < equalities_; ++i) {
        for (const JoinMembers part : {rest, first})
          values_[members * equalities_ + i].add(values_[part * equalities_ + i]);
      }
    }
  }

  double share(JoinMembers probe, JoinMembers build, double build_rows) const {
    double share = 1;
    for (uint64_t both = has_[probe] & has_[build]; both != 0; both &= both - 1) {
      const auto equality = static_cast<size_t>(std::countr_zero(both));
      const double of_probe = values_[probe * equalities_ + equality].fewest;
      const double of_build = std::min(values_[build * equalities_ + equality].fewest_there, build_rows);
      share *= std::min(1.0, of_build / of_probe);
    }
    return share;
  }

 private:
  /// The least number that any of the members has.
  struct Values {
    double fewest = std::numeric_limits<double>::infinity();
    double fewest_there = std::numeric_limits<double>::infinity();  // in the rows that are joined

    void add(const Values& other) {
      fewest = std::min(fewest, other.fewest);
      fewest_there = std::min(fewest_there, other.fewest_there);
    }
    void add(double distinct, double rows) { add({distinct, std::min(distinct, rows)}); }
  };
  const size_t equalities_;
  std::vector<JoinMembers> has_;  // of each set of members: a bit for each equality that has a column of it
  std::vector<Values> values_;    // of the same, for each equality
};

/// Whether the members may be joined with each other before others are.
bool may_be_joined(const JoinGraph& graph, JoinMembers members) {
  return std::ranges::all_of(graph.orders, [members](const JoinGraph::Order& order) {
    return (members & order.after) == 0 || (order.before & ~members) == 0 || (members & ~order.after) == 0;
  });
}

/// Whether members that come later are in the side that is looked up.
bool keeps_order(const JoinGraph& graph, JoinMembers probe, JoinMembers build) {
  return std::ranges::none_of(graph.orders, [probe, build](const JoinGraph::Order& order) {
    return (probe & order.after) != 0 && (build & order.before) != 0;
  });
}

/// Of all trees, by dynamic programming over all sets of members.
class AllOrders {
 public:
  explicit AllOrders(const JoinGraph& graph)
      : graph_(graph),
        all_(bit_of(graph.rows.size()) - 1),
        plans_(all_ + 1),
        rows_(all_ + 1),
        neighbours_(all_ + 1),
        shares_(graph) {}

  std::vector<JoinStep> search() {
    const std::vector<JoinMembers> neighbours = neighbours_of(graph_);
    for (JoinMembers members = 1; members <= all_; ++members) {
      const JoinMembers rest = members & (members - 1);
      neighbours_[members] = neighbours_[rest] | neighbours[static_cast<size_t>(std::countr_zero(members))];
      rows_[members] = graph_.rows_of(members);
      if (rest == 0) {
        plans_[members].cost = cost_of_scan(rows_[members]);
        continue;
      }
      if (!may_be_joined(graph_, members)) continue;
      divide(members, /*with_products=*/false);
      // Members that nothing compares are joined each row with each, if they are few enough to be worth it
      // for a set that has them.
      if (plans_[members].probe == 0) divide(members, /*with_products=*/true);
    }
    add(all_);
    return std::move(steps_);
  }

 private:
  struct Plan {
    Cost cost = {.once = std::numeric_limits<double>::infinity()};
    JoinMembers probe = 0;  // 0: a single member
  };

  void divide(JoinMembers members, bool with_products) {
    Plan best;
    // Each division once: one part has the first member.
    const JoinMembers first = members & (~members + 1), others = members & ~first;
    for (JoinMembers rest = (others - 1) & others;; rest = (rest - 1) & others) {
      const JoinMembers one = rest | first, other = members & ~one;
      if (const bool has_keys = (neighbours_[one] & other) != 0; has_keys || with_products) {
        try_plan(one, other, has_keys, best);
        try_plan(other, one, has_keys, best);
      }
      if (rest == 0) break;
    }
    plans_[members] = best;
  }

  void try_plan(JoinMembers probe, JoinMembers build, bool has_keys, Plan& best) const {
    if (!keeps_order(graph_, probe, build)) return;
    // Whatever is left of the rows on their way.
    const double least = plans_[probe].cost.once + plans_[build].cost.sum() + rows_[build] * cost_of_build +
                         rows_[probe | build] * cost_of_row_out;
    if (least >= best.cost.sum()) return;
    const double share = has_keys ? shares_.share(probe, build, rows_[build]) : 1;
    const Cost cost = cost_of_join(side(probe), side(build), share, rows_[probe | build], has_keys);
    if (cost.sum() < best.cost.sum()) best = {cost, probe};
  }

  Side side(JoinMembers members) const { return {.rows = rows_[members], .cost = plans_[members].cost}; }

  /// The steps that make `members`; returns the number of what they make.
  size_t add(JoinMembers members) {
    const JoinMembers probe = plans_[members].probe;
    if (probe == 0) return static_cast<size_t>(std::countr_zero(members));
    const size_t of_probe = add(probe), of_build = add(members & ~probe);
    steps_.push_back({.probe = of_probe, .build = of_build, .rows = rows_[members]});
    return graph_.rows.size() + steps_.size() - 1;
  }

  const JoinGraph& graph_;
  const JoinMembers all_;
  std::vector<Plan> plans_;              // of each set of members
  std::vector<double> rows_;             // of the same
  std::vector<JoinMembers> neighbours_;  // of the same: of any of them
  const SharesLeft shares_;
  std::vector<JoinStep> steps_;
};

/// The two parts of which the fewest rows come next; what one pair makes is estimated once.
class FewestRows {
 public:
  explicit FewestRows(const JoinGraph& graph) : graph_(graph) {
    const std::vector<JoinMembers> neighbours = neighbours_of(graph);
    for (size_t i = 0; i < graph.rows.size(); ++i) {
      parts_.push_back(
          {.number = i, .members = bit_of(i), .neighbours = neighbours[i], .rows = graph.rows[i]});
      parts_.back().pairs = pairs_with(parts_.back(), i);
    }
  }

  std::vector<JoinStep> search() {
    while (parts_.size() > 1) {
      size_t one = 0, other = 0;
      if (!find_least(/*with_products=*/false, one, other)) find_least(/*with_products=*/true, one, other);
      join(one, other);
    }
    return std::move(steps_);
  }

 private:
  struct Part {
    size_t number = 0;
    JoinMembers members = 0, neighbours = 0;
    double rows = 0;
    std::vector<double> pairs = {};  // rows that come of it and each of the parts before it
  };

  std::vector<double> pairs_with(const Part& part, size_t parts) const {
    std::vector<double> pairs;
    for (size_t i = 0; i < parts; ++i) pairs.push_back(graph_.rows_of(parts_[i].members | part.members));
    return pairs;
  }

  bool find_least(bool with_products, size_t& one, size_t& other) const {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!with_products && (parts_[i].neighbours & parts_[j].members) == 0) continue;
        const double pairs = with_products ? parts_[i].rows * parts_[j].rows : parts_[i].pairs[j];
        if (pairs < least) least = pairs, one = i, other = j;
      }
    }
    return least < std::numeric_limits<double>::infinity();
  }

  /// Parts number `one` and `other`, of which the other comes before.
  void join(size_t one, size_t other) {
    const bool probes = parts_[one].rows >= parts_[other].rows;
    const Part &probe = parts_[probes ? one : other], &build = parts_[probes ? other : one];
    const double rows = parts_[one].pairs[other];
    steps_.push_back({.probe = probe.number, .build = build.number, .rows = rows});
    Part both{.number = graph_.rows.size() + steps_.size() - 1,
              .members = probe.members | build.members,
              .neighbours = probe.neighbours | build.neighbours,
              .rows = rows};
    for (const size_t gone : {one, other}) {
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(gone));
      for (size_t i = gone; i < parts_.size(); ++i)
        parts_[i].pairs.erase(parts_[i].pairs.begin() + static_cast<ptrdiff_t>(gone));
    }
    both.pairs = pairs_with(both, parts_.size());
    parts_.push_back(std::move(both));
  }

  const JoinGraph& graph_;
  std::vector<Part> parts_;
  std::vector<JoinStep> steps_;
};

/// What is left to do.
double cost_of_steps(const JoinGraph& graph, const SharesLeft& shares, const BegunJoins& begun) {
  const std::vector<JoinMembers> neighbours = neighbours_of(graph);
  struct Part {
    JoinMembers members = 0, neighbours = 0;
    Side side;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < graph.rows.size(); ++i) {
    const double rows = graph.rows_of(bit_of(i));
    parts.push_back({bit_of(i), neighbours[i], {.rows = rows, .cost = cost_of_scan(rows)}});
  }
  for (size_t i = 0; i < begun.steps.size(); ++i) {
    const Part &probe = parts[begun.steps[i].probe], &build = parts[begun.steps[i].build];
    const JoinMembers both = probe.members | build.members;
    const bool has_keys = (probe.neighbours & build.members) != 0;
    const double share = has_keys ? shares.share(probe.members, build.members, build.side.rows) : 1;
    const double rows = graph.rows_of(both);
    Cost cost = cost_of_join(probe.side, build.side, share, rows, has_keys);
    if (begun.built[i]) cost.once = probe.side.cost.once;
    parts.push_back({both, probe.neighbours | build.neighbours, {.rows = rows, .cost = cost}});
  }
  return parts.back().side.cost.sum();
}

/// Each member joined to all before it.
std::vector<JoinStep> in_their_order(const JoinGraph& graph) {
  std::vector<JoinStep> steps;
  size_t joined = 0;
  for (size_t next = 1; next < graph.rows.size(); ++next) {
    steps.push_back(
        {.probe = joined, .build = next, .rows = graph.rows_of(bit_of(next) | (bit_of(next) - 1))});
    joined = graph.rows.size() + steps.size() - 1;
  }
  return steps;
}

/// The values that equal columns of these members have of each other: of two columns, the one that has more
/// has those of the other.
double values_compared(const JoinGraph::Equality& equality, JoinMembers members) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& column : equality.columns) {
    if ((bit_of(column.member) & members) != 0) least = std::min(least, std::max(1.0, column.distinct));
  }
  double product = 1, smallest = std::numeric_limits<double>::infinity();
  for (const auto& column : equality.columns) {
    if ((bit_of(column.member) & members) == 0) continue;
    const double distinct = column.is_known ? std::max(1.0, column.distinct) : least;
    product *= distinct;
    smallest = std::min(smallest, distinct);
  }
  return smallest == std::numeric_limits<double>::infinity() ? 1 : product / smallest;
}

}  // namespace

double JoinGraph::rows_of(JoinMembers members) const {
  double result = 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    if ((members & bit_of(i)) != 0) result *= rows[i];
  }
  for (const Equality& equality : equalities) result /= values_compared(equality, members);
  for (const Factor& each : factors) {
    if ((each.members & ~members) == 0) result *= each.factor;
  }
  return std::max(1.0, result);
}

void JoinGraph::set_rows_of(JoinMembers members, double known) {
  if (std::has_single_bit(members)) {
    rows[static_cast<size_t>(std::countr_zero(members))] = std::max(1.0, known);
  } else {
    factors.push_back({members, std::max(1.0, known) / rows_of(members)});
  }
}

std::vector<JoinStep> search_joins(const JoinGraph& graph) {
  if (graph.rows.size() < 2) return {};
  if (graph.rows.size() <= most_in_all_orders) return AllOrders(graph).search();
  return graph.orders.empty() ? FewestRows(graph).search() : in_their_order(graph);
}

std::vector<JoinStep> search_joins_again(const JoinGraph& graph, const BegunJoins& begun, double most_share) {
  if (graph.rows.size() < 2 || graph.rows.size() > most_in_all_orders) return {};
  std::vector<JoinStep> steps = search_joins(graph);
  const SharesLeft shares(graph);
  const double anew = cost_of_steps(graph, shares, {steps, std::vector<bool>(steps.size(), false)});
  const double left = cost_of_steps(graph, shares, begun);
  return anew <= left * most_share ? steps : std::vector<JoinStep>();
}

}  // namespace hailstone
