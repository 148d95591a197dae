// CAST by the names of SQL.
#include <charconv>

#include "expression/call_rules.h"
#include "expression/number_casts.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

/// "DECIMAL(10,2)", in parts.
struct TypeWord {
  std::string_view name;
  std::optional<unsigned> length, scale;
};

/// Digits at the beginning of `rest`, which goes on behind them.
std::optional<unsigned> take_number(std::string_view& rest) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return number;
}

/// Nothing: it is no word for a type.
std::optional<TypeWord> parse_type_word(std::string_view word) {
  const size_t open = word.find('(');
  TypeWord type{.name = word.substr(0, open), .length = {}, .scale = {}};
  if (open == std::string_view::npos) return type;
  std::string_view rest = word.substr(open + 1);
  type.length = take_number(rest);
  if (!type.length) return std::nullopt;
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    type.scale = take_number(rest);
    if (!type.scale) return std::nullopt;
  }
  return rest == ")" ? std::optional(type) : std::nullopt;
}

constexpr unsigned digits_of_unsigned_bigint = 20, digits_of_double = 22;

Result<Expression> cast_to_integer(const CallRule& call, bool is_unsigned) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  unsigned digits = number.is_real() ? digits_of_double : number.sql().digits;
  // What is below 0 has the digits of a number beyond 2^63.
  if (is_unsigned && !number.is_constant()) digits = digits_of_unsigned_bigint;
  const SqlType type = SqlType::integer(digits, is_unsigned);
  // An INT stays as it is, where it has no other sign.
  const bool is_same = number.sql().kind == Kind::Integer && number.sql().is_unsigned == is_unsigned;
  const Expression whole = is_same ? number : cast_to_whole(number, is_unsigned);
  const Expression result =
      is_same || number.is_real() ? whole : in_range(whole, range_of({.is_unsigned = is_unsigned}));
  return typed(call, as_integer(result, is_unsigned), type);
}

Result<Expression> cast_to_decimal(const CallRule& call, const TypeWord& word) {
  constexpr unsigned usual_digits = 10;
  const unsigned digits = word.length.value_or(usual_digits), scale = word.scale.value_or(0);
  if (digits == 0 || digits > SqlType::most_digits || scale > SqlType::most_scale || scale > digits) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("DECIMAL({},{}): it has 1 to {} digits, at most {} of them behind the point",
                            digits, scale, SqlType::most_digits, SqlType::most_scale));
  }
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  if (number.is_real()) return call.left_out("DOUBLE AS DECIMAL");
  HAILSTONE_ASSIGN(const Expression result, or_too_long(call, cast_to_digits(number, digits, scale)));
  return typed(call, result, SqlType::decimal(digits, scale));
}

Result<Expression> cast_to_text(const CallRule& call, const TypeWord& word) {
  HAILSTONE_ASSIGN(const Expression text, text_of(call, call.argument(0)));
  SqlType type = text.sql();
  type.gives_way = false;
  if (!word.length) return typed(call, text, type);
  const Expression cut = Expression::call(Function::Left, {text, Expression::constant(int64_t{*word.length})},
                                          {.collation = type.collation});
  type.characters = *word.length;
  return typed(call, cut, type);
}

/// Of a text, its bytes.
Result<Expression> cast_to_bytes(const CallRule& call, const TypeWord& word) {
  constexpr uint64_t most_bytes_of_character = 4;
  if (word.length) return call.left_out("BINARY with a length");
  HAILSTONE_ASSIGN(const Expression text, text_of(call, call.argument(0)));
  SqlType type = text.sql();
  if (type.collation != &binary_collation()) type.characters *= most_bytes_of_character;
  type.collation = &binary_collation();
  type.gives_way = false;
  return typed(call, text, type);
}

}  // namespace

Result<Expression> make_cast(const CallRule& call) {
  const auto word = parse_type_word(call.word);
  const std::string_view name = word ? word->name : std::string_view();
  if (name == "SIGNED" || name == "UNSIGNED") return cast_to_integer(call, name == "UNSIGNED");
  if (name == "DECIMAL") return cast_to_decimal(call, *word);
  if (name == "CHAR") return cast_to_text(call, *word);
  if (name == "BINARY") return cast_to_bytes(call, *word);
  if (name == "DOUBLE") {
    HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
    return typed(call, as_real(number), SqlType::real());
  }
  if (name == "DATE") return cast_to_moment(call, SqlType::moment(Kind::Date));
  if (name == "DATETIME")
    return cast_to_moment(call, SqlType::moment(Kind::DateTime, word->length.value_or(0)));
  return fail(ErrorCode::InvalidArgument,
              fmt::format("CAST: there is no type '{}'; there are SIGNED, UNSIGNED, DECIMAL(digits,scale), "
                          "DOUBLE, CHAR(characters), BINARY, DATE and DATETIME(digits)",
                          call.word));
}

}  // namespace hailstone
