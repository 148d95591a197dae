// Writes the article's tables Small and Big as files of tab-separated values.
#pragma once

#include <cstdint>
#include <string>

#include "article/article_data.h"
#include "base/status.h"

namespace hailstone {

struct GenerateOptions {
  ArticleRows rows;
  std::string directory = ".";  // gets small.tsv and big.tsv; made when missing
  std::string counts_file;      // JSON with the exact counts; empty: none
  unsigned threads = 0;         // 0: as many as the machine has
};

/// Writes the files; what was there is replaced. After an error they may be incomplete.
Status generate(const GenerateOptions& options);

/// The exact counts as a JSON object.
std::string counts_as_json(const ArticleData& data);

}  // namespace hailstone
