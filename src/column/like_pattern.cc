#include "column/like_pattern.h"

#include <algorithm>
#include <utility>

namespace hailstone {

BytesTest::Limits limits_of_beginning(const std::string& beginning) {
  // Every value that begins so is below the same with its last byte increased.
  std::string after = beginning;
  while (!after.empty() && after.back() == '\xff') after.pop_back();
  if (after.empty()) return {beginning, std::nullopt};
  after.back() = static_cast<char>(static_cast<unsigned char>(after.back()) + 1);
  return {beginning, after};
}

std::optional<LikePattern> LikePattern::parse(ByteView pattern, std::optional<char> escape) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char byte = pattern[i];
    if (byte == escape && i + 1 < pattern.size()) {
      parts.back().push_back(pattern[++i]);
    } else if (byte == '%') {
      parts.emplace_back();
    } else if (byte == '_') {
      return std::nullopt;
    } else {
      parts.back().push_back(byte);
    }
  }
  LikePattern parsed;
  for (const auto& part : parts) parsed.least_size_ += part.size();
  parsed.whole_ = parts.size() == 1;
  parsed.beginning_ = std::move(parts.front());
  if (parsed.whole_) return parsed;
  parsed.end_ = std::move(parts.back());
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    if (!parts[i].empty()) parsed.pieces_.emplace_back(std::move(parts[i]));
  }
  return parsed;
}

bool LikePattern::matches(ByteView value) const {
  if (whole_) return value == beginning_;
  if (value.size() < least_size_ || !value.starts_with(beginning_) || !value.ends_with(end_)) return false;
  value.remove_prefix(beginning_.size());
  value.remove_suffix(end_.size());
  // The first place is best for each piece: it leaves the most to those behind it.
  for (const auto& piece : pieces_) {
    const size_t at = piece.find(value);
    if (at == ByteView::npos) return false;
    value.remove_prefix(at + piece.needle().size());
  }
  return true;
}

std::optional<BytesTest::Limits> LikePattern::limits() const {
  if (whole_) return BytesTest::Limits{beginning_, beginning_};
  if (beginning_.empty()) return std::nullopt;
  return limits_of_beginning(beginning_);
}

bool LikePattern::parts_begin_characters() const {
  const auto begins = [](ByteView part) {
    return part.empty() || (static_cast<unsigned char>(part.front()) & 0xc0U) != 0x80U;
  };
  return begins(beginning_) && begins(end_) &&
         std::ranges::all_of(pieces_, [&](const auto& piece) { return begins(piece.needle()); });
}

}  // namespace hailstone
