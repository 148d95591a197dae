// What the library makes of expressions, for tests/compare/language. Reads lines:
//   column NAME TYPE        TYPE as SqlType is written, without a length
//   row LITERAL\tLITERAL…   a value for each column
//   text EXPRESSION
//   random SEED COUNT DEPTH
// Writes so many random texts, a line each, or a line for each text: its type and a value for each row, or
// "error" and what is wrong, with tabs between them. A row that fails has "failed"; one that the server warns
// of has "warned".
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "expression/random_expressions.h"
#include "expression/typed_rows.h"

namespace {

using namespace hailstone;

struct Named {
  std::string name, type;
};

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (const char byte : line) {
    if (byte == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(byte);
    }
  }
  return parts;
}

unsigned number_in(const std::string& type, char before) {
  const size_t at = type.find(before);
  return at == std::string::npos ? 0 : static_cast<unsigned>(std::stoul(type.substr(at + 1)));
}

void add_value(TypedRow& row, const Named& column, const std::string& literal) {
  const bool is_null = literal == "NULL";
  const auto text = [&] { return literal.substr(1, literal.size() - 2); };
  const auto is = [&](std::string_view word) { return column.type.starts_with(word); };
  if (is("INT") || is("BIGINT")) {
    const bool is_unsigned = column.type.ends_with("UNSIGNED");
    const unsigned digits = is("INT") ? 10 : is_unsigned ? 20 : 19;
    std::optional<int64_t> value;
    if (!is_null) {
      value = is_unsigned ? static_cast<int64_t>(std::stoull(literal))
                          : static_cast<int64_t>(std::stoll(literal));
    }
    row.add_integer(column.name, value, is_unsigned, digits);
  } else if (is("DECIMAL")) {
    const unsigned scale = number_in(column.type, ',');
    std::optional<int64_t> value;
    if (!is_null) {
      std::string digits = literal;
      std::erase(digits, '.');
      value = std::stoll(digits);
    }
    row.add_decimal(column.name, value, number_in(column.type, '('), scale);
  } else if (is("DOUBLE")) {
    row.add_real(column.name, is_null ? std::nullopt : std::optional(std::stod(literal)));
  } else if (is("VARCHAR")) {
    row.add_text(column.name, is_null ? std::nullopt : std::optional(text()), number_in(column.type, '('));
  } else {
    const auto kind = is("DATETIME") ? SqlType::Kind::DateTime
                      : is("DATE")   ? SqlType::Kind::Date
                                     : SqlType::Kind::Time;
    row.add_time(column.name, kind, is_null ? std::nullopt : std::optional(text()),
                 number_in(column.type, '('));
  }
}

/// As a client of the server gets it.
std::string plain(std::string value) {
  for (const std::string_view word : {"DATE '", "TIMESTAMP '", "TIME '"}) {
    if (value.starts_with(word)) return value.substr(word.size(), value.size() - word.size() - 1);
  }
  return value;
}

std::string escaped(const std::string& value) {
  std::string text;
  for (const char byte : value) {
    if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\t') {
      text += "\\t";
    } else if (byte == '\\') {
      text += "\\\\";
    } else {
      text.push_back(byte);
    }
  }
  return text;
}

}  // namespace

int main() {
  std::vector<Named> columns;
  std::deque<TypedRow> rows;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const std::string word = line.substr(0, space), rest = line.substr(space + 1);
    if (word == "column") {
      const size_t end = rest.find(' ');
      columns.push_back({rest.substr(0, end), rest.substr(end + 1)});
    } else if (word == "row") {
      const auto literals = split(rest, '\t');
      TypedRow& row = rows.emplace_back();
      for (size_t i = 0; i < columns.size(); ++i) add_value(row, columns[i], literals[i]);
    } else if (word == "random") {
      const auto numbers = split(rest, ' ');
      RandomExpressions random(std::stoull(numbers[0]));
      for (uint64_t i = std::stoull(numbers[1]); i > 0; --i)
        std::cout << random.any(1 + static_cast<unsigned>(random.below(std::stoull(numbers[2]))))
                  << std::endl;
    } else {
      const auto parsed = parse_expression(rest, rows.front().columns());
      if (!parsed) {
        std::cout << "error\t" << (parsed.error().code() == ErrorCode::Unsupported ? "left out" : "wrong")
                  << '\t' << escaped(parsed.error().message()) << std::endl;
        continue;
      }
      std::cout << to_text(parsed->sql());
      const bool is_decimal = parsed->sql().kind == SqlType::Kind::Decimal;
      for (TypedRow& row : rows) {
        std::string value = plain(row.evaluate(rest));
        if (is_decimal && value.ends_with('.')) value.pop_back();
        std::cout << '\t' << (value == "NULL, warned" ? "warned" : escaped(value));
      }
      std::cout << std::endl;
    }
  }
  return 0;
}
