#include "text/plain_input.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <random>

namespace hailstone {
namespace {

/// Gives bytes in pieces of a size.
class Bytes final : public Input {
 public:
  Bytes(std::string bytes, size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  Result<size_t> read(char* to, size_t size) override {
    const size_t now = std::min({size, piece_, bytes_.size() - at_});
    bytes_.copy(to, now, at_);
    at_ += now;
    return now;
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::string bytes_;
  const size_t piece_;
  size_t at_ = 0;
  const std::string name_ = "bytes";
};

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(deflateBound(&stream, text.size()) + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string zstandard(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3);
  EXPECT_EQ(ZSTD_isError(size), 0U);
  bytes.resize(size);
  return bytes;
}

/// Nothing: it is an error.
std::optional<std::string> read_all(const std::string& bytes, size_t piece, size_t room) {
  const auto input = plain_input(std::make_unique<Bytes>(bytes, piece));
  std::string all, buffer(room, '\0');
  for (;;) {
    const auto now = input->read(buffer.data(), buffer.size());
    if (!now) return std::nullopt;
    if (*now == 0) return all;
    all.append(buffer, 0, *now);
  }
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919 % 1000) + "," + std::to_string(i) + "\n";
  return text;
}

TEST(PlainInputTest, DecompressesWhateverThePieces) {
  const std::string text = some_text(), part = text.substr(0, 100);
  const std::string inputs[] = {gzipped(text), gzipped(part) + gzipped(text.substr(100)), zstandard(text),
                                zstandard(part) + zstandard(text.substr(100)), text};
  for (const std::string& bytes : inputs) {
    for (const size_t piece : {1U, 2U, 3U, 1000U, 1'000'000U}) {
      for (const size_t room : {1U, 7U, 100'000U}) EXPECT_EQ(read_all(bytes, piece, room), text);
    }
  }
  for (const std::string plain : {"", "\x1f", "\x28\xb5", "a", "\xfd",
                                  "\x1f"
                                  "b"})
    EXPECT_EQ(read_all(plain, 1, 10), plain);
}

TEST(PlainInputTest, WhatIsCutIsAnError) {
  const std::string text = some_text();
  for (const std::string& bytes : {gzipped(text), zstandard(text)}) {
    for (size_t size = 4; size < bytes.size(); size += size < 50 || size + 50 > bytes.size() ? 1U : 97U) {
      EXPECT_EQ(read_all(bytes.substr(0, size), 1000, 5000), std::nullopt) << size;
    }
  }
}

TEST(PlainInputTest, WhatIsDamagedEndsInAnErrorOrInSomeText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string text = some_text();
  for (const std::string& bytes : {gzipped(text), zstandard(text)}) {
    for (int i = 0; i < 500; ++i) {
      std::string damaged = bytes;
      damaged[4 + random() % (damaged.size() - 4)] ^= static_cast<char>(1 + random() % 255);
      const auto read = read_all(damaged, 1 + random() % 5000, 1 + random() % 5000);
      // gzip has a checksum; of zstd a frame need not.
      if (read && bytes.starts_with("\x1f")) {
        EXPECT_EQ(*read, text);
      }
    }
  }
}

TEST(PlainInputTest, AnotherCompressionIsRefused) {
  const auto input =
      plain_input(std::make_unique<Bytes>("\xfd"
                                          "7zXZ....",
                                          3));
  char byte = 0;
  const auto read = input->read(&byte, 1);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("xzcat FILE"), std::string::npos) << read.error().message();
}

}  // namespace
}  // namespace hailstone
