// Words, numbers and signs of an expression's text (expression_text.h). Any bytes may be given. Belongs to
// one thread; the text outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hailstone {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,       // a name or a word of the language
    Name,       // in backticks
    Number,     // digits, a point, an exponent
    Text,       // 'text', "text"
    Bytes,      // x'4142'
    Sign,       // an operator, a comma, a parenthesis
    Parameter,  // ? or :name
    Wrong,      // what is none of these; `text` says why
  };
  Kind kind = Kind::End;
  size_t position = 0;              // of its first byte
  std::string text = {};            // of Text without quotes and escapes, of Name without backticks
  std::optional<uint32_t> id = {};  // behind # of a Word or Name
};

class ExpressionLexer {
 public:
  explicit ExpressionLexer(std::string_view text) : text_(text) { advance(); }
  /// The token at hand.
  const Token& token() const { return token_; }
  /// On to the next one. At the end, and behind what is Wrong, it stays.
  void advance();
  /// Whether the token behind the one at hand is this sign.
  bool is_before(std::string_view sign) const;

 private:
  void read();
  void read_word();
  void read_number();
  void read_quoted(char quote, Token::Kind kind);
  void read_bytes();
  void read_sign();
  void read_id();
  void set_wrong(std::string why);
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  const std::string_view text_;
  size_t next_ = 0;  // the byte behind the token
  Token token_;
};

/// Names of SQL, in which ASCII letters of any case are one.
bool is_same_name(std::string_view one, std::string_view other);
/// Whether the token is this word of the language, or this sign.
bool is_word(const Token& token, std::string_view word);
bool is_sign(const Token& token, std::string_view sign);

/// Whether a byte may stand in a name without backticks.
constexpr bool is_byte_of_name(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '_' || byte == '$' || static_cast<unsigned char>(byte) >= 0x80;
}

}  // namespace hailstone
