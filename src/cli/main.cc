// The hailstone command: one subcommand for each job.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/generate.h"

namespace {

using hailstone::GenerateOptions;

int run_generate(const GenerateOptions& options) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  uint64_t shown = 0;
  const auto progress = [&](uint64_t rows, uint64_t all) {
    const uint64_t percent = rows * 100 / all;
    if (!terminal || percent == shown) return;
    shown = percent;
    fmt::print(stderr, "\rgenerating: {:3} %{}", percent, percent == 100 ? "\n" : "");
  };
  if (const hailstone::Status status = hailstone::generate(options, progress); !status) {
    fmt::print(stderr, "{}hailstone generate: {}\n", shown > 0 ? "\n" : "", status.error().message());
    return 1;
  }
  const hailstone::ArticleData data(options.rows);
  fmt::print(
      "{0}/small.tsv: {1} rows, of them {2} with Hersteller = '{3}'\n"
      "{0}/big.tsv: {4} rows, of them {5} with Hersteller = '{6}', none with '{7}'\n"
      "join on PZN of those {2} with those {5}: {8} rows\n",
      options.directory, data.rows().small, data.counts().small_manufacturer, hailstone::kSmallManufacturer,
      data.rows().big, data.counts().big_manufacturer, hailstone::kBigManufacturer,
      hailstone::kAbsentManufacturer, data.counts().joined);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Hailstone's tools");
  app.require_subcommand(1);

  GenerateOptions options;
  CLI::App* generate = app.add_subcommand(
      "generate", "write the article's tables Small and Big as tab-separated values, always the same");
  generate->add_option("--rows", options.rows.big, "rows of Big; the counts scale with it")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, hailstone::ArticleRows::kLimitBig));
  generate->add_option("--small-rows", options.rows.small, "rows of Small")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, hailstone::ArticleRows::kFullSmall));
  generate->add_option("--output", options.directory, "folder for small.tsv and big.tsv")
      ->capture_default_str();
  generate->add_option("--expect", options.counts_file, "also write the exact counts to this file, as JSON");
  generate->add_option("--threads", options.threads, "threads; 0: as many as the machine has")
      ->capture_default_str()
      ->check(CLI::Range(0U, 256U));

  CLI11_PARSE(app, argc, argv);
  return run_generate(options);
}
