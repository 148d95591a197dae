#include "article/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hailstone {
namespace {

using Words = std::vector<std::string_view>;

TEST(ArticleArgumentsTest, EveryOptionIsRead) {
  const auto options = read_article_arguments(Words{"--threads", "3", "--expect", "counts.json", "--output",
                                                    "data", "--small-rows", "0", "--rows", "99999999"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->rows.big, 99'999'999U);
  EXPECT_EQ(options->rows.small, 0U);
  EXPECT_EQ(options->directory, "data");
  EXPECT_EQ(options->counts_file, "counts.json");
  EXPECT_EQ(options->threads, 3U);
}

TEST(ArticleArgumentsTest, WithoutArgumentsTheTablesAreThoseOfTheArticle) {
  const auto options = read_article_arguments({});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->rows.big, 10'000'000U);
  EXPECT_EQ(options->rows.small, 301'036U);
  EXPECT_EQ(options->directory, ".");
  EXPECT_EQ(options->counts_file, "");
}

TEST(ArticleArgumentsTest, AWrongOneIsNamed) {
  const std::pair<Words, std::string> wrong[] = {
      {{"--nix", "1"}, "no option '--nix'"},
      {{"100"}, "no option '100'"},
      {{"--rows=5"}, "no option '--rows=5'"},
      {{"--rows"}, "--rows needs a value"},
      {{"--rows", "5", "--output"}, "--output needs a value"},
      {{"--output", ""}, "--output takes a path"},
      {{"--rows", ""}, "--rows takes a number from 0 to 99999999, not ''"},
      {{"--rows", "-1"}, "not '-1'"},
      {{"--rows", "5x"}, "not '5x'"},
      {{"--rows", "100000000"}, "not '100000000'"},
      {{"--rows", "99999999999999999999"}, "from 0 to 99999999"},
      {{"--small-rows", "301037"}, "from 0 to 301036"},
      {{"--threads", "257"}, "from 0 to 256"},
  };
  for (const auto& [words, said] : wrong) {
    const auto options = read_article_arguments(words);
    ASSERT_FALSE(options) << said;
    EXPECT_NE(options.error().message().find(said), std::string::npos) << options.error().message();
  }
}

}  // namespace
}  // namespace hailstone
