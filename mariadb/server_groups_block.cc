#include "server_groups_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "evaluated_items.h"
#include "group_table.h"
#include "item_parts.h"
#include "mean_digits.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// Whether the server's aggregate may be given the rows of a group in any order, and has no side effects.
bool is_pure(Item_sum& aggregate) {
  switch (aggregate.sum_func()) {
    case Item_sum::COUNT_FUNC:
    case Item_sum::COUNT_DISTINCT_FUNC:
    case Item_sum::SUM_FUNC:
    case Item_sum::SUM_DISTINCT_FUNC:
    case Item_sum::AVG_FUNC:
    case Item_sum::AVG_DISTINCT_FUNC:
    case Item_sum::MIN_FUNC:
    case Item_sum::MAX_FUNC:
    case Item_sum::STD_FUNC:
    case Item_sum::VARIANCE_FUNC:
    case Item_sum::SUM_BIT_FUNC:
    case Item_sum::GROUP_CONCAT_FUNC:
    case Item_sum::JSON_ARRAYAGG_FUNC:
    case Item_sum::JSON_OBJECTAGG_FUNC:
      return !aggregate.is_window_func_sum_expr();
    default:
      return false;
  }
}

class ServerGroupsTranslator {
 public:
  ServerGroupsTranslator(THD& thd, const BlockStatement& statement)
      : thd_(thd),
        statement_(statement),
        query_(statement.query),
        block_(statement.sources),
        rows_(thd, block_),
        makes_more_of_aggregates_(query_.having != nullptr) {}

  std::expected<ServerGroupsBlock, Declined> translate() {
    const auto declined = [](SelectOutcome reason, Item* item) {
      return std::unexpected(Declined{reason, item});
    };
    // The groups come in the order that is wanted, as far as that is of the groups alone.
    const ORDER* const wanted = query_.group_by != nullptr ? query_.order_by : nullptr;
    for (const ORDER* order = wanted; order != nullptr; order = order->next) {
      Item& item = **order->item;
      if (!item.const_item() && !is_listed(query_.group_by, item))
        return declined(SelectOutcome::Order, &item);
      if (!add_key(*order)) return declined(SelectOutcome::Order, &item);
    }
    for (const ORDER* group = query_.group_by; group != nullptr; group = group->next) {
      if (!add_key(*group)) return declined(SelectOutcome::Groups, *group->item);
    }
    block_.is_one_group = query_.group_by == nullptr;
    List_iterator_fast<Item> items(*query_.select);
    for (Item* item = items++; item != nullptr; item = items++, ++place_) {
      if (!add(*item)) {
        const bool aggregate = item->type() == Item::SUM_FUNC_ITEM;
        return declined(aggregate ? SelectOutcome::Aggregates : SelectOutcome::Columns, item);
      }
    }
    // The server sorts groups by way of a table, which has fewer digits of a mean than there are.
    if (statement_.select.join->order != nullptr && has_mean_ && makes_more_of_aggregates_)
      return declined(SelectOutcome::Means, nullptr);
    if (query_.having != nullptr && !may_be_asked_of_groups(*query_.having))
      return declined(SelectOutcome::Condition, query_.having);
    if (Item* const part = rows_.take_conditions(statement_)) return declined(SelectOutcome::Condition, part);
    block_.by_table =
        groups_by_table(thd_, statement_) && !has_index_of_groups(block_.columns, fields_of_keys());
    if (names_by_plan_ != nullptr && block_.by_table &&
        ((makes_more_of_aggregates_ && may_use_index()) || is_told_by_server()))
      return declined(SelectOutcome::Aggregates, names_by_plan_);
    return std::move(block_);
  }

 private:
  bool add_key(const ORDER& order) {
    Item& item = **order.item;
    if (item.const_item()) return has_silent_constants(thd_, item);
    // As the server stores it in a group's row, two values may become one.
    if (item.real_item()->type() != Item::FIELD_ITEM && is_rounded_when_stored(item)) return false;
    const auto by = rows_.sortable(item);
    if (!by) return false;
    const auto same = [&](const ServerGroupsBlock::Key& key) {
      return key.by.computed == by->computed && key.by.number == by->number;
    };
    if (std::ranges::any_of(block_.keys, same)) return true;
    block_.keys.push_back({.by = *by,
                           .descending = order.direction == ORDER::ORDER_DESC,
                           .nullable = by->computed || block_.join_may_miss(*by) || item.maybe_null()});
    return true;
  }

  bool add(Item& item) {
    if (is_buffered(statement_.select) && is_cut_by_table(item)) return false;
    if (item.type() == Item::SUM_FUNC_ITEM) return add_aggregate(static_cast<Item_sum&>(item));
    if (item.real_item()->type() == Item::SUM_FUNC_ITEM) return false;
    // The server makes it of the aggregates and columns in it, which are items of their own.
    if (item.with_sum_func()) {
      makes_more_of_aggregates_ = true;
      return may_be_asked_of_groups(item);
    }
    if (item.const_item()) return is_lasting_constant(item);
    const bool is_key = is_listed(query_.group_by, item);
    // Its column here cuts it, as some of the server's plans do.
    if (!is_key && may_outgrow_type(item)) return false;
    block_.shown.push_back({.place = place_, .item = &item, .is_key = is_key});
    return reads(item);
  }

  /// Whether the server may evaluate the item over a group.
  bool may_be_asked_of_groups(Item& item) const {
    return is_made_of_groups(item, *statement_.select.join) &&
           (block_.is_one_group || !shows_truth_of_groups(item)) && !may_name_rows(item);
  }

  bool add_aggregate(Item_sum& aggregate) {
    if (!is_pure(aggregate) || aggregate.const_item()) return false;
    // Some of the server's plans store groups, and so cut what is no mean, or give it the form of a column.
    if (!block_.is_one_group && is_changed_by_table(aggregate)) return false;
    for (uint i = 0; i < aggregate.get_arg_count(); ++i) {
      Item& argument = *aggregate.get_arg(i);
      if (!is_lasting_constant(argument) && !reads(argument)) return false;
    }
    has_mean_ |=
        dynamic_cast<Item_sum_avg*>(&aggregate) != nullptr && aggregate.result_type() == DECIMAL_RESULT;
    if (is_extreme(aggregate)) {
      const auto type = aggregate.get_arg(0)->real_type_handler()->real_field_type();
      if (type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET) names_by_plan_ = &aggregate;
    }
    block_.aggregates.push_back({.place = place_, .aggregate = &aggregate});
    return true;
  }

  /// Null: a key is computed.
  std::vector<const Field*> fields_of_keys() const {
    std::vector<const Field*> fields;
    for (const ServerGroupsBlock::Key& key : block_.keys)
      fields.push_back(key.by.computed ? nullptr : &block_.columns.field_at(key.by.number));
    return fields;
  }

  /// Whether the server tells the client of the block's columns: of its aggregates, and not of its table.
  bool is_told_by_server() const {
    SELECT_LEX& select = statement_.select;
    return !statement_.whole && select.outer_select() == nullptr && !select.master_unit()->is_unit_op();
  }

  /// Whether the server may read the rows of each group together by an index, and so needs no table.
  bool may_use_index() const {
    const auto first = block_.columns.field_of(**query_.group_by->item);
    return first && has_index(*(*first)->table, **query_.group_by->item);
  }

  static bool is_changed_by_table(Item_sum& aggregate) {
    switch (aggregate.sum_func()) {
      case Item_sum::MIN_FUNC:
      case Item_sum::MAX_FUNC:
        return may_outgrow_type(*aggregate.get_arg(0)) || has_form_of_column(aggregate);
      case Item_sum::AVG_FUNC:
      case Item_sum::AVG_DISTINCT_FUNC:
        if (mean_may_lack_digits(*aggregate.get_arg(0), aggregate)) return true;
        [[fallthrough]];
      case Item_sum::SUM_FUNC:
      case Item_sum::SUM_DISTINCT_FUNC:
        return sum_may_outgrow_type(*aggregate.get_arg(0)) || has_hidden_digits(*aggregate.get_arg(0));
      default:
        return false;
    }
  }

  /// The server evaluates the item: its columns have to be there.
  bool reads(Item& item) {
    if (!rows_.can_be_evaluated(item)) return false;
    for (const Item_field* const column : columns_read_by(item)) {
      const Field* const field = column->field;
      block_.columns.position_in_record(*field);
      if (std::ranges::find(block_.read, field) == block_.read.end()) block_.read.push_back(field);
    }
    return true;
  }

  THD& thd_;
  const BlockStatement& statement_;
  const Query& query_;
  ServerGroupsBlock block_;
  RowTranslator rows_;
  size_t place_ = 0;  // of the item at hand
  bool has_mean_ = false;
  /// An extreme of ENUM or SET: a column of a table has their numbers, too, and the aggregate only the names.
  Item* names_by_plan_ = nullptr;
  bool makes_more_of_aggregates_;
};

}  // namespace

OperatorPlan ServerGroupsBlock::plan() const {
  OperatorPlan plan = row_plan();
  const uint64_t rows = plan.back().rows;
  if (collects_rows()) {
    plan.push_back({.kind = Operator::Sort,
                    .what = fmt::format("order: {}; all rows, with {} columns", keys.size(), read.size()),
                    .rows = rows});
  }
  plan.push_back(
      {.kind = Operator::Group,
       .what = fmt::format("keys: {}; aggregates: {}, by the server", keys.size(), aggregates.size()),
       .rows = keys.empty() ? 1 : rows});
  std::ranges::reverse(plan);
  return plan;
}

std::expected<ServerGroupsBlock, Declined> make_server_groups_block(THD& thd,
                                                                    const BlockStatement& statement) {
  return ServerGroupsTranslator(thd, statement).translate();
}

}  // namespace hailstone
