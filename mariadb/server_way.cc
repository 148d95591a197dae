#include "server_way.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ha_hailstone.h"
#include "index_use.h"
#include "item_parts.h"
#include "join_estimate.h"

namespace hailstone {

namespace {

// Microseconds of processor time, measured with 300,000 to 900,000 rows in memory (docs/design/costs.md).
constexpr double left_out_row = 0.0002;  // which the scan's condition leaves out
constexpr double given_row = 0.15;       // and one that it gives to the server
constexpr double row_in_order = 0.1;     // in the order of the clustered key
constexpr double row_by_index = 0.3;     // in that of another one
constexpr double key_lookup = 1;         // the first row of a key
constexpr double further_row = 0.2;      // each further one

double rows_of(const TABLE& table) { return std::max(1.0, static_cast<double>(table.file->stats.records)); }

const JoinNode& leaf_of(const JoinNode& tree, size_t source) {
  if (tree.source) return tree;
  const bool is_of_probe = (tree.probe->tables() >> source & 1) != 0;
  return leaf_of(is_of_probe ? *tree.probe : *tree.build, source);
}

double cost_of_row(const TABLE& table, uint index) {
  return table.file->is_clustering_key(index) ? row_in_order : row_by_index;
}

/// Which of the columns of an order an index has in front, in its order.
class IndexOrder {
 public:
  /// `constants`: columns that conditions say are equal to constants.
  IndexOrder(const TABLE& table, uint index, const std::vector<const Field*>& constants)
      : table_(table), key_(table.key_info[index]), constants_(constants) {}

  /// Whether the index has rows in the order of the whole list, or in the reversed one.
  bool has(const ORDER* list) {
    for (; list != nullptr; list = list->next) {
      Item& item = *(*list->item)->real_item();
      if (item.const_item()) continue;
      if (item.type() != Item::FIELD_ITEM) return false;
      const Field* const field = static_cast<Item_field&>(item).field;
      if (field->table != &table_ || !takes(*field, list->direction == ORDER::ORDER_DESC)) return false;
    }
    return true;
  }

 private:
  bool takes(const Field& field, bool descending) {
    while (part_ < key_.ext_key_parts) {
      const KEY_PART_INFO& part = key_.key_part[part_++];
      if ((part.key_part_flag & HA_PART_KEY_SEG) != 0) return false;
      if (part.field->field_index == field.field_index) {
        const bool turned = descending != ((part.key_part_flag & HA_REVERSE_SORT) != 0);
        if (turned_.value_or(turned) != turned) return false;
        turned_ = turned;
        return true;
      }
      if (std::ranges::none_of(constants_, [&](const Field* constant) {
            return constant->field_index == part.field->field_index;
          }))
        return false;
    }
    return false;
  }

  const TABLE& table_;
  const KEY& key_;
  const std::vector<const Field*>& constants_;
  uint part_ = 0;
  std::optional<bool> turned_;
};

/// Whether one list says the same as the beginning of the other one.
bool begins_with(const ORDER* list, const ORDER* beginning) {
  for (; beginning != nullptr; beginning = beginning->next, list = list->next) {
    if (list == nullptr || !(*list->item)->eq(*beginning->item, true)) return false;
  }
  return true;
}

class Expectation {
 public:
  Expectation(const LimitedBlock& block, const BlockRows& rows)
      : block_(block), block_rows_(rows), all_(block.sources.all()) {}

  std::optional<ServerWay> way() {
    const Query& query = block_.query;
    const bool groups = query.group_by != nullptr;
    const ORDER* const order = groups ? query.group_by : query.order_by;
    if (block_.select.join->implicit_grouping || (groups && query.distinct)) return std::nullopt;
    if (block_.select.olap != UNSPECIFIED_OLAP_TYPE) return std::nullopt;
    if (groups && query.order_by != nullptr && !begins_with(query.group_by, query.order_by))
      return std::nullopt;
    if (!groups && query.distinct) return query.order_by == nullptr ? different() : std::nullopt;
    if (order == nullptr) return in_any_order(ServerWay::Gives::Rows);
    const ORDER* const direction = query.order_by != nullptr ? query.order_by : query.group_by;
    return in_order(order, direction, groups);
  }

 private:
  std::optional<ServerWay> different() { return in_any_order(ServerWay::Gives::Different); }

  /// From the table on from which the server expects to read the least.
  std::optional<ServerWay> in_any_order(ServerWay::Gives gives) {
    std::optional<ServerWay> best;
    double least = std::numeric_limits<double>::infinity();
    for (const SourceTables::Source& source : all_) {
      if (source.may_be_missing) continue;
      ServerWay way{.gives = gives};
      way.steps.push_back({.table = source.table,
                           .rows = rows_of(*source.table),
                           .each = left_out_row + given_row * block_rows_.share_of(*source.table)});
      const auto expected = look_up_others(way);
      if (!expected || *expected >= least) continue;
      least = *expected;
      best = std::move(way);
    }
    return best;
  }

  std::optional<ServerWay> in_order(const ORDER* order, const ORDER* direction, bool groups) {
    const ORDER* first = order;
    while (first != nullptr && (*first->item)->const_item()) first = first->next;
    if (first == nullptr) return std::nullopt;
    const auto source = block_.sources.only_one_of(**first->item);
    if (!source || all_[*source].may_be_missing) return std::nullopt;
    const TABLE& table = *all_[*source].table;
    const std::vector<const Field*> constants = constants_of(table);
    std::optional<ServerWay> best;
    double least = std::numeric_limits<double>::infinity();
    for (uint index = 0; index < table.s->keys; ++index) {
      if (!table.keys_in_use_for_query.is_set(index)) continue;
      // What is grouped by an index may be shown in its reversed order.
      if (!IndexOrder(table, index, constants).has(order) ||
          !IndexOrder(table, index, constants).has(direction))
        continue;
      const double rows =
          entries_within(table, all_[*source].readers, index, leaf_of(block_.tree, *source).pushed);
      const double cost = rows * cost_of_row(table, index);
      if (cost >= least) continue;
      least = cost;
      best.emplace();
      best->steps.push_back({.table = &table, .rows = rows, .each = cost_of_row(table, index)});
    }
    if (!best || !look_up_others(*best)) return std::nullopt;
    best->gives = groups ? ServerWay::Gives::Groups : ServerWay::Gives::Rows;
    return best;
  }

  std::vector<const Field*> constants_of(const TABLE& table) const {
    std::vector<const Field*> constants;
    for (Item* const condition : block_.conditions) {
      each_conjunct(*condition, [&](Item& part) {
        const Field* const field = found_by_constant(part);
        if (field != nullptr && field->table == &table) constants.push_back(field);
      });
    }
    return constants;
  }

  /// From the tables that the way has, by equalities and indexes, the one with the fewest rows next. What
  /// that costs as far as the server knows, which takes conditions on other columns than those of indexes to
  /// be true of all rows; nothing: no index leads to some table.
  std::optional<double> look_up_others(ServerWay& way) {
    double rows = way.steps.front().rows, expected = rows * given_row;
    while (way.steps.size() < all_.size()) {
      std::optional<ServerWay::Step> next;
      for (const auto& [one, other] : equal_columns()) {
        if (!has_step(way, *one->table) || has_step(way, *other->table)) continue;
        const auto for_value = rows_for_value(*other);
        if (!for_value || (next && *for_value >= next->rows)) continue;
        next = {.table = other->table, .rows = *for_value, .search = key_lookup, .each = further_row};
      }
      if (!next) return std::nullopt;
      expected += rows * (key_lookup + further_row * next->rows);
      rows *= next->rows;
      way.steps.push_back(*next);
    }
    return expected;
  }

  static bool has_step(const ServerWay& way, const TABLE& table) {
    return std::ranges::find(way.steps, &table, &ServerWay::Step::table) != way.steps.end();
  }

  /// Columns that a row of the second one's table is looked up by, both ways.
  const std::vector<std::pair<const Field*, const Field*>>& equal_columns() {
    if (!equal_columns_) {
      equal_columns_.emplace();
      for (Item* const condition : block_.conditions) {
        const auto fields = equal_fields(*condition);
        if (!fields) continue;
        equal_columns_->push_back(*fields);
        equal_columns_->emplace_back(fields->second, fields->first);
      }
    }
    return *equal_columns_;
  }
  std::optional<std::pair<const Field*, const Field*>> equal_fields(Item& condition) const {
    Item& real = *condition.real_item();
    if (real.type() != Item::FUNC_ITEM || static_cast<Item_func&>(real).functype() != Item_func::EQ_FUNC)
      return std::nullopt;
    Item** const sides = static_cast<Item_func&>(real).arguments();
    Item &one = *sides[0]->real_item(), &other = *sides[1]->real_item();
    if (one.type() != Item::FIELD_ITEM || other.type() != Item::FIELD_ITEM) return std::nullopt;
    const Field *const first = static_cast<Item_field&>(one).field, *const second =
                                                                        static_cast<Item_field&>(other).field;
    const auto of_first = block_.sources.number_of(*first), of_second = block_.sources.number_of(*second);
    if (!of_first || !of_second || *of_first == *of_second || first->cmp_type() != second->cmp_type())
      return std::nullopt;
    return std::pair(first, second);
  }

  const LimitedBlock& block_;
  const BlockRows& block_rows_;
  const std::span<const SourceTables::Source> all_;
  std::optional<std::vector<std::pair<const Field*, const Field*>>> equal_columns_;
};

class Plan {
 public:
  Plan(const JOIN& join, const BlockRows& rows) : join_(join), rows_(rows) {}

  std::optional<ServerWay> way() const {
    ServerWay way;
    const auto gives = what_it_gives();
    if (!gives) return std::nullopt;
    way.gives = *gives;
    JOIN_TAB* const first = join_.join_tab + join_.const_tables;
    JOIN_TAB* const end = join_.join_tab + join_.top_join_tab_count;
    for (JOIN_TAB* tab = first; tab != end; ++tab) {
      // Rows are collected before they are joined; or a subquery's are, before they are looked up.
      if (tab->use_join_cache || tab->bush_children != nullptr || rows_.of_table(*tab->table) == nullptr)
        return std::nullopt;
      way.steps.push_back(step(*tab));
    }
    return way;
  }

 private:
  /// Nothing: it gives nothing before it has read all.
  std::optional<ServerWay::Gives> what_it_gives() const {
    using Gives = ServerWay::Gives;
    if (join_.implicit_grouping || join_.rollup.state != ROLLUP::STATE_NONE) return std::nullopt;
    if (join_.group_list != nullptr) {
      const bool along_index = join_.ordered_index_usage == JOIN::ordered_index_group_by ||
                               join_.join_tab[join_.const_tables].is_using_loose_index_scan();
      return along_index && !join_.need_tmp && !join_.select_distinct ? std::optional(Gives::Groups)
                                                                      : std::nullopt;
    }
    if (join_.select_distinct || join_.group_optimized_away)
      return join_.order == nullptr || join_.skip_sort_order ? std::optional(Gives::Different) : std::nullopt;
    const bool sorts = join_.order != nullptr && join_.ordered_index_usage != JOIN::ordered_index_order_by;
    return join_.need_tmp || sorts ? std::nullopt : std::optional(Gives::Rows);
  }

  ServerWay::Step step(JOIN_TAB& tab) const {
    const TABLE& table = *tab.table;
    const SQL_SELECT* const select = tab.get_sql_select();
    const QUICK_SELECT_I* const range =
        tab.quick != nullptr ? tab.quick : (select != nullptr ? select->quick : nullptr);
    switch (tab.type) {
      case JT_EQ_REF:
      case JT_CONST:
        return {.table = &table, .rows = 1, .search = key_lookup, .each = 0};
      case JT_REF:
      case JT_REF_OR_NULL: {
        const KEY& key = table.key_info[tab.ref.key];
        const uint parts = tab.ref.key_parts;
        const double rows = parts == 0 ? 1 : std::max(1.0, key.actual_rec_per_key(parts - 1));
        return {.table = &table, .rows = rows, .search = key_lookup, .each = further_row};
      }
      case JT_NEXT:
        return {.table = &table, .rows = rows_of(table), .each = cost_of_row(table, tab.index)};
      default:
        break;
    }
    if (range != nullptr) {
      const bool one_index = range->index < table.s->keys;
      return {.table = &table,
              .rows = static_cast<double>(range->records),
              .search = key_lookup,
              .each = one_index ? cost_of_row(table, range->index) : row_by_index};
    }
    return {
        .table = &table, .rows = rows_of(table), .each = left_out_row + given_row * rows_.share_of(table)};
  }

  const JOIN& join_;
  const BlockRows& rows_;
};

}  // namespace

BlockRows BlockRows::of(const SourceTables& sources, const JoinNode& tree) {
  BlockRows rows{.tables = {}, .all = std::max(1.0, tree.rows)};
  for (size_t i = 0; i < sources.all().size(); ++i) {
    const SourceTables::Source& source = sources.all()[i];
    rows.tables.push_back({.table = source.table,
                           .share = leaf_of(tree, i).rows / rows_of(*source.table),
                           .may_be_missing = source.may_be_missing});
  }
  return rows;
}

const BlockRows::OfTable* BlockRows::of_table(const TABLE& table) const {
  const auto found = std::ranges::find(tables, &table, &OfTable::table);
  return found == tables.end() ? nullptr : &*found;
}

double BlockRows::share_of(const TABLE& table) const {
  const OfTable* const found = of_table(table);
  return found == nullptr ? 1 : found->share;
}

std::optional<ServerWay> planned_way(const JOIN& join, const BlockRows& rows) {
  return Plan(join, rows).way();
}

std::optional<ServerWay> expected_way(const LimitedBlock& block, const BlockRows& rows) {
  return Expectation(block, rows).way();
}

}  // namespace hailstone
