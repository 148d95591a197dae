// The types of calls by name, as MariaDB 10.11 tells them, and what happens at the limits of values.
#include "expression/calls.h"

#include <gtest/gtest.h>

#include "expression/typed_rows.h"

namespace hailstone {
namespace {

class CallsTest : public testing::Test {
 protected:
  CallsTest() { add_all_types(row_); }
  std::string type(std::string_view text) const { return row_.type_of(text); }
  std::string value(std::string_view text) { return row_.evaluate(text); }

  TypedRow row_;
};

TEST_F(CallsTest, HaveTheTypesOfTheServer) {
  const std::vector<std::pair<std::string_view, std::string_view>> types{
      {"i + 1", "BIGINT"},
      {"n + u", "BIGINT UNSIGNED"},
      {"i * a", "DECIMAL(20,2)"},
      {"a * b", "DECIMAL(14,6)"},
      {"a + w", "DECIMAL(19,6)"},
      {"a - 1", "DECIMAL(11,2)"},
      {"a / 3", "DECIMAL(14,6)"},
      {"1 / 3", "DECIMAL(5,4)"},
      {"n / i", "DECIMAL(23,4)"},
      {"a / b", "DECIMAL(18,6)"},
      {"w / w", "DECIMAL(28,10)"},
      {"w * w * w", "DECIMAL(54,18)"},
      {"a DIV 3", "BIGINT"},
      {"a MOD 3", "DECIMAL(10,2)"},
      {"-a", "DECIMAL(11,2)"},
      {"-i", "BIGINT"},
      {"a + d", "DOUBLE"},
      {"NULL + 1", "DOUBLE"},
      {"day + 0", "BIGINT"},
      {"99999999999999999999 + 1", "DECIMAL(21,0)"},
      {"18446744073709551615 + 0", "BIGINT UNSIGNED"},
      {"FLOOR(a)", "BIGINT"},
      {"FLOOR(99999999999999999999.5)", "DECIMAL(21,0)"},
      {"ROUND(a)", "DECIMAL(9,0)"},
      {"ROUND(a, 1)", "DECIMAL(10,1)"},
      {"ROUND(a, 5)", "DECIMAL(13,5)"},
      {"ROUND(a, -1)", "DECIMAL(9,0)"},
      {"TRUNCATE(a, 1)", "DECIMAL(9,1)"},
      {"i & 3", "BIGINT UNSIGNED"},
      {"COALESCE(i, a)", "DECIMAL(12,2)"},
      {"COALESCE(u, n)", "DECIMAL(20,0)"},
      {"COALESCE(u, NULL)", "DECIMAL(20,0)"},
      {"IF(n, u, NULL)", "BIGINT UNSIGNED"},
      {"COALESCE(NULL, b)", "DECIMAL(5,4)"},
      {"IF(n, i, 2.5)", "DECIMAL(11,1)"},
      {"CASE WHEN n THEN a ELSE d END", "DOUBLE"},
      {"NULLIF(a, 1)", "DECIMAL(10,2)"},
      {"GREATEST(i, w)", "DECIMAL(18,6)"},
      {"COALESCE(CAST(a AS SIGNED), 0.5)", "DECIMAL(11,1)"},
      {"COALESCE(LENGTH(t), 0.5)", "DECIMAL(10,1)"},
      {"COALESCE(TO_DAYS(day), 0.5)", "DECIMAL(7,1)"},
      {"CONCAT(i, t)", "VARCHAR(31)"},
      {"day + INTERVAL 1 DAY", "DATE"},
      {"day + INTERVAL 1 HOUR", "DATETIME"},
      {"at + INTERVAL 1 MICROSECOND", "DATETIME(6)"},
      {"COALESCE(day, at)", "DATETIME"},
      {"LAST_DAY(at)", "DATE"},
      {"n = 1", "BIGINT"}};
  for (const auto& [text, wanted] : types) EXPECT_EQ(type(text), wanted) << text;
}

TEST_F(CallsTest, FailBeyondBigint) {
  EXPECT_EQ(value("9223372036854775807 + 1"), "failed");
  EXPECT_EQ(value("9223372036854775807 + 1.0"), "9223372036854775808.0");
  EXPECT_EQ(value("-9223372036854775808 - 1"), "failed");
  EXPECT_EQ(value("9223372036854775807 * 2"), "failed");
  EXPECT_EQ(value("18446744073709551615 + u"), "failed");
  EXPECT_EQ(value("ABS(-9223372036854775808)"), "failed");
  EXPECT_EQ(value("CAST(-1 AS UNSIGNED)"), "failed");
  EXPECT_EQ(value("CAST(100 AS DECIMAL(2,0))"), "failed");
  EXPECT_EQ(value("1e308 * 10"), "failed");
  EXPECT_EQ(value("CAST(99999999999999999999 AS SIGNED)"), "failed");
}

TEST_F(CallsTest, ComputeLongDecimals) {
  EXPECT_EQ(value("99999999999999999999.5 * 10"), "999999999999999999995.0");
  EXPECT_EQ(value("FLOOR(-99999999999999999999.5)"), "-100000000000000000000.");
  EXPECT_EQ(value("TRUNCATE(99999999999999999999.56, 1)"), "99999999999999999999.5");
  EXPECT_EQ(value("ABS(-99999999999999999999.5) > 1"), "1");
  EXPECT_EQ(value("CAST(99999999999999999999.5 AS DECIMAL(21,0))"), "100000000000000000000.");
  EXPECT_EQ(value("1.0000000000 * 1.0000000000 * 1.0000000000 * 1.0000000000"),
            "at 44: *: the result may have more digits than numbers have here");
}

TEST_F(CallsTest, AreNullWhereAnArgumentIs) {
  for (const char* const text :
       {"n + NULL", "NULL * a", "ABS(NULL)", "CONCAT(t, NULL)", "NULL LIKE 'a'", "NULL IN (1, 2)",
        "YEAR(NULL)", "TIMESTAMPDIFF(DAY, day, NULL)", "NULL BETWEEN 1 AND 2", "NOT NULL", "NULL = NULL",
        "v = t", "LPAD(t, -1, 'x')", "GREATEST(1, NULL)", "COALESCE(NULL, NULL)", "NULLIF(1, 1)",
        "day + INTERVAL NULL DAY"})
    EXPECT_EQ(value(text), "NULL") << text;
  EXPECT_EQ(value("NULL <=> NULL"), "1");
  EXPECT_EQ(value("CONCAT_WS('-', t, NULL, 'x')"), "Ä b -x");
  EXPECT_EQ(value("FALSE AND NULL"), "0");
  EXPECT_EQ(value("2 BETWEEN NULL AND 1"), "0");
}

TEST_F(CallsTest, TellOfDivisionsByZeroAsTheSettingsSay) {
  const Expression one = *constant_number("1"), zero = *constant_number("0");
  for (const char* const name : {"/", "DIV", "MOD"}) {
    EXPECT_EQ(row_.evaluate(*sql_call(name, {one, zero})), "NULL, warned") << name;
    EXPECT_EQ(row_.evaluate(*sql_call(name, {one, zero}, {.tells_zero = false})), "NULL") << name;
  }
  EXPECT_EQ(row_.evaluate(*sql_call("/", {one, *constant_number("3")}, {.quotient_digits = 6})), "0.333333");
}

TEST_F(CallsTest, AreOfKnownNamesAndNumbersOfArguments) {
  const auto message = [](std::string_view name, size_t arguments) {
    const std::vector<Expression> all(arguments, *constant_number("1"));
    const auto made = sql_call(name, all);
    return made ? std::string("made") : made.error().message();
  };
  EXPECT_EQ(message("abs", 1), "made");
  EXPECT_EQ(message("ABSS", 1), "there is no function 'ABSS'; did you mean 'ABS'?");
  EXPECT_EQ(message("IF", 2), "IF takes 3 arguments (truth, any, any), and not 2");
  EXPECT_EQ(message("COALESCE", 0), "COALESCE takes at least 1 arguments (any, …), and not 0");
  EXPECT_EQ(message("ROUND", 3), "ROUND takes 1 to 2 arguments (number, constant), and not 3");
}

/// Each line can be called with some arguments.
TEST_F(CallsTest, HaveRulesForAllLines) {
  for (const SqlFunction& line : sql_functions()) {
    bool is_made = false;
    for (const char* const argument : {"n", "t", "day", "span"}) {
      const Expression value = *row_.columns().resolve({.qualifier = {}, .name = argument});
      const bool takes_constant = line.arguments.find("constant") != std::string_view::npos;
      std::vector<Expression> arguments{value};
      while (arguments.size() < line.least) {
        const bool is_number =
            line.arguments.find("INT") != std::string_view::npos || line.name() == "TRUNCATE";
        arguments.push_back(takes_constant && line.name() != "TRUNCATE" ? constant_text("%Y")
                            : is_number                                 ? *constant_number("1")
                                                                        : value);
      }
      if (line.name() == "ELT") arguments = {*constant_number("1"), value};
      if (line.name() == "SUBSTRING_INDEX") arguments = {value, value, *constant_number("1")};
      if (line.name() == "REPLACE") arguments = {value, value, constant_text("x")};
      const std::string_view word = line.name() == "CAST" ? "CHAR" : "DAY";
      is_made |= sql_call(line.name(), arguments, {}, line.name() == "TRIM" ? "" : word).has_value();
    }
    EXPECT_TRUE(is_made) << line.names;
  }
}

}  // namespace
}  // namespace hailstone
