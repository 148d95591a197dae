// Rows of text: CSV, TSV, JSON lines, lines of a pattern. docs/tools.md and docs/collect.md say what each is.
//
// A TextRows gives one row after another. Its fields stand in the order of names(), which for JSON lines
// grows as keys are met. A row that is wrong ends nothing: next() goes on behind it. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hailstone {

enum class TextFormat : uint8_t {
  Csv,
  Tsv,
  JsonLines,
  Combined,  // access logs of web servers
  Regex,     // the named groups of a regular expression
};

/// By name ("csv", "tsv", "jsonl", "combined", "regex").
std::optional<TextFormat> format_of_name(std::string_view name);
/// Whether rows name their fields themselves, so that columns are told by name, not by place.
bool names_its_fields(TextFormat format);
/// By the end of a path, also of a compressed file's: CSV, TSV or JSON lines.
std::optional<TextFormat> format_of_path(std::string_view path);

/// Whether the path ends as those of Parquet and Arrow files do, which are no text.
bool is_columnar_path(std::string_view path);

/// Empty when the text is a delimiter of CSV, else what is wrong with it. A tab may be written as \t.
std::string check_delimiter(const std::string& text);
/// The character, of a text that is one.
char delimiter_of(const std::string& text);

/// Names of columns have so many bytes at most; what is longer is no header.
constexpr size_t longest_name = 1024;

/// How lines end. The first row says it for all rows of a file: where lines end in a line feed, a carriage
/// return before it is the last field's.
enum class LineEnd : uint8_t { Lf, CrLf };

struct TextOptions {
  TextFormat format = TextFormat::Csv;
  bool has_header = true;             // of CSV and TSV: the first line names the columns
  bool is_rest = false;               // the input begins within a file: no byte order mark is before it
  std::optional<LineEnd> line_end{};  // of the rows before that; nothing: there were none
  char delimiter = ',';               // of CSV
  bool finds_delimiter =
      false;  // of CSV with a header: that tells it, and `delimiter` does where it does not
  std::optional<std::string>
      null_text;          // CSV: unless given, an empty field without quotes; TSV: \N; Combined: -
  std::string pattern{};  // of TextFormat::Regex
  size_t longest_row = size_t{1} << 30;  // in bytes; one that is longer is wrong
};

/// What these options cannot be: a text for NULL that no field can hold.
Status check_text_options(const TextOptions& options);

struct Field {
  enum class Kind : uint8_t {
    Null,
    Text,    // of CSV and TSV: anything
    String,  // of JSON
    Number,  // of JSON, as it is written there
    Bool,    // of JSON: true or false
    Nested,  // of JSON: an array or object, as it is written there
  };
  Kind kind = Kind::Null;
  std::string_view text;  // valid until the next row
};

/// Where bytes come from.
class Input {
 public:
  virtual ~Input() = default;
  /// At least one byte, unless there will be no more.
  virtual Result<size_t> read(char* to, size_t size) = 0;
  /// For messages.
  virtual const std::string& name() const = 0;
  /// Bytes of a regular file; nothing for pipes.
  virtual std::optional<uint64_t> size() const = 0;
};

/// A file, or standard input, as it is. Reads end with ErrorCode::Interrupted when the descriptor given
/// becomes readable.
class InputFile final : public Input {
 public:
  /// "-": standard input.
  static Result<std::unique_ptr<InputFile>> open(const std::string& path, int interrupt_descriptor);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  Result<size_t> read(char* to, size_t size) override;
  std::optional<uint64_t> size() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  InputFile() = default;
  std::string name_;
  int descriptor_ = -1;
  int interrupt_descriptor_ = -1;
  std::optional<uint64_t> size_;
};

/// The part of a file that is being looked at, in one piece of memory that may be written to. `padding` bytes
/// behind its end may be read.
class InputWindow {
 public:
  static constexpr size_t padding = 64;
  explicit InputWindow(std::unique_ptr<Input> input);

  char* begin() { return buffer_.data() + first_; }
  const char* begin() const { return buffer_.data() + first_; }
  size_t size() const { return last_ - first_; }
  bool at_end() const { return ended_; }
  /// Brings more bytes behind those that are there; begin() may move. False: the file has ended.
  Result<bool> more();
  void skip(size_t bytes) { first_ += bytes; }
  uint64_t bytes_read() const { return bytes_read_; }
  const Input& input() const { return *input_; }

 private:
  std::unique_ptr<Input> input_;
  std::vector<char> buffer_;
  size_t first_ = 0, last_ = 0;
  bool ended_ = false;
  uint64_t bytes_read_ = 0;
};

class TextRows {
 public:
  virtual ~TextRows() = default;
  /// False: there are no more rows. Errors name file and line. After ErrorCode::InvalidArgument the row is
  /// wrong, wrong_row() is its text, and the next call goes on behind it.
  virtual Result<bool> next() = 0;
  /// One for each name; shorter when later names are not in this row.
  std::span<const Field> fields() const { return fields_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Of CSV: what stands between fields.
  virtual std::optional<char> delimiter() const { return std::nullopt; }
  /// Nothing before a row has ended.
  std::optional<LineEnd> line_end() const { return line_end_; }
  /// Of the row's beginning.
  uint64_t line() const { return row_line_; }
  /// Up to which rows, or wrong ones, have been given: bytes and lines from the input's beginning.
  uint64_t bytes_passed() const { return window_.bytes_read() - window_.size() + ahead_bytes(); }
  uint64_t lines_passed() const { return lines_passed_; }
  /// The row that was given, as it stands in the input; empty where the format changes it in place.
  virtual std::string_view row_text() const { return {}; }
  /// As it stands in the input; of a row that is too long, its beginning. Valid until the next call.
  std::string_view wrong_row() const { return wrong_row_; }
  /// What is wrong with it, without file and line.
  const std::string& reason() const { return reason_; }
  uint64_t bytes_read() const { return window_.bytes_read(); }
  const Input& input() const { return window_.input(); }
  std::unexpected<Error> wrong(uint64_t line, std::string_view what) const;

 protected:
  TextRows(std::unique_ptr<Input> input, const TextOptions& options)
      : window_(std::move(input)), longest_row_(options.longest_row), line_end_(options.line_end) {}
  /// Of a row that ends here; `has_return`: with a carriage return and a line feed. True: both are its end.
  bool ends_with_return(bool has_return) {
    if (!line_end_) line_end_ = has_return ? LineEnd::CrLf : LineEnd::Lf;
    return has_return && line_end_ == LineEnd::CrLf;
  }
  /// The row in this text is wrong.
  std::unexpected<Error> wrong_row(std::string_view text, uint64_t line, std::string_view what);
  /// Of the window, those that have been given.
  virtual uint64_t ahead_bytes() const { return 0; }

  InputWindow window_;
  const size_t longest_row_;
  std::optional<LineEnd> line_end_;
  std::vector<std::string> names_;
  std::vector<Field> fields_;
  uint64_t row_line_ = 1;
  uint64_t lines_passed_ = 0;
  std::string wrong_row_;
  std::string reason_;
};

/// `names`: of the columns, for files without a header.
Result<std::unique_ptr<TextRows>> open_rows(std::unique_ptr<Input> input, const TextOptions& options,
                                            std::vector<std::string> names);
/// Of the file at `path`, "-" for standard input; it may be compressed by gzip or Zstandard.
Result<std::unique_ptr<TextRows>> open_rows(const std::string& path, const TextOptions& options,
                                            std::vector<std::string> names, int interrupt_descriptor);

/// For open_rows().
Result<std::unique_ptr<TextRows>> open_json_lines(std::unique_ptr<Input> input, const TextOptions& options);

}  // namespace hailstone
