// Choices by the names of SQL: what is one of its arguments has a type that all of them fit into.
#include "expression/call_rules.h"
#include "expression/conditions.h"
#include "expression/number_casts.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

/// Values of one type and one form of registers, one of which is the result.
struct Choice {
  std::vector<Expression> values;
  ValueType type;

  /// The result, NULL where one of `of` may be.
  Expression typed(const Expression& result, bool is_nullable) const {
    ValueType own = type;
    own.sql.is_nullable = is_nullable;
    return result.as(own);
  }
};

Result<Choice> numbers_to_choose(const CallRule& call, std::span<const Expression> values) {
  Choice choice;
  bool any_real = false, any_decimal = false, any_signed = false, any_unsigned = false, all_fixed = true,
       any_value = false;
  unsigned scale = 0, whole_digits = 1, shown = 0, shown_whole = 0;
  for (const Expression& value : values) {
    HAILSTONE_ASSIGN(const Expression number, exact_or_null(call, value));
    choice.values.push_back(number);
    const SqlType& type = number.sql();
    scale = std::max(scale, number.type().scale);
    whole_digits = std::max(whole_digits, number.type().whole_digits);
    if (value.sql().kind == Kind::Null) {
      // A number with a sign and a digit, if others are numbers.
      shown_whole = std::max(shown_whole, 1U);
      any_signed = true;
      continue;
    }
    any_value = true;
    any_real |= type.is_real();
    any_decimal |= type.kind == Kind::Decimal;
    (type.is_unsigned ? any_unsigned : any_signed) = true;
    all_fixed &= type.is_exact() || type.scale < SqlType::any_scale;
    shown = std::max(shown, type.scale);
    if (type.is_exact()) shown_whole = std::max(shown_whole, type.whole_digits());
  }
  if (any_real) {
    for (Expression& value : choice.values)
      value = value.is_null() ? Expression::null(ValueKind::Real) : as_real(value);
    choice.type = {.kind = ValueType::Kind::Double,
                   .sql = SqlType::real(all_fixed ? shown : SqlType::any_scale)};
    return choice;
  }
  for (Expression& value : choice.values) {
    HAILSTONE_ASSIGN(value, or_too_long(call, with_scale(value, scale)));
  }
  // Whole numbers of both kinds become a DECIMAL.
  if (any_decimal || (any_signed && any_unsigned)) {
    choice.type = ValueType::decimal(scale, whole_digits);
    choice.type.sql = SqlType::decimal(shown_whole + shown, shown, !any_signed);
  } else {
    choice.type = {.is_unsigned = any_unsigned,
                   .whole_digits = std::min(whole_digits, ValueType::digits_of_bigint),
                   .sql = any_value ? SqlType::integer(shown_whole, any_unsigned) : SqlType::null()};
  }
  return choice;
}

Result<Choice> texts_to_choose(const CallRule& call, std::span<const Expression> values) {
  Choice choice;
  std::vector<Expression> texts;
  uint64_t characters = 0;
  bool gives_way = true;
  for (const Expression& value : values) {
    HAILSTONE_ASSIGN(const Expression text, text_of(call, value));
    choice.values.push_back(text);
    if (value.sql().kind == Kind::Null) continue;
    texts.push_back(text);
    characters = std::max(characters, text.sql().characters);
    gives_way &= text.sql().gives_way;
  }
  HAILSTONE_ASSIGN(const Collation* const collation, collation_of_texts(call, texts));
  choice.type = {.kind = ValueType::Kind::Text, .sql = SqlType::text(characters, *collation)};
  choice.type.sql.gives_way = gives_way;
  return choice;
}

Result<Choice> times_to_choose(const CallRule& call, std::span<const Expression> values) {
  Choice choice;
  SqlType type = SqlType::null();
  for (const Expression& value : values) {
    const SqlType& own = value.sql();
    choice.values.push_back(own.kind == Kind::Null ? Expression::null(ValueKind::Integer) : value);
    if (own.kind == Kind::Null) continue;
    if (type.kind == Kind::Null) type.kind = own.kind;
    if ((own.kind == Kind::Time) != (type.kind == Kind::Time))
      return call.left_out("a TIME beside a DATE; CAST one of them");
    if (own.kind != type.kind) type.kind = Kind::DateTime;
    type.scale = std::max(type.scale, own.scale);
  }
  const bool is_span = type.kind == Kind::Time;
  choice.type = {.kind = is_span ? ValueType::Kind::Span : ValueType::Kind::Moment, .sql = type};
  return choice;
}

Result<Choice> values_to_choose(const CallRule& call, std::span<const Expression> values) {
  bool any_text = false, any_number = false, any_time = false;
  for (const Expression& value : values) {
    const SqlType& type = value.sql();
    if (type.kind == Kind::Unknown) return call.refuse("typed values", type);
    any_text |= type.kind == Kind::Text;
    any_number |= type.is_number();
    any_time |= type.is_moment() || type.kind == Kind::Time;
  }
  if (any_text) return texts_to_choose(call, values);
  if (any_time && any_number) return call.left_out("a date or time beside a number; CAST one of them");
  if (any_time) return times_to_choose(call, values);
  return numbers_to_choose(call, values);
}

/// A NULL of the form of the values.
Expression null_like(const Choice& choice) {
  return Expression::null(choice.values.front()->values).as(choice.type);
}

bool is_nullable(const Expression& value) { return value.sql().is_nullable; }

/// `conditions` in front of as many results; the last value is for when none holds.
Result<Expression> choose_by(const CallRule& call, std::span<const Expression> conditions,
                             std::vector<Expression> results, bool has_else) {
  HAILSTONE_ASSIGN(Choice choice, values_to_choose(call, results));
  if (!has_else) choice.values.push_back(null_like(choice));
  std::vector<std::pair<Expression, Expression>> cases;
  for (size_t i = 0; i < conditions.size(); ++i) cases.emplace_back(conditions[i], choice.values[i]);
  return choice.typed(chosen(cases, choice.values.back()),
                      !has_else || std::ranges::any_of(results, is_nullable));
}

}  // namespace

Result<Expression> make_case(const CallRule& call) {
  std::vector<Expression> conditions, results;
  for (size_t i = 0; i + 1 < call.arguments.size(); i += 2) {
    HAILSTONE_ASSIGN(const Expression condition, as_truth(call.argument(i)));
    conditions.push_back(condition);
    results.push_back(call.argument(i + 1));
  }
  const bool has_else = call.arguments.size() % 2 != 0;
  if (has_else) results.push_back(call.arguments.back());
  return choose_by(call, conditions, std::move(results), has_else);
}

Result<Expression> make_case_of_value(const CallRule& call) {
  std::vector<Expression> conditions, results;
  std::vector<Expression> compared_with{call.argument(0)};
  for (size_t i = 1; i + 1 < call.arguments.size(); i += 2) {
    compared_with.push_back(call.argument(i));
    results.push_back(call.argument(i + 1));
  }
  const bool has_else = call.arguments.size() % 2 == 0;
  if (has_else) results.push_back(call.arguments.back());
  HAILSTONE_ASSIGN(const Compared compared, compared_values(call, compared_with, false));
  Expression value = compared.values.front();
  for (const Expression& other : std::span(compared.values).subspan(1)) {
    conditions.push_back(Expression::call(Function::Equal, {value, other}, compared.settings));
    value = silenced(value);
  }
  return choose_by(call, conditions, std::move(results), has_else);
}

Result<Expression> make_if(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression condition, as_truth(call.argument(0)));
  // Beside NULL, the other value alone says the type.
  if (call.type(1).kind == Kind::Null) {
    HAILSTONE_ASSIGN(const Choice choice, values_to_choose(call, call.arguments.subspan(2)));
    return choice.typed(
        Expression::call(Function::Choose, {condition, null_like(choice), choice.values.front()}), true);
  }
  if (call.type(2).kind == Kind::Null)
    return choose_by(call, std::span(&condition, 1), {call.argument(1)}, false);
  return choose_by(call, std::span(&condition, 1), {call.argument(1), call.argument(2)}, true);
}

Result<Expression> make_coalesce(const CallRule& call) {
  HAILSTONE_ASSIGN(const Choice choice, values_to_choose(call, call.arguments));
  return choice.typed(first_not_null(choice.values), std::ranges::all_of(call.arguments, is_nullable));
}

Result<Expression> make_null_if(const CallRule& call) {
  HAILSTONE_ASSIGN(const Compared compared, compared_values(call, call.arguments, true));
  const Expression equal = Expression::call(Function::Equal, compared.values, compared.settings);
  HAILSTONE_ASSIGN(const Choice choice, values_to_choose(call, call.arguments.first(1)));
  return choice.typed(Expression::call(Function::Choose, {equal, null_like(choice), choice.values.front()}),
                      true);
}

namespace {

Result<Expression> take_extreme_of(const CallRule& call, Function of_values, Function of_texts) {
  HAILSTONE_ASSIGN(const Choice choice, values_to_choose(call, call.arguments));
  const auto is_null = [](const Expression& value) { return value.sql().kind == Kind::Null; };
  // NULL, whatever the others are.
  if (choice.type.sql.is_exact() && std::ranges::any_of(call.arguments, is_null))
    return null_number(SqlType::real());
  if (choice.type.kind != ValueType::Kind::Text)
    return choice.typed(extreme(of_values, choice.values), call.any_nullable());
  return choice.typed(Expression::call(of_texts, choice.values, {.collation = choice.type.sql.collation}),
                      call.any_nullable());
}

}  // namespace

Result<Expression> make_greatest(const CallRule& call) {
  return take_extreme_of(call, Function::Greatest, Function::GreatestText);
}
Result<Expression> make_least(const CallRule& call) {
  return take_extreme_of(call, Function::Least, Function::LeastText);
}

}  // namespace hailstone
