// Expressions as text, in the words of SQL: price * (1 - discount), day + INTERVAL 3 MONTH. What to_text()
// writes, parse_expression() reads as an equal expression. docs/design/expression-language.md has the
// grammar.
//
// Any text may be given: what is wrong with it is an error that says where. Stateless; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "expression/calls.h"

namespace hailstone {

/// A column as a text names it: `t`.price, or price#3.
struct ColumnName {
  std::string qualifier;  // in front of the point; empty: there is none
  std::string name;
  std::optional<uint32_t> id = {};  // behind #
};

/// Which columns there are. Thread-safe as the application makes it.
class ColumnResolver {
 public:
  virtual ~ColumnResolver() = default;
  /// A column that has a type of SQL. ErrorCode::NotFound: there is none of that name; the text's error then
  /// names the nearest one. Other errors are the text's.
  virtual Result<Expression> resolve(const ColumnName& name) const = 0;
  /// All names, for that.
  virtual std::vector<std::string> names() const = 0;
};

/// Columns by names, in any case; without a qualifier and an id.
class NamedColumns final : public ColumnResolver {
 public:
  void add(std::string name, Expression column) { columns_.emplace_back(std::move(name), std::move(column)); }
  Result<Expression> resolve(const ColumnName& name) const override;
  std::vector<std::string> names() const override;

 private:
  std::vector<std::pair<std::string, Expression>> columns_;
};

/// What stands for ? and :name, each a constant or a column with its type.
struct Parameters {
  std::vector<Expression> in_order = {};
  std::map<std::string, Expression, std::less<>> by_name = {};
};

/// ErrorCode::InvalidArgument: "at 17: …", with the place in the text, from 1 on, in bytes. The other errors
/// are those of sql_call(), with the place of the call.
Result<Expression> parse_expression(std::string_view text, const ColumnResolver& columns,
                                    const Parameters& parameters = {}, const LanguageSettings& settings = {});

/// The same of the beginning of a text, up to what goes on no expression, as a comma or a closing
/// parenthesis: `text` is what is left then.
Result<Expression> take_expression(std::string_view& text, const ColumnResolver& columns,
                                   const Parameters& parameters = {}, const LanguageSettings& settings = {});

/// How the column of a position is written: a name, quoted where it has to be (quoted_name()).
using ColumnNamer = std::function<std::string(uint16_t position)>;

/// What was not made of words, as the plugin's expressions, is written by the names of the table of
/// functions, in parentheses with #, which no text is read from.
std::string to_text(const Expression& expression, const ColumnNamer& namer);

/// A name as it stands in a text: in backticks where it is no plain word, or is one of the language.
std::string quoted_name(std::string_view name);

}  // namespace hailstone
