#include "select_functions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "decimal_numbers.h"
#include "expression/moment.h"
#include "expression/span.h"
#include "local_time.h"
#include "record.h"

namespace hailstone {

namespace {

constexpr uint bytes_of_moment = 5, bytes_of_seconds = 4;

/// Of more digits than 64 bits have.
class LongDecimalNumber final : public ColumnFunction {
 public:
  LongDecimalNumber(decimal_digits_t precision, decimal_digits_t scale)
      : precision_(precision), scale_(scale) {}

  std::optional<int64_t> of(const Value& value) const override {
    const HugeInteger number = huge_of(value.bytes);
    return number.has_64_bits() ? std::optional(number.narrow()) : std::nullopt;
  }
  bool is_huge() const override { return true; }
  HugeInteger huge_of(ByteView value) const override {
    my_decimal decimal;
    binary2my_decimal(E_DEC_FATAL_ERROR, reinterpret_cast<const uchar*>(value.data()), &decimal, precision_,
                      scale_);
    return huge_number(decimal, scale_);
  }

 private:
  const decimal_digits_t precision_, scale_;
};

/// Of a TIMESTAMP, seconds since 1970 in UTC, what the clocks of a time zone show.
class MomentOfTimestamp final : public ColumnFunction {
 public:
  /// `fraction`: bytes of its fraction of seconds.
  MomentOfTimestamp(uint fraction, const Time_zone& zone) : fraction_(fraction), zone_(zone) {}

  std::optional<int64_t> of(const Value& value) const override {
    int64_t number = 0;
    uint8_t unknown = 0;
    of_all({&value.integer, 1}, &number, &unknown);
    return unknown != 0 ? std::nullopt : std::optional(number);
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    LocalTime local(zone_);
    for (size_t row = 0; row < ordered.size(); ++row) {
      const auto second = static_cast<int64_t>(ordered[row] >> 8 * fraction_);
      unknown[row] = second == 0 ? 1 : 0;  // the zero of dates
      to[row] = moment_of_seconds(local.at(second), microseconds_of_fraction(ordered[row], fraction_));
    }
  }

 private:
  const uint fraction_;
  const Time_zone& zone_;
};

}  // namespace

std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field) {
  const DecimalDigits digits = decimal_digits(field);
  if (digits.any() && digits.is_short()) return decimal_number(digits);
  return std::make_shared<LongDecimalNumber>(static_cast<decimal_digits_t>(field.precision),
                                             static_cast<decimal_digits_t>(field.decimals()));
}

const Time_zone& zone_of_statement(THD& thd) {
  thd.used |= THD::TIME_ZONE_USED;
  return *thd.variables.time_zone;
}

std::optional<MomentFormat> moment_format_of(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_NEWDATE:
      return MomentFormat::day();
    case MYSQL_TYPE_DATETIME2:
      return MomentFormat::bits(field.pack_length() - bytes_of_moment);
    case MYSQL_TYPE_DATETIME:
      return field.decimals() == 0 ? MomentFormat::decimal() : MomentFormat::multiple(field.decimals());
    default:
      return std::nullopt;
  }
}

std::shared_ptr<const ColumnFunction> seconds_of_timestamp(PlainField field) {
  return seconds_of_stored(field->pack_length() - bytes_of_seconds, field->decimals());
}

std::shared_ptr<const ColumnFunction> span_of_time(PlainField field) {
  constexpr uint bytes_of_span = 3;
  if (field->real_type() != MYSQL_TYPE_TIME2) return nullptr;
  return span_of_stored(field->pack_length() - bytes_of_span);
}

std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field) {
  if (field->real_type() == MYSQL_TYPE_TIMESTAMP2)
    return std::make_shared<MomentOfTimestamp>(field->pack_length() - bytes_of_seconds,
                                               zone_of_statement(*current_thd));
  const auto format = moment_format_of(*field);
  return format ? moment_of_stored(*format) : nullptr;
}

}  // namespace hailstone
