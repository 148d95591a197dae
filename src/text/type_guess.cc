#include "text/type_guess.h"

#include <algorithm>

#include "text/value_text.h"

namespace hailstone {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// A number that would be written as it is: 007 is a name, not a number, and so is +49.
bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text[0])) return false;
  return text.size() < 2 || text[0] != '0' || !is_digit(text[1]);
}

/// Whether a double brings the plain number back as it is written: of whole numbers up to 2^53 it holds all.
bool fits_double(std::string_view text) {
  constexpr int64_t last_exact = int64_t{1} << 53;
  if (text.starts_with('-')) text.remove_prefix(1);
  if (!std::ranges::all_of(text, is_digit)) return parse_double(text).has_value();
  const auto number = parse_int(text);
  return number && *number <= last_exact;
}

}  // namespace

void TypeGuess::add(const Field& field) {
  const std::string_view text = field.text;
  bool number = false;
  switch (field.kind) {
    case Field::Kind::Null:
      return;
    case Field::Kind::Bool:
      any_ = true;
      uint64_ = double_ = date_ = timestamp_ = false;
      return;
    case Field::Kind::Nested:
    case Field::Kind::String:
      break;
    case Field::Kind::Text:
    case Field::Kind::Number:
      number = is_plain_number(text);
      break;
  }
  any_ = true;
  boolean_ = false;
  if (!number) int64_ = uint64_ = double_ = false;
  int64_ = int64_ && parse_int(text).has_value();
  uint64_ = uint64_ && parse_uint(text).has_value();
  double_ = double_ && fits_double(text);
  const bool may_be_date = field.kind != Field::Kind::Number;
  date_ = date_ && may_be_date && parse_date(text).has_value();
  timestamp_ = timestamp_ && may_be_date && parse_timestamp(text).has_value();
}

hs_type TypeGuess::type() const {
  if (!any_) return HS_STRING;
  if (boolean_) return HS_BOOL;
  if (int64_) return HS_INT64;
  if (uint64_) return HS_UINT64;
  if (double_) return HS_DOUBLE;
  if (date_) return HS_DATE;
  if (timestamp_) return HS_TIMESTAMP;
  return HS_STRING;
}

}  // namespace hailstone
