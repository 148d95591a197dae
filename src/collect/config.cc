#include "collect/config.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "collect/config_section.h"
#include "expression/expression_lexer.h"
#include "text/pattern_lines.h"
#include "text/time_format.h"

namespace hailstone {
namespace {

/// Texts that become parts of names of files and keys.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// False: it is told what is wrong.
bool take_source(ConfigSection& section, StreamConfig& stream) {
  bool standard_input = false;
  std::string file, directory;
  section.take("stdin", standard_input);
  section.take("file", file);
  section.take("directory", directory);
  section.take("pattern", stream.pattern);
  section.take("follow_symlinks", stream.follow_symlinks);
  const int sources = (standard_input ? 1 : 0) + (file.empty() ? 0 : 1) + (directory.empty() ? 0 : 1);
  if (section.is_told("stdin") || section.is_told("file") || section.is_told("directory")) return false;
  if (sources != 1) {
    section.wrong(fmt::format("stream '{}' needs one source: stdin = true, file = \"…\" or directory = \"…\"",
                              stream.name));
    return false;
  }
  if (const toml::node* node = section.node("pattern"); node != nullptr && directory.empty()) {
    section.wrong(*node, "'pattern' goes with 'directory' only");
  }
  if (const toml::node* node = section.node("follow_symlinks"); node != nullptr && directory.empty()) {
    section.wrong(*node, "'follow_symlinks' goes with 'directory' only");
  }
  stream.source = standard_input  ? StreamConfig::Source::StandardInput
                  : !file.empty() ? StreamConfig::Source::File
                                  : StreamConfig::Source::Directory;
  stream.path = file.empty() ? directory : file;
  return true;
}

/// Nothing: it is told what is wrong.
std::optional<TextFormat> take_format(ConfigSection& section, const StreamConfig& stream) {
  constexpr std::string_view formats = "\"csv\", \"tsv\", \"jsonl\", \"combined\" or \"regex\"";
  std::string name;
  section.take("format", name);
  if (section.node("format") != nullptr) {
    const auto format = format_of_name(name);
    if (!format && !section.is_told("format")) section.wrong_value("format", formats);
    return format;
  }
  const std::string& path = stream.source == StreamConfig::Source::Directory ? stream.pattern : stream.path;
  const auto format = format_of_path(path);
  if (!format) {
    const std::string why = path.empty() ? "" : fmt::format(", as the name '{}' does not say it", path);
    section.wrong(fmt::format("the format must be given{}: format = {}", why, formats));
  }
  return format;
}

/// Takes the format, and the regular expression that one of them needs.
void take_pattern(ConfigSection& section, StreamConfig& stream, TextFormat format) {
  stream.text.format = format;
  // Only these have a line of names.
  if (names_its_fields(format)) stream.text.has_header = false;
  if (format != TextFormat::Regex) {
    if (const toml::node* node = section.node("regex")) {
      section.wrong(*node, "'regex' is for a stream with format = \"regex\"");
    }
    return;
  }
  section.take("regex", stream.text.pattern, true);
  if (section.is_told("regex")) return;
  if (const auto names = names_of_pattern(stream.text.pattern); !names) {
    section.wrong(*section.node("regex"), names.error().message());
    section.tell("regex");
  }
}

void take_text_options(ConfigSection& section, StreamConfig& stream, bool has_source) {
  std::string delimiter = ",", null_text;
  section.take("header", stream.text.has_header);
  section.take("delimiter", delimiter);
  section.take("null", null_text);
  section.know("format");
  section.know("regex");
  // Without a source nothing tells what a format that is not given would be.
  const auto format =
      has_source || section.node("format") != nullptr ? take_format(section, stream) : std::nullopt;
  if (format) take_pattern(section, stream, *format);
  if (const toml::node* node = section.node("delimiter"); node != nullptr && !section.is_told("delimiter")) {
    if (const std::string what = check_delimiter(delimiter); !what.empty()) {
      section.wrong(*node, fmt::format("'delimiter' is {}; {}", ConfigSection::shown(*node), what));
    } else {
      stream.text.delimiter = delimiter_of(delimiter);
    }
  }
  if (const toml::node* node = section.node("null"); node != nullptr && !section.is_told("null")) {
    stream.text.null_text = null_text;
    if (format && !check_text_options(stream.text)) {
      section.wrong(*node, "'null' cannot stand for NULL: it holds a delimiter, a quote or a line end");
    }
  }
}

/// Of rows that name their fields, "field AS column" gives one to a column of another name.
void take_fields(StreamConfig& stream) {
  if (!names_its_fields(stream.text.format)) return;
  for (std::string& column : stream.columns) {
    size_t as = column.find(" AS ");
    if (as == std::string::npos) as = column.find(" as ");
    stream.fields.push_back(column.substr(0, as));
    if (as != std::string::npos) column.erase(0, as + std::string_view(" AS ").size());
  }
}

/// The columns are what the pattern names, or some of it: others would be NULL in all records.
void take_pattern_columns(ConfigSection& section, StreamConfig& stream) {
  if (section.is_told("regex") || section.is_told("columns")) return;
  const bool is_combined = stream.text.format == TextFormat::Combined;
  const auto names = names_of_pattern(is_combined ? combined_pattern : std::string_view(stream.text.pattern));
  if (!names) return;
  for (const std::string& field : stream.fields) {
    if (field == "-" || std::ranges::find(*names, field) != names->end()) continue;
    section.wrong(
        *section.node("columns"),
        fmt::format("'columns' has '{}', which the {} does not name; it names {}", field,
                    is_combined ? "format 'combined'" : "regular expression", fmt::join(*names, ", ")));
  }
  if (stream.columns.empty()) stream.columns = *names;
}

/// How times are written: of the column that decides on partitions, or of several.
void take_times(ConfigSection& section, StreamConfig& stream) {
  constexpr std::string_view must_be =
      "a format, as \"%d/%b/%Y:%H:%M:%S %z\" or \"unix_ms\", or a table of them: { column = \"unix\" }";
  section.know("time_format");
  for (size_t i = 0; stream.text.format == TextFormat::Combined && i < stream.columns.size(); ++i) {
    if (stream.field_of(i) == combined_time) stream.times.emplace_back(stream.columns[i], "time_local");
  }
  const auto add = [&](const toml::node& node, const std::string& column) {
    const auto* format = node.as_string();
    if (format == nullptr) return section.wrong_value("time_format", must_be);
    std::erase_if(stream.times, [&](const auto& each) { return is_same_name(each.first, column); });
    stream.times.emplace_back(column, format->get());
  };
  const toml::node* const node = section.node("time_format");
  if (node != nullptr && node->is_table()) {
    for (const auto& [column, format] : *node->as_table()) add(format, std::string(column.str()));
  } else if (node != nullptr && stream.table.time_column.empty()) {
    section.wrong(
        *node, "'time_format' is of the stream's time_column; give that, or a table: { column = \"unix\" }");
  } else if (node != nullptr) {
    add(*node, stream.table.time_column);
  }
  for (const auto& [column, format] : stream.times) {
    const bool is_read =
        stream.columns.empty() || std::ranges::find_if(stream.columns, [&](const auto& each) {
                                    return is_same_name(each, column);
                                  }) != stream.columns.end();
    if (!is_read) {  // so it was told
      section.wrong(*node, fmt::format("'time_format' is for '{}', which 'columns' does not have", column));
      continue;
    }
    const auto where = [&](const std::string& what) {
      return node != nullptr ? section.wrong(*node, what) : section.wrong(what);
    };
    if (TimeReader::is_moment(format) && stream.time_zone.empty()) {
      where(
          fmt::format("the times of '{}' say a moment; in which time zone does the table have them? "
                      "time_zone = \"+00:00\"",
                      column));
    } else if (const auto reader = TimeReader::make(format, stream.time_zone); !reader) {
      where(reader.error().message());
    }
  }
}

void take_columns(ConfigSection& section, StreamConfig& stream) {
  section.take("columns", stream.columns);
  take_fields(stream);
  if (stream.columns.empty() && !section.is_told("columns") &&
      (stream.text.format == TextFormat::JsonLines ||
       (!names_its_fields(stream.text.format) && !stream.text.has_header))) {
    section.wrong(fmt::format(
        "stream '{}' has no header that names its columns: give columns = [\"…\", \"…\"]", stream.name));
  }
  std::set<std::string> seen;
  for (const std::string& column : stream.columns) {
    if (column.empty() || (column != "-" && !seen.insert(column).second)) {
      section.wrong(*section.node("columns"),
                    fmt::format("'columns' has the name '{}' twice, or an empty one", column));
    }
  }
  if (!stream.columns.empty() && seen.empty()) {
    section.wrong(*section.node("columns"), "'columns' names no column");
  }
  if (stream.text.format == TextFormat::Combined || stream.text.format == TextFormat::Regex) {
    take_pattern_columns(section, stream);
  }
  const toml::table* computed = section.table("computed");
  if (computed == nullptr) return;
  for (const auto& [column, expression] : *computed) {
    const auto* text = expression.as_string();
    if (text == nullptr || text->get().empty()) {
      section.wrong(expression, fmt::format("'computed.{}' is {}; it must be an SQL expression in quotes",
                                            column.str(), ConfigSection::shown(expression)));
    } else {
      stream.computed.emplace_back(column.str(), text->get());
    }
  }
}

/// What steps of partitions and of summaries must be.
constexpr std::string_view partition_steps =
    "\"1 month\", \"1 day\", or hours that divide a day, as \"2 hours\"";
constexpr std::string_view summary_steps =
    "\"1 month\", \"1 day\", hours that divide a day, as \"2 hours\", or minutes that divide an hour, as "
    "\"5 minutes\"";

/// Where a table's rows go by time, how long they stay, and what it is made of.
void take_table(ConfigSection& section, TableConfig& table) {
  section.take("table", table.name, true);
  section.take("create", table.definition);
  section.take("time_column", table.time_column);
  section.take("partition", table.partition);
  section.take("keep", table.keep);
  std::optional<TimeStep> ahead;
  section.take("ahead", ahead);
  if (ahead) table.ahead = *ahead;
  const auto wrong = [&section](std::string_view key, std::string_view what) {
    const toml::node* node = section.node(key);
    if (node != nullptr) section.wrong(*node, std::string(what));
  };
  const size_t placeholder = table.name.find(TableConfig::day_placeholder);
  if (placeholder != std::string::npos &&
      table.name.find(TableConfig::day_placeholder, placeholder + 1) != std::string::npos) {
    wrong("table", "'table' has {day} twice");
  }
  if (table.partition &&
      (!divides_time(*table.partition) || table.partition->unit == TimeStep::Unit::Minute)) {
    section.wrong_value("partition", partition_steps);
  }
  if (table.is_daily()) {
    if (table.definition.empty() && !section.is_told("create")) {
      wrong("table", "a table a day needs create = \"\"\"(column type, …) ENGINE=…\"\"\"");
    }
    if (table.partition && table.partition->unit != TimeStep::Unit::Hour && !section.is_told("partition")) {
      wrong("partition", "the partitions of a table a day must be of hours");
    }
  } else if (!table.partition && !section.is_told("partition")) {
    constexpr std::string_view why =
        "needs partition = \"1 day\", or a table a day: table = \"name_{day}\"; rows are never dropped one "
        "by one";
    wrong("keep", fmt::format("'keep' {}", why));
    wrong("ahead", fmt::format("'ahead' {}", why));
  }
  if ((table.partition || table.is_daily()) && table.time_column.empty() && !section.is_told("time_column")) {
    wrong(table.partition ? "partition" : "table",
          "give time_column = \"…\", the column of the time that decides");
  }
  // A definition that brings partitions of its own would say PARTITION twice.
  if (!table.definition.empty() && !table.definition.starts_with('(')) {
    wrong("create",
          "'create' must begin with the parenthesis of the columns: what stands behind CREATE TABLE name");
  }
}

/// Whether the stream's source is, or has, the file at this path.
bool reads(const StreamConfig& stream, const std::string& path) {
  if (path.empty() || stream.path.empty()) return false;
  const auto true_path = [](const std::filesystem::path& any) {
    std::error_code failed;
    auto found = std::filesystem::weakly_canonical(std::filesystem::absolute(any, failed), failed);
    if (failed) found = any.lexically_normal();
    return found.has_filename() ? found : found.parent_path();  // without a slash at its end
  };
  const auto file = true_path(path);
  if (stream.source == StreamConfig::Source::File) return file == true_path(stream.path);
  return stream.source == StreamConfig::Source::Directory && file.parent_path() == true_path(stream.path) &&
         ::fnmatch(stream.pattern.c_str(), file.filename().c_str(), FNM_PERIOD) == 0;
}

/// Records of both go to the same table from the same place, by the same rules.
bool is_same_input(const StreamConfig& one, const StreamConfig& other) {
  return one.source == other.source && one.source != StreamConfig::Source::StandardInput &&
         !one.path.empty() && one.path == other.path && one.pattern == other.pattern &&
         one.text.format == other.text.format && one.text.pattern == other.text.pattern &&
         one.table.name == other.table.name;
}

StreamConfig take_stream(const toml::table& table, ConfigErrors& errors) {
  StreamConfig stream;
  ConfigSection section(table, "[[stream]]", errors);
  section.take("name", stream.name, true);
  if (!section.is_told("name") && !is_plain_name(stream.name)) {
    section.wrong_value("name", "1 to 64 letters, digits, _ or -: it is part of file names");
  }
  take_table(section, stream.table);
  const bool has_source = take_source(section, stream);
  take_text_options(section, stream, has_source);
  take_columns(section, stream);
  const toml::node* const named = section.node("table");
  const std::string& time = stream.table.time_column;
  if (named != nullptr && stream.table.is_daily() && stream.is_computed(time)) {
    section.wrong(
        *named, fmt::format("'{}' cannot be computed by the server: the collector reads it in the records to "
                            "tell the day's table. 'time_format' and \"field AS column\" may make it, or "
                            "give the table partition = \"1 day\" instead of {{day}}",
                            time));
  }
  section.take("character_set", stream.character_set);
  if (!is_plain_name(stream.character_set)) {
    section.wrong_value("character_set", "one of the server's, as \"utf8mb4\"");
  }
  section.take("time_zone", stream.time_zone);
  take_times(section, stream);
  section.take("reject_file", stream.reject_file, true);
  if (reads(stream, stream.reject_file)) {
    section.wrong(
        *section.node("reject_file"),
        fmt::format("the reject file '{}' is among what the stream reads, so each rejected record would "
                    "be read and rejected again; put it elsewhere",
                    stream.reject_file));
  }
  section.take("repeatable", stream.is_repeatable);
  section.take("batch_records", stream.batch_records, 1, 60'000);
  section.finish();
  stream.text.longest_row = size_t{8} << 20;
  return stream;
}

SummaryConfig take_summary(const toml::table& table, const std::vector<StreamConfig>& streams,
                           ConfigErrors& errors) {
  SummaryConfig summary;
  ConfigSection section(table, "[[summary]]", errors);
  const auto wrong = [&section](std::string_view key, const std::string& what) {
    if (const toml::node* node = section.node(key)) section.wrong(*node, what);
  };
  section.take("name", summary.name, true);
  if (!section.is_told("name") && !is_plain_name(summary.name)) {
    section.wrong_value("name", "1 to 64 letters, digits, _ or -");
  }
  section.take("stream", summary.stream, true);
  take_table(section, summary.table);
  if (summary.table.is_daily()) wrong("table", "a summary has one table; give it partition = \"1 month\"");
  std::optional<TimeStep> every, delay;
  section.take("every", every, true);
  section.take("delay", delay);
  if (every && !divides_time(*every)) {
    section.wrong_value("every", summary_steps);
  } else if (every) {
    summary.every = *every;
  }
  summary.delay = delay.value_or(default_delay(summary.every));
  section.take("for_each", summary.for_each);
  section.take("select", summary.select, true);
  const bool has_select = !section.is_told("select");
  for (const std::string_view word : {"{table}", "{begin}", "{end}", "{value}"}) {
    const bool is_there = summary.select.find(word) != std::string::npos;
    if (word == "{value}" && summary.for_each.empty()) {
      if (is_there) wrong("select", "'select' has {value}, which needs for_each = \"column\"");
    } else if (!is_there && has_select) {
      wrong("select", fmt::format("'select' must have {}: as WHERE at >= {{begin}} AND at < {{end}}{}", word,
                                  summary.for_each.empty() ? "" : " AND column = {value}"));
    }
  }
  section.finish();
  if (section.is_told("stream")) return summary;
  const auto stream = std::ranges::find(streams, summary.stream, &StreamConfig::name);
  if (stream == streams.end()) {
    std::vector<std::string> names;
    for (const StreamConfig& each : streams) names.push_back(each.name);
    wrong("stream", fmt::format("there is no stream '{}', only: {}", summary.stream, fmt::join(names, ", ")));
    return summary;
  }
  if (stream->table.time_column.empty()) {
    wrong("stream",
          fmt::format("stream '{}' needs time_column = \"…\", the column that tells a record's period",
                      summary.stream));
  }
  if (stream->table.is_daily() && summary.every.unit == TimeStep::Unit::Month) {
    wrong("every", fmt::format("stream '{}' has a table a day, so a period cannot be longer than a day",
                               summary.stream));
  }
  return summary;
}

}  // namespace

std::string TableConfig::name_of(WallTime day) const {
  std::string of_day = name;
  const size_t at = of_day.find(day_placeholder);
  if (at != std::string::npos)
    of_day.replace(at, day_placeholder.size(), compact_text(day, TimeStep::Unit::Day));
  return of_day;
}

bool StreamConfig::is_computed(std::string_view column) const {
  return std::ranges::any_of(computed, [&](const auto& each) { return is_same_name(each.first, column); });
}

std::string StreamConfig::time_format(std::string_view column) const {
  const auto found =
      std::ranges::find_if(times, [&](const auto& each) { return is_same_name(each.first, column); });
  return found == times.end() ? "" : found->second;
}

TimeStep default_delay(const TimeStep& period) {
  if (period.unit == TimeStep::Unit::Minute) return {.count = 1, .unit = TimeStep::Unit::Minute};
  return {.count = 1, .unit = TimeStep::Unit::Hour};
}

const StreamConfig& CollectConfig::stream_of(const SummaryConfig& summary) const {
  return *std::ranges::find(streams, summary.stream, &StreamConfig::name);
}

Result<CollectConfig> CollectConfig::parse(std::string_view text, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::InvalidArgument, fmt::format("{}:{}: this is not valid TOML: {}", name,
                                                        error.source().begin.line, error.description()));
  }
  const toml::table& root = parsed.table();
  CollectConfig config;
  ConfigErrors errors(name);
  ConfigSection top(root, "the file", errors);
  const auto take_section = [&](std::string_view key, const auto& take_keys) {
    top.know(key);
    const toml::node* node = root.get(key);
    if (node == nullptr) return top.wrong(fmt::format("the file lacks the section [{}]", key));
    if (!node->is_table()) return top.wrong_value(key, fmt::format("a section: [{}]", key));
    ConfigSection section(*node->as_table(), fmt::format("[{}]", key), errors);
    take_keys(section);
    section.finish();
  };
  take_section("server", [&](ConfigSection& server) {
    server.take("option_file", config.server.option_file, true);
    server.take("option_group", config.server.option_group);
    server.take("database", config.server.database, true);
  });
  take_section("spool", [&](ConfigSection& spool) {
    spool.take("directory", config.spool.directory, true);
    spool.take_bytes("limit", config.spool.limit_bytes, uint64_t{256} << 20);
  });
  top.know("stream");
  const toml::node* streams = root.get("stream");
  if (streams == nullptr || !streams->is_array_of_tables()) {
    top.wrong("the file has no stream; begin one with the line [[stream]]");
  } else {
    for (const toml::node& node : *streams->as_array()) {
      config.streams.push_back(take_stream(*node.as_table(), errors));
      for (size_t i = 0; i + 1 < config.streams.size(); ++i) {
        const StreamConfig &one = config.streams[i], &other = config.streams.back();
        // Of names that are not given it is told already.
        if (one.name == other.name && !one.name.empty()) {
          top.wrong(node, fmt::format("two streams have the name '{}'", one.name));
        }
        if (is_same_input(one, other)) {
          top.wrong(node,
                    fmt::format("streams '{}' and '{}' both read '{}' into table '{}', which would have each "
                                "record twice; leave one out",
                                one.name, other.name, one.path, one.table.name));
        }
        if (one.source == StreamConfig::Source::StandardInput && one.source == other.source) {
          top.wrong(node, "two streams read standard input; only one can");
        }
        if (one.reject_file == other.reject_file && !one.reject_file.empty()) {
          top.wrong(node,
                    fmt::format("two streams have the reject file '{}'; give each its own", one.reject_file));
        }
      }
    }
  }
  top.know("summary");
  if (const toml::node* summaries = root.get("summary")) {
    if (!summaries->is_array_of_tables()) {
      top.wrong(*summaries, "a summary begins with the line [[summary]]");
    } else {
      for (const toml::node& node : *summaries->as_array()) {
        config.summaries.push_back(take_summary(*node.as_table(), config.streams, errors));
        for (size_t i = 0; i + 1 < config.summaries.size(); ++i) {
          const std::string& one = config.summaries[i].name;
          if (one == config.summaries.back().name && !one.empty()) {
            top.wrong(node, fmt::format("two summaries have the name '{}'", one));
          }
        }
      }
    }
  }
  top.finish();
  HAILSTONE_TRY(errors.status());
  return config;
}

Result<CollectConfig> CollectConfig::read(const std::string& path) {
  HAILSTONE_ASSIGN(const auto file, InputFile::open(path, -1));
  std::string text;
  char piece[4096];
  for (;;) {
    HAILSTONE_ASSIGN(const size_t size, file->read(piece, sizeof piece));
    if (size == 0) return parse(text, path);
    text.append(piece, size);
  }
}

}  // namespace hailstone
