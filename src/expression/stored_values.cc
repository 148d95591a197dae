#include "expression/stored_values.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "expression/moment.h"
#include "expression/span.h"

namespace hailstone {

namespace {

constexpr unsigned bits_of_microseconds = 24, digits_of_microseconds = 6;
constexpr uint64_t offset_of_moments = 0x80'0000'0000;
constexpr int64_t seconds_of_day = 86'400;

constexpr std::array<uint64_t, 7> powers_of_ten{1, 10, 100, 1'000, 10'000, 100'000, 1'000'000};
constexpr uint64_t power(unsigned exponent) { return powers_of_ten[exponent]; }

/// How many microseconds a fraction of seconds of so many bytes counts.
uint64_t unit_of_fraction(unsigned bytes) {
  constexpr std::array<uint64_t, 4> microseconds{0, 10'000, 100, 1};
  return microseconds[bytes];
}

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

class NumberOfYear final : public ColumnFunction {
 public:
  std::optional<int64_t> of(const Value& value) const override {
    constexpr int64_t before_first = 1900;
    return value.integer == 0 ? 0 : before_first + static_cast<int64_t>(value.integer);
  }
};

class StoredMoment final : public ColumnFunction {
 public:
  explicit StoredMoment(MomentFormat format) : format_(format) {}

  std::optional<int64_t> of(const Value& value) const override { return format_.moment(value.integer); }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    for (size_t row = 0; row < ordered.size(); ++row) to[row] = format_.moment(ordered[row]);
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const MomentFormat format_;
};

class SecondsOfTimestamp final : public ColumnFunction {
 public:
  SecondsOfTimestamp(unsigned fraction, unsigned digits) : fraction_(fraction), digits_(digits) {}

  std::optional<int64_t> of(const Value& value) const override {
    const auto second = static_cast<int64_t>(value.integer >> 8 * fraction_);
    if (second == 0) return std::nullopt;  // the zero of dates: of a column it is 0, of a view's NULL
    const auto microseconds = static_cast<int64_t>(microseconds_of_fraction(value.integer, fraction_));
    return second * static_cast<int64_t>(power(digits_)) +
           microseconds / static_cast<int64_t>(power(digits_of_microseconds - digits_));
  }

 private:
  const unsigned fraction_, digits_;
};

/// Of a TIMESTAMP.
class MomentInUtc final : public ColumnFunction {
 public:
  explicit MomentInUtc(unsigned fraction) : fraction_(fraction) {}

  std::optional<int64_t> of(const Value& value) const override {
    const auto second = static_cast<int64_t>(value.integer >> 8 * fraction_);
    if (second == 0) return std::nullopt;
    return moment_of_seconds(second, microseconds_of_fraction(value.integer, fraction_));
  }

 private:
  const unsigned fraction_;
};

/// Of a TIME.
class StoredSpan final : public ColumnFunction {
 public:
  /// `fraction`: bytes of its fraction of seconds.
  explicit StoredSpan(unsigned fraction) : fraction_(fraction) {}

  std::optional<int64_t> of(const Value& value) const override {
    constexpr int64_t zero = 0x80'0000;
    const int64_t number = static_cast<int64_t>(value.integer) - (zero << 8 * fraction_);
    const auto bits = static_cast<uint64_t>(number < 0 ? -number : number);
    const uint64_t second = bits >> 8 * fraction_;
    return span_of(number < 0, {.hour = second >> 12,
                                .minute = second >> 6 & 63,
                                .second = second & 63,
                                .microsecond = microseconds_of_fraction(bits, fraction_)});
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    for (size_t row = 0; row < ordered.size(); ++row) to[row] = *of(Value::of(ordered[row]));
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const unsigned fraction_;
};

using Words = std::vector<std::string>;

/// 0 stands for a value outside the list, as 'x' for ENUM('a','b').
class WordsOfEnum final : public TextFunction {
 public:
  explicit WordsOfEnum(Words words) : words_(std::move(words)) {}

  void of_all(const FunctionCall& call) const override {
    const int64_t* const numbers = call.input(0).integers.data();
    for (uint32_t row = 0; row < call.rows; ++row) {
      const auto number = static_cast<uint64_t>(numbers[row]);
      call.to.texts[row] = number == 0 || number > words_.size() ? ByteView() : ByteView(words_[number - 1]);
    }
  }

 private:
  const Words words_;
};

/// A bit stands for each word.
class WordsOfSet final : public TextFunction {
 public:
  explicit WordsOfSet(Words words) : words_(std::move(words)) {}

  void of_all(const FunctionCall& call) const override {
    const int64_t* const numbers = call.input(0).integers.data();
    for (uint32_t row = 0; row < call.rows; ++row) {
      const auto bits = static_cast<uint64_t>(numbers[row]);
      call.to.texts[row] = {};
      if (call.to.is_null(row)) continue;
      uint64_t length = 0;
      each_word(bits, [&](ByteView word, bool is_first) { length += word.size() + (is_first ? 0 : 1); });
      char* at = call.text(row, length);
      if (at == nullptr) continue;
      call.to.texts[row] = ByteView(at, length);
      each_word(bits, [&](ByteView word, bool is_first) {
        if (!is_first) *at++ = ',';
        at += word.copy(at, word.size());
      });
    }
  }

 private:
  template <typename Take>
  void each_word(uint64_t bits, Take&& take) const {
    bool is_first = true;
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((bits >> i & 1) == 0) continue;
      take(words_[i], is_first);
      is_first = false;
    }
  }
  const Words words_;
};

}  // namespace

std::shared_ptr<const ColumnFunction> decimal_number(DecimalDigits digits) {
  return std::make_shared<DecimalNumber>(digits);
}

std::shared_ptr<const ColumnFunction> number_of_year() { return std::make_shared<NumberOfYear>(); }

int64_t MomentFormat::moment(uint64_t stored) const {
  switch (form_) {
    case Form::Day:
      return moment_of({.year = stored >> 9, .month = stored >> 5 & 15, .day = stored & 31});
    case Form::Bits: {
      const uint64_t moment = (stored >> 8 * digits_) - offset_of_moments;
      return static_cast<int64_t>(moment << bits_of_microseconds | microseconds_of_fraction(stored, digits_));
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
      const auto unit = power(digits_);
      const uint64_t second = stored / unit, day = second / uint64_t{seconds_of_day};
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
      const auto unit = power(digits_);
      return second * unit + parts.microsecond / (1'000'000 / unit);
    }
  }
  return 0;
}

std::shared_ptr<const ColumnFunction> moment_of_stored(MomentFormat format) {
  return std::make_shared<StoredMoment>(format);
}

uint64_t microseconds_of_fraction(uint64_t stored, unsigned fraction) {
  return (stored & ((uint64_t{1} << 8 * fraction) - 1)) * unit_of_fraction(fraction);
}

std::shared_ptr<const ColumnFunction> seconds_of_stored(unsigned fraction, unsigned digits) {
  return std::make_shared<SecondsOfTimestamp>(fraction, digits);
}

std::shared_ptr<const ColumnFunction> moment_of_stored_seconds(unsigned fraction) {
  return std::make_shared<MomentInUtc>(fraction);
}

namespace {

constexpr int64_t microseconds_of_second = 1'000'000;
/// 0001-01-01 and 9999-12-31.
constexpr int64_t first_day = -719'162, last_day = 2'932'896;

/// The moment that a day begins with. `day`: days since 1970-01-01.
int64_t midnight_of(int64_t day) {
  if (day < first_day) return 0;
  if (day > last_day) return moment_of({.year = 10'000, .month = 1, .day = 1});
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return moment_of({.year = static_cast<uint64_t>(static_cast<int>(date.year())),
                    .month = static_cast<unsigned>(date.month()),
                    .day = static_cast<unsigned>(date.day())});
}

int64_t moment_of_stored_days(uint64_t ordered) {
  return midnight_of(native_signed(ordered, sizeof(int32_t)));
}

int64_t moment_of_stored_microseconds(uint64_t ordered) {
  constexpr int64_t in_a_day = seconds_of_day * microseconds_of_second;
  const int64_t number = native_signed(ordered, sizeof(int64_t));
  const int64_t day = number / in_a_day - (number % in_a_day < 0 ? 1 : 0);
  const int64_t midnight = midnight_of(day);
  if (day < first_day || day > last_day) return midnight;
  const auto time = static_cast<uint64_t>(number - day * in_a_day);
  const uint64_t second = time / microseconds_of_second;
  return midnight | moment_of({.hour = second / 3600,
                               .minute = second / 60 % 60,
                               .second = second % 60,
                               .microsecond = time % microseconds_of_second});
}

/// Of what is stored since 1970-01-01.
template <int64_t (*moment)(uint64_t ordered)>
class SinceEpoch final : public AscendingFunction {
 public:
  std::optional<int64_t> of(const Value& value) const override { return moment(value.integer); }
  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    for (size_t row = 0; row < ordered.size(); ++row) to[row] = moment(ordered[row]);
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }
};

}  // namespace

const std::shared_ptr<const ColumnFunction>& moment_of_days() {
  static const std::shared_ptr<const ColumnFunction> days =
      std::make_shared<SinceEpoch<moment_of_stored_days>>();
  return days;
}

const std::shared_ptr<const ColumnFunction>& moment_of_microseconds() {
  static const std::shared_ptr<const ColumnFunction> microseconds =
      std::make_shared<SinceEpoch<moment_of_stored_microseconds>>();
  return microseconds;
}

std::optional<int64_t> days_of(int64_t moment) {
  const MomentParts parts = parts_of(moment);
  if (!is_in_calendar(parts)) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(parts.year)),
                                        std::chrono::month(static_cast<unsigned>(parts.month)),
                                        std::chrono::day(static_cast<unsigned>(parts.day))};
  return std::chrono::sys_days(day).time_since_epoch().count();
}

std::optional<int64_t> microseconds_of(int64_t moment) {
  constexpr int64_t seconds_of_hour = 3600, seconds_of_minute = 60;
  const MomentParts parts = parts_of(moment);
  const auto day = days_of(moment);
  if (!day) return std::nullopt;
  const int64_t second = *day * seconds_of_day + static_cast<int64_t>(parts.hour) * seconds_of_hour +
                         static_cast<int64_t>(parts.minute) * seconds_of_minute +
                         static_cast<int64_t>(parts.second);
  return second * microseconds_of_second + static_cast<int64_t>(parts.microsecond);
}

int64_t moment_of_seconds(int64_t seconds, uint64_t microseconds) {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds(seconds));
  const auto time = static_cast<uint64_t>(seconds - int64_t{days.count()} * seconds_of_day);
  const std::chrono::year_month_day date{std::chrono::sys_days(days)};
  return moment_of({.year = static_cast<uint64_t>(static_cast<int>(date.year())),
                    .month = static_cast<unsigned>(date.month()),
                    .day = static_cast<unsigned>(date.day()),
                    .hour = time / 3600,
                    .minute = time / 60 % 60,
                    .second = time % 60,
                    .microsecond = microseconds});
}

std::shared_ptr<const ColumnFunction> span_of_stored(unsigned fraction) {
  return std::make_shared<StoredSpan>(fraction);
}

std::shared_ptr<const TextFunction> words_of_enum(std::vector<std::string> words) {
  return std::make_shared<WordsOfEnum>(std::move(words));
}

std::shared_ptr<const TextFunction> words_of_set(std::vector<std::string> words) {
  return std::make_shared<WordsOfSet>(std::move(words));
}

}  // namespace hailstone
