// `hailstone generate`: its arguments, its progress, and what it says in the end.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/progress.h"

namespace hailstone {
namespace {

Status run_generate(const GenerateOptions& options) {
  Progress bar("generating", options.rows.small + options.rows.big);
  HAILSTONE_TRY(generate(options, [&](uint64_t rows, uint64_t) { bar.update(rows); }));
  bar.clear();
  const ArticleData data(options.rows);
  fmt::print(
      "{0}/small.tsv: {1} rows, of them {2} with Hersteller = '{3}'\n"
      "{0}/big.tsv: {4} rows, of them {5} with Hersteller = '{6}', none with '{7}'\n"
      "join on PZN of those {2} with those {5}: {8} rows\n",
      options.directory, data.rows().small, data.counts().small_manufacturer, kSmallManufacturer,
      data.rows().big, data.counts().big_manufacturer, kBigManufacturer, kAbsentManufacturer,
      data.counts().joined);
  return {};
}

}  // namespace

void add_generate_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "generate", "write the article's tables Small and Big as tab-separated values, always the same");
  const auto options = std::make_shared<GenerateOptions>();
  command.add("--rows", options->rows.big, "rows of Big; the counts scale with it")
      .show_default()
      .between(uint64_t{0}, ArticleRows::kLimitBig);
  command.add("--small-rows", options->rows.small, "rows of Small")
      .show_default()
      .between(uint64_t{0}, ArticleRows::kFullSmall);
  command.add("--output", options->directory, "folder for small.tsv and big.tsv").show_default();
  command.add("--expect", options->counts_file, "also write the exact counts to this file, as JSON");
  command.add("--threads", options->threads, "threads; 0: as many as the machine has")
      .show_default()
      .between(0, 256);
  command.run([options, &ending] { ending.exit_code = finished("generate", run_generate(*options)); });
}

}  // namespace hailstone
