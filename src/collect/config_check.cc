#include "collect/config_check.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "collect/followed_file.h"
#include "collect/server_connection.h"
#include "collect/summary_counts.h"
#include "collect/summary_tables.h"
#include "collect/table_load.h"
#include "collect/table_upkeep.h"
#include "collect/target_table.h"
#include "expression/expression_lexer.h"
#include "file/filesystem.h"

namespace hailstone {
namespace {

class StreamCheck {
 public:
  StreamCheck(const CollectConfig& config, const StreamConfig& stream, const Stop& stop,
              std::vector<Finding>& findings)
      : config_(config), stream_(stream), stop_(stop), findings_(findings) {}

  void run() {
    const size_t before = findings_.size();
    check_writable(config_.spool.directory, "the spool's directory");
    // The spool's directory is made when it is not there.
    const auto folder = std::filesystem::path(stream_.reject_file).parent_path().lexically_normal();
    if (folder != std::filesystem::path(config_.spool.directory).lexically_normal() ||
        posix_filesystem().exists(config_.spool.directory)) {
      check_writable(stream_.reject_file, "the reject file");
    }
    check_source();
    const auto engine = check_table();
    if (!engine) {
      wrong(engine.error().message());
    } else if (findings_.size() == before) {
      findings_.push_back(
          {stream_.name,
           fmt::format("table '{}' of the engine {} can be loaded{}", stream_.table.name, *engine,
                       layout_.empty() ? "; its columns are told by the header, once there is a file" : ""),
           false});
    }
  }

 private:
  void wrong(std::string text) { findings_.push_back({stream_.name, std::move(text), true}); }

  /// What is there, or else its folder.
  void check_writable(const std::string& path, std::string_view what) {
    std::string place = path;
    if (!posix_filesystem().exists(path)) place = std::filesystem::path(path).parent_path();
    if (place.empty()) place = ".";
    if (::access(place.c_str(), W_OK) != 0)
      wrong(fmt::format("{} '{}' cannot be made or written", what, path));
  }

  void check_source() {
    layout_ = stream_.columns;
    std::erase(layout_, "-");
    if (stream_.source == StreamConfig::Source::StandardInput) return;
    std::string file = stream_.path;
    if (stream_.source == StreamConfig::Source::Directory) {
      auto names = posix_filesystem().list(stream_.path);
      if (!names) return wrong(names.error().message());
      std::ranges::sort(*names);
      const auto found = std::ranges::find_if(*names, [this](const std::string& name) {
        return ::fnmatch(stream_.pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
      });
      if (found == names->end()) return;
      file += "/" + *found;
    }
    const auto facts = facts_of(file);
    if (!facts) return wrong(facts.error().message());
    // The collector would wait for it.
    if (!*facts || (*facts)->size == 0) return;
    auto input = FollowedFile::open(
        file, {.offset = 0, .end = FollowedFile::End::LastByte, .stop = &stop_, .before_wait = [] {
                 return Status();
               }});
    if (!input) return wrong(input.error().message());
    const auto rows = open_rows(std::move(*input), stream_.text, stream_.columns);
    if (!rows) return wrong(rows.error().message());
    if (!stream_.text.has_header || names_its_fields(stream_.text.format)) return;
    const auto& names = (*rows)->names();
    if (stream_.columns.empty()) {
      layout_ = names;
    } else if (names.size() != stream_.columns.size()) {
      wrong(fmt::format("{}: the header has {} columns where 'columns' names {}", file, names.size(),
                        stream_.columns.size()));
    }
  }

  Result<std::string> check_table() {
    ServerConnection connection(config_.server);
    HAILSTONE_TRY(connection.connect());
    HAILSTONE_TRY(set_session(connection, stream_));
    HAILSTONE_ASSIGN(const TableTrial trial, try_table(connection, stream_.table, stream_.is_repeatable));
    if (layout_.empty()) return trial.engine;
    HAILSTONE_TRY(check_columns(connection, stream_, trial.table, layout_));
    HAILSTONE_ASSIGN(const auto lacking, columns_without_value(connection, stream_, trial.table, layout_));
    if (!lacking.empty()) {
      wrong(fmt::format(
          "table '{}': nothing gives {} a value; add it to the stream's 'columns' or 'computed', or give "
          "it a default",
          stream_.table.name, fmt::join(lacking, ", ")));
    }
    if (stream_.table.is_daily() && !place_of(layout_, stream_.table.time_column)) {
      wrong(
          fmt::format("the records have no field for '{}', which tells the day's table; add it to 'columns'",
                      stream_.table.time_column));
    }
    for (const SummaryConfig& summary : config_.summaries) {
      if (summary.stream != stream_.name) continue;
      HAILSTONE_TRY(check_counted_columns(connection, summary, stream_, trial.table, layout_));
    }
    if (SummaryCounts(config_, stream_).is_made_by_server(layout_)) {
      HAILSTONE_TRY(TableLoad(stream_, connection).make_stage(trial.table));
    }
    // No record at all, by the statement that will load all of them.
    HAILSTONE_TRY(connection.load(load_statement(stream_, trial.table, layout_, false), {}));
    return trial.engine;
  }

  const CollectConfig& config_;
  const StreamConfig& stream_;
  const Stop& stop_;
  std::vector<Finding>& findings_;
  RecordLayout layout_;  // empty: not known yet
};

/// The engine of the summary's table. Other connections than the stream's, as each has one table for trials.
Result<std::string> check_summary(const CollectConfig& config, const SummaryConfig& summary,
                                  const Stop& stop) {
  const StreamConfig& stream = config.stream_of(summary);
  ServerConnection source(config.server), target(config.server);
  HAILSTONE_TRY(source.connect(true));
  HAILSTONE_TRY(target.connect());
  HAILSTONE_TRY(set_session(source, stream));
  HAILSTONE_TRY(set_session(target, stream));
  HAILSTONE_ASSIGN(const TableTrial from, try_table(source, stream.table, stream.is_repeatable));
  HAILSTONE_ASSIGN(const TableTrial to, try_table(target, summary.table, true));
  HAILSTONE_TRY(check_value_column(source, summary, from.table));
  HAILSTONE_ASSIGN(const auto keys, target.query(fmt::format("SHOW KEYS FROM {} WHERE Non_unique = 0",
                                                             quoted_identifier(to.table))));
  if (keys.empty()) {
    return fail(ErrorCode::InvalidArgument, fmt::format("table '{}' has no primary or unique key; without it "
                                                        "a job that runs again could not replace its rows",
                                                        summary.table.name));
  }
  HAILSTONE_ASSIGN(const auto rows,
                   target.query(fmt::format("SHOW COLUMNS FROM {}", quoted_identifier(to.table))));
  const std::string select = select_statement(summary, from.table, WallTime(), "");
  const auto has_columns = [&](const std::vector<std::string>& names) -> Status {
    for (const std::string& name : names) {
      const auto is_it = [&](const auto& row) { return is_same_name(row.at(0), name); };
      if (std::ranges::any_of(rows, is_it)) continue;
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("'select' gives a column '{}', which table '{}' does not have; name it as one "
                              "of the table's: expression AS column",
                              name, summary.table.name));
    }
    return {};
  };
  HAILSTONE_TRY(source.read(fmt::format("SELECT * FROM ({}) AS trial LIMIT 0", select), stop, has_columns,
                            [](const std::string&) { return Status(); }));
  return to.engine;
}

}  // namespace

std::vector<Finding> check_config(const CollectConfig& config, const Stop& stop) {
  std::vector<Finding> findings;
  for (const StreamConfig& stream : config.streams) StreamCheck(config, stream, stop, findings).run();
  for (const SummaryConfig& summary : config.summaries) {
    const auto engine = check_summary(config, summary, stop);
    findings.push_back({summary.name,
                        engine ? fmt::format("its rows can be stored in table '{}' of the engine {}",
                                             summary.table.name, *engine)
                               : engine.error().message(),
                        !engine});
  }
  return findings;
}

}  // namespace hailstone
