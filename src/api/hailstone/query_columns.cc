#include "api/hailstone/query_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "expression/stored_values.h"
#include "expression/typed_column.h"

namespace hailstone::capi {

namespace {

constexpr unsigned digits_of_microseconds = 6;

/// Of DATE and the like, which are numbers in their columns.
Expression time_value(uint16_t id, const ScanColumn& stored, hs_type type) {
  using Kind = SqlType::Kind;
  const bool is_day = type == HS_DATE;
  const Kind kind = is_day ? Kind::Date : type == HS_TIMESTAMP ? Kind::Instant : Kind::DateTime;
  return Expression::of_column(id, stored, is_day ? moment_of_days() : moment_of_microseconds())
      .as(ValueType{.kind = ValueType::Kind::Moment,
                    .sql = SqlType::moment(kind, is_day ? 0 : digits_of_microseconds)});
}

Result<Expression> value_of(const ColumnShape& column, uint16_t id, const ScanColumn& stored) {
  switch (column.type) {
    case HS_DATE:
    case HS_TIMESTAMP:
    case HS_DATETIME:
      return time_value(id, stored, column.type);
    case HS_STRING:
    case HS_BYTES: {
      constexpr uint64_t most_characters = uint64_t{4} << 30;
      const bool is_strange = column.collation != nullptr && !column.collation->has_weights();
      const Collation& collation = is_strange                 ? *column.collation
                                   : column.type == HS_STRING ? utf8_collation()
                                                              : binary_collation();
      const uint64_t characters = column.most_bytes != 0 ? column.most_bytes : most_characters;
      return Expression::column(id, stored)
          .as(ValueType{.kind = ValueType::Kind::Text, .sql = SqlType::text(characters, collation)});
    }
    case HS_BOOL:
      return Expression::column(id, stored)
          .as(ValueType{.is_unsigned = true, .whole_digits = 1, .sql = SqlType::truth()});
    default: {
      const hailstone::Column definition{
          .name = column.name, .type = column.stored, .width = column.width, .nullable = column.nullable};
      const SqlType type = column.stored == Type::Float
                               ? SqlType{.kind = SqlType::Kind::Float, .scale = SqlType::any_scale}
                           : column.stored == Type::Double ? SqlType::real()
                                                           : SqlType::integer(1);
      HAILSTONE_ASSIGN(const TypedColumn typed, typed_column(id, definition, type));
      return typed.value;
    }
  }
}

Returned<Expression> constant_of(const hs_value& value) {
  switch (value.kind) {
    case HS_VALUE_NULL:
      return constant_null();
    case HS_VALUE_INT:
      return returned(constant_number(fmt::format("{}", value.as.i)));
    case HS_VALUE_UINT:
      return returned(constant_number(fmt::format("{}", value.as.u)));
    case HS_VALUE_DOUBLE:
      if (!std::isfinite(value.as.d)) return refuse(HS_INVALID, "a parameter is no finite number");
      return returned(constant_number(fmt::format("{:e}", value.as.d)));
    case HS_VALUE_BYTES:
      if (value.as.bytes.data == nullptr && value.as.bytes.size != 0)
        return refuse(HS_INVALID, "the bytes of a parameter are NULL");
      return constant_text(std::string(static_cast<const char*>(value.as.bytes.data), value.as.bytes.size));
  }
  return refuse(HS_INVALID, "a parameter is a value of no kind");
}

}  // namespace

ScanColumn stored_column(const ColumnShape& column) {
  return {.integer = column.integer,
          .type = column.stored,
          .width = column.width,
          .collation = column.integer                ? nullptr
                       : column.collation == nullptr ? &binary_collation()
                                                     : column.collation};
}

Result<BaseColumns> base_columns(std::span<const ColumnShape> columns, const std::string& qualifier,
                                 plan::ColumnIds& ids) {
  BaseColumns base;
  for (const ColumnShape& column : columns) {
    HAILSTONE_ASSIGN(const plan::ColumnId id, ids.take());
    const ScanColumn stored = stored_column(column);
    HAILSTONE_ASSIGN(Expression value, value_of(column, id, stored));
    // Times are whole numbers to the operators.
    const bool is_time = value->kind == Expression::Kind::OfColumn;
    base.columns.push_back(
        {.id = id, .name = column.name, .stored = stored, .type = is_time ? ValueType() : value.type()});
    base.named.push_back(
        {.qualifier = qualifier, .name = column.name, .value = std::move(value), .mark = column.type});
  }
  return base;
}

std::vector<ExportedColumn> exported_columns(std::span<const plan::NamedColumn> named,
                                             std::span<const plan::Column> columns) {
  constexpr unsigned most_digits = 38;
  using Form = ExportedColumn::Form;
  std::vector<ExportedColumn> exported;
  for (size_t i = 0; i < named.size(); ++i) {
    const ScanColumn& stored = columns[i].stored;
    const SqlType& type = named[i].value.sql();
    ExportedColumn column{.shape = {.name = named[i].name,
                                    .type = static_cast<hs_type>(named[i].mark),
                                    .integer = stored.integer,
                                    .stored = stored.type,
                                    .width = stored.width}};
    if (named[i].mark == 0) {
      switch (type.kind) {
        case SqlType::Kind::Unknown:
        case SqlType::Kind::Null:
        case SqlType::Kind::Integer:
          column.shape.type = named[i].is_truth                                   ? HS_BOOL
                              : stored.type == Type::Unsigned && type.is_unsigned ? HS_UINT64
                                                                                  : HS_INT64;
          if (!stored.integer) {
            column.form = Form::Whole;
            column.shape.type = type.is_unsigned ? HS_UINT64 : HS_INT64;
          }
          break;
        case SqlType::Kind::Decimal:
          column.form = Form::Decimal;
          column.digits = std::min(type.digits, most_digits);
          column.scale = std::min(type.scale, most_digits);
          break;
        case SqlType::Kind::Float:
        case SqlType::Kind::Double:
          column.shape.type = stored.type == Type::Float ? HS_FLOAT : HS_DOUBLE;
          break;
        case SqlType::Kind::Text:
          column.shape.type = type.collation == &binary_collation() ? HS_BYTES : HS_STRING;
          break;
        case SqlType::Kind::Date:
        case SqlType::Kind::DateTime:
        case SqlType::Kind::Instant:
          column.form = Form::Moment;
          column.shape.type = type.kind == SqlType::Kind::Date      ? HS_DATE
                              : type.kind == SqlType::Kind::Instant ? HS_TIMESTAMP
                                                                    : HS_DATETIME;
          break;
        case SqlType::Kind::Time:
          column.form = Form::Span;
          column.shape.type = HS_INT64;
          break;
      }
    }
    exported.push_back(std::move(column));
  }
  return exported;
}

Returned<Parameters> parameters_of(const hs_value* values, size_t count) {
  if (values == nullptr && count != 0) return refuse(HS_INVALID, "the parameters are NULL");
  Parameters parameters;
  for (size_t i = 0; i < count; ++i) {
    HAILSTONE_ASSIGN(Expression constant, constant_of(values[i]));
    parameters.in_order.push_back(std::move(constant));
  }
  return parameters;
}

}  // namespace hailstone::capi
