// Patterns of LIKE with % alone, for values whose characters are equal when their bytes are: a beginning, an
// end, and pieces that follow each other between the two. Immutable, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_search.h"
#include "column/predicate.h"

namespace hailstone {

/// Between these, by memcmp order, lie all strings that begin so.
BytesTest::Limits limits_of_beginning(const std::string& beginning);

class LikePattern {
 public:
  /// A byte behind `escape` stands for itself; an escape at the very end does, too. Nothing for a pattern
  /// with _, which stands for a character.
  static std::optional<LikePattern> parse(ByteView pattern, std::optional<char> escape);

  bool matches(ByteView value) const;
  /// Limits of the values that match; nothing when it may begin with anything.
  std::optional<BytesTest::Limits> limits() const;
  /// Whether each part begins with a whole character of UTF-8: then it is found in well-formed texts only
  /// where a character begins.
  bool parts_begin_characters() const;

 private:
  LikePattern() = default;
  std::string beginning_;  // without any %, the whole value
  std::vector<ByteSearch> pieces_;
  std::string end_;
  size_t least_size_ = 0;
  bool whole_ = false;  // there is no %
};

}  // namespace hailstone
