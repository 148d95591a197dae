// `hailstone scan`: rows of a table, or their number, to a file or the standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/condition.h"
#include "cli/output.h"
#include "cli/owned_table.h"
#include "cli/progress.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct ScanOptions {
  DatabaseArguments database;
  std::string table;
  std::vector<std::string> columns;
  std::string condition;
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  bool count = false;
  unsigned threads = 2;
  std::string output = "-";
  std::string format;
  TextOptions text;
};

struct ScanCloser {
  void operator()(hs_scan* scan) const { hs_scan_close(scan); }
};
template <typename Structure>
struct Released {
  Structure structure{};
  ~Released() {
    if (structure.release != nullptr) structure.release(&structure);
  }
};

constexpr int64_t rows_per_write = 4096;

class Scanner {
 public:
  explicit Scanner(ScanOptions options) : options_(std::move(options)) {}

  Status run() {
    HAILSTONE_TRY(session_.open_to_read(options_.database));
    HAILSTONE_TRY(session_.begin());
    const Status scanned = scan();
    scan_.reset();
    table_.reset();
    const Status closed = session_.close();
    HAILSTONE_TRY(scanned);
    return closed;
  }

 private:
  Status scan() {
    hs_transaction* const transaction = session_.transaction();
    hs_table* table = nullptr;
    HAILSTONE_TRY(checked(hs_table_open(transaction, options_.table.c_str(), &table), transaction));
    table_.reset(table);
    for (size_t i = 0; i < hs_table_columns(table); ++i) {
      const char* name = nullptr;
      hs_type type{};
      hs_table_column(table, i, &name, &type, nullptr);
      all_.push_back({name, type});
    }
    hs_scan* opened = nullptr;
    HAILSTONE_TRY(checked(hs_scan_open(transaction, table, &opened), transaction));
    scan_.reset(opened);
    if (!options_.condition.empty()) {
      const auto type_of = [&](const std::string& name) -> std::optional<hs_type> {
        const auto found = std::ranges::find(all_, name, &OutputColumn::name);
        return found == all_.end() ? std::nullopt : std::optional(found->type);
      };
      HAILSTONE_ASSIGN(const OwnedPredicate condition, parse_condition(options_.condition, type_of));
      HAILSTONE_TRY(checked(hs_scan_filter(opened, condition.get()), opened));
    }
    HAILSTONE_TRY(checked(hs_scan_threads(opened, options_.threads), opened));
    return options_.count ? count() : write_rows();
  }

  Status count() {
    uint64_t rows = 0;
    HAILSTONE_TRY(checked(hs_scan_count(scan_.get(), &rows), scan_.get()));
    HAILSTONE_ASSIGN(const auto file, OutputFile::create(options_.output));
    HAILSTONE_TRY(file->write(fmt::format("{}\n", rows)));
    return file->finish();
  }

  Status write_rows() {
    hs_scan* const scan = scan_.get();
    std::vector<OutputColumn> columns;
    for (const std::string& name : options_.columns) {
      HAILSTONE_TRY(checked(hs_scan_column(scan, name.c_str(), 0), scan));
      columns.push_back(*std::ranges::find(all_, name, &OutputColumn::name));
    }
    if (columns.empty()) columns = all_;
    HAILSTONE_ASSIGN(const auto file, OutputFile::create(options_.output));
    RowFormatter formatter(options_.text, std::move(columns));
    std::string text;
    formatter.append_header(text);

    Released<ArrowArrayStream> stream;
    HAILSTONE_TRY(checked(hs_scan_stream(scan, &stream.structure), scan));
    uint64_t estimate = 0;
    hs_table_size(table_.get(), &estimate, nullptr);
    // A bar between rows on the same terminal would be in their way.
    const bool quiet = options_.output == "-" && isatty(STDOUT_FILENO) != 0;
    Progress progress("scanning", options_.condition.empty() ? std::min(estimate, options_.limit) : 0);
    uint64_t written = 0;
    while (written < options_.limit && !file->is_closed()) {
      Released<ArrowArray> array;
      HAILSTONE_TRY(next(stream.structure, array.structure));
      if (array.structure.release == nullptr) break;
      const auto wanted = static_cast<int64_t>(
          std::min<uint64_t>(options_.limit - written, static_cast<uint64_t>(array.structure.length)));
      for (int64_t row = 0; row < wanted && !file->is_closed(); row += rows_per_write) {
        if (session_.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
        HAILSTONE_TRY(
            formatter.append_rows(array.structure, row, std::min(wanted, row + rows_per_write), text));
        HAILSTONE_TRY(file->write(text));
        text.clear();
      }
      written += static_cast<uint64_t>(wanted);
      if (!quiet) progress.update(written, fmt::format("{} rows", written));
    }
    HAILSTONE_TRY(file->write(text));
    return file->finish();
  }

  Status next(ArrowArrayStream& stream, ArrowArray& array) const {
    if (stream.get_next(&stream, &array) == 0) return {};
    if (session_.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    const char* const reason = stream.get_last_error(&stream);
    return fail(ErrorCode::Io, reason == nullptr ? "the scan failed" : reason);
  }

  const ScanOptions options_;
  Session session_;
  OwnedTable table_;
  std::unique_ptr<hs_scan, ScanCloser> scan_;
  std::vector<OutputColumn> all_;
};

/// Names that promise something else than is written.
Status check_output(const ScanOptions& options) {
  const std::string& path = options.output;
  for (const auto& [end, program] : {std::pair(".gz", "gzip"), {".zst", "zstd"}}) {
    if (!path.ends_with(end)) continue;
    return fail(ErrorCode::InvalidArgument,
                fmt::format("'{0}': rows are written uncompressed; compress them: hailstone scan {1} {2} … | "
                            "{3} > {0}",
                            path, options.database.directory, options.table, program));
  }
  if (!options.format.empty() || path == "-" || format_of_path(path)) return {};
  if (is_columnar_path(path)) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("'{0}': rows are written as CSV, TSV or JSON lines; the Python package writes such "
                    "files: python3 -m hailstone scan {1} {2} --output {0}",
                    path, options.database.directory, options.table));
  }
  // A name without an end promises nothing.
  const std::string end = std::filesystem::path(path).extension();
  if (end.empty() || end == ".txt") return {};
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format("'{}': the name does not tell the file's format; give --format csv, tsv or jsonl", path));
}

}  // namespace

void add_scan_command(Arguments& root, Ending& ending) {
  Arguments command =
      root.add_subcommand("scan", "write a table's rows, or those of a condition, as CSV, TSV or JSON lines");
  const auto options = std::make_shared<ScanOptions>();
  const auto header = std::make_shared<bool>(false);
  const auto null_text = std::make_shared<std::string>();
  const auto delimiter = std::make_shared<std::string>(",");
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.add("TABLE", options->table, "the table, as group/table").required();
  command.add("--columns", options->columns, "columns, in this order; default: all").comma_list();
  command.add("--where", options->condition,
              "condition: \"price >= 9.5 AND maker = 'Ada'\", with AND OR NOT, = != < <= > >=, IN, BETWEEN, "
              "LIKE, IS NULL; default: none");
  command.add("--limit", options->limit, "so many rows at most; default: all").not_negative();
  command.add_flag("--count", options->count, "print the number of rows instead of the rows");
  command.add("--threads", options->threads, "threads that count").show_default().between(1, 64);
  command
      .add("--output", options->output,
           "file to write, which is there when it is complete; - is the "
           "standard output")
      .show_default();
  command
      .add("--format", options->format,
           "csv, tsv or jsonl; default: as the output's name ends; csv for a name without an end")
      .one_of({"csv", "tsv", "jsonl"});
  command.add_flag("--no-header", *header, "CSV, TSV: no first line with the names of the columns");
  command.add("--delimiter", *delimiter, "CSV: the character between fields")
      .show_default()
      .check(check_delimiter);
  command.add("--null", *null_text, "CSV, TSV: what NULL is written as; default: nothing in CSV, \\N in TSV");
  command.run([command, options, header, null_text, delimiter, &ending] {
    const auto format =
        options->format.empty() ? format_of_path(options->output) : format_of_name(options->format);
    options->text.format = format.value_or(TextFormat::Csv);
    options->text.has_header = !*header;
    options->text.delimiter = delimiter_of(*delimiter);
    if (command.given("--null")) options->text.null_text = *null_text;
    Status status = check_text_options(options->text);
    if (status) status = check_output(*options);
    if (status && options->count && (!options->columns.empty() || command.given("--limit"))) {
      status = fail(ErrorCode::InvalidArgument, "--count goes with --where, not with --columns or --limit");
    }
    if (status) status = Scanner(*options).run();
    ending.exit_code = finished("scan", status);
  });
}

}  // namespace hailstone
