#include "cli/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <utility>
#include <vector>

#include "text/value_text.h"

namespace hailstone {
namespace {

struct Token {
  enum class Kind : uint8_t { End, Word, Name, Text, Number, Sign };
  Kind kind = Kind::End;
  std::string text;  // without quotes; of signs the sign
  size_t place = 0;  // in the condition
};

bool is_word_character(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return std::isalnum(byte) != 0 || character == '_' || byte >= 0x80;
}

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    Token token;
    token.place = at_;
    if (at_ == text_.size()) return token;
    const char first = text_[at_];
    if (first == '\'' || first == '"' || first == '`') return quoted(first);
    const bool minus = first == '-' || first == '+' || first == '.';
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || minus) {
      token.kind = Token::Kind::Number;
      do token.text += text_[at_++];
      while (at_ < text_.size() && (is_word_character(text_[at_]) || text_[at_] == '.' ||
                                    ((text_[at_] == '-' || text_[at_] == '+') &&
                                     (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))));
      return token;
    }
    if (is_word_character(first)) {
      token.kind = Token::Kind::Word;
      while (at_ < text_.size() && is_word_character(text_[at_])) token.text += text_[at_++];
      return token;
    }
    token.kind = Token::Kind::Sign;
    static constexpr std::array<std::string_view, 11> signs = {"<=", ">=", "!=", "<>", "==", "=",
                                                               "<",  ">",  "(",  ")",  ","};
    for (const std::string_view sign : signs) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      token.text = sign;
      at_ += sign.size();
      return token;
    }
    return wrong(at_, fmt::format("'{}' is not expected here", first));
  }

  std::unexpected<Error> wrong(size_t place, std::string_view what) const {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the condition at character {}: {}", place + 1, what));
  }

 private:
  Result<Token> quoted(char quote) {
    Token token{.kind = quote == '\'' ? Token::Kind::Text : Token::Kind::Name, .text = {}, .place = at_};
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != quote) {
          ++at_;
          return token;
        }
        ++at_;
      }
      token.text += text_[at_];
    }
    return wrong(token.place, "the quote that is opened here is never closed");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const TypeOfColumn& type_of) : tokens_(text), type_of_(type_of) {}

  Result<OwnedPredicate> parse() {
    HAILSTONE_TRY(advance());
    HAILSTONE_ASSIGN(OwnedPredicate whole, any_of());
    if (token_.kind != Token::Kind::End) return expected("AND, OR, or the end");
    return whole;
  }

 private:
  Status advance() {
    HAILSTONE_ASSIGN(token_, tokens_.next());
    return {};
  }
  std::unexpected<Error> expected(std::string_view what) const {
    const std::string found =
        token_.kind == Token::Kind::End ? "it ends" : fmt::format("there is '{}'", token_.text);
    return tokens_.wrong(token_.place, fmt::format("{} is expected, but {}", what, found));
  }

  bool at_word(std::string_view word) const {
    return token_.kind == Token::Kind::Word &&
           std::ranges::equal(token_.text, word,
                              [](unsigned char a, unsigned char b) { return std::toupper(a) == b; });
  }
  Result<bool> take_word(std::string_view word) {
    if (!at_word(word)) return false;
    HAILSTONE_TRY(advance());
    return true;
  }
  Status need_word(std::string_view word) {
    HAILSTONE_ASSIGN(const bool there, take_word(word));
    if (!there) return expected(word);
    return {};
  }
  bool at_sign(std::string_view sign) const {
    return token_.kind == Token::Kind::Sign && token_.text == sign;
  }
  Status need_sign(std::string_view sign) {
    if (!at_sign(sign)) return expected(fmt::format("'{}'", sign));
    return advance();
  }

  static Result<OwnedPredicate> made(hs_predicate* predicate) {
    if (predicate == nullptr) return fail(ErrorCode::OutOfMemory, "there is no memory for the condition");
    return OwnedPredicate(predicate);
  }
  static Result<OwnedPredicate> combined(std::vector<OwnedPredicate> parts,
                                         hs_predicate* (*combine)(hs_predicate* const*, size_t)) {
    std::vector<hs_predicate*> given;
    given.reserve(parts.size());
    for (OwnedPredicate& part : parts) given.push_back(part.release());
    return made(combine(given.data(), given.size()));
  }

  Result<OwnedPredicate> any_of() {
    if (++depth_ > 100) return tokens_.wrong(token_.place, "too many parentheses within each other");
    std::vector<OwnedPredicate> parts;
    for (bool more = true; more;) {
      HAILSTONE_ASSIGN(OwnedPredicate part, all_of());
      parts.push_back(std::move(part));
      HAILSTONE_ASSIGN(more, take_word("OR"));
    }
    --depth_;
    if (parts.size() == 1) return std::move(parts[0]);
    return combined(std::move(parts), hs_or);
  }

  Result<OwnedPredicate> all_of() {
    std::vector<OwnedPredicate> parts;
    for (bool more = true; more;) {
      HAILSTONE_ASSIGN(OwnedPredicate part, single());
      parts.push_back(std::move(part));
      HAILSTONE_ASSIGN(more, take_word("AND"));
    }
    if (parts.size() == 1) return std::move(parts[0]);
    return combined(std::move(parts), hs_and);
  }

  Result<OwnedPredicate> single() {
    bool negated = false;
    for (bool more = true; more;) {
      HAILSTONE_ASSIGN(more, take_word("NOT"));
      negated ^= more;
    }
    if (!at_sign("(")) {
      HAILSTONE_ASSIGN(OwnedPredicate leaf, comparison());
      return negate(std::move(leaf), negated);
    }
    HAILSTONE_TRY(advance());
    HAILSTONE_ASSIGN(OwnedPredicate inside, any_of());
    HAILSTONE_TRY(need_sign(")"));
    return negate(std::move(inside), negated);
  }
  static Result<OwnedPredicate> negate(OwnedPredicate part, bool negated) {
    if (!negated) return part;
    return made(hs_not(part.release()));
  }

  Result<OwnedPredicate> comparison() {
    if (token_.kind != Token::Kind::Word && token_.kind != Token::Kind::Name)
      return expected("a column's name");
    const std::string column = token_.text;
    const auto type = type_of_(column);
    if (!type) return tokens_.wrong(token_.place, fmt::format("there is no column '{}'", column));
    HAILSTONE_TRY(advance());

    HAILSTONE_ASSIGN(const bool is, take_word("IS"));
    if (is) {
      HAILSTONE_ASSIGN(const bool is_not, take_word("NOT"));
      HAILSTONE_TRY(need_word("NULL"));
      HAILSTONE_ASSIGN(OwnedPredicate test, made(hs_is_null(column.c_str())));
      return negate(std::move(test), is_not);
    }
    HAILSTONE_ASSIGN(const bool negated, take_word("NOT"));
    HAILSTONE_ASSIGN(const bool in, take_word("IN"));
    if (in) return members(column, *type, negated);
    HAILSTONE_ASSIGN(const bool between, take_word("BETWEEN"));
    if (between) {
      HAILSTONE_ASSIGN(const hs_value low, value(*type));
      HAILSTONE_TRY(need_word("AND"));
      HAILSTONE_ASSIGN(const hs_value high, value(*type));
      HAILSTONE_ASSIGN(OwnedPredicate range, made(hs_between(column.c_str(), low, high)));
      return negate(std::move(range), negated);
    }
    HAILSTONE_ASSIGN(const bool like, take_word("LIKE"));
    if (like) {
      if (token_.kind != Token::Kind::Text) return expected("a pattern in single quotes");
      HAILSTONE_ASSIGN(OwnedPredicate test, made(hs_like(column.c_str(), token_.text.c_str(), '\\')));
      HAILSTONE_TRY(advance());
      return negate(std::move(test), negated);
    }
    if (negated) return expected("IN, BETWEEN or LIKE");
    HAILSTONE_ASSIGN(const hs_comparison how, sign());
    HAILSTONE_ASSIGN(const hs_value given, value(*type));
    return made(hs_compare(column.c_str(), how, given));
  }

  Result<OwnedPredicate> members(const std::string& column, hs_type type, bool negated) {
    HAILSTONE_TRY(need_sign("("));
    std::vector<hs_value> values;
    for (;;) {
      HAILSTONE_ASSIGN(const hs_value member, value(type));
      values.push_back(member);
      if (!at_sign(",")) break;
      HAILSTONE_TRY(advance());
    }
    HAILSTONE_TRY(need_sign(")"));
    HAILSTONE_ASSIGN(OwnedPredicate test, made(hs_in(column.c_str(), values.data(), values.size())));
    return negate(std::move(test), negated);
  }

  Result<hs_comparison> sign() {
    static constexpr std::array<std::pair<std::string_view, hs_comparison>, 8> known = {{
        {"=", HS_EQUAL},
        {"==", HS_EQUAL},
        {"!=", HS_NOT_EQUAL},
        {"<>", HS_NOT_EQUAL},
        {"<", HS_LESS},
        {"<=", HS_LESS_OR_EQUAL},
        {">", HS_GREATER},
        {">=", HS_GREATER_OR_EQUAL},
    }};
    for (const auto& [text, how] : known) {
      if (!at_sign(text)) continue;
      HAILSTONE_TRY(advance());
      return how;
    }
    return expected("a comparison (= != < <= > >= IN BETWEEN LIKE IS NULL)");
  }

  /// The value at hand, as a column of this type compares with it.
  Result<hs_value> value(hs_type type) {
    if (at_word("NULL")) return expected("a value (for NULL there is IS NULL)");
    const bool is_text = token_.kind == Token::Kind::Text;
    if (!is_text && token_.kind != Token::Kind::Number)
      return expected("a number, or a text in single quotes");
    kept_.push_back(token_.text);  // what predicates copy must live until then
    const std::string& text = kept_.back();
    std::optional<hs_value> result;
    if (type <= HS_DOUBLE) {
      // Columns of integers compare with any number.
      if (const auto whole = parse_int(text)) {
        result = hs_int(*whole);
      } else if (const auto great = parse_uint(text)) {
        result = hs_uint(*great);
      } else if (const auto real = parse_double(text)) {
        result = hs_double(*real);
      }
      if (!result) return tokens_.wrong(token_.place, fmt::format("'{}' is not a number", text));
    } else {
      if (!is_text) return expected(fmt::format("a {} in single quotes", type_name(type)));
      kept_.emplace_back();
      result = parse_value(type, text, kept_.back());
      if (!result)
        return tokens_.wrong(token_.place, fmt::format("'{}' is not of the type {}", text, type_name(type)));
    }
    HAILSTONE_TRY(advance());
    return *result;
  }

  Tokens tokens_;
  const TypeOfColumn& type_of_;
  Token token_;
  std::deque<std::string> kept_;
  int depth_ = 0;
};

}  // namespace

Result<OwnedPredicate> parse_condition(std::string_view text, const TypeOfColumn& type_of) {
  return Parser(text, type_of).parse();
}

}  // namespace hailstone
