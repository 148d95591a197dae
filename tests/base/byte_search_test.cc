#include "base/byte_search.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

/// Exactly at the end of its memory, where a sanitizer sees a read behind it.
class Text {
 public:
  explicit Text(ByteView bytes) : size_(bytes.size()), bytes_(std::make_unique<char[]>(size_)) {
    std::ranges::copy(bytes, bytes_.get());
  }
  ByteView view() const { return {bytes_.get(), size_}; }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> bytes_;
};

TEST(ByteSearchTest, FindsTheFirstOfSeveral) {
  EXPECT_EQ(ByteSearch("ab").find("xxabab"), 2U);
  EXPECT_EQ(ByteSearch("").find("x"), 0U);
  EXPECT_EQ(ByteSearch("").find(""), 0U);
  EXPECT_EQ(ByteSearch("a").find(""), ByteView::npos);
  EXPECT_EQ(ByteSearch("a").find("bca"), 2U);
  EXPECT_EQ(ByteSearch("abc").find("ab"), ByteView::npos);
  EXPECT_EQ(ByteSearch(std::string("\0\xff", 2)).find(ByteView("a\0\0\xff", 4)), 2U);
}

TEST(ByteSearchTest, FindsWhatTheStandardLibraryFinds) {
  std::mt19937_64 random(test_seed(5));
  // Few letters make nearly right places, and needles of one letter.
  for (int round = 0; round < 20000; ++round) {
    const auto letters = static_cast<char>(1 + random() % 3);
    const auto draw = [&](size_t size) {
      std::string text(size, '\0');
      for (auto& byte : text) byte = static_cast<char>('a' + static_cast<char>(random()) % letters);
      return text;
    };
    const Text text(draw(random() % (round % 10 == 0 ? 300 : 70)));
    const std::string needle = draw(random() % 12);
    ASSERT_EQ(ByteSearch(needle).find(text.view()), text.view().find(needle))
        << "'" << needle << "' in '" << text.view() << "'";
  }
}

}  // namespace
}  // namespace hailstone
