// Calls by the names of SQL: a function or operator and typed arguments give an expression with the type that
// MariaDB has for it, under its default sql_mode. The rule of each is a line of a table, which says which
// functions and operators there are, what they take, and what the result's type is. A program in C or Python,
// a plan as text, and the plugin share the rules below (exact_numbers.h, conditions.h).
//
// An error says what does not fit. ErrorCode::InvalidArgument: SQL has no such function, number of arguments
// or literal. ErrorCode::Unsupported: the server would compute it, this library does not. What goes wrong for
// a row alone is a Failure of that row.
//
// Arguments are expressions that have a type of SQL (Expression::sql()). Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "expression/expression.h"

namespace hailstone {

/// What a session of the server has variables for.
struct LanguageSettings {
  /// A division by zero is a failure with the value NULL; else NULL alone.
  bool tells_zero = true;
  /// How many more digits behind the point than its dividend a quotient shows: div_precision_increment.
  unsigned quotient_digits = 4;
  unsigned week_mode = 0;  // default_week_format
  /// Longer texts, in bytes, are failures: max_allowed_packet.
  uint64_t most_text_bytes = uint64_t{16} << 20;
  /// Of literals, and of texts made of numbers and times.
  const Collation* collation = &utf8_collation();
};

// Constants.
Expression constant_truth(bool value);
Expression constant_null();
/// `digits`: how it is written; a whole number, DECIMAL or DOUBLE as SQL has it. ErrorCode::InvalidArgument:
/// it is no number; Unsupported: it has more than 65 digits.
Result<Expression> constant_number(std::string_view digits);
Expression constant_text(std::string value, const LanguageSettings& settings = {});
/// x'4142': bytes, which compare as such.
Expression constant_bytes(std::string value);
/// DATE '2024-02-29', TIME '10:20:30.5', TIMESTAMP '2024-02-29 10:20:30', by the kind.
Result<Expression> constant_time(SqlType::Kind kind, std::string_view text);

/// `name`: of a function or operator in any case, as the table has it. `word`: the unit of DATE_ADD,
/// EXTRACT, TIMESTAMPDIFF; the type of CAST; BOTH, LEADING or TRAILING of TRIM.
Result<Expression> sql_call(std::string_view name, std::vector<Expression> arguments,
                            const LanguageSettings& settings = {}, std::string_view word = {});

/// As SQL shows the value: a quotient without the digits that do not show. What leaves a query is made so.
Result<Expression> as_shown(const Expression& value);

/// Whether it is TRUE, FALSE or NULL, of any number.
Result<Expression> as_truth(const Expression& value);

struct CallRule;

/// A line of the table.
struct SqlFunction {
  /// As SQL has them, separated by ", "; texts show the first.
  std::string_view names;
  /// For people: "number, number".
  std::string_view arguments;
  uint8_t least, most;  // how many; `any_number`: no limit
  /// Of the result's type, for people.
  std::string_view rule;
  Result<Expression> (*make)(const CallRule& call);

  static constexpr uint8_t any_number = 255;
  std::string_view name() const { return names.substr(0, names.find(", ")); }
};
std::span<const SqlFunction> sql_functions();
/// Null: there is none of that name.
const SqlFunction* find_sql_function(std::string_view name);

/// The name among `names` that looks most like `name`; empty: none does.
std::string nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace hailstone
