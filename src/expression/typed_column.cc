#include "expression/typed_column.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "expression/stored_values.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

constexpr unsigned bytes_of_day = 3, bytes_of_moment = 5, bytes_of_seconds = 4, bytes_of_span = 3;
/// Of Signed and Unsigned numbers, by their bytes.
constexpr std::array<unsigned, 9> signed_digits{0, 3, 5, 7, 10, 12, 15, 17, 19},
    unsigned_digits{0, 3, 5, 8, 10, 13, 15, 17, 20};

ScanColumn scanned(const Column& column, const Collation* collation = nullptr) {
  return {.integer = column.is_integer(), .type = column.type, .width = column.width, .collation = collation};
}

std::unexpected<Error> not_stored(const Column& column, const SqlType& type) {
  return fail(ErrorCode::InvalidArgument,
              fmt::format("column '{}': what it stores is no {}", column.name, to_text(type)));
}

bool is_string(const Column& column) {
  return column.type == Type::Char || column.type == Type::Varchar || column.type == Type::Blob;
}

/// The type with what the column says of NULL.
SqlType of_column(SqlType type, const Column& column) {
  type.is_nullable = column.nullable;
  return type;
}

Result<TypedColumn> whole_column(uint16_t position, const Column& column, const SqlType& type) {
  const bool is_bits = column.type == Type::OrderedBytes && column.is_integer();
  if (column.type != Type::Signed && column.type != Type::Unsigned && !is_bits)
    return not_stored(column, type);
  const bool is_unsigned = column.type != Type::Signed;
  ScanColumn scan = scanned(column);
  if (is_bits) scan.type = Type::Unsigned;
  const unsigned digits = (is_unsigned ? unsigned_digits : signed_digits)[column.width];
  return TypedColumn{Expression::column(position, scan)
                         .as(ValueType{.is_unsigned = is_unsigned,
                                       .whole_digits = digits,
                                       .sql = of_column(SqlType::integer(digits, is_unsigned), column)})};
}

Result<TypedColumn> decimal_column(uint16_t position, const Column& column, const SqlType& type) {
  const DecimalDigits digits = column.decimal;
  if (!digits.any() || digits.precision != type.digits || digits.scale != type.scale)
    return not_stored(column, type);
  ValueType value =
      ValueType::decimal(digits.scale, unsigned{digits.precision} - digits.scale, ValueType::Scale::Sure);
  value.sql = of_column(SqlType::decimal(digits.precision, digits.scale), column);
  if (digits.is_short()) {
    const ScanColumn scan{.integer = true, .type = Type::Signed, .width = sizeof(int64_t)};
    return TypedColumn{Expression::column(position, scan).as(value), true};
  }
  const ScanColumn scan{.integer = false, .type = Type::OrderedBytes, .width = sizeof(WideInteger)};
  return TypedColumn{Expression::column_of_numbers(position, scan).as(value), true};
}

Result<TypedColumn> time_column(uint16_t position, const Column& column, const SqlType& type) {
  constexpr unsigned most_digits = 6;
  const unsigned fraction = bytes_of_fraction(type.scale);
  const auto has_width = [&](Type stored, unsigned width) {
    return column.type == stored && column.width == width && type.scale <= most_digits;
  };
  const auto of = [&](std::shared_ptr<const ColumnFunction> function, ValueType::Kind kind) {
    return TypedColumn{Expression::of_column(position, scanned(column), std::move(function))
                           .as(ValueType{.kind = kind, .sql = of_column(type, column)})};
  };
  if (type.kind == Kind::Date && has_width(Type::Unsigned, bytes_of_day))
    return of(moment_of_stored(MomentFormat::day()), ValueType::Kind::Moment);
  if (type.kind == Kind::DateTime && has_width(Type::OrderedBytes, bytes_of_moment + fraction))
    return of(moment_of_stored(MomentFormat::bits(fraction)), ValueType::Kind::Moment);
  if (type.kind == Kind::Instant && has_width(Type::OrderedBytes, bytes_of_seconds + fraction))
    return of(moment_of_stored_seconds(fraction), ValueType::Kind::Moment);
  if (type.kind == Kind::Time && has_width(Type::OrderedBytes, bytes_of_span + fraction))
    return of(span_of_stored(fraction), ValueType::Kind::Span);
  return not_stored(column, type);
}

Result<TypedColumn> text_column(uint16_t position, const Column& column, const SqlType& type) {
  const bool is_bytes = column.type == Type::OrderedBytes && !column.is_integer();
  if ((!is_string(column) && !is_bytes) || type.collation == nullptr) return not_stored(column, type);
  return TypedColumn{Expression::column(position, scanned(column, type.collation))
                         .as(ValueType{.kind = ValueType::Kind::Text, .sql = of_column(type, column)})};
}

}  // namespace

Result<SqlType> stored_type(const Column& column, const CollationResolver& collations) {
  constexpr uint64_t bytes_of_blob = uint64_t{4} << 30;
  SqlType type;
  switch (column.type) {
    case Type::Signed:
      type = SqlType::integer(signed_digits[column.width]);
      break;
    case Type::Unsigned:
      type = SqlType::integer(unsigned_digits[column.width], true);
      break;
    case Type::Float:
      type = {.kind = Kind::Float, .scale = SqlType::any_scale};
      break;
    case Type::Double:
      type = SqlType::real();
      break;
    case Type::OrderedBytes:
      if (column.decimal.any()) {
        type = SqlType::decimal(column.decimal.precision, column.decimal.scale);
      } else if (column.is_integer()) {
        type = SqlType::integer(unsigned_digits[column.width], true);
      } else {
        type = SqlType::text(column.width, binary_collation());
      }
      break;
    case Type::Char:
    case Type::Varchar:
    case Type::Blob: {
      HAILSTONE_ASSIGN(const Collation* const collation, collations.resolve(column.collation));
      type = SqlType::text(column.type == Type::Blob ? bytes_of_blob : column.width, *collation);
      break;
    }
  }
  return of_column(type, column);
}

Result<TypedColumn> typed_column(uint16_t position, const Column& column, const SqlType& type) {
  switch (type.kind) {
    case Kind::Integer:
      return whole_column(position, column, type);
    case Kind::Decimal:
      return decimal_column(position, column, type);
    case Kind::Float:
    case Kind::Double:
      if (column.type != (type.kind == Kind::Float ? Type::Float : Type::Double))
        return not_stored(column, type);
      return TypedColumn{Expression::column(position, scanned(column))
                             .as(ValueType{.kind = ValueType::Kind::Double, .sql = of_column(type, column)})};
    case Kind::Text:
      return text_column(position, column, type);
    case Kind::Date:
    case Kind::DateTime:
    case Kind::Instant:
    case Kind::Time:
      return time_column(position, column, type);
    case Kind::Unknown:
    case Kind::Null:
      break;
  }
  return not_stored(column, type);
}

Result<TypedColumn> year_column(uint16_t position, const Column& column) {
  constexpr unsigned digits = 4;
  const SqlType type = of_column(SqlType::integer(digits, true), column);
  if (column.type != Type::Unsigned || column.width != 1) return not_stored(column, type);
  return TypedColumn{Expression::of_column(position, scanned(column), number_of_year())
                         .as(ValueType{.is_unsigned = true, .whole_digits = digits, .sql = type})};
}

Result<TypedColumn> words_column(uint16_t position, const Column& column, std::vector<std::string> words,
                                 bool is_set, const Collation& collation) {
  uint64_t longest = 0, all = 0;
  for (const std::string& word : words) {
    longest = std::max<uint64_t>(longest, collation.characters(word));
    all += collation.characters(word) + 1;
  }
  const SqlType type = of_column(SqlType::text(is_set ? all : longest, collation), column);
  if (column.type != Type::Unsigned) return not_stored(column, type);
  const Expression number = Expression::column(position, scanned(column));
  return TypedColumn{Expression::call(Function::WordText, {number},
                                      {.of_texts = is_set ? words_of_set(std::move(words))
                                                          : words_of_enum(std::move(words))})
                         .as(type)
                         .said({.name = {}, .arguments = {number}, .word = {}})};
}

}  // namespace hailstone
