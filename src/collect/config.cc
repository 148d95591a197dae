#include "collect/config.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace hailstone {
namespace {

/// One table of the file: takes its keys one by one, and then tells those that nobody knows. The first error
/// stays.
class Section {
 public:
  Section(const toml::table& table, const std::string& file, std::string name, Status& status)
      : table_(table), file_(file), name_(std::move(name)), status_(status) {}

  void take(std::string_view key, std::string& to, bool required = false) {
    if (const toml::node* node = find(key, required, "a text in quotes")) {
      if (const auto* text = node->as_string()) {
        to = text->get();
        if (required && to.empty()) wrong(*node, fmt::format("'{}' is empty", key));
      } else {
        wrong(*node, fmt::format("'{}' must be a text in quotes", key));
      }
    }
  }
  void take(std::string_view key, bool& to) {
    if (const toml::node* node = find(key, false, "")) {
      if (const auto* flag = node->as_boolean()) {
        to = flag->get();
      } else {
        wrong(*node, fmt::format("'{}' must be true or false", key));
      }
    }
  }
  void take(std::string_view key, uint64_t& to, uint64_t low, uint64_t high) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* number = node->as_integer();
      if (number != nullptr && number->get() >= 0 && static_cast<uint64_t>(number->get()) >= low &&
          static_cast<uint64_t>(number->get()) <= high) {
        to = static_cast<uint64_t>(number->get());
      } else {
        wrong(*node, fmt::format("'{}' must be a whole number from {} to {}", key, low, high));
      }
    }
  }
  /// A text as "512 MiB", "4GiB".
  void take_bytes(std::string_view key, uint64_t& to, uint64_t low) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* text = node->as_string();
      const auto bytes = text != nullptr ? bytes_of(text->get()) : std::nullopt;
      if (bytes && *bytes >= low) {
        to = *bytes;
      } else {
        wrong(*node, fmt::format("'{}' must be a size as \"512 MiB\" or \"4 GiB\", at least {} MiB", key,
                                 low >> 20));
      }
    }
  }
  void take(std::string_view key, std::vector<std::string>& to) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* list = node->as_array();
      if (list == nullptr)
        return wrong(*node, fmt::format("'{}' must be a list of texts: [\"a\", \"b\"]", key));
      for (const toml::node& element : *list) {
        const auto* text = element.as_string();
        if (text == nullptr) return wrong(element, fmt::format("'{}' must hold texts in quotes only", key));
        to.push_back(text->get());
      }
    }
  }
  const toml::table* table(std::string_view key) {
    const toml::node* node = find(key, false, "");
    if (node == nullptr) return nullptr;
    if (const auto* table = node->as_table()) return table;
    wrong(*node, fmt::format("'{}' must be a table: {{ column = \"expression\" }}", key));
    return nullptr;
  }
  const toml::node* node(std::string_view key) const { return table_.get(key); }

  void wrong(const toml::node& node, const std::string& what) { wrong(node.source(), what); }
  void wrong(const std::string& what) { wrong(table_.source(), what); }
  /// Keys that were not taken.
  void finish() {
    for (const auto& [key, value] : table_) {
      if (!known_.contains(key.str())) {
        wrong(key.source(),
              fmt::format("{} has no key '{}'; it knows: {}", name_, key.str(), fmt::join(known_, ", ")));
      }
    }
  }
  void know(std::string_view key) { known_.emplace(key); }

 private:
  const toml::node* find(std::string_view key, bool required, std::string_view kind) {
    known_.emplace(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && required) {
      wrong(fmt::format("{} lacks the key '{}'; give it {}: {} = \"…\"", name_, key, kind, key));
    }
    return node;
  }
  void wrong(const toml::source_region& where, const std::string& what) {
    if (!status_) return;
    status_ = fail(ErrorCode::InvalidArgument,
                   fmt::format("{}:{}: {}", file_, std::max<uint32_t>(1, where.begin.line), what));
  }
  static std::optional<uint64_t> bytes_of(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    for (const auto& [unit, shift] : {std::pair("MiB", 20), std::pair("GiB", 30), std::pair("TiB", 40)}) {
      if (text == unit && number < uint64_t{1} << 20) return number << shift;
    }
    return std::nullopt;
  }

  const toml::table& table_;
  const std::string& file_;
  const std::string name_;
  Status& status_;
  std::set<std::string, std::less<>> known_;
};

/// Texts that become parts of names of files and keys.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

void take_text_options(Section& section, StreamConfig& stream) {
  std::string format, delimiter = ",", null_text;
  section.take("format", format);
  section.take("header", stream.text.has_header);
  section.take("delimiter", delimiter);
  section.take("null", null_text);
  const auto known =
      format.empty()
          ? format_of_path(stream.source == StreamConfig::Source::Directory ? stream.pattern : stream.path)
          : format_of_name(format);
  if (!known) {
    const toml::node* node = section.node("format");
    const std::string what = "the format must be given: format = \"csv\", \"tsv\" or \"jsonl\"";
    return node != nullptr ? section.wrong(*node, what) : section.wrong(what);
  }
  stream.text.format = *known;
  if (const toml::node* node = section.node("delimiter")) {
    if (const std::string what = check_delimiter(delimiter); !what.empty()) return section.wrong(*node, what);
    stream.text.delimiter = delimiter[0];
  }
  if (const toml::node* node = section.node("null")) {
    stream.text.null_text = null_text;
    if (!check_text_options(stream.text)) {
      return section.wrong(*node,
                           "'null' cannot stand for NULL: it holds a delimiter, a quote or a line end");
    }
  }
}

void take_source(Section& section, StreamConfig& stream) {
  bool standard_input = false;
  std::string file, directory;
  section.take("stdin", standard_input);
  section.take("file", file);
  section.take("directory", directory);
  section.take("pattern", stream.pattern);
  const int sources = (standard_input ? 1 : 0) + (file.empty() ? 0 : 1) + (directory.empty() ? 0 : 1);
  if (sources != 1) {
    return section.wrong(fmt::format(
        "stream '{}' needs one source: stdin = true, file = \"…\" or directory = \"…\"", stream.name));
  }
  if (const toml::node* node = section.node("pattern"); node != nullptr && directory.empty()) {
    return section.wrong(*node, "'pattern' is for a stream with a directory");
  }
  stream.source = standard_input  ? StreamConfig::Source::StandardInput
                  : !file.empty() ? StreamConfig::Source::File
                                  : StreamConfig::Source::Directory;
  stream.path = file.empty() ? directory : file;
}

void take_columns(Section& section, StreamConfig& stream) {
  section.take("columns", stream.columns);
  if (stream.columns.empty() && (stream.text.format == TextFormat::JsonLines || !stream.text.has_header)) {
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
  if (!stream.columns.empty() && seen.empty())
    section.wrong(*section.node("columns"), "'columns' names no column");
  const toml::table* computed = section.table("computed");
  if (computed == nullptr) return;
  for (const auto& [column, expression] : *computed) {
    const auto* text = expression.as_string();
    if (text == nullptr || text->get().empty()) {
      section.wrong(expression,
                    fmt::format("'computed.{}' must be an SQL expression in quotes", column.str()));
    } else {
      stream.computed.emplace_back(column.str(), text->get());
    }
  }
}

StreamConfig take_stream(const toml::table& table, const std::string& file, Status& status) {
  StreamConfig stream;
  Section section(table, file, "[[stream]]", status);
  section.take("name", stream.name, true);
  if (const toml::node* node = section.node("name"); node != nullptr && !is_plain_name(stream.name)) {
    section.wrong(*node, "'name' must be 1 to 64 letters, digits, _ or -: it is part of file names");
  }
  section.take("table", stream.table, true);
  take_source(section, stream);
  take_text_options(section, stream);
  take_columns(section, stream);
  section.take("character_set", stream.character_set);
  if (!is_plain_name(stream.character_set)) {
    section.wrong(*section.node("character_set"),
                  "'character_set' must be one of the server's, as \"utf8mb4\"");
  }
  section.take("time_zone", stream.time_zone);
  section.take("reject_file", stream.reject_file, true);
  section.take("batch_records", stream.batch_records, 1, 60'000);
  section.finish();
  stream.text.longest_row = size_t{8} << 20;
  return stream;
}

}  // namespace

Result<CollectConfig> CollectConfig::parse(std::string_view text, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::InvalidArgument, fmt::format("{}:{}: this is no TOML: {}", name,
                                                        error.source().begin.line, error.description()));
  }
  const toml::table& root = parsed.table();
  CollectConfig config;
  Status status;
  Section top(root, name, "the file", status);
  static const toml::table empty;
  const auto section_of = [&](std::string_view key) -> const toml::table& {
    top.know(key);
    const toml::node* node = root.get(key);
    if (node == nullptr) top.wrong(fmt::format("the file lacks the section [{}]", key));
    if (node != nullptr && !node->is_table())
      top.wrong(*node, fmt::format("'{}' must be a section: [{}]", key, key));
    return node != nullptr && node->is_table() ? *node->as_table() : empty;
  };
  Section server(section_of("server"), name, "[server]", status);
  server.take("option_file", config.server.option_file, true);
  server.take("option_group", config.server.option_group);
  server.take("database", config.server.database, true);
  server.finish();
  Section spool(section_of("spool"), name, "[spool]", status);
  spool.take("directory", config.spool.directory, true);
  spool.take_bytes("limit", config.spool.limit_bytes, uint64_t{256} << 20);
  spool.finish();
  top.know("stream");
  const toml::node* streams = root.get("stream");
  if (streams == nullptr || !streams->is_array_of_tables()) {
    top.wrong("the file has no stream; begin one with the line [[stream]]");
  } else {
    for (const toml::node& node : *streams->as_array()) {
      config.streams.push_back(take_stream(*node.as_table(), name, status));
      for (size_t i = 0; i + 1 < config.streams.size(); ++i) {
        const StreamConfig &one = config.streams[i], &other = config.streams.back();
        if (one.name == other.name) top.wrong(node, fmt::format("two streams have the name '{}'", one.name));
        if (one.source == StreamConfig::Source::StandardInput && one.source == other.source) {
          top.wrong(node, "two streams read standard input; only one can");
        }
        if (one.reject_file == other.reject_file) {
          top.wrong(node,
                    fmt::format("two streams have the reject file '{}'; give each its own", one.reject_file));
        }
      }
    }
  }
  top.finish();
  HAILSTONE_TRY(status);
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
