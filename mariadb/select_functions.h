// Functions of one column that the library computes by itself, on any thread: how the server's own formats of
// numbers and times become whole numbers. Nothing of the server's trees is in them.
#pragma once

#include <memory>
#include <optional>

#include "expression/program.h"
#include "plain_field.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The number of a DECIMAL column of at most 18 digits, times 10^decimals.
std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field);

/// The number of a YEAR column of four digits.
std::shared_ptr<const ColumnFunction> number_of_year();

/// The connection's time zone. Noted, as the server does for a statement that it evaluates.
const Time_zone& zone_of_statement(THD& thd);

/// How a field of DATE or DATETIME has a moment (expression/moment.h), also of a day that is none. The
/// server's temporary tables have other forms of DATETIME than its tables.
class MomentFormat {
 public:
  /// Nothing: the field is of another type or form.
  static std::optional<MomentFormat> of(const Field& field);
  /// That of the server's own packed times, by which it sorts.
  static MomentFormat packed() { return {Form::Multiple, 6}; }
  /// `stored`: as the library stores the field.
  int64_t moment(uint64_t stored) const;
  /// Of a moment that the field has room for.
  uint64_t stored(int64_t moment) const;

 private:
  enum class Form : uint8_t {
    Day,       // day, month and year, in 5, 4 and 15 bits from the lowest one on
    Bits,      // a moment's, with `digits_` bytes of its fraction
    Digits,    // 20240229235959
    Multiple,  // of each part's greatest number; seconds with `digits_` digits of their fraction
  };
  MomentFormat(Form form, uint digits) : form_(form), digits_(digits) {}
  Form form_;
  uint digits_;
};

/// What UNIX_TIMESTAMP() has of a TIMESTAMP column, times 10^decimals.
std::shared_ptr<const ColumnFunction> seconds_of_timestamp(PlainField field);

/// The moment (expression/moment.h) of a DATE or DATETIME column, also where the day does not exist. Or of a
/// TIMESTAMP column, in the connection's time zone; its zero date is not told. Null: another column.
std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field);

/// The span (expression/span.h) that a TIME column has. Null: of another column.
std::shared_ptr<const ColumnFunction> span_of_time(PlainField field);

}  // namespace hailstone
