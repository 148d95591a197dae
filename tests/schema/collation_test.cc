#include "schema/collation.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/test_seed.h"
#include "schema/padding.h"
#include "schema/utf8_characters.h"

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

TEST(CollationTest, ShortenedPairsKeepTheirOrder) {
  std::mt19937_64 random(test_seed(21));
  constexpr uint32_t space = 0x20;
  constexpr std::array<uint32_t, 10> edges{0, 1, 0x1F, 0x7F, 0x80, 0xFF, 0x100, 0x7F7F, 0x7F80, 0xFFFF};
  const auto weight = [&]() -> uint32_t {
    switch (random() % 4) {
      case 0:
        return edges[random() % edges.size()];
      case 1:
        return static_cast<uint32_t>(random() % 0x10000);
      case 2:
        return space;
      default:
        return static_cast<uint32_t>('A' + random() % 26);
    }
  };
  const auto padded = [&](const std::vector<uint32_t>& weights, size_t most_bytes) {
    std::string bytes;
    for (const uint32_t each : weights) {
      char at[2];
      store_big_endian(at, each, 2);
      bytes.append(at, 2);
    }
    std::string to;
    append_padded_weights(bytes, 2, space, to);
    return to.substr(0, most_bytes);
  };
  const auto shortened = [](const std::string& bytes) {
    std::string to = "before" + bytes;
    shorten_padded_pairs(to, 6);
    EXPECT_TRUE(to.starts_with("before"));
    return to.substr(6);
  };
  for (int round = 0; round < 100'000; ++round) {
    std::vector<uint32_t> a(random() % 12), b(random() % 12);
    for (uint32_t& each : a) each = weight();
    for (uint32_t& each : b) each = weight();
    if (random() % 2 == 0) {
      b = a;
      if (!b.empty()) b[random() % b.size()] = weight();
    }
    const size_t most = random() % 4 == 0 ? random() % 40 : 1000;
    const std::string of_a = padded(a, most), of_b = padded(b, most);
    ASSERT_EQ(sign(shortened(of_a).compare(shortened(of_b))), sign(of_a.compare(of_b))) << "round " << round;
  }
  // Four letters and what follows them.
  EXPECT_EQ(shortened(padded({'A', 'B'}, 1000)), "AB  \x02");
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

TEST(CollationTest, Utf8HasCharacters) {
  const Collation& utf8 = utf8_collation();
  EXPECT_EQ(CollationResolver().resolve(utf8_collation_id).value(), &utf8);
  EXPECT_EQ(utf8.characters("aé€😀"), 4U);
  EXPECT_EQ(utf8.prefix_bytes("aé€😀", 3), 6U);
  EXPECT_EQ(utf8.prefix_bytes("aé", 9), 3U);
  EXPECT_EQ(utf8.locate("aé€b", "€"), 3U);
  EXPECT_EQ(utf8.locate("aé", "x"), 0U);
  EXPECT_EQ(utf8.locate("", ""), 1U);
  // A byte that begins no character, and a character that is cut, are one each.
  EXPECT_EQ(utf8.characters("\xff\xc3"), 2U);
  EXPECT_GT(utf8.compare("é", "z"), 0);
  EXPECT_LT(utf8.compare("a", "a "), 0);
}

TEST(CollationTest, Utf8HasUpperAndLowerCase) {
  const auto upper = [](ByteView text) {
    std::string made;
    utf8_collation().append_upper(text, made);
    return made;
  };
  const auto lower = [](ByteView text) {
    std::string made;
    utf8_collation().append_lower(text, made);
    return made;
  };
  EXPECT_EQ(upper("aäßÿλςжѐ€z\xff"), "AÄßŸΛΣЖЀ€Z\xff");
  EXPECT_EQ(lower("AÄŸΛΣЖЀ€Z"), "aäÿλσжѐ€z");
  for (uint32_t code = 0; code < 0x800; ++code) EXPECT_EQ(upper_case(lower_case(code)), upper_case(code));
}

}  // namespace
}  // namespace hailstone
