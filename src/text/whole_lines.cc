#include "text/whole_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace hailstone {

Result<bool> WholeLines::next() {
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, next_line());
    if (!found) return false;
    if (line_.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    HAILSTONE_TRY(parse());
    return true;
  }
}

Result<bool> WholeLines::next_line() {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  window_.skip(consumed_);
  consumed_ = 0;
  row_line_ = ++lines_;
  size_t searched = 0;
  for (;;) {
    const std::string_view window(window_.begin(), window_.size());
    const size_t end = window.find('\n', searched);
    if (end != std::string_view::npos || window_.at_end()) {
      if (window.empty()) return false;
      if (std::min(end, window.size()) > longest_row_) return pass_long_line();
      line_ = window.substr(0, end);
      consumed_ = std::min(line_.size() + 1, window.size());
      const bool has_return = line_.ends_with('\r');
      if (end == std::string_view::npos ? has_return && line_end_ == LineEnd::CrLf
                                        : ends_with_return(has_return)) {
        line_.remove_suffix(1);
      }
      lines_passed_ = lines_;
      if (may_have_mark_ && line_.starts_with(mark)) line_.remove_prefix(mark.size());
      may_have_mark_ = false;
      return true;
    }
    if (window.size() > longest_row_) return pass_long_line();
    searched = window.size();
    HAILSTONE_TRY(window_.more());
  }
}

Result<bool> WholeLines::pass_long_line() {
  const std::string text(window_.begin(), longest_row_);
  may_have_mark_ = false;
  char before = '\0';
  for (;;) {
    const std::string_view window(window_.begin(), window_.size());
    const size_t end = window.find('\n');
    const std::string_view piece = window.substr(0, end);
    if (!piece.empty()) before = piece.back();
    if (end != std::string_view::npos) static_cast<void>(ends_with_return(before == '\r'));
    window_.skip(end == std::string_view::npos ? window_.size() : end + 1);
    if (end != std::string_view::npos) break;
    HAILSTONE_ASSIGN(const bool more, window_.more());
    if (!more) break;
  }
  lines_passed_ = lines_;
  return wrong_row(text, row_line_, fmt::format("the line is longer than {} bytes", longest_row_));
}

}  // namespace hailstone
