#include "row_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "base/check.h"
#include "collation.h"
#include "expression/exact_numbers.h"
#include "item_parts.h"
#include "pushdown_leaf.h"
#include "pushdown_warnings.h"
#include "query/query_memory.h"
#include "query_history.h"
#include "source_tables.h"
#include "statement_items.h"
#include "variables.h"
// clang-format off
#include <item_timefunc.h>
// clang-format on

namespace hailstone {

namespace {

bool is_function(Item& item, std::string_view name) {
  Item& real = *item.real_item();
  return real.type() == Item::FUNC_ITEM && static_cast<const Item_func&>(real).func_name() == name;
}

/// How texts of a key are compared: as the server compares those of items, in which a CHAR has no spaces at
/// its end, whatever the column says. Null: no texts.
const Collation* collation_of_key(const Field& field) {
  const auto column = column_for(field);
  if (!column || column->type < Type::Char) return nullptr;
  const auto collation = mariadb_collations().resolve(collation_id(*field.charset(), 0));
  return collation ? *collation : nullptr;
}

/// Whether the server evaluates the sides of an equality without a warning or an error: columns, and texts
/// that are brought into another character set.
bool raises_nothing(const THD& thd, Item_bool_func2& equality) {
  const auto is_column = [](Item& item) { return item.real_item()->type() == Item::FIELD_ITEM; };
  const auto is_plain = [&](Item& side) {
    Item& item = *side.real_item();
    return is_column(item) || (dynamic_cast<const Item_func_conv_charset*>(&item) != nullptr &&
                               !any_part(item, [&](Item& part) { return !is_column(part); }));
  };
  return is_plain(*equality.arguments()[0]) && is_plain(*equality.arguments()[1]) && !may_warn(thd, equality);
}

/// DATEDIFF(), which has as many digits as it says, is made of two TO_DAYS(), which have one more.
bool is_difference_of_days(Item& item) {
  return dynamic_cast<Item_func_minus*>(&item) != nullptr &&
         !any_part(item, [](Item& part) { return !is_function(part, "to_days"); });
}

/// Whether a function of whole numbers has as many digits as the server says, or, `as_text`, characters: of
/// many it forgets that it takes a digit for the sign, so that ASCII() has two and DAYOFWEEK() none.
bool has_right_length(Item_func& function, bool as_text) {
  constexpr uint digits_of_any = 19;
  // Found out by storing means and texts of their extremes.
  static constexpr std::array<std::string_view, 19> right{
      "char_length", "crc32",       "dayofmonth",    "dayofyear",      "extract", "length",      "locate",
      "minute",      "month",       "octet_length",  "quarter",        "second",  "microsecond", "sign",
      "week",        "time_to_sec", "timestampdiff", "unix_timestamp", "year"};
  static constexpr std::array<std::string_view, 5> right_as_text{"ascii", "bit_count", "dayofweek", "weekday",
                                                                 "yearweek"};
  const auto is_it = [&](std::string_view name) { return is_function(function, name); };
  // Of a TIME it has three digits.
  const bool is_hour_of_day =
      is_it("hour") &&
      function.arguments()[0]->type_handler()->mysql_timestamp_type() == MYSQL_TIMESTAMP_DATETIME;
  return function.decimal_precision() >= digits_of_any || is_hour_of_day ||
         std::ranges::any_of(right, is_it) || (as_text && std::ranges::any_of(right_as_text, is_it));
}

/// Whether the server says of a function that it has fewer digits than a whole number that it is made of: of
/// ABS(127), NULLIF(127, 1), ROUND(n > 1) and their like it takes a digit for the sign.
bool has_lost_digit(Item& item) {
  return item.cmp_type() == INT_RESULT && any_part(item, [&](Item& part) {
           return part.cmp_type() == INT_RESULT && part.decimal_precision() > item.decimal_precision();
         });
}

/// Whether a function in it puts texts into a document, which the server takes for shorter than they are.
bool understates_document(Item& item) {
  static constexpr std::array<std::string_view, 5> names{"json_insert", "json_set", "json_replace",
                                                         "json_array_append", "json_array_insert"};
  return std::ranges::any_of(names, [&item](std::string_view name) { return is_function(item, name); }) ||
         any_part(*item.real_item(), understates_document);
}

/// Whether what a number, or, `as_text`, a text is made of may be longer than the server says.
bool understates_length(Item& item, bool as_text) {
  Item& real = *item.real_item();
  // A condition has one digit, whatever it asks.
  if (real.type() == Item::COND_ITEM || dynamic_cast<Item_bool_func*>(&real) != nullptr) return false;
  // The zero in front of the point, where all digits are behind it, has no place in what the server says.
  if (as_text && real.cmp_type() == DECIMAL_RESULT && real.decimal_precision() <= real.decimals) return true;
  // With a sign, all digits and three for the exponent.
  if (as_text && real.cmp_type() == REAL_RESULT) return true;
  // Arithmetic and choices have the digits of their parts.
  if (real.type() == Item::FUNC_ITEM && real.cmp_type() == INT_RESULT &&
      dynamic_cast<Item_hybrid_func*>(&real) == nullptr)
    return !has_right_length(static_cast<Item_func&>(real), as_text);
  if (!as_text && has_lost_digit(real)) return true;
  return !is_difference_of_days(real) &&
         any_part(real, [as_text](Item& part) { return understates_length(part, as_text); });
}

}  // namespace

int report_query_error(HailstoneHandler& reader, const Error& error) {
  if (error.code() != ErrorCode::DiskFull) return reader.report(error);
  return reader.report(Error(ErrorCode::Io, error.message(), error.system_error()));
}

std::optional<SelectOutcome> reason_to_decline(THD& thd, const std::vector<HailstoneHandler*>& readers) {
  if (select_pushdown(&thd) == SelectPushdown::Off) return SelectOutcome::Off;
  if (readers.empty() || !have_same_columns(readers)) return SelectOutcome::Statement;
  for (HailstoneHandler* const reader : readers) {
    reader->settle_lock();
    if (reader->reads_with_locks() || reader->reads_uncommitted()) return SelectOutcome::Locks;
  }
  return std::nullopt;
}

bool is_whole_number(const Field& field) { return is_whole_number(field.real_type()); }

bool can_be_key(PlainField field) {
  if (is_whole_number(*field)) return true;
  switch (field->real_type()) {
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_BLOB:
      return true;
    case MYSQL_TYPE_STRING:
      // UUID and INET6 are of this type, too.
      return dynamic_cast<const Field_string*>(&*field) != nullptr;
    default:
      return false;
  }
}

namespace {

bool may_outgrow(Item& item) {
  const bool is_text = item.cmp_type() == STRING_RESULT;
  if ((is_text || item.cmp_type() == DECIMAL_RESULT) && understates_length(item, is_text)) return true;
  Item& real = *item.real_item();
  if (dynamic_cast<Item_func_int_div*>(&real) != nullptr) {
    const auto& division = static_cast<Item_func&>(real);
    if (division.arguments()[0]->cmp_type() != INT_RESULT ||
        division.arguments()[1]->cmp_type() != INT_RESULT)
      return true;
  }
  // Where it would have more digits than a DECIMAL the server says that it has as many.
  if (real.type() == Item::FUNC_ITEM && real.cmp_type() == DECIMAL_RESULT &&
      real.decimal_precision() >= DECIMAL_MAX_PRECISION &&
      dynamic_cast<Item_decimal_typecast*>(&real) == nullptr)
    return true;
  // Rounded up it may have a digit more, for which there is room only where the number of digits is known.
  if (is_function(real, "round") && real.cmp_type() == DECIMAL_RESULT &&
      !static_cast<const Item_func&>(real).arguments()[1]->const_item())
    return true;
  return any_part(real, may_outgrow);
}

}  // namespace

bool may_outgrow_type(Item& item) { return may_outgrow(item) || understates_document(item); }

bool mean_may_outgrow_type(Item& argument) {
  return argument.cmp_type() != REAL_RESULT &&
         (may_outgrow_type(argument) || understates_length(argument, false));
}

bool can_be_stored(Item& item) {
  const Type_handler& handler = *item.type_handler();
  if (handler.type_collection() != type_handler_slong.type_collection() || may_outgrow_type(item))
    return false;
  // A field made for it may be of its own type, and so pack its bytes.
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM && !PlainField::of(*static_cast<Item_field&>(real).field)) return false;
  switch (handler.real_field_type()) {
    case MYSQL_TYPE_BIT:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_GEOMETRY:
    case MYSQL_TYPE_NULL:
    case MYSQL_TYPE_VARCHAR_COMPRESSED:
    case MYSQL_TYPE_BLOB_COMPRESSED:
      return false;
    default:
      return true;
  }
}

bool may_name_rows(Item& item) {
  Item& real = *item.real_item();
  if (dynamic_cast<Item_decimal_typecast*>(&real) == nullptr) return any_part(real, may_name_rows);
  // A constant that fits says nothing, whichever row is there.
  return !real.const_item() || !has_silent_constants(*current_thd, real);
}

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

bool is_buffered(const SELECT_LEX& select) {
  return (select.join->select_options & OPTION_BUFFER_RESULT) != 0;
}

bool is_cut_by_table(Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return false;
  if (real.type() == Item::SUM_FUNC_ITEM) {
    auto& sum = static_cast<Item_sum&>(real);
    if (sum.sum_func() == Item_sum::COUNT_FUNC || sum.sum_func() == Item_sum::COUNT_DISTINCT_FUNC)
      return false;
    // A mean has more digits than it shows.
    return dynamic_cast<Item_sum_avg*>(&real) != nullptr ||
           std::ranges::any_of(std::span(sum.arguments(), sum.argument_count()),
                               [](Item* argument) { return is_cut_by_table(*argument); });
  }
  if (real.type() != Item::FUNC_ITEM && real.type() != Item::COND_ITEM) return true;
  return has_hidden_digits(real) || is_rounded_when_stored(real) || may_outgrow_type(real) ||
         any_part(real, is_cut_by_table);
}

bool sum_may_outgrow_type(const Item& argument) {
  // So many more than its argument has the sum of 10^13 rows.
  constexpr uint digits_of_sum = 13;
  return argument.cmp_type() == DECIMAL_RESULT &&
         argument.decimal_precision() + digits_of_sum > DECIMAL_MAX_PRECISION;
}

bool has_form_of_column(Item& sum) {
  const auto type = sum.type_handler()->real_field_type();
  if (type == MYSQL_TYPE_BIT || type == MYSQL_TYPE_YEAR) return true;
  Item& argument = *static_cast<Item_sum&>(sum).get_arg(0)->real_item();
  return argument.type() == Item::FIELD_ITEM &&
         (static_cast<Item_field&>(argument).field->flags & ZEROFILL_FLAG) != 0;
}

bool is_number(const Item& item) {
  return item.cmp_type() == INT_RESULT || item.cmp_type() == DECIMAL_RESULT || item.cmp_type() == REAL_RESULT;
}

bool is_rounded_when_stored(const Item& item) {
  return item.cmp_type() == REAL_RESULT &&
         (item.decimals < NOT_FIXED_DEC || item.type_handler()->real_field_type() == MYSQL_TYPE_FLOAT);
}

std::optional<RowColumn> RowTranslator::column_of(Item& item) {
  const auto field = block_.columns.field_of(item);
  if (!field) return std::nullopt;
  return RowColumn{.computed = false, .number = block_.columns.position_of(*field)};
}

RowColumn RowTranslator::comparable(PlainField field) {
  if (field->real_type() == MYSQL_TYPE_NEWDECIMAL &&
      decimal_digits(static_cast<const Field_new_decimal&>(*field)).is_short()) {
    if (const auto number = block_.columns.scaled_position_of(field))
      return {.computed = false, .number = *number};
  }
  return {.computed = false, .number = block_.columns.position_of(field)};
}

bool RowTranslator::can_be_evaluated(Item& item) {
  if (!is_function_of_row(item, block_.columns.sources()) || may_name_rows(item)) return false;
  for (Item_field* const column : columns_read_by(item)) {
    const Field* const field = block_.columns.stored_field_of(*column);
    if (field == nullptr) return false;
    block_.columns.position_for_items(*field);
  }
  return true;
}

unsigned RowExpression::decimals() const {
  return kind == ServerValue::Summand && value ? value->type().scale : decimals_of(*item);
}

ScanColumn column_of_number(const RowExpression& expression) {
  const ValueType& type = expression.value->type();
  const Item& item = *expression.item;
  ScanColumn column{.integer = true, .type = Type::Signed, .width = sizeof(int64_t)};
  if (expression.is_moment()) return column;
  if (expression.value->is_real()) {
    column.type = Type::Double;
  } else if (item.cmp_type() == INT_RESULT) {
    if (item.unsigned_flag) column.type = Type::Unsigned;
  } else if (type.whole_digits + type.scale > most_int64_digits) {
    column.may_be_huge = expression.kind == ServerValue::Summand || expression.kind == ServerValue::Presence;
    if (!column.may_be_huge) {
      column.integer = false;
      column.type = Type::OrderedBytes;
      column.width = has_huge_sum(item) ? sizeof(HugeInteger) : sizeof(WideInteger);
      column.collation = &binary_collation();
    }
  }
  return column;
}

namespace {

/// Whether a field made for the item has the text's own bytes. A CHAR loses spaces at its end, of which a day
/// has none.
bool stores_text_as_it_is(Item& item) {
  const Type_handler* const handler = item.type_handler();
  if (handler == &type_handler_string && typeid(*item.real_item()) == typeid(Item_date_add_interval))
    return true;
  return handler == &type_handler_varchar || handler == &type_handler_tiny_blob ||
         handler == &type_handler_blob || handler == &type_handler_medium_blob ||
         handler == &type_handler_long_blob;
}

}  // namespace

/// The engine's number, where that is what the server's is.
std::optional<Expression> RowTranslator::number_of(Item& item, ServerValue kind) {
  const bool is_integer = item.cmp_type() == INT_RESULT, is_real = item.cmp_type() == REAL_RESULT;
  if (kind == ServerValue::Bits && !is_integer) return std::nullopt;
  if (kind == ServerValue::Image && is_rounded_when_stored(item)) return std::nullopt;
  const auto number = ExpressionTranslator(block_.columns).number(item);
  if (!number || number->is_real() != is_real) return std::nullopt;
  if (kind == ServerValue::Real) return as_real(*number);
  const bool keeps_digits = kind == ServerValue::Summand || kind == ServerValue::Presence;
  if (is_real || (keeps_digits && number->type().scale >= decimals_of(item))) return number;
  return rounded_to(*number, decimals_of(item));
}

std::optional<Expression> RowTranslator::value_of(Item& item, ServerValue kind) {
  if (is_number(item)) return number_of(item, kind);
  const bool as_field = kind == ServerValue::Presence || kind == ServerValue::Image;
  if ((as_field || kind == ServerValue::Text) && (stores_text_as_it_is(item) || is_json_extract(item)))
    return ExpressionTranslator(block_.columns).text(item);
  const bool as_moment =
      kind == ServerValue::Time || kind == ServerValue::Moment || kind == ServerValue::ShownMoment;
  return as_field || as_moment ? ExpressionTranslator(block_.columns).moment_as_value(item) : std::nullopt;
}

std::optional<RowColumn> RowTranslator::compute(Item& item, ServerValue kind) {
  if (!can_be_evaluated(item)) return std::nullopt;
  RowExpression expression{.item = &item, .value = value_of(item, kind), .kind = kind};
  if (expression.value) expression.result = block_.values->add(*expression.value);
  // What is stored in a field is the field's own; and of what warns the server does so each time.
  const bool is_own = kind == ServerValue::Image || may_warn(thd_, item);
  const auto same = std::ranges::find_if(block_.computed, [&](const RowExpression& other) {
    return !is_own && kind == other.kind && expression.value.has_value() && expression.result == other.result;
  });
  if (same != block_.computed.end())
    return RowColumn{.computed = true, .number = static_cast<size_t>(same - block_.computed.begin())};
  block_.computed.push_back(expression);
  return RowColumn{.computed = true, .number = block_.computed.size() - 1};
}

std::optional<RowColumn> RowTranslator::sortable(Item& item) {
  // A document is sorted as a whole.
  if (!sorts_as_it_compares(item) || may_outgrow(item)) return std::nullopt;
  if (const auto field = block_.columns.field_of(item)) {
    if (!can_be_key(*field)) return std::nullopt;
    // What is stored as numbers is compared as numbers, and packed only where it is shown.
    if (const auto number = block_.columns.scaled_position_of(*field))
      return RowColumn{.computed = false, .number = *number};
    return column_of(item);
  }
  const auto kind = kind_of_order(item);
  return kind && has_silent_constants(thd_, item) ? compute(item, *kind) : std::nullopt;
}

/// The part that is in the way; null: none is.
Item* RowTranslator::take_parts(RowBlock::Conditions& conditions) {
  ExpressionTranslator translator(block_.columns);
  bool warned = false;
  for (Item* part : conditions.all) {
    if (!can_be_evaluated(*part)) return part;
    // In another tree of joins, only a key may have read them.
    for (const uint16_t position : positions_read_by(*part)) std::erase(block_.only_for_keys, position);
    // What stands behind a part that may warn of a row must not take the row away before.
    const auto condition = warned ? std::nullopt : translator.condition(*part);
    if (!condition) {
      conditions.evaluated.push_back(part);
      warned = warned || may_warn(thd_, *part);
    } else {
      conditions.add(*condition);
    }
  }
  return nullptr;
}

Item* RowTranslator::take_conditions(const BlockStatement& statement) {
  if (statement.join != nullptr) {
    if (!block_.is_read_again) block_.watch = std::make_unique<JoinWatch>(statement.from);
    return take_joins(*statement.join);
  }
  std::vector<Predicate> predicates;
  for (const PushedCondition& pushed : statement.conditions) {
    predicates.push_back(*pushed.predicate);
    block_.rest.all.insert(block_.rest.all.end(), pushed.rest.begin(), pushed.rest.end());
  }
  block_.predicates.front() = std::make_shared<Predicate>(Predicate::all_of(std::move(predicates)));
  return take_parts(block_.rest);
}

/// Leaves those that may warn for the end, so that they warn of rows which all others leave. What a program
/// knows of them is asked at once.
void RowTranslator::take_last(RowBlock::Conditions& conditions) {
  std::vector<Item*> others;
  for (Item* const part : conditions.all) {
    if (!may_warn(thd_, *part)) {
      others.push_back(part);
      continue;
    }
    block_.rest.all.push_back(part);
    const auto condition = ExpressionTranslator(block_.columns).condition(*part);
    if (condition)
      conditions.add(Expression::call(Function::Otherwise, {*condition, Expression::constant(int64_t{1})}));
  }
  conditions.all = std::move(others);
}

Item* RowTranslator::take_joins(const JoinNode& tree) {
  block_.join = std::make_unique<RowBlock::Join>();
  block_.rest = {};
  if (Item* const part = take_node(tree, *block_.join)) return part;
  if (Item* const part = take_parts(block_.rest)) return part;
  take_keys(tree, *block_.join);
  return nullptr;
}

/// Positions in the columns are known elsewhere, so the new tree has the same ones. A tree that compares
/// others of the columns that are equal may read one in another form, as a number or as it is stored. Then
/// the old order is taken.
bool RowBlock::wants_other_plan() const {
  return (watch != nullptr && watch->has_plan()) ||
         (keys_have_failed->load(std::memory_order_relaxed) && !compares_pairs);
}

void RowBlock::take_other_plan(BlockRun& run) {
  if (watch != nullptr && watch->has_plan()) {
    join_in_order_of(*watch->take_plan());
    run.plan_again(source_plan());
  } else {
    keys_have_failed->store(false, std::memory_order_relaxed);
    compares_pairs = true;
    run.restart();
  }
}

void RowBlock::join_in_order_of(const JoinNode& tree) {
  ScanColumns columns_before = columns;
  auto predicates_before = predicates;
  auto only_for_keys_before = only_for_keys;
  std::unique_ptr<Join> join_before = std::move(join);
  const Conditions rest_before = rest;
  Item* const part = RowTranslator(columns.sources().thd(), *this).take_joins(tree);
  if (part == nullptr && width() == columns_before.numbers().size()) return;
  columns = std::move(columns_before);
  predicates = std::move(predicates_before);
  only_for_keys = std::move(only_for_keys_before);
  join = std::move(join_before);
  rest = rest_before;
}

/// The conditions of a join's tables and sides.
Item* RowTranslator::take_node(const JoinNode& node, RowBlock::Join& to) {
  to.kind = node.kind;
  to.source = node.source;
  to.rows = static_cast<uint64_t>(node.source ? node.rows_scanned : node.rows);
  to.rows_out = node.rows;
  if (node.source) {
    std::vector<Predicate> predicates;
    for (const PushedCondition& pushed : node.pushed) {
      predicates.push_back(*pushed.predicate);
      to.where.all.insert(to.where.all.end(), pushed.rest.begin(), pushed.rest.end());
    }
    block_.predicates[*node.source] = std::make_shared<Predicate>(Predicate::all_of(std::move(predicates)));
    take_last(to.where);
    return take_parts(to.where);
  }
  to.probe = std::make_unique<RowBlock::Join>();
  to.build = std::make_unique<RowBlock::Join>();
  if (Item* const part = take_node(*node.probe, *to.probe)) return part;
  if (Item* const part = take_node(*node.build, *to.build)) return part;
  to.on.all = node.on;
  if (Item* const part = take_parts(to.on)) return part;
  to.where.all = node.where;
  take_last(to.where);
  return take_parts(to.where);
}

uint16_t RowTranslator::position_of_key(PlainField field) {
  const size_t before = block_.columns.numbers().size();
  const auto position = static_cast<uint16_t>(comparable(field).number);
  if (position >= before) block_.only_for_keys.push_back(position);
  return position;
}

/// key_of_condition() has found that it can be computed.
RowBlock::Join::ComputedKey RowTranslator::computed_key(const JoinKey& key, RowBlock::Join& to) {
  const size_t before = block_.columns.numbers().size();
  auto& equality = static_cast<Item_bool_func2&>(*key.computed);
  const bool evaluated = can_be_evaluated(equality);
  const auto sides = ExpressionTranslator(block_.columns).equal_sides(equality);
  const auto by_server = EqualValues::of(equality);
  HAILSTONE_CHECK(evaluated && (sides || by_server), "a join's key is not computed as it was before");
  for (size_t position = before; position < block_.columns.numbers().size(); ++position)
    block_.only_for_keys.push_back(static_cast<uint16_t>(position));
  Item &first = *equality.arguments()[0], &second = *equality.arguments()[1];
  Program::Register probe = Program::none, build = Program::none;
  if (sides) {
    probe = to.probe_values->add(key.is_turned ? sides->second : sides->first);
    build = to.build_values->add(key.is_turned ? sides->first : sides->second);
  }
  return {.condition = &equality,
          .probe = probe,
          .build = build,
          .by_server = by_server,
          .is_turned = key.is_turned,
          .is_huge = sides && sides->are_huge,
          .raises_nothing = raises_nothing(thd_, equality),
          .nulls_are_equal = key.nulls_are_equal,
          .probe_reads = positions_read_by(key.is_turned ? second : first),
          .build_reads = positions_read_by(key.is_turned ? first : second)};
}

std::vector<uint16_t> RowTranslator::positions_read_by(Item& item) const {
  std::vector<uint16_t> positions;
  const auto columns = columns_read_by(item);
  for (uint16_t i = 0; i < block_.columns.numbers().size(); ++i) {
    if (std::ranges::find(columns, &block_.columns.field_at(i), &Item_field::field) != columns.end())
      positions.push_back(i);
  }
  return positions;
}

/// When all else has its columns.
void RowTranslator::take_keys(const JoinNode& node, RowBlock::Join& to) {
  if (node.source) return;
  for (const JoinKey& key : node.keys) {
    if (key.computed != nullptr) {
      to.computed_keys.push_back(computed_key(key, to));
    } else {
      const auto one = PlainField::of(*key.one), other = PlainField::of(*key.other);
      HAILSTONE_CHECK(one && other, "a key of a join is a column whose bytes are not its value");
      to.keys.push_back({.probe = position_of_key(*one),
                         .build = position_of_key(*other),
                         .nulls_are_equal = key.nulls_are_equal,
                         .collation = collation_of_key(**one)});
    }
  }
  if (node.range) take_range(*node.range, to);
  take_keys(*node.probe, *to.probe);
  take_keys(*node.build, *to.build);
}

/// Of columns that its conditions read anyway: so rows have the same ones, whatever the tree of joins.
void RowTranslator::take_range(const JoinRange& range, RowBlock::Join& to) {
  ScanColumns columns = block_.columns;
  const auto numbers = range.numbers(columns);
  if (!numbers || columns.numbers().size() != block_.columns.numbers().size()) return;
  block_.columns = std::move(columns);
  const auto added = [](Program& program, const std::optional<Expression>& number) {
    return number ? program.add(*number) : Program::none;
  };
  to.range = RowBlock::Join::Range{.number = added(*to.build_values, numbers->number),
                                   .end = added(*to.build_values, numbers->end),
                                   .least = added(*to.probe_values, numbers->least),
                                   .greatest = added(*to.probe_values, numbers->greatest)};
}

std::vector<uint16_t> RowBlock::positions_of(const std::vector<const Field*>& fields) const {
  std::vector<uint16_t> positions;
  for (const Field* const field : fields) {
    const auto found_field = std::ranges::find(columns.fields(), field);
    positions.push_back(static_cast<uint16_t>(found_field - columns.fields().begin()));
  }
  return positions;
}

OperatorPlan RowBlock::source_plan() const {
  const auto planned_scan = [this](size_t source, std::optional<uint64_t> rows) -> PlannedOperator {
    const TABLE& table = *columns.sources().all()[source].table;
    std::vector<const Field*> read;
    for (size_t i = 0; i < columns.numbers().size(); ++i) {
      const Field* const field = &columns.field_at(i);
      if (columns.source_at(i) == source && std::ranges::find(read, field) == read.end())
        read.push_back(field);
    }
    const bool filtered = predicates[source]->kind() != Predicate::Kind::Always;
    std::string partitions = partitions_read(table);
    if (!partitions.empty()) partitions.insert(0, "; partitions: ");
    return {.kind = Operator::Scan,
            .what = fmt::format("{}{}; columns read: {}{}", table.pos_in_table_list->top_table()->alias.str,
                                partitions, read.size(), filtered ? "; filtered" : ""),
            .rows = rows.value_or(table.file->stats.records),
            .rows_to_read = table.file->stats.records,
            .source = source};
  };
  OperatorPlan plan;
  if (join == nullptr) {
    plan.push_back(planned_scan(0, std::nullopt));
  } else {
    const auto add = [&](const auto& add_side, const Join& side, unsigned inside) -> void {
      if (side.source) {
        plan.push_back(planned_scan(*side.source, side.rows));
        plan.back().inside = inside;
        return;
      }
      constexpr std::array<const char*, 4> kinds{"inner", "left", "semi", "anti"};
      std::string conditions;
      if (const size_t all = side.on.all.size() + side.where.all.size(); all != 0)
        conditions = fmt::format("; conditions: {}", all);
      if (const size_t by_server = side.on.evaluated.size() + side.where.evaluated.size(); by_server != 0)
        conditions += fmt::format("; of these by the server, on one thread: {}", by_server);
      const size_t keys = side.keys.size() + side.computed_keys.size();
      const auto keys_by_server = std::ranges::count_if(
          side.computed_keys, [](const Join::ComputedKey& key) { return !key.has_program(); });
      const std::string by_server =
          keys_by_server == 0 ? "" : fmt::format(" ({} by the server, on one thread)", keys_by_server);
      const bool probe_first = keys != 0 && side.reads_probe_first();
      plan.push_back({.kind = Operator::Join,
                      .what = fmt::format("{}; keys: {}{}{}{}{}", kinds[static_cast<size_t>(side.kind)], keys,
                                          by_server, side.range ? "; range" : "",
                                          probe_first ? "; few rows first" : "", conditions),
                      .rows = side.rows,
                      .inside = inside});
      add_side(add_side, *side.probe, inside + 1);
      add_side(add_side, *side.build, inside + 1);
    };
    add(add, *join, 0);
  }
  return plan;
}

OperatorPlan RowBlock::row_plan() const {
  const auto by_server = static_cast<size_t>(
      std::ranges::count_if(computed, [](const RowExpression& expression) { return !expression.value; }));
  OperatorPlan plan = source_plan();
  std::ranges::reverse(plan);
  const uint64_t rows = plan.back().rows;
  if (rest.passes) {
    plan.push_back({.kind = Operator::Filter,
                    .what = fmt::format("conditions: {}", rest.all.size() - rest.evaluated.size()),
                    .rows = rows});
  }
  if (!rest.evaluated.empty() || by_server != 0) {
    plan.push_back({.kind = Operator::Evaluate,
                    .what = fmt::format("by the server, row by row: conditions: {}; expressions: {}",
                                        rest.evaluated.size(), by_server),
                    .rows = rows});
  }
  if (by_server < computed.size()) {
    plan.push_back({.kind = Operator::Compute,
                    .what = fmt::format("expressions: {}", computed.size() - by_server),
                    .rows = rows});
  }
  return plan;
}

RowCounts row_counts(BlockRun& run) {
  RowCounts counts{.scan = run.counts(Operator::Scan),
                   .filter = run.counts(Operator::Filter),
                   .host = run.counts(Operator::Evaluate),
                   .compute = run.counts(Operator::Compute)};
  // The server may have to evaluate what the engine was to compute.
  if (counts.host == nullptr) counts.host = counts.filter != nullptr ? counts.filter : counts.compute;
  return counts;
}

}  // namespace hailstone
