// `hailstone generate`: writes the article's tables Small and Big as files of tab-separated values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "cli/article_data.h"

namespace hailstone {

struct GenerateOptions {
  ArticleRows rows;
  std::string directory = ".";  // gets small.tsv and big.tsv; made when missing
  std::string counts_file;      // JSON with the exact counts; empty: none
  unsigned threads = 0;         // 0: as many as the machine has
};

/// Called from one thread at a time.
using GenerateProgress = std::function<void(uint64_t rows_written, uint64_t rows_in_all)>;

/// Writes the files; what was there is replaced. After an error they may be incomplete.
Status generate(const GenerateOptions& options, const GenerateProgress& progress);

/// The exact counts as a JSON object.
std::string counts_as_json(const ArticleData& data);

}  // namespace hailstone
