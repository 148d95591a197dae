#include "select_functions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "decimal_numbers.h"

namespace hailstone {

namespace {

constexpr uint decimal_digits = 9;  // of a whole group of four bytes
constexpr std::array<uint, decimal_digits + 1> bytes_of_digits{0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
constexpr uint most_groups = 4;  // of 18 digits

/// Of DECIMALs of up to 8 bytes, as one number each.
struct DecimalGroups {
  uint64_t sign = 0, all = 0;
  std::array<uint64_t, most_groups> shifts{}, bits{}, scales{};
};

#if defined(__x86_64__)
#define HAILSTONE_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define HAILSTONE_FOR_EACH_PROCESSOR
#endif
HAILSTONE_FOR_EACH_PROCESSOR
void decode_decimals(const DecimalGroups& groups, const uint64_t* ordered, size_t count, int64_t* to) {
  const DecimalGroups of = groups;
  for (size_t row = 0; row < count; ++row) {
    // All bits of a negative number, none of another.
    const uint64_t negative = (ordered[row] & of.sign) != 0 ? uint64_t{0} : ~uint64_t{0};
    const uint64_t magnitude = (ordered[row] ^ of.sign ^ negative) & of.all;
    uint64_t number = magnitude >> of.shifts[0] & of.bits[0];
    number = number * of.scales[1] + (magnitude >> of.shifts[1] & of.bits[1]);
    number = number * of.scales[2] + (magnitude >> of.shifts[2] & of.bits[2]);
    number = number * of.scales[3] + (magnitude >> of.shifts[3] & of.bits[3]);
    to[row] = static_cast<int64_t>((number ^ negative) - negative);
  }
}

/// Groups of digits, each a big-endian number of its own; the first bit of all is turned, and of a negative
/// number every bit.
class DecimalNumber final : public ColumnFunction {
 public:
  DecimalNumber(uint precision, uint scale) {
    const uint whole = precision - scale;
    add_group(whole % decimal_digits);
    for (uint i = 0; i < whole / decimal_digits; ++i) add_group(decimal_digits);
    for (uint i = 0; i < scale / decimal_digits; ++i) add_group(decimal_digits);
    add_group(scale % decimal_digits);
  }

  std::optional<int64_t> of(const Value& value) const override {
    if (bytes_ <= sizeof(uint64_t)) {
      int64_t number = 0;
      uint8_t unknown = 0;
      of_all({&value.integer, 1}, &number, &unknown);
      return number;
    }
    const auto* at = reinterpret_cast<const uchar*>(value.bytes.data());
    const bool negative = (at[0] & 0x80U) == 0;
    int64_t number = 0;
    for (uint i = 0; i < groups_; ++i) {
      uint64_t digits = load_big_endian(at, group_bytes_[i]);
      if (i == 0) digits ^= sign_of_width(group_bytes_[i]);
      if (negative) digits = ~digits & bits_of_width(group_bytes_[i]);
      number = number * scales_[i] + static_cast<int64_t>(digits);
      at += group_bytes_[i];
    }
    return negative ? -number : number;
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    DecimalGroups groups{.sign = sign_of_width(bytes_), .all = bits_of_width(bytes_)};
    uint below = bytes_;
    for (uint i = 0; i < groups_; ++i) {
      below -= group_bytes_[i];
      // Groups that there are not stand before the others, and have no bits.
      const uint place = most_groups - groups_ + i;
      groups.shifts[place] = 8 * below;
      groups.bits[place] = bits_of_width(group_bytes_[i]);
      groups.scales[place] = static_cast<uint64_t>(scales_[i]);
    }
    decode_decimals(groups, ordered.data(), ordered.size(), to);
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  void add_group(uint digits) {
    if (digits == 0) return;
    scales_[groups_] = int64_powers_of_ten[digits];
    group_bytes_[groups_++] = bytes_of_digits[digits];
    bytes_ += bytes_of_digits[digits];
  }

  std::array<int64_t, most_groups> scales_{};
  std::array<uint, most_groups> group_bytes_{};
  uint groups_ = 0, bytes_ = 0;
};

struct Day {
  uint64_t year = 0, month = 0, day = 0;
};

class PartOfTime final : public ColumnFunction {
 public:
  /// `fraction`: bytes of a DATETIME's fraction of seconds; none: a DATE.
  PartOfTime(std::optional<uint> fraction, interval_type unit) : fraction_(fraction), unit_(unit) {}

  static bool knows(interval_type unit, bool has_time) {
    switch (unit) {
      case INTERVAL_YEAR:
      case INTERVAL_QUARTER:
      case INTERVAL_MONTH:
      case INTERVAL_DAY:
      case INTERVAL_YEAR_MONTH:
        return true;
      case INTERVAL_HOUR:
      case INTERVAL_MINUTE:
      case INTERVAL_SECOND:
        return has_time;
      default:
        return false;
    }
  }

  std::optional<int64_t> of(const Value& value) const override {
    Day day;
    uint64_t time = 0;
    if (!fraction_) {
      // A DATE is day, month and year, in 5, 4 and 15 bits from the lowest one on.
      day = {value.integer >> 9, value.integer >> 5 & 15, value.integer & 31};
    } else {
      // A DATETIME is year * 13 + month, day, hour, minute and second, the latter in 5, 5, 6 and 6 bits,
      // above an offset that makes the order that of numbers without sign.
      const uint64_t moment = (value.integer >> 8 * *fraction_) - 0x80'0000'0000;
      const uint64_t months = moment >> 22;
      day = {months / 13, months % 13, moment >> 17 & 31};
      time = moment & 0x1ffff;
    }
    if (day.month == 0 || day.day == 0) return std::nullopt;
    return static_cast<int64_t>(part(day, time));
  }

 private:
  uint64_t part(const Day& day, uint64_t time) const {
    switch (unit_) {
      case INTERVAL_YEAR:
        return day.year;
      case INTERVAL_QUARTER:
        return (day.month + 2) / 3;
      case INTERVAL_MONTH:
        return day.month;
      case INTERVAL_DAY:
        return day.day;
      case INTERVAL_YEAR_MONTH:
        return day.year * 100 + day.month;
      case INTERVAL_HOUR:
        return time >> 12;
      case INTERVAL_MINUTE:
        return time >> 6 & 63;
      default:
        return time & 63;
    }
  }

  const std::optional<uint> fraction_;
  const interval_type unit_;
};

class Length final : public ColumnFunction {
 public:
  explicit Length(CHARSET_INFO* charset) : charset_(charset) {}
  std::optional<int64_t> of(const Value& value) const override {
    if (charset_ == nullptr) return static_cast<int64_t>(value.bytes.size());
    const char* const begin = value.bytes.data();
    return static_cast<int64_t>(charset_->numchars(begin, begin + value.bytes.size()));
  }

 private:
  CHARSET_INFO* const charset_;  // null: bytes are counted
};

}  // namespace

std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field) {
  return std::make_shared<DecimalNumber>(field.precision, field.decimals());
}

std::shared_ptr<const ColumnFunction> part_of_time(const Field& field, interval_type unit) {
  const auto type = field.real_type();
  if (type != MYSQL_TYPE_NEWDATE && type != MYSQL_TYPE_DATETIME2) return nullptr;
  const bool has_time = type == MYSQL_TYPE_DATETIME2;
  if (!PartOfTime::knows(unit, has_time)) return nullptr;
  constexpr uint bytes_of_moment = 5;
  std::optional<uint> fraction;
  if (has_time) fraction = field.pack_length() - bytes_of_moment;
  return std::make_shared<PartOfTime>(fraction, unit);
}

std::shared_ptr<const ColumnFunction> length_of(const Field& field, LengthUnit unit) {
  return std::make_shared<Length>(unit == LengthUnit::Bytes ? nullptr : field.charset());
}

}  // namespace hailstone
