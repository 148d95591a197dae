// Rows that are one line of the input each: what JSON lines and lines of a pattern have in common. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "text/input.h"

namespace hailstone {

class WholeLines : public TextRows {
 public:
  Result<bool> next() override;
  std::string_view row_text() const override { return line_; }

 protected:
  WholeLines(std::unique_ptr<Input> input, const TextOptions& options)
      : TextRows(std::move(input), options), may_have_mark_(!options.is_rest) {}
  /// Makes fields_ of line_, which has no line end. An error is that of wrong_row().
  virtual Status parse() = 0;

  std::string_view line_;  // in the window

 private:
  /// Puts the next line into line_. False: there is none.
  Result<bool> next_line();
  Result<bool> pass_long_line();
  uint64_t ahead_bytes() const override { return consumed_; }

  bool may_have_mark_;  // of the order of bytes, before the first line
  size_t consumed_ = 0;
  uint64_t lines_ = 0;
};

}  // namespace hailstone
