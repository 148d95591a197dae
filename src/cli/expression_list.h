// Lists of expressions as options give them: "maker, YEAR(sold) AS year, SUM(price * n) DESC". What stands in
// them is the library's to read (docs/design/expression-language.md); here they are only divided. Stateless.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hailstone {

/// At the commas that are in no parentheses and no quotes. ErrorCode::InvalidArgument: the list, or a place
/// in it, is empty; the sentence names the option.
Result<std::vector<std::string>> divided_list(std::string_view option, std::string_view list);

/// An item in its parts.
struct ListedExpression {
  std::string text;   // without what is behind it
  std::string name;   // behind AS; empty: there is none
  std::string order;  // "ASC" or "DESC" at its end, or empty
};
ListedExpression parts_of_item(std::string_view item);

/// What the column of an expression without AS is called: a column's own name, else the text.
std::string name_of(std::string_view text);

/// Whether two texts are the same words and signs, names and functions in any case.
bool are_same_words(std::string_view one, std::string_view other);

/// The name of the first aggregate that is called in a text, as it is written; nothing: there is none.
std::optional<std::string> aggregate_in(std::string_view text);

/// The texts in double quotes. One with a doubled quote or an escape is left out.
std::vector<std::string> texts_in_double_quotes(std::string_view text);

}  // namespace hailstone
