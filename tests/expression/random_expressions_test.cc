// Random texts: those of the language are written as they were read, and others are refused, not fatal.
#include "expression/random_expressions.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "expression/typed_rows.h"

namespace hailstone {
namespace {

class RandomExpressionsTest : public testing::Test {
 protected:
  RandomExpressionsTest() { add_all_types(row_); }

  std::string written(const Expression& expression) const {
    return to_text(expression, [this](uint16_t position) { return row_.name(position); });
  }

  const uint64_t seed_ = test_seed(std::random_device()());
  RandomExpressions random_{seed_};
  TypedRow row_;
};

TEST_F(RandomExpressionsTest, AreWrittenAsTheyWereRead) {
  constexpr int rounds = 3'000;
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = random_.any(1 + static_cast<unsigned>(random_.below(4)));
    SCOPED_TRACE(text);
    const auto parsed = parse_expression(text, row_.columns());
    if (!parsed) {
      // Not all that the server has is here.
      EXPECT_EQ(parsed.error().code(), ErrorCode::Unsupported) << parsed.error().message();
      continue;
    }
    ++read;
    const std::string again = written(*parsed);
    const auto reparsed = parse_expression(again, row_.columns());
    ASSERT_TRUE(reparsed) << again << ": " << reparsed.error().message();
    EXPECT_EQ(written(*reparsed), again);
    EXPECT_TRUE(*reparsed == *parsed) << again;
    EXPECT_EQ(row_.evaluate(*reparsed), row_.evaluate(*parsed));
  }
  EXPECT_GT(read, rounds / 2);
}

TEST_F(RandomExpressionsTest, AreRefusedWhereTheyAreNone) {
  constexpr int rounds = 20'000;
  for (int i = 0; i < rounds; ++i) {
    std::string text = random_.tokens(1 + random_.below(12));
    if (random_.below(4) == 0) text[random_.below(text.size())] = static_cast<char>(random_.below(256));
    SCOPED_TRACE(text);
    const auto parsed = parse_expression(text, row_.columns());
    if (!parsed) {
      EXPECT_TRUE(parsed.error().message().starts_with("at ")) << parsed.error().message();
      continue;
    }
    const auto again = parse_expression(written(*parsed), row_.columns());
    ASSERT_TRUE(again) << written(*parsed) << ": " << again.error().message();
    EXPECT_TRUE(*again == *parsed) << written(*parsed);
  }
}

TEST_F(RandomExpressionsTest, AreRefusedWhereTheyAreTooLong) {
  const auto refused = [&](const std::string& text) {
    const auto parsed = parse_expression(text, row_.columns());
    return !parsed;
  };
  const auto repeated = [](std::string_view part) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += part;
    return text;
  };
  EXPECT_TRUE(refused(repeated("n + ") + "1"));
  EXPECT_TRUE(refused(repeated("n AND ") + "1"));
  EXPECT_TRUE(refused(repeated("NOT ") + "1"));
  EXPECT_TRUE(refused(repeated("-") + "1"));
  EXPECT_TRUE(refused(repeated("(") + "1"));
  EXPECT_TRUE(refused("COALESCE(" + repeated("n, ") + "1)"));
  EXPECT_TRUE(refused("CASE " + repeated("WHEN n THEN 1 ") + "END"));
  EXPECT_TRUE(refused("d IN (" + repeated("1e0, ") + "1e0)"));
  EXPECT_FALSE(refused("n IN (" + repeated("1, ") + "1)"));
}

}  // namespace
}  // namespace hailstone
