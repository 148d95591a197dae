#include "schema/collation.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"
#include "schema/padding.h"

namespace hailstone {
namespace {

int sign(int order) { return (order > 0) - (order < 0); }

std::string weights(const Collation& collation, ByteView value) {
  std::string bytes;
  collation.append_weights(value, bytes);
  return bytes;
}

TEST(CollationTest, BinaryOrdersByBytes) {
  const Collation& binary = binary_collation();
  EXPECT_LT(binary.compare("a", "a "), 0);
  EXPECT_GT(binary.compare("\xff", "a"), 0);
  EXPECT_TRUE(binary.bytes_decide_order());
  EXPECT_EQ(binary.prefix_bytes("abc", 2), 2u);
  EXPECT_EQ(binary.prefix_bytes("abc", 9), 3u);
}

TEST(CollationTest, PaddedIgnoresTrailingSpaces) {
  const Collation& padded = binary_padded_collation();
  EXPECT_EQ(padded.compare("a", "a  "), 0);
  EXPECT_EQ(padded.compare("", "   "), 0);
  EXPECT_LT(padded.compare("a\t", "a"), 0);
  EXPECT_GT(padded.compare("a", "a\t"), 0);
  EXPECT_GT(padded.compare("a!", "a"), 0);
  EXPECT_EQ(weights(padded, "a"), weights(padded, "a               "));
  EXPECT_LT(weights(padded, "a\t"), weights(padded, "a"));
  EXPECT_EQ(padded.equality(), Collation::Equality::BytesBeforeSpaces);
}

TEST(CollationTest, EqualValuesHaveInCommonWhatTheCollationSays) {
  std::mt19937_64 random(test_seed(20));
  const auto value = [&] {
    std::string text(random() % 4, ' ');
    for (char& byte : text) byte = std::string_view(" \t!a")[random() % 4];
    return text;
  };
  for (int i = 0; i < 10'000; ++i) {
    const std::string one = value(), other = value();
    EXPECT_EQ(binary_collation().compare(one, other) == 0, one == other);
    EXPECT_EQ(binary_padded_collation().compare(one, other) == 0,
              without_trailing_spaces(one) == without_trailing_spaces(other))
        << '"' << one << "\", \"" << other << '"';
  }
  EXPECT_EQ(binary_collation().equality(), Collation::Equality::Bytes);
}

TEST(CollationTest, UnknownCollationIsNamed) {
  const CollationResolver resolver;
  EXPECT_EQ(*resolver.resolve(binary_collation_id), &binary_collation());
  EXPECT_EQ(*resolver.resolve(binary_padded_collation_id), &binary_padded_collation());
  const auto unknown = resolver.resolve(77);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(unknown.error().message().find("77"), std::string::npos);
}

// What append_padded_weights promises, for every unit: the reference lengthens the shorter value with pads.
TEST(CollationTest, PaddedWeightsOrderLikeEndlessPads) {
  std::mt19937_64 random(test_seed(20));
  for (unsigned unit = 1; unit <= 4; ++unit) {
    const uint32_t pad = unit == 1 ? 0x20 : unit == 2 ? 0x0209 : unit == 3 ? 0x000020 : 0x01020304;
    const auto value = [&] {
      std::vector<uint32_t> numbers(random() % 30);
      for (uint32_t& number : numbers) {
        switch (random() % 8) {
          case 0:
            number = pad - 1;
            break;
          case 1:
            number = pad + 1;
            break;
          case 2:
            number = static_cast<uint32_t>(random() % 256);
            break;
          default:
            number = pad;
        }
      }
      return numbers;
    };
    const auto key = [&](const std::vector<uint32_t>& numbers) {
      std::string bytes;
      for (const uint32_t number : numbers) {
        char at[4];
        store_big_endian(at, number, unit);
        bytes.append(at, unit);
      }
      std::string to = "before";
      append_padded_weights(bytes, unit, pad, to);
      return to;
    };
    for (int round = 0; round < 20'000; ++round) {
      auto a = value();
      auto b = value();
      if (random() % 3 == 0) {  // values that are equal for a long way
        b = a;
        if (!b.empty() && random() % 2 == 0)
          b[random() % b.size()] = pad + static_cast<uint32_t>(random() % 3) - 1;
        if (random() % 2 == 0) b.resize(random() % 40, pad);
      }
      const std::string key_a = key(a);
      const std::string key_b = key(b);
      const size_t longer = std::max(a.size(), b.size());
      a.resize(longer, pad);
      b.resize(longer, pad);
      const int expected = a < b ? -1 : a > b ? 1 : 0;
      ASSERT_EQ(sign(key_a.compare(key_b)), expected) << "unit " << unit << " round " << round;
      if (expected != 0) {
        ASSERT_FALSE(key_a.starts_with(key_b) || key_b.starts_with(key_a));
      }
    }
  }
}

TEST(CollationTest, PaddedCompareAgreesWithWeights) {
  std::mt19937_64 random(test_seed(21));
  const auto value = [&] {
    std::string bytes(random() % 20, ' ');
    for (char& byte : bytes) {
      if (random() % 4 == 0) byte = static_cast<char>(random());
    }
    return bytes;
  };
  const Collation& padded = binary_padded_collation();
  for (int round = 0; round < 50'000; ++round) {
    const std::string a = value();
    const std::string b = random() % 4 == 0 ? a + value() : value();
    ASSERT_EQ(sign(padded.compare(a, b)), sign(weights(padded, a).compare(weights(padded, b)))) << round;
    ASSERT_EQ(sign(padded.compare(a, b)), -sign(padded.compare(b, a))) << round;
  }
}

}  // namespace
}  // namespace hailstone
