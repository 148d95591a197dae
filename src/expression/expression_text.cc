#include "expression/expression_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "expression/expression_lexer.h"

namespace hailstone {

namespace {

using Kind = Token::Kind;

/// A tree of more levels would need more stack than a thread has.
constexpr unsigned most_nested = 100, most_parts = 4'000;

char upper_of(char byte) { return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte; }

std::string upper_word(std::string_view word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(), upper_of);
  return upper;
}

/// Words that are no names of columns without backticks.
constexpr std::array<std::string_view, 20> reserved{
    "AND",      "BETWEEN", "CASE", "CAST", "DIV", "ELSE", "END", "ESCAPE", "FALSE", "IN",
    "INTERVAL", "IS",      "LIKE", "MOD",  "NOT", "NULL", "OR",  "THEN",   "TRUE",  "WHEN"};
constexpr std::array<std::string_view, 3> also_reserved{"XOR", "AS", "FROM"};

bool is_reserved(std::string_view word) {
  const std::string upper = upper_word(word);
  return std::ranges::find(reserved, upper) != reserved.end() ||
         std::ranges::find(also_reserved, upper) != also_reserved.end();
}

/// Operators between numbers, the weakest first.
struct NumberOperator {
  std::string_view sign;
  unsigned strength;
};
constexpr std::array<NumberOperator, 12> number_operators{{{"|", 1},
                                                           {"&", 2},
                                                           {"<<", 3},
                                                           {">>", 3},
                                                           {"+", 4},
                                                           {"-", 4},
                                                           {"*", 5},
                                                           {"/", 5},
                                                           {"%", 5},
                                                           {"DIV", 5},
                                                           {"MOD", 5},
                                                           {"^", 6}}};
constexpr std::array<std::string_view, 8> comparisons{"=", "<>", "!=", "<", "<=", ">", ">=", "<=>"};

class Parser {
 public:
  Parser(std::string_view text, const ColumnResolver& columns, const Parameters& parameters,
         const LanguageSettings& settings)
      : lexer_(text), columns_(columns), parameters_(parameters), settings_(settings) {}

  Result<Expression> parse() { return parse_either(); }
  bool is_at_end() const { return lexer_.token().kind == Kind::End; }
  size_t position() const { return lexer_.token().position; }
  std::unexpected<Error> unexpected(std::string_view wanted) const {
    const Token& token = lexer_.token();
    if (token.kind == Kind::Wrong) return wrong(token.position, token.text);
    if (token.kind == Kind::End) return wrong(token.position, fmt::format("{} is missing", wanted));
    return wrong(token.position, fmt::format("{} is expected before '{}'", wanted, token.text));
  }

 private:
  /// One level deeper while it lives.
  class Nested {
   public:
    explicit Nested(unsigned& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    unsigned& depth_;
  };

  static std::unexpected<Error> wrong(size_t position, std::string_view message) {
    return fail(ErrorCode::InvalidArgument, fmt::format("at {}: {}", position + 1, message));
  }

  bool is_sign(std::string_view sign) const { return hailstone::is_sign(lexer_.token(), sign); }
  bool is_word(std::string_view word) const { return hailstone::is_word(lexer_.token(), word); }
  bool take_sign(std::string_view sign) {
    if (!is_sign(sign)) return false;
    lexer_.advance();
    return true;
  }
  bool take_word(std::string_view word) {
    if (!is_word(word)) return false;
    lexer_.advance();
    return true;
  }
  Status expect_sign(std::string_view sign) {
    if (take_sign(sign)) return {};
    return unexpected(fmt::format("'{}'", sign));
  }
  Status expect_word(std::string_view word) {
    if (take_word(word)) return {};
    return unexpected(word);
  }

  Result<Expression> make(size_t position, std::string_view name, std::vector<Expression> arguments,
                          std::string_view word = {}) {
    if (++parts_ > most_parts)
      return wrong(position, fmt::format("the expression has more than {} parts", most_parts));
    auto made = sql_call(name, std::move(arguments), settings_, word);
    if (made) return made;
    return fail(made.error().code(), fmt::format("at {}: {}", position + 1, made.error().message()));
  }

  /// `next`, then more of it behind `sign` or `word`, all of which are one call.
  template <typename Next>
  Result<Expression> parse_all(std::string_view word, std::string_view sign, const Next& next) {
    HAILSTONE_ASSIGN(const Expression first, next());
    std::vector<Expression> all{first};
    const size_t place = position();
    while (take_word(word) || take_sign(sign)) {
      HAILSTONE_ASSIGN(const Expression other, next());
      all.push_back(other);
      if (++parts_ > most_parts) return wrong(place, fmt::format("there are more than {} parts", most_parts));
    }
    return all.size() == 1 ? Result<Expression>(first) : make(place, word, std::move(all));
  }

  Result<Expression> parse_either() {
    const Nested nested(depth_);
    if (depth_ > most_nested)
      return wrong(position(), fmt::format("parentheses are nested more than {} deep", most_nested));
    return parse_all("OR", "||", [this] { return parse_one_of_two(); });
  }

  Result<Expression> parse_one_of_two() {
    HAILSTONE_ASSIGN(Expression left, parse_both());
    for (size_t place = position(); take_word("XOR"); place = position()) {
      HAILSTONE_ASSIGN(const Expression right, parse_both());
      HAILSTONE_ASSIGN(left, make(place, "XOR", {left, right}));
    }
    return left;
  }

  Result<Expression> parse_both() {
    return parse_all("AND", "&&", [this] { return parse_opposite(); });
  }

  Result<Expression> parse_opposite() {
    const size_t place = position();
    if (!is_word("NOT")) return parse_comparison();
    lexer_.advance();
    const Nested nested(depth_);
    if (depth_ > most_nested)
      return wrong(place, fmt::format("NOT is nested more than {} deep", most_nested));
    HAILSTONE_ASSIGN(const Expression of, parse_opposite());
    return make(place, "NOT", {of});
  }

  Result<Expression> parse_comparison() {
    HAILSTONE_ASSIGN(Expression left, parse_predicate());
    for (;;) {
      const size_t place = position();
      if (take_word("IS")) {
        HAILSTONE_ASSIGN(left, parse_is(place, left));
        continue;
      }
      const Token& token = lexer_.token();
      const auto* const found = std::ranges::find(comparisons, token.text);
      if (token.kind != Kind::Sign || found == comparisons.end()) return left;
      lexer_.advance();
      HAILSTONE_ASSIGN(const Expression right, parse_predicate());
      HAILSTONE_ASSIGN(left, make(place, *found, {left, right}));
    }
  }

  Result<Expression> parse_is(size_t place, const Expression& of) {
    const bool is_negated = take_word("NOT");
    std::string_view name;
    if (take_word("NULL") || take_word("UNKNOWN")) {
      name = "IS NULL";
    } else if (take_word("TRUE")) {
      name = "IS TRUE";
    } else if (take_word("FALSE")) {
      name = "IS FALSE";
    } else {
      return unexpected("NULL, TRUE, FALSE or UNKNOWN");
    }
    return negated_if(place, is_negated, make(place, name, {of}));
  }

  Result<Expression> negated_if(size_t place, bool is_negated, Result<Expression> condition) {
    if (!condition || !is_negated) return condition;
    return make(place, "NOT", {*condition});
  }

  Result<Expression> parse_predicate() {
    HAILSTONE_ASSIGN(const Expression value, parse_number(1));
    const size_t place = position();
    const bool is_negated = take_word("NOT");
    if (take_word("IN")) return negated_if(place, is_negated, parse_list(place, value));
    if (take_word("BETWEEN")) {
      HAILSTONE_ASSIGN(const Expression low, parse_number(1));
      HAILSTONE_TRY(expect_word("AND"));
      HAILSTONE_ASSIGN(const Expression high, parse_number(1));
      return negated_if(place, is_negated, make(place, "BETWEEN", {value, low, high}));
    }
    if (take_word("LIKE")) {
      HAILSTONE_ASSIGN(const Expression pattern, parse_number(1));
      std::vector<Expression> arguments{value, pattern};
      if (take_word("ESCAPE")) {
        HAILSTONE_ASSIGN(const Expression escape, parse_number(1));
        arguments.push_back(escape);
      }
      return negated_if(place, is_negated, make(place, "LIKE", std::move(arguments)));
    }
    if (is_negated) return unexpected("IN, BETWEEN or LIKE");
    return value;
  }

  Result<Expression> parse_list(size_t place, const Expression& value) {
    HAILSTONE_TRY(expect_sign("("));
    std::vector<Expression> all{value};
    do {
      HAILSTONE_ASSIGN(const Expression each, parse_either());
      all.push_back(each);
    } while (take_sign(","));
    HAILSTONE_TRY(expect_sign(")"));
    return make(place, "IN", std::move(all));
  }

  const NumberOperator* number_operator() const {
    const Token& token = lexer_.token();
    if (token.kind != Kind::Sign && (token.kind != Kind::Word || token.id)) return nullptr;
    const std::string sign = upper_word(token.text);
    const auto* const found = std::ranges::find(number_operators, sign, &NumberOperator::sign);
    return found == number_operators.end() ? nullptr : found;
  }

  /// Operators that are at least so strong.
  Result<Expression> parse_number(unsigned strength) {
    std::optional<Expression> left;
    if (is_word("INTERVAL")) {
      // INTERVAL 1 DAY + day
      HAILSTONE_ASSIGN(left, parse_interval_in_front());
    } else {
      HAILSTONE_ASSIGN(left, parse_prefixed());
    }
    for (;;) {
      const size_t place = position();
      const NumberOperator* const found = number_operator();
      if (found == nullptr || found->strength < strength) return *left;
      lexer_.advance();
      if (is_word("INTERVAL") && (found->sign == "+" || found->sign == "-")) {
        HAILSTONE_ASSIGN(left, parse_interval(place, *left, found->sign == "+" ? "DATE_ADD" : "DATE_SUB"));
        continue;
      }
      HAILSTONE_ASSIGN(const Expression right, parse_number(found->strength + 1));
      HAILSTONE_ASSIGN(left, make(place, found->sign, {*left, right}));
    }
  }

  struct Interval {
    Expression count;
    std::string unit;
  };
  /// Behind INTERVAL.
  Result<Interval> take_interval() {
    lexer_.advance();
    HAILSTONE_ASSIGN(const Expression count, parse_either());
    HAILSTONE_ASSIGN(std::string unit, take_unit());
    return Interval{count, std::move(unit)};
  }
  Result<std::string> take_unit() {
    if (lexer_.token().kind != Kind::Word) return unexpected("a unit of time");
    std::string unit = upper_word(lexer_.token().text);
    lexer_.advance();
    return unit;
  }

  Result<Expression> parse_interval(size_t place, const Expression& from, std::string_view name) {
    HAILSTONE_ASSIGN(const Interval interval, take_interval());
    return make(place, name, {from, interval.count}, interval.unit);
  }

  Result<Expression> parse_interval_in_front() {
    constexpr unsigned strength_behind_sum = 5;
    const size_t place = position();
    HAILSTONE_ASSIGN(const Interval interval, take_interval());
    HAILSTONE_TRY(expect_sign("+"));
    HAILSTONE_ASSIGN(const Expression from, parse_number(strength_behind_sum));
    return make(place, "DATE_ADD", {from, interval.count}, interval.unit);
  }

  Result<Expression> parse_prefixed() {
    const size_t place = position();
    for (const std::string_view sign : {"-", "+", "~", "!"}) {
      if (!take_sign(sign)) continue;
      const Nested nested(depth_);
      if (depth_ > most_nested)
        return wrong(place, fmt::format("signs are nested more than {} deep", most_nested));
      HAILSTONE_ASSIGN(const Expression of, parse_prefixed());
      if (sign == "+") return of;
      return make(place, sign == "!" ? "NOT" : sign, {of});
    }
    return parse_primary();
  }

  Result<Expression> parse_primary() {
    const Token token = lexer_.token();
    switch (token.kind) {
      case Kind::Number:
        lexer_.advance();
        return placed(token.position, constant_number(token.text));
      case Kind::Text:
        lexer_.advance();
        return constant_text(token.text, settings_);
      case Kind::Bytes:
        lexer_.advance();
        return constant_bytes(token.text);
      case Kind::Parameter:
        lexer_.advance();
        return parameter(token);
      case Kind::Name:
        return parse_column();
      case Kind::Word:
        return parse_word(token);
      case Kind::Sign:
        if (take_sign("(")) {
          HAILSTONE_ASSIGN(const Expression inner, parse_either());
          HAILSTONE_TRY(expect_sign(")"));
          return inner;
        }
        break;
      case Kind::End:
      case Kind::Wrong:
        break;
    }
    return unexpected("a value");
  }

  static Result<Expression> placed(size_t position, Result<Expression> result) {
    if (result) return result;
    return fail(result.error().code(), fmt::format("at {}: {}", position + 1, result.error().message()));
  }

  Result<Expression> parameter(const Token& token) {
    if (token.text.empty()) {
      const size_t number = parameters_met_++;
      if (number < parameters_.in_order.size()) return parameters_.in_order[number];
      return wrong(token.position, fmt::format("there is no value for parameter {}: {} were given",
                                               number + 1, parameters_.in_order.size()));
    }
    const auto found = parameters_.by_name.find(token.text);
    if (found != parameters_.by_name.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : parameters_.by_name) names.push_back(name);
    return wrong(token.position, fmt::format("there is no value for parameter ':{}'{}", token.text,
                                             suggestion(token.text, names)));
  }

  static std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
    const std::string nearest = nearest_name(name, names);
    return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
  }

  Result<Expression> parse_word(const Token& token) {
    const std::string word = upper_word(token.text);
    if (token.id) return parse_column();
    if (word == "CASE") return parse_case();
    if (lexer_.is_before("(") && word != "NOT" && word != "IN" && word != "INTERVAL")
      return parse_call(token, word);
    if (word == "NULL" || word == "TRUE" || word == "FALSE") {
      lexer_.advance();
      return word == "NULL" ? constant_null() : constant_truth(word == "TRUE");
    }
    if (is_reserved(word)) return unexpected("a value");
    const bool is_of_time = word == "DATE" || word == "TIME" || word == "TIMESTAMP";
    if (!is_of_time || (!lexer_.is_before("'") && !lexer_.is_before("\""))) return parse_column();
    lexer_.advance();
    const Token text = lexer_.token();
    if (text.kind != Kind::Text) return unexpected("a text");
    lexer_.advance();
    const auto kind = word == "DATE"   ? SqlType::Kind::Date
                      : word == "TIME" ? SqlType::Kind::Time
                                       : SqlType::Kind::DateTime;
    return placed(token.position, constant_time(kind, text.text));
  }

  Result<Expression> parse_column() {
    const size_t place = position();
    ColumnName name{.qualifier = {}, .name = lexer_.token().text, .id = lexer_.token().id};
    lexer_.advance();
    if (!name.id && is_sign(".")) {
      lexer_.advance();
      if (lexer_.token().kind != Kind::Word && lexer_.token().kind != Kind::Name)
        return unexpected("the name of a column");
      name = {.qualifier = std::move(name.name), .name = lexer_.token().text, .id = lexer_.token().id};
      lexer_.advance();
    }
    auto column = columns_.resolve(name);
    if (column) return column;
    if (column.error().code() != ErrorCode::NotFound) return placed(place, std::move(column));
    const std::string whole = fmt::format("{}{}{}{}", name.qualifier, name.qualifier.empty() ? "" : ".",
                                          name.name, name.id ? fmt::format("#{}", *name.id) : std::string());
    return wrong(place, fmt::format("there is no column '{}'{}", whole, suggestion(whole, columns_.names())));
  }

  Result<Expression> parse_case() {
    const size_t place = position();
    lexer_.advance();
    std::vector<Expression> arguments;
    const bool is_of_value = !is_word("WHEN");
    if (is_of_value) {
      HAILSTONE_ASSIGN(const Expression value, parse_either());
      arguments.push_back(value);
    }
    if (!is_word("WHEN")) return unexpected("WHEN");
    while (take_word("WHEN")) {
      HAILSTONE_ASSIGN(const Expression condition, parse_either());
      HAILSTONE_TRY(expect_word("THEN"));
      HAILSTONE_ASSIGN(const Expression result, parse_either());
      arguments.push_back(condition);
      arguments.push_back(result);
      if (++parts_ > most_parts) return wrong(place, fmt::format("CASE has more than {} parts", most_parts));
    }
    if (take_word("ELSE")) {
      HAILSTONE_ASSIGN(const Expression otherwise, parse_either());
      arguments.push_back(otherwise);
    }
    HAILSTONE_TRY(expect_word("END"));
    return make(place, is_of_value ? "CASE OF" : "CASE", std::move(arguments));
  }

  Result<Expression> parse_call(const Token& token, const std::string& word) {
    const size_t place = token.position;
    lexer_.advance();
    lexer_.advance();
    if (word == "CAST") return parse_cast(place);
    if (word == "EXTRACT") {
      HAILSTONE_ASSIGN(const std::string unit, take_unit());
      HAILSTONE_TRY(expect_word("FROM"));
      HAILSTONE_ASSIGN(const Expression of, parse_either());
      HAILSTONE_TRY(expect_sign(")"));
      return make(place, word, {of}, unit);
    }
    if (word == "TRIM") return parse_trim(place);
    std::string unit;
    if (word == "TIMESTAMPDIFF") {
      HAILSTONE_ASSIGN(unit, take_unit());
      HAILSTONE_TRY(expect_sign(","));
    }
    std::vector<Expression> arguments;
    while (!take_sign(")")) {
      if (!arguments.empty()) HAILSTONE_TRY(expect_sign(","));
      if (arguments.size() == 1 && is_word("INTERVAL") && is_of_interval(word)) {
        HAILSTONE_ASSIGN(const Expression moved,
                         parse_interval(place, arguments.front(),
                                        word == "DATE_ADD" || word == "ADDDATE" ? "DATE_ADD" : "DATE_SUB"));
        HAILSTONE_TRY(expect_sign(")"));
        return moved;
      }
      HAILSTONE_ASSIGN(const Expression argument, parse_either());
      arguments.push_back(argument);
      if (++parts_ > most_parts) return wrong(place, fmt::format("there are more than {} parts", most_parts));
    }
    return make(place, word, std::move(arguments), unit);
  }

  static bool is_of_interval(std::string_view word) {
    return word == "DATE_ADD" || word == "DATE_SUB" || word == "ADDDATE" || word == "SUBDATE";
  }

  Result<Expression> parse_cast(size_t place) {
    HAILSTONE_ASSIGN(const Expression of, parse_either());
    HAILSTONE_TRY(expect_word("AS"));
    if (lexer_.token().kind != Kind::Word) return unexpected("a type");
    std::string type = upper_word(lexer_.token().text);
    lexer_.advance();
    if (type == "SIGNED" || type == "UNSIGNED") {
      if (!take_word("INTEGER")) take_word("INT");
    }
    if (take_sign("(")) {
      type += "(";
      for (bool is_first = true; is_first || take_sign(","); is_first = false) {
        if (lexer_.token().kind != Kind::Number) return unexpected("a number");
        if (!is_first) type += ",";
        type += lexer_.token().text;
        lexer_.advance();
      }
      HAILSTONE_TRY(expect_sign(")"));
      type += ")";
    }
    HAILSTONE_TRY(expect_sign(")"));
    return make(place, "CAST", {of}, type);
  }

  Result<Expression> parse_trim(size_t place) {
    std::string word;
    bool has_from = false;
    for (const std::string_view each : {"LEADING", "TRAILING", "BOTH"}) {
      if (!take_word(each)) continue;
      if (each != "BOTH") word = each;
      has_from = true;
      break;
    }
    std::optional<Expression> piece;
    if (!take_word("FROM")) {
      HAILSTONE_ASSIGN(const Expression first, parse_either());
      if (!take_word("FROM")) {
        if (has_from) return unexpected("FROM");
        HAILSTONE_TRY(expect_sign(")"));
        return make(place, "TRIM", {first});
      }
      piece = first;
    } else if (!has_from) {
      return wrong(place, "TRIM(FROM …) lacks LEADING, TRAILING or BOTH");
    }
    HAILSTONE_ASSIGN(const Expression text, parse_either());
    HAILSTONE_TRY(expect_sign(")"));
    std::vector<Expression> arguments{text};
    if (piece) arguments.push_back(*piece);
    return make(place, "TRIM", std::move(arguments), word);
  }

  ExpressionLexer lexer_;
  const ColumnResolver& columns_;
  const Parameters& parameters_;
  const LanguageSettings& settings_;
  unsigned depth_ = 0, parts_ = 0;
  size_t parameters_met_ = 0;
};

}  // namespace

Result<Expression> NamedColumns::resolve(const ColumnName& name) const {
  if (name.qualifier.empty() && !name.id) {
    for (const auto& [own, column] : columns_) {
      if (is_same_name(own, name.name)) return column;
    }
  }
  return fail(ErrorCode::NotFound, "there is no such column");
}

std::vector<std::string> NamedColumns::names() const {
  std::vector<std::string> all;
  for (const auto& [name, column] : columns_) all.push_back(name);
  return all;
}

Result<Expression> take_expression(std::string_view& text, const ColumnResolver& columns,
                                   const Parameters& parameters, const LanguageSettings& settings) {
  Parser parser(text, columns, parameters, settings);
  HAILSTONE_ASSIGN(const Expression parsed, parser.parse());
  text.remove_prefix(parser.position());
  return parsed;
}

Result<Expression> parse_expression(std::string_view text, const ColumnResolver& columns,
                                    const Parameters& parameters, const LanguageSettings& settings) {
  Parser parser(text, columns, parameters, settings);
  HAILSTONE_ASSIGN(const Expression parsed, parser.parse());
  if (!parser.is_at_end()) return parser.unexpected("an operator");
  return parsed;
}

std::string quoted_name(std::string_view name) {
  const bool is_plain = !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
                        std::ranges::all_of(name, is_byte_of_name) && !is_reserved(name);
  if (is_plain) return std::string(name);
  std::string quoted = "`";
  for (const char byte : name) quoted.append(byte == '`' ? 2 : 1, byte);
  return quoted + "`";
}

}  // namespace hailstone
