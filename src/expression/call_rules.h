// What the rules of calls.h are made of: a call whose arguments were counted, and what all families share.
// For the calls_*.cc files only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "expression/calls.h"
#include "expression/exact_numbers.h"

namespace hailstone {

/// A call, of as many arguments as its line says.
struct CallRule {
  const SqlFunction& line;
  std::span<const Expression> arguments;
  const LanguageSettings& settings;
  std::string_view word;

  const Expression& argument(size_t number) const { return arguments[number]; }
  const SqlType& type(size_t number) const { return arguments[number].sql(); }
  bool any_nullable() const {
    return std::ranges::any_of(arguments, [](const Expression& each) { return each.sql().is_nullable; });
  }
  /// "+ takes numbers, and not VARCHAR(20)"
  std::unexpected<Error> refuse(std::string_view takes, const SqlType& found) const {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} takes {}, and not {}", line.name(), takes, to_text(found)));
  }
  std::unexpected<Error> left_out(std::string_view what) const {
    return fail(ErrorCode::Unsupported, fmt::format("{}: {}", line.name(), what));
  }
};

/// `value` under a type, NULL where an argument may be.
inline Expression typed(const CallRule& call, const Expression& value, SqlType type) {
  type.is_nullable = call.any_nullable();
  return value.as(type);
}
/// The same where it may be NULL of other arguments, too.
inline Expression typed_nullable(const Expression& value, SqlType type) {
  type.is_nullable = true;
  return value.as(type);
}
/// Truth that is made of the arguments.
inline Expression typed_truth(const CallRule& call, const Expression& value) {
  return typed(call, value, SqlType::truth());
}

/// What the rule of a function gives, or that the number has too many digits.
inline Result<Expression> or_too_long(const CallRule& call, std::optional<Expression> value) {
  if (value) return *value;
  return call.left_out("the result may have more digits than numbers have here");
}

// calls_numbers.cc
/// An argument as a number: moments are numbers, too, and NULL is a DOUBLE.
Result<Expression> number_of(const CallRule& call, const Expression& argument);
/// The same where NULL is a whole number.
Result<Expression> exact_or_null(const CallRule& call, const Expression& argument);
/// NULL of a number's type.
Expression null_number(const SqlType& type);
/// The number that is compared: with the digits that show.
Result<Expression> compared_number(const CallRule& call, const Expression& argument);
/// A whole number.
Result<Expression> whole_of(const CallRule& call, const Expression& argument);
Result<Expression> make_sum(const CallRule& call);
Result<Expression> make_difference(const CallRule& call);
Result<Expression> make_product(const CallRule& call);
Result<Expression> make_quotient(const CallRule& call);
Result<Expression> make_whole_quotient(const CallRule& call);
Result<Expression> make_remainder(const CallRule& call);
Result<Expression> make_negative(const CallRule& call);
Result<Expression> make_magnitude(const CallRule& call);
Result<Expression> make_sign(const CallRule& call);
Result<Expression> make_floor(const CallRule& call);
Result<Expression> make_ceiling(const CallRule& call);
Result<Expression> make_round(const CallRule& call);
Result<Expression> make_truncate(const CallRule& call);
Result<Expression> make_bit_and(const CallRule& call);
Result<Expression> make_bit_or(const CallRule& call);
Result<Expression> make_bit_xor(const CallRule& call);
Result<Expression> make_bit_not(const CallRule& call);
Result<Expression> make_shift_left(const CallRule& call);
Result<Expression> make_shift_right(const CallRule& call);
Result<Expression> make_bit_count(const CallRule& call);

// calls.cc
/// A constant number with the other sign. Nothing: SQL has no such INT.
std::optional<Expression> negative_constant(const Expression& number);

// calls_casts.cc
Result<Expression> make_cast(const CallRule& call);

// calls_conditions.cc
/// How values are compared with each other, and the values as they are compared.
struct Compared {
  std::vector<Expression> values;
  FunctionSettings settings = {};
};
/// `shows`: a number's digits that do not show do not count.
Result<Compared> compared_values(const CallRule& call, std::span<const Expression> values, bool shows);
Result<Expression> make_equal(const CallRule& call);
Result<Expression> make_different(const CallRule& call);
Result<Expression> make_less(const CallRule& call);
Result<Expression> make_less_or_equal(const CallRule& call);
Result<Expression> make_greater(const CallRule& call);
Result<Expression> make_greater_or_equal(const CallRule& call);
Result<Expression> make_same_or_null(const CallRule& call);
Result<Expression> make_between(const CallRule& call);
Result<Expression> make_in(const CallRule& call);
Result<Expression> make_like(const CallRule& call);
Result<Expression> make_both(const CallRule& call);
Result<Expression> make_either(const CallRule& call);
Result<Expression> make_one_of_two(const CallRule& call);
Result<Expression> make_opposite(const CallRule& call);
Result<Expression> make_is_null(const CallRule& call);
Result<Expression> make_is_true(const CallRule& call);
Result<Expression> make_is_false(const CallRule& call);

// calls_choices.cc
Result<Expression> make_case(const CallRule& call);
Result<Expression> make_case_of_value(const CallRule& call);
Result<Expression> make_if(const CallRule& call);
Result<Expression> make_coalesce(const CallRule& call);
Result<Expression> make_null_if(const CallRule& call);
Result<Expression> make_greatest(const CallRule& call);
Result<Expression> make_least(const CallRule& call);

// calls_moments.cc
/// The moment that an argument is; a constant text is read as one.
Result<Expression> moment_of(const CallRule& call, const Expression& argument);
/// 20240229, or 20240229235959.
Expression number_of_moment(const Expression& moment);
/// As SQL shows it.
Expression text_of_moment(const Expression& moment, const LanguageSettings& settings);
/// A constant text as a value of a kind. Nothing: it is none.
std::optional<Expression> time_of_text(std::string_view text, SqlType::Kind kind);
Result<Expression> make_part(const CallRule& call);
Result<Expression> make_extract(const CallRule& call);
Result<Expression> make_week(const CallRule& call);
Result<Expression> make_year_and_week(const CallRule& call);
Result<Expression> make_later(const CallRule& call);
Result<Expression> make_earlier(const CallRule& call);
Result<Expression> make_days_later(const CallRule& call);
Result<Expression> make_days_earlier(const CallRule& call);
Result<Expression> make_days_between(const CallRule& call);
Result<Expression> make_units_between(const CallRule& call);
Result<Expression> make_last_day(const CallRule& call);
Result<Expression> make_day(const CallRule& call);
Result<Expression> make_day_of_number(const CallRule& call);
Result<Expression> make_day_of_year(const CallRule& call);
Result<Expression> make_formatted(const CallRule& call);
Result<Expression> cast_to_moment(const CallRule& call, SqlType type);

// calls_texts.cc
/// An argument as a text: numbers and times are written.
Result<Expression> text_of(const CallRule& call, const Expression& argument);
/// The collation that texts have together.
Result<const Collation*> collation_of_texts(const CallRule& call, std::span<const Expression> texts);
Result<Expression> make_text(const CallRule& call);
Result<Expression> make_number_of_texts(const CallRule& call);
Result<Expression> make_trim(const CallRule& call);
Result<Expression> make_space(const CallRule& call);

}  // namespace hailstone
