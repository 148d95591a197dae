// Conditions by the names of SQL: comparisons, lists, patterns, truths.
#include <functional>

#include "expression/call_rules.h"
#include "expression/conditions.h"
#include "expression/text_tests.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

bool is_constant_text(const Expression& value) {
  return value.sql().kind == Kind::Text && value.is_constant();
}

std::unexpected<Error> different_kinds(const CallRule& call, std::span<const Expression> values) {
  const auto is_number = [](const Expression& value) { return value.sql().is_number(); };
  if (const auto text = std::ranges::find_if(values, is_constant_text);
      text != values.end() && std::ranges::any_of(values, is_number)) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} of a number and the text '{}': numbers, TRUE and FALSE stand without quotes",
                            call.line.name(), (*text)->text));
  }
  const auto is_constant_number = [&](const Expression& value) {
    return value.is_constant() && is_number(value);
  };
  const auto is_text = [](const Expression& value) { return value.sql().kind == Kind::Text; };
  if (std::ranges::any_of(values, is_constant_number) && std::ranges::any_of(values, is_text)) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("{} of a text and a number: constant texts stand in single quotes", call.line.name()));
  }
  std::string types;
  for (const Expression& value : values) types += (types.empty() ? "" : " and ") + to_text(value.sql());
  return fail(ErrorCode::Unsupported,
              fmt::format("{} of {}: CAST one of them to the type of the other", call.line.name(), types));
}

Result<Compared> compared_texts(const CallRule& call, std::span<const Expression> values) {
  Compared compared;
  std::vector<Expression> texts;
  for (const Expression& value : values) {
    const bool is_null = value.sql().kind == Kind::Null;
    compared.values.push_back(is_null ? Expression::null(ValueKind::Text) : value);
    if (!is_null) texts.push_back(value);
  }
  HAILSTONE_ASSIGN(compared.settings.collation, collation_of_texts(call, texts));
  return compared;
}

/// Of moments, or of TIMEs; a constant text is read as one.
Result<Compared> compared_times(std::span<const Expression> values, Kind kind) {
  Compared compared;
  for (const Expression& value : values) {
    if (value.sql().kind == Kind::Null) {
      compared.values.push_back(Expression::null(ValueKind::Integer));
    } else if (!is_constant_text(value)) {
      compared.values.push_back(value);
    } else if (const auto time = time_of_text(value->text, kind)) {
      compared.values.push_back(*time);
    } else {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("'{}' is no {}", value->text, to_text({.kind = kind})));
    }
  }
  return compared;
}

Result<Compared> compared_numbers(const CallRule& call, std::span<const Expression> values, bool shows) {
  Compared compared;
  bool any_real = false;
  unsigned scale = 0;
  size_t fixed = 0;
  for (const Expression& value : values) {
    HAILSTONE_ASSIGN(const Expression number,
                     shows ? compared_number(call, value) : exact_or_null(call, value));
    compared.values.push_back(number);
    any_real |= number.sql().is_real();
    scale = std::max(scale, number.type().scale);
    fixed += number.sql().is_exact() || number.sql().scale < SqlType::any_scale ? 1U : 0U;
  }
  if (any_real && fixed == values.size())
    return call.left_out("DOUBLE of a fixed number of digits, which the server compares with a tolerance");
  for (Expression& number : compared.values) {
    if (any_real) {
      number = number.is_null() ? Expression::null(ValueKind::Real) : as_real(number);
      continue;
    }
    HAILSTONE_ASSIGN(number, or_too_long(call, with_scale(number, scale)));
  }
  return compared;
}

Result<Expression> compare(const CallRule& call, Function called) {
  HAILSTONE_ASSIGN(const Compared compared, compared_values(call, call.arguments, true));
  const Expression result = Expression::call(called, compared.values, compared.settings);
  SqlType type = SqlType::truth();
  type.is_nullable = called != Function::SameOrNull && call.any_nullable();
  return result.as(type);
}

/// AND or OR of all.
Result<Expression> unite(const CallRule& call, Function called) {
  std::optional<Expression> all;
  for (const Expression& argument : call.arguments) {
    HAILSTONE_ASSIGN(const Expression truth, as_truth(argument));
    all = united(called, all, truth);
  }
  return typed_truth(call, *all);
}

}  // namespace

Result<Compared> compared_values(const CallRule& call, std::span<const Expression> values, bool shows) {
  bool any_text = false, any_number = false, any_moment = false, any_time = false, all_constant_texts = true;
  for (const Expression& value : values) {
    const SqlType& type = value.sql();
    if (type.kind == Kind::Unknown) return call.refuse("typed values", type);
    any_text |= type.kind == Kind::Text;
    any_number |= type.is_number();
    any_moment |= type.is_moment();
    any_time |= type.kind == Kind::Time;
    all_constant_texts &= type.kind != Kind::Text || value.is_constant();
  }
  const bool is_of_one = int{any_number} + int{any_moment} + int{any_time} + int{any_text} <= 1;
  const bool reads_texts = any_text && all_constant_texts && !any_number && any_moment != any_time;
  if (!is_of_one && !reads_texts) return different_kinds(call, values);
  if (any_moment) return compared_times(values, Kind::DateTime);
  if (any_time) return compared_times(values, Kind::Time);
  if (any_text) return compared_texts(call, values);
  return compared_numbers(call, values, shows);
}

Result<Expression> as_truth(const Expression& value) {
  const SqlType& type = value.sql();
  if (type.kind == Kind::Null) return Expression::null(ValueKind::Integer);
  if (type.is_exact()) return value;
  if (type.is_real()) return Expression::call(Function::NotEqual, {value, Expression::constant(0.0)});
  return fail(ErrorCode::Unsupported, fmt::format("{} is no condition", to_text(type)));
}

Result<Expression> make_equal(const CallRule& call) { return compare(call, Function::Equal); }
Result<Expression> make_different(const CallRule& call) { return compare(call, Function::NotEqual); }
Result<Expression> make_less(const CallRule& call) { return compare(call, Function::Less); }
Result<Expression> make_less_or_equal(const CallRule& call) { return compare(call, Function::LessEqual); }
Result<Expression> make_greater(const CallRule& call) { return compare(call, Function::Greater); }
Result<Expression> make_greater_or_equal(const CallRule& call) {
  return compare(call, Function::GreaterEqual);
}
Result<Expression> make_same_or_null(const CallRule& call) { return compare(call, Function::SameOrNull); }

Result<Expression> make_between(const CallRule& call) {
  HAILSTONE_ASSIGN(const Compared compared, compared_values(call, call.arguments, false));
  return typed_truth(call, Expression::call(Function::Between, compared.values, compared.settings));
}

namespace {

/// Of exact numbers, whose constants are looked up; nothing: they are compared one by one.
std::optional<Expression> in_numbers(const CallRule& call) {
  std::vector<Expression> numbers;
  for (const Expression& argument : call.arguments) {
    const auto number = exact_or_null(call, argument);
    if (!number || !number->sql().is_exact()) return std::nullopt;
    numbers.push_back(*number);
  }
  const Expression& value = numbers.front();
  const SqlType& type = value.sql();
  const bool is_narrow = type.kind == Kind::Integer
                             ? !type.is_unsigned || type.digits < ValueType::digits_of_bigint
                             : value.type().whole_digits + value.type().scale <= most_int64_digits;
  return in_list(value, std::span<const Expression>(numbers).subspan(1), is_narrow);
}

/// Of texts, whose constants are looked up where there are many.
Expression in_texts(const Compared& texts) {
  constexpr size_t most_compared_one_by_one = 3;
  const Expression& value = texts.values.front();
  const std::span<const Expression> list = std::span(texts.values).subspan(1);
  std::vector<std::string> constants;
  std::vector<Expression> others;
  for (const Expression& each : list) {
    if (each.is_constant()) {
      constants.push_back(each->text);
    } else {
      others.push_back(each);
    }
  }
  auto test = constants.size() > most_compared_one_by_one
                  ? test_of_list(std::move(constants), *texts.settings.collation)
                  : nullptr;
  if (test == nullptr) return *or_equal({}, value, list, texts.settings);
  const Expression found = Expression::call(Function::Passes, {value}, {.test = std::move(test)});
  return *or_equal(found, silenced(value), others, texts.settings);
}

}  // namespace

Result<Expression> make_in(const CallRule& call) {
  constexpr ptrdiff_t most_compared = 1'000;  // one by one
  const auto is_constant = [](const Expression& each) { return each.is_constant() || each.is_null(); };
  if (std::ranges::count_if(call.arguments, std::not_fn(is_constant)) > most_compared)
    return call.left_out("a long list of what is no constant");
  HAILSTONE_ASSIGN(const Compared compared, compared_values(call, call.arguments, false));
  if (compared.settings.collation != nullptr) return typed_truth(call, in_texts(compared));
  if (const auto found = in_numbers(call)) return typed_truth(call, *found);
  const std::span<const Expression> list = std::span(compared.values).subspan(1);
  if (std::ssize(list) > most_compared) return call.left_out("a long list of what is no whole number");
  return typed_truth(call, *or_equal({}, compared.values.front(), list));
}

Result<Expression> make_like(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression text, text_of(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression pattern, text_of(call, call.argument(1)));
  std::optional<char> escape = '\\';
  if (call.arguments.size() == 3) {
    const Expression& wanted = call.argument(2);
    if (!is_constant_text(wanted) || wanted->text.size() > 1)
      return call.left_out("an ESCAPE that is not one character of ASCII");
    escape = wanted->text.empty() ? std::nullopt : std::optional(wanted->text.front());
  }
  if (pattern.is_null()) return typed_nullable(Expression::null(ValueKind::Integer), SqlType::truth());
  if (!pattern.is_constant()) return call.left_out("a pattern that is no constant");
  HAILSTONE_ASSIGN(const Collation* const collation, collation_of_texts(call, std::vector{text, pattern}));
  auto test = test_of_pattern(pattern->text, escape, *collation);
  if (test == nullptr) return call.left_out("a collation by weights");
  return typed_truth(call, Expression::call(Function::Passes, {text}, {.test = std::move(test)}));
}

Result<Expression> make_both(const CallRule& call) { return unite(call, Function::And); }
Result<Expression> make_either(const CallRule& call) { return unite(call, Function::Or); }

Result<Expression> make_one_of_two(const CallRule& call) {
  std::vector<Expression> opposites;
  for (const Expression& argument : call.arguments) {
    if (argument.sql().is_number() && argument.sql().kind != Kind::Integer)
      return call.left_out("DECIMAL and DOUBLE, which the server rounds first");
    HAILSTONE_ASSIGN(const Expression truth, as_truth(argument));
    opposites.push_back(negated(truth));
  }
  return typed_truth(call, Expression::call(Function::NotEqual, opposites));
}

Result<Expression> make_opposite(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression truth, as_truth(call.argument(0)));
  return typed_truth(call, negated(truth));
}

namespace {

/// Truth that is never NULL.
Expression sure_truth(const Expression& value) {
  SqlType type = SqlType::truth();
  type.is_nullable = false;
  return value.as(type);
}

Result<Expression> is_truth(const CallRule& call, bool wanted) {
  HAILSTONE_ASSIGN(const Expression truth, as_truth(call.argument(0)));
  return sure_truth(Expression::call(Function::IsTrue, {negated(truth, !wanted)}));
}

}  // namespace

Result<Expression> make_is_null(const CallRule& call) {
  return sure_truth(Expression::call(Function::IsNull, {call.argument(0)}));
}
Result<Expression> make_is_true(const CallRule& call) { return is_truth(call, true); }
Result<Expression> make_is_false(const CallRule& call) { return is_truth(call, false); }

}  // namespace hailstone
