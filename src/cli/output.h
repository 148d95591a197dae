// Rows as the command writes them: CSV, TSV and JSON lines, from Arrow arrays, such that `hailstone load`
// reads the same values back. docs/tools.md says what each looks like. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "hailstone.h"
#include "text/input.h"

namespace hailstone {

struct OutputColumn {
  std::string name;
  hs_type type;
};

/// Where rows go: standard output, a file that gets its name when it is complete, or a pipe or device that is
/// there. On a terminal stored
/// bytes that it would obey, as those that move its cursor or set its title, are shown as \x and hexadecimal
/// digits.
class OutputFile {
 public:
  /// "-": standard output.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  ~OutputFile();  // a file that was not finished is removed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Whole lines.
  Status write(std::string_view bytes);
  Status finish();
  /// Nobody reads the standard output any more: there is no use in writing, and no error in stopping.
  bool is_closed() const { return closed_; }

 private:
  OutputFile() = default;
  Status write_all(std::string_view bytes);
  std::string path_, temporary_;
  int descriptor_ = -1;
  bool owned_ = false;      // the file that is to get its name
  bool is_opened_ = false;  // a pipe or device
  bool is_terminal_ = false;
  bool closed_ = false;
};

class RowFormatter {
 public:
  RowFormatter(TextOptions options, std::vector<OutputColumn> columns);

  /// The line with the names, if there is to be one.
  void append_header(std::string& to) const;
  /// Rows [first, last) of a struct array with the columns' children. ErrorCode::Unsupported for text that
  /// the format cannot hold.
  Status append_rows(const ArrowArray& array, int64_t first, int64_t last, std::string& to);

  /// As a text of JSON, in its quotes.

 private:
  void append_text(std::string_view text, std::string& to) const;
  Status append_value(const OutputColumn& column, const ArrowArray& array, int64_t row, std::string& to);
  Status append_present(const OutputColumn& column, const ArrowArray& array, int64_t row, std::string& to);
  void append_csv(std::string_view text, std::string& to) const;
  static void append_tsv(std::string_view text, std::string& to);

  const TextOptions options_;
  const std::vector<OutputColumn> columns_;
  const std::string null_text_;
  std::string scratch_;
};

}  // namespace hailstone
