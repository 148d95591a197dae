// MD5 and CRC-32 of texts that their definitions give, and of texts of every length around a block.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "base/crc32.h"
#include "base/md5.h"

namespace hailstone {
namespace {

std::string hex_md5(ByteView bytes) {
  std::string hex;
  for (const uint8_t byte : md5(bytes)) hex += fmt::format("{:02x}", byte);
  return hex;
}

TEST(Md5Test, IsThatOfTheRfc) {
  EXPECT_EQ(hex_md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex_md5("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(hex_md5("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex_md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

/// All lengths up to two blocks: the digest of their digests, as Python's hashlib has it.
TEST(Md5Test, IsRightOfEveryLength) {
  std::string all, text;
  for (int length = 0; length <= 130; ++length) {
    all += hex_md5(text);
    text += static_cast<char>('a' + length % 26);
  }
  EXPECT_EQ(hex_md5(all), "16cbcedfce9d8b8ba5102d6ca621d54c");
}

TEST(Crc32Test, IsTheStandardOne) {
  EXPECT_EQ(crc32(""), 0U);
  EXPECT_EQ(crc32("123456789"), 0xCBF4'3926U);
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414F'A339U);
  EXPECT_EQ(crc32(std::string(1000, '\0')), 0x060B1780U);
}

}  // namespace
}  // namespace hailstone
