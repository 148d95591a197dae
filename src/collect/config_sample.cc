#include "collect/config_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "collect/config.h"
#include "collect/server_connection.h"
#include "text/pattern_lines.h"
#include "text/type_guess.h"

namespace hailstone {
namespace {

struct Column {
  std::string name;
  TypeGuess guess;
  std::string type{};  // of SQL, where nothing is guessed
  size_t longest = 0;  // bytes of a value
  bool has_null = false;
  bool has_fraction = false;  // of a second
  bool has_zone = false;      // which the server does not take
  uint64_t rows = 0;          // that have it

  void add(const Field& field) {
    ++rows;
    guess.add(field);
    has_null = has_null || field.kind == Field::Kind::Null;
    longest = std::max(longest, field.text.size());
    has_fraction = has_fraction || field.text.find('.') != std::string_view::npos;
    has_zone =
        has_zone || field.text.ends_with('Z') || field.text.find_first_of("+-", 10) != std::string_view::npos;
  }
  bool is_time() const {
    if (!type.empty()) return name == combined_time;
    return guess.type() == HS_DATE || (guess.type() == HS_TIMESTAMP && !has_zone);
  }
};

/// Columns of an access log: with room for what clients may send, within what a row may have.
constexpr std::pair<std::string_view, std::string_view> combined_columns[] = {
    {combined_time, "DATETIME"},  {"host", "VARCHAR(255)"},     {"user", "VARCHAR(255)"},
    {"method", "VARCHAR(20)"},    {"path", "VARCHAR(4000)"},    {"status", "SMALLINT UNSIGNED"},
    {"bytes", "BIGINT UNSIGNED"}, {"referer", "VARCHAR(4000)"}, {"agent", "VARCHAR(4000)"}};

/// Characters of a VARCHAR with room for values four times as long as those that were seen; nothing: too
/// long.
std::optional<size_t> room_for(size_t longest) {
  for (const size_t size : {255U, 1000U, 4000U}) {
    if (4 * longest <= size) return size;
  }
  return std::nullopt;
}

/// Whether all texts together, of 4 bytes a character, are more than the server's 65,535 bytes of a row.
bool are_wide(const std::vector<Column>& columns) {
  constexpr size_t bytes_for_texts = 60'000;
  size_t bytes = 0;
  for (const Column& column : columns) bytes += 4 * room_for(column.longest).value_or(0);
  return bytes > bytes_for_texts;
}

std::string text_type(size_t longest, bool is_wide) {
  const auto room = room_for(longest);
  if (!room) return "LONGTEXT";
  return is_wide ? "TEXT" : fmt::format("VARCHAR({})", *room);
}

std::string sql_type(const Column& column, bool is_wide) {
  if (!column.type.empty()) return column.type;
  if (column.guess.is_boolean()) return "BOOLEAN";
  switch (column.guess.type()) {
    case HS_INT64:
      return "BIGINT";
    case HS_UINT64:
      return "BIGINT UNSIGNED";
    case HS_DOUBLE:
      return "DOUBLE";
    case HS_DATE:
      return "DATE";
    case HS_TIMESTAMP:
      if (column.has_zone) break;
      return column.has_fraction ? "DATETIME(6)" : "DATETIME";
    default:
      break;
  }
  return text_type(column.longest, is_wide);
}

/// `text` within the quotes of a TOML text, of one line or of several.
std::string toml_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      escaped += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string_view format_name(TextFormat format) {
  switch (format) {
    case TextFormat::Csv:
      return "csv";
    case TextFormat::Tsv:
      return "tsv";
    case TextFormat::JsonLines:
      return "jsonl";
    case TextFormat::Combined:
      return "combined";
    case TextFormat::Regex:
      return "regex";
  }
  std::unreachable();
}

/// Letters, digits and _ of the file's name up to its first dot.
std::string name_of(const std::string& file) {
  std::string name;
  for (const char c : std::filesystem::path(file).filename().string()) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (c == '.') break;
    name += is_plain ? c : '_';
  }
  return name.empty() || name.size() > 60 ? "records" : name;
}

/// Tells the sample its delimiter, too.
Result<std::vector<Column>> columns_of(ConfigSample& sample) {
  HAILSTONE_ASSIGN(const auto rows, open_rows(sample.file, sample.text, sample.columns, -1));
  sample.text.delimiter = rows->delimiter().value_or(sample.text.delimiter);
  std::vector<Column> columns;
  const auto take_names = [&] {
    while (columns.size() < rows->names().size())
      columns.push_back({.name = rows->names()[columns.size()], .guess = {}});
  };
  take_names();
  uint64_t count = 0;
  while (count < sample.rows) {
    HAILSTONE_ASSIGN(const bool found, rows->next());
    if (!found) break;
    ++count;
    take_names();
    const auto fields = rows->fields();
    for (size_t i = 0; i < fields.size(); ++i) columns[i].add(fields[i]);
  }
  if (count == 0) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("'{}' has no rows to guess types from; give a file with some", sample.file));
  }
  if (sample.text.format == TextFormat::Combined) {
    columns.clear();
    for (const auto& [name, type] : combined_columns) {
      columns.push_back({.name = std::string(name), .guess = {}, .type = std::string(type), .rows = count});
    }
  }
  // Of JSON lines a key may be missing.
  for (Column& column : columns) column.has_null = column.has_null || column.rows < count;
  return columns;
}

}  // namespace

Result<TextFormat> format_of_rows(const std::string& file) {
  for (const TextFormat format : {TextFormat::Combined, TextFormat::JsonLines}) {
    TextOptions options{.format = format, .null_text = {}};
    options.longest_row = size_t{8} << 20;
    HAILSTONE_ASSIGN(const auto rows, open_rows(file, options, {}, -1));
    const auto found = rows->next();
    if (found && *found) return format;
    if (!found && found.error().code() != ErrorCode::InvalidArgument) return std::unexpected(found.error());
  }
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format("neither the name '{}' nor its first line says the format; --format does: csv, tsv, jsonl "
                  "or combined",
                  file));
}

Result<std::string> configuration_from(ConfigSample sample) {
  HAILSTONE_ASSIGN(const auto columns, columns_of(sample));
  std::error_code ignored;
  std::string path = std::filesystem::absolute(sample.file, ignored).lexically_normal().string();
  if (path.empty()) path = sample.file;
  const std::string name = name_of(sample.file);
  const auto time = std::ranges::find_if(
      columns, [](const Column& column) { return column.is_time() && !column.has_null; });

  const bool is_wide = are_wide(columns);
  std::string names, definition;
  for (const Column& column : columns) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", toml_text(column.name));
    const bool is_needed = time != columns.end() && &column == &*time;
    definition +=
        fmt::format("{}  {} {}{}", definition.empty() ? "" : ",\n", toml_text(quoted_identifier(column.name)),
                    sql_type(column, is_wide), is_needed ? " NOT NULL" : "");
  }

  std::string text = fmt::format(
      R"toml(# hailstone collect: records of a file into a table, each exactly once. What each key means is in docs/collect.md.
# Look through it, then:
#   hailstone collect check THIS-FILE
#   hailstone collect run THIS-FILE

[server]
# An option file of MariaDB's clients with host or socket, user and password, which only the collector may read.
option_file = "/etc/hailstone/collect.cnf"
database = "hailstone"

[spool]
# Records wait here while the server is away.
directory = "/var/spool/hailstone"
limit = "4 GiB"

[[stream]]
name = "{0}"
table = "{0}"
# A growing file, which may be rotated by renaming. For complete files: directory = "…" and pattern = "*.csv".
file = "{1}"
format = "{2}"
)toml",
      name, toml_text(path), format_name(sample.text.format));
  if (names_its_fields(sample.text.format)) {
    text += sample.text.format == TextFormat::JsonLines ? "# The keys that are wanted.\n"
                                                        : "# The fields that are wanted.\n";
    text += fmt::format("columns = [{}]\n", names);
  } else if (!sample.text.has_header) {
    text += "header = false\n# The table's columns for the fields; \"-\": for none.\n";
    text += fmt::format("columns = [{}]\n", names);
  }
  if (sample.text.format == TextFormat::Csv && sample.text.delimiter != ',') {
    text += fmt::format("delimiter = \"{}\"\n", toml_text(std::string_view(&sample.text.delimiter, 1)));
  }
  if (sample.text.null_text) text += fmt::format("null = \"{}\"\n", toml_text(*sample.text.null_text));
  const bool has_moments = sample.text.format == TextFormat::Combined;
  if (has_moments) text += "# The table has its times in this zone.\ntime_zone = \"+00:00\"\n";
  text += R"toml(# Columns that are SQL expressions of the others.
# computed = { day = "DATE(at)" }
)toml";
  if (!has_moments) {
    text += R"toml(# Of the connection: what times are in, and when midnight is. Default: the server's.
# time_zone = "Europe/Berlin"
# Where times are not written as 2026-11-24 10:00:00: letters of strptime, "unix", "unix_ms".
# time_format = "%d.%m.%Y %H:%M:%S"
)toml";
  }
  text += "# Records that the table cannot take as they are.\n";
  text += fmt::format("reject_file = \"/var/spool/hailstone/{}.rejects\"\n", name);
  text +=
      "\n# The table is made when it is not there. The types are guessed: look at them, and give it a key.\n";
  text += fmt::format("create = \"\"\"(\n{}\n) ENGINE=HAILSTONE\"\"\"\n", definition);
  text +=
      "# Partitions are made ahead, and dropped when all their rows are older than 'keep'; without it "
      "never.\n";
  const bool has_time = time != columns.end();
  text += fmt::format("{0}time_column = \"{1}\"\n{0}partition = \"1 day\"\n# keep = \"90 days\"\n",
                      has_time ? "" : "# ", has_time ? toml_text(time->name) : "at");
  text += fmt::format(R"toml(
# What is computed of each day once it is over; its rows are stored in a table of their own.
# [[summary]]
# name = "{0}_by_day"
# stream = "{0}"
# table = "{0}_by_day"
# create = "(day DATE NOT NULL PRIMARY KEY, records BIGINT NOT NULL) ENGINE=HAILSTONE"
# every = "1 day"
# select = "SELECT DATE({{begin}}) AS day, COUNT(*) AS records FROM {{table}} WHERE {1} >= {{begin}} AND {1} < {{end}}"
)toml",
                      name, has_time ? toml_text(quoted_identifier(time->name)) : "at");
  return text;
}

}  // namespace hailstone
