// Comparisons of strings, with the server's own collations: the tests that evaluate them, and their
// translation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "column/like_pattern.h"
#include "column/predicate.h"
#include "pushdown_leaf.h"
#include "schema/collation.h"

namespace hailstone {

// The tests are immutable and thread-safe, and own their constants.

/// Where a string lies among constants: below the first, equal to it, between it and the second, … With n
/// constants there are 2n + 1 such regions.
class CollationTest final : public BytesTest {
 public:
  /// `constants` ascending and different in `collation`; `wanted` says for each region whether its strings
  /// match.
  CollationTest(CHARSET_INFO* collation, std::vector<std::string> constants, std::vector<bool> wanted);
  bool matches(ByteView value) const override;
  std::optional<Limits> limits() const override { return limits_where(true); }
  std::optional<Limits> limits_of_others() const override { return limits_where(false); }
  const Collation* order() const override { return order_; }
  size_t region(ByteView value) const override;

 private:
  /// Of the regions that are wanted, or of those that are not.
  std::optional<Limits> limits_where(bool wanted) const;
  int compare(ByteView value, const std::string& constant) const;
  /// Of what follows equal bytes, where there are weights_. Nothing: one is but a part of a character.
  std::optional<int> order_of_bytes(char one, char other) const;

  CHARSET_INFO* const collation_;
  const Collation* const order_;  // may be null
  /// Of single-byte characters, where the collation compares texts character by character; null: it does not.
  const uchar* const weights_;
  const std::vector<std::string> constants_;
  const std::vector<bool> wanted_;
};

/// `value LIKE pattern ESCAPE escape`, or NOT LIKE.
class LikeTest final : public BytesTest {
 public:
  LikeTest(CHARSET_INFO* collation, std::string pattern, int escape, bool wanted);
  bool matches(ByteView value) const override;
  std::optional<Limits> limits() const override { return limits_where(true); }
  std::optional<Limits> limits_of_others() const override { return limits_where(false); }

 private:
  std::optional<Limits> limits_where(bool wanted) const {
    return bytes_ && wanted == wanted_ ? bytes_->limits() : std::nullopt;
  }

  CHARSET_INFO* const collation_;
  const std::string pattern_;
  const int escape_;
  const bool wanted_;
  /// The same pattern, where the collation compares bytes: saves asking the server.
  const std::optional<LikePattern> bytes_;
};

/// Of a comparison of a value with texts, BETWEEN, IN or LIKE: whether it is TRUE, or, not `truth`, FALSE.
std::shared_ptr<const BytesTest> test_of_texts(const Leaf& leaf, CHARSET_INFO* collation,
                                               std::vector<std::string> texts, bool truth);

/// `truth` is about the leaf without its own NOT. Nothing when the server compares something else than the
/// stored bytes; `warns` is set when that is worth a warning for each row.
std::optional<Translation> translate_strings(TABLE& table, const Leaf& leaf, bool truth, bool& warns);

}  // namespace hailstone
