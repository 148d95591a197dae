#include "expression/expression_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace hailstone {

namespace {

using Kind = Token::Kind;

bool is_decimal_digit(char byte) { return byte >= '0' && byte <= '9'; }

std::optional<unsigned> hex_digit(char byte) {
  if (is_decimal_digit(byte)) return static_cast<unsigned>(byte - '0');
  const char lower = static_cast<char>(byte | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a' + 10);
  return std::nullopt;
}

/// The longest first.
constexpr std::array<std::string_view, 24> signs{"<=>", "<=", ">=", "<>", "!=", "<<", ">>", "&&",
                                                 "||",  "(",  ")",  ",",  ".",  "+",  "-",  "*",
                                                 "/",   "%",  "=",  "<",  ">",  "&",  "|",  "^"};
constexpr std::array<std::string_view, 2> prefixes{"~", "!"};

/// What a byte behind a backslash stands for; of % and _ both stay.
void append_escaped(char byte, std::string& to) {
  switch (byte) {
    case '0':
      to.push_back('\0');
      return;
    case 'b':
      to.push_back('\b');
      return;
    case 'n':
      to.push_back('\n');
      return;
    case 'r':
      to.push_back('\r');
      return;
    case 't':
      to.push_back('\t');
      return;
    case 'Z':
      to.push_back('\x1a');
      return;
    case '%':
    case '_':
      to.push_back('\\');
      break;
    default:
      break;
  }
  to.push_back(byte);
}

}  // namespace

void ExpressionLexer::advance() {
  if (token_.kind == Kind::Wrong) return;
  while (at(next_) == ' ' || at(next_) == '\n' || at(next_) == '\t' || at(next_) == '\r') ++next_;
  token_ = {.kind = Kind::End, .position = next_};
  if (next_ < text_.size()) read();
}

bool ExpressionLexer::is_before(std::string_view sign) const {
  size_t offset = next_;
  while (at(offset) == ' ' || at(offset) == '\n' || at(offset) == '\t' || at(offset) == '\r') ++offset;
  return text_.substr(std::min(offset, text_.size())).starts_with(sign);
}

void ExpressionLexer::read() {
  const char byte = text_[next_];
  if ((byte == 'x' || byte == 'X') && at(next_ + 1) == '\'') return read_bytes();
  if (is_decimal_digit(byte) || (byte == '.' && is_decimal_digit(at(next_ + 1)))) return read_number();
  if (is_byte_of_name(byte)) return read_word();
  if (byte == '`') return read_quoted(byte, Kind::Name);
  if (byte == '\'' || byte == '"') return read_quoted(byte, Kind::Text);
  if (byte == '?') {
    ++next_;
    token_.kind = Kind::Parameter;
    return;
  }
  if (byte == ':' && is_byte_of_name(at(next_ + 1))) {
    const size_t begin = ++next_;
    while (is_byte_of_name(at(next_))) ++next_;
    token_.kind = Kind::Parameter;
    token_.text = text_.substr(begin, next_ - begin);
    return;
  }
  read_sign();
}

void ExpressionLexer::read_word() {
  const size_t begin = next_;
  while (is_byte_of_name(at(next_))) ++next_;
  token_.kind = Kind::Word;
  token_.text = text_.substr(begin, next_ - begin);
  read_id();
}

void ExpressionLexer::read_id() {
  if (at(next_) != '#') return;
  uint32_t id = 0;
  const char* const begin = text_.data() + next_ + 1;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), id);
  if (error != std::errc()) return set_wrong("behind # there is no number of a column");
  next_ = static_cast<size_t>(end - text_.data());
  token_.id = id;
}

void ExpressionLexer::read_number() {
  const size_t begin = next_;
  while (is_decimal_digit(at(next_))) ++next_;
  if (at(next_) == '.') {
    ++next_;
    while (is_decimal_digit(at(next_))) ++next_;
  }
  if (at(next_) == 'e' || at(next_) == 'E') {
    size_t exponent = next_ + 1;
    if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
    if (is_decimal_digit(at(exponent))) {
      next_ = exponent;
      while (is_decimal_digit(at(next_))) ++next_;
    }
  }
  token_.kind = Kind::Number;
  token_.text = text_.substr(begin, next_ - begin);
  if (is_byte_of_name(at(next_))) set_wrong("a number goes on as a word");
}

void ExpressionLexer::read_quoted(char quote, Token::Kind kind) {
  token_.kind = kind;
  for (++next_; next_ < text_.size(); ++next_) {
    const char byte = text_[next_];
    if (byte == quote) {
      ++next_;
      if (at(next_) != quote) {
        if (kind == Kind::Name) read_id();
        return;
      }
      token_.text.push_back(quote);
    } else if (byte == '\\' && kind == Kind::Text && next_ + 1 < text_.size()) {
      append_escaped(text_[++next_], token_.text);
    } else {
      token_.text.push_back(byte);
    }
  }
  set_wrong(kind == Kind::Name ? "the name has no closing backtick" : "the text has no closing quote");
}

void ExpressionLexer::read_bytes() {
  token_.kind = Kind::Bytes;
  next_ += 2;
  while (at(next_) != '\'') {
    const auto high = hex_digit(at(next_)), low = high ? hex_digit(at(next_ + 1)) : std::nullopt;
    if (!low) return set_wrong("x'…' takes pairs of hexadecimal digits");
    token_.text.push_back(static_cast<char>(*high << 4 | *low));
    next_ += 2;
  }
  ++next_;
}

void ExpressionLexer::read_sign() {
  const std::string_view rest = text_.substr(next_);
  const auto begins = [rest](std::string_view sign) { return rest.starts_with(sign); };
  const auto* sign = std::ranges::find_if(signs, begins);
  if (sign == signs.end()) {
    const auto* const prefix = std::ranges::find_if(prefixes, begins);
    if (prefix == prefixes.end()) return set_wrong("no sign of the language");
    sign = prefix;
  }
  token_.kind = Kind::Sign;
  token_.text = *sign;
  next_ += sign->size();
}

void ExpressionLexer::set_wrong(std::string why) {
  token_.kind = Kind::Wrong;
  token_.text = std::move(why);
}

bool is_same_name(std::string_view one, std::string_view other) {
  const auto upper = [](char byte) {
    return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
  };
  return std::ranges::equal(one, other, {}, upper, upper);
}

bool is_word(const Token& token, std::string_view word) {
  return token.kind == Token::Kind::Word && !token.id && is_same_name(token.text, word);
}

bool is_sign(const Token& token, std::string_view sign) {
  return token.kind == Token::Kind::Sign && token.text == sign;
}

}  // namespace hailstone
