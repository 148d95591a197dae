#include "base/bytes.h"

#include <gtest/gtest.h>

#include <random>

#include "base/hash.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

TEST(BytesTest, BigEndianOrdersAsNumbers) {
  std::mt19937_64 random(test_seed(1));
  for (unsigned width = 1; width <= 8; ++width) {
    const uint64_t mask = width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1;
    for (int i = 0; i < 200; ++i) {
      const uint64_t a = random() & mask;
      const uint64_t b = random() & mask;
      char stored_a[8];
      char stored_b[8];
      store_big_endian(stored_a, a, width);
      store_big_endian(stored_b, b, width);
      EXPECT_EQ(load_big_endian(stored_a, width), a);
      EXPECT_EQ(std::memcmp(stored_a, stored_b, width) < 0, a < b);
    }
  }
}

TEST(BytesTest, VarintRoundTrip) {
  std::string bytes;
  std::vector<uint64_t> values = {0, 1, 127, 128, 16383, 16384, ~uint64_t{0}, uint64_t{1} << 63};
  for (unsigned shift = 0; shift < 64; ++shift) values.push_back((uint64_t{1} << shift) - 1);
  for (const uint64_t value : values) append_varint(bytes, value);
  ByteReader reader(bytes);
  for (const uint64_t value : values) {
    uint64_t read = 0;
    ASSERT_TRUE(reader.take_varint(read));
    EXPECT_EQ(read, value);
  }
  EXPECT_TRUE(reader.empty());
}

TEST(BytesTest, EveryTakeRefusesToRunPastTheEnd) {
  std::string bytes;
  append_string(bytes, "hello");
  append_number<uint32_t>(bytes, 7);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(ByteView(bytes).substr(0, size));
    ByteView text;
    uint32_t number = 0;
    EXPECT_FALSE(reader.take_string(text) && reader.take(number)) << size;
  }
  ByteReader reader(bytes);
  ByteView text;
  uint32_t number = 0;
  ASSERT_TRUE(reader.take_string(text) && reader.take(number));
  EXPECT_EQ(text, "hello");
  EXPECT_EQ(number, 7U);
}

TEST(BytesTest, AVarintThatNeverEndsIsRefused) {
  const std::string bytes(11, '\xff');
  ByteReader reader(bytes);
  uint64_t value = 0;
  EXPECT_FALSE(reader.take_varint(value));
}

TEST(BytesTest, AStringLongerThanItsBytesIsRefused) {
  std::string bytes;
  append_varint(bytes, ~uint64_t{0});
  bytes += "abc";
  ByteReader reader(bytes);
  ByteView text;
  EXPECT_FALSE(reader.take_string(text));
}

TEST(ChecksumTest, SeesEveryFlippedBit) {
  std::string bytes = "the quick brown fox jumps over the lazy dog";
  const uint64_t whole = checksum(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(checksum(bytes), whole);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_EQ(checksum(bytes), whole);
}

}  // namespace
}  // namespace hailstone
