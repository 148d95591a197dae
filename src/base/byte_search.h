// Finds a string of bytes in others. Made once for what is looked for, then asked of many texts, short ones
// as a rule; immutable, thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace hailstone {

class ByteSearch {
 public:
  explicit ByteSearch(std::string needle) : needle_(std::move(needle)) {}

  const std::string& needle() const { return needle_; }
  /// Where the needle begins first; ByteView::npos when it is nowhere. The empty one is at 0.
  size_t find(ByteView text) const;

 private:
  std::string needle_;
};

}  // namespace hailstone
