// Expressions as text: the words that parse_expression() reads.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expression/expression_text.h"
#include "expression/moment.h"
#include "expression/span.h"

namespace hailstone {

namespace {

using SqlKind = SqlType::Kind;

/// How strongly an operator holds its operands: one of a weaker one is in parentheses.
enum Strength : uint8_t {
  Either = 1,
  OneOfTwo,
  Both,
  Opposite,
  Comparison,
  Predicate,
  BitOr,
  BitAnd,
  Shift,
  Sum,
  Product,
  BitXor,
  Prefix,
  Primary,
};

struct Infix {
  std::string_view name;
  Strength strength;
};
/// Between two operands, of which the first may be as strong.
constexpr std::array<Infix, 19> infixes{{{"XOR", OneOfTwo},
                                         {"=", Comparison},
                                         {"<>", Comparison},
                                         {"<", Comparison},
                                         {"<=", Comparison},
                                         {">", Comparison},
                                         {">=", Comparison},
                                         {"<=>", Comparison},
                                         {"|", BitOr},
                                         {"&", BitAnd},
                                         {"<<", Shift},
                                         {">>", Shift},
                                         {"+", Sum},
                                         {"-", Sum},
                                         {"*", Product},
                                         {"/", Product},
                                         {"DIV", Product},
                                         {"MOD", Product},
                                         {"^", BitXor}}};

std::string quoted_text(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text) {
    switch (byte) {
      case '\0':
        quoted += "\\0";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      case '\'':
        quoted += "''";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      default:
        quoted.push_back(byte);
    }
  }
  return quoted + "'";
}

std::string number_text(const Expression& constant) {
  if (constant->values == ValueKind::Real) {
    std::string text = fmt::format("{}", constant->real);
    return text.find_first_of("en") == std::string::npos ? text + "e0" : text;
  }
  const HugeInteger number =
      constant->huge == HugeInteger() ? HugeInteger::of(constant->integer) : constant->huge;
  HugeInteger rest = number.is_negative() ? -number : number;
  std::string digits;
  while (rest != HugeInteger()) {
    const HugeQuotient parts = divide(rest, HugeInteger::of(10));
    digits.push_back(static_cast<char>('0' + parts.remainder.narrow()));
    rest = parts.quotient;
  }
  const size_t scale = constant.type().scale;
  while (digits.size() <= scale) digits.push_back('0');
  std::ranges::reverse(digits);
  const bool is_decimal = constant.type().kind == ValueType::Kind::Decimal;
  if (is_decimal) digits.insert(digits.end() - static_cast<ptrdiff_t>(scale), '.');
  return fmt::format("{}{}", number.is_negative() ? "-" : "", digits);
}

std::string fraction_text(uint64_t microseconds, unsigned digits) {
  return digits == 0 ? std::string() : fmt::format(".{:.{}}", fmt::format("{:06}", microseconds), digits);
}

std::string moment_text(const Expression& constant) {
  const SqlType& type = constant.sql();
  const bool is_span = type.kind == SqlKind::Time;
  const int64_t number = constant->integer;
  const MomentParts parts = is_span ? parts_of_span(number) : parts_of(number);
  const std::string time = fmt::format("{:02}:{:02}:{:02}{}", parts.hour, parts.minute, parts.second,
                                       fraction_text(parts.microsecond, type.scale));
  if (is_span) return fmt::format("TIME '{}{}'", number < 0 ? "-" : "", time);
  const std::string day = fmt::format("{:04}-{:02}-{:02}", parts.year, parts.month, parts.day);
  return type.kind == SqlKind::Date ? fmt::format("DATE '{}'", day)
                                    : fmt::format("TIMESTAMP '{} {}'", day, time);
}

std::string bytes_text(std::string_view bytes) {
  std::string text = "x'";
  for (const char byte : bytes) text += fmt::format("{:02X}", static_cast<unsigned char>(byte));
  return text + "'";
}

std::string constant_as_text(const Expression& constant) {
  const SqlType& type = constant.sql();
  if (constant->values == ValueKind::Text)
    return type.collation == &binary_collation() ? bytes_text(constant->text) : quoted_text(constant->text);
  return type.is_moment() || type.kind == SqlKind::Time ? moment_text(constant) : number_text(constant);
}

class Printer {
 public:
  explicit Printer(const ColumnNamer& namer) : namer_(namer) {}

  void print(const Expression& expression, Strength least) {
    if (expression->said != nullptr) return print_said(*expression->said, least);
    switch (expression->kind) {
      case Expression::Kind::Column:
      case Expression::Kind::OfColumn:
        text_ += namer_(expression->position);
        return;
      case Expression::Kind::Constant:
        text_ += constant_as_text(expression);
        return;
      case Expression::Kind::Null:
        text_ += "NULL";
        return;
      case Expression::Kind::Matches:
        text_ += fmt::format("{{condition: {}}}", namer_(expression->position));
        return;
      case Expression::Kind::Call:
        return print_unsaid(*expression);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  using Said = Expression::Said;

  void print_all(std::span<const Expression> all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i != 0) text_ += ", ";
      print(all[i], Either);
    }
  }

  void print_unsaid(const Expression::Node& node) {
    text_ += fmt::format("{{{}: ", line_of(node.function).name);
    print_all(node.arguments);
    text_ += "}";
  }

  /// `work` writes what has the strength; in parentheses where it is too weak.
  template <typename Work>
  void enclosed(Strength strength, Strength least, const Work& work) {
    if (strength < least) text_ += "(";
    work();
    if (strength < least) text_ += ")";
  }

  void print_joined(const Said& said, std::string_view word, Strength each) {
    for (size_t i = 0; i < said.arguments.size(); ++i) {
      if (i != 0) text_ += word;
      print(said.arguments[i], each);
    }
  }

  static Strength stronger(Strength strength) { return static_cast<Strength>(strength + 1); }

  /// IN, LIKE, BETWEEN, IS …; false: another one.
  bool print_predicate(const Said& said, std::string_view negation, Strength least) {
    const std::vector<Expression>& of = said.arguments;
    const auto print_behind = [&](Strength strength, Strength first, const auto& rest) {
      enclosed(strength, least, [&] {
        print(of[0], first);
        rest();
      });
      return true;
    };
    if (said.name == "IN") {
      return print_behind(Predicate, BitOr, [&] {
        text_ += fmt::format(" {}IN (", negation);
        print_all(std::span(of).subspan(1));
        text_ += ")";
      });
    }
    if (said.name == "BETWEEN") {
      return print_behind(Predicate, BitOr, [&] {
        text_ += fmt::format(" {}BETWEEN ", negation);
        print(of[1], BitOr);
        text_ += " AND ";
        print(of[2], BitOr);
      });
    }
    if (said.name == "LIKE") {
      return print_behind(Predicate, BitOr, [&] {
        text_ += fmt::format(" {}LIKE ", negation);
        print(of[1], Prefix);
        if (of.size() < 3) return;
        text_ += " ESCAPE ";
        print(of[2], Prefix);
      });
    }
    if (said.name != "IS NULL" && said.name != "IS TRUE" && said.name != "IS FALSE") return false;
    return print_behind(Comparison, Comparison,
                        [&] { text_ += fmt::format(" IS {}{}", negation, said.name.substr(3)); });
  }

  bool print_operator(const Said& said, Strength least) {
    const std::vector<Expression>& of = said.arguments;
    if (said.name == "AND" || said.name == "OR") {
      const bool is_both = said.name == "AND";
      const Strength strength = is_both ? Both : Either;
      enclosed(strength, least, [&] { print_joined(said, is_both ? " AND " : " OR ", stronger(strength)); });
      return true;
    }
    if (said.name == "NOT") {
      const bool is_said = of.front()->said != nullptr;
      if (is_said && print_predicate(*of.front()->said, "NOT ", least)) return true;
      enclosed(Opposite, least, [&] {
        text_ += "NOT ";
        print(of.front(), Opposite);
      });
      return true;
    }
    if (said.name == "~" || (said.name == "-" && of.size() == 1)) {
      enclosed(Prefix, least, [&] {
        text_ += said.name;
        print(of.front(), Prefix);
      });
      return true;
    }
    if (said.name == "DATE_ADD" || said.name == "DATE_SUB") {
      enclosed(Sum, least, [&] {
        print(of[0], Sum);
        text_ += said.name == "DATE_ADD" ? " + INTERVAL " : " - INTERVAL ";
        print(of[1], BitOr);
        text_ += " " + said.word;
      });
      return true;
    }
    const auto* const infix = std::ranges::find(infixes, said.name, &Infix::name);
    if (infix == infixes.end()) return false;
    enclosed(infix->strength, least, [&] {
      print(of[0], infix->strength);
      text_ += fmt::format(" {} ", said.name);
      print(of[1], stronger(infix->strength));
    });
    return true;
  }

  void print_case(const Said& said) {
    const bool is_of_value = said.name == "CASE OF";
    size_t next = is_of_value ? 1 : 0;
    text_ += "CASE";
    if (is_of_value) {
      text_ += " ";
      print(said.arguments.front(), Either);
    }
    for (; next + 1 < said.arguments.size(); next += 2) {
      text_ += " WHEN ";
      print(said.arguments[next], Either);
      text_ += " THEN ";
      print(said.arguments[next + 1], Either);
    }
    if (next < said.arguments.size()) {
      text_ += " ELSE ";
      print(said.arguments[next], Either);
    }
    text_ += " END";
  }

  void print_said(const Said& said, Strength least) {
    // A column whose numbers stand for words.
    if (said.name.empty()) return print(said.arguments.front(), least);
    if (print_predicate(said, "", least) || print_operator(said, least)) return;
    if (said.name.starts_with("CASE")) return print_case(said);
    text_ += said.name;
    text_ += "(";
    if (said.name == "CAST") {
      print_all(said.arguments);
      text_ += " AS " + said.word;
    } else if (said.name == "EXTRACT") {
      text_ += said.word + " FROM ";
      print_all(said.arguments);
    } else if (said.name == "TRIM" && (said.arguments.size() == 2 || !said.word.empty())) {
      text_ += said.word.empty() ? "BOTH " : said.word + " ";
      if (said.arguments.size() == 2) {
        print(said.arguments[1], Either);
        text_ += " ";
      }
      text_ += "FROM ";
      print(said.arguments[0], Either);
    } else {
      if (!said.word.empty()) text_ += said.word + ", ";
      print_all(said.arguments);
    }
    text_ += ")";
  }

  const ColumnNamer& namer_;
  std::string text_;
};

}  // namespace

std::string to_text(const Expression& expression, const ColumnNamer& namer) {
  Printer printer(namer);
  printer.print(expression, Either);
  return printer.take();
}

}  // namespace hailstone
