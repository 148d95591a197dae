#include "row_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collation.h"
#include "item_parts.h"
#include "pushdown_warnings.h"
#include "query_history.h"
#include "source_tables.h"
#include "statement_items.h"
#include "variables.h"

namespace hailstone {

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

bool is_whole_number(const Field& field) {
  const auto type = field.real_type();
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

bool can_be_key(const Field& field) {
  if (is_whole_number(field)) return true;
  switch (field.real_type()) {
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
      return dynamic_cast<const Field_string*>(&field) != nullptr;
    default:
      return false;
  }
}

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

bool may_name_rows(Item& item) {
  Item& real = *item.real_item();
  return dynamic_cast<Item_decimal_typecast*>(&real) != nullptr || any_part(real, may_name_rows);
}

bool is_number(const Item& item) {
  return item.cmp_type() == INT_RESULT || item.cmp_type() == DECIMAL_RESULT || item.cmp_type() == REAL_RESULT;
}

bool is_rounded_when_stored(const Item& item) {
  return item.cmp_type() == REAL_RESULT &&
         (item.decimals < NOT_FIXED_DEC || item.type_handler()->real_field_type() == MYSQL_TYPE_FLOAT);
}

uint decimals_of(const Item& item) { return item.cmp_type() == DECIMAL_RESULT ? item.decimals : 0; }

std::optional<RowColumn> RowTranslator::column_of(Item& item) {
  const Field* const field = block_.columns.field_of(item);
  if (field == nullptr) return std::nullopt;
  return RowColumn{.computed = false, .number = block_.columns.position_of(*field)};
}

RowColumn RowTranslator::comparable(const Field& field) {
  if (field.real_type() == MYSQL_TYPE_NEWDECIMAL &&
      decimal_digits(static_cast<const Field_new_decimal&>(field)).is_short()) {
    if (const auto number = block_.columns.scaled_position_of(field))
      return {.computed = false, .number = *number};
  }
  return {.computed = false, .number = block_.columns.position_of(field)};
}

bool RowTranslator::can_be_evaluated(Item& item) {
  if (!is_function_of_row(item, source_) || may_name_rows(item)) return false;
  for (Item_field* const column : columns_read_by(item)) {
    const Field* const field = block_.columns.field_of(*column);
    if (field == nullptr) return false;
    block_.columns.position_for_items(*field);
  }
  return true;
}

std::optional<RowColumn> RowTranslator::compute(Item& item, ServerValue kind) {
  if (!can_be_evaluated(item)) return std::nullopt;
  RowExpression expression{
      .item = &item, .number = std::nullopt, .kind = kind, .output = RowExpression::none};
  if (is_number(item) && !(kind == ServerValue::Image && is_rounded_when_stored(item))) {
    const Program program = *block_.values;
    expression.number = NumberTranslator(source_, block_.columns, *block_.values).number(item);
    const bool real =
        expression.number && block_.values->kind(expression.number->result) == Program::Kind::Real;
    // The engine's number is to be what the server's is.
    if (expression.number &&
        (real != (item.cmp_type() == REAL_RESULT) || expression.number->scale != decimals_of(item) ||
         (kind == ServerValue::Bits && item.cmp_type() != INT_RESULT))) {
      expression.number.reset();
      *block_.values = program;
    }
  }
  // What is stored in a field is the field's own.
  const auto same = std::ranges::find_if(block_.computed, [&](const RowExpression& other) {
    return kind != ServerValue::Image && kind == other.kind && expression.number.has_value() &&
           other.number.has_value() && expression.number->result == other.number->result;
  });
  if (same != block_.computed.end())
    return RowColumn{.computed = true, .number = static_cast<size_t>(same - block_.computed.begin())};
  block_.computed.push_back(expression);
  return RowColumn{.computed = true, .number = block_.computed.size() - 1};
}

std::optional<RowColumn> RowTranslator::sortable(Item& item) {
  if (!sorts_as_it_compares(item)) return std::nullopt;
  if (const Field* const field = block_.columns.field_of(item)) {
    if (!can_be_key(*field)) return std::nullopt;
    // What is stored as numbers is compared as numbers, and packed only where it is shown.
    if (const auto number = block_.columns.scaled_position_of(*field))
      return RowColumn{.computed = false, .number = *number};
    return column_of(item);
  }
  const auto kind = kind_of_order(item);
  return kind && has_silent_constants(thd_, item) ? compute(item, *kind) : std::nullopt;
}

Item* RowTranslator::take_conditions(const std::vector<PushedCondition>& conditions) {
  std::vector<Predicate> predicates;
  for (const PushedCondition& pushed : conditions) {
    predicates.push_back(*pushed.predicate);
    block_.rest.insert(block_.rest.end(), pushed.rest.begin(), pushed.rest.end());
  }
  block_.predicate = std::make_shared<Predicate>(Predicate::all_of(std::move(predicates)));
  NumberTranslator numbers(source_, block_.columns, *block_.conditions);
  bool warned = false;
  for (Item* part : block_.rest) {
    if (!can_be_evaluated(*part)) return part;
    // What stands behind a part that may warn of a row must not take the row away before.
    const auto condition = warned ? std::nullopt : numbers.condition(*part);
    if (!condition) {
      block_.evaluated.push_back(part);
      warned = warned || may_warn(thd_, *part);
    } else if (!block_.passes) {
      block_.passes = condition;
    } else {
      const std::array<Program::Register, 2> both{*block_.passes, *condition};
      block_.passes = block_.conditions->call(Program::Opcode::And, both);
    }
  }
  return nullptr;
}

std::vector<uint16_t> RowBlock::positions_of(const std::vector<const Field*>& fields) const {
  std::vector<uint16_t> positions;
  for (const Field* const field : fields) {
    const auto found = std::ranges::find(columns.fields(), field);
    positions.push_back(static_cast<uint16_t>(found - columns.fields().begin()));
  }
  return positions;
}

std::vector<uint16_t> RowBlock::scanned_columns(bool by_program) const {
  if (!by_program) return columns.numbers();
  std::vector<const Field*> read;
  const auto add = [&](Item& item) {
    for (const Item_field* const column : columns_read_by(item)) read.push_back(column->field);
  };
  for (Item* const item : evaluated) add(*item);
  for (const RowExpression& expression : computed) {
    if (!expression.number) add(*expression.item);
  }
  return columns.numbers_without_unread(read);
}

Result<std::unique_ptr<ComputedRows>> RowBlock::open(Scans scans, TABLE& table, bool by_program,
                                                     const ImageField& image) const {
  Computation computation;
  std::vector<ServerExpressions::Value> by_server;
  for (const RowExpression& expression : computed) {
    if (by_program && expression.number) {
      computation.values = values;
      computation.columns.push_back(Computation::Column::of(*values, expression.number->result));
      continue;
    }
    Field* const field = expression.kind == ServerValue::Image ? image(expression) : nullptr;
    by_server.push_back({.item = expression.item, .kind = expression.kind, .field = field});
    HAILSTONE_ASSIGN(const ScanColumn type, ServerExpressions::type_of(by_server.back()));
    computation.columns.push_back(Computation::Column::of_host(type));
  }
  if (by_program && passes) {
    computation.conditions = conditions;
    computation.passes = *passes;
  }
  const std::vector<Item*>& checked = by_program ? evaluated : rest;
  if (!checked.empty() || !by_server.empty()) {
    computation.host =
        std::make_shared<ServerExpressions>(table, columns.fields(), checked, std::move(by_server));
  }
  return std::make_unique<ComputedRows>(std::move(scans), columns.numbers().size(), std::move(computation));
}

Result<std::unique_ptr<ComputedRows>> RowBlock::open(TABLE& table, bool by_program, BlockRun& run) const {
  std::optional<Scans> scans;
  if (open_scans(readers_of(table), predicate, scanned_columns(by_program), scans) != 0)
    return fail(ErrorCode::Deadlock, "the transaction has been rolled back");
  HAILSTONE_ASSIGN(auto rows,
                   open(std::move(*scans), table, by_program, [](const RowExpression&) { return nullptr; }));
  rows->count_in(row_counts(run));
  return rows;
}

OperatorPlan RowBlock::row_plan() const {
  const TABLE& table = columns.table();
  const uint64_t rows = table.file->stats.records;
  const auto by_server = static_cast<size_t>(std::ranges::count_if(
      computed, [](const RowExpression& expression) { return !expression.number.has_value(); }));
  OperatorPlan plan;
  std::vector<const Field*> read;
  for (size_t i = 0; i < columns.numbers().size(); ++i) {
    const Field* const field = &columns.field_at(i);
    if (std::ranges::find(read, field) == read.end()) read.push_back(field);
  }
  const bool filtered = predicate->kind() != Predicate::Kind::Always;
  plan.push_back(
      {.kind = Operator::Scan,
       .what = fmt::format("{}; columns read: {}{}", table.pos_in_table_list->top_table()->alias.str,
                           read.size(), filtered ? "; filtered" : ""),
       .most_rows = rows});
  if (passes) {
    plan.push_back({.kind = Operator::Filter,
                    .what = fmt::format("conditions: {}", rest.size() - evaluated.size()),
                    .most_rows = rows});
  }
  if (!evaluated.empty() || by_server != 0) {
    plan.push_back({.kind = Operator::Evaluate,
                    .what = fmt::format("by the server, row by row: conditions: {}; expressions: {}",
                                        evaluated.size(), by_server),
                    .most_rows = rows});
  }
  if (by_server < computed.size()) {
    plan.push_back({.kind = Operator::Compute,
                    .what = fmt::format("expressions: {}", computed.size() - by_server),
                    .most_rows = rows});
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
