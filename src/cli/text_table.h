// Columns of text on a terminal, as wide as they must be.
#pragma once

#include <string>
#include <vector>

namespace hailstone {

class TextTable {
 public:
  /// The head of each column; one that begins with '>' is aligned to the right.
  explicit TextTable(std::vector<std::string> head);
  void add(std::vector<std::string> row);
  /// Each line begins with `indent` spaces.
  std::string text(size_t indent = 0) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hailstone
