// Random texts of expressions over some columns, of all functions of the language. The same source of random
// numbers gives the same texts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hailstone {

class RandomExpressions {
 public:
  explicit RandomExpressions(uint64_t seed) : random_(seed) {}

  enum class Kind : uint8_t { Number, Truth, Text, Moment, Whole };

  std::string any(unsigned depth) {
    return of(pick<Kind>({Kind::Number, Kind::Truth, Kind::Text, Kind::Moment, Kind::Whole}), depth);
  }

  std::string of(Kind kind, unsigned depth) {
    if (depth == 0 || chance(6)) return leaf(kind);
    switch (kind) {
      case Kind::Number:
        return filled(numbers(), depth);
      case Kind::Whole:
        return filled(whole_numbers(), depth);
      case Kind::Truth:
        return filled(truths(), depth);
      case Kind::Text:
        return filled(texts(), depth);
      case Kind::Moment:
        return filled(moments(), depth);
    }
    return {};
  }

  /// Tokens of the language in any order.
  std::string tokens(size_t count) {
    static const std::vector<std::string> all{
        "n",    "a",     "t",    "day",  "1",      "1.5",    "2e3",  "'x'",  "x'41'", "NULL",     "TRUE",
        "+",    "-",     "*",    "/",    "DIV",    "MOD",    "(",    ")",    ",",     "=",        "<=>",
        "<",    "AND",   "OR",   "NOT",  "XOR",    "IS",     "IN",   "LIKE", "CASE",  "WHEN",     "THEN",
        "ELSE", "END",   "CAST", "AS",   "SIGNED", "DATE",   "TRIM", "FROM", "ABS",   "INTERVAL", "DAY",
        "?",    ":name", "~",    "!",    "#",      "n#3",    "`n`",  "'",    "\\",    "BETWEEN",  "CONCAT",
        "IF",   "ROUND", "RPAD", "WEEK", "ESCAPE", "EXTRACT"};
    std::string text;
    for (size_t i = 0; i < count; ++i) text += pick(all) + (chance(5) ? "" : " ");
    return text;
  }

  uint64_t below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }

 private:
  bool chance(uint64_t in) { return below(in) == 0; }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  std::string leaf(Kind kind) {
    switch (kind) {
      case Kind::Number:
        return pick<std::string>({"n", "u", "a", "b", "w", "d", "0", "1", "-7", "2.50", "0.001",
                                  "99999999999999999999", "1e2", "-0.5", "NULL"});
      case Kind::Whole:
        return pick<std::string>({"n", "i", "u", "0", "1", "2", "-1", "3", "9223372036854775807", "NULL"});
      case Kind::Truth:
        return pick<std::string>({"TRUE", "FALSE", "NULL", "n", "n = 1", "t IS NULL", "a > 0"});
      case Kind::Text:
        return pick<std::string>({"t", "v", "'a'", "''", "'Ä é'", "'it''s'", "'a b%_'", "NULL"});
      case Kind::Moment:
        return pick<std::string>({"day", "at", "fine", "DATE '2024-02-29'", "TIMESTAMP '1999-12-31 23:59:59'",
                                  "TIMESTAMP '2001-01-01 00:00:00.25'"});
    }
    return {};
  }

  /// <n>, <w>, <c>, <t> and <m> stand for expressions of the kinds, <k> for a small constant, <u> for a unit
  /// of time, <l> for a pattern.
  std::string filled(const std::vector<std::string>& forms, unsigned depth) {
    const std::string form = pick(forms);
    std::string text;
    for (size_t i = 0; i < form.size(); ++i) {
      if (form[i] != '<' || i + 2 >= form.size() || form[i + 1] < 'a' || form[i + 2] != '>') {
        text += form[i];
        continue;
      }
      const char kind = form[i + 1];
      i += 2;
      const unsigned below = depth - 1;
      switch (kind) {
        case 'n':
          text += "(" + of(Kind::Number, below) + ")";
          break;
        case 'w':
          text += "(" + of(Kind::Whole, below) + ")";
          break;
        case 'c':
          text += "(" + of(Kind::Truth, below) + ")";
          break;
        case 't':
          text += "(" + of(Kind::Text, below) + ")";
          break;
        case 'm':
          text += "(" + of(Kind::Moment, below) + ")";
          break;
        case 'k':
          text += pick<std::string>({"0", "1", "2", "-1", "5"});
          break;
        case 'u':
          text += pick<std::string>({"SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"});
          break;
        default:
          text += pick<std::string>({"'a%'", "'%b'", "'_'", "'%a_%'", "''", "'|%'"});
      }
    }
    return text;
  }

  static const std::vector<std::string>& numbers() {
    static const std::vector<std::string> forms{"<n> + <n>",
                                                "<n> - <n>",
                                                "<n> * <n>",
                                                "<n> / <n>",
                                                "<n> DIV <n>",
                                                "<n> MOD <n>",
                                                "-<n>",
                                                "ABS(<n>)",
                                                "SIGN(<n>)",
                                                "FLOOR(<n>)",
                                                "CEIL(<n>)",
                                                "ROUND(<n>)",
                                                "ROUND(<n>, <k>)",
                                                "TRUNCATE(<n>, <k>)",
                                                "IF(<c>, <n>, <n>)",
                                                "CASE WHEN <c> THEN <n> WHEN <c> THEN <n> END",
                                                "CASE <n> WHEN <n> THEN <n> ELSE <n> END",
                                                "COALESCE(<n>, <n>)",
                                                "IFNULL(<n>, <n>)",
                                                "NULLIF(<n>, <n>)",
                                                "GREATEST(<n>, <n>, <n>)",
                                                "LEAST(<n>, <n>)",
                                                "CAST(<n> AS SIGNED)",
                                                "CAST(<n> AS UNSIGNED)",
                                                "CAST(<n> AS DECIMAL(12,3))",
                                                "CAST(<n> AS DECIMAL(30,10))",
                                                "CAST(<n> AS DOUBLE)",
                                                "<w>",
                                                "<c>"};
    return forms;
  }
  static const std::vector<std::string>& whole_numbers() {
    static const std::vector<std::string> forms{"<w> + <k>",
                                                "<w> & <w>",
                                                "<w> | <k>",
                                                "<w> ^ <w>",
                                                "~<w>",
                                                "<w> << <k>",
                                                "<w> >> <k>",
                                                "BIT_COUNT(<w>)",
                                                "YEAR(<m>)",
                                                "QUARTER(<m>)",
                                                "MONTH(<m>)",
                                                "DAY(<m>)",
                                                "DAYOFYEAR(<m>)",
                                                "DAYOFWEEK(<m>)",
                                                "WEEKDAY(<m>)",
                                                "WEEK(<m>)",
                                                "WEEK(<m>, 3)",
                                                "YEARWEEK(<m>)",
                                                "TO_DAYS(<m>)",
                                                "DATEDIFF(<m>, <m>)",
                                                "TIMESTAMPDIFF(<u>, <m>, <m>)",
                                                "EXTRACT(<u> FROM at)",
                                                "EXTRACT(YEAR_MONTH FROM <m>)",
                                                "HOUR(at)",
                                                "MICROSECOND(fine)",
                                                "HOUR(span)",
                                                "EXTRACT(HOUR_MINUTE FROM span)",
                                                "LENGTH(<t>)",
                                                "CHAR_LENGTH(<t>)",
                                                "ASCII(<t>)",
                                                "CRC32(<t>)",
                                                "INSTR(<t>, <t>)",
                                                "LOCATE(<t>, <t>)",
                                                "LOCATE(<t>, <t>, <k>)",
                                                "STRCMP(<t>, <t>)",
                                                "FIELD(<t>, <t>, <t>)",
                                                "FIND_IN_SET(<t>, <t>)",
                                                "IF(<c>, <w>, <w>)"};
    return forms;
  }
  static const std::vector<std::string>& truths() {
    static const std::vector<std::string> forms{"<n> = <n>",
                                                "<n> <> <n>",
                                                "<n> < <n>",
                                                "<n> <= <n>",
                                                "<n> > <n>",
                                                "<n> >= <n>",
                                                "<n> <=> <n>",
                                                "<n> BETWEEN <n> AND <n>",
                                                "<n> IN (<n>, <n>)",
                                                "<w> IN (1, 2, 3, 4, 5, NULL)",
                                                "<w> NOT IN (<w>, 7)",
                                                "<t> = <t>",
                                                "<t> < <t>",
                                                "<t> <=> <t>",
                                                "<t> BETWEEN <t> AND <t>",
                                                "<t> IN ('a', 'b', 'c', 'd', <t>)",
                                                "<t> LIKE <l>",
                                                "<t> NOT LIKE <l>",
                                                "<t> LIKE <l> ESCAPE '|'",
                                                "<m> < <m>",
                                                "<m> = '2024-02-29'",
                                                "<m> BETWEEN <m> AND <m>",
                                                "<m> IN (<m>, '2024-02-29')",
                                                "<c> AND <c>",
                                                "<c> OR <c> OR <c>",
                                                "<c> XOR <c>",
                                                "NOT <c>",
                                                "<n> IS NULL",
                                                "<t> IS NOT NULL",
                                                "<c> IS TRUE",
                                                "<c> IS NOT FALSE",
                                                "<c> IS UNKNOWN",
                                                "span > '10:00:00'"};
    return forms;
  }
  static const std::vector<std::string>& texts() {
    static const std::vector<std::string> forms{"CONCAT(<t>, <t>)",
                                                "CONCAT(<t>, <w>)",
                                                "CONCAT_WS('-', <t>, <t>, <t>)",
                                                "SUBSTRING(<t>, <k>)",
                                                "SUBSTRING(<t>, <k>, <k>)",
                                                "LEFT(<t>, <k>)",
                                                "RIGHT(<t>, <w>)",
                                                "UPPER(<t>)",
                                                "LOWER(<t>)",
                                                "TRIM(<t>)",
                                                "LTRIM(<t>)",
                                                "RTRIM(<t>)",
                                                "TRIM(BOTH <t> FROM <t>)",
                                                "TRIM(LEADING 'a' FROM <t>)",
                                                "REPLACE(<t>, <t>, 'xy')",
                                                "LPAD(<t>, 5, <t>)",
                                                "RPAD(<t>, 7)",
                                                "REPEAT(<t>, <k>)",
                                                "SPACE(<k>)",
                                                "REVERSE(<t>)",
                                                "SUBSTRING_INDEX(<t>, <t>, <k>)",
                                                "ELT(<w>, <t>, <t>)",
                                                "HEX(<t>)",
                                                "MD5(<t>)",
                                                "IF(<c>, <t>, <t>)",
                                                "COALESCE(<t>, <t>)",
                                                "NULLIF(<t>, <t>)",
                                                "CASE WHEN <c> THEN <t> END",
                                                "CASE <t> WHEN <t> THEN <t> ELSE <t> END",
                                                "GREATEST(<t>, <t>)",
                                                "LEAST(<t>, <t>)",
                                                "CAST(<w> AS CHAR)",
                                                "CAST(<t> AS CHAR(2))",
                                                "CAST(<m> AS CHAR)",
                                                "DATE_FORMAT(<m>, '%Y/%c/%e %H:%i:%s')"};
    return forms;
  }
  static const std::vector<std::string>& moments() {
    static const std::vector<std::string> forms{"<m> + INTERVAL <w> <u>",
                                                "<m> - INTERVAL <k> <u>",
                                                "DATE_ADD(<m>, INTERVAL <k> <u>)",
                                                "ADDDATE(<m>, <k>)",
                                                "LAST_DAY(<m>)",
                                                "DATE(<m>)",
                                                "CAST(<m> AS DATE)",
                                                "CAST(<m> AS DATETIME(6))",
                                                "FROM_DAYS(<w>)",
                                                "MAKEDATE(2024, <w>)",
                                                "IF(<c>, <m>, <m>)",
                                                "COALESCE(<m>, <m>)",
                                                "NULLIF(<m>, <m>)",
                                                "GREATEST(<m>, <m>)",
                                                "LEAST(<m>, <m>)",
                                                "CASE WHEN <c> THEN <m> END"};
    return forms;
  }

  std::mt19937_64 random_;
};

}  // namespace hailstone
