#include "limit_cost.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "item_parts.h"
#include "join_estimate.h"
#include "session.h"
#include "statement_items.h"

namespace hailstone {

namespace {

// Microseconds of processor time, measured with 300,000 to 900,000 rows in memory (docs/design/costs.md).
constexpr double scanned_row = 0.0002;   // of a scan, for each condition, and
constexpr double passing_row = 0.002;    // one that fulfils them
constexpr double built_row = 0.05;       // into the table of a join
constexpr double looked_up_row = 0.007;  // in that
constexpr double joined_row = 0.003;
constexpr double grouped_row = 0.006;
constexpr double made_group = 0.1;
constexpr double ordered_row = 0.002;
// Beyond what any statement costs, also the server.
constexpr double begin_rows = 20, begin_join = 60, begin_groups = 60;
/// For each group that there may be, before the first, and for many.
constexpr double expected_group = 0.01, expected_groups = 150;
/// A block that is left to the server has been looked at by the engine: so much is to be gained.
constexpr double planning = 15;

/// Of groups, as many fulfil HAVING.
constexpr double share_of_having = 0.3;

/// Of so many values, those that so many rows have.
double values_met(double values, double rows) { return values * -std::expm1(-rows / values); }

/// Of what a tree of joins costs.
struct Costs {
  double all = 0;     // but for
  double probes = 0;  // the first probe side, and what is looked up for its rows
};

Costs costs_of(const JoinNode& node, const SourceTables& sources) {
  if (node.source) {
    const TABLE& table = *sources.all()[*node.source].table;
    const auto conditions = static_cast<double>(1 + node.pushed.size());
    return {.all = 0, .probes = static_cast<double>(table.file->stats.records) * scanned_row * conditions};
  }
  const Costs build = costs_of(*node.build, sources);
  Costs costs = costs_of(*node.probe, sources);
  // The scan leaves out what has no partner.
  const double filtered = std::min(node.probe->rows, node.rows);
  costs.all += build.all + build.probes + node.build->rows * (passing_row + built_row) + begin_join;
  costs.probes += filtered * (passing_row + looked_up_row) + node.rows * joined_row;
  return costs;
}

/// How many different values the columns of these items have, taken together.
class DifferentValues {
 public:
  explicit DifferentValues(const SourceTables& sources) : sources_(sources), fields_(sources.all().size()) {}

  void add(Item& item) {
    for (const Item_field* const column : columns_read_by(item)) {
      if (const auto number = sources_.number_of(*column->field)) fields_[*number].push_back(column->field);
    }
  }
  double count() const {
    double values = 1;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!fields_[i].empty()) values *= distinct_values_of(sources_.all()[i], fields_[i]).values;
    }
    return values;
  }

 private:
  const SourceTables& sources_;
  std::vector<std::vector<const Field*>> fields_;
};

/// Of groups, or of different rows.
double values_of(const LimitedBlock& block) {
  DifferentValues values(block.sources);
  if (block.query.group_by != nullptr) {
    for (const ORDER* group = block.query.group_by; group != nullptr; group = group->next)
      values.add(**group->item);
  } else {
    List_iterator_fast<Item> items(*block.query.select);
    for (int hidden = block.query.n_aux; hidden > 0; --hidden) items++;
    while (Item* const item = items++) values.add(*item);
  }
  return values.count();
}

LimitEstimate estimate_limit(const LimitedBlock& block, double wanted) {
  LimitEstimate estimate{.rows = BlockRows::of(block.sources, block.tree), .wanted = wanted};
  if (block.query.having != nullptr) estimate.wanted /= share_of_having;
  const Costs costs = costs_of(block.tree, block.sources);
  estimate.of_engine = costs.all + begin_rows;
  estimate.of_probes = costs.probes + (block.sources.is_join() ? 0 : estimate.rows.all * passing_row);
  const bool groups = block.query.group_by != nullptr || block.query.distinct;
  estimate.in_order = groups || block.query.order_by != nullptr;
  if (groups) {
    const double values = values_of(block);
    estimate.values = values_met(values, estimate.rows.all);
    estimate.of_engine += begin_groups + std::min(values * expected_group, expected_groups) +
                          estimate.rows.all * grouped_row + estimate.values * made_group;
  } else if (estimate.in_order) {
    estimate.of_engine += estimate.rows.all * ordered_row;
  }
  return estimate;
}

/// What the statement says of its order; null: nothing.
Item* item_of_order(const Query& query) {
  if (query.group_by != nullptr) return *query.group_by->item;
  return query.order_by != nullptr ? *query.order_by->item : nullptr;
}

Declined left(const Query& query) { return {SelectOutcome::Limit, item_of_order(query)}; }

}  // namespace

bool LimitEstimate::is_server_quicker(const ServerWay& way) const {
  // Which share of the rows have been read when all that is wanted has been given.
  double share = 1;
  if (way.gives == ServerWay::Gives::Rows) {
    share = std::min(1.0, wanted / rows.all);
  } else if (way.gives == ServerWay::Gives::Groups) {
    share = std::min(1.0, (wanted + 1) / values);
  } else if (wanted < values) {
    // Between rows that have any value each, and those that have all of one value before those of the next.
    const double any = values * std::log(values / (values - wanted)) / rows.all;
    share = std::min(1.0, std::sqrt(any * wanted / values));
  }
  double so_far = 1, all = 0;
  for (const ServerWay::Step& step : way.steps) {
    all += so_far * (step.search + step.rows * step.each);
    const BlockRows::OfTable* const table = rows.of_table(*step.table);
    const double given = step.rows * table->share;
    so_far *= table->may_be_missing ? std::max(1.0, given) : given;
  }
  const double of_server = share * all;
  return of_server + planning < of_engine + of_probes * (in_order ? 1 : share);
}

std::optional<double> rows_wanted(const Query& query, SELECT_LEX& select, const SourceTables& sources) {
  if (select.join->implicit_grouping || (select.options & OPTION_FOUND_ROWS) != 0) return std::nullopt;
  Item* const first = item_of_order(query);
  if (!sources.is_join()) {
    // The engine, too, ends a scan that gives rows in no order. In an order along no index the server reads
    // all.
    if (first == nullptr ? !query.distinct : !has_index(*sources.first().table, *first)) return std::nullopt;
  }
  ulonglong wanted = query.limit->get_select_limit();
  if (wanted == HA_POS_ERROR) {
    // The server tells the limits of a union's parts later.
    Item* const limit = select.limit_params.select_limit;
    Item* const offset = select.limit_params.offset_limit;
    if (limit == nullptr || !limit->fixed() || !limit->const_item()) return std::nullopt;
    wanted = limit->val_uint();
    if (offset != nullptr && offset->fixed() && offset->const_item()) wanted += offset->val_uint();
  }
  if (wanted == HA_POS_ERROR || wanted == 0) return std::nullopt;
  return static_cast<double>(wanted);
}

JoinNode leaf_with(const SourceTables::Source& source, const std::vector<PushedCondition>& conditions) {
  const MatchingRows matching = rows_that_match(source, conditions);
  return {.source = 0, .pushed = conditions, .rows = matching.all, .rows_scanned = matching.by_predicates};
}

std::optional<Declined> leave_as_expected(const LimitedBlock& block, double wanted) {
  LimitEstimate estimate = estimate_limit(block, wanted);
  const auto way = expected_way(block, estimate.rows);
  if (!way || !estimate.is_server_quicker(*way)) return std::nullopt;
  THD& thd = *block.select.join->thd;
  estimate.query = thd.query_id;
  estimate.select = &block.select;
  Session::of(&thd).keep_limit(std::make_shared<const LimitEstimate>(std::move(estimate)));
  return left(block.query);
}

std::optional<Declined> leave_as_planned(const LimitedBlock& block, double wanted) {
  const LimitEstimate estimate = estimate_limit(block, wanted);
  const auto way = planned_way(*block.select.join, estimate.rows);
  return way && estimate.is_server_quicker(*way) ? std::optional(left(block.query)) : std::nullopt;
}

std::optional<Declined> leave_again(THD& thd, const Query& query, SELECT_LEX& select) {
  const Session* const session = Session::find(&thd);
  const LimitEstimate* const estimate = session == nullptr ? nullptr : session->kept_limit();
  if (estimate == nullptr || estimate->query != thd.query_id || estimate->select != &select)
    return std::nullopt;
  const auto way = planned_way(*select.join, estimate->rows);
  return way && estimate->is_server_quicker(*way) ? std::optional(left(query)) : std::nullopt;
}

}  // namespace hailstone
