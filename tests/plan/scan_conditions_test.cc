// Conditions that a scan looks at by itself, as texts of the language: for which rows they are TRUE is what
// the expression says of the row's values.
#include "plan/scan_conditions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/test_seed.h"
#include "expression/expression_text.h"
#include "expression/stored_values.h"
#include "expression/typed_column.h"
#include "plan/expressions.h"
#include "schema/row_codec.h"

namespace hailstone::plan {
namespace {

using Row = std::vector<Value>;

class ScanConditionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    add({.name = "i", .type = Type::Signed, .width = 4}, SqlType::integer(1));
    add({.name = "b", .type = Type::Signed, .width = 8}, SqlType::integer(1));
    add({.name = "u", .type = Type::Unsigned, .width = 8}, SqlType::integer(1));
    add({.name = "r", .type = Type::Double, .width = 8}, SqlType::real());
    add({.name = "f", .type = Type::Float, .width = 4},
        {.kind = SqlType::Kind::Float, .scale = SqlType::any_scale});
    add({.name = "t", .type = Type::Varchar, .width = 20, .collation = utf8_collation_id},
        SqlType::text(20, utf8_collation()));
    const ScanColumn day{.type = Type::Signed, .width = 4};
    columns_.add("d", Expression::of_column(position_++, day, moment_of_days())
                          .as(ValueType{.kind = ValueType::Kind::Moment,
                                        .sql = SqlType::moment(SqlType::Kind::Date, 0)}));
  }

  Expression condition(const std::string& text) const {
    const auto parsed = parse_expression(text, columns_);
    EXPECT_TRUE(parsed) << text << ": " << parsed.error().message();
    return rebuilt(*as_truth(*parsed), [](const Expression& part) {
      // As the rule of constants has it.
      if (part->kind != Expression::Kind::Call) return part;
      const auto constant = columns_read(part).is_empty() ? constant_value(part) : std::nullopt;
      return constant && constant->is_constant() ? *constant : part;
    });
  }
  static std::optional<Predicate> taken(const Expression& condition) {
    return predicate_of(condition, [](uint16_t id) { return std::optional(id); });
  }

  /// By the expression alone.
  static bool is_true(const Expression& condition, const Row& row) {
    const Expression of_row = rebuilt(condition, [&](const Expression& part) {
      if (part->kind != Expression::Kind::Column && part->kind != Expression::Kind::OfColumn) return part;
      return constant_of(part, row[part->position]).as(part.type());
    });
    const auto value = of_row.is_constant() || of_row.is_null() ? of_row : constant_value(of_row);
    return value && value->is_constant() && (*value)->integer != 0;
  }
  static Expression constant_of(const Expression& column, const Value& value) {
    if (value.null) return Expression::null(column->values);
    if (column->kind == Expression::Kind::OfColumn)
      return Expression::constant(*column->of_column->of(value));
    switch (column->column.type) {
      case Type::Signed:
        return Expression::constant(native_signed(value.integer, column->column.width));
      case Type::Unsigned: {
        HugeInteger number;
        number.words[0] = value.integer;
        return number.has_64_bits() ? Expression::constant(number.narrow()) : Expression::constant(number);
      }
      case Type::Double:
        return Expression::constant(native_double(value.integer));
      case Type::Float:
        return Expression::constant(static_cast<double>(native_float(value.integer)));
      default:
        return Expression::constant(std::string(value.bytes));
    }
  }

  Row random_row(std::mt19937_64& random) const {
    static const std::array<int64_t, 9> wholes{
        0, 1, -1, 5, 7, 9, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 1000};
    static const std::array<double, 9> reals{0.0, -0.0, 0.1, 2.5, -7, 1e300, NAN, INFINITY, -INFINITY};
    static const std::array<std::string_view, 7> texts{"", "a", "ab", "abc", "b", "é", "a_"};
    const auto any = [&](const auto& of) { return of[random() % of.size()]; };
    Row row;
    row.push_back(Value::of(order_signed(static_cast<int32_t>(any(wholes)), 4)));
    row.push_back(Value::of(order_signed(any(wholes), 8)));
    row.push_back(Value::of(static_cast<uint64_t>(any(wholes))));
    row.push_back(Value::of(order_double(any(reals))));
    row.push_back(Value::of(order_float(static_cast<float>(any(reals)))));
    row.push_back(Value::of(ByteView(any(texts))));
    row.push_back(Value::of(order_signed(19720 + static_cast<int64_t>(random() % 20), 4)));
    for (Value& value : row) {
      if (random() % 8 == 0) value = Value();
    }
    return row;
  }

 private:
  void add(hailstone::Column column, const SqlType& type) {
    const auto typed = typed_column(position_++, column, type);
    ASSERT_TRUE(typed) << typed.error().message();
    columns_.add(column.name, typed->value);
  }
  NamedColumns columns_;
  uint16_t position_ = 0;
};

TEST_F(ScanConditionsTest, AllThatCompareAColumnWithConstants) {
  for (const char* const text : {"i = 5",
                                 "5 < i",
                                 "i <> 5",
                                 "i BETWEEN 1 AND 7",
                                 "i IN (1, 5)",
                                 "i NOT IN (1, 5, 7, 9, 1000)",
                                 "i",
                                 "NOT i",
                                 "i < 5.5",
                                 "i = 5.0",
                                 "i IN (1.5, 5.0, 7, 9, 11)",
                                 "u = 18446744073709551615",
                                 "b > 1000.5 AND i = 1",
                                 "r > 0.5",
                                 "NOT r <= 0",
                                 "f = 0.1",
                                 "f < 2.5 OR f IS NULL",
                                 "t = 'a'",
                                 "t <> 'a'",
                                 "t >= 'ab' AND NOT t LIKE 'a%'",
                                 "t IN ('a', 'b')",
                                 "t NOT IN ('a', 'b', 'c', 'd')",
                                 "t BETWEEN 'a' AND 'b'",
                                 "t LIKE 'a_'",
                                 "d = '2024-01-05'",
                                 "NOT (d < '2024-01-05' OR d > '2024-01-09')",
                                 "i = NULL",
                                 "t IS NOT NULL",
                                 "NOT (i = 1 AND t = 'a')"}) {
    EXPECT_TRUE(taken(condition(text))) << text;
  }
  for (const char* const text : {"i = b", "i + 1 = 5", "t = CONCAT(t, '')", "i <=> 5", "i > 1e3"})
    EXPECT_FALSE(taken(condition(text))) << text;
}

TEST_F(ScanConditionsTest, AreTrueForTheSameRows) {
  const uint64_t seed = test_seed(46);
  SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={}", seed));
  std::mt19937_64 random(seed);
  const auto any = [&](auto... of) {
    const std::array<std::string, sizeof...(of)> all{of...};
    return all[random() % all.size()];
  };
  const auto constant = [&](const std::string& column) {
    if (column == "t") return any("'a'", "'ab'", "''", "'b'", "'é'", "'a_'");
    if (column == "d")
      return any("'2023-12-31'", "DATE '2024-01-05'", "'2024-01-05 12:00:00'", "'2024-01-09'");
    if (column == "r" || column == "f") return any("0", "0.1", "2.5", "-7", "1e300", "5e-324", "1e39");
    return any("0", "1", "-1", "5", "7.5", "9.0", "18446744073709551615", "9223372036854775807",
               "-5000000000", "1000");
  };
  const std::function<std::string(int)> made = [&](int depth) -> std::string {
    if (depth > 0 && random() % 2 == 0) {
      if (random() % 3 == 0) return fmt::format("NOT ({})", made(depth - 1));
      return fmt::format("({}) {} ({})", made(depth - 1), any("AND", "OR"), made(depth - 1));
    }
    const std::string column = any("i", "b", "u", "r", "f", "t", "d"), negated = any("", "", "NOT ");
    switch (random() % 6) {
      case 0:
        return fmt::format("{} IS {}NULL", column, negated);
      case 1:
        return fmt::format("{} {}BETWEEN {} AND {}", column, negated, constant(column), constant(column));
      case 2: {
        std::string list = constant(column);
        for (uint64_t more = random() % 6; more > 0; --more) list += ", " + constant(column);
        return fmt::format("{} {}IN ({})", column, negated, list);
      }
      case 3:
        if (column == "t")
          return fmt::format("t {}LIKE {}", negated, any("'a%'", "'%b'", "'_'", "'a\\\\_'", "''", "'a_%'"));
        [[fallthrough]];
      default: {
        const std::string sign = any("=", "<>", "<", "<=", ">", ">=");
        return random() % 4 == 0 ? fmt::format("{} {} {}", constant(column), sign, column)
                                 : fmt::format("{} {} {}", column, sign, constant(column));
      }
    }
  };
  size_t met = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = made(3);
    const Expression whole = condition(text);
    const auto predicate = taken(whole);
    if (!predicate) continue;
    ++met;
    for (int i = 0; i < 20; ++i) {
      const Row row = random_row(random);
      std::string shown;
      for (const Value& value : row)
        shown += value.null            ? " NULL"
                 : value.bytes.empty() ? fmt::format(" {}", value.integer)
                                       : fmt::format(" '{}'", value.bytes);
      ASSERT_EQ(predicate->matches([&](uint16_t column) { return row[column]; }), is_true(whole, row))
          << text << ":" << shown;
    }
  }
  EXPECT_GT(met, 1000U);
}

}  // namespace
}  // namespace hailstone::plan
