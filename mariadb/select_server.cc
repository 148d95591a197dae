#include "select_server.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "collation.h"
#include "decimal_numbers.h"
#include "evaluated_items.h"
#include "expression/moment.h"
#include "item_parts.h"
#include "pushdown_warnings.h"
#include "raised_conditions.h"
#include "schema/ordered_wide.h"
#include "select_functions.h"
// clang-format off
#include <sql_time.h>
// clang-format on

namespace hailstone {

namespace {

ByteView ordered_bytes(const HugeInteger& number, Arena& arena) {
  char* const bytes = arena.allocate(sizeof number);
  order_huge(number, bytes);
  return {bytes, sizeof number};
}

ByteView ordered_bytes(WideInteger number, Arena& arena) {
  char* const bytes = arena.allocate(sizeof number);
  order_wide(number, bytes);
  return {bytes, sizeof number};
}

}  // namespace

namespace {

/// Whether it takes a literal for a number, of which it may warn with each row.
bool converts_literals(Item& item) {
  Item& real = *item.real_item();
  return (real.type() == Item::FUNC_ITEM && takes_texts_for_numbers(static_cast<Item_func&>(real))) ||
         any_part(real, converts_literals);
}

HugeInteger huge_value(Item& item, unsigned decimals) {
  my_decimal buffer;
  const my_decimal* const decimal = item.val_decimal(&buffer);
  return decimal == nullptr || item.null_value ? HugeInteger() : huge_number(*decimal, decimals);
}

/// As a program would have it.
Value number_of(Item& item, unsigned decimals, Arena& bytes) {
  if (item.cmp_type() == REAL_RESULT) {
    const double number = item.val_real();
    return item.null_value ? Value{} : Value::of(order_double(number + 0.0));
  }
  if (item.cmp_type() == INT_RESULT) {
    const longlong number = item.val_int();
    if (item.null_value) return Value{};
    return Value::of(item.unsigned_flag ? static_cast<uint64_t>(number)
                                        : order_signed(number, sizeof(int64_t)));
  }
  const HugeInteger number = huge_value(item, decimals);
  if (item.null_value) return Value{};
  if (number.has_64_bits()) return Value::of(order_signed(number.narrow(), sizeof(int64_t)));
  Value value = Value::of(ordered_bytes(number, bytes));
  value.integer = order_signed(0, sizeof(int64_t));
  return value;
}

}  // namespace

bool is_function_of_row(Item& item, const SourceTables& sources) {
  return is_made_of_columns(item) && has_known_leaves(item) &&
         (item.used_tables() & PSEUDO_TABLE_BITS) == 0 && sources.has_all_columns_of(item);
}

bool has_huge_sum(const Item& item) {
  constexpr uint most_digits_of_wide_sum = 28;  // so that the sums of a table's rows fit
  return item.cmp_type() == DECIMAL_RESULT && item.decimal_precision() > most_digits_of_wide_sum;
}

bool is_huge_summand(const Item& item, unsigned decimals) {
  return has_huge_sum(item) || decimals > item.decimals;
}

namespace {

Value value_of_moment(int64_t moment) { return Value::of(order_signed(moment, sizeof(int64_t))); }

/// Of what the server writes: 2024-02-29, or 2024-02-29 23:59:59.123.
int64_t moment_of_text(ByteView text) {
  constexpr size_t digits_of_microseconds = 6;
  size_t at = 0;
  const auto next = [&](size_t most) {
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < most && at < text.size() && my_isdigit(&my_charset_latin1, text[at]); ++digits, ++at)
      number = number * 10 + static_cast<uint64_t>(text[at] - '0');
    ++at;  // what stands between
    return std::pair(number, digits);
  };
  MomentParts parts;
  parts.year = next(4).first;
  parts.month = next(2).first;
  parts.day = next(2).first;
  parts.hour = next(2).first;
  parts.minute = next(2).first;
  parts.second = next(2).first;
  auto [fraction, digits] = next(digits_of_microseconds);
  for (; digits < digits_of_microseconds; ++digits) fraction *= 10;
  parts.microsecond = fraction;
  return moment_of(parts);
}

}  // namespace

std::optional<ServerValue> kind_of_order(const Item& item) {
  const Type_handler& handler = *item.type_handler();
  if (handler.type_collection() != type_handler_slong.type_collection()) return std::nullopt;
  switch (item.cmp_type()) {
    case INT_RESULT:
    case DECIMAL_RESULT:
      return ServerValue::Exact;
    case REAL_RESULT:
      return ServerValue::Real;
    case STRING_RESULT:
      return handler.field_type() == MYSQL_TYPE_GEOMETRY ? std::nullopt : std::optional(ServerValue::Text);
    case TIME_RESULT:
      return handler.field_type() == MYSQL_TYPE_TIMESTAMP ? std::nullopt : std::optional(ServerValue::Time);
    default:
      return std::nullopt;
  }
}

Value value_of(Item& item, ServerValue kind, THD* thd, Arena& bytes) {
  switch (kind) {
    case ServerValue::Presence:
      return item.is_null() ? Value{} : Value::of(uint64_t{0});
    case ServerValue::Truth: {
      const bool truth = item.val_bool();
      return item.null_value ? Value{} : Value::of(uint64_t{truth ? 1U : 0U});
    }
    case ServerValue::Bits: {
      const longlong bits = item.val_int();
      return item.null_value ? Value{} : Value::of(static_cast<uint64_t>(bits));
    }
    case ServerValue::Real: {
      const double number = item.val_real();
      return item.null_value ? Value{} : Value::of(order_double(number + 0.0));
    }
    case ServerValue::Exact: {
      my_decimal buffer, rounded;
      const my_decimal* decimal = item.val_decimal(&buffer);
      if (decimal == nullptr || item.null_value) return {};
      if (decimal->frac > static_cast<int>(item.decimals)) {
        // The server sorts by the digits that it shows.
        decimal->round_to(&rounded, item.decimals, HALF_UP);
        decimal = &rounded;
      }
      return Value::of(has_huge_sum(item) ? ordered_bytes(huge_number(*decimal, item.decimals), bytes)
                                          : ordered_bytes(wide_number(*decimal, item.decimals), bytes));
    }
    case ServerValue::Text: {
      StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer(item.collation.collation);
      const String* const text = item.val_str(&buffer);
      if (text == nullptr || item.null_value) return {};
      return Value::of(bytes.copy({text->ptr(), text->length()}));
    }
    case ServerValue::Time: {
      // As the server's sorts ask. Of what a conversion makes NULL nothing but the answer says so.
      static const Temporal::Options options(TIME_INVALID_DATES, TIME_FRAC_NONE);
      MYSQL_TIME time;
      if (item.get_date(thd, &time, options)) return {};
      return Value::of(order_signed(pack_time(&time), sizeof(longlong)));
    }
    case ServerValue::Moment: {
      const longlong packed = item.val_datetime_packed(thd);
      return item.null_value ? Value{}
                             : value_of_moment(MomentFormat::packed().moment(static_cast<uint64_t>(packed)));
    }
    case ServerValue::ShownMoment: {
      StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer;
      const String* const text = item.val_str(&buffer);
      return text == nullptr || item.null_value
                 ? Value{}
                 : value_of_moment(moment_of_text({text->ptr(), text->length()}));
    }
    case ServerValue::Summand:
    case ServerValue::Number:
    case ServerValue::Equal:
    case ServerValue::Image:
      break;
  }
  HAILSTONE_CHECK(false, "an item's value is asked for without what it is compared as, or its field");
  return {};
}

ServerExpressions::ServerExpressions(std::shared_ptr<const SourceTables> sources,
                                     std::vector<const Field*> columns, std::vector<bool> scaled,
                                     const std::vector<Item*>& conditions, const std::vector<Value>& values,
                                     std::shared_ptr<std::atomic<bool>> raised, unsigned evaluations)
    : sources_(std::move(sources)),
      thd_(sources_->thd()),
      columns_(std::move(columns)),
      scaled_(std::move(scaled)),
      raised_(std::move(raised)),
      evaluations_(evaluations),
      written_(columns_.size()) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] != nullptr) {
      slots_.add(*columns_[i], scaled_[i]);
    } else {
      slots_.add_none();
    }
  }
  for (Item* condition : conditions)
    conditions_.push_back(make({.item = condition, .kind = ServerValue::Truth}));
  for (const Value& value : values) values_.push_back(make(value));
}

std::shared_ptr<HostExpressions> ServerExpressions::for_another_thread() const {
  std::vector<Item*> conditions;
  std::vector<Value> values;
  for (const Expression& condition : conditions_) conditions.push_back(condition.value.item);
  for (const Expression& expression : values_) values.push_back(expression.value);
  return std::make_shared<ServerExpressions>(sources_, columns_, scaled_, conditions, values, raised_,
                                             evaluations_);
}

ServerExpressions::Expression ServerExpressions::make(const Value& value) {
  Expression expression{.value = value, .item = SlotItem(*value.item, slots_)};
  if (value.field != nullptr) expression.format = FieldFormat(*value.field, value.field->ptr);
  const bool warns = may_warn(thd_, *value.item) || converts_literals(*value.item);
  // What an equality's side raises is not told to the statement.
  wants_order_ = wants_order_ || (warns && value.kind != ServerValue::Equal);
  expression.by_code = expression.item.columns().size() == 1 && !warns;
  if (expression.by_code) expression.bytes = std::make_unique<Arena>();
  return expression;
}

Result<ScanColumn> ServerExpressions::type_of(const Value& value) {
  switch (value.kind) {
    case ServerValue::Presence:
    case ServerValue::Truth:
    case ServerValue::Bits:
      return ScanColumn{.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)};
    case ServerValue::Number: {
      const bool real = value.item->cmp_type() == REAL_RESULT;
      const Type whole =
          value.item->unsigned_flag && value.item->cmp_type() == INT_RESULT ? Type::Unsigned : Type::Signed;
      return ScanColumn{.integer = true, .type = real ? Type::Double : whole, .width = sizeof(int64_t)};
    }
    case ServerValue::Real:
      return ScanColumn{.integer = true, .type = Type::Double, .width = sizeof(double)};
    case ServerValue::Exact:
    case ServerValue::Summand: {
      const bool is_huge = value.kind == ServerValue::Exact ? has_huge_sum(*value.item)
                                                            : is_huge_summand(*value.item, value.decimals);
      return ScanColumn{.integer = false,
                        .type = Type::OrderedBytes,
                        .width = is_huge ? uint32_t{sizeof(HugeInteger)} : uint32_t{sizeof(WideInteger)},
                        .collation = &binary_collation()};
    }
    case ServerValue::Text: {
      HAILSTONE_ASSIGN(const Collation* const collation,
                       mariadb_collations().resolve(collation_id(*value.item->collation.collation, 0)));
      return ScanColumn{
          .integer = false, .type = Type::Varchar, .width = value.item->max_length, .collation = collation};
    }
    case ServerValue::Time:
    case ServerValue::Moment:
    case ServerValue::ShownMoment:
      return ScanColumn{.integer = true, .type = Type::Signed, .width = sizeof(int64_t)};
    case ServerValue::Equal:
      return value.equal->type_of(*value.item);
    case ServerValue::Image:
      break;
  }
  HAILSTONE_ASSIGN(const Column column, column_for(*value.field));
  ScanColumn type{.integer = column.is_integer(), .type = column.type, .width = column.width};
  if (!type.integer) {
    HAILSTONE_ASSIGN(type.collation, mariadb_collations().resolve(
                                         column.type >= Type::Char ? column.collation : binary_collation_id));
  }
  return type;
}

Result<bool> ServerExpressions::compute(const RowBatch& rows, uint32_t row, bool begins,
                                        std::span<hailstone::Value> values) {
  if (begins) bytes_.clear();
  ++row_;
  for (Expression& condition : conditions_) {
    const Stored passes = value_of(condition, rows, row);
    HAILSTONE_TRY(error_of_row());
    if (passes.null || passes.integer == 0) return false;
  }
  const auto warnings = [this] { return thd_.get_stmt_da()->current_statement_warn_count(); };
  const ulong before = warnings();
  HAILSTONE_TRY(compute_values(rows, row, values));
  if (warnings() == before) return true;
  for (unsigned i = 1; i < evaluations_; ++i) HAILSTONE_TRY(compute_values(rows, row, values));
  return true;
}

Status ServerExpressions::error_of_row() const {
  if (thd_.is_error()) return fail(ErrorCode::InvalidArgument, "the server does not evaluate a row");
  return {};
}

Status ServerExpressions::compute_values(const RowBatch& rows, uint32_t row, std::span<Stored> values) {
  for (size_t i = 0; i < values_.size(); ++i) {
    values[i] = value_of(values_[i], rows, row);
    HAILSTONE_TRY(error_of_row());
    if (values_[i].value.kind == ServerValue::Equal && raised_->load(std::memory_order_relaxed))
      return fail(ErrorCode::InvalidArgument, "a key of a join warns of a row, or fails");
  }
  return {};
}

/// The first one may be an error, or be caught by who called the statement.
void ServerExpressions::count_warnings(uint64_t warnings) {
  warnings *= evaluations_;
  Diagnostics_area& conditions = *thd_.get_stmt_da();
  const char* const text = ER_THD(&thd_, ER_DIVISION_BY_ZERO);
  const ulong before = conditions.current_statement_warn_count();
  push_warning(&thd_, Sql_condition::WARN_LEVEL_WARN, ER_DIVISION_BY_ZERO, text);
  if (thd_.is_error() || conditions.current_statement_warn_count() == before) return;
  while (--warnings != 0)
    conditions.push_warning(&thd_, ER_DIVISION_BY_ZERO, "22012", Sql_condition::WARN_LEVEL_WARN, text);
}

Value ServerExpressions::value_of(Expression& expression, const RowBatch& rows, uint32_t row) {
  if (!expression.by_code) return evaluate(expression, rows, row, bytes_);
  const ColumnVector& column = *rows.columns[expression.item.columns().front()];
  if (column.dictionary == nullptr || column.is_null(row)) return evaluate(expression, rows, row, bytes_);
  if (expression.dictionary != column.dictionary) {
    expression.dictionary = column.dictionary;
    expression.known.assign(column.dictionary->size(), std::nullopt);
    // The batch at hand has no value of the dictionary before: it is of one segment.
    expression.bytes->clear();
  }
  auto& known = expression.known[column.codes[row]];
  if (!known) known = evaluate(expression, rows, row, *expression.bytes);
  return *known;
}

Value ServerExpressions::evaluate(Expression& expression, const RowBatch& rows, uint32_t row, Arena& bytes) {
  for (const size_t column : expression.item.columns()) {
    if (std::exchange(written_[column], row_) == row_) continue;
    slots_[column].write(rows.columns[column]->value(row));
  }
  const SlotItem::Pointed pointed(expression.item);
  Item& item = *pointed;
  const unsigned decimals = expression.value.decimals;
  if (expression.value.kind == ServerValue::Number) return number_of(item, decimals, bytes);
  if (expression.value.kind == ServerValue::Summand) {
    const HugeInteger number = huge_value(item, decimals);
    if (item.null_value) return {};
    return Stored::of(is_huge_summand(item, decimals) ? ordered_bytes(number, bytes)
                                                      : ordered_bytes(number.wide(), bytes));
  }
  if (expression.value.kind == ServerValue::Equal) {
    const RaisedConditions raised(thd_);
    const Stored value = expression.value.equal->value_of(item, thd_, bytes);
    if (raised.any()) raised_->store(true, std::memory_order_relaxed);
    return value;
  }
  if (expression.value.kind != ServerValue::Image) {
    const Stored value = hailstone::value_of(item, expression.value.kind, &thd_, bytes);
    if (!expression.value.is_moment || expression.value.kind != ServerValue::Time || value.null) return value;
    const auto packed = static_cast<uint64_t>(native_signed(value.integer, sizeof(longlong)));
    return value_of_moment(MomentFormat::packed().moment(packed));
  }
  Field& field = *expression.value.field;
  field.set_notnull();
  // A reference, as of a view's column, would take the value from the field that it is stored in.
  item.real_item()->save_in_field(&field, true);
  if (field.is_null()) return {};
  Stored stored = expression.format.read(field.ptr);
  if (expression.value.is_moment) return value_of_moment(moment_format_of(field)->moment(stored.integer));
  stored.bytes = bytes.copy(stored.bytes);
  return stored;
}

}  // namespace hailstone
