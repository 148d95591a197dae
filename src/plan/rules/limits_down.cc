// The first rows of a left join come of the first rows of its left input, as each has a row at least; those
// of a UNION ALL of the first rows of its inputs. What is limited there need not be read, or joined.
#include <algorithm>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

/// Sorts with more first rows sort all rows; twice would be too much.
constexpr uint64_t most_first_rows = 4096;

/// Up to the last row that is wanted. Nothing: all rows are.
std::optional<uint64_t> end_of(const Limit& limit) {
  if (!limit.most || *limit.most > ~uint64_t{0} - limit.offset) return std::nullopt;
  return limit.offset + *limit.most;
}

bool has_at_most(const Plan& node, uint64_t rows) {
  if (const auto* const values = as<Values>(node)) return values->rows.size() <= rows;
  if (as<Project>(node) != nullptr || as<Sort>(node) != nullptr) return has_at_most(node->inputs[0], rows);
  const auto* const limit = as<Limit>(node);
  return limit != nullptr && !limit->with_ties && limit->most && *limit->most <= rows;
}

/// The first rows of a node, in an order if it has one.
Plan first(const Plan& node, uint64_t rows, std::vector<SortKey> order) {
  if (has_at_most(node, rows)) return node;
  const Plan sorted = order.empty() ? node : make(Sort{.order = std::move(order)}, {node});
  return make(Limit{.most = rows}, {sorted});
}

/// Both at once. Nothing: a number would be too great.
std::optional<Limit> united(const Limit& above, const Limit& below) {
  if (below.offset > ~uint64_t{0} - above.offset) return std::nullopt;
  Limit limit{.offset = below.offset + above.offset, .most = above.most};
  if (below.most) {
    const uint64_t left = *below.most - std::min(*below.most, above.offset);
    limit.most = std::min(limit.most.value_or(left), left);
  }
  return limit;
}

/// `order`: of a Sort between the limit and the node; empty: there is none.
Plan with_first_rows(const Plan& node, uint64_t rows, const std::vector<SortKey>& order) {
  std::vector<Plan> inputs = node->inputs;
  const auto* const join = as<Join>(node);
  if (join != nullptr && join->kind == JoinKind::Left) {
    const ColumnSet left(inputs[0]->columns);
    const bool is_by_left =
        std::ranges::all_of(order, [&](const SortKey& key) { return left.has(key.column); });
    if (is_by_left) inputs[0] = first(inputs[0], rows, order);
  }
  const auto* const set = as<SetOperation>(node);
  if (set != nullptr && set->kind == SetOperation::Kind::Union && set->all) {
    for (Plan& input : inputs) {
      std::vector<SortKey> of_input = order;
      for (SortKey& key : of_input) {
        const auto place = std::ranges::find(set->columns, key.column, &Column::id) - set->columns.begin();
        key.column = input->columns[static_cast<size_t>(place)].id;
      }
      input = first(input, rows, std::move(of_input));
    }
  }
  return with_inputs(node, std::move(inputs));
}

Plan node_with_limits_moved(const Plan& node) {
  const auto* const limit = as<Limit>(node);
  if (limit == nullptr || limit->with_ties) return node;
  const Plan& input = node->inputs[0];
  if (const auto* const below = as<Limit>(input); below != nullptr && !below->with_ties) {
    const auto both = united(*limit, *below);
    return both ? node_with_limits_moved(make(*both, input->inputs)) : node;
  }
  if (const auto* const project = as<Project>(input))
    return make(*project, {node_with_limits_moved(make(*limit, input->inputs))});
  const auto end = end_of(*limit);
  if (!end) return node;
  if (const auto* const sort = as<Sort>(input)) {
    if (*end > most_first_rows) return node;
    const Plan below = with_first_rows(input->inputs[0], *end, sort->order);
    return with_inputs(node, {with_inputs(input, {below})});
  }
  return with_inputs(node, {with_first_rows(input, *end, {})});
}

}  // namespace

Plan move_limits_down(const Plan& plan) { return changed(plan, node_with_limits_moved); }

}  // namespace hailstone::plan
