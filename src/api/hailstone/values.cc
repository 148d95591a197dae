#include "api/hailstone/values.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"

namespace hailstone::capi {

namespace {

constexpr size_t few_key_columns = 4;

Failure wrong_kind(const ColumnShape& column) {
  return {HS_INVALID, fmt::format("column '{}' does not take a value of that kind", column.name)};
}
Failure out_of_range(const ColumnShape& column) {
  return {HS_OUT_OF_RANGE, fmt::format("a number does not fit into column '{}'", column.name)};
}

Failure of_table(const TableShape& table, Failure failure) {
  return {failure.status, fmt::format("table '{}': {}", table.name(), failure.message)};
}

bool is_too_long(const ColumnShape& column, const Value& value) {
  return column.most_bytes != 0 && !value.null && value.bytes.size() > column.most_bytes;
}
Failure too_long(const TableShape& table, const ColumnShape& column, const Value& value) {
  return {HS_INVALID, fmt::format("table '{}': {} bytes are too many for column '{}', which takes {}",
                                  table.name(), value.bytes.size(), column.name, column.most_bytes)};
}

/// Long texts are cut, and bytes that are no text are numbers.
std::string text_of(const ColumnShape& column, const hs_value& value) {
  constexpr size_t most_bytes = 60;
  switch (value.kind) {
    case HS_VALUE_NULL:
      return "NULL";
    case HS_VALUE_INT:
      return fmt::format("{}", value.as.i);
    case HS_VALUE_UINT:
      return fmt::format("{}", value.as.u);
    case HS_VALUE_DOUBLE:
      return fmt::format("{}", value.as.d);
    case HS_VALUE_BYTES:
      break;
  }
  const ByteView bytes(static_cast<const char*>(value.as.bytes.data), value.as.bytes.size);
  size_t shown = std::min(bytes.size(), most_bytes);
  // Not within a character.
  while (shown > 0 && shown < bytes.size() && (static_cast<unsigned char>(bytes[shown]) & 0xc0) == 0x80)
    --shown;
  std::string text = "'";
  for (const char c : bytes.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_text = byte >= 0x20 && byte != 0x7f && (byte < 0x80 || column.type == HS_STRING);
    text += is_text ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return text + (shown < bytes.size() ? "…'" : "'");
}

/// Whether an integer lies within the column's limits.
bool fits(const ColumnShape& column, int64_t number) {
  if (column.type == HS_BOOL) return number == 0 || number == 1;
  if (is_signed(column)) return native_signed(order_signed(number, column.width), column.width) == number;
  return number >= 0 && static_cast<uint64_t>(number) <= bits_of_width(column.width);
}
bool fits(const ColumnShape& column, uint64_t number) {
  if (column.type == HS_BOOL) return number <= 1;
  const uint64_t bits = bits_of_width(column.width);
  return number <= (is_signed(column) ? bits >> 1 : bits);
}

bool take_real(const ColumnShape& column, double number, Value& to) {
  const bool too_great =
      column.stored == Type::Float && std::isfinite(number) && std::isinf(static_cast<float>(number));
  if (!too_great) to = Value::of(ordered_real(column, number));
  return !too_great;
}

template <typename Number>
bool take_number(const ColumnShape& column, Number number, Value& to) {
  if (is_floating(column)) return take_real(column, static_cast<double>(number), to);
  if (!column.integer || !fits(column, number)) return false;
  to = Value::of(ordered_integer(column, static_cast<Integer>(number)));
  return true;
}

/// Gives `to` the value for a column, unless the column does not take it: refusal() says why.
bool take(const ColumnShape& column, const hs_value& value, Value& to) {
  switch (value.kind) {
    case HS_VALUE_NULL:
      to = {};
      return column.nullable;
    case HS_VALUE_INT:
      return take_number(column, value.as.i, to);
    case HS_VALUE_UINT:
      return take_number(column, value.as.u, to);
    case HS_VALUE_DOUBLE:
      return is_floating(column) && take_real(column, value.as.d, to);
    case HS_VALUE_BYTES: {
      const auto* const data = static_cast<const char*>(value.as.bytes.data);
      if (column.integer || (data == nullptr && value.as.bytes.size > 0)) return false;
      to = Value::of(ByteView(data == nullptr ? "" : data, value.as.bytes.size));
      return true;
    }
  }
  return false;
}

/// Of a value that the column does not take.
Failure refusal(const ColumnShape& column, const hs_value& value) {
  switch (value.kind) {
    case HS_VALUE_NULL:
      return {HS_INVALID, fmt::format("column '{}' takes no NULL", column.name)};
    case HS_VALUE_BYTES:
      if (column.integer) return wrong_kind(column);
      return {HS_INVALID, fmt::format("the bytes for column '{}' are NULL", column.name)};
    case HS_VALUE_INT:
    case HS_VALUE_UINT:
      return column.integer ? out_of_range(column) : wrong_kind(column);
    case HS_VALUE_DOUBLE:
      return is_floating(column) ? out_of_range(column) : wrong_kind(column);
  }
  return wrong_kind(column);
}

/// The same for a row.
bool take(const TableShape& table, size_t column, const hs_value& value, Value& to) {
  return take(table.columns[column], value, to) && !is_too_long(table.columns[column], to);
}
Failure refusal(const TableShape& table, size_t column, const hs_value& value) {
  const ColumnShape& shape = table.columns[column];
  Value taken;
  if (take(shape, value, taken)) return too_long(table, shape, taken);
  return of_table(table, refusal(shape, value));
}

}  // namespace

IntegerLimits limits_of(const ColumnShape& column) {
  const Integer one = 1;
  if (column.type == HS_BOOL) return {0, 1};
  const unsigned bits = 8 * column.width;
  if (is_signed(column)) return {-(one << (bits - 1)), (one << (bits - 1)) - 1};
  return {0, (one << bits) - 1};
}

bool is_text(const ColumnShape& column) { return column.type == HS_STRING || column.type == HS_BYTES; }

uint64_t ordered_integer(const ColumnShape& column, Integer number) {
  if (is_signed(column)) return order_signed(static_cast<int64_t>(number), column.width);
  return static_cast<uint64_t>(number);
}

Integer native_integer(const ColumnShape& column, uint64_t ordered) {
  if (is_signed(column)) return native_signed(ordered, column.width);
  return static_cast<Integer>(ordered);
}

uint64_t ordered_real(const ColumnShape& column, double number) {
  if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
  return column.stored == Type::Float ? order_float(static_cast<float>(number)) : order_double(number);
}

double native_real(const ColumnShape& column, uint64_t ordered) {
  return column.stored == Type::Float ? static_cast<double>(native_float(ordered)) : native_double(ordered);
}

Returned<Value> to_engine(const ColumnShape& column, const hs_value& value) {
  Value taken;
  if (take(column, value, taken)) [[likely]]
    return taken;
  return std::unexpected(refusal(column, value));
}

Returned<Value> to_engine(const TableShape& table, size_t column, const hs_value& value) {
  Value taken;
  if (take(table, column, value, taken)) [[likely]]
    return taken;
  return std::unexpected(refusal(table, column, value));
}

Outcome check_lengths(const TableShape& table, std::span<const Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_too_long(table.columns[i], values[i]))
      return std::unexpected(too_long(table, table.columns[i], values[i]));
  }
  return {};
}

Outcome to_engine(const TableShape& table, const hs_value* values, size_t count, std::vector<Value>& to) {
  if (values == nullptr) {
    return refuse(HS_INVALID, fmt::format("the values for a row of table '{}' are NULL", table.name()));
  }
  if (count != table.columns.size()) {
    return refuse(HS_INVALID, fmt::format("table '{}' has {} columns, but {} values were given", table.name(),
                                          table.columns.size(), count));
  }
  to.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (!take(table, i, values[i], to[i])) [[unlikely]]
      return std::unexpected(refusal(table, i, values[i]));
  }
  return {};
}

Outcome encode_key(const TableShape& table, size_t index, const hs_value* values, size_t count,
                   std::string& to) {
  const TableDefinition& definition = table.table->layout()->definition();
  const Index& parts = definition.indexes[index];
  if (values == nullptr && count > 0) {
    return refuse(HS_INVALID,
                  fmt::format("the key for index '{}' of table '{}' is NULL", parts.name, table.name()));
  }
  if (count > parts.parts.size()) {
    return refuse(HS_INVALID, fmt::format("index '{}' of table '{}' has {} columns, but {} values were given",
                                          parts.name, table.name(), parts.parts.size(), count));
  }
  absl::InlinedVector<Value, few_key_columns> converted(count);
  for (size_t i = 0; i < count; ++i) {
    const ColumnShape& column = table.columns[parts.parts[i].column];
    if (!take(column, values[i], converted[i])) [[unlikely]]
      return std::unexpected(of_table(table, refusal(column, values[i])));
  }
  to.clear();
  HAILSTONE_TRY(table.table->key_codec(index).append(converted, to));
  return {};
}

std::string key_text(const TableShape& table, size_t index, ByteView row) {
  const TableLayout& layout = *table.table->layout();
  std::vector<Value> values(table.columns.size());
  layout.row_codec().decode(row, values);
  std::string text;
  for (const IndexPart& part : layout.definition().indexes[index].parts) {
    if (!text.empty()) text += ", ";
    const ColumnShape& column = table.columns[part.column];
    text += text_of(column, from_engine(column, values[part.column]));
  }
  return fmt::format("({})", text);
}

}  // namespace hailstone::capi
