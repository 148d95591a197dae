#include "expression/calls.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "expression/call_rules.h"
#include "expression/expression_lexer.h"

namespace hailstone {

namespace {

constexpr uint8_t any_count = SqlFunction::any_number;

constexpr std::string_view gives_common = "INT, DECIMAL or DOUBLE, by the arguments";
constexpr std::string_view gives_number = "as the number";
constexpr std::string_view gives_value = "one that all values fit into";
constexpr std::string_view gives_truth = "truth";
constexpr std::string_view gives_whole = "INT";
constexpr std::string_view gives_bits = "BIGINT UNSIGNED";
constexpr std::string_view gives_text = "text";
constexpr std::string_view gives_day = "DATE";
constexpr std::string_view gives_moved = "DATE; DATETIME of a DATETIME, or by units below a day";

constexpr auto lines_of_calls = std::to_array<SqlFunction>({
    // Operators.
    {"+", "number, number", 2, 2, "a digit more than the longer one", make_sum},
    {"-", "number, number; number", 1, 2, "a digit more than the longer one", make_difference},
    {"*", "number, number", 2, 2, "the digits of both", make_product},
    {"/", "number, number", 2, 2, "DECIMAL with 4 digits more behind the point; DOUBLE", make_quotient},
    {"DIV", "number, number", 2, 2, gives_whole, make_whole_quotient},
    {"MOD, %", "number, number", 2, 2, gives_common, make_remainder},
    {"&", "INT, INT", 2, 2, gives_bits, make_bit_and},
    {"|", "INT, INT", 2, 2, gives_bits, make_bit_or},
    {"^", "INT, INT", 2, 2, gives_bits, make_bit_xor},
    {"~", "INT", 1, 1, gives_bits, make_bit_not},
    {"<<", "INT, INT", 2, 2, gives_bits, make_shift_left},
    {">>", "INT, INT", 2, 2, gives_bits, make_shift_right},
    {"=", "any, any", 2, 2, gives_truth, make_equal},
    {"<>, !=", "any, any", 2, 2, gives_truth, make_different},
    {"<", "any, any", 2, 2, gives_truth, make_less},
    {"<=", "any, any", 2, 2, gives_truth, make_less_or_equal},
    {">", "any, any", 2, 2, gives_truth, make_greater},
    {">=", "any, any", 2, 2, gives_truth, make_greater_or_equal},
    {"<=>", "any, any", 2, 2, gives_truth, make_same_or_null},
    {"BETWEEN", "any, any, any", 3, 3, gives_truth, make_between},
    {"IN", "any, any, …", 2, any_count, gives_truth, make_in},
    {"LIKE", "text, constant text, escape", 2, 3, gives_truth, make_like},
    {"AND, &&", "truth, truth, …", 2, any_count, gives_truth, make_both},
    {"OR, ||", "truth, truth, …", 2, any_count, gives_truth, make_either},
    {"XOR", "truth, truth", 2, 2, gives_truth, make_one_of_two},
    {"NOT, !", "truth", 1, 1, gives_truth, make_opposite},
    {"IS NULL, ISNULL", "any", 1, 1, gives_truth, make_is_null},
    {"IS TRUE", "truth", 1, 1, gives_truth, make_is_true},
    {"IS FALSE", "truth", 1, 1, gives_truth, make_is_false},
    {"CASE", "truth, any, …, any", 2, any_count, gives_value, make_case},
    {"CASE OF", "any, any, any, …, any", 3, any_count, gives_value, make_case_of_value},
    {"CAST", "any", 1, 1, "the one that is asked for", make_cast},
    // Choices.
    {"IF", "truth, any, any", 3, 3, gives_value, make_if},
    {"COALESCE, IFNULL", "any, …", 1, any_count, gives_value, make_coalesce},
    {"NULLIF", "any, any", 2, 2, "as the first value", make_null_if},
    {"GREATEST", "any, any, …", 2, any_count, gives_value, make_greatest},
    {"LEAST", "any, any, …", 2, any_count, gives_value, make_least},
    // Numbers.
    {"ABS", "number", 1, 1, gives_number, make_magnitude},
    {"SIGN", "number", 1, 1, gives_whole, make_sign},
    {"FLOOR", "number", 1, 1, "INT; DECIMAL beyond 18 digits; DOUBLE", make_floor},
    {"CEIL, CEILING", "number", 1, 1, "INT; DECIMAL beyond 18 digits; DOUBLE", make_ceiling},
    {"ROUND", "number, constant", 1, 2, "as the number, with those digits", make_round},
    {"TRUNCATE", "number, constant", 2, 2, "as the number, with those digits", make_truncate},
    {"BIT_COUNT", "INT", 1, 1, gives_whole, make_bit_count},
    // Days and times.
    {"YEAR", "moment", 1, 1, gives_whole, make_part},
    {"QUARTER", "moment", 1, 1, gives_whole, make_part},
    {"MONTH", "moment", 1, 1, gives_whole, make_part},
    {"DAY, DAYOFMONTH", "moment", 1, 1, gives_whole, make_part},
    {"HOUR", "moment or TIME", 1, 1, gives_whole, make_part},
    {"MINUTE", "moment or TIME", 1, 1, gives_whole, make_part},
    {"SECOND", "moment or TIME", 1, 1, gives_whole, make_part},
    {"MICROSECOND", "moment or TIME", 1, 1, gives_whole, make_part},
    {"DAYOFYEAR", "moment", 1, 1, gives_whole, make_part},
    {"DAYOFWEEK", "moment", 1, 1, gives_whole, make_part},
    {"WEEKDAY", "moment", 1, 1, gives_whole, make_part},
    {"TO_DAYS", "moment", 1, 1, gives_whole, make_part},
    {"TO_SECONDS", "moment", 1, 1, gives_whole, make_part},
    {"TIME_TO_SEC", "TIME", 1, 1, gives_whole, make_part},
    {"WEEK", "moment, constant", 1, 2, gives_whole, make_week},
    {"YEARWEEK", "moment, constant", 1, 2, gives_whole, make_year_and_week},
    {"EXTRACT", "moment or TIME", 1, 1, gives_whole, make_extract},
    {"DATE_ADD", "moment, INT", 2, 2, gives_moved, make_later},
    {"DATE_SUB", "moment, INT", 2, 2, gives_moved, make_earlier},
    {"ADDDATE", "moment, INT", 2, 2, gives_moved, make_days_later},
    {"SUBDATE", "moment, INT", 2, 2, gives_moved, make_days_earlier},
    {"DATEDIFF", "moment, moment", 2, 2, gives_whole, make_days_between},
    {"TIMESTAMPDIFF", "moment, moment", 2, 2, gives_whole, make_units_between},
    {"LAST_DAY", "moment", 1, 1, gives_day, make_last_day},
    {"DATE", "moment", 1, 1, gives_day, make_day},
    {"FROM_DAYS", "INT", 1, 1, gives_day, make_day_of_number},
    {"MAKEDATE", "INT, INT", 2, 2, gives_day, make_day_of_year},
    {"DATE_FORMAT", "moment, constant text", 2, 2, gives_text, make_formatted},
    // Texts.
    {"CONCAT", "text, …", 1, any_count, gives_text, make_text},
    {"CONCAT_WS", "text, text, …", 2, any_count, gives_text, make_text},
    {"SUBSTRING, SUBSTR, MID", "text, INT, INT", 2, 3, gives_text, make_text},
    {"LEFT", "text, INT", 2, 2, gives_text, make_text},
    {"RIGHT", "text, INT", 2, 2, gives_text, make_text},
    {"UPPER, UCASE", "text", 1, 1, gives_text, make_text},
    {"LOWER, LCASE", "text", 1, 1, gives_text, make_text},
    {"TRIM", "text, text", 1, 2, gives_text, make_trim},
    {"LTRIM", "text", 1, 1, gives_text, make_text},
    {"RTRIM", "text", 1, 1, gives_text, make_text},
    {"REPLACE", "text, text, text", 3, 3, gives_text, make_text},
    {"LPAD", "text, INT, text", 2, 3, gives_text, make_text},
    {"RPAD", "text, INT, text", 2, 3, gives_text, make_text},
    {"REPEAT", "text, INT", 2, 2, gives_text, make_text},
    {"SPACE", "INT", 1, 1, gives_text, make_space},
    {"REVERSE", "text", 1, 1, gives_text, make_text},
    {"SUBSTRING_INDEX", "text, text, INT", 3, 3, gives_text, make_text},
    {"ELT", "INT, text, …", 2, any_count, gives_text, make_text},
    {"HEX", "text", 1, 1, gives_text, make_text},
    {"MD5", "text", 1, 1, gives_text, make_text},
    {"LENGTH, OCTET_LENGTH", "text", 1, 1, gives_whole, make_number_of_texts},
    {"CHAR_LENGTH, CHARACTER_LENGTH", "text", 1, 1, gives_whole, make_number_of_texts},
    {"ASCII", "text", 1, 1, gives_whole, make_number_of_texts},
    {"INSTR", "text, text", 2, 2, gives_whole, make_number_of_texts},
    {"LOCATE", "text, text, INT", 2, 3, gives_whole, make_number_of_texts},
    {"STRCMP", "text, text", 2, 2, gives_whole, make_number_of_texts},
    {"FIELD", "text, text, …", 2, any_count, gives_whole, make_number_of_texts},
    {"FIND_IN_SET", "text, text", 2, 2, gives_whole, make_number_of_texts},
    {"CRC32", "text", 1, 1, "INT UNSIGNED", make_number_of_texts},
});

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

char upper(char byte) { return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte; }

bool has_name(const SqlFunction& line, std::string_view name) {
  for (std::string_view rest = line.names;;) {
    const size_t end = rest.find(", ");
    if (is_same_name(rest.substr(0, end), name)) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 2);
  }
}

std::unexpected<Error> no_function(std::string_view name) {
  std::vector<std::string> names;
  for (const SqlFunction& line : lines_of_calls) names.emplace_back(line.name());
  const std::string nearest = nearest_name(name, names);
  return fail(ErrorCode::InvalidArgument,
              fmt::format("there is no function '{}'{}", name,
                          nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest)));
}

std::unexpected<Error> wrong_count(const SqlFunction& line, size_t count) {
  std::string wanted = line.most == any_count    ? fmt::format("at least {}", line.least)
                       : line.least == line.most ? fmt::format("{}", line.least)
                                                 : fmt::format("{} to {}", line.least, line.most);
  return fail(ErrorCode::InvalidArgument,
              fmt::format("{} takes {} argument{} ({}), and not {}", line.name(), wanted,
                          wanted == "1" ? "" : "s", line.arguments, count));
}

}  // namespace

std::span<const SqlFunction> sql_functions() { return lines_of_calls; }

const SqlFunction* find_sql_function(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(lines_of_calls, [name](const SqlFunction& line) { return has_name(line, name); });
  return found == lines_of_calls.end() ? nullptr : found;
}

Result<Expression> sql_call(std::string_view name, std::vector<Expression> arguments,
                            const LanguageSettings& settings, std::string_view word) {
  const SqlFunction* const line = find_sql_function(name);
  if (line == nullptr) return no_function(name);
  if (arguments.size() < line->least || (line->most != any_count && arguments.size() > line->most))
    return wrong_count(*line, arguments.size());
  std::string upper_word(word);
  std::ranges::transform(upper_word, upper_word.begin(), upper);
  // A number below 0 is one constant.
  if (line->name() == "-" && arguments.size() == 1 && arguments.front().is_constant() &&
      arguments.front().sql().is_number()) {
    if (auto negative = negative_constant(arguments.front())) return *negative;
  }
  HAILSTONE_ASSIGN(
      const Expression made,
      line->make({.line = *line, .arguments = arguments, .settings = settings, .word = upper_word}));
  return made.said({.name = line->name(), .arguments = std::move(arguments), .word = std::move(upper_word)});
}

Result<Expression> as_shown(const Expression& value) {
  const SqlType& type = value.sql();
  if (type.kind != SqlType::Kind::Decimal || value.type().scale == type.scale) return value;
  const auto shown = rounded_to(value, value.sql().scale);
  if (shown) return shown->as(value.sql());
  return fail(ErrorCode::Unsupported, fmt::format("{} has too many digits to show", to_text(value.sql())));
}

Expression constant_truth(bool value) {
  SqlType type = SqlType::truth();
  type.is_nullable = false;
  return Expression::constant(int64_t{value ? 1 : 0}).as(ValueType{.whole_digits = 1, .sql = type});
}

Expression constant_null() { return Expression::null(ValueKind::Integer).as(SqlType::null()); }

namespace {

Expression constant_in(std::string value, const Collation& collation) {
  SqlType type = SqlType::text(collation.characters(value), collation);
  type.gives_way = true;
  type.is_nullable = false;
  return Expression::constant(std::move(value)).as(type);
}

}  // namespace

Expression constant_text(std::string value, const LanguageSettings& settings) {
  return constant_in(std::move(value), *settings.collation);
}

Expression constant_bytes(std::string value) { return constant_in(std::move(value), binary_collation()); }

Result<Expression> constant_time(SqlType::Kind kind, std::string_view text) {
  const auto time = time_of_text(text, kind);
  if (!time)
    return fail(ErrorCode::InvalidArgument, fmt::format("'{}' is no {}", text, to_text({.kind = kind})));
  SqlType type = time->sql();
  if (type.kind == SqlType::Kind::Instant) type.kind = SqlType::Kind::DateTime;
  type.is_nullable = false;
  return time->as(type);
}

namespace {

Result<Expression> constant_real(std::string_view digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    return fail(ErrorCode::InvalidArgument, fmt::format("'{}' is no DOUBLE", digits));
  SqlType type = SqlType::real();
  type.is_nullable = false;
  return Expression::constant(value).as(type);
}

Expression exact_constant(const HugeInteger& number, unsigned whole_digits, unsigned scale, bool is_whole) {
  const bool is_unsigned = is_whole && !number.is_negative() && !number.has_64_bits();
  SqlType type =
      is_whole ? SqlType::integer(whole_digits, is_unsigned) : SqlType::decimal(whole_digits + scale, scale);
  type.is_nullable = false;
  return Expression::constant(number).as(
      ValueType{.kind = is_whole ? ValueType::Kind::Integer : ValueType::Kind::Decimal,
                .is_unsigned = is_unsigned,
                .scale = scale,
                .whole_digits = whole_digits,
                .sql = type});
}

HugeInteger number_of_constant(const Expression& constant) {
  return constant->huge == HugeInteger() ? HugeInteger::of(constant->integer) : constant->huge;
}

/// Whether BIGINT, or for one that is not negative BIGINT UNSIGNED, has it.
bool is_whole_of_sql(const HugeInteger& number) {
  const bool has_64_bits = number.words[1] == 0 && number.words[2] == 0 && number.words[3] == 0;
  return number.has_64_bits() || has_64_bits;
}

}  // namespace

std::optional<Expression> negative_constant(const Expression& number) {
  SqlType type = number.sql();
  if (number.is_real()) return Expression::constant(-number->real).as(type);
  const HugeInteger opposite = -number_of_constant(number);
  const bool is_whole = type.kind == SqlType::Kind::Integer;
  if (is_whole && !is_whole_of_sql(opposite)) return std::nullopt;
  return exact_constant(opposite, type.whole_digits(), type.scale, is_whole);
}

Result<Expression> constant_number(std::string_view digits) {
  const bool is_negative = digits.starts_with('-');
  const std::string_view magnitude = digits.substr(is_negative ? 1 : 0);
  if (magnitude.find_first_of("eE") != std::string_view::npos) return constant_real(digits);
  const size_t point = magnitude.find('.');
  const std::string_view in_front = magnitude.substr(0, point),
                         behind = point == std::string_view::npos ? "" : magnitude.substr(point + 1);
  if (in_front.size() + behind.size() == 0 || !std::ranges::all_of(in_front, is_digit) ||
      !std::ranges::all_of(behind, is_digit))
    return fail(ErrorCode::InvalidArgument, fmt::format("'{}' is no number", digits));
  const size_t zeros = std::min(in_front.find_first_not_of('0'), in_front.size());
  const size_t whole_digits = std::max<size_t>(in_front.size() - zeros, 1);
  if (whole_digits + behind.size() > SqlType::most_digits || behind.size() > SqlType::most_scale) {
    return fail(ErrorCode::Unsupported,
                fmt::format("'{}' has more digits than the {} of a DECIMAL, {} of them "
                            "behind the point",
                            digits, SqlType::most_digits, SqlType::most_scale));
  }
  HugeInteger number;
  for (const std::string_view part : {in_front, behind}) {
    for (const char digit : part) number = number * HugeInteger::of(10) + HugeInteger::of(digit - '0');
  }
  if (is_negative) number = -number;
  const bool is_whole = point == std::string_view::npos && is_whole_of_sql(number);
  return exact_constant(number, static_cast<unsigned>(whole_digits), static_cast<unsigned>(behind.size()),
                        is_whole);
}

std::string nearest_name(std::string_view name, std::span<const std::string> names) {
  // Changed, added and left out letters (Levenshtein, 1966): of five letters two, of one none.
  size_t best = name.size() * 2 / 5 + 1;
  std::string nearest;
  std::vector<size_t> row, last;
  for (const std::string& other : names) {
    row.resize(other.size() + 1);
    for (size_t i = 0; i < row.size(); ++i) row[i] = i;
    for (size_t i = 0; i < name.size(); ++i) {
      last = row;
      row[0] = i + 1;
      for (size_t j = 0; j < other.size(); ++j) {
        const size_t changed = last[j] + (upper(name[i]) == upper(other[j]) ? 0 : 1);
        row[j + 1] = std::min({changed, last[j + 1] + 1, row[j] + 1});
      }
    }
    if (row.back() < best) {
      best = row.back();
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace hailstone
