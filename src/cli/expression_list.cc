#include "cli/expression_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expression/expression_lexer.h"

namespace hailstone {
namespace {

using Kind = Token::Kind;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

bool is_last(const Token& token) { return token.kind == Kind::End || token.kind == Kind::Wrong; }

/// Whether the token stands in parentheses, where `depth` says so of what is before it.
bool is_inside(const Token& token, unsigned& depth) {
  if (is_sign(token, "(")) ++depth;
  const bool inside = depth > 0;
  if (is_sign(token, ")") && depth > 0) --depth;
  return inside;
}

}  // namespace

Result<std::vector<std::string>> divided_list(std::string_view option, std::string_view list) {
  std::vector<std::string> items;
  size_t begin = 0;
  const auto add = [&](size_t end) -> Status {
    const std::string_view item = trimmed(list.substr(begin, end - begin));
    if (item.empty() && trimmed(list).empty())
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("{} is empty: name columns or expressions, with commas between", option));
    if (item.empty())
      return fail(ErrorCode::InvalidArgument, fmt::format("{} '{}': nothing stands {} a comma", option, list,
                                                          begin == 0 ? "before" : "behind"));
    items.emplace_back(item);
    return {};
  };
  unsigned depth = 0;
  // Words that are wrong are an error of the item, once that is read.
  for (ExpressionLexer words(list); !is_last(words.token()); words.advance()) {
    if (is_inside(words.token(), depth) || !is_sign(words.token(), ",")) continue;
    HAILSTONE_TRY(add(words.token().position));
    begin = words.token().position + 1;
  }
  HAILSTONE_TRY(add(list.size()));
  return items;
}

ListedExpression parts_of_item(std::string_view item) {
  const ListedExpression whole{.text = std::string(trimmed(item)), .name = {}, .order = {}};
  ListedExpression parts = whole;
  unsigned depth = 0;
  enum class At : uint8_t { Expression, Name, Behind } at = At::Expression;
  for (ExpressionLexer words(item); !is_last(words.token()); words.advance()) {
    const Token& token = words.token();
    if (at == At::Behind) return whole;
    if (at == At::Name) {
      parts.name = token.text;
      at = At::Behind;
      continue;
    }
    if (is_inside(token, depth) || token.position == 0) continue;
    const bool is_as = is_word(token, "AS");
    if (!is_as && !is_word(token, "ASC") && !is_word(token, "DESC")) continue;
    parts.text = trimmed(item.substr(0, token.position));
    if (!is_as) parts.order = token.text;
    at = is_as ? At::Name : At::Behind;
  }
  return at == At::Name ? whole : parts;
}

std::string name_of(std::string_view text) {
  std::string last;
  for (ExpressionLexer words(text); words.token().kind != Kind::End; words.advance()) {
    const Token& token = words.token();
    if (is_sign(token, ".")) continue;
    if (token.kind != Kind::Word && token.kind != Kind::Name) return std::string(text);
    last = token.text;
  }
  return last;
}

bool are_same_words(std::string_view one, std::string_view other) {
  ExpressionLexer left(one), right(other);
  for (;; left.advance(), right.advance()) {
    const Token &a = left.token(), &b = right.token();
    const bool is_text = a.kind == Kind::Text || a.kind == Kind::Bytes;
    if (a.kind != b.kind || a.id != b.id || (is_text ? a.text != b.text : !is_same_name(a.text, b.text)))
      return false;
    if (is_last(a)) return a.kind == Kind::End;
  }
}

std::optional<std::string> aggregate_in(std::string_view text) {
  static constexpr std::array<std::string_view, 5> names{"COUNT", "SUM", "AVG", "MIN", "MAX"};
  for (ExpressionLexer words(text); !is_last(words.token()); words.advance()) {
    const Token& token = words.token();
    if (words.is_before("(") && std::ranges::any_of(names, [&](auto name) { return is_word(token, name); }))
      return token.text;
  }
  return std::nullopt;
}

std::vector<std::string> texts_in_double_quotes(std::string_view text) {
  std::vector<std::string> quoted;
  for (ExpressionLexer words(text); !is_last(words.token()); words.advance()) {
    const Token& token = words.token();
    if (token.kind == Kind::Text && text.substr(token.position).starts_with('"' + token.text + '"'))
      quoted.push_back(token.text);
  }
  return quoted;
}

}  // namespace hailstone
