#include "database/table_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "base/version.h"

namespace hailstone {

namespace {

constexpr uint32_t format_version = 1;
/// Of ten million tables.
constexpr uint64_t most_bytes = uint64_t{1} << 30;
constexpr std::string_view heading =
    "# Tables of the engine HAILSTONE in this database. Their rows are in the folder '#hailstone' beside it, "
    "which mariadb-backup does not copy. More is in docs/backup.md of Hailstone.\n";
constexpr std::string_view version_word = "hailstone-tables ";
constexpr std::string_view database_word = "database ";
constexpr std::string_view defined_word = "defined ";
constexpr std::string_view missing_word = "missing ";
constexpr std::string_view table_word = "table ";
constexpr std::string_view checksum_word = "checksum ";

bool needs_escape(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code < 0x20 || code == 0x7f || byte == '\\';
}

void append_names(std::string& text, std::string_view word, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    text += word;
    for (const char byte : name) {
      if (needs_escape(byte)) {
        fmt::format_to(std::back_inserter(text), "\\{:02x}", static_cast<unsigned char>(byte));
      } else {
        text += byte;
      }
    }
    text += '\n';
  }
}

/// Digits as to_text() writes them, and nothing else.
template <typename Number>
bool parse_number(std::string_view digits, int base, Number& number) {
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
}
bool parse_hexadecimal(std::string_view digits, uint64_t& number) {
  return digits.size() == 16 && parse_number(digits, 16, number);
}

bool unescape(std::string_view escaped, std::string& name) {
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      name += escaped[i];
      continue;
    }
    uint8_t byte = 0;
    if (escaped.size() - i < 3 || !parse_number(escaped.substr(i + 1, 2), 16, byte)) return false;
    name += static_cast<char>(byte);
    i += 2;
  }
  return !name.empty();
}

/// Goes through the lines of a list. A line that is not as asked for is not taken.
class Lines {
 public:
  Lines(ByteView text, const std::string& path) : text_(text), path_(path) {}

  bool next_begins_with(std::string_view word) const { return text_.substr(begin_).starts_with(word); }
  size_t begin() const { return begin_; }
  bool at_end() const { return begin_ == text_.size(); }

  /// What is behind `word` in the next line.
  bool take(std::string_view word, std::string_view& rest) {
    if (!next_begins_with(word)) return false;
    const size_t end = text_.find('\n', begin_);
    if (end == ByteView::npos) return false;
    rest = text_.substr(begin_ + word.size(), end - begin_ - word.size());
    begin_ = end + 1;
    return true;
  }
  bool take_names(std::string_view word, std::vector<std::string>& names) {
    while (next_begins_with(word)) {
      std::string_view escaped;
      std::string name;
      if (!take(word, escaped) || !unescape(escaped, name)) return false;
      if (!names.empty() && names.back() >= name) return false;
      names.push_back(std::move(name));
    }
    return true;
  }
  std::unexpected<Error> damage() const {
    return fail(ErrorCode::Corruption,
                fmt::format("the list of tables '{}' is damaged at offset {}; remove it, and it is written "
                            "again with the tables that the engine has",
                            path_, begin_));
  }

 private:
  const ByteView text_;
  const std::string& path_;
  size_t begin_ = 0;
};

/// Has an extension that is not copied by mariadb-backup and that DROP DATABASE removes.
std::string unfinished_path(const std::string& path) { return path.substr(0, path.rfind('.')) + ".BAK"; }

Status write_table_list(Filesystem& filesystem, const std::string& path, const TableList& list) {
  const std::string unfinished = unfinished_path(path);
  HAILSTONE_ASSIGN(const auto file, filesystem.create_whole(unfinished));
  const auto written = [&]() -> Status {
    HAILSTONE_TRY(file->append(to_text(list)));
    HAILSTONE_TRY(file->sync());
    HAILSTONE_TRY(file->close());
    // The folder is not synced: after a power failure the old list is as good.
    return filesystem.rename(unfinished, path);
  }();
  if (!written) (void)filesystem.remove(unfinished);  // a left-over is in nobody's way
  return written;
}

std::vector<std::string> without(const std::vector<std::string>& names,
                                 std::span<const std::string> present) {
  std::vector<std::string> rest;
  std::ranges::set_difference(names, present, std::back_inserter(rest));
  return rest;
}

}  // namespace

std::string to_text(const TableList& list) {
  std::string text(heading);
  fmt::format_to(std::back_inserter(text), "{}{}\n", version_word, format_version);
  fmt::format_to(std::back_inserter(text), "{}{:016x}\n", database_word, list.database);
  fmt::format_to(std::back_inserter(text), "{}{}\n", defined_word, list.defined);
  append_names(text, missing_word, list.missing);
  append_names(text, table_word, list.tables);
  const uint64_t sum = checksum(text);
  fmt::format_to(std::back_inserter(text), "{}{:016x}\n", checksum_word, sum);
  return text;
}

Result<TableList> parse_table_list(ByteView text, const std::string& path) {
  Lines lines(text, path);
  std::string_view rest;
  (void)lines.take("#", rest);  // later releases may say it in other words
  uint32_t version = 0;
  if (!lines.take(version_word, rest) || !parse_number(rest, 10, version) || version == 0)
    return lines.damage();
  if (version != format_version) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the list of tables '{}' {}", path, unknown_format(version)));
  }
  TableList list;
  if (!lines.take(database_word, rest) || !parse_hexadecimal(rest, list.database)) return lines.damage();
  if (!lines.take(defined_word, rest) || !parse_number(rest, 10, list.defined)) return lines.damage();
  if (!lines.take_names(missing_word, list.missing) || !lines.take_names(table_word, list.tables))
    return lines.damage();
  const ByteView checked = text.substr(0, lines.begin());
  uint64_t sum = 0;
  if (!lines.take(checksum_word, rest) || !parse_hexadecimal(rest, sum) || sum != checksum(checked) ||
      !lines.at_end())
    return lines.damage();
  return list;
}

Result<std::optional<TableList>> read_table_list(Filesystem& filesystem, const std::string& path) {
  if (!filesystem.exists(path)) return std::nullopt;
  HAILSTONE_ASSIGN(const auto file, filesystem.open_plain(path));
  HAILSTONE_ASSIGN(const uint64_t size, file->size());
  if (size > most_bytes) {
    return fail(ErrorCode::Corruption,
                fmt::format("the list of tables '{}' has {} bytes, which none has; remove it", path, size));
  }
  std::string text(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY(file->read_at(0, text.size(), text.data()));
  HAILSTONE_ASSIGN(auto list, parse_table_list(text, path));
  return list;
}

ListOrigin origin_of(const TableList& list, const TablesInEngine& engine) {
  if (std::ranges::find(engine.databases, list.database) == engine.databases.end())
    return ListOrigin::Foreign;
  return list.defined > engine.last_committed ? ListOrigin::Later : ListOrigin::Same;
}

std::vector<std::string> missing_tables(const TableList& list, ListOrigin origin,
                                        std::span<const std::string> present) {
  if (origin == ListOrigin::Same) return without(list.missing, present);
  std::vector<std::string> all;
  std::ranges::set_union(list.missing, list.tables, std::back_inserter(all));
  return without(all, present);
}

Result<std::vector<std::string>> update_table_list(Filesystem& filesystem, const std::string& path,
                                                   const TablesInEngine& engine, Timestamp defined,
                                                   std::vector<std::string> present) {
  HAILSTONE_CHECK(!engine.databases.empty());
  HAILSTONE_CHECK(std::ranges::is_sorted(present));
  auto found = read_table_list(filesystem, path);
  const bool is_damaged = !found && found.error().code() == ErrorCode::Corruption;
  if (!found && (!is_damaged || present.empty())) return std::unexpected(std::move(found).error());
  std::vector<std::string> missing;
  if (found && *found) missing = missing_tables(**found, origin_of(**found, engine), present);
  const TableList wanted{.database = engine.databases.back(),
                         .defined = defined,
                         .missing = missing,
                         .tables = std::move(present)};
  if (wanted.tables.empty() && wanted.missing.empty()) {
    if (found && *found) HAILSTONE_TRY(filesystem.remove(path));
  } else if (!found || *found != wanted) {
    HAILSTONE_TRY(write_table_list(filesystem, path, wanted));
  }
  return missing;
}

}  // namespace hailstone
