#include "equal_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "collation.h"
#include "item_parts.h"

namespace hailstone {

namespace {

/// The digits of a decimal without the zeros in front of them and behind them, in the server's groups of
/// nine; the point is told by how many groups stand before it.
ByteView digits_of(const my_decimal& decimal, Arena& bytes) {
  constexpr int digits_of_group = 9;
  const auto groups = [](int digits) { return (digits + digits_of_group - 1) / digits_of_group; };
  const decimal_digit_t* first = decimal.buf;
  const decimal_digit_t* const point = first + groups(decimal.intg);
  const decimal_digit_t* last = point + groups(decimal.frac);
  while (first != point && *first == 0) ++first;
  while (last != point && last[-1] == 0) --last;
  const size_t size = static_cast<size_t>(last - first) * sizeof *first;
  char* const to = bytes.allocate(2 + size);
  to[0] = static_cast<char>(decimal.sign() ? 1 : 0);
  to[1] = static_cast<char>(point - first);
  std::memcpy(to + 2, first, size);
  return {to, 2 + size};
}

/// Microseconds since 1970 of the server's own form of a TIMESTAMP: four bytes of seconds, and the fraction
/// in one byte for two digits. It has none of the zero of dates.
int64_t microseconds_of(ByteView native) {
  constexpr unsigned bytes_of_seconds = 4;
  constexpr std::array<uint64_t, 4> microseconds{0, 10'000, 100, 1};  // that the fraction counts
  if (native.size() < bytes_of_seconds) return 0;
  const auto fraction = static_cast<unsigned>(native.size()) - bytes_of_seconds;
  return static_cast<int64_t>(load_big_endian(native.data(), bytes_of_seconds) * 1'000'000 +
                              load_big_endian(native.data() + bytes_of_seconds, fraction) *
                                  microseconds[fraction]);
}

}  // namespace

bool has_fixed_bytes(const Type_handler& handler) {
  constexpr std::array<std::string_view, 3> known{"uuid", "inet6", "inet4"};
  return std::ranges::find(known, std::string_view(handler.name().ptr(), handler.name().length())) !=
         known.end();
}

std::optional<EqualValues> EqualValues::of(Item_bool_func2& equality) {
  const auto* const compares = dynamic_cast<Item_bool_rowready_func2*>(&equality);
  if (compares == nullptr) return std::nullopt;
  Item &one = *equality.arguments()[0], &other = *equality.arguments()[1];
  const Type_handler& handler = *compares->compare_type_handler();
  if (has_fixed_bytes(handler)) {
    EqualValues values(As::FixedBytes);
    values.handler_ = &handler;
    return values;
  }
  if (handler.type_collection() != type_handler_slong.type_collection()) return std::nullopt;
  switch (handler.cmp_type()) {
    case INT_RESULT: {
      const bool are_years = one.field_type() == MYSQL_TYPE_YEAR && other.field_type() == MYSQL_TYPE_YEAR;
      return EqualValues(are_years ? As::Moment : As::Integer);
    }
    case REAL_RESULT:
      // Of a fixed number of decimals both, they are equal where they are near.
      if (one.decimals < NOT_FIXED_DEC && other.decimals < NOT_FIXED_DEC) return std::nullopt;
      return EqualValues(As::Real);
    case DECIMAL_RESULT:
      return EqualValues(As::Decimal);
    case STRING_RESULT: {
      if (one.result_type() != STRING_RESULT || other.result_type() != STRING_RESULT ||
          is_json_extract(one) || is_json_extract(other))
        return std::nullopt;
      EqualValues values(As::Text);
      values.charset_ = equality.compare_collation();
      return values;
    }
    case TIME_RESULT: {
      if (handler.field_type() == MYSQL_TYPE_TIMESTAMP) {
        EqualValues values(As::Stamp);
        values.handler_ = &handler;
        return values;
      }
      return EqualValues(handler.mysql_timestamp_type() == MYSQL_TIMESTAMP_TIME ? As::Span : As::Moment);
    }
    default:
      return std::nullopt;
  }
}

Result<ScanColumn> EqualValues::type_of(const Item& side) const {
  switch (as_) {
    case As::Integer:
      return ScanColumn{.integer = true,
                        .type = side.unsigned_flag ? Type::Unsigned : Type::Signed,
                        .width = sizeof(int64_t)};
    case As::Real:
      return ScanColumn{.integer = true, .type = Type::Double, .width = sizeof(double)};
    case As::Moment:
    case As::Span:
    case As::Stamp:
      return ScanColumn{.integer = true, .type = Type::Signed, .width = sizeof(int64_t)};
    case As::Decimal:
    case As::FixedBytes:
      return ScanColumn{.integer = false,
                        .type = Type::OrderedBytes,
                        .width = side.max_length,
                        .collation = &binary_collation()};
    case As::Text:
      break;
  }
  HAILSTONE_ASSIGN(const Collation* const collation,
                   mariadb_collations().resolve(collation_id(*charset_, 0)));
  return ScanColumn{
      .integer = false, .type = Type::Varchar, .width = side.max_length, .collation = collation};
}

Value EqualValues::value_of(Item& side, THD& thd, Arena& bytes) const {
  const auto number = [&](longlong value) {
    return side.null_value ? Value{} : Value::of(order_signed(value, sizeof value));
  };
  switch (as_) {
    case As::Integer: {
      const longlong value = side.val_int();
      if (!side.unsigned_flag || side.null_value) return number(value);
      return Value::of(static_cast<uint64_t>(value));
    }
    case As::Real: {
      const double value = side.val_real();
      return side.null_value ? Value{} : Value::of(order_double(value + 0.0));
    }
    case As::Decimal: {
      my_decimal buffer, rounded;
      const my_decimal* decimal = side.val_decimal(&buffer);
      if (decimal == nullptr || side.null_value) return {};
      if (decimal->frac > static_cast<int>(side.decimals)) {
        decimal->round_to(&rounded, side.decimals, HALF_UP);
        decimal = &rounded;
      }
      return Value::of(digits_of(*decimal, bytes));
    }
    case As::Text: {
      StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer(side.collation.collation);
      const String* const text = side.val_str(&buffer);
      return text == nullptr ? Value{} : Value::of(bytes.copy({text->ptr(), text->length()}));
    }
    case As::Moment:
      return number(side.val_datetime_packed(&thd));
    case As::Span:
      return number(side.val_time_packed(&thd));
    case As::Stamp:
    case As::FixedBytes: {
      NativeBuffer<STRING_BUFFER_USUAL_SIZE> native;
      if (side.val_native_with_conversion(&thd, &native, handler_)) return {};
      const ByteView value(native.ptr(), native.length());
      if (as_ == As::FixedBytes) return Value::of(bytes.copy(value));
      return Value::of(order_signed(microseconds_of(value), sizeof(int64_t)));
    }
  }
  HAILSTONE_CHECK(false, "values are compared as nothing that there is");
  return {};
}

}  // namespace hailstone
