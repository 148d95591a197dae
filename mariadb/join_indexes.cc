// Whether the server would be quicker with a join, by indexes or hash tables of its own, than the engine.
#include <algorithm>
#include <limits>
#include <optional>

#include "ha_hailstone.h"
#include "index_use.h"
#include "item_parts.h"
#include "join_tree.h"

namespace hailstone {

namespace {

/// How many rows of each table the server reads that begins where indexes lead to few rows.
class IndexWay {
 public:
  explicit IndexWay(const FromClause& from)
      : shared_(from.sources),
        sources_(*shared_),
        conditions_(from.all_conditions()),
        rows_(sources_.all().size()) {}

  /// The condition that leads to the first rows; null: none does.
  Item* begin() {
    Item* leading = nullptr;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const SourceTables::Source& source = sources_.all()[i];
      source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_CONST | HA_STATUS_NO_LOCK);
      std::vector<Item*> own;
      std::vector<PushedCondition> pushed;
      for (Item* const condition : conditions_) {
        if (sources_.only_one_of(*condition) != i) continue;
        own.push_back(condition);
        pushed.push_back(source.reader().condition(condition));
      }
      const FewRows few = leads_to_few_rows(*source.table, source.readers, own, pushed);
      if (few.condition == nullptr) continue;
      rows_[i] = few.rows;
      if (leading == nullptr) leading = few.condition;
    }
    return leading;
  }

  /// From the tables that are reached on to the one of which the fewest rows are read, and so on. False: no
  /// index leads to some table.
  bool go_on() {
    while (std::ranges::any_of(rows_, [](const auto& rows) { return !rows; })) {
      std::optional<size_t> nearest;
      double fewest = std::numeric_limits<double>::infinity();
      for (Item* const condition : conditions_) {
        const auto key = key_of_condition(*condition, shared_);
        if (!key || key->computed != nullptr) continue;
        for (const auto& [one, other] : {std::pair(key->one, key->other), std::pair(key->other, key->one)}) {
          const size_t at = *sources_.number_of(*one), to = *sources_.number_of(*other);
          const auto rows = rows_[at] && !rows_[to] ? rows_for_value(*other) : std::nullopt;
          if (!rows || *rows_[at] * *rows >= fewest) continue;
          fewest = *rows_[at] * *rows;
          nearest = to;
        }
      }
      if (!nearest) return false;
      rows_[*nearest] = fewest;
    }
    return true;
  }

  bool is_quicker_than_scans() const {
    double by_indexes = 0, by_scans = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      by_indexes += *rows_[i];
      by_scans += static_cast<double>(sources_.all()[i].table->file->stats.records);
    }
    return by_indexes * rows_scanned_in_time_of_one < by_scans ||
           by_indexes < few_rows * static_cast<double>(rows_.size());
  }

 private:
  const std::shared_ptr<const SourceTables> shared_;
  const SourceTables& sources_;
  const std::vector<Item*> conditions_;
  std::vector<std::optional<double>> rows_;  // of each table; nothing: it is not reached
};

/// So many pairs of rows are never slow to ask a condition of.
constexpr double few_compared_pairs = 100'000;
/// Between two bounds an index is taken to have the rows of so many values.
constexpr double values_between_bounds = 10;

/// So many rows are scanned in the time in which the server computes the key of one.
constexpr double rows_scanned_in_time_of_key = 10;

/// The column whose values conditions bound; null: another item is bounded.
const Field* bounded_column(const BoundedItem& bounded) {
  Item& item = *bounded.item->real_item();
  return item.type() == Item::FIELD_ITEM ? static_cast<Item_field&>(item).field : nullptr;
}

/// The equality that says so; null: another condition does.
const Item_bool_func* equality_of(const BoundedItem& bounded) {
  if (bounded.least == nullptr || bounded.least != bounded.greatest) return nullptr;
  return dynamic_cast<Item_bool_func*>(bounded.condition->real_item());
}

/// Whether the server, which would look rows of `looked_up` up by an index for each row of `other`, does so
/// in the time in which so many rows are scanned: a condition by which it does; null: it does not.
Item* finds_few_by_index(const FromClause& from, const JoinNode& looked_up, const JoinNode& other,
                         double scanned) {
  for (const BoundedItem& bounded :
       bounded_items(from.all_conditions(), looked_up.tables(), other.tables(), *from.sources)) {
    const Field* const column = bounded_column(bounded);
    const auto rows = bounded.has_both() && column != nullptr ? rows_for_value(*column) : std::nullopt;
    if (!rows) continue;
    const Item_bool_func* const equality = equality_of(bounded);
    if (equality != nullptr &&
        column->can_optimize_keypart_ref(equality, bounded.least) != Data_type_compatibility::OK)
      continue;
    const double values = equality != nullptr ? 1 : values_between_bounds;
    if (other.rows * *rows * values * rows_scanned_in_time_of_one < scanned) return bounded.condition;
  }
  return nullptr;
}

/// Whether the server would put rows of `looked_up` into a hash table by one of their columns: the condition
/// by which it does; null: it would not.
Item* finds_by_hash(const FromClause& from, const JoinNode& looked_up, const JoinNode& other) {
  constexpr ulong least_level_with_hashes = 3;
  THD& thd = from.sources->thd();
  if (thd.variables.join_cache_level < least_level_with_hashes ||
      !optimizer_flag(&thd, OPTIMIZER_SWITCH_JOIN_CACHE_HASHED))
    return nullptr;
  for (const BoundedItem& bounded :
       bounded_items(from.all_conditions(), looked_up.tables(), other.tables(), *from.sources)) {
    const Field* const column = bounded_column(bounded);
    const Item_bool_func* const equality = equality_of(bounded);
    if (column != nullptr && equality != nullptr &&
        column->can_optimize_hash_join(equality, bounded.least) == Data_type_compatibility::OK)
      return bounded.condition;
  }
  return nullptr;
}

/// Whether rows are found by keys, or between bounds: else each row is joined with each.
bool finds_by_values(const JoinNode& join) {
  return !join.keys.empty() || (join.range && join.range->is_narrow());
}

/// More pairs than this are not made only for a semi join to leave few of them.
constexpr double most_pairs_before_semi_join = 1e7;

/// Whether it, or a side of it, joins so many rows with each other.
bool makes_many_pairs(const JoinNode& tree) {
  if (tree.source) return false;
  return (!finds_by_values(tree) && tree.probe->rows * tree.build->rows > most_pairs_before_semi_join) ||
         makes_many_pairs(*tree.probe) || makes_many_pairs(*tree.build);
}

/// Whether a semi join stands behind such pairs. The server begins with the rows of the subquery.
bool multiplies_before_semi_join(const JoinNode& tree) {
  if (tree.source) return false;
  return (tree.kind == JoinPlan::Kind::Semi && makes_many_pairs(*tree.probe)) ||
         multiplies_before_semi_join(*tree.probe) || multiplies_before_semi_join(*tree.build);
}

/// Whether the engine would have the server compute a key of each row of both sides, or ask a condition of
/// each row with each, where the server finds the pairs by an index or a hash table: why it is the server's;
/// nothing: it is not.
std::optional<Declined> finds_pairs_by_server(const JoinNode& tree, const FromClause& from) {
  if (tree.source) return std::nullopt;
  for (const JoinNode* const side : {tree.probe.get(), tree.build.get()}) {
    if (auto declined = finds_pairs_by_server(*side, from)) return declined;
  }
  const bool finds_few = (tree.range && tree.range->is_narrow()) ||
                         !std::ranges::all_of(tree.keys, [](const JoinKey& key) { return key.by_server; });
  const double pairs = tree.probe->rows * tree.build->rows;
  if (finds_few || pairs <= few_compared_pairs) return std::nullopt;
  const bool has_keys = !tree.keys.empty();
  const double scanned =
      has_keys ? (tree.probe->rows + tree.build->rows) * rows_scanned_in_time_of_key : pairs;
  const auto is_found = [&](const JoinNode& looked_up, const JoinNode& other) -> std::optional<Declined> {
    if (Item* const condition = finds_few_by_index(from, looked_up, other, scanned))
      return Declined{SelectOutcome::Index, condition};
    if (Item* const condition = has_keys ? nullptr : finds_by_hash(from, looked_up, other))
      return Declined{SelectOutcome::Hash, condition};
    return std::nullopt;
  };
  if (auto declined = is_found(*tree.build, *tree.probe)) return declined;
  return tree.kind == JoinPlan::Kind::Inner ? is_found(*tree.probe, *tree.build) : std::nullopt;
}

/// Whether indexes lead to few rows of one table, and from there to so few of the others that the server is
/// quicker by them: the condition that leads to the first ones; null: they do not.
Item* leads_by_indexes(const FromClause& from) {
  IndexWay way(from);
  Item* const leading = way.begin();
  return leading != nullptr && way.go_on() && way.is_quicker_than_scans() ? leading : nullptr;
}

}  // namespace

std::expected<std::unique_ptr<JoinNode>, Declined> plan_joins_if_quicker(const FromClause& from,
                                                                         bool server_may_be_quicker) {
  if (server_may_be_quicker) {
    if (joins_few_rows(from)) return std::unexpected(Declined{SelectOutcome::Rows});
    if (Item* const condition = leads_by_indexes(from))
      return std::unexpected(Declined{SelectOutcome::Index, condition});
  }
  auto tree = plan_joins(from);
  if (multiplies_before_semi_join(*tree)) return std::unexpected(Declined{SelectOutcome::Statement});
  if (server_may_be_quicker) {
    if (const auto declined = finds_pairs_by_server(*tree, from)) return std::unexpected(*declined);
  }
  return tree;
}

}  // namespace hailstone
