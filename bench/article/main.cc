// Writes the article's tables for the benches and the demo. Exit codes: 0 done, 1 error, 2 wrong usage.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "article/arguments.h"
#include "article/generate.h"

int main(int count, char** words) {
  const std::vector<std::string_view> arguments(words + std::min(count, 1), words + count);
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    fmt::print("{}", hailstone::kArticleUsage);
    return 0;
  }
  const auto options = hailstone::read_article_arguments(arguments);
  if (!options) {
    fmt::print(stderr, "article_data: {}; see article_data --help\n", options.error().message());
    return 2;
  }
  if (const hailstone::Status status = hailstone::generate(*options); !status) {
    fmt::print(stderr, "article_data: {}\n", status.error().message());
    return 1;
  }
  return 0;
}
