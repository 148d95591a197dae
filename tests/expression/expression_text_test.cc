// Expressions as text: what is read, what it is worth, what is written, and what is wrong.
#include "expression/expression_text.h"

#include <gtest/gtest.h>

#include "expression/typed_rows.h"

namespace hailstone {
namespace {

class ExpressionTextTest : public testing::Test {
 protected:
  ExpressionTextTest() {
    row_.add_decimal("price", 1999, 10, 2);
    row_.add_decimal("discount", 10, 4, 2);
    row_.add_integer("n", 7);
    row_.add_integer("nothing", std::nullopt);
    row_.add_integer("u", 5, true, 20);
    row_.add_real("d", 2.5);
    row_.add_text("name", "Ärger");
    row_.add_time("day", SqlType::Kind::Date, "2024-01-31");
    row_.add_time("at", SqlType::Kind::DateTime, "2024-02-29 10:20:30");
    row_.add_time("span", SqlType::Kind::Time, "-10:20:30");
  }
  std::string value(std::string_view text) { return row_.evaluate(text); }
  /// As it is written.
  std::string written(std::string_view text) {
    const auto parsed = parse_expression(text, row_.columns());
    return parsed ? to_text(*parsed, [this](uint16_t position) { return row_.name(position); })
                  : parsed.error().message();
  }

  TypedRow row_;
};

TEST_F(ExpressionTextTest, ComputesNumbers) {
  EXPECT_EQ(value("price * (1 - discount)"), "17.9910");
  EXPECT_EQ(row_.type_of("price * (1 - discount)"), "DECIMAL(15,4)");
  EXPECT_EQ(value("1 + 2 * 3"), "7");
  EXPECT_EQ(value("(1 + 2) * 3"), "9");
  EXPECT_EQ(value("10 - 3 - 2"), "5");
  EXPECT_EQ(value("1.00 / 3"), "0.333333");
  EXPECT_EQ(value("7 DIV 2 + 7 MOD 4 + 7 % 5"), "8");
  EXPECT_EQ(value("1 / 0"), "NULL, warned");
  EXPECT_EQ(value("n + nothing"), "NULL");
  EXPECT_EQ(value("9223372036854775807 + n"), "failed");
  EXPECT_EQ(value("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(value("u - 6"), "failed");
  EXPECT_EQ(value("d * 2"), "5e0");
  EXPECT_EQ(value("1e3"), "1000e0");
  EXPECT_EQ(value("-5 ^ 2"), value("18446744073709551615 - 6"));
  EXPECT_EQ(value("5 & 3 | 8 << 1"), "17");
  EXPECT_EQ(value("~0"), "18446744073709551615");
  EXPECT_EQ(value("ROUND(price, 1)"), "20.0");
  EXPECT_EQ(value("ROUND(-2.5), TRUNCATE(2)"), "at 12: an operator is expected before ','");
  EXPECT_EQ(value("ROUND(-2.5)"), "-3.");
}

TEST_F(ExpressionTextTest, KnowsThreeTruths) {
  EXPECT_EQ(value("n > 5 AND price < 20"), "1");
  EXPECT_EQ(value("nothing = 1 OR TRUE"), "1");
  EXPECT_EQ(value("nothing = 1 AND TRUE"), "NULL");
  EXPECT_EQ(value("NOT n = 7"), "0");
  EXPECT_EQ(value("nothing IS NULL AND n IS NOT NULL"), "1");
  EXPECT_EQ(value("(nothing > 1) IS UNKNOWN"), "1");
  EXPECT_EQ(value("nothing <=> NULL"), "1");
  EXPECT_EQ(value("n BETWEEN 1 AND 7 AND n NOT BETWEEN 8 AND 9"), "1");
  EXPECT_EQ(value("n IN (1, 2, 7.0)"), "1");
  EXPECT_EQ(value("n NOT IN (1, NULL)"), "NULL");
  EXPECT_EQ(value("n IN (1, 2, 3, 4, 5, 6, 7)"), "1");
  EXPECT_EQ(value("1 < 2 XOR 2 < 1"), "1");
}

TEST_F(ExpressionTextTest, Chooses) {
  EXPECT_EQ(value("CASE WHEN n > 9 THEN 1 WHEN n > 5 THEN 2.5 END"), "2.5");
  EXPECT_EQ(value("CASE n WHEN 7 THEN 'seven' ELSE 'other' END"), "seven");
  EXPECT_EQ(value("IF(nothing, 1, 2)"), "2");
  EXPECT_EQ(value("COALESCE(nothing, price)"), "19.99");
  EXPECT_EQ(row_.type_of("COALESCE(u, n)"), "DECIMAL(20,0)");
  EXPECT_EQ(value("NULLIF(n, 7)"), "NULL");
  EXPECT_EQ(value("GREATEST(1, 2.5, n)"), "7.0");
  EXPECT_EQ(value("LEAST('b', 'a')"), "a");
}

TEST_F(ExpressionTextTest, KnowsTexts) {
  EXPECT_EQ(value("CHAR_LENGTH(name) * 10 + LENGTH(name)"), "56");
  EXPECT_EQ(value("UPPER(name)"), "ÄRGER");
  EXPECT_EQ(value("name LIKE '_rg%'"), "1");
  EXPECT_EQ(value("name LIKE 'rg%'"), "0");
  EXPECT_EQ(value("'100%' LIKE '100|%' ESCAPE '|'"), "1");
  EXPECT_EQ(value("SUBSTRING(name, 2, 2)"), "rg");
  EXPECT_EQ(value("CONCAT(name, '-', n, '-', price, '-', day)"), "Ärger-7-19.99-2024-01-31");
  EXPECT_EQ(value("name IN ('a', 'b', 'c', 'd', 'Ärger')"), "1");
  EXPECT_EQ(value("'it''s \\\\ \\n'"), "it's \\ \n");
  EXPECT_EQ(value("TRIM(BOTH 'x' FROM 'xxaxx')"), "a");
  EXPECT_EQ(value("LPAD('a', 3, 'é')"), "ééa");
  EXPECT_EQ(value("LOCATE('g', name)"), "3");
  EXPECT_EQ(value("MD5('')"), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(value("HEX('é')"), "C3A9");
  EXPECT_EQ(value("LENGTH(CAST(name AS BINARY)) - CHAR_LENGTH(CAST(name AS BINARY))"), "0");
  EXPECT_EQ(value("name = 1"), "at 6: = of a text and a number: constant texts stand in single quotes");
}

TEST_F(ExpressionTextTest, KnowsTimes) {
  EXPECT_EQ(value("day + INTERVAL 1 MONTH"), "DATE '2024-02-29'");
  EXPECT_EQ(value("INTERVAL 1 HOUR + day"), "TIMESTAMP '2024-01-31 01:00:00'");
  EXPECT_EQ(value("DATE_SUB(day, INTERVAL n DAY)"), "DATE '2024-01-24'");
  EXPECT_EQ(value("day < '2024-02-01' AND at >= TIMESTAMP '2024-02-29'"), "1");
  EXPECT_EQ(value("YEAR(day) * 100 + MONTH(at)"), "202402");
  EXPECT_EQ(value("EXTRACT(HOUR_MINUTE FROM at)"), "1020");
  EXPECT_EQ(value("EXTRACT(HOUR FROM span)"), "-10");
  EXPECT_EQ(value("DATEDIFF(at, day)"), "29");
  EXPECT_EQ(value("TIMESTAMPDIFF(MONTH, day, at)"), "0");
  EXPECT_EQ(value("LAST_DAY('2024-02-03')"), "DATE '2024-02-29'");
  EXPECT_EQ(value("DATE_FORMAT(at, '%d.%m.%Y %H:%i')"), "29.02.2024 10:20");
  EXPECT_EQ(value("CAST(at AS DATE)"), "DATE '2024-02-29'");
  EXPECT_EQ(value("DATE '2023-02-29'"), "at 1: '2023-02-29' is no DATE");
  EXPECT_EQ(value("day = 'soon'"), "at 5: 'soon' is no DATETIME");
  EXPECT_EQ(value("COALESCE(NULL, span)"), "TIME '-10:20:30'");
}

TEST_F(ExpressionTextTest, Casts) {
  EXPECT_EQ(value("CAST(price AS SIGNED)"), "20");
  EXPECT_EQ(value("CAST(price AS DECIMAL(5,1))"), "20.0");
  EXPECT_EQ(value("CAST(price AS DECIMAL(3,2))"), "failed");
  EXPECT_EQ(value("CAST(price AS CHAR)"), "19.99");
  EXPECT_EQ(value("CAST(n AS DOUBLE) / 2"), "3.5e0");
  EXPECT_EQ(
      value("CAST(n AS POINT)"),
      "at 1: CAST: there is no type 'POINT'; there are SIGNED, UNSIGNED, DECIMAL(digits,scale), DOUBLE, "
      "CHAR(characters), BINARY, DATE and DATETIME(digits)");
}

TEST_F(ExpressionTextTest, TellsWhatIsWrong) {
  EXPECT_EQ(value(""), "at 1: a value is missing");
  EXPECT_EQ(value("prise + 1"), "at 1: there is no column 'prise'; did you mean 'price'?");
  EXPECT_EQ(value("1 + (2"), "at 7: ')' is missing");
  EXPECT_EQ(value("ROUDN(1)"), "at 1: there is no function 'ROUDN'; did you mean 'ROUND'?");
  EXPECT_EQ(value("ABS(1, 2)"), "at 1: ABS takes 1 argument (number), and not 2");
  EXPECT_EQ(value("'abc"), "at 1: the text has no closing quote");
  EXPECT_EQ(value("1 2"), "at 3: an operator is expected before '2'");
  EXPECT_EQ(value("ABS('a')"), "at 1: ABS takes numbers, and not VARCHAR(1)");
  EXPECT_EQ(value("?"), "at 1: there is no value for parameter 1: 0 were given");
  EXPECT_EQ(value("1 @ 2"), "at 3: no sign of the language");
  EXPECT_EQ(value(std::string(1000, '(')), "at 101: parentheses are nested more than 100 deep");
}

TEST_F(ExpressionTextTest, TakesParameters) {
  const Parameters parameters{.in_order = {*constant_number("2")},
                              .by_name = {{"limit", *constant_number("3")}}};
  const auto parsed = parse_expression("n > ? + :limit", row_.columns(), parameters);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(row_.evaluate(*parsed), "1");
}

TEST_F(ExpressionTextTest, IsTakenFromTheBeginningOfAText) {
  std::string_view text = "n + 1, price) rest";
  ASSERT_TRUE(take_expression(text, row_.columns()));
  EXPECT_EQ(text, ", price) rest");
}

TEST_F(ExpressionTextTest, IsWrittenAgain) {
  EXPECT_EQ(written("a"), "at 1: there is no column 'a'");
  EXPECT_EQ(written("price*(1-discount)"), "price * (1 - discount)");
  EXPECT_EQ(written("1-(2-3)-4"), "1 - (2 - 3) - 4");
  EXPECT_EQ(written("not(n in(1,2))and n=7 or d>1"), "n NOT IN (1, 2) AND n = 7 OR d > 1");
  EXPECT_EQ(written("day+interval 3 day"), "day + INTERVAL 3 DAY");
  EXPECT_EQ(written("case n when 1 then 'it''s' else name end"), "CASE n WHEN 1 THEN 'it''s' ELSE name END");
  EXPECT_EQ(written("n is not null"), "n IS NOT NULL");
  EXPECT_EQ(written("(n = 1) = (n = 2)"), "n = 1 = (n = 2)");
  EXPECT_EQ(written("- (n + 1)"), "-(n + 1)");
  EXPECT_EQ(written("cast(n as decimal( 10 , 2 ))"), "CAST(n AS DECIMAL(10,2))");
}

}  // namespace
}  // namespace hailstone
