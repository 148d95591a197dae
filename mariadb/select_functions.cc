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

class DecimalNumber final : public ColumnFunction {
 public:
  explicit DecimalNumber(DecimalDigits digits) : format_(digits) {}

  std::optional<int64_t> of(const Value& value) const override {
    if (!format_.is_integer()) return static_cast<int64_t>(format_.any_number(value.bytes));
    int64_t number = 0;
    uint8_t unknown = 0;
    of_all({&value.integer, 1}, &number, &unknown);
    return number;
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    static_cast<void>(format_.numbers(ordered, reinterpret_cast<uint64_t*>(to)));
    for (size_t i = 0; i < ordered.size(); ++i)
      to[i] = native_signed(static_cast<uint64_t>(to[i]), sizeof(int64_t));
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const DecimalFormat format_;
};

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

class NumberOfYear final : public ColumnFunction {
 public:
  std::optional<int64_t> of(const Value& value) const override {
    constexpr int64_t before_first = 1900;
    return value.integer == 0 ? 0 : before_first + static_cast<int64_t>(value.integer);
  }
};

/// How many microseconds a fraction of seconds of so many bytes counts.
uint64_t unit_of_fraction(uint bytes) {
  constexpr std::array<uint64_t, 4> microseconds{0, 10'000, 100, 1};
  return microseconds[bytes];
}

/// Of a DATETIME's, or a TIMESTAMP's, fraction of seconds of so many bytes.
uint64_t microseconds_of(uint64_t value, uint fraction) {
  return (value & ((uint64_t{1} << 8 * fraction) - 1)) * unit_of_fraction(fraction);
}

constexpr unsigned bits_of_microseconds = 24;
constexpr uint64_t offset_of_moments = 0x80'0000'0000;

class Moment final : public ColumnFunction {
 public:
  explicit Moment(MomentFormat format) : format_(format) {}

  std::optional<int64_t> of(const Value& value) const override { return format_.moment(value.integer); }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    for (size_t row = 0; row < ordered.size(); ++row) to[row] = format_.moment(ordered[row]);
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const MomentFormat format_;
};

/// Seconds since 1970 in UTC, times a power of ten.
class SecondsOfTimestamp final : public ColumnFunction {
 public:
  SecondsOfTimestamp(uint fraction, uint digits) : fraction_(fraction), digits_(digits) {}

  std::optional<int64_t> of(const Value& value) const override {
    constexpr uint digits_of_microseconds = 6;
    const auto second = static_cast<int64_t>(value.integer >> 8 * fraction_);
    if (second == 0) return std::nullopt;  // the zero of dates: of a column it is 0, of a view's NULL
    const auto microseconds = static_cast<int64_t>(microseconds_of(value.integer, fraction_));
    return second * int64_powers_of_ten[digits_] +
           microseconds / int64_powers_of_ten[digits_of_microseconds - digits_];
  }

 private:
  const uint fraction_, digits_;
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
      to[row] = moment_of_seconds(local.at(second), microseconds_of(ordered[row], fraction_));
    }
  }

 private:
  const uint fraction_;
  const Time_zone& zone_;
};

/// Of a TIME.
class Span final : public ColumnFunction {
 public:
  /// `fraction`: bytes of its fraction of seconds.
  explicit Span(uint fraction) : fraction_(fraction) {}

  std::optional<int64_t> of(const Value& value) const override {
    constexpr int64_t zero = 0x80'0000;
    const int64_t number = static_cast<int64_t>(value.integer) - (zero << 8 * fraction_);
    const auto bits = static_cast<uint64_t>(number < 0 ? -number : number);
    const uint64_t second = bits >> 8 * fraction_;
    return span_of(number < 0, {.hour = second >> 12,
                                .minute = second >> 6 & 63,
                                .second = second & 63,
                                .microsecond = microseconds_of(bits, fraction_)});
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    for (size_t row = 0; row < ordered.size(); ++row) to[row] = *of(Value::of(ordered[row]));
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const uint fraction_;
};

}  // namespace

std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field) {
  const DecimalDigits digits = decimal_digits(field);
  if (digits.any() && digits.is_short()) return std::make_shared<DecimalNumber>(digits);
  return std::make_shared<LongDecimalNumber>(static_cast<decimal_digits_t>(field.precision),
                                             static_cast<decimal_digits_t>(field.decimals()));
}

std::shared_ptr<const ColumnFunction> number_of_year() { return std::make_shared<NumberOfYear>(); }

const Time_zone& zone_of_statement(THD& thd) {
  thd.used |= THD::TIME_ZONE_USED;
  return *thd.variables.time_zone;
}

std::optional<MomentFormat> MomentFormat::of(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_NEWDATE:
      return MomentFormat(Form::Day, 0);
    case MYSQL_TYPE_DATETIME2:
      return MomentFormat(Form::Bits, field.pack_length() - bytes_of_moment);
    case MYSQL_TYPE_DATETIME:
      return MomentFormat(field.decimals() == 0 ? Form::Digits : Form::Multiple, field.decimals());
    default:
      return std::nullopt;
  }
}

int64_t MomentFormat::moment(uint64_t stored) const {
  switch (form_) {
    case Form::Day:
      return moment_of({.year = stored >> 9, .month = stored >> 5 & 15, .day = stored & 31});
    case Form::Bits: {
      const uint64_t moment = (stored >> 8 * digits_) - offset_of_moments;
      return static_cast<int64_t>(moment << bits_of_microseconds | microseconds_of(stored, digits_));
    }
    case Form::Digits: {
      const uint64_t day = stored / 1'000'000;
      return moment_of({.year = day / 10'000,
                        .month = day / 100 % 100,
                        .day = day % 100,
                        .hour = stored / 10'000 % 100,
                        .minute = stored / 100 % 100,
                        .second = stored % 100});
    }
    case Form::Multiple: {
      const auto unit = static_cast<uint64_t>(int64_powers_of_ten[digits_]);
      const uint64_t second = stored / unit, day = second / uint64_t{seconds_of_a_day};
      return moment_of({.year = day / 32 / 13,
                        .month = day / 32 % 13,
                        .day = day % 32,
                        .hour = second / 3600 % 24,
                        .minute = second / 60 % 60,
                        .second = second % 60,
                        .microsecond = stored % unit * (1'000'000 / unit)});
    }
  }
  return 0;
}

uint64_t MomentFormat::stored(int64_t moment) const {
  const MomentParts parts = parts_of(moment);
  switch (form_) {
    case Form::Day:
      return parts.year << 9 | parts.month << 5 | parts.day;
    case Form::Bits: {
      const uint64_t whole = (static_cast<uint64_t>(moment) >> bits_of_microseconds) + offset_of_moments;
      if (digits_ == 0) return whole;
      return whole << 8 * digits_ | parts.microsecond / unit_of_fraction(digits_);
    }
    case Form::Digits:
      return ((((parts.year * 100 + parts.month) * 100 + parts.day) * 100 + parts.hour) * 100 +
              parts.minute) *
                 100 +
             parts.second;
    case Form::Multiple: {
      const uint64_t day = (parts.year * 13 + parts.month) * 32 + parts.day;
      const uint64_t second = ((day * 24 + parts.hour) * 60 + parts.minute) * 60 + parts.second;
      const auto unit = static_cast<uint64_t>(int64_powers_of_ten[digits_]);
      return second * unit + parts.microsecond / (1'000'000 / unit);
    }
  }
  return 0;
}

std::shared_ptr<const ColumnFunction> seconds_of_timestamp(PlainField field) {
  return std::make_shared<SecondsOfTimestamp>(field->pack_length() - bytes_of_seconds, field->decimals());
}

std::shared_ptr<const ColumnFunction> span_of_time(PlainField field) {
  constexpr uint bytes_of_span = 3;
  if (field->real_type() != MYSQL_TYPE_TIME2) return nullptr;
  return std::make_shared<Span>(field->pack_length() - bytes_of_span);
}

std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field) {
  if (field->real_type() == MYSQL_TYPE_TIMESTAMP2)
    return std::make_shared<MomentOfTimestamp>(field->pack_length() - bytes_of_seconds,
                                               zone_of_statement(*current_thd));
  const auto format = MomentFormat::of(*field);
  return format ? std::make_shared<Moment>(*format) : nullptr;
}

}  // namespace hailstone
