#include "text/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "file/io_error.h"
#include "text/pattern_lines.h"
#include "text/plain_input.h"
#include "text/value_text.h"

namespace hailstone {

std::optional<TextFormat> format_of_name(std::string_view name) {
  if (name == "csv") return TextFormat::Csv;
  if (name == "tsv") return TextFormat::Tsv;
  if (name == "jsonl") return TextFormat::JsonLines;
  if (name == "combined") return TextFormat::Combined;
  if (name == "regex") return TextFormat::Regex;
  return std::nullopt;
}

bool names_its_fields(TextFormat format) { return format != TextFormat::Csv && format != TextFormat::Tsv; }

namespace {

/// Behind the last dot, in small letters; empty: there is none.
std::string end_of_path(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] == '/') return {};
  std::string end(path.substr(dot + 1));
  std::ranges::transform(end, end.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end;
}

}  // namespace

bool is_columnar_path(std::string_view path) {
  const std::string end = end_of_path(path);
  return end == "parquet" || end == "parq" || end == "arrow" || end == "feather";
}

std::optional<TextFormat> format_of_path(std::string_view path) {
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (path.ends_with(compressed)) {
      path.remove_suffix(compressed.size());
      break;
    }
  }
  const std::string end = end_of_path(path);
  if (end == "tab") return TextFormat::Tsv;
  if (end == "ndjson") return TextFormat::JsonLines;
  const auto format = format_of_name(end);
  return format == TextFormat::Combined || format == TextFormat::Regex ? std::nullopt : format;
}

std::string check_delimiter(const std::string& text) {
  if (text == "\\t" || (text.size() == 1 && text != "\"" && text != "\n" && text != "\r")) return {};
  return "the delimiter is one character (one byte), or \\t, and no quote or line end";
}

char delimiter_of(const std::string& text) { return text == "\\t" ? '\t' : text[0]; }

Status check_text_options(const TextOptions& options) {
  if (names_its_fields(options.format) || !options.null_text) return {};
  const bool csv = options.format == TextFormat::Csv;
  const std::string wrong = csv ? std::string("\"\r\n") + options.delimiter : "\t\r\n";
  if (options.null_text->find_first_of(wrong) == std::string::npos) return {};
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format("--null '{}' cannot stand for NULL: in a {} file it may hold no {} and no line end",
                  printable(*options.null_text), csv ? "CSV" : "TSV", csv ? "delimiter, no quote" : "tab"));
}

Result<std::unique_ptr<InputFile>> InputFile::open(const std::string& path, int interrupt_descriptor) {
  std::unique_ptr<InputFile> file(new InputFile);
  file->interrupt_descriptor_ = interrupt_descriptor;
  file->name_ = path == "-" ? "(standard input)" : path;
  file->descriptor_ = path == "-"
                          ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          // A pipe without a writer is waited for in read(), which can be interrupted.
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat attributes;
  if (file->descriptor_ < 0 || fstat(file->descriptor_, &attributes) != 0) {
    return std::unexpected(io_error("open", file->name_, errno));
  }
  if (S_ISDIR(attributes.st_mode)) return std::unexpected(io_error("read", file->name_, EISDIR));
  if (S_ISREG(attributes.st_mode)) file->size_ = static_cast<uint64_t>(attributes.st_size);
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<size_t> InputFile::read(char* to, size_t size) {
  for (;;) {
    pollfd waits[2] = {{.fd = descriptor_, .events = POLLIN, .revents = 0},
                       {.fd = interrupt_descriptor_, .events = POLLIN, .revents = 0}};
    if (poll(waits, interrupt_descriptor_ >= 0 ? 2 : 1, -1) < 0 && errno != EINTR) {
      return std::unexpected(io_error("wait for", name_, errno));
    }
    if (waits[1].revents != 0) return fail(ErrorCode::Interrupted, "interrupted");
    const ssize_t now = ::read(descriptor_, to, size);
    if (now >= 0) return static_cast<size_t>(now);
    if (errno != EINTR && errno != EAGAIN) return std::unexpected(io_error("read", name_, errno));
  }
}

InputWindow::InputWindow(std::unique_ptr<Input> input)
    : input_(std::move(input)), buffer_((size_t{1} << 20) + padding) {}

Result<bool> InputWindow::more() {
  if (ended_) return false;
  if (first_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + first_, size());
    last_ -= first_;
    first_ = 0;
  }
  if (last_ + padding >= buffer_.size()) buffer_.resize(buffer_.size() * 2);
  HAILSTONE_ASSIGN(const size_t now, input_->read(buffer_.data() + last_, buffer_.size() - padding - last_));
  last_ += now;
  bytes_read_ += now;
  ended_ = now == 0;
  return !ended_;
}

std::unexpected<Error> TextRows::wrong(uint64_t line, std::string_view what) const {
  return fail(ErrorCode::InvalidArgument, fmt::format("{}:{}: {}", input().name(), line, what));
}

std::unexpected<Error> TextRows::wrong_row(std::string_view text, uint64_t line, std::string_view what) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  wrong_row_ = text;
  reason_ = what;
  return wrong(line, what);
}

namespace {

/// What CSV and TSV have in common: a record is found in the window, then its fields are unescaped in place.
class LineReader : public TextRows {
 public:
  LineReader(std::unique_ptr<Input> input, const TextOptions& options, std::vector<std::string> names)
      : TextRows(std::move(input), options) {
    names_ = std::move(names);
  }

  Status start(const TextOptions& options) {
    if (!options.is_rest) HAILSTONE_TRY(skip_byte_order_mark());
    if (!options.has_header) return {};
    HAILSTONE_TRY(check_kind());
    if (options.finds_delimiter) HAILSTONE_TRY(find_delimiter());
    in_header_ = true;
    HAILSTONE_ASSIGN(const bool found, next_record());
    in_header_ = false;
    if (!found) return wrong(1, "the file is empty where a header with the names of the columns should be");
    names_.clear();
    for (size_t i = 0; i < fields_.size(); ++i) {
      const std::string name(fields_[i].text);
      const bool is_blank = name.find_first_not_of(" \t\r") == std::string::npos;
      if (is_blank && fields_.size() == 1 && !name.empty()) {
        return wrong(row_line_, "only spaces are where a header with the names of the columns should be");
      }
      if (is_blank) return wrong(row_line_, fmt::format("column {} has no name", i + 1));
      HAILSTONE_TRY(check_name(name, i));
      if (std::ranges::find(names_, name) != names_.end()) {
        return wrong(row_line_, fmt::format("two columns have the name '{}'", name));
      }
      names_.push_back(name);
    }
    return {};
  }

  Result<bool> next() override { return next_record(); }

 protected:
  enum class Found : uint8_t { Record, Incomplete };
  /// Finds the record at the window's beginning: its fields go to raw_, its length with the line's end to
  /// `bytes`, its line ends to `lines`. `all`: nothing follows the window. An error is that of a row, which
  /// ends with its line.
  virtual Result<Found> find(std::string_view window, bool all, size_t& bytes, uint64_t& lines) = 0;
  /// Takes quotes or escapes away, in place, and tells NULL.
  virtual Field finish(char* text, size_t size, bool marked) = 0;
  /// As ends_with_return(). Names of columns end in no carriage return, and a header may come from elsewhere
  /// than the rows.
  bool has_crlf(bool has_return) { return in_header_ ? has_return : ends_with_return(has_return); }
  /// Of a last line without an end: whether it has the first half of one.
  bool has_half_an_end(std::string_view line) const {
    return line_end_ == LineEnd::CrLf && line.ends_with('\r');
  }
  /// Of the header, which is about to be read.
  virtual Status find_delimiter() { return {}; }

  struct Raw {
    size_t begin, size;
    bool marked;  // there is something to take away
  };
  std::vector<Raw> raw_;
  uint64_t next_line_ = 1;
  bool in_header_ = false;      // where nothing is NULL
  std::string reason_of_find_;  // why find() failed

 private:
  /// Files that are easily taken for text ones, by their first bytes.
  Status check_kind() {
    // A header and its end are no fewer, so that nothing which could be read waits for them.
    while (window_.size() < 2) {
      HAILSTONE_ASSIGN(const bool more, window_.more());
      if (!more) break;
    }
    const std::string_view begin(window_.begin(), window_.size());
    if (const auto compression = compression_of(begin); !compression.empty()) {
      return wrong(1, fmt::format("the file is compressed by {}; give it by a pipe: {} FILE | hailstone …",
                                  compression, decompressor_of(compression)));
    }
    const bool has_null = begin.substr(0, 2).find('\0') != std::string_view::npos;
    if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff") || has_null) {
      return wrong(1, "the file is UTF-16, or no text; convert it: iconv -f UTF-16 -t UTF-8 FILE");
    }
    if (begin.starts_with("{\"") || begin.starts_with("[{")) {
      return wrong(1, "the header with the names of the columns is JSON; say so by the format jsonl");
    }
    return {};
  }

  /// Of the column at `place`. Within quotes or by escapes a name may hold all characters.
  Status check_name(std::string_view name, size_t place) const {
    const auto is_control = [](char character) {
      return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
    };
    std::string_view why;
    if (name.size() > longest_name) {
      why = "is longer than 1,024 bytes; is the line a header?";
    } else if (!is_utf8(name)) {
      why = "is not UTF-8; convert the file (iconv), or is it compressed, or no text?";
    } else if (name.find('\0') != std::string_view::npos) {
      why = "holds a NUL, which no name of a column can; is the file UTF-16, or no text?";
    } else if (raw_[place].marked || std::ranges::none_of(name, is_control)) {
      return {};
    } else if (name.find('\r') != std::string_view::npos) {
      why = "holds a carriage return. If the file's lines end so, convert it: tr '\\r' '\\n' < FILE";
    } else {
      why = "holds a control character; is the file UTF-16, or compressed, or no text?";
    }
    return wrong(row_line_, fmt::format("the name of column {}, '{}', {}", place + 1, beginning(name), why));
  }

  Status skip_byte_order_mark() {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    // More is waited for only while it may bring the mark's rest: a file that grows may stay as it is for
    // long.
    while (window_.size() < mark.size() &&
           mark.starts_with(std::string_view(window_.begin(), window_.size()))) {
      HAILSTONE_ASSIGN(const bool more, window_.more());
      if (!more) break;
    }
    if (std::string_view(window_.begin(), window_.size()).starts_with(mark)) window_.skip(mark.size());
    return {};
  }

  Result<bool> next_record() {
    for (;;) {
      row_line_ = next_line_;
      size_t bytes = 0;
      uint64_t lines = 0;
      for (;;) {
        if (window_.size() == 0 && window_.at_end()) return false;
        if (window_.size() > 0) {
          const auto found = find({window_.begin(), window_.size()}, window_.at_end(), bytes, lines);
          if (!found) return pass_line(reason_of_find_);
          if (*found == Found::Record) break;
        }
        if (window_.size() > longest_row_) return pass_line(too_long());
        HAILSTONE_TRY(window_.more());
      }
      if (bytes > longest_row_) return pass_line(too_long());
      const bool blank = raw_.size() == 1 && raw_[0].size == 0 && !raw_[0].marked;
      const bool passed_over = blank && names_.size() != 1;  // in a file of one column an empty line is a row
      const std::string_view record(window_.begin(), bytes);
      if (!in_header_ && !passed_over && raw_.size() != names_.size()) {
        const auto error = wrong_row(
            record, row_line_,
            fmt::format(
                "the line has {} fields where {} were expected{}", raw_.size(), names_.size(),
                holds_return(record)
                    ? "; if the file's lines end in carriage returns, convert it: tr '\\r' '\\n' < FILE"
                    : ""));
        pass(bytes, lines);
        return error;
      }
      // The window does not move before the next call, so the fields may lie in it.
      fields_.clear();
      for (const Raw& raw : raw_) {
        fields_.push_back(finish(window_.begin() + raw.begin, raw.size, raw.marked));
      }
      pass(bytes, lines);
      if (!passed_over) return true;
    }
  }

  /// In a field without quotes or escapes.
  bool holds_return(std::string_view record) const {
    return std::ranges::any_of(raw_, [&](const Raw& raw) {
      return !raw.marked && record.substr(raw.begin, raw.size).find('\r') != std::string_view::npos;
    });
  }

  std::string too_long() const {
    return fmt::format("the row that begins here is longer than {} bytes; is a quote not closed?",
                       longest_row_);
  }

  void pass(size_t bytes, uint64_t lines) {
    window_.skip(bytes);
    next_line_ += lines;
    lines_passed_ += lines;
  }

  /// The window begins with a row that is wrong: goes on behind its first line.
  Result<bool> pass_line(const std::string& what) {
    const uint64_t line = row_line_;
    std::string text;
    char before = '\0';
    for (;;) {
      const std::string_view window(window_.begin(), window_.size());
      const size_t end = window.find('\n');
      const std::string_view piece = window.substr(0, end);
      if (!piece.empty()) before = piece.back();
      if (end != std::string_view::npos) static_cast<void>(has_crlf(before == '\r'));
      text += window.substr(0, std::min(end, longest_row_ - std::min(longest_row_, text.size())));
      pass(end == std::string_view::npos ? window.size() : end + 1, end == std::string_view::npos ? 0 : 1);
      if (end != std::string_view::npos) break;
      HAILSTONE_ASSIGN(const bool more, window_.more());
      if (!more) break;
    }
    return wrong_row(text, line, what);
  }
};

class CsvReader final : public LineReader {
 public:
  CsvReader(std::unique_ptr<Input> input, const TextOptions& options, std::vector<std::string> names)
      : LineReader(std::move(input), options, std::move(names)),
        delimiter_(options.delimiter),
        null_text_(options.null_text.value_or("")) {}

 private:
  Result<Found> find(std::string_view window, bool all, size_t& bytes, uint64_t& lines) override {
    raw_.clear();
    lines = 0;
    for (size_t at = 0;;) {
      size_t end = at;
      const bool quoted = at < window.size() && window[at] == '"';
      if (quoted) {
        HAILSTONE_ASSIGN(end, end_of_quoted(window, at, all, lines));
        if (end == std::string_view::npos) return Found::Incomplete;
        raw_.push_back({at + 1, end - at - 2, true});
      } else {
        while (end < window.size() && window[end] != delimiter_ && window[end] != '\n') ++end;
        raw_.push_back({at, end - at, false});
      }
      if (end == window.size()) {
        if (!all) return Found::Incomplete;
        if (!quoted && has_half_an_end(window.substr(at))) --raw_.back().size;
        bytes = end;
        return Found::Record;
      }
      if (window[end] == delimiter_) {
        at = end + 1;
        continue;
      }
      if (quoted && window[end] == '\r') {
        if (end + 1 == window.size() && !all) return Found::Incomplete;
        if (end + 1 == window.size() && has_half_an_end(window)) {
          bytes = end + 1;
          return Found::Record;
        }
        if (end + 1 < window.size() && window[end + 1] == '\n') ++end;
      }
      if (window[end] != '\n') {
        reason_of_find_ = "text follows a closing quote; a quote within quotes is written twice";
        return wrong(row_line_ + lines, reason_of_find_);
      }
      ++lines;
      Raw& last = raw_.back();
      const bool has_return = (quoted || last.size > 0) && window[end - 1] == '\r';
      if (has_crlf(has_return) && !quoted) --last.size;
      bytes = end + 1;
      return Found::Record;
    }
  }

  /// The position behind the closing quote; npos when it is not in the window.
  Result<size_t> end_of_quoted(std::string_view window, size_t at, bool all, uint64_t& lines) {
    for (size_t i = at + 1;; ++i) {
      const size_t quote = window.find('"', i);
      const std::string_view inside = window.substr(i, quote == std::string_view::npos ? quote : quote - i);
      lines += static_cast<uint64_t>(std::ranges::count(inside, '\n'));
      if (quote == std::string_view::npos) {
        if (!all) return std::string_view::npos;
        reason_of_find_ = "a quote that is opened in this row is never closed";
        return wrong(row_line_, reason_of_find_);
      }
      if (quote + 1 == window.size()) return all ? quote + 1 : std::string_view::npos;
      if (window[quote + 1] != '"') return quote + 1;
      i = quote + 1;
    }
  }

  std::optional<char> delimiter() const override { return delimiter_; }

  /// The one that is most often in the first line, outside of quotes. Where there is none, the line is one
  /// name.
  Status find_delimiter() override {
    constexpr size_t longest = size_t{64} << 10;
    std::string_view line;
    for (;;) {
      line = {window_.begin(), std::min(window_.size(), longest)};
      if (line.find('\n') != std::string_view::npos || line.size() == longest || window_.at_end()) break;
      HAILSTONE_TRY(window_.more());
    }
    std::array<std::pair<char, size_t>, 4> counts{{{',', 0}, {';', 0}, {'\t', 0}, {'|', 0}}};
    bool is_quoted = false;
    for (const char c : line) {
      if (c == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (c == '\n') break;
      for (auto& [delimiter, count] : counts) count += c == delimiter ? 1 : 0;
    }
    const auto most = std::ranges::max_element(counts, {}, &std::pair<char, size_t>::second);
    if (most->second > 0) delimiter_ = most->first;
    return {};
  }

  Field finish(char* text, size_t size, bool marked) override {
    if (!marked) {
      const std::string_view plain(text, size);
      return plain == null_text_ && !in_header_ ? Field{} : Field{Field::Kind::Text, plain};
    }
    char* to = text;
    for (const char *from = text, *end = text + size; from < end; ++from) {
      *to++ = *from;
      if (*from == '"') ++from;  // its twin
    }
    return {Field::Kind::Text, {text, static_cast<size_t>(to - text)}};
  }

  char delimiter_;
  const std::string null_text_;
};

/// As MariaDB writes and reads it: tabs, line ends and backslashes within a field are escaped.
class TsvReader final : public LineReader {
 public:
  TsvReader(std::unique_ptr<Input> input, const TextOptions& options, std::vector<std::string> names)
      : LineReader(std::move(input), options, std::move(names)),
        null_text_(options.null_text.value_or("\\N")) {}

 private:
  Result<Found> find(std::string_view window, bool all, size_t& bytes, uint64_t& lines) override {
    raw_.clear();
    lines = 1;
    size_t end = window.find('\n');
    while (end != std::string_view::npos && is_in_field(window, end)) {
      ++lines;
      end = window.find('\n', end + 1);
    }
    if (end == std::string_view::npos) {
      if (!all) return Found::Incomplete;
      end = window.size();
    }
    bytes = std::min(end + 1, window.size());
    if (end == window.size() ? has_half_an_end(window) : has_crlf(end > 0 && window[end - 1] == '\r')) --end;
    const std::string_view line = window.substr(0, end);
    for (size_t at = 0;;) {
      size_t tab = line.find('\t', at);
      while (tab != std::string_view::npos && is_escaped(line, tab)) tab = line.find('\t', tab + 1);
      tab = std::min(tab, line.size());
      const bool marked = line.substr(at, tab - at).find('\\') != std::string_view::npos;
      raw_.push_back({at, tab - at, marked});
      if (tab == line.size()) return Found::Record;
      at = tab + 1;
    }
  }

  Field finish(char* text, size_t size, bool marked) override {
    if (std::string_view(text, size) == null_text_ && !in_header_) return {};
    if (!marked) return {Field::Kind::Text, {text, size}};
    char* to = text;
    for (const char *from = text, *end = text + size; from < end; ++from) {
      *to++ = *from == '\\' && from + 1 < end ? unescaped(*++from) : *from;
    }
    return {Field::Kind::Text, {text, static_cast<size_t>(to - text)}};
  }

  /// Whether the character stands behind a backslash that is not one of a pair: MariaDB writes tabs and line
  /// ends within fields so.
  static bool is_escaped(std::string_view line, size_t place) {
    size_t backslashes = 0;
    while (backslashes < place && line[place - 1 - backslashes] == '\\') ++backslashes;
    return backslashes % 2 == 1;
  }

  /// Whether a line feed ends no line. Where lines end in both, MariaDB escapes the carriage return only.
  static bool is_in_field(std::string_view window, size_t line_feed) {
    if (line_feed > 0 && window[line_feed - 1] == '\r') --line_feed;
    return is_escaped(window, line_feed);
  }

  static char unescaped(char character) {
    switch (character) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case '0':
        return '\0';
      case 'b':
        return '\b';
      case 'Z':
        return '\x1a';
      default:
        return character;
    }
  }

  const std::string null_text_;
};

}  // namespace

Result<std::unique_ptr<TextRows>> open_rows(std::unique_ptr<Input> input, const TextOptions& options,
                                            std::vector<std::string> names) {
  HAILSTONE_TRY(check_text_options(options));
  if (options.format == TextFormat::JsonLines) return open_json_lines(std::move(input), options);
  if (names_its_fields(options.format)) return open_pattern_lines(std::move(input), options);
  std::unique_ptr<LineReader> reader;
  if (options.format == TextFormat::Csv) {
    reader = std::make_unique<CsvReader>(std::move(input), options, std::move(names));
  } else {
    reader = std::make_unique<TsvReader>(std::move(input), options, std::move(names));
  }
  HAILSTONE_TRY(reader->start(options));
  return reader;
}

Result<std::unique_ptr<TextRows>> open_rows(const std::string& path, const TextOptions& options,
                                            std::vector<std::string> names, int interrupt_descriptor) {
  HAILSTONE_TRY(check_text_options(options));
  HAILSTONE_ASSIGN(auto input, open_plain_input(path, interrupt_descriptor));
  return open_rows(std::move(input), options, std::move(names));
}

}  // namespace hailstone
