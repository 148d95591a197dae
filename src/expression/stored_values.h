// What stored columns have as numbers, moments and spans: the forms in which the plugin's tables, which are
// those of the server, have DECIMAL, YEAR, DATE, DATETIME, TIMESTAMP, TIME, ENUM and SET. Immutable;
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expression/expression.h"
#include "schema/decimal_format.h"

namespace hailstone {

/// The scaled number of a packed DECIMAL of up to 18 digits.
std::shared_ptr<const ColumnFunction> decimal_number(DecimalDigits digits);

/// The number of a YEAR of four digits.
std::shared_ptr<const ColumnFunction> number_of_year();

/// How a DATE or DATETIME is stored, also one of a day that is none. The server's temporary tables have other
/// forms of DATETIME than its tables.
class MomentFormat {
 public:
  /// Day, month and year, in 5, 4 and 15 bits from the lowest one on: a DATE.
  static MomentFormat day() { return {Form::Day, 0}; }
  /// A moment's bits, with so many bytes of its fraction: a DATETIME.
  static MomentFormat bits(unsigned fraction) { return {Form::Bits, fraction}; }
  /// 20240229235959
  static MomentFormat decimal() { return {Form::Digits, 0}; }
  /// A sum of multiples of the greatest number of each part; seconds with so many digits of their fraction.
  static MomentFormat multiple(unsigned digits) { return {Form::Multiple, digits}; }
  /// That of the server's own packed times, by which it sorts.
  static MomentFormat packed() { return multiple(6); }

  int64_t moment(uint64_t stored) const;
  /// Of a moment that the column has room for.
  uint64_t stored(int64_t moment) const;

 private:
  enum class Form : uint8_t { Day, Bits, Digits, Multiple };
  MomentFormat(Form form, unsigned digits) : form_(form), digits_(digits) {}
  Form form_;
  unsigned digits_;
};
std::shared_ptr<const ColumnFunction> moment_of_stored(MomentFormat format);

/// Of a DATETIME's, a TIMESTAMP's or a TIME's fraction of seconds, which are the last `fraction` bytes.
uint64_t microseconds_of_fraction(uint64_t stored, unsigned fraction);
/// How many bytes a fraction of so many digits has.
constexpr unsigned bytes_of_fraction(unsigned digits) { return (digits + 1) / 2; }

/// Seconds since 1970 in UTC, times 10^digits, of a TIMESTAMP. Its zero date is not told.
std::shared_ptr<const ColumnFunction> seconds_of_stored(unsigned fraction, unsigned digits);
/// What clocks in UTC showed. The zero date is not told.
std::shared_ptr<const ColumnFunction> moment_of_stored_seconds(unsigned fraction);
/// The moment so many seconds after 1970 began.
int64_t moment_of_seconds(int64_t seconds, uint64_t microseconds);

/// One that tells a number of each value, also of what it cannot know, and of greater values no smaller ones.
class AscendingFunction : public ColumnFunction {};

/// AscendingFunctions of Signed numbers: of days since 1970-01-01, and of microseconds since that day began.
/// All that come before year 1 are the moment 0, and all behind 9999 the beginning of the year 10000: their
/// parts are not told.
const std::shared_ptr<const ColumnFunction>& moment_of_days();
const std::shared_ptr<const ColumnFunction>& moment_of_microseconds();
/// The other way; nothing of a moment that is in no calendar.
std::optional<int64_t> days_of(int64_t moment);
std::optional<int64_t> microseconds_of(int64_t moment);

/// The span of a TIME.
std::shared_ptr<const ColumnFunction> span_of_stored(unsigned fraction);

/// The word of an ENUM's number; 0, which is a value outside of the list, has none.
std::shared_ptr<const TextFunction> words_of_enum(std::vector<std::string> words);
/// The words of a SET's bits, with commas between them.
std::shared_ptr<const TextFunction> words_of_set(std::vector<std::string> words);

}  // namespace hailstone
