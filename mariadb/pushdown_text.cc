#include "pushdown_text.h"

#include <algorithm>

namespace hailstone {

namespace {

ByteView without_trailing_spaces(ByteView text) {
  const size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == ByteView::npos ? 0 : last + 1);
}

/// By memcmp, no string that is at least `text` when padded with spaces is below this.
ByteView low_limit_padded(ByteView text) {
  // A byte below the space makes shorter strings, padded in its place, greater than the text.
  const auto control =
      std::ranges::find_if(text, [](char byte) { return static_cast<unsigned char>(byte) < ' '; });
  return without_trailing_spaces(text.substr(0, static_cast<size_t>(control - text.begin())));
}

/// By memcmp, no string that is at most `text` when padded with spaces is above this.
std::string high_limit_padded(ByteView text) { return std::string(without_trailing_spaces(text)) + '!'; }

}  // namespace

CollationTest::CollationTest(CHARSET_INFO* collation, std::vector<std::string> constants,
                             std::vector<bool> wanted)
    : collation_(collation), constants_(std::move(constants)), wanted_(std::move(wanted)) {}

bool CollationTest::matches(ByteView value) const {
  size_t low = 0, high = constants_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const std::string& constant = constants_[middle];
    const int order = collation_->strnncollsp(value.data(), value.size(), constant.data(), constant.size());
    if (order == 0) return wanted_[2 * middle + 1];
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return wanted_[2 * low];
}

std::optional<BytesTest::Limits> CollationTest::limits() const {
  if ((collation_->state & MY_CS_BINSORT) == 0 || collation_->mbminlen != 1) return std::nullopt;
  const bool pads = (collation_->state & MY_CS_NOPAD) == 0 && collation_ != &my_charset_bin;
  Limits limits;
  // The lowest wanted region begins at (or just above) the constant before it, the highest ends at the one
  // after it.
  const auto first = static_cast<size_t>(std::ranges::find(wanted_, true) - wanted_.begin());
  if (first == wanted_.size()) return Limits{"", ""};
  if (first > 0) {
    const ByteView constant = constants_[(first - 1) / 2];
    limits.low = pads ? low_limit_padded(constant) : constant;
  }
  size_t last = wanted_.size() - 1;
  while (!wanted_[last]) --last;
  if (last + 1 < wanted_.size()) {
    const ByteView constant = constants_[last / 2];
    limits.high = pads ? high_limit_padded(constant) : std::string(constant);
  }
  return limits;
}

bool LikeTest::matches(ByteView value) const {
  const bool differs =
      collation_->wildcmp(value.data(), value.data() + value.size(), pattern_.data(),
                          pattern_.data() + pattern_.size(), escape_, wild_one, wild_many) != 0;
  return differs != wanted_;
}

}  // namespace hailstone
