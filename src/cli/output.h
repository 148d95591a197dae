// Rows as the command writes them: CSV, TSV and JSON lines, from Arrow arrays, such that `hailstone load`
// reads the same values back. docs/tools.md says what each looks like. One thread at a time.
#pragma once

#include <functional>
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
  /// What results have beside the types of hailstone.h.
  enum class Form : uint8_t {
    OfType,
    Decimal,   // decimal128 with `scale` digits behind the point
    Duration,  // in microseconds
  };
  std::string name;
  hs_type type = HS_INT64;
  Form form = Form::OfType;
  unsigned scale = 0;

  /// The columns of a stream of the library's, by its schema.
  static Result<std::vector<OutputColumn>> of(const ArrowSchema& rows);
};

/// Where rows go: standard output, a file that gets its name when it is complete, or a pipe or device that is
/// there. On a terminal stored
/// bytes that it would obey, as those that move its cursor or set its title, are shown as \x and hexadecimal
/// digits.
class OutputFile {
 public:
  /// "-": standard output. `stop`: asked some times a second while a pipe's reader is waited for; then
  /// write() gives ErrorCode::Interrupted.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path, std::function<bool()> stop = {});
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
  Status wait() const;
  std::string path_, temporary_;
  std::function<bool()> stop_;
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
