#include "group_aggregates.h"

#include <algorithm>

#include "item_parts.h"
#include "mean_digits.h"

namespace hailstone {

namespace {

/// Whether the order of the stored values is that of MIN and MAX. Theirs of ENUM and SET is that of the
/// names.
bool has_extremes(PlainField field) {
  const auto type = field->real_type();
  return can_be_key(field) && type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET;
}

/// Extremes are stored in the fields of their own items.
bool is_same_aggregate(const GroupBlock::Counted& one, const GroupBlock::Counted& other) {
  return one.wanted.kind == other.wanted.kind && one.wanted.distinct == other.wanted.distinct &&
         one.wanted.kind != Aggregate::Kind::Minimum && one.wanted.kind != Aggregate::Kind::Maximum &&
         one.of.computed == other.of.computed && one.of.number == other.of.number;
}

GroupBlock::Counted counted(Aggregate::Kind kind, RowColumn of, bool distinct = false) {
  return {.wanted = {.kind = kind, .position = 0, .distinct = distinct}, .of = of};
}
std::optional<GroupBlock::Counted> counted(Aggregate::Kind kind, const std::optional<RowColumn>& of,
                                           bool distinct = false) {
  return of ? std::optional(counted(kind, *of, distinct)) : std::nullopt;
}

/// As what the server's number is added up; nothing: not here.
std::optional<ServerValue> kind_of_number(Item& item) {
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

}  // namespace

bool AggregateTranslator::add(Item& item, size_t place) {
  auto& sum = static_cast<Item_sum&>(*item.real_item());
  if (sum.get_arg_count() != 1) return false;
  GroupOutput output{.place = place, .item = &item, .source = GroupOutput::Source::Aggregate};
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
      if (block_.keys.empty() && mean_may_lack_digits(argument, item)) return false;
      [[fallthrough]];
    case Item_sum::SUM_FUNC:
    case Item_sum::SUM_DISTINCT_FUNC:
      if (sum_may_outgrow_type(argument)) return false;
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
  if (!counted || (output.mean != nullptr && mean_may_outgrow_type(argument))) return false;
  if (counted->of.computed) block_.computed[counted->of.number].output = block_.outputs.size();
  const auto same = std::ranges::find_if(block_.aggregates, [&](const GroupBlock::Counted& other) {
    return is_same_aggregate(*counted, other);
  });
  output.number = static_cast<size_t>(same - block_.aggregates.begin());
  if (same == block_.aggregates.end()) block_.aggregates.push_back(*counted);
  block_.outputs.push_back(output);
  return true;
}

std::optional<GroupBlock::Counted> AggregateTranslator::count_of(Item& argument, bool distinct) {
  constexpr auto kind = Aggregate::Kind::Values;
  // What is never NULL the server counts without evaluating it.
  if (!distinct && !argument.maybe_null() && !argument.is_expensive() && !argument.with_subquery())
    return counted(Aggregate::Kind::Rows, RowColumn{});
  if (const auto field = block_.columns.field_of(argument)) {
    if (distinct && !can_be_key(*field)) return std::nullopt;
    return counted(kind, rows_.comparable(*field), distinct);
  }
  // Packed bytes tell of NULL, too.
  if (const Field* const field = block_.columns.stored_field_of(argument); field != nullptr && !distinct)
    return counted(kind, RowColumn{.computed = false, .number = block_.columns.position_in_record(*field)});
  if (!distinct) return counted(kind, rows_.compute(argument, ServerValue::Presence));
  return counted_number(kind, argument, distinct);
}

std::optional<GroupBlock::Counted> AggregateTranslator::counted_number(Aggregate::Kind kind, Item& argument,
                                                                       bool distinct) {
  const auto number = kind_of_number(argument);
  if (!number || (distinct && (is_rounded_when_stored(argument) || may_outgrow_type(argument))))
    return std::nullopt;
  return counted(kind, rows_.compute(argument, *number), distinct);
}

std::optional<GroupBlock::Counted> AggregateTranslator::summed_number(Item& argument) {
  constexpr auto kind = Aggregate::Kind::Sum;
  if (argument.cmp_type() == REAL_RESULT) return counted_number(kind, argument, false);
  if (argument.cmp_type() != INT_RESULT && argument.cmp_type() != DECIMAL_RESULT) return std::nullopt;
  if (!has_hidden_digits(argument)) return counted(kind, rows_.compute(argument, ServerValue::Summand));
  if (hidden_ == HiddenDigits::Unsure) return std::nullopt;
  const bool is_rounded = hidden_ == HiddenDigits::Rounded;
  const auto summand = rows_.compute(argument, is_rounded ? ServerValue::Exact : ServerValue::Summand);
  // How many digits there are is known of numbers that are computed here.
  if (!summand || !block_.computed[summand->number].value) return std::nullopt;
  sums_hidden_digits_ |= !is_rounded;
  return counted(kind, *summand);
}

/// The server takes all numbers for floating-point ones.
std::optional<GroupBlock::Counted> AggregateTranslator::spread_of(Item& argument) {
  if (argument.cmp_type() == DECIMAL_RESULT && (has_hidden_digits(argument) || has_huge_sum(argument)))
    return counted(Aggregate::Kind::Spread, rows_.compute(argument, ServerValue::Real));
  // Numbers that are computed are not those of a sum, which may have more bits.
  if (!block_.columns.field_of(argument)) return counted_number(Aggregate::Kind::Spread, argument, false);
  auto counted = sum_of(argument, false);
  if (counted) counted->wanted.kind = Aggregate::Kind::Spread;
  return counted;
}

std::optional<uint16_t> AggregateTranslator::wide_number_of(PlainField field) {
  if (field->real_type() != MYSQL_TYPE_NEWDECIMAL) return std::nullopt;
  const DecimalDigits digits = decimal_digits(static_cast<const Field_new_decimal&>(*field));
  if (!digits.any() || digits.is_short()) return std::nullopt;
  return block_.columns.scaled_position_of(field);
}

std::optional<GroupBlock::Counted> AggregateTranslator::sum_of(Item& argument, bool distinct) {
  if (const auto field = block_.columns.field_of(argument)) {
    const auto type = (*field)->real_type();
    if (is_whole_number(**field) || type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE)
      return counted(Aggregate::Kind::Sum, rows_.column_of(argument), distinct);
    if (const auto number = wide_number_of(*field))
      return counted(Aggregate::Kind::Sum, RowColumn{.computed = false, .number = *number}, distinct);
  }
  return distinct ? counted_number(Aggregate::Kind::Sum, argument, distinct) : summed_number(argument);
}

/// Of a column plus or minus a constant: the column's own sum, which many such may share.
std::optional<GroupBlock::Counted> AggregateTranslator::sum_of_shifted(Item& argument, const Item& sum,
                                                                       GroupOutput& output) {
  constexpr uint32 longest_without_overflow = 4;
  constexpr longlong most_added = longlong{1} << 40;
  Item& real = *argument.real_item();
  const bool subtracts = dynamic_cast<Item_func_minus*>(&real) != nullptr;
  if (!subtracts && dynamic_cast<Item_func_plus*>(&real) == nullptr) return std::nullopt;
  Item** const parts = static_cast<Item_func&>(real).arguments();
  const bool turned = !subtracts && parts[0]->basic_const_item();
  Item& of = *parts[turned ? 1 : 0];
  Item& constant = *parts[turned ? 0 : 1];
  const auto field = block_.columns.field_of(of);
  // A difference without a sign is an error where it would be below 0.
  if (!field || !is_whole_number(**field) || (*field)->pack_length() > longest_without_overflow ||
      real.cmp_type() != INT_RESULT || (subtracts && real.unsigned_flag) || is_ordered_by(sum))
    return std::nullopt;
  if (!constant.basic_const_item() || constant.cmp_type() != INT_RESULT || constant.is_null())
    return std::nullopt;
  const longlong number = constant.val_int();
  if (number < 0 ? real.unsigned_flag || number < -most_added : number > most_added) return std::nullopt;
  output.added = subtracts ? -number : number;
  return counted(Aggregate::Kind::Sum, rows_.column_of(of));
}

bool AggregateTranslator::is_ordered_by(const Item& item) const {
  for (const ORDER* order = order_; order != nullptr; order = order->next) {
    if ((*order->item)->real_item() == const_cast<Item&>(item).real_item()) return true;
  }
  return false;
}

std::optional<GroupBlock::Counted> AggregateTranslator::extreme_of(Item& argument, Aggregate::Kind kind) {
  if (const auto field = block_.columns.field_of(argument)) {
    if (!has_extremes(*field)) return std::nullopt;
    return counted(kind, rows_.comparable(*field));
  }
  if (argument.const_item() || !can_be_stored(argument)) return std::nullopt;
  return counted(kind, rows_.compute(argument, kind_of_extreme(argument)));
}

/// Of days that do not exist the server compares what they are, and then stores the extreme, which may make
/// it the zero of dates. In a table of groups it compares what it shows.
ServerValue AggregateTranslator::kind_of_extreme(const Item& argument) const {
  const auto type = argument.type_handler()->field_type();
  if (type != MYSQL_TYPE_DATE && type != MYSQL_TYPE_DATETIME) return ServerValue::Image;
  return block_.by_table ? ServerValue::ShownMoment : ServerValue::Moment;
}

std::optional<GroupBlock::Counted> AggregateTranslator::bits_of(Item& argument, Item_sum& sum) {
  if (!is_number(argument)) return std::nullopt;
  auto kind = Aggregate::Kind::BitXor;
  if (dynamic_cast<Item_sum_and*>(&sum) != nullptr) {
    kind = Aggregate::Kind::BitAnd;
  } else if (dynamic_cast<Item_sum_or*>(&sum) != nullptr) {
    kind = Aggregate::Kind::BitOr;
  }
  return counted(kind, rows_.compute(argument, ServerValue::Bits));
}

}  // namespace hailstone
