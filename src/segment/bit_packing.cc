#include "segment/bit_packing.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "segment/bit_packing.cc"
#include <hwy/foreach_target.h>  // compiles the rest of this file once for each kind of processor
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hailstone {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Word>
using Tag = hn::ScalableTag<Word>;

/// Calls `each(step, lane, vector)` for the vectors of each step (L neighbouring numbers) that holds one of
/// the first `count` numbers.
template <typename Word, typename Each>
HWY_INLINE void for_each_vector(const char* unit, unsigned width, uint32_t count, const Each& each) {
  constexpr unsigned bits = sizeof(Word) * 8;
  constexpr unsigned lanes = packing_unit / bits;
  const Tag<Word> tag;
  const size_t step_lanes = hn::Lanes(tag);
  const auto* words = reinterpret_cast<const Word*>(unit);
  const auto mask =
      hn::Set(tag, static_cast<Word>(width == bits ? ~Word{0} : (Word{1} << (width % bits)) - 1));
  const unsigned steps = (count + lanes - 1) / lanes;
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned bit = step * width;
    const unsigned shift = bit % bits;
    const Word* from = words + bit / bits * lanes;
    if (shift + width <= bits) {
      for (size_t lane = 0; lane < lanes; lane += step_lanes) {
        const auto low = hn::ShiftRightSame(hn::LoadU(tag, from + lane), static_cast<int>(shift));
        each(step, lane, hn::And(low, mask));
      }
    } else {
      for (size_t lane = 0; lane < lanes; lane += step_lanes) {
        const auto low = hn::ShiftRightSame(hn::LoadU(tag, from + lane), static_cast<int>(shift));
        const auto high =
            hn::ShiftLeftSame(hn::LoadU(tag, from + lanes + lane), static_cast<int>(bits - shift));
        each(step, lane, hn::And(hn::Or(low, high), mask));
      }
    }
  }
}

template <typename Word>
HWY_INLINE void store_bits(hn::Mask<Tag<Word>> mask, size_t position, uint64_t* bits) {
  const Tag<Word> tag;
  alignas(8) uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if (hn::Lanes(tag) < 64) word &= (uint64_t{1} << hn::Lanes(tag)) - 1;
  bits[position / 64] |= word << (position % 64);
}

template <typename Word>
void select_words(const char* unit, unsigned width, uint32_t count, uint64_t low, uint64_t high,
                  uint64_t* bits) {
  constexpr unsigned lanes = packing_unit / (sizeof(Word) * 8);
  const Tag<Word> tag;
  const auto from = hn::Set(tag, static_cast<Word>(low));
  const auto span = hn::Set(tag, static_cast<Word>(high - low));
  for_each_vector<Word>(unit, width, count, [&](unsigned step, size_t lane, auto numbers) HWY_ATTR {
    store_bits<Word>(hn::Not(hn::Lt(span, hn::Sub(numbers, from))), size_t{step} * lanes + lane, bits);
  });
}

void SelectPacked(const char* unit, unsigned width, uint32_t count, uint64_t low, uint64_t high,
                  uint64_t* bits) {
  if (width <= 16) {
    select_words<uint16_t>(unit, width, count, low, high, bits);
  } else if (width <= 32) {
    select_words<uint32_t>(unit, width, count, low, high, bits);
  } else {
    select_words<uint64_t>(unit, width, count, low, high, bits);
  }
}

void SelectNumbers(const uint64_t* numbers, uint32_t count, uint64_t low, uint64_t high, uint64_t* bits) {
  const Tag<uint64_t> tag;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(tag));
  const auto from = hn::Set(tag, low);
  const auto span = hn::Set(tag, high - low);
  uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store_bits<uint64_t>(hn::Not(hn::Lt(span, hn::Sub(hn::LoadU(tag, numbers + i), from))), i, bits);
  }
  for (; i < count; ++i) bits[i / 64] |= static_cast<uint64_t>(numbers[i] - low <= high - low) << (i % 64);
}

// Scalar: the gather instructions of many processors are slower than loads (since their microcode guards
// against data sampling), and the newer shifts that this is compiled to need no flags.
void SelectMembers(const uint64_t* numbers, uint32_t count, const uint64_t* members, uint64_t* bits) {
  for (uint32_t first = 0; first < count; first += 64) {
    const uint32_t here = std::min(64U, count - first);
    uint64_t word = 0;
    for (uint32_t i = 0; i < here; ++i) {
      const uint64_t number = numbers[first + i];
      word |= (members[number / 64] >> (number % 64) & 1) << i;
    }
    bits[first / 64] |= word;
  }
}

template <typename Word, typename Number>
void unpack_words(const char* unit, unsigned width, uint32_t count, uint64_t base, Number* to) {
  constexpr unsigned lanes = packing_unit / (sizeof(Word) * 8);
  alignas(64) Word words[packing_unit];
  const Tag<Word> tag;
  for_each_vector<Word>(unit, width, count, [&](unsigned step, size_t lane, auto numbers) HWY_ATTR {
    hn::Store(numbers, tag, words + size_t{step} * lanes + lane);
  });
  // The analyser does not see what vector stores write.
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
  for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<Number>(base) + static_cast<Number>(words[i]);
}

template <typename Number>
void unpack(const char* unit, unsigned width, uint32_t count, uint64_t base, Number* to) {
  if (width <= 16) {
    unpack_words<uint16_t>(unit, width, count, base, to);
  } else if (width <= 32) {
    unpack_words<uint32_t>(unit, width, count, base, to);
  } else {
    unpack_words<uint64_t>(unit, width, count, base, to);
  }
}

void UnpackUnit(const char* unit, unsigned width, uint32_t count, uint64_t base, uint64_t* to) {
  unpack(unit, width, count, base, to);
}

void UnpackShort(const char* unit, unsigned width, uint32_t count, uint64_t base, uint32_t* to) {
  unpack(unit, width, count, base, to);
}

template <typename Word>
void pack_words(const uint64_t* numbers, uint32_t count, unsigned width, Word* to) {
  constexpr unsigned bits = sizeof(Word) * 8;
  constexpr unsigned lanes = packing_unit / bits;
  alignas(64) Word row[lanes];
  const unsigned steps = (count + lanes - 1) / lanes;
  for (unsigned step = 0; step < steps; ++step) {
    const uint64_t* from = numbers + size_t{step} * lanes;
    const unsigned here = std::min(lanes, count - step * lanes);
    for (unsigned lane = 0; lane < here; ++lane) row[lane] = static_cast<Word>(from[lane]);
    for (unsigned lane = here; lane < lanes; ++lane) row[lane] = 0;
    const unsigned bit = step * width;
    const unsigned shift = bit % bits;
    Word* words = to + bit / bits * lanes;
    for (unsigned lane = 0; lane < lanes; ++lane)
      words[lane] = static_cast<Word>(words[lane] | row[lane] << shift);
    if (shift + width > bits) {
      for (unsigned lane = 0; lane < lanes; ++lane)
        words[lanes + lane] = static_cast<Word>(row[lane] >> (bits - shift));
    }
  }
}

void PackUnit(const uint64_t* numbers, uint32_t count, unsigned width, char* to) {
  alignas(64) char words[packing_unit * 8];
  const size_t size = packed_bytes(count, width);
  std::memset(words, 0, size);
  if (width <= 16) {
    pack_words<uint16_t>(numbers, count, width, reinterpret_cast<uint16_t*>(words));
  } else if (width <= 32) {
    pack_words<uint32_t>(numbers, count, width, reinterpret_cast<uint32_t*>(words));
  } else {
    pack_words<uint64_t>(numbers, count, width, reinterpret_cast<uint64_t*>(words));
  }
  std::memcpy(to, words, size);
}

void FindMinimumMaximum(const uint64_t* numbers, uint32_t count, uint64_t* minimum, uint64_t* maximum) {
  const Tag<uint64_t> tag;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(tag));
  uint64_t least = numbers[0], greatest = numbers[0];
  uint32_t i = 0;
  if (count >= lanes) {
    auto low = hn::LoadU(tag, numbers);
    auto high = low;
    for (; i + lanes <= count; i += lanes) {
      const auto vector = hn::LoadU(tag, numbers + i);
      low = hn::Min(low, vector);
      high = hn::Max(high, vector);
    }
    alignas(64) uint64_t lows[64], highs[64];
    hn::Store(low, tag, lows);
    hn::Store(high, tag, highs);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      least = std::min(least, lows[lane]);
      greatest = std::max(greatest, highs[lane]);
    }
  }
  for (; i < count; ++i) {
    least = std::min(least, numbers[i]);
    greatest = std::max(greatest, numbers[i]);
  }
  *minimum = least;
  *maximum = greatest;
}

uint32_t CountDifferent(const uint64_t* left, const uint64_t* right, uint32_t count) {
  const Tag<uint64_t> tag;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(tag));
  uint32_t result = 0;
  uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    result += static_cast<uint32_t>(
        hn::CountTrue(tag, hn::Ne(hn::LoadU(tag, left + i), hn::LoadU(tag, right + i))));
  }
  for (; i < count; ++i) result += left[i] != right[i] ? 1 : 0;
  return result;
}

uint32_t CountEqual(const uint64_t* numbers, uint32_t count, uint64_t value) {
  const Tag<uint64_t> tag;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(tag));
  const auto wanted = hn::Set(tag, value);
  uint32_t result = 0;
  uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    result += static_cast<uint32_t>(hn::CountTrue(tag, hn::Eq(hn::LoadU(tag, numbers + i), wanted)));
  }
  for (; i < count; ++i) result += numbers[i] == value ? 1 : 0;
  return result;
}

uint32_t CountBits(const uint64_t* bits, uint32_t words) {
  const Tag<uint64_t> tag;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(tag));
  auto sums = hn::Zero(tag);
  uint32_t i = 0;
  for (; i + lanes <= words; i += lanes) sums = hn::Add(sums, hn::PopulationCount(hn::LoadU(tag, bits + i)));
  auto result = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(tag, sums)));
  for (; i < words; ++i) result += static_cast<uint32_t>(std::popcount(bits[i]));
  return result;
}

/// Of each byte: the places of its bits that are set, then zeros. Highway's own Compress copies such a table
/// to the stack for each vector, when GCC compiles it for AVX-512.
struct alignas(8) SetPlaces {
  uint8_t of[256][8];
};
constexpr SetPlaces set_places = [] {
  SetPlaces places{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned count = 0;
    for (uint8_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) places.of[byte][count++] = bit;
    }
  }
  return places;
}();

uint32_t ListBits(const uint64_t* bits, uint32_t first, uint32_t last, uint16_t* to) {
  // So many that a byte has a bit for each.
  const hn::CappedTag<uint16_t, 8> tag;
  const hn::Rebind<uint8_t, decltype(tag)> bytes;
  const auto lanes = static_cast<uint32_t>(hn::Lanes(tag));
  uint16_t* next = to;
  for (uint32_t start = first / 64 * 64; start < last; start += 64) {
    uint64_t word = bits[start / 64];
    if (start < first) word &= ~uint64_t{0} << (first - start);
    if (last - start < 64) word &= (uint64_t{1} << (last - start)) - 1;
    for (uint32_t place = start; word != 0; word >>= lanes, place += lanes) {
      const uint64_t here = word & ((uint64_t{1} << lanes) - 1);
      const auto steps = hn::PromoteTo(tag, hn::LoadU(bytes, set_places.of[here]));
      hn::StoreU(hn::Add(steps, hn::Set(tag, static_cast<uint16_t>(place))), tag, next);
      next += std::popcount(here);
    }
  }
  return static_cast<uint32_t>(next - to);
}

uint32_t KeepChosen(const uint64_t* numbers, uint32_t count, const uint64_t* bits, uint64_t* to) {
  const hn::CappedTag<uint64_t, 8> tag;
  const hn::Rebind<uint8_t, decltype(tag)> bytes;
  const auto lanes = static_cast<uint32_t>(hn::Lanes(tag));
  uint64_t* next = to;
  uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const uint64_t here = bits[i / 64] >> (i % 64) & ((uint64_t{1} << lanes) - 1);
    const auto places = hn::PromoteTo(
        tag, hn::PromoteTo(hn::Rebind<uint32_t, decltype(tag)>(), hn::LoadU(bytes, set_places.of[here])));
    hn::StoreU(hn::TableLookupLanes(hn::LoadU(tag, numbers + i), hn::IndicesFromVec(tag, places)), tag, next);
    next += std::popcount(here);
  }
  for (; i < count; ++i) {
    *next = numbers[i];
    next += bits[i / 64] >> (i % 64) & 1;
  }
  return static_cast<uint32_t>(next - to);
}

void SumHalves(const uint64_t* numbers, uint32_t count, HalfSums* sums) {
  const Tag<uint64_t> tag;
  const auto lanes = static_cast<uint32_t>(hn::Lanes(tag));
  const auto low_half = hn::Set(tag, UINT32_MAX);
  auto low = hn::Zero(tag), high = hn::Zero(tag);
  uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto vector = hn::LoadU(tag, numbers + i);
    low = hn::Add(low, hn::And(vector, low_half));
    high = hn::Add(high, hn::ShiftRight<32>(vector));
  }
  sums->low = hn::GetLane(hn::SumOfLanes(tag, low));
  sums->high = hn::GetLane(hn::SumOfLanes(tag, high));
  for (; i < count; ++i) {
    sums->low += numbers[i] & UINT32_MAX;
    sums->high += numbers[i] >> 32;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hailstone
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hailstone {

HWY_EXPORT(SelectPacked);
HWY_EXPORT(SelectNumbers);
HWY_EXPORT(SelectMembers);
HWY_EXPORT(UnpackUnit);
HWY_EXPORT(UnpackShort);
HWY_EXPORT(PackUnit);
HWY_EXPORT(FindMinimumMaximum);
HWY_EXPORT(CountDifferent);
HWY_EXPORT(CountEqual);
HWY_EXPORT(CountBits);
HWY_EXPORT(ListBits);
HWY_EXPORT(KeepChosen);
HWY_EXPORT(SumHalves);

void pack_unit(const uint64_t* numbers, uint32_t count, unsigned width, char* to) {
  HAILSTONE_CHECK(count <= packing_unit && width >= 1 && width <= 64, "{} numbers of {} bits", count, width);
  const uint64_t bits = std::reduce(numbers, numbers + count, uint64_t{0}, std::bit_or());
  HAILSTONE_CHECK(width == 64 || bits >> width == 0, "a number has more than the unit's {} bits", width);
  HWY_DYNAMIC_DISPATCH(PackUnit)(numbers, count, width, to);
}

void unpack_unit(const char* unit, unsigned width, uint32_t count, uint64_t base, uint64_t* to) {
  HWY_DYNAMIC_DISPATCH(UnpackUnit)(unit, width, count, base, to);
}

void unpack_unit(const char* unit, unsigned width, uint32_t count, uint64_t base, uint32_t* to) {
  HWY_DYNAMIC_DISPATCH(UnpackShort)(unit, width, count, base, to);
}

void select_packed(const char* unit, unsigned width, uint32_t count, uint64_t low, uint64_t high,
                   uint64_t* bits) {
  uint64_t found[packing_unit / 64] = {};
  HWY_DYNAMIC_DISPATCH(SelectPacked)(unit, width, count, low, high, found);
  // The last step of a partial unit holds padding: its bits must not get out.
  for (uint32_t word = 0; word * 64 < count; ++word) {
    const uint32_t left = count - word * 64;
    bits[word] |= left >= 64 ? found[word] : found[word] & ((uint64_t{1} << left) - 1);
  }
}

void select_numbers(const uint64_t* numbers, uint32_t count, uint64_t low, uint64_t high, uint64_t* bits) {
  HWY_DYNAMIC_DISPATCH(SelectNumbers)(numbers, count, low, high, bits);
}

void select_members(const uint64_t* numbers, uint32_t count, const uint64_t* members, uint64_t* bits) {
  HWY_DYNAMIC_DISPATCH(SelectMembers)(numbers, count, members, bits);
}

void find_minimum_maximum(const uint64_t* numbers, uint32_t count, uint64_t& minimum, uint64_t& maximum) {
  HWY_DYNAMIC_DISPATCH(FindMinimumMaximum)(numbers, count, &minimum, &maximum);
}

uint32_t count_changes(const uint64_t* numbers, uint32_t count) {
  return count < 2 ? 0 : HWY_DYNAMIC_DISPATCH(CountDifferent)(numbers, numbers + 1, count - 1);
}

uint32_t count_equal(const uint64_t* numbers, uint32_t count, uint64_t value) {
  return HWY_DYNAMIC_DISPATCH(CountEqual)(numbers, count, value);
}

uint32_t count_bits(const uint64_t* bits, uint32_t words) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(bits, words);
}

uint32_t list_bits(const uint64_t* bits, uint32_t first, uint32_t last, uint16_t* to) {
  return HWY_DYNAMIC_DISPATCH(ListBits)(bits, first, last, to);
}

uint32_t keep_chosen(const uint64_t* numbers, uint32_t count, const uint64_t* bits, uint64_t* to) {
  return HWY_DYNAMIC_DISPATCH(KeepChosen)(numbers, count, bits, to);
}

HalfSums sum_halves(const uint64_t* numbers, uint32_t count) {
  HalfSums sums;
  HWY_DYNAMIC_DISPATCH(SumHalves)(numbers, count, &sums);
  return sums;
}

}  // namespace hailstone
#endif
