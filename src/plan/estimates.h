// How many rows and values the nodes of a plan have, by the statistics of its tables. A node is estimated
// once. Belongs to one thread.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>

#include "plan/plan.h"
#include "plan/statistics.h"

namespace hailstone::plan {

class Estimates {
 public:
  explicit Estimates(Statistics& statistics) : statistics_(statistics) {}

  /// At least 1.
  double rows(const Plan& node);
  /// Is told by someone who knows more.
  void set_rows(const Plan& node, double rows) { rows_[node.get()] = {node, rows}; }
  /// Of columns of the node, together: as the tables have them, whatever conditions leave.
  DistinctValues distinct(const Plan& node, std::span<const ColumnId> columns);
  /// What a condition leaves of the node's rows, or of pairs whose columns are all among those of some nodes.
  double share_left(const Expression& condition, std::span<const Plan> nodes);

  /// Where a column comes from as it is. Null: it is made by another node than a scan.
  struct Origin {
    const Scan* scan = nullptr;
    const Column* column = nullptr;
  };
  static Origin origin_of(const Plan& node, ColumnId id);

 private:
  double estimated(const Plan& node);
  double of_join(const Plan& node, JoinKind kind, std::span<const Expression> conditions);
  double of_groups(const Plan& node, const Aggregate& aggregate);

  Statistics& statistics_;
  /// With the nodes, so that no other gets their addresses.
  std::unordered_map<const Node*, std::pair<Plan, double>> rows_;
};

}  // namespace hailstone::plan
