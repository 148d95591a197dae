#include "group_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "decimal_numbers.h"
#include "expression/moment.h"
#include "item_parts.h"
#include "query/rollup_groups.h"
#include "schema/ordered_wide.h"
#include "select_functions.h"
#include "source_tables.h"
#include "variables.h"

namespace hailstone {

namespace {

constexpr size_t no_aggregate = ~size_t{0};

/// As the server keeps a result that is no finite number; the field would make the greatest number of it.
void store_real_number(double number, Field& field) {
  if (std::isfinite(number) || field.real_type() != MYSQL_TYPE_DOUBLE) {
    field.store(number);
  } else {
    float8store(field.ptr, number);
  }
}

void store_scaled_number(WideInteger number, unsigned scale, Field& field) {
  if (scale == 0 && number >= INT64_MIN && number <= INT64_MAX) {
    field.store(static_cast<longlong>(number), false);
    return;
  }
  my_decimal decimal;
  decimal_of(number, scale, decimal);
  field.store_decimal(&decimal);
}

}  // namespace

GroupRows::GroupRows(GroupBlock block, std::shared_ptr<BlockRecord> record)
    : block_(std::move(block)),
      sources_(block_.columns.sources()),
      reader_(sources_.first().reader()),
      thd_(sources_.thd()),
      run_(thd_, sources_, std::move(record)) {
  for (size_t i = 0; i < block_.columns.numbers().size(); ++i)
    columns_.add(block_.columns.field_at(i), block_.columns.is_scaled_at(i));
  for (const Field* field : block_.shown) {
    // Rows have their columns as they are stored, and groups as they are keys.
    const bool scaled =
        !block_.reads_rows && block_.columns.is_scaled_at(block_.keys[*block_.key_of(*field)].number);
    shown_.add(*field, scaled);
  }
  shown_values_.resize(shown_.size());
  for (const GroupOutput& output : block_.outputs) {
    const bool of_row = output.source == GroupOutput::Source::Row;
    items_.push_back(of_row ? std::optional(SlotItem(*output.item->real_item(), shown_)) : std::nullopt);
  }
}

void GroupRows::begin(std::vector<Field*> fields, std::vector<Item*> order) {
  run_.begin();
  groups_ = nullptr;
  returned_ = false;
  fields_ = std::move(fields);
  order_ = std::move(order);
  kept_fields_.clear();
  for (const Field* field : fields_)
    kept_fields_.push_back(field == nullptr ? KeptField() : KeptField(*field));
  for (RowExpression& expression : block_.computed) {
    if (!expression.is_moment() || expression.kind != ServerValue::Image ||
        moment_format_of(*fields_[expression.output]))
      continue;
    expression.value.reset();
  }
}

void GroupRows::end() {
  groups_ = nullptr;
  run_.end();
}

int GroupRows::next() { return run_.noted(is_aggregated_by_scan() ? only_row() : next_group()); }

/// Whether it is one group, of what the scan finds out by itself, without reading all rows.
bool GroupRows::is_aggregated_by_scan() const {
  if (!block_.keys.empty() || !block_.computed.empty() || block_.join != nullptr ||
      !block_.rest.all.empty() || block_.reads_rows)
    return false;
  return std::ranges::none_of(block_.aggregates, [&](const GroupBlock::Counted& counted) {
    if (counted.wanted.distinct || counted.wanted.kind > Aggregate::Kind::Sum) return true;
    // A scan's sums of these would be others for other threads.
    if (counted.wanted.kind != Aggregate::Kind::Sum) return false;
    const Field* const field = block_.columns.fields()[counted.of.number];
    if (field == nullptr) return true;  // nor does it add up the numbers of decimals
    const auto type = field->real_type();
    return type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE;
  });
}

std::vector<Aggregate> GroupRows::wanted() const {
  std::vector<Aggregate> wanted;
  for (const GroupBlock::Counted& counted : block_.aggregates) {
    wanted.push_back(counted.wanted);
    wanted.back().position = block_.position_of(counted.of);
  }
  if (block_.reads_rows)
    wanted.push_back({.kind = Aggregate::Kind::Minimum, .position = block_.position_of_places()});
  return wanted;
}

int GroupRows::only_row() {
  if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
  std::optional<Scans> scans;
  if (const int error = open_scans(readers_of(*sources_.first().table), block_.predicates.front(),
                                   block_.columns.numbers(), scans);
      error != 0)
    return error;
  OperatorCounts& read = *run_.counts(Operator::Scan);
  OperatorCounts& made = *run_.counts(Operator::Group);
  scans->count_in(read);
  const auto results = scans->aggregate(wanted(), query_threads(&thd_));
  if (!results) return reader_.report(results.error());
  uint64_t counted = 0;  // without being given
  for (const AggregateResult& each : *results) counted = std::max(counted, each.count);
  read.add_rows(0, counted);
  made.add_rows(counted, 1);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const GroupOutput& output = block_.outputs[i];
    if (output.source == GroupOutput::Source::Aggregate) {
      store_aggregate(i, (*results)[output.number]);
    } else {
      store_constant(output, fields_[i]);
    }
  }
  return 0;
}

int GroupRows::next_group() {
  const bool begins = groups_ == nullptr;
  if (begins) {
    if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
    asks_own_keys_ = must_ask_own_keys();
    if (const int error = open_groups(); error != 0) return error;
  }
  auto found = groups_->next();
  while (begins && !thd_.is_error() && begins_again(found)) {
    if (const int error = open_groups(); error != 0) return error;
    found = groups_->next();
  }
  if (thd_.is_error()) return HA_ERR_INTERNAL_ERROR;
  if (!found) return report_query_error(reader_, found.error());
  if (!*found) return HA_ERR_END_OF_FILE;
  const Status stored = store(*groups_);
  if (thd_.is_error()) return HA_ERR_INTERNAL_ERROR;
  return stored ? 0 : reader_.report(stored.error());
}

/// Items may read what stands behind them by its field: names in ORDER BY. So keys go first, and the rest
/// from the last one on.
Status GroupRows::store(const Groups& group, const std::vector<bool>* wanted) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    const GroupOutput& output = block_.outputs[i];
    if (output.source == GroupOutput::Source::Constant) store_constant(output, fields_[i]);
    if (output.source != GroupOutput::Source::Key) continue;
    if (output.number < group.keys().size()) {
      store_value(block_.keys[output.number], key(group, output.number), i);
    } else {
      fields_[i]->set_null();  // rolled up
    }
  }
  HAILSTONE_TRY(find_shown(group));
  for (size_t i = fields_.size(); i-- > 0;) {
    const GroupOutput& output = block_.outputs[i];
    if (output.source == GroupOutput::Source::Aggregate) store_aggregate(i, group.result(output.number));
    if (output.source == GroupOutput::Source::Row && (wanted == nullptr || (*wanted)[i])) store_item(i);
  }
  return {};
}

/// Before the first group has been given: whether all work begins again, in another way.
bool GroupRows::begins_again(const Result<bool>& found) {
  const bool by_other_keys =
      found && !asks_own_keys_ &&
      std::ranges::any_of(groupings_, [](const Grouping* groups) { return groups->has_variants(); });
  const bool by_other_plan = !found && block_.wants_other_plan();
  if (!by_other_keys && !by_other_plan) return false;
  groups_ = nullptr;
  if (by_other_plan) {
    block_.take_other_plan(run_);
  } else {
    asks_own_keys_ = true;
    run_.restart();
  }
  return true;
}

/// What is given one after the other may meet a key's second text when others have been given; and what the
/// server evaluates must not warn twice.
bool GroupRows::must_ask_own_keys() const {
  if (block_.order.empty() || block_.rolls_up || !block_.host_order.empty()) return true;
  const auto is_by_server = [](const RowExpression& expression) { return !expression.value; };
  return block_.has_conditions_of_server() || std::ranges::any_of(block_.computed, is_by_server);
}

Value GroupRows::key(const Groups& group, size_t number) {
  const Value given = group.keys()[number];
  if (given.null || own_keys_[number] == no_aggregate) return given;
  own_values_[number] = group.result(own_keys_[number]);
  return Value::of(ByteView(own_values_[number].bytes));
}

/// Puts what the items read of the group at hand into their slots.
Status GroupRows::find_shown(const Groups& group) {
  if (block_.reads_rows) {
    const AggregateResult place = group.result(block_.aggregates.size());
    if (place.count == 0) {
      // All rows are one group, and there are none.
      shown_.clear();
      return {};
    }
    HAILSTONE_TRY(group.read_place(place.integer, shown_values_));
    for (size_t i = 0; i < shown_.size(); ++i) shown_[i].write(shown_values_[i]);
  } else {
    for (size_t i = 0; i < shown_.size(); ++i)
      shown_[i].write_kept(key(group, *block_.key_of(*block_.shown[i])));
  }
  return {};
}

void GroupRows::store_item(size_t place) {
  Field& field = *fields_[place];
  const SlotItem::Pointed item(*items_[place]);
  if (item->type() != Item::FIELD_ITEM) {
    field.set_notnull();
    item->save_in_field(&field, true);
    return;
  }
  Field* const column = static_cast<Item_field&>(*item).field;
  if (column->is_null()) {
    field.set_null();
  } else {
    field.set_notnull();
    field_conv(&field, column);
  }
}

int GroupRows::open_groups() {
  groups_ = nullptr;
  groupings_.clear();
  std::vector<std::unique_ptr<Groups>> levels;
  OperatorCounts* const sort_counts =
      run_.counts(block_.most == SortedGroups::all ? Operator::Sort : Operator::FirstRows);
  const bool merges = block_.merges_levels(), by_levels = block_.rolls_up && !merges;
  for (size_t keys = by_levels ? 0 : block_.keys.size(); keys <= block_.keys.size(); ++keys) {
    auto grouping = open_grouping(keys);
    if (!grouping) return reader_.report(grouping.error());
    if (by_levels) (*grouping)->share_floor(block_.keys.size() + 1);
    if (merges) (*grouping)->keep_states();
    groupings_.push_back(grouping->get());
    if (block_.order.empty()) {
      groups_ = std::move(*grouping);
      return 0;
    }
    auto host = host_order();
    if (!host) return reader_.report(host.error());
    auto order = block_.order;
    // That of what is rolled up is that of its keys.
    if (block_.rolls_up) order.resize(keys);
    levels.push_back(std::make_unique<SortedGroups>(std::move(*grouping), std::move(order), block_.most,
                                                    std::move(*host), sort_counts));
  }
  const GroupingPlan& plan = groupings_.back()->plan();
  if (merges) {
    groups_ = std::make_unique<RollupGroups>(std::move(levels.back()), plan, sort_counts);
  } else if (by_levels) {
    groups_ = std::make_unique<RollupGroups>(std::move(levels), plan);
  } else {
    groups_ = std::move(levels.front());
  }
  return 0;
}

/// `keys`: how many of the block's.
Result<std::unique_ptr<Grouping>> GroupRows::open_grouping(size_t keys) {
  HAILSTONE_ASSIGN(auto rows, block_.open(query_threads(&thd_), run_, [this](const RowExpression& image) {
    return fields_[image.output];
  }));
  if (block_.reads_rows) {
    std::vector<uint16_t> shown;
    for (const Field* field : block_.shown) shown.push_back(block_.columns.column_of(*field));
    rows->add_places(shown);
  }
  std::vector<uint16_t> positions;
  for (const RowColumn& key : block_.keys) positions.push_back(block_.position_of(key));
  std::vector<Aggregate> aggregates = wanted();
  own_keys_.assign(positions.size(), no_aggregate);
  own_values_.resize(positions.size());
  for (size_t i = 0; asks_own_keys_ && positions.size() > 1 && i < positions.size(); ++i) {
    HAILSTONE_ASSIGN(const ScanColumn column, rows->column(positions[i]));
    if (column.integer || column.collation->equality() == Collation::Equality::Bytes) continue;
    own_keys_[i] = aggregates.size();
    aggregates.push_back({.kind = Aggregate::Kind::Minimum, .position = positions[i]});
  }
  return Grouping::make(std::move(rows), std::span(positions).first(keys), aggregates, query_threads(&thd_),
                        run_.counts(Operator::Group));
}

Result<HostGroupValues> GroupRows::host_order() {
  HostGroupValues host;
  for (size_t i = 0; i < order_.size(); ++i) {
    HAILSTONE_ASSIGN(const ScanColumn column,
                     ServerExpressions::type_of({.item = order_[i], .kind = block_.host_order[i].kind}));
    host.columns.push_back(column);
  }
  // Of rows the server computes what it sorts by; of groups, all that a table of them has.
  host.compute = [this, read = block_.groups_are_rows() ? read_by_order() : std::nullopt](
                     const Groups& group, std::span<Value> values) -> Status {
    HAILSTONE_TRY(store(group, read ? &*read : nullptr));
    order_bytes_.clear();
    // The server sorts what HAVING leaves: it has no error or warning of another group.
    if (block_.having != nullptr && !block_.having->val_bool()) {
      std::ranges::fill(values, Value{});
      return group_error();
    }
    for (size_t i = 0; i < order_.size(); ++i)
      values[i] = value_of(*order_[i], block_.host_order[i].kind, &thd_, order_bytes_);
    return group_error();
  };
  return host;
}

std::optional<std::vector<bool>> GroupRows::read_by_order() const {
  std::vector<bool> read(block_.outputs.size());
  for (Item* const item : order_) {
    if (!mark_read(*item, read)) return std::nullopt;
  }
  if (block_.having != nullptr && !mark_read(*block_.having, read)) return std::nullopt;
  return read;
}

bool GroupRows::mark_read(Item& item, std::vector<bool>& read) const {
  Item& real = *item.real_item();
  const bool is_field = real.type() == Item::FIELD_ITEM;
  for (size_t i = 0; i < read.size(); ++i) {
    Item& shown = *block_.outputs[i].item;
    const bool is_item = shown.real_item() == &real;
    if (read[i] || !(is_item || (is_field && static_cast<Item_field&>(real).field == fields_[i]))) continue;
    read[i] = true;
    if (!is_item && !mark_read(shown, read)) return false;
  }
  if (is_field || real.type() == Item::SUM_FUNC_ITEM || real.basic_const_item()) return true;
  if (real.type() != Item::FUNC_ITEM && real.type() != Item::COND_ITEM) return false;
  return !any_part(real, [&](Item& part) { return !mark_read(part, read); });
}

Status GroupRows::group_error() const {
  if (thd_.is_error()) return fail(ErrorCode::InvalidArgument, "the server does not evaluate a group");
  return {};
}

void GroupRows::store_value(const RowColumn& from, const Value& value, size_t place) {
  Field& field = *fields_[place];
  if (value.null) {
    field.set_null();
    return;
  }
  field.set_notnull();
  if (!from.computed) {
    // By way of the column's own field, so that it becomes what the server would have read.
    ColumnSlot& column = columns_[from.number];
    column.write_kept(value);
    field_conv(&field, &column.field());
    return;
  }
  const RowExpression& expression = block_.computed[from.number];
  if (is_extreme_moment(expression) || expression.is_moment()) {
    store_moment(native_signed(value.integer, sizeof(int64_t)), expression, place);
    return;
  }
  if (!is_number_by_program(expression)) {
    kept_fields_[place].write(value);
    return;
  }
  const ScanColumn column = column_of_number(expression);
  if (!column.integer) {
    my_decimal decimal;
    decimal_of(native_number(value.bytes), expression.value->type().scale, decimal);
    field.store_decimal(&decimal);
  } else if (column.type == Type::Double) {
    field.store(native_double(value.integer));
  } else if (column.type == Type::Unsigned) {
    field.store(static_cast<longlong>(value.integer), true);
  } else {
    store_scaled_number(native_signed(value.integer, sizeof(int64_t)), expression.value->type().scale, field);
  }
}

/// Of MIN and MAX in a table of groups the server stores the text of a moment, by the session's modes.
void GroupRows::store_moment(int64_t moment, const RowExpression& expression, size_t place) {
  Field& field = *fields_[place];
  const auto format = moment_format_of(field);
  if (format && expression.kind != ServerValue::ShownMoment) {
    kept_fields_[place].write(Value::of(format->stored(moment)));
    return;
  }
  const MomentParts parts = parts_of(moment);
  const bool is_day = expression.item->type_handler()->field_type() == MYSQL_TYPE_DATE;
  std::string text = fmt::format("{:04}-{:02}-{:02}", parts.year, parts.month, parts.day);
  if (!is_day)
    text +=
        fmt::format(" {:02}:{:02}:{:02}.{:06}", parts.hour, parts.minute, parts.second, parts.microsecond);
  const Check_level_instant_set ignored(&thd_, CHECK_FIELD_IGNORE);
  field.store(text.data(), text.size(), &my_charset_latin1);
}

void GroupRows::store_aggregate(size_t place, const AggregateResult& result) {
  const GroupOutput& output = block_.outputs[place];
  Field& field = *fields_[place];
  const GroupBlock::Counted& counted = block_.aggregates[output.number];
  field.set_notnull();
  switch (counted.wanted.kind) {
    case Aggregate::Kind::Rows:
    case Aggregate::Kind::Values:
      field.store(static_cast<longlong>(result.count), true);
      return;
    case Aggregate::Kind::BitAnd:
    case Aggregate::Kind::BitOr:
    case Aggregate::Kind::BitXor:
      field.store(static_cast<longlong>(result.integer), true);
      return;
    default:
      break;
  }
  if (result.count == 0) {
    field.set_null();
    if (takes_parts(output, field)) store_parts(output, decimal_zero, 0, field);
    return;
  }
  if (counted.wanted.kind == Aggregate::Kind::Sum) {
    store_sum(output, result, field);
    return;
  }
  if (counted.wanted.kind == Aggregate::Kind::Spread) {
    store_variance(output, result, field);
    return;
  }
  store_value(counted.of,
              is_number(counted.of) ? Value::of(result.integer) : Value::of(ByteView(result.bytes)), place);
}

/// Whether the values are ordered numbers, and not bytes.
bool GroupRows::is_number(const RowColumn& column) const {
  if (!column.computed) {
    if (block_.columns.is_scaled_at(column.number)) {
      const Field& field = block_.columns.field_at(column.number);
      return decimal_digits(static_cast<const Field_new_decimal&>(field)).is_short();
    }
    return sources_.all()[block_.columns.source_at(column.number)].reader().is_integer(
        block_.columns.numbers()[column.number]);
  }
  const RowExpression& expression = block_.computed[column.number];
  if (is_extreme_moment(expression)) return true;
  if (is_number_by_program(expression)) return column_of_number(expression).integer;
  return kept_fields_[expression.output].format().kind <= FieldFormat::Kind::BigEndian;
}

void GroupRows::store_parts(const GroupOutput& output, const my_decimal& sum, uint64_t count,
                            Field& field) const {
  const SumDigits digits = digits_of_sum(output);
  sum.to_binary(field.ptr, static_cast<int>(digits.precision), static_cast<decimal_digits_t>(digits.scale));
  int8store(field.ptr + digits.bytes(), count);
}

uint SumDigits::bytes() const {
  return static_cast<uint>(my_decimal_get_binary_size(static_cast<decimal_digits_t>(precision),
                                                      static_cast<decimal_digits_t>(scale)));
}

/// Where digits are added up that do not show, more than the server's item says.
SumDigits GroupRows::digits_of_sum(const GroupOutput& output) const {
  const Item_sum_avg& mean = *output.mean;
  const RowColumn& summed = block_.aggregates[output.number].of;
  const unsigned scale = summed.computed ? block_.computed[summed.number].decimals() : 0;
  if (scale <= mean.f_scale) return {.precision = mean.f_precision, .scale = mean.f_scale};
  const uint whole_digits = mean.f_precision - mean.f_scale;
  const uint digits = std::min(whole_digits + scale, uint{DECIMAL_MAX_PRECISION});
  return {.precision = digits, .scale = digits - whole_digits};
}

void GroupRows::store_variance(const GroupOutput& output, const AggregateResult& result, Field& field) const {
  Item_sum_variance& aggregate = *output.variance;
  if (result.count <= aggregate.sample) {
    field.set_null();
    return;
  }
  double variance = result.spread / static_cast<double>(result.count - aggregate.sample);
  const Item& argument = *aggregate.get_arg(0);
  const RowColumn& column = block_.aggregates[output.number].of;
  const bool real = column.computed && block_.computed[column.number].kind == ServerValue::Real;
  if (argument.cmp_type() == DECIMAL_RESULT && !real) variance /= std::pow(10.0, 2.0 * argument.decimals);
  if (aggregate.sum_func() == Item_sum::STD_FUNC)
    variance = std::isinf(variance) && !block_.by_table ? DBL_MAX : std::sqrt(variance);
  store_real_number(variance, field);
}

/// As results have them.
bool GroupRows::has_huge_sums(const RowExpression& expression) const {
  if (expression.value) {
    const ScanColumn column = column_of_number(expression);
    return column.may_be_huge || (!column.integer && column.width == sizeof(HugeInteger));
  }
  return is_huge_summand(*expression.item, expression.decimals());
}

void GroupRows::store_sum(const GroupOutput& output, const AggregateResult& result, Field& field) const {
  const auto& aggregate = static_cast<Item_sum&>(*output.item->real_item());
  if (aggregate.result_type() == REAL_RESULT) {
    const double divisor = output.mean == nullptr ? 1 : static_cast<double>(result.count);
    store_real_number(result.real_sum / divisor, field);
    return;
  }
  const Item& argument = *const_cast<Item_sum&>(aggregate).get_arg(0);
  const RowColumn& summed = block_.aggregates[output.number].of;
  const RowExpression* const expression = summed.computed ? &block_.computed[summed.number] : nullptr;
  const unsigned scale = expression != nullptr ? expression->decimals() : decimals_of(argument);
  const WideInteger integer_sum = result.integer_sum + output.added * static_cast<WideInteger>(result.count);
  const bool huge = expression != nullptr ? has_huge_sums(*expression) : has_huge_sum(argument);
  if (output.mean == nullptr && !huge) {
    store_scaled_number(integer_sum, scale, field);
    return;
  }
  my_decimal sum, count, mean;
  if (huge) {
    decimal_of(result.huge_sum, scale, sum);
  } else {
    decimal_of(integer_sum, scale, sum);
  }
  if (output.mean == nullptr) {
    field.store_decimal(&sum);
    return;
  }
  if (takes_parts(output, field)) {
    store_parts(output, sum, result.count, field);
    return;
  }
  int2my_decimal(E_DEC_FATAL_ERROR, static_cast<longlong>(result.count), true, &count);
  my_decimal_div(E_DEC_FATAL_ERROR, &mean, &sum, &count, static_cast<int>(output.mean->prec_increment));
  field.store_decimal(&mean);
}

}  // namespace hailstone
