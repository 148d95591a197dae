#include "group_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "collation.h"
#include "evaluated_items.h"
#include "expression/exact_numbers.h"
#include "group_aggregates.h"
#include "group_estimate.h"
#include "group_table.h"
#include "item_parts.h"
#include "pushdown_warnings.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// Whether the item may depend on a mean.
bool mentions_mean(Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return false;
  if (real.type() == Item::SUM_FUNC_ITEM) return dynamic_cast<Item_sum_avg*>(&real) != nullptr;
  if (real.type() != Item::COND_ITEM && real.type() != Item::FUNC_ITEM) return true;
  return any_part(real, mentions_mean);
}

/// So many first groups are kept while all are gone through; with a greater limit all are.
constexpr ulonglong most_first_groups = 100'000;
/// The engine rounds means to so many digits more than their sums have.
constexpr uint most_digits_of_mean = 8;

/// Makes a GroupBlock of the server's description, or finds that it cannot.
class GroupTranslator {
 public:
  GroupTranslator(THD& thd, const BlockStatement& statement)
      : thd_(thd),
        statement_(statement),
        query_(statement.query),
        select_(statement.select),
        whole_(statement.whole),
        distinct_rows_(query_.distinct && query_.group_by == nullptr && !select_.join->implicit_grouping),
        block_(statement.sources),
        rows_(thd, block_),
        aggregates_(block_, rows_, query_.order_by) {}

  std::expected<GroupBlock, Declined> translate() {
    if (!is_of_known_form()) return declined(SelectOutcome::Statement, nullptr);
    // The server has taken constants from its list of keys, and evaluates them all the same.
    for (const ORDER* order = select_.group_list.first; order != nullptr; order = order->next) {
      if ((*order->item)->const_item() && !has_silent_constants(thd_, **order->item))
        return declined(SelectOutcome::Groups, *order->item);
    }
    block_.rolls_up = select_.olap == ROLLUP_TYPE;
    for (const ORDER* order = query_.group_by; order != nullptr; order = order->next) {
      if (follows_from_keys(**order->item)) {
        followers_.push_back(*order->item);
        continue;
      }
      const size_t keys = block_.keys.size();
      if (!add_key(**order->item) || block_.keys.size() > GroupingPlan::most_keys ||
          (block_.rolls_up && (block_.keys.size() == keys || loses_zeros(**order->item))))
        return declined(SelectOutcome::Groups, *order->item);
    }
    if (distinct_rows_) {
      if (Item* const item = add_shown_as_keys()) return declined(SelectOutcome::Groups, item);
      // Of constants alone there is one row, or none.
      if (block_.keys.empty()) return declined(SelectOutcome::Statement, nullptr);
    }
    block_.by_table = groups_by_table(thd_, statement_);
    aggregates_.set_hidden_digits(hidden_digits());
    List_iterator_fast<Item> items(*query_.select);
    for (Item* item = items++; item != nullptr; item = items++, ++place_) {
      if (!add(*item)) {
        const bool aggregate = item->real_item()->type() == Item::SUM_FUNC_ITEM;
        return declined(aggregate ? SelectOutcome::Aggregates : SelectOutcome::Columns, item);
      }
    }
    for (const RowExpression& expression : block_.computed) {
      if (expression.kind == ServerValue::Image && expression.output == RowExpression::none)
        return declined(SelectOutcome::Groups, expression.item);
    }
    if (query_.having != nullptr && !may_be_asked_of_groups(*query_.having))
      return declined(SelectOutcome::Condition, query_.having);
    block_.groups = block_.keys.empty() ? 1 : most_groups(block_);
    if (!block_.keys.empty()) {
      for (const ORDER* order = query_.order_by; order != nullptr; order = order->next) {
        if (std::ranges::find(followers_, *order->item) != followers_.end()) continue;
        if (!add_order(*order)) return declined(SelectOutcome::Order, *order->item);
      }
      if (!take_limit()) return declined(SelectOutcome::Statement, nullptr);
    }
    const bool is_more_than_shown =
        (has_mean() && !keeps_digits_of_means()) || aggregates_.sums_hidden_digits();
    if (is_more_than_shown && (makes_more_of_aggregates_ || !rounds_means()))
      return declined(SelectOutcome::Means, nullptr);
    // Rows of joins have no places at which the rest of them could be read.
    if (block_.reads_rows && statement_.sources->is_join()) return declined(SelectOutcome::Columns, nullptr);
    if (block_.merges_levels()) block_.evaluations = static_cast<unsigned>(block_.keys.size()) + 1;
    block_.is_read_again = block_.rolls_up && !block_.merges_levels();
    if (Item* const part = rows_.take_conditions(statement_)) return declined(SelectOutcome::Condition, part);
    const bool is_distinct = query_.group_by == nullptr && query_.distinct;
    block_.sends_table = (block_.by_table || is_distinct) && !block_.groups_are_rows() &&
                         !has_index_of_groups(block_.columns, fields_of_keys());
    return std::move(block_);
  }

 private:
  bool is_of_known_form() const {
    if (!is_plain_statement(thd_, select_) || (query_.distinct && !distinct_rows_ && !is_distinct_anyway()))
      return false;
    if (select_.olap != UNSPECIFIED_OLAP_TYPE && !(whole_ && select_.olap == ROLLUP_TYPE)) return false;
    // Read again and again by others, which change what it depends on.
    if ((select_.uncacheable & UNCACHEABLE_DEPENDENT) != 0) return false;
    // HAVING chooses among rows that differ where groups have one that stands for all.
    if (distinct_rows_) return query_.having == nullptr && select_.olap == UNSPECIFIED_OLAP_TYPE;
    if (query_.group_by != nullptr) return true;
    // A change may warn of rows, by their numbers among those that the server has read: for one group of all
    // rows that is their number, for several it is whatever the plan makes of it.
    if (thd_.lex->sql_command != SQLCOM_SELECT) return false;
    // GROUP BY of what the condition makes a constant: one group, or none.
    if (select_.group_list.elements != 0) return false;
    // The one row of a part may be missing: what FOUND_ROWS() then is depends on the server's plan.
    const bool has_row = query_.having == nullptr && query_.limit->get_offset_limit() == 0;
    return query_.limit->get_select_limit() != 0 && (whole_ || has_row || !is_sent());
  }

  /// Whether the block's rows go to the client.
  bool is_sent() const {
    return select_.outer_select() == nullptr && select_.next_select() == nullptr &&
           !select_.master_unit()->is_unit_op();
  }

  /// Whether no two groups are shown alike: all that they are made of is shown.
  bool is_distinct_anyway() const {
    const JOIN& join = *select_.join;
    return !join.group_optimized_away && !join.hidden_group_fields && select_.olap == UNSPECIFIED_OLAP_TYPE;
  }

  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item) {
    return std::unexpected(Declined{reason, item});
  }

  bool add_key(Item& item) {
    if (const auto field = block_.columns.field_of(item)) {
      if (!can_be_key(*field)) return false;
      if (!block_.key_of(**field)) block_.keys.push_back(rows_.comparable(*field));
      return true;
    }
    if (item.const_item() || !can_be_stored(item)) return false;
    if (is_rounded_when_stored(item) && may_group_sorted_rows(statement_)) return false;
    const auto key = rows_.compute(item, ServerValue::Image);
    if (key) block_.keys.push_back(*key);
    return key.has_value();
  }

  /// Whether the server shows an extreme as a number where it takes it of its aggregate, and else with the
  /// form of a table's column. Of one group it does the former.
  bool is_shown_by_plan(Item& sum) const {
    if (!is_extreme(sum) || !has_form_of_column(sum)) return false;
    // Of one group, fields without ZEROFILL take the numbers; a YEAR has no such field.
    return query_.group_by != nullptr || sum.type_handler()->real_field_type() == MYSQL_TYPE_YEAR;
  }

  /// Whether the server shows an extreme as it is where it reads groups by an index, and else as a table's
  /// column has it.
  bool is_cut_by_plan(Item& sum) const {
    if (!block_.by_table || !is_extreme(sum)) return false;
    Item& argument = *static_cast<Item_sum&>(sum).get_arg(0);
    if (!is_rounded_when_stored(argument) || block_.columns.field_of(argument)) return false;
    const auto first = block_.columns.field_of(**query_.group_by->item);
    return first && has_index(*(*first)->table, **query_.group_by->item);
  }

  /// Whether the item is computed of keys before it, and so parts no groups of theirs, nor changes their
  /// order: it is computed of the groups that are shown. It can neither warn nor fail, whatever row it is
  /// computed of.
  bool follows_from_keys(Item& item) const {
    const bool comes_by_keys = query_.order_by == query_.group_by || !is_listed(query_.order_by, item);
    // A constant follows from any key, but without one there would be a group of no rows.
    if (block_.keys.empty() || block_.rolls_up || !comes_by_keys) return false;
    return item.real_item()->type() == Item::FUNC_ITEM && is_small_number(item) && !may_warn(thd_, item) &&
           is_function_of_row(item, block_.columns.sources()) && !may_name_rows(item);
  }
  /// A whole number of keys that has room in 64 bits with a sign, as all that it is made of.
  bool is_small_number(Item& item) const {
    constexpr uint most_digits = 18;
    if (item.cmp_type() != INT_RESULT || item.unsigned_flag || item.decimal_precision() > most_digits)
      return false;
    if (item.const_item()) return true;
    if (const auto field = block_.columns.field_of(item)) return block_.key_of(**field).has_value();
    return item.real_item()->type() == Item::FUNC_ITEM &&
           !any_part(*item.real_item(), [this](Item& part) { return !is_small_number(part); });
  }

  /// An index may have the rows of each group together: then the server needs no table.
  AggregateTranslator::HiddenDigits hidden_digits() const {
    using enum AggregateTranslator::HiddenDigits;
    if (block_.rolls_up || distinct_rows_) return Unsure;
    if (!block_.by_table) return Summed;
    const auto first = block_.columns.field_of(**query_.group_by->item);
    return first && has_index(*(*first)->table, **query_.group_by->item) ? Unsure : Rounded;
  }

  /// DISTINCT makes groups of equal rows. The item that is in the way; null: none is.
  Item* add_shown_as_keys() {
    List_iterator_fast<Item> items(*query_.select);
    for (int hidden = query_.n_aux; hidden > 0; --hidden) items++;
    while (Item* const item = items++) {
      if (!item->const_item() && (!add_key(*item) || block_.keys.size() > GroupingPlan::most_keys))
        return item;
    }
    return nullptr;
  }

  /// Null: a key is computed.
  std::vector<const Field*> fields_of_keys() const {
    std::vector<const Field*> fields;
    for (const RowColumn& key : block_.keys)
      fields.push_back(key.computed ? nullptr : &block_.columns.field_at(key.number));
    return fields;
  }

  /// The number of the key that an item is.
  std::optional<size_t> key_of(Item& item) {
    if (const auto field = block_.columns.field_of(item)) return block_.key_of(**field);
    for (size_t i = 0; i < block_.keys.size(); ++i) {
      const RowColumn& key = block_.keys[i];
      if (!key.computed) continue;
      Item& expression = *block_.computed[key.number].item;
      if (expression.real_item() == item.real_item() || expression.eq(&item, true)) return i;
    }
    return std::nullopt;
  }

  bool add(Item& item) {
    Item& real = *item.real_item();
    if (is_buffered(select_) && is_cut_by_table(item)) return false;
    if (real.type() == Item::SUM_FUNC_ITEM)
      return !real.const_item() && !is_asked_for_rows(item) && !is_shown_by_plan(real) &&
             !is_cut_by_plan(real) && aggregates_.add(item, place_);
    if (item.with_sum_func()) {
      // The server makes it of the aggregates in it, which are items of their own.
      makes_more_of_aggregates_ = true;
      return may_be_asked_of_groups(item);
    }
    if (item.const_item()) {
      block_.outputs.push_back({.place = place_, .item = &item, .source = GroupOutput::Source::Constant});
      return is_lasting_constant(item);
    }
    const auto key = key_of(item);
    // Of what is rolled up, only what is the group itself becomes NULL. The server's table has no room for
    // that where a view's column is NOT NULL.
    if (block_.rolls_up &&
        !(key && is_group(item) && (item.type() != Item::REF_ITEM || item.real_item()->maybe_null())))
      return false;
    if (!key) return add_of_row(item);
    if (block_.keys[*key].computed) block_.computed[block_.keys[*key].number].output = block_.outputs.size();
    block_.outputs.push_back(
        {.place = place_, .item = &item, .source = GroupOutput::Source::Key, .number = *key});
    return true;
  }

  /// Whether the server may evaluate the item over a group.
  bool may_be_asked_of_groups(Item& item) const {
    return is_made_of_groups(item, *select_.join) && !shows_truth_of_groups(item) && !may_name_rows(item) &&
           !reads_changed_type(item);
  }

  /// ROLLUP needs NULLs of its keys. Of a column that is NOT NULL the statement's table therefore has another
  /// one, by the type of its values: without the zeros that fill numbers up, and of ENUM and SET the text.
  const Field* replaced_field(Item& item) const {
    const Field* const field = block_.columns.stored_field_of(item);
    return block_.rolls_up && field != nullptr && !field->maybe_null() ? field : nullptr;
  }
  bool loses_zeros(Item& item) const {
    const Field* const field = replaced_field(item);
    return field != nullptr && (field->flags & ZEROFILL_FLAG) != 0;
  }
  /// Whether the item may read the number of an ENUM or SET of which there is only the text.
  bool reads_changed_type(Item& item) const {
    return std::ranges::any_of(columns_read_by(item), [&](Item_field* column) {
      const Field* const field = replaced_field(*column);
      return field != nullptr &&
             (field->real_type() == MYSQL_TYPE_ENUM || field->real_type() == MYSQL_TYPE_SET);
    });
  }

  /// Of an extreme that the server has put in the place of what ALL or ANY compares with: these ask the
  /// server's own aggregate whether there were rows. Such an item has no name.
  bool is_asked_for_rows(const Item& item) const {
    return !whole_ && query_.group_by == nullptr && query_.select->elements == 1 && item.name.str == nullptr;
  }

  bool is_group(const Item& item) const {
    for (const ORDER* group = query_.group_by; group != nullptr; group = group->next) {
      if (*group->item == &item) return true;
    }
    return false;
  }

  /// Something else of the group's rows: a function of its keys, or of whatever row of it.
  bool add_of_row(Item& item) {
    if (!is_function_of_row(item, block_.columns.sources()) || may_name_rows(item)) return false;
    // Its column here cuts it, as some of the server's plans do.
    if (may_outgrow_type(item)) return false;
    for (Item_field* const column : columns_read_by(item)) {
      const Field* const field = block_.columns.stored_field_of(*column);
      if (field == nullptr) return false;
      const auto plain = PlainField::of(*field);
      if (plain && !block_.key_of(*field) && statement_.sources->is_join() && is_told_by_keys(*plain))
        block_.keys.push_back(rows_.comparable(*plain));
      block_.reads_rows = block_.reads_rows || !block_.key_of(*field);
      if (std::ranges::find(block_.shown, field) == block_.shown.end()) block_.shown.push_back(field);
    }
    block_.outputs.push_back({.place = place_, .item = &item, .source = GroupOutput::Source::Row});
    return true;
  }

  /// Whether all rows of a group have the same value of a column, as they have the same row of its table: one
  /// of its unique keys is among what they are grouped by. Then it may be a key itself.
  bool is_told_by_keys(PlainField field) const {
    if (!can_be_key(field) || block_.rolls_up || block_.keys.size() == GroupingPlan::most_keys) return false;
    const TABLE& table = *field->table;
    for (uint i = 0; i < table.s->keys; ++i) {
      const KEY& key = table.key_info[i];
      if ((key.flags & HA_NOSAME) == 0 || (key.flags & HA_NULL_PART_KEY) != 0) continue;
      const std::span<const KEY_PART_INFO> parts(key.key_part, key.user_defined_key_parts);
      const bool grouped = std::ranges::all_of(parts, [&](const KEY_PART_INFO& part) {
        const Field& whole = *table.field[part.fieldnr - 1];
        return (part.key_part_flag & HA_PART_KEY_SEG) == 0 && block_.key_of(whole).has_value();
      });
      if (grouped) return true;
    }
    return false;
  }

  /// The engine sorts: what it left to the server would go to a temporary table, which the server neither
  /// sorts nor can put on disk when it has grown.
  bool add_order(const ORDER& order) {
    Item& item = **order.item;
    if (item.const_item()) return has_silent_constants(thd_, item);
    if (!sorts_as_it_compares(item)) return false;
    const auto by = order_of(item);
    if (!by) return false;
    block_.order.push_back(*by);
    block_.order.back().descending = order.direction == ORDER::ORDER_DESC;
    return true;
  }

  /// The server stops behind the limit by itself. That of a part of a union is told later.
  bool take_limit() {
    const ulonglong most = query_.limit->get_select_limit();
    if (most == 0 || query_.limit->is_with_ties()) return false;
    if (query_.having == nullptr && (select_.options & OPTION_FOUND_ROWS) == 0 &&
        !select_.master_unit()->is_unit_op() && most < most_first_groups && !block_.rolls_up) {
      block_.most = most;
    }
    return true;
  }

  std::optional<GroupOrder> order_of(Item& item) {
    Item* const real = item.real_item();
    for (const GroupOutput& output : block_.outputs) {
      if (output.source != GroupOutput::Source::Aggregate || output.item->real_item() != real) continue;
      if (output.variance != nullptr) return host_order_of(item);
      // By what has been stored: a day that does not exist may have become the zero of dates.
      const RowColumn& of = block_.aggregates[output.number].of;
      if (of.computed && block_.computed[of.number].kind == ServerValue::ShownMoment)
        return host_order_of(item);
      if (aggregates_.sums_hidden_digits()) return std::nullopt;
      GroupOrder order{.by = GroupOrder::By::Aggregate, .number = output.number};
      if (output.mean != nullptr) {
        // As it is rounded in the server's field.
        const uint digits = output.mean->result_type() == REAL_RESULT
                                ? 0
                                : output.mean->decimals - decimals_of(*output.mean->get_arg(0));
        if (digits > most_digits_of_mean || has_huge_sum(*output.mean->get_arg(0))) return std::nullopt;
        // The server divides as far as to the next multiple of nine digits, and then rounds what there is.
        order.mean = {.digits = digits, .is_cut = output.mean->decimals % digits_of_word == 0};
      }
      return order;
    }
    if (const auto key = key_of(item)) return GroupOrder{.number = *key};
    return host_order_of(item);
  }

  /// By what the server makes of each group.
  std::optional<GroupOrder> host_order_of(Item& item) {
    // Of a part it is the server that asks it, later.
    if (query_.having != nullptr && !whole_) return std::nullopt;
    block_.having = query_.having;
    const auto kind = kind_of_order(item);
    const auto type = item.real_type_handler()->real_field_type();
    // These sort by their numbers, and not as texts.
    if (!kind || type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET || type == MYSQL_TYPE_BIT)
      return std::nullopt;
    List_iterator_fast<Item> items(*query_.select);
    Item* each = items++;
    size_t place = 0;
    for (; each != nullptr && each != &item; each = items++) ++place;
    if (each == nullptr) return std::nullopt;
    block_.host_order.push_back({.place = place, .kind = *kind});
    return GroupOrder{.by = GroupOrder::By::Host, .number = block_.host_order.size() - 1};
  }

  /// Of numbers that are exact.
  bool has_mean() const {
    return std::ranges::any_of(block_.outputs, [](const GroupOutput& output) {
      return output.mean != nullptr && output.mean->result_type() != REAL_RESULT;
    });
  }

  /// Whether what reads means gets all digits that they have, as it does in the server: groups with distinct
  /// values in another order than their own it puts into a table that rounds.
  bool keeps_digits_of_means() const {
    const bool distinct = std::ranges::any_of(
        block_.aggregates, [](const GroupBlock::Counted& counted) { return counted.wanted.distinct; });
    return !(distinct && select_.join->order != nullptr);
  }

  /// Whether means are rounded, as their fields are, before anything else is done with them: they go to the
  /// client, or into the table of a derived table, which is no UNION, whose columns may have more digits.
  bool rounds_means() const {
    SELECT_LEX_UNIT& unit = *select_.master_unit();
    const bool goes_to_table = unit.derived != nullptr && !unit.is_unit_op();
    return (goes_to_table || (sends_rows(thd_) && is_sent())) &&
           (query_.having == nullptr ||
            (!mentions_mean(*query_.having) && !aggregates_.sums_hidden_digits()));
  }

  THD& thd_;
  const BlockStatement& statement_;
  const Query& query_;
  SELECT_LEX& select_;
  const bool whole_;
  const bool distinct_rows_;  // groups are what is shown
  GroupBlock block_;
  RowTranslator rows_;
  AggregateTranslator aggregates_;
  size_t place_ = 0;  // of the item at hand
  bool makes_more_of_aggregates_ = false;
  std::vector<const Item*> followers_;  // what rows are grouped by that follows from keys
};

}  // namespace

std::optional<size_t> GroupBlock::key_of(const Field& field) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].computed && &columns.field_at(keys[i].number) == &field) return i;
  }
  return std::nullopt;
}

bool GroupBlock::groups_are_rows() const {
  if (join != nullptr || !aggregates.empty() || rolls_up) return false;
  const TABLE& table = *columns.sources().first().table;
  return std::ranges::any_of(std::span(table.key_info, table.s->keys), [&](const KEY& key) {
    if ((key.flags & HA_NOSAME) == 0 || (key.flags & HA_NULL_PART_KEY) != 0) return false;
    return std::ranges::all_of(std::span(key.key_part, key.user_defined_key_parts),
                               [&](const KEY_PART_INFO& part) { return key_of(*part.field).has_value(); });
  });
}

bool GroupBlock::merges_levels() const {
  return rolls_up && std::ranges::all_of(
                         aggregates, [](const Counted& each) { return MergedGroup::can_merge(each.wanted); });
}

OperatorPlan GroupBlock::plan() const {
  OperatorPlan plan = row_plan();
  plan.push_back({.kind = Operator::Group,
                  .what = fmt::format("keys: {}{}; aggregates: {}", keys.size(),
                                      rolls_up ? ", rolled up" : "", aggregates.size()),
                  .rows = groups,
                  .is_small = keys.empty() && std::ranges::none_of(aggregates, [](const Counted& each) {
                                return each.wanted.distinct;
                              })});
  if (!order.empty()) {
    const bool all = most == SortedGroups::all;
    plan.push_back({.kind = all ? Operator::Sort : Operator::FirstRows,
                    .what = all ? fmt::format("order: {}", order.size())
                                : fmt::format("order: {}; the first {}", order.size(), most),
                    .rows = std::min<uint64_t>(groups, most)});
  }
  std::ranges::reverse(plan);
  return plan;
}

std::expected<GroupBlock, Declined> make_group_block(THD& thd, const BlockStatement& statement) {
  return GroupTranslator(thd, statement).translate();
}

}  // namespace hailstone
