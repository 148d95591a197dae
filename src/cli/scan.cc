// `hailstone scan`: rows of a table, groups of them, or their number, to a file or the standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/owned_table.h"
#include "cli/progress.h"
#include "cli/table_query.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct ScanOptions {
  DatabaseArguments database;
  std::string table;
  QueryTexts query;
  std::string output = "-";
  std::string format;
  TextOptions text;
};

template <typename Structure>
struct Released {
  Structure structure{};
  ~Released() {
    if (structure.release != nullptr) structure.release(&structure);
  }
};

constexpr int64_t rows_per_write = 4096;

/// Shows how far a query is, in a thread of its own: groups and orders read all rows before they give one.
class QueryProgress {
 public:
  QueryProgress(hs_query* query, const QueryTexts& texts) : query_(query), texts_(texts) {
    thread_ = std::thread([this] { run(); });
  }
  ~QueryProgress() {
    {
      const MutexLock guard(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  QueryProgress(const QueryProgress&) = delete;
  QueryProgress& operator=(const QueryProgress&) = delete;

  void set_written(uint64_t rows) { written_.store(rows, std::memory_order_relaxed); }

 private:
  void run() {
    constexpr auto between_looks = std::chrono::milliseconds(100);
    uint64_t rows = 0, all = 0;
    (void)hs_query_progress(query_, &rows, &all);
    const bool knows_all = texts_.reads_all_rows();
    std::optional<Progress> progress(std::in_place, "scanning", knows_all ? all : 0);
    bool is_read = false;  // what is left to be done has no measure
    const MutexLock guard(mutex_);
    while (!is_over_) {
      changed_.wait_for(mutex_, between_looks);
      if (hs_query_progress(query_, &rows, &all) != HS_OK) continue;
      const uint64_t written = written_.load(std::memory_order_relaxed);
      if (knows_all && texts_.has_result_of_all() && rows >= all && !is_read) {
        progress.emplace(texts_.order ? "sorting" : "grouping", 0);
        is_read = true;
      }
      progress->update(rows,
                       written == 0 ? fmt::format("{} rows read", rows) : fmt::format("{} rows", written));
    }
  }

  hs_query* const query_;
  const QueryTexts& texts_;
  std::atomic<uint64_t> written_{0};
  Mutex mutex_;
  Condition changed_;
  bool is_over_ HAILSTONE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class Scanner {
 public:
  explicit Scanner(ScanOptions options) : options_(std::move(options)) {}

  Status run() {
    HAILSTONE_TRY(session_.open_to_read(options_.database));
    HAILSTONE_TRY(session_.begin());
    const Status scanned = scan();
    const Status closed = session_.close();
    HAILSTONE_TRY(scanned);
    return closed;
  }

 private:
  Status scan() {
    hs_transaction* const transaction = session_.transaction();
    hs_table* opened = nullptr;
    HAILSTONE_TRY(checked(hs_table_open(transaction, options_.table.c_str(), &opened), transaction));
    const OwnedTable table(opened);
    HAILSTONE_ASSIGN(const OwnedQuery query, make_query(transaction, opened, options_.query));
    HAILSTONE_ASSIGN(const auto file, OutputFile::create(options_.output, session_.stop()));
    Released<ArrowArrayStream> stream;
    HAILSTONE_TRY(checked(hs_query_stream(query.get(), &stream.structure), query.get()));
    HAILSTONE_TRY(write_rows(query.get(), stream.structure, *file));
    return file->finish();
  }

  Status write_rows(hs_query* query, ArrowArrayStream& stream, OutputFile& file) {
    Released<ArrowSchema> schema;
    if (stream.get_schema(&stream, &schema.structure) != 0) return failed(stream);
    HAILSTONE_ASSIGN(std::vector<OutputColumn> columns, OutputColumn::of(schema.structure));
    RowFormatter formatter(options_.text, std::move(columns));
    std::string text;
    const QueryTexts& texts = options_.query;
    if (!texts.count) formatter.append_header(text);

    std::optional<QueryProgress> progress;
    if (isatty(STDERR_FILENO) != 0) progress.emplace(query, texts);
    // A bar between rows on the same terminal would be in their way.
    const bool is_in_the_way = options_.output == "-" && isatty(STDOUT_FILENO) != 0;
    for (uint64_t written = 0; !file.is_closed();) {
      Released<ArrowArray> array;
      if (stream.get_next(&stream, &array.structure) != 0) return failed(stream);
      if (array.structure.release == nullptr) break;
      if (is_in_the_way) progress.reset();
      const int64_t rows = array.structure.length;
      for (int64_t row = 0; row < rows && !file.is_closed(); row += rows_per_write) {
        if (session_.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
        HAILSTONE_TRY(
            formatter.append_rows(array.structure, row, std::min(rows, row + rows_per_write), text));
        HAILSTONE_TRY(file.write(text));
        text.clear();
      }
      written += static_cast<uint64_t>(rows);
      if (progress) progress->set_written(written);
    }
    return file.write(text);
  }

  Status failed(ArrowArrayStream& stream) const {
    if (session_.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    const char* const reason = stream.get_last_error(&stream);
    return fail(ErrorCode::Io, reason == nullptr ? "the scan failed" : reason);
  }

  const ScanOptions options_;
  Session session_;
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
      root.add_subcommand("scan", "write a table's rows, or groups of them, as CSV, TSV or JSON lines");
  const auto options = std::make_shared<ScanOptions>();
  const auto header = std::make_shared<bool>(false);
  const auto limit = std::make_shared<uint64_t>(0);
  const auto null_text = std::make_shared<std::string>();
  const auto delimiter = std::make_shared<std::string>(",");
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.add("TABLE", options->table, "the table, as group/table").required();
  const auto add_text = [&](const char* name, std::optional<std::string>& to, const char* description) {
    command.add(
        name, [&to](const std::string& text) { to = text; }, description);
  };
  add_text("--columns", options->query.columns,
           "columns and expressions, in this order: \"id, price * n AS sum\"; default: all");
  add_text(
      "--where", options->query.condition,
      "condition: \"price >= 9.5 AND maker = 'Ada'\", with AND OR NOT, = <> < <= > >=, IN, BETWEEN, LIKE, "
      "IS NULL; default: none");
  add_text("--group-by", options->query.keys,
           "a row for each group of rows that are equal in these: \"maker, YEAR(sold) AS year\"");
  add_text(
      "--agg", options->query.aggregates,
      "what is told of each group, or of all rows: \"COUNT(*) AS n, SUM(price * n) AS total\", with COUNT, "
      "SUM, AVG, MIN, MAX");
  add_text("--order-by", options->query.order, "the order of the rows: \"total DESC, maker\"; default: none");
  command.add("--limit", *limit, "so many rows at most, the first ones of the order; default: all")
      .not_negative();
  command.add_flag("--count", options->query.count, "print the number of rows instead of the rows");
  command.add("--threads", options->query.threads, "threads that filter, group and sort")
      .show_default()
      .between(1, 64);
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
  command.run([command, options, header, limit, null_text, delimiter, &ending] {
    if (command.given("--limit")) options->query.limit = *limit;
    const auto format =
        options->format.empty() ? format_of_path(options->output) : format_of_name(options->format);
    options->text.format = format.value_or(TextFormat::Csv);
    options->text.has_header = !*header;
    options->text.delimiter = delimiter_of(*delimiter);
    if (command.given("--null")) options->text.null_text = *null_text;
    Status status = check_text_options(options->text);
    if (status) status = check_output(*options);
    if (status) status = check_texts(options->query);
    if (status) status = Scanner(*options).run();
    ending.exit_code = finished("scan", status);
  });
}

}  // namespace hailstone
