#include "expression/text_tests.h"

#include <algorithm>
#include <utility>

#include "column/like_pattern.h"
#include "schema/padding.h"

namespace hailstone {

namespace {

/// With % alone.
class PlainPattern final : public BytesTest {
 public:
  explicit PlainPattern(LikePattern pattern) : pattern_(std::move(pattern)) {}
  bool matches(ByteView value) const override { return pattern_.matches(value); }
  std::optional<Limits> limits() const override { return pattern_.limits(); }

 private:
  const LikePattern pattern_;
};

/// With _, too: a list of bytes, of any one character, and of any characters.
class CharacterPattern final : public BytesTest {
 public:
  CharacterPattern(ByteView pattern, std::optional<char> escape, const Collation& collation)
      : collation_(collation) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      const char byte = pattern[i];
      if (escape && byte == *escape && i + 1 < pattern.size()) {
        add(Piece::Byte, pattern[++i]);
      } else if (byte == '%') {
        if (pieces_.empty() || pieces_.back().kind != Piece::Any) add(Piece::Any, 0);
      } else {
        add(byte == '_' ? Piece::One : Piece::Byte, byte);
      }
    }
    for (const Piece& piece : pieces_) {
      if (piece.kind != Piece::Byte) break;
      beginning_.push_back(piece.byte);
    }
  }
  std::optional<Limits> limits() const override {
    if (beginning_.empty()) return std::nullopt;
    return limits_of_beginning(beginning_);
  }

  /// Goes back to the last % only: what it has taken before need not be taken otherwise.
  bool matches(ByteView value) const override {
    size_t at = 0, piece = 0, behind_any = pieces_.size() + 1, taken = 0;
    while (at < value.size()) {
      if (piece < pieces_.size() && pieces_[piece].kind == Piece::Any) {
        behind_any = ++piece;
        taken = at;
        continue;
      }
      if (piece < pieces_.size() && (pieces_[piece].kind == Piece::One || pieces_[piece].byte == value[at])) {
        at += pieces_[piece].kind == Piece::One ? size_of_character(value, at) : 1;
        ++piece;
        continue;
      }
      if (behind_any > pieces_.size()) return false;
      taken += size_of_character(value, taken);
      at = taken;
      piece = behind_any;
    }
    while (piece < pieces_.size() && pieces_[piece].kind == Piece::Any) ++piece;
    return piece == pieces_.size();
  }

 private:
  struct Piece {
    enum Kind : uint8_t { Byte, One, Any };
    Kind kind;
    char byte;
  };
  void add(Piece::Kind kind, char byte) { pieces_.push_back({kind, byte}); }
  size_t size_of_character(ByteView value, size_t at) const {
    return std::max<size_t>(collation_.prefix_bytes(value.substr(at), 1), 1);
  }

  std::vector<Piece> pieces_;
  std::string beginning_;
  const Collation& collation_;
};

class TextList final : public BytesTest {
 public:
  TextList(std::vector<std::string> list, bool is_padded) : list_(std::move(list)), is_padded_(is_padded) {
    for (std::string& text : list_) text = std::string(kept(text));
    std::ranges::sort(list_);
  }
  bool matches(ByteView value) const override {
    return std::ranges::binary_search(list_, kept(value), std::less<>());
  }
  std::optional<Limits> limits() const override {
    if (is_padded_ || list_.empty()) return std::nullopt;
    return Limits{list_.front(), list_.back()};
  }

 private:
  ByteView kept(ByteView text) const { return is_padded_ ? without_trailing_spaces(text) : text; }

  std::vector<std::string> list_;
  const bool is_padded_;
};

class TextComparison final : public BytesTest {
 public:
  TextComparison(Function comparison, std::string constant, const Collation& collation)
      : comparison_(comparison), constant_(std::move(constant)), collation_(collation) {}
  bool matches(ByteView value) const override {
    const int order = collation_.compare(value, constant_);
    switch (comparison_) {
      case Function::Equal:
        return order == 0;
      case Function::NotEqual:
        return order != 0;
      case Function::Less:
        return order < 0;
      case Function::LessEqual:
        return order <= 0;
      case Function::Greater:
        return order > 0;
      default:
        return order >= 0;
    }
  }
  std::optional<Limits> limits() const override { return limits_where(true); }
  std::optional<Limits> limits_of_others() const override { return limits_where(false); }

 private:
  /// The constant, as a limit, may be within although the comparison is not true of it.
  std::optional<Limits> limits_where(bool matches) const {
    if (!collation_.bytes_decide_order()) return std::nullopt;
    switch (comparison_) {
      case Function::Equal:
      case Function::NotEqual:
        if ((comparison_ == Function::Equal) != matches) return std::nullopt;
        return Limits{constant_, constant_};
      case Function::Less:
      case Function::LessEqual:
        return matches ? Limits{"", constant_} : Limits{constant_, std::nullopt};
      default:
        return matches ? Limits{constant_, std::nullopt} : Limits{"", constant_};
    }
  }

  const Function comparison_;
  const std::string constant_;
  const Collation& collation_;
};

class Opposite final : public BytesTest {
 public:
  explicit Opposite(std::shared_ptr<const BytesTest> test) : test_(std::move(test)) {}
  bool matches(ByteView value) const override { return !test_->matches(value); }
  std::optional<Limits> limits() const override { return test_->limits_of_others(); }
  std::optional<Limits> limits_of_others() const override { return test_->limits(); }

 private:
  const std::shared_ptr<const BytesTest> test_;
};

}  // namespace

std::shared_ptr<const BytesTest> test_of_pattern(std::string pattern, std::optional<char> escape,
                                                 const Collation& collation) {
  if (collation.equality() == Collation::Equality::Weights) return nullptr;
  // A byte that is the escape character begins no other character in UTF-8.
  auto plain = LikePattern::parse(pattern, escape);
  if (plain && (!collation.has_wide_characters() || plain->parts_begin_characters()))
    return std::make_shared<PlainPattern>(std::move(*plain));
  return std::make_shared<CharacterPattern>(pattern, escape, collation);
}

std::shared_ptr<const BytesTest> test_of_list(std::vector<std::string> list, const Collation& collation) {
  if (collation.equality() == Collation::Equality::Weights) return nullptr;
  return std::make_shared<TextList>(std::move(list),
                                    collation.equality() == Collation::Equality::BytesBeforeSpaces);
}

std::shared_ptr<const BytesTest> test_of_comparison(Function comparison, std::string constant,
                                                    const Collation& collation) {
  if (!collation.has_weights()) return nullptr;
  return std::make_shared<TextComparison>(comparison, std::move(constant), collation);
}

std::shared_ptr<const BytesTest> opposite_of(std::shared_ptr<const BytesTest> test) {
  return std::make_shared<Opposite>(std::move(test));
}

}  // namespace hailstone
