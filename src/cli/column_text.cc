#include "cli/column_text.h"

#include <fmt/format.h>

#include "api/hailstone/handles.h"
#include "schema/row_codec.h"
#include "text/value_text.h"

namespace hailstone {

std::string column_type_text(const TableDefinition& table, const Column& column) {
  const auto shown = capi::shown_type(table, column);
  // A number of three bytes, as MariaDB has it, is more than its name here says.
  const bool exact = shown && (column.type > Type::Double || column.width == 1 || column.width == 2 ||
                               column.width == 4 || column.width == 8);
  if (!exact) {
    const char* const kind = column.type == Type::Signed     ? "signed"
                             : column.type == Type::Unsigned ? "unsigned"
                                                             : "ordered bytes";
    return fmt::format("{}({})", kind, column.width);
  }
  const bool limited = (*shown == HS_STRING || *shown == HS_BYTES) && column.width > 0;
  return limited ? fmt::format("{}({})", type_name(*shown), column.width) : std::string(type_name(*shown));
}

std::string ordered_text(const TableDefinition& table, const Column& column, uint64_t ordered) {
  std::string text;
  switch (column.type) {
    case Type::Float:
      append_float(native_float(ordered), text);
      return text;
    case Type::Double:
      append_double(native_double(ordered), text);
      return text;
    case Type::Signed: {
      const int64_t number = native_signed(ordered, column.width);
      const auto shown = capi::shown_type(table, column);
      if (shown && *shown == HS_DATE) {
        append_date(static_cast<int32_t>(number), text);
        return text;
      }
      if (shown && (*shown == HS_TIMESTAMP || *shown == HS_DATETIME)) {
        append_timestamp(number, text);
        return text;
      }
      return std::to_string(number);
    }
    case Type::OrderedBytes:
      return fmt::format("0x{:0{}x}", ordered, 2 * column.width);
    default:
      return std::to_string(ordered);
  }
}

}  // namespace hailstone
