#include "query/join/join_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hailstone {

namespace {

// What a row costs, against one that is only looked up in memory near at hand.
constexpr double cost_of_probe = 1, cost_of_build = 3, cost_of_row_out = 1;
/// One that a scan only asks the filters of build sides about.
constexpr double cost_of_filter = 0.2;
/// A lookup in many rows waits for memory: in so many, and the more the longer, up to another number of them.
constexpr double rows_near_at_hand = 50'000, rows_far_away = 800'000, cost_of_far_probe = 3;

double cost_of_lookup(double rows) {
  if (rows <= rows_near_at_hand) return cost_of_probe;
  const double way = std::log(rows / rows_near_at_hand) / std::log(rows_far_away / rows_near_at_hand);
  return cost_of_probe + (cost_of_far_probe - cost_of_probe) * std::min(1.0, way);
}

/// What it costs to make rows.
struct Cost {
  /// Whatever they are joined to later.
  double once = 0;
  // Of rows on their way from a scan through the probe sides of joins: a join above them leaves out those
  // that have no partner there, by the filter of its build side.
  double scanned = 0;  // to look up the scan's rows, and to read them
  double paired = 0;   // what becomes of pairs

  double sum() const { return once + scanned + paired; }
};

Cost cost_of_scan(double rows) { return {.once = rows * cost_of_filter, .scanned = rows * cost_of_row_out}; }

struct Side {
  double rows = 0;
  Cost cost;
  bool is_scan = true;
};

/// What the filters of a build side's keys leave of the rows of a probe side.
struct Shares {
  double of_scan = 1;   // that are on their way: by keys that they have themselves
  double of_pairs = 1;  // that have been joined: by all keys, as those of a build side are filtered, too
};

/// `has_keys`: else each row meets each, whatever further conditions leave of the pairs.
Cost cost_of_join(const Side& probe, const Side& build, const Shares& shares, double rows_out,
                  bool has_keys) {
  const double lookups = probe.rows * cost_of_lookup(build.rows);
  const double pairs = has_keys ? rows_out : probe.rows * build.rows;
  return {.once = probe.cost.once + build.cost.sum() + build.rows * cost_of_build,
          .scanned = shares.of_scan * (probe.cost.scanned + (probe.is_scan ? lookups : 0)),
          .paired = shares.of_pairs * (probe.cost.paired + (probe.is_scan ? 0 : lookups)) +
                    pairs * cost_of_row_out};
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

/// What is left of the rows of these members' columns, by all of them.
double share_left(const JoinGraph::Equality& equality, const JoinGraph::Equality::Limit& limit,
                  JoinMembers members) {
  double share = 1;
  for (size_t i = 0; i < equality.columns.size(); ++i) {
    if ((bit_of(equality.columns[i].member) & members) != 0) share *= limit.columns[i].share;
  }
  return share;
}

/// How many values are left in the columns of these members; at least one is there.
double values_left(const JoinGraph::Equality& equality, const JoinGraph::Equality::Limit& limit,
                   JoinMembers members) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < equality.columns.size(); ++i) {
    if ((bit_of(equality.columns[i].member) & members) != 0)
      least = std::min(least, std::max(1.0, limit.columns[i].distinct));
  }
  return least;
}

/// Which share of the rows of a probe side the filters of a build side leave, each of which knows the values
/// of one column. Asked of very many pairs of sides.
class SharesLeft {
 public:
  /// More equalities than there are bits are left out: then filters may leave fewer rows.
  explicit SharesLeft(const JoinGraph& graph)
      : graph_(graph), equalities_(std::min<size_t>(graph.equalities.size(), 64)) {
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

  /// `scanned`: the member of `probe` whose rows are looked up.
  Shares of(JoinMembers probe, JoinMembers build, double build_rows, size_t scanned) const {
    Shares shares;
    for (uint64_t both = has_[probe] & has_[build]; both != 0; both &= both - 1) {
      const auto equality = static_cast<size_t>(std::countr_zero(both));
      double of_probe = values_[probe * equalities_ + equality].fewest;
      double of_build = std::min(values_[build * equalities_ + equality].fewest_there, build_rows);
      double by_limits = 1;
      for (const auto& limit : graph_.equalities[equality].limits) {
        if ((limit.by & ~probe) == 0) {
          of_probe = std::min(of_probe, values_left(graph_.equalities[equality], limit, probe));
          of_build = std::min(of_build, values_left(graph_.equalities[equality], limit, build));
        } else if ((limit.by & ~build) == 0) {
          by_limits = std::min(by_limits, share_left(graph_.equalities[equality], limit, probe));
        }
      }
      const double share = std::min(by_limits, of_build / of_probe);
      shares.of_pairs *= share;
      if ((has_[bit_of(scanned)] >> equality & 1) != 0) shares.of_scan *= share;
    }
    return shares;
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
  const JoinGraph& graph_;
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
        plans_[members] = {.cost = cost_of_scan(rows_[members]),
                           .scanned = static_cast<size_t>(std::countr_zero(members))};
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
    size_t scanned = 0;     // the member whose rows are looked up
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
    const size_t scanned = plans_[probe].scanned;
    const Shares shares = has_keys ? shares_.of(probe, build, rows_[build], scanned) : Shares();
    const Cost cost = cost_of_join(side(probe), side(build), shares, rows_[probe | build], has_keys);
    if (cost.sum() < best.cost.sum()) best = {cost, probe, scanned};
  }

  Side side(JoinMembers members) const {
    return {.rows = rows_[members], .cost = plans_[members].cost, .is_scan = plans_[members].probe == 0};
  }

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
    size_t scanned = 0;
    Side side;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < graph.rows.size(); ++i) {
    const double rows = graph.rows_of(bit_of(i));
    parts.push_back({bit_of(i), neighbours[i], i, {.rows = rows, .cost = cost_of_scan(rows)}});
  }
  for (size_t i = 0; i < begun.steps.size(); ++i) {
    const Part &probe = parts[begun.steps[i].probe], &build = parts[begun.steps[i].build];
    const JoinMembers both = probe.members | build.members;
    const bool has_keys = (probe.neighbours & build.members) != 0;
    const Shares left =
        has_keys ? shares.of(probe.members, build.members, build.side.rows, probe.scanned) : Shares();
    const double rows = graph.rows_of(both);
    Cost cost = cost_of_join(probe.side, build.side, left, rows, has_keys);
    if (begun.built[i]) cost.once = probe.side.cost.once;
    parts.push_back({both,
                     probe.neighbours | build.neighbours,
                     probe.scanned,
                     {.rows = rows, .cost = cost, .is_scan = false}});
  }
  return parts.back().side.cost.sum();
}

/// Of as many members as there may be: the rows that they make, pairs that no key finds among them.
double rows_of_steps(const JoinGraph& graph, const std::vector<JoinStep>& steps) {
  const std::vector<JoinMembers> neighbours = neighbours_of(graph);
  struct Part {
    JoinMembers members = 0, neighbours = 0;
    double rows = 0;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < graph.rows.size(); ++i)
    parts.push_back({bit_of(i), neighbours[i], graph.rows_of(bit_of(i))});
  double all = 0;
  for (const JoinStep& step : steps) {
    const Part &probe = parts[step.probe], &build = parts[step.build];
    const JoinMembers both = probe.members | build.members;
    const double rows = graph.rows_of(both);
    const bool has_keys = (probe.neighbours & build.members) != 0;
    all += (has_keys ? rows : probe.rows * build.rows) + build.rows * cost_of_build;
    parts.push_back({both, probe.neighbours | build.neighbours, rows});
  }
  return all;
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

/// The limit that leaves least once these members are joined; null: none does.
const JoinGraph::Equality::Limit* limit_of(const JoinGraph::Equality& equality, JoinMembers members) {
  const JoinGraph::Equality::Limit* least = nullptr;
  for (const auto& limit : equality.limits) {
    if ((limit.by & ~members) != 0) continue;
    if (least == nullptr || share_left(equality, limit, members) < share_left(equality, *least, members))
      least = &limit;
  }
  return least;
}

/// The values that equal columns of these members have of each other: of two columns, the one that has more
/// has those of the other. `limit` may be null.
double values_compared(const JoinGraph::Equality& equality, const JoinGraph::Equality::Limit* limit,
                       JoinMembers members) {
  const auto distinct_of = [&](size_t i) {
    const double distinct = equality.columns[i].distinct;
    return std::max(1.0, limit == nullptr ? distinct : std::min(distinct, limit->columns[i].distinct));
  };
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < equality.columns.size(); ++i) {
    if ((bit_of(equality.columns[i].member) & members) != 0) least = std::min(least, distinct_of(i));
  }
  double product = 1, smallest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < equality.columns.size(); ++i) {
    if ((bit_of(equality.columns[i].member) & members) == 0) continue;
    const double distinct = equality.columns[i].is_known ? distinct_of(i) : least;
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
  for (const Equality& equality : equalities) {
    const Equality::Limit* const limit = limit_of(equality, members);
    if (limit != nullptr) result *= share_left(equality, *limit, members);
    result /= values_compared(equality, limit, members);
  }
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

std::vector<JoinStep> search_better_joins(const JoinGraph& graph, const std::vector<JoinStep>& steps,
                                          double most_share) {
  if (graph.rows.size() <= most_in_all_orders)
    return search_joins_again(graph, {steps, std::vector<bool>(steps.size(), false)}, most_share);
  std::vector<JoinStep> found = search_joins(graph);
  const bool is_better = rows_of_steps(graph, found) <= rows_of_steps(graph, steps) * most_share;
  return is_better ? found : std::vector<JoinStep>();
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
