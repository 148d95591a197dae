#include "expression/sql_type.h"

#include <algorithm>

#include <fmt/format.h>

namespace hailstone {

SqlType SqlType::decimal(unsigned digits, unsigned scale, bool is_unsigned) {
  const unsigned kept = std::min(scale, most_scale);
  return {.kind = Kind::Decimal,
          .is_unsigned = is_unsigned,
          .digits = std::clamp(digits, std::max(kept, 1U), most_digits),
          .scale = kept};
}

std::string to_text(const SqlType& type) {
  using Kind = SqlType::Kind;
  const auto with_fraction = [&](std::string_view name) {
    return type.scale == 0 ? std::string(name) : fmt::format("{}({})", name, type.scale);
  };
  switch (type.kind) {
    case Kind::Unknown:
      return "a value";
    case Kind::Null:
      return "NULL";
    case Kind::Integer:
      return type.is_unsigned ? "BIGINT UNSIGNED" : "BIGINT";
    case Kind::Decimal:
      return fmt::format("DECIMAL({},{}){}", type.digits, type.scale, type.is_unsigned ? " UNSIGNED" : "");
    case Kind::Float:
      return "FLOAT";
    case Kind::Double:
      return "DOUBLE";
    case Kind::Text:
      return fmt::format("VARCHAR({})", type.characters);
    case Kind::Date:
      return "DATE";
    case Kind::DateTime:
      return with_fraction("DATETIME");
    case Kind::Instant:
      return with_fraction("TIMESTAMP");
    case Kind::Time:
      return with_fraction("TIME");
  }
  return {};
}

}  // namespace hailstone
