#include "segment/integer_stream.h"

#include "segment/bit_packing.h"
#include "segment/segment_writer.h"
#include "segment_test_support.h"

namespace hailstone {
namespace {

TEST(BitPackingTest, EveryWidthAndCount) {
  std::mt19937_64 random(test_seed());
  for (unsigned width = 1; width <= 64; ++width) {
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    for (const uint32_t count : {1U, 15U, 64U, 65U, 1000U, packing_unit}) {
      std::vector<uint64_t> numbers(count);
      for (auto& number : numbers) number = random() & mask;
      numbers[random() % count] = mask;
      // Exactly as large as needed, so that a sanitizer sees any read beyond.
      const auto packed = std::make_unique<char[]>(packed_bytes(count, width));
      pack_unit(numbers.data(), count, width, packed.get());
      std::vector<uint64_t> unpacked(packing_unit);
      unpack_unit(packed.get(), width, count, 7, unpacked.data());
      for (uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(unpacked[i], numbers[i] + 7) << "width " << width;
        ASSERT_EQ(packed_number(packed.get(), width, i), numbers[i]);
      }
      for (int round = 0; round < 4; ++round) {
        uint64_t low = numbers[random() % count], high = round == 0 ? mask : numbers[random() % count];
        if (low > high) std::swap(low, high);
        std::vector<uint64_t> packed_bits(packing_unit / 64), plain_bits(packing_unit / 64);
        select_packed(packed.get(), width, count, low, high, packed_bits.data());
        select_numbers(numbers.data(), count, low, high, plain_bits.data());
        for (uint32_t i = 0; i < packing_unit; ++i) {
          const bool expected = i < count && low <= numbers[i] && numbers[i] <= high;
          ASSERT_EQ((packed_bits[i / 64] >> (i % 64) & 1) != 0, expected)
              << "width " << width << " number " << i;
          ASSERT_EQ((plain_bits[i / 64] >> (i % 64) & 1) != 0, expected);
        }
      }
    }
  }
}

TEST(BitPackingTest, ChosenNumbersAreListedKeptAndSummed) {
  std::mt19937_64 random(test_seed());
  for (const uint32_t count : {1U, 3U, 7U, 8U, 63U, 64U, 65U, 1000U, packing_unit}) {
    for (const unsigned of_hundred : {0U, 2U, 50U, 100U}) {
      std::vector<uint64_t> numbers(count), bits(packing_unit / 64);
      for (auto& number : numbers) number = random() | uint64_t{1} << 63;
      // Also bits of numbers that there are not.
      for (uint32_t i = 0; i < packing_unit; ++i)
        bits[i / 64] |= uint64_t{random() % 100 < of_hundred} << (i % 64);
      std::vector<uint64_t> expected;
      WideInteger sum = 0;
      for (uint32_t i = 0; i < count; ++i) {
        sum += numbers[i];
        if ((bits[i / 64] >> (i % 64) & 1) != 0) expected.push_back(numbers[i]);
      }
      // Exactly as large as needed, so that a sanitizer sees any write beyond.
      const auto kept = std::make_unique<uint64_t[]>(count + vector_slack);
      const uint32_t chosen = keep_chosen(numbers.data(), count, bits.data(), kept.get());
      ASSERT_EQ(std::vector<uint64_t>(kept.get(), kept.get() + chosen), expected) << count;
      const HalfSums halves = sum_halves(numbers.data(), count);
      ASSERT_TRUE((WideInteger{halves.high} << 32) + WideInteger{halves.low} == sum) << count;

      const uint32_t first = static_cast<uint32_t>(random() % count);
      std::vector<uint16_t> places;
      for (uint32_t i = first; i < count; ++i) {
        if ((bits[i / 64] >> (i % 64) & 1) != 0) places.push_back(static_cast<uint16_t>(i));
      }
      const auto listed = std::make_unique<uint16_t[]>(places.size() + vector_slack);
      const uint32_t found = list_bits(bits.data(), first, count, listed.get());
      ASSERT_EQ(std::vector<uint16_t>(listed.get(), listed.get() + found), places)
          << first << " to " << count;
    }
  }
}

TEST(IntegerStreamTest, ArbitraryBytesAreRefusedOrSafe) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 600, '\0');
    for (auto& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 4);
    if (!bytes.empty()) bytes[0] = static_cast<char>(random() % 6);
    const auto count = static_cast<uint32_t>(random() % 3000 + 1);
    IntegerStream stream;
    size_t position = 0;
    if (!stream.parse(bytes, position, count)) continue;
    ASSERT_LE(position, bytes.size());
    std::vector<uint64_t> numbers(count);
    stream.decode(0, count, numbers.data());
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(stream.at(i), numbers[i]);
  }
}

TEST(IntegerStreamTest, CountingUpTakesNoRoom) {
  std::vector<uint64_t> numbers(block_rows);
  std::iota(numbers.begin(), numbers.end(), uint64_t{1} << 40);
  PageString bytes;
  EXPECT_TRUE(append_integer_stream(numbers, bytes).sloped);
  EXPECT_LT(bytes.size(), 400U);
}

}  // namespace
}  // namespace hailstone
