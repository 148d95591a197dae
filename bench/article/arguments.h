// What article_data is told on its command line.
#pragma once

#include <span>
#include <string_view>

#include "article/generate.h"
#include "base/status.h"

namespace hailstone {

constexpr std::string_view kArticleUsage =
    "usage: article_data [OPTION VALUE]...\n"
    "Writes the article's tables Small and Big as tab-separated values, always the same.\n"
    "  --rows N        rows of Big, at most 99999999; the counts scale with it (default 10000000)\n"
    "  --small-rows N  rows of Small, at most 301036 (default 301036)\n"
    "  --output DIR    folder for small.tsv and big.tsv (default: the current one)\n"
    "  --expect FILE   also write to this file, as JSON, how many rows the article's conditions match\n"
    "  --threads N     threads, at most 256; 0: as many as the machine has (default 0)\n"
    "  --help          only show this\n";

/// Options from the arguments behind the program's name; the error says which one is wrong.
Result<GenerateOptions> read_article_arguments(std::span<const std::string_view> arguments);

}  // namespace hailstone
