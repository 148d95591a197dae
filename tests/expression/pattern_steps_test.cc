// Bounds of the steps that regular expressions take, and patterns that have none.
#include "expression/pattern_steps.h"

#include <gtest/gtest.h>

#include <string>

namespace hailstone {
namespace {

TEST(PatternStepsTest, GrowWithTheQuantifiers) {
  for (const char* const pattern : {"", "abc", "^a.c$", "[a-z][^]x]", "(a|bc)d", "a?b", "\\.\\d",
                                    "[[:alpha:]]", "(?i)ab", "a|b|", "(?:a|(b))?"})
    EXPECT_EQ(pattern_steps(pattern).value().degree, 0U) << pattern;
  for (const char* const pattern : {"a*", "a+?b", "^.*b$", "a{2,}", "a{3}", "(ab)*", "(?:ab){1,3}", "[]a]+",
                                    "(x|y+)", "(a|b)*", "(?:ab|cd|1)+", "a\\*b++"})
    EXPECT_EQ(pattern_steps(pattern).value().degree, 1U) << pattern;
  EXPECT_EQ(pattern_steps("https?://([^/]+)/.*").value().degree, 2U);
  EXPECT_EQ(pattern_steps("(a*|b*c*)d").value().degree, 2U);
}

/// Repeated choices have as many ways as there are numbers; what is not read here may do anything.
TEST(PatternStepsTest, AreNotKnownOfOthers) {
  for (const char* const pattern :
       {"(a|A)*",  "(a|ab)*", "(a?|b)*", "(a|)*",   "(a|.)*", "(a+)+",   "(a*)*",
        "(?:a?)*", "(a?){3}", "\\1",     "(?=a)",   "(?i:a)", "(?<n>a)", "(*UTF)a",
        "\\Qa",    "\\p{L}",  "\\x41",   "a{1000}", "a{,3}",  "x{y",     "(a",
        "a)",      "[a",      "[[.a.]]", "[[=a=]]", "\\",     "a**",     "(((((((a*)b*)c*)d*)e*)f*)g*)"})
    EXPECT_FALSE(pattern_steps(pattern)) << pattern;
  EXPECT_FALSE(pattern_steps(std::string(100, '(') + "a" + std::string(100, ')')));
}

TEST(PatternStepsTest, AreMoreOfALongerText) {
  const auto steps = pattern_steps("a*b*").value();
  EXPECT_GE(steps.of(0), 4);
  EXPECT_GE(steps.of(1000), 1000.0 * 1000);
  EXPECT_LT(steps.of(100), 10'000'000);
  for (const char* const pattern : {"a", "a*", "a*b*", "https?://([^/]+)/.*", "a*b*c*d*e*f*"}) {
    const auto each = pattern_steps(pattern).value();
    const auto most = each.most_bytes(5e6);
    ASSERT_TRUE(most) << pattern;
    EXPECT_LE(each.of(*most), 5e6) << pattern;
    if (each.degree != 0) {
      EXPECT_GT(each.of(*most + 1), 5e6) << pattern;
    }
  }
  EXPECT_GE(pattern_steps("a").value().most_bytes(5e6), 1'000'000'000U);
  EXPECT_FALSE(steps.most_bytes(1));
}

}  // namespace
}  // namespace hailstone
