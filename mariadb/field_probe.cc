#include "field_probe.h"

#include <algorithm>
#include <array>
#include <limits>

#include "server/differences.h"

namespace hailstone {

namespace {

constexpr std::array<int64_t, 7> powers_of_ten = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000};
constexpr Rank seconds_of_time = 838 * 3600 + 59 * 60 + 59;
// The least and the greatest DECIMAL of so many digits are less than 2^127 apart, so that a Rank holds
// differences too.
constexpr uint most_decimal_digits = 37;

/// Values of a bytes column within one of some ranges by memcmp.
class BytesRanges final : public BytesTest {
 public:
  explicit BytesRanges(std::vector<BytesRange> ranges) : ranges_(std::move(ranges)) {}
  bool matches(ByteView value) const override {
    const auto range =
        std::ranges::lower_bound(ranges_, value, {}, [](const auto& each) { return ByteView(each.high); });
    return range != ranges_.end() && ByteView(range->low) <= value;
  }
  std::optional<Limits> limits() const override { return Limits{ranges_.front().low, ranges_.back().high}; }
  std::span<const BytesRange> ranges() const override { return ranges_; }

 private:
  std::vector<BytesRange> ranges_;  // ascending, at least one
};

/// Bytes that the format gives a fraction of so many digits.
constexpr unsigned fraction_bytes(uint digits) { return (digits + 1) / 2; }

/// A fraction of so many digits as the format holds it: in even digits.
constexpr uint64_t stored_fraction(uint64_t fraction, uint digits) {
  return digits % 2 == 0 ? fraction : fraction * 10;
}

Rank decimal_limit(uint precision) {
  Rank limit = 1;
  for (uint i = 0; i < precision; ++i) limit *= 10;
  return limit - 1;
}

}  // namespace

std::optional<FieldProbe::Kind> FieldProbe::kind_of(PlainField field) {
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_BIT:
      return Kind::Integer;
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return Kind::Real;
    case MYSQL_TYPE_NEWDECIMAL:
      if (static_cast<const Field_new_decimal&>(*field).precision > most_decimal_digits) return std::nullopt;
      return Kind::Decimal;
    case MYSQL_TYPE_NEWDATE:
      return Kind::Date;
    case MYSQL_TYPE_DATETIME2:
      return Kind::DateTime;
    case MYSQL_TYPE_TIME2:
      return Kind::Time;
    case MYSQL_TYPE_TIMESTAMP2:
      return Kind::TimeStamp;
    case MYSQL_TYPE_YEAR:
      return Kind::Enumerated;
    case MYSQL_TYPE_ENUM:
      if (words_of(static_cast<const Field_enum&>(*field)).count >= few_values) return std::nullopt;
      return Kind::Enumerated;
    case MYSQL_TYPE_SET:
      if (field->pack_length() > 1) return std::nullopt;
      return Kind::Enumerated;
    default:
      return std::nullopt;
  }
}

FieldProbe::FieldProbe(TABLE& table, Field& field, Kind kind)
    : field_(field), kind_(kind), format_(field, table.record[0]), digits_(field.decimals()), saved_(field) {
  const uint32_t width = field.pack_length();
  const uint64_t all_ones = width >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1;
  switch (kind) {
    case Kind::Integer:
      greatest_ = field.real_type() != MYSQL_TYPE_BIT ? all_ones
                  : field.field_length >= 64          ? ~uint64_t{0}
                                                      : (uint64_t{1} << field.field_length) - 1;
      break;
    case Kind::Real: {
      // From one infinity to the other: beyond them are the numbers that are none.
      const double infinity_value = std::numeric_limits<double>::infinity();
      const bool is_float = format_.kind == FieldFormat::Kind::Float;
      least_ = is_float ? order_float(static_cast<float>(-infinity_value)) : order_double(-infinity_value);
      greatest_ = is_float ? order_float(static_cast<float>(infinity_value)) : order_double(infinity_value);
      break;
    }
    case Kind::Decimal:
      greatest_ = decimal_limit(static_cast<const Field_new_decimal&>(field).precision);
      least_ = (field.flags & UNSIGNED_FLAG) != 0 ? 0 : -greatest_;
      break;
    case Kind::Date:
      greatest_ = Rank{10'000} * 13 * 32 - 1;
      break;
    case Kind::DateTime:
      greatest_ = Rank{10'000} * 13 * 32 * 86'400 * powers_of_ten[digits_] - 1;
      break;
    case Kind::Time:
      greatest_ = (seconds_of_time + 1) * powers_of_ten[digits_] - 1;
      least_ = -greatest_;
      break;
    case Kind::TimeStamp:
      greatest_ = (Rank{TIMESTAMP_MAX_VALUE} + 1) * powers_of_ten[digits_] - 1;
      break;
    case Kind::Enumerated:
      greatest_ = field.real_type() == MYSQL_TYPE_YEAR ? 255
                  : field.real_type() == MYSQL_TYPE_ENUM
                      ? Rank{words_of(static_cast<const Field_enum&>(field)).count}
                      : (Rank{1} << words_of(static_cast<const Field_enum&>(field)).count) - 1;
      break;
  }
}

uint64_t FieldProbe::ordered(Rank rank) const {
  const int64_t scale = digits_ < powers_of_ten.size() ? powers_of_ten[digits_] : 1;
  const unsigned fraction_bits = 8 * fraction_bytes(digits_);
  switch (kind_) {
    case Kind::Date: {
      const auto days = static_cast<uint64_t>(rank);
      return days / (13 * 32) << 9 | days / 32 % 13 << 5 | days % 32;
    }
    case Kind::DateTime: {
      const auto fraction = static_cast<uint64_t>(rank % scale);
      const auto seconds = static_cast<uint64_t>(rank / scale);
      const uint64_t days = seconds / 86'400, second = seconds % 86'400;
      // Years and months together count in thirteenths, as the server's packed form does.
      const uint64_t day = days / 32 << 5 | days % 32;
      const uint64_t whole = day << 17 | second / 3600 << 12 | second / 60 % 60 << 6 | second % 60;
      return (whole + 0x80'0000'0000) << fraction_bits | stored_fraction(fraction, digits_);
    }
    case Kind::Time: {
      const Rank size = rank < 0 ? -rank : rank;
      const auto fraction = static_cast<uint64_t>(size % scale);
      const auto seconds = static_cast<uint64_t>(size / scale);
      const uint64_t whole = seconds / 3600 << 12 | seconds / 60 % 60 << 6 | seconds % 60;
      const auto packed = static_cast<int64_t>(whole << fraction_bits | stored_fraction(fraction, digits_));
      return static_cast<uint64_t>((int64_t{0x80'0000} << fraction_bits) + (rank < 0 ? -packed : packed));
    }
    case Kind::TimeStamp:
      return static_cast<uint64_t>(rank / scale) << fraction_bits |
             stored_fraction(static_cast<uint64_t>(rank % scale), digits_);
    default:
      return static_cast<uint64_t>(rank);
  }
}

void FieldProbe::put_decimal(Rank rank) {
  std::array<char, 64> text;
  char* at = text.data() + text.size();
  *--at = '\0';
  Rank rest = rank < 0 ? -rank : rank;
  for (uint digit = 0; rest != 0 || digit <= digits_; ++digit) {
    if (digit == digits_ && digits_ > 0) *--at = '.';
    *--at = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (rank < 0) *--at = '-';
  my_decimal number;
  char* end = text.data() + text.size() - 1;
  str2my_decimal(E_DEC_OK, at, &number, &end);
  number.to_binary(field_.ptr, static_cast<const Field_new_decimal&>(field_).precision,
                   static_cast<decimal_digits_t>(digits_), E_DEC_OK);
}

void FieldProbe::put(Rank rank) {
  field_.set_notnull();
  if (kind_ == Kind::Decimal) {
    put_decimal(rank);
  } else {
    format_.write(Value::of(ordered(rank)), field_.ptr);
  }
}

RankRange FieldProbe::place_of_whole_number(Item& constant) const {
  const int64_t number = constant.val_int();
  Rank rank = constant.unsigned_flag ? Rank{static_cast<uint64_t>(number)} : Rank{number};
  if (format_.kind == FieldFormat::Kind::Signed) rank += Rank{1} << (8 * format_.width - 1);
  if (rank < least_) return {least_, least_ - 1};
  if (rank > greatest_) return {greatest_ + 1, greatest_};
  return {rank, rank};
}

Rank FieldProbe::first_where(const std::function<bool(Rank)>& holds) const {
  Rank low = least_, high = greatest_ + 1;
  while (low < high) {
    const Rank middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Predicate FieldProbe::predicate(uint16_t column, const std::vector<RankRange>& ranges) {
  if (ranges.empty()) return Predicate::never();
  if (ranges.size() == 1 && ranges.front().low == least_ && ranges.front().high == greatest_) {
    return Predicate::is_not_null(column);
  }
  const bool wide = format_.kind == FieldFormat::Kind::Fixed;
  std::vector<IntegerRange> numbers;
  std::vector<BytesRange> bytes;
  for (const RankRange& range : ranges) {
    put(range.low);
    const Value low = format_.read(field_.ptr);
    const std::string low_bytes(low.bytes);
    put(range.high);
    const Value high = format_.read(field_.ptr);
    if (wide) {
      bytes.push_back({low_bytes, std::string(high.bytes)});
    } else if (kind_ == Kind::Decimal) {
      numbers.push_back({low.integer, high.integer});
    } else {
      // Not as read back: a zero may have lost its sign on the way.
      numbers.push_back({ordered(range.low), ordered(range.high)});
    }
  }
  if (wide) return Predicate::bytes(column, std::make_shared<BytesRanges>(std::move(bytes)));
  return Predicate::integer(column, std::move(numbers));
}

std::vector<RankRange> FieldProbe::widened_by_a_day(std::vector<RankRange> ranges) const {
  const Rank day = Rank{86'400} * powers_of_ten[digits_];
  std::vector<RankRange> result;
  for (RankRange range : ranges) {
    range.low = std::max(least_, range.low - day);
    range.high = std::min(greatest_, range.high + day);
    if (!result.empty() && range.low <= result.back().high) {
      result.back().high = range.high;
    } else {
      result.push_back(range);
    }
  }
  return result;
}

}  // namespace hailstone
