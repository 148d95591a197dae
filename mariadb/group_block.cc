#include "group_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "item_parts.h"
#include "pushdown_warnings.h"
#include "source_tables.h"
#include "statement_items.h"
#include "variables.h"

namespace hailstone {

namespace {

/// Whether the order of the stored values is that of MIN and MAX. Theirs of ENUM and SET is that of the
/// names.
bool has_extremes(const Field& field) {
  const auto type = field.real_type();
  return can_be_key(field) && type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET;
}

/// Whether a whole number may have more digits than its type has: whether the server then cuts it is up to
/// its plan. It gives DIV the digits of its first argument, also where the second is less than 1.
bool may_outgrow_type(Item& item) {
  Item& real = *item.real_item();
  if (dynamic_cast<Item_func_int_div*>(&real) != nullptr) {
    const auto& division = static_cast<Item_func&>(real);
    if (division.arguments()[0]->cmp_type() != INT_RESULT ||
        division.arguments()[1]->cmp_type() != INT_RESULT)
      return true;
  }
  return any_part(real, may_outgrow_type);
}

/// Whether values of the item, stored in a field of its type, are keys and have an order: what can_be_key()
/// is of columns.
bool can_be_stored(Item& item) {
  const Type_handler& handler = *item.type_handler();
  if (handler.type_collection() != type_handler_slong.type_collection() || may_outgrow_type(item))
    return false;
  switch (handler.real_field_type()) {
    case MYSQL_TYPE_BIT:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_GEOMETRY:
    case MYSQL_TYPE_NULL:
      return false;
    default:
      return true;
  }
}

/// Whether a DECIMAL may have digits behind those that it shows.
bool has_hidden_digits(Item& item) {
  Item& real = *item.real_item();
  if (real.type() == Item::CACHE_ITEM) {
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example == nullptr || has_hidden_digits(*example);
  }
  if (real.type() != Item::FUNC_ITEM) return false;
  if (dynamic_cast<Item_func_div*>(&real) != nullptr) return real.cmp_type() == DECIMAL_RESULT;
  return any_part(real, has_hidden_digits);
}

/// Whether the item may depend on a mean.
bool mentions_mean(Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return false;
  if (real.type() == Item::SUM_FUNC_ITEM) return dynamic_cast<Item_sum_avg*>(&real) != nullptr;
  if (real.type() != Item::COND_ITEM && real.type() != Item::FUNC_ITEM) return true;
  return any_part(real, mentions_mean);
}

/// Whether something that the server makes of groups reads columns of a row by itself, and not as groups.
bool reads_rows(Item& item) {
  switch (item.type()) {
    case Item::REF_ITEM:
      return static_cast<Item_ref&>(item).ref_type() == Item_ref::VIEW_REF;
    case Item::FUNC_ITEM:
    case Item::COND_ITEM:
      return any_part(item, reads_rows);
    case Item::SUM_FUNC_ITEM:
      return false;
    default:
      return !item.const_item();
  }
}

/// So many first groups are kept while all are gone through; with a greater limit all are.
constexpr ulonglong most_first_groups = 100'000;
constexpr uint digits_of_int = 10;
/// The engine rounds means to so many digits more than their sums have.
constexpr uint most_digits_of_mean = 8;

/// Makes a GroupBlock of the server's description, or finds that it cannot.
class GroupTranslator {
 public:
  GroupTranslator(THD& thd, const GroupStatement& statement, HailstoneHandler& reader)
      : thd_(thd),
        query_(statement.query),
        conditions_(statement.conditions),
        reader_(reader),
        select_(statement.select),
        source_(statement.table),
        whole_(statement.whole),
        block_(ScanColumns(source_, reader)),
        rows_(thd, source_, reader, block_) {}

  std::expected<GroupBlock, Declined> translate() {
    if (!is_of_known_form()) return declined(SelectOutcome::Statement, nullptr);
    block_.rolls_up = select_.olap == ROLLUP_TYPE;
    for (const ORDER* order = query_.group_by; order != nullptr; order = order->next) {
      const size_t keys = block_.keys.size();
      if (!add_key(**order->item) || block_.keys.size() > GroupingPlan::most_keys ||
          (block_.rolls_up && block_.keys.size() == keys))
        return declined(SelectOutcome::Groups, *order->item);
    }
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
    if (query_.having != nullptr && may_name_rows(*query_.having))
      return declined(SelectOutcome::Condition, query_.having);
    block_.groups = block_.keys.empty() ? 1 : most_groups();
    if (!block_.keys.empty()) {
      for (const ORDER* order = query_.order_by; order != nullptr; order = order->next) {
        if (!add_order(*order)) return declined(SelectOutcome::Order, *order->item);
      }
      if (!take_limit()) return declined(SelectOutcome::Statement, nullptr);
      if (!block_.order.empty() && block_.most == SortedGroups::all && !groups_fit())
        return declined(SelectOutcome::Memory, nullptr);
    }
    if (has_mean_ && !keeps_digits_of_means() && (makes_more_of_aggregates_ || !sends_means_as_they_are()))
      return declined(SelectOutcome::Means, nullptr);
    if (Item* const part = rows_.take_conditions(conditions_))
      return declined(SelectOutcome::Condition, part);
    return std::move(block_);
  }

 private:
  bool is_of_known_form() const {
    if (query_.distinct || !is_plain_statement(thd_, select_)) return false;
    if (select_.olap != UNSPECIFIED_OLAP_TYPE && !(whole_ && select_.olap == ROLLUP_TYPE)) return false;
    // A change may warn of rows, by their numbers among those that the server has read: for one group of all
    // rows that is their number, for several it is whatever the plan makes of it.
    if (thd_.lex->sql_command != SQLCOM_SELECT && query_.group_by == nullptr) return false;
    // GROUP BY of what the condition makes a constant: one group, or none.
    if (query_.group_by == nullptr && select_.group_list.elements != 0) return false;
    // Read again and again by others, which change what it depends on.
    if ((select_.uncacheable & UNCACHEABLE_DEPENDENT) != 0) return false;
    if (query_.group_by != nullptr) return true;
    // The one row: without it FOUND_ROWS() is the server's to say.
    return query_.order_by == nullptr && query_.having == nullptr && query_.limit->get_select_limit() != 0 &&
           query_.limit->get_offset_limit() == 0;
  }

  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item) {
    return std::unexpected(Declined{reason, item});
  }

  bool add_key(Item& item) {
    if (const auto column = rows_.column_of(item)) {
      if (!can_be_key(*block_.columns.field_of(item))) return false;
      for (const RowColumn& key : block_.keys) {
        if (!key.computed && key.number == column->number) return true;
      }
      block_.keys.push_back(*column);
      return true;
    }
    if (item.const_item() || !can_be_stored(item)) return false;
    const auto key = rows_.compute(item, ServerValue::Image);
    if (key) block_.keys.push_back(*key);
    return key.has_value();
  }

  /// The number of the key that an item is.
  std::optional<size_t> key_of(Item& item) {
    if (const Field* const field = block_.columns.field_of(item)) return block_.key_of(*field);
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
    if (real.type() == Item::SUM_FUNC_ITEM) return !real.const_item() && add_aggregate(item);
    if (item.with_sum_func()) {
      // The server makes it of the aggregates in it, which are items of their own.
      makes_more_of_aggregates_ = true;
      return !may_name_rows(item) && !(block_.rolls_up && reads_rows(item));
    }
    if (item.const_item()) {
      block_.outputs.push_back({.place = place_, .item = &item, .source = GroupOutput::Source::Constant});
      return true;
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

  bool is_group(const Item& item) const {
    for (const ORDER* group = query_.group_by; group != nullptr; group = group->next) {
      if (*group->item == &item) return true;
    }
    return false;
  }

  /// Something else of the group's rows: a function of its keys, or of whatever row of it.
  bool add_of_row(Item& item) {
    if (!is_function_of_row(item, source_) || may_name_rows(item)) return false;
    for (Item_field* const column : columns_read_by(item)) {
      const Field* const field = block_.columns.field_of(*column);
      if (field == nullptr) return false;
      block_.reads_rows = block_.reads_rows || !block_.key_of(*field);
      if (std::ranges::find(block_.shown, field) == block_.shown.end()) block_.shown.push_back(field);
    }
    block_.outputs.push_back({.place = place_, .item = &item, .source = GroupOutput::Source::Row});
    return true;
  }

  bool add_aggregate(Item& item) {
    auto& sum = static_cast<Item_sum&>(*item.real_item());
    if (sum.get_arg_count() != 1) return false;
    GroupOutput output{.place = place_, .item = &item, .source = GroupOutput::Source::Aggregate};
    Item& argument = *sum.get_arg(0);
    std::optional<GroupBlock::Counted> counted;
    switch (sum.sum_func()) {
      case Item_sum::COUNT_FUNC:
      case Item_sum::COUNT_DISTINCT_FUNC:
        counted = count_of(argument, sum.has_with_distinct());
        break;
      case Item_sum::AVG_FUNC:
      case Item_sum::AVG_DISTINCT_FUNC:
        output.mean = static_cast<Item_sum_avg*>(&sum);
        if (sum.result_type() != REAL_RESULT) has_mean_ = true;
        [[fallthrough]];
      case Item_sum::SUM_FUNC:
      case Item_sum::SUM_DISTINCT_FUNC:
        if (!sum.has_with_distinct()) counted = sum_of_shifted(argument, item, output);
        if (!counted) counted = sum_of(argument, sum.has_with_distinct());
        break;
      case Item_sum::STD_FUNC:
      case Item_sum::VARIANCE_FUNC:
        output.variance = static_cast<Item_sum_variance*>(&sum);
        counted = spread_of(argument);
        break;
      case Item_sum::MIN_FUNC:
      case Item_sum::MAX_FUNC:
        counted = extreme_of(argument, sum.sum_func() == Item_sum::MIN_FUNC ? Aggregate::Kind::Minimum
                                                                            : Aggregate::Kind::Maximum);
        break;
      case Item_sum::SUM_BIT_FUNC:
        counted = bits_of(argument, sum);
        break;
      default:
        break;
    }
    if (!counted) return false;
    // Some functions say of themselves that they have fewer digits than they have: ASCII().
    if (output.mean != nullptr && counted->of.computed && argument.cmp_type() == INT_RESULT &&
        (may_outgrow_type(argument) ||
         (!block_.computed[counted->of.number].number && argument.decimal_precision() < digits_of_int)))
      return false;
    if (counted->of.computed) block_.computed[counted->of.number].output = block_.outputs.size();
    const auto same = std::ranges::find_if(
        block_.aggregates, [&](const GroupBlock::Counted& other) { return is_same(*counted, other); });
    output.number = static_cast<size_t>(same - block_.aggregates.begin());
    if (same == block_.aggregates.end()) block_.aggregates.push_back(*counted);
    block_.outputs.push_back(output);
    return true;
  }

  /// Extremes are stored in the fields of their own items.
  static bool is_same(const GroupBlock::Counted& one, const GroupBlock::Counted& other) {
    return one.wanted.kind == other.wanted.kind && one.wanted.distinct == other.wanted.distinct &&
           one.wanted.kind != Aggregate::Kind::Minimum && one.wanted.kind != Aggregate::Kind::Maximum &&
           one.of.computed == other.of.computed && one.of.number == other.of.number;
  }

  static GroupBlock::Counted counted(Aggregate::Kind kind, RowColumn of, bool distinct = false) {
    return {.wanted = {.kind = kind, .position = 0, .distinct = distinct}, .of = of};
  }
  static std::optional<GroupBlock::Counted> counted(Aggregate::Kind kind, const std::optional<RowColumn>& of,
                                                    bool distinct = false) {
    return of ? std::optional(counted(kind, *of, distinct)) : std::nullopt;
  }

  std::optional<GroupBlock::Counted> count_of(Item& argument, bool distinct) {
    constexpr auto kind = Aggregate::Kind::Values;
    // What is never NULL the server counts without evaluating it.
    if (!distinct && !argument.maybe_null() && !argument.is_expensive() && !argument.with_subquery())
      return counted(Aggregate::Kind::Rows, RowColumn{});
    if (const auto column = rows_.column_of(argument)) {
      if (distinct && !can_be_key(*block_.columns.field_of(argument))) return std::nullopt;
      return counted(kind, column, distinct);
    }
    if (!distinct) return counted(kind, rows_.compute(argument, ServerValue::Presence));
    return counted_number(kind, argument, distinct);
  }

  std::optional<GroupBlock::Counted> counted_number(Aggregate::Kind kind, Item& argument, bool distinct) {
    const auto number = kind_of_number(argument);
    if (!number || (distinct && is_rounded_when_stored(argument))) return std::nullopt;
    return counted(kind, rows_.compute(argument, *number), distinct);
  }

  /// The server takes all numbers for floating-point ones.
  std::optional<GroupBlock::Counted> spread_of(Item& argument) {
    if (argument.cmp_type() == DECIMAL_RESULT && (has_hidden_digits(argument) || has_huge_sum(argument)))
      return counted(Aggregate::Kind::Spread, rows_.compute(argument, ServerValue::Real));
    auto counted = sum_of(argument, false);
    if (counted) counted->wanted.kind = Aggregate::Kind::Spread;
    return counted;
  }

  /// As what the server's number is added up; nothing: not here.
  static std::optional<ServerValue> kind_of_number(Item& item) {
    switch (item.cmp_type()) {
      case REAL_RESULT:
        return ServerValue::Real;
      case INT_RESULT:
        return ServerValue::Exact;
      case DECIMAL_RESULT:
        return has_hidden_digits(item) ? std::nullopt : std::optional(ServerValue::Exact);
      default:
        return std::nullopt;
    }
  }

  std::optional<GroupBlock::Counted> sum_of(Item& argument, bool distinct) {
    if (const Field* const field = block_.columns.field_of(argument)) {
      const auto type = field->real_type();
      if (is_whole_number(*field) || type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE)
        return counted(Aggregate::Kind::Sum, rows_.column_of(argument), distinct);
    }
    return counted_number(Aggregate::Kind::Sum, argument, distinct);
  }

  /// Of a column plus or minus a constant: the column's own sum, which many such may share.
  std::optional<GroupBlock::Counted> sum_of_shifted(Item& argument, const Item& sum, GroupOutput& output) {
    constexpr uint32 longest_without_overflow = 4;
    constexpr longlong most_added = longlong{1} << 40;
    Item& real = *argument.real_item();
    const bool subtracts = dynamic_cast<Item_func_minus*>(&real) != nullptr;
    if (!subtracts && dynamic_cast<Item_func_plus*>(&real) == nullptr) return std::nullopt;
    Item** const parts = static_cast<Item_func&>(real).arguments();
    const bool turned = !subtracts && parts[0]->basic_const_item();
    Item& of = *parts[turned ? 1 : 0];
    Item& constant = *parts[turned ? 0 : 1];
    const Field* const field = block_.columns.field_of(of);
    // A difference without a sign is an error where it would be below 0.
    if (field == nullptr || !is_whole_number(*field) || field->pack_length() > longest_without_overflow ||
        real.cmp_type() != INT_RESULT || (subtracts && real.unsigned_flag) || is_ordered_by(sum))
      return std::nullopt;
    if (!constant.basic_const_item() || constant.cmp_type() != INT_RESULT || constant.is_null())
      return std::nullopt;
    const longlong number = constant.val_int();
    if (number < 0 ? real.unsigned_flag || number < -most_added : number > most_added) return std::nullopt;
    output.added = subtracts ? -number : number;
    return counted(Aggregate::Kind::Sum, rows_.column_of(of));
  }

  bool is_ordered_by(const Item& item) const {
    for (const ORDER* order = query_.order_by; order != nullptr; order = order->next) {
      if ((*order->item)->real_item() == const_cast<Item&>(item).real_item()) return true;
    }
    return false;
  }

  std::optional<GroupBlock::Counted> extreme_of(Item& argument, Aggregate::Kind kind) {
    if (const auto column = rows_.column_of(argument)) {
      if (!has_extremes(*block_.columns.field_of(argument))) return std::nullopt;
      return counted(kind, column);
    }
    if (argument.const_item() || !can_be_stored(argument)) return std::nullopt;
    return counted(kind, rows_.compute(argument, ServerValue::Image));
  }

  std::optional<GroupBlock::Counted> bits_of(Item& argument, Item_sum& sum) {
    if (!is_number(argument)) return std::nullopt;
    auto kind = Aggregate::Kind::BitXor;
    if (dynamic_cast<Item_sum_and*>(&sum) != nullptr) {
      kind = Aggregate::Kind::BitAnd;
    } else if (dynamic_cast<Item_sum_or*>(&sum) != nullptr) {
      kind = Aggregate::Kind::BitOr;
    }
    return counted(kind, rows_.compute(argument, ServerValue::Bits));
  }

  /// The engine sorts: what it left to the server would go to a temporary table, which the server neither
  /// sorts nor can put on disk when it has grown.
  bool add_order(const ORDER& order) {
    Item& item = **order.item;
    if (item.const_item()) return true;
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

  /// Whether all groups, with what they take in each thread, may be at hand at once. For more of them,
  /// sorted, the server has its disk.
  bool groups_fit() const {
    constexpr double bytes_of_group = 64, bytes_of_number = 8, bytes_of_text = 64, bytes_of_aggregate = 32;
    // Groups that the server has a part in the order of are copied.
    constexpr double bytes_of_copy = 256, bytes_of_copied_result = 160;
    const auto& columns = block_.columns.numbers();
    const auto aggregates = static_cast<double>(block_.aggregates.size());
    double bytes = bytes_of_group + bytes_of_aggregate * aggregates;
    if (!block_.host_order.empty())
      bytes += bytes_of_copy +
               bytes_of_copied_result * (aggregates + static_cast<double>(block_.host_order.size()));
    for (const RowColumn& key : block_.keys) {
      const bool number = key.computed ? block_.computed[key.number].number.has_value()
                                       : reader_.is_integer(columns[key.number]);
      bytes += number ? bytes_of_number : bytes_of_text;
    }
    return static_cast<double>(block_.groups) * bytes <= static_cast<double>(memory_budget()) / 4;
  }

  /// Estimated: not more than there are rows.
  uint64_t most_groups() const {
    double groups = 1;
    for (const RowColumn& key : block_.keys) {
      groups *= key.computed ? values_of(*block_.computed[key.number].item)
                             : distinct_values(block_.columns.numbers()[key.number]);
    }
    source_.file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
    const ha_rows rows = source_.file->stats.records;
    return groups < static_cast<double>(rows) ? static_cast<uint64_t>(groups) : rows;
  }

  /// Of a column, NULL among them, estimated.
  double distinct_values(uint16_t column) const {
    const auto distinct = static_cast<double>(hailstone::distinct_values(readers_of(source_), column));
    return distinct == 0 ? static_cast<double>(source_.file->stats.records) : distinct + 1;
  }

  /// Of an expression: not more than its columns have, nor than its digits can tell.
  double values_of(Item& item) const {
    double values = 1;
    for (const Item_field* const field : columns_read_by(item))
      values *= distinct_values(reader_.column_of_field(field->field->field_index));
    if (item.cmp_type() != INT_RESULT) return values;
    return std::min(values, 2 * std::pow(10.0, item.decimal_precision()));
  }

  std::optional<GroupOrder> order_of(Item& item) {
    Item* const real = item.real_item();
    for (const GroupOutput& output : block_.outputs) {
      if (output.source != GroupOutput::Source::Aggregate || output.item->real_item() != real) continue;
      if (output.variance != nullptr) return host_order_of(item);
      GroupOrder order{.by = GroupOrder::By::Aggregate, .number = output.number};
      if (output.mean != nullptr) {
        // As it is rounded in the server's field.
        const uint digits = output.mean->result_type() == REAL_RESULT
                                ? 0
                                : output.mean->decimals - decimals_of(*output.mean->get_arg(0));
        if (digits > most_digits_of_mean || has_huge_sum(*output.mean->get_arg(0))) return std::nullopt;
        order.mean_digits = digits;
      }
      return order;
    }
    if (const auto key = key_of(item)) return GroupOrder{.number = *key};
    return host_order_of(item);
  }

  /// By what the server makes of each group.
  std::optional<GroupOrder> host_order_of(Item& item) {
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

  /// Whether what reads means gets all digits that they have, as it does in the server: groups with distinct
  /// values in another order than their own it puts into a table that rounds.
  bool keeps_digits_of_means() const {
    const bool distinct = std::ranges::any_of(
        block_.aggregates, [](const GroupBlock::Counted& counted) { return counted.wanted.distinct; });
    return whole_ && !(distinct && select_.join->order != nullptr);
  }

  /// Whether means go to the client, rounded as their fields are, and nowhere else.
  bool sends_means_as_they_are() const {
    return thd_.lex->sql_command == SQLCOM_SELECT && thd_.lex->result == nullptr &&
           (query_.having == nullptr || !mentions_mean(*query_.having)) &&
           select_.outer_select() == nullptr && select_.next_select() == nullptr &&
           !select_.master_unit()->is_unit_op();
  }

  THD& thd_;
  const Query& query_;
  const std::vector<Item*>& conditions_;
  HailstoneHandler& reader_;
  SELECT_LEX& select_;
  TABLE& source_;
  const bool whole_;
  GroupBlock block_;
  RowTranslator rows_;
  size_t place_ = 0;  // of the item at hand
  bool has_mean_ = false;
  bool makes_more_of_aggregates_ = false;
};

}  // namespace

std::optional<size_t> GroupBlock::key_of(const Field& field) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].computed && columns.fields()[keys[i].number] == &field) return i;
  }
  return std::nullopt;
}

OperatorPlan GroupBlock::plan() const {
  OperatorPlan plan = row_plan();
  plan.push_back({.kind = Operator::Group,
                  .what = fmt::format("keys: {}{}; aggregates: {}", keys.size(),
                                      rolls_up ? ", rolled up" : "", aggregates.size()),
                  .most_rows = groups});
  if (!order.empty()) {
    const bool all = most == SortedGroups::all;
    plan.push_back({.kind = all ? Operator::Sort : Operator::FirstRows,
                    .what = all ? fmt::format("order: {}", order.size())
                                : fmt::format("order: {}; the first {}", order.size(), most),
                    .most_rows = std::min<uint64_t>(groups, most)});
  }
  std::ranges::reverse(plan);
  return plan;
}

std::expected<GroupBlock, Declined> make_group_block(THD& thd, const GroupStatement& statement,
                                                     HailstoneHandler& reader) {
  return GroupTranslator(thd, statement, reader).translate();
}

}  // namespace hailstone
