#include "column/like_pattern.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

/// LIKE by its definition, byte by byte.
bool like(ByteView value, ByteView pattern, char escape) {
  if (pattern.empty()) return value.empty();
  if (pattern.front() == escape && pattern.size() > 1) {
    return !value.empty() && value.front() == pattern[1] && like(value.substr(1), pattern.substr(2), escape);
  }
  if (pattern.front() == '%') {
    for (size_t skipped = 0; skipped <= value.size(); ++skipped) {
      if (like(value.substr(skipped), pattern.substr(1), escape)) return true;
    }
    return false;
  }
  return !value.empty() && value.front() == pattern.front() &&
         like(value.substr(1), pattern.substr(1), escape);
}

bool matches(ByteView pattern, ByteView value) {
  const auto parsed = LikePattern::parse(pattern, '\\');
  return parsed && parsed->matches(value);
}

TEST(LikePatternTest, BeginningsEndsAndPiecesDoNotOverlap) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("%", ""));
  EXPECT_TRUE(matches("%%", "abc"));
  EXPECT_FALSE(matches("aba%ba", "aba"));
  EXPECT_FALSE(matches("aba%ba", "abaa"));
  EXPECT_TRUE(matches("aba%ba", "ababa"));
  EXPECT_FALSE(matches("%ab%ba%", "aba"));
  EXPECT_TRUE(matches("%ab%ba%", "xabbax"));
  EXPECT_FALSE(matches("a%", ""));
}

TEST(LikePatternTest, EscapedWildcardsStandForThemselves) {
  EXPECT_TRUE(matches("\\%", "%"));
  EXPECT_FALSE(matches("\\%", "a"));
  EXPECT_TRUE(matches("%\\_%", "a_b"));
  EXPECT_FALSE(matches("%\\_%", "ab"));
  EXPECT_TRUE(matches("a\\", "a\\"));
  EXPECT_TRUE(LikePattern::parse("\\%", std::nullopt)->matches("\\x"));
  EXPECT_FALSE(LikePattern::parse("a_", '\\'));
}

TEST(LikePatternTest, TellsWhetherAPartBeginsWithinACharacter) {
  EXPECT_TRUE(LikePattern::parse("é%日", '\\')->parts_begin_characters());
  EXPECT_FALSE(LikePattern::parse("%\xa9%", '\\')->parts_begin_characters());
  EXPECT_FALSE(LikePattern::parse("%\xa9", '\\')->parts_begin_characters());
  EXPECT_FALSE(LikePattern::parse("\xa9", '\\')->parts_begin_characters());
}

TEST(LikePatternTest, RandomPatternsMatchByTheirDefinitionAndWithinTheirLimits) {
  std::mt19937_64 random(test_seed(7));
  const auto draw = [&](ByteView letters, size_t most) {
    std::string text(random() % (most + 1), '\0');
    for (auto& byte : text) byte = letters[random() % letters.size()];
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    const std::string pattern = draw("ab\xff%%!", 9);
    const auto parsed = LikePattern::parse(pattern, '!');
    ASSERT_TRUE(parsed);
    const auto limits = parsed->limits();
    for (int i = 0; i < 10; ++i) {
      const std::string value = draw("ab\xff%!", 12);
      ASSERT_EQ(parsed->matches(value), like(value, pattern, '!'))
          << "'" << value << "' LIKE '" << pattern << "'";
      if (!parsed->matches(value) || !limits) continue;
      ASSERT_LE(limits->low, value) << pattern;
      ASSERT_TRUE(!limits->high || value <= *limits->high) << pattern;
    }
  }
}

}  // namespace
}  // namespace hailstone
