#include "schema/decimal_format.h"

#include <algorithm>
#include <type_traits>

#include "base/check.h"
#include "schema/row_codec.h"

namespace hailstone {

namespace {

constexpr unsigned group_digits = 9;  // of a whole group
constexpr std::array<uint8_t, group_digits + 1> bytes_of_digits{0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
constexpr uint64_t sign_bit = uint64_t{1} << 63;

/// Takes the last group's digits off a number. Divisions by constants are many times quicker than others.
template <uint32_t base>
uint32_t take_digits_of(uint64_t& rest) {
  const uint64_t number = rest;
  rest = number / base;
  return static_cast<uint32_t>(number - rest * base);
}

/// Takes digits off each of `rests` and puts them into the bits of `packed` from `shift` on.
template <uint32_t base>
void move_digits_of(std::span<uint64_t> rests, unsigned shift, uint64_t* packed) {
  for (size_t i = 0; i < rests.size(); ++i) packed[i] |= uint64_t{take_digits_of<base>(rests[i])} << shift;
}

/// Calls `with` with a template's argument for the base of a group.
template <typename With>
auto with_base(uint32_t base, With&& with) {
  switch (base) {
    case 10:
      return with(std::integral_constant<uint32_t, 10>());
    case 100:
      return with(std::integral_constant<uint32_t, 100>());
    case 1'000:
      return with(std::integral_constant<uint32_t, 1'000>());
    case 10'000:
      return with(std::integral_constant<uint32_t, 10'000>());
    case 100'000:
      return with(std::integral_constant<uint32_t, 100'000>());
    case 1'000'000:
      return with(std::integral_constant<uint32_t, 1'000'000>());
    case 10'000'000:
      return with(std::integral_constant<uint32_t, 10'000'000>());
    case 100'000'000:
      return with(std::integral_constant<uint32_t, 100'000'000>());
    default:
      return with(std::integral_constant<uint32_t, 1'000'000'000>());
  }
}

uint32_t take_digits(uint64_t& rest, uint32_t base) {
  return with_base(base, [&](auto of) { return take_digits_of<of.value>(rest); });
}

/// Groups of decimals of up to 8 bytes. Groups that there are not stand before the others and have no bits.
struct ShortGroups {
  static constexpr size_t most = 4;
  uint64_t sign = 0, all = 0;
  std::array<uint64_t, most> shifts{}, bits{}, bases{1, 1, 1, 1};
};

// ThreadSanitizer has not begun when the loader chooses among clones.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HAILSTONE_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define HAILSTONE_FOR_EACH_PROCESSOR
#endif
/// Not 0: some are not what pack() makes.
HAILSTONE_FOR_EACH_PROCESSOR
uint64_t scale_decimals(const ShortGroups& groups, const uint64_t* packed, size_t count, uint64_t* to) {
  const ShortGroups of = groups;
  uint64_t wrong = 0;
  for (size_t row = 0; row < count; ++row) {
    // All bits of a negative number, none of another.
    const uint64_t negative = (packed[row] & of.sign) != 0 ? uint64_t{0} : ~uint64_t{0};
    const uint64_t magnitude = (packed[row] ^ of.sign ^ negative) & of.all;
    const uint64_t first = magnitude >> of.shifts[0] & of.bits[0];
    const uint64_t second = magnitude >> of.shifts[1] & of.bits[1];
    const uint64_t third = magnitude >> of.shifts[2] & of.bits[2];
    const uint64_t fourth = magnitude >> of.shifts[3] & of.bits[3];
    const uint64_t number = ((first * of.bases[1] + second) * of.bases[2] + third) * of.bases[3] + fourth;
    // A difference below 0 sets the highest bit.
    wrong |= (of.bases[0] - 1 - first) | (of.bases[1] - 1 - second) | (of.bases[2] - 1 - third) |
             (of.bases[3] - 1 - fourth) | (negative & (number - 1));
    to[row] = ((number ^ negative) - negative) ^ sign_bit;
  }
  return wrong & sign_bit;
}

}  // namespace

DecimalFormat::DecimalFormat(DecimalDigits digits) : digits_(digits) {
  HAILSTONE_CHECK(digits.any() && digits.valid(), "decimals of {} digits, {} of them behind the point",
                  digits.precision, digits.scale);
  const unsigned whole = digits.precision - unsigned{digits.scale};
  add_group(whole % group_digits);
  for (unsigned i = 0; i < whole / group_digits; ++i) add_group(group_digits);
  for (unsigned i = 0; i < digits.scale / group_digits; ++i) add_group(group_digits);
  add_group(digits.scale % group_digits);
  greatest_ -= 1;
}

void DecimalFormat::add_group(unsigned digits) {
  if (digits == 0) return;
  Group& group = groups_[group_count_++];
  group = {.base = 1, .bytes = bytes_of_digits[digits]};
  for (unsigned i = 0; i < digits; ++i) group.base *= 10;
  width_ += group.bytes;
  greatest_ *= group.base;
}

std::optional<WideInteger> DecimalFormat::number(ByteView packed) const {
  bool exact = true;
  const WideInteger result = read(packed, exact);
  return exact ? std::optional(result) : std::nullopt;
}

WideInteger DecimalFormat::any_number(ByteView packed) const {
  bool exact = true;
  return read(packed, exact);
}

WideInteger DecimalFormat::read(ByteView packed, bool& exact) const {
  const char* at = packed.data();
  const bool negative = (static_cast<unsigned char>(at[0]) & 0x80U) == 0;
  __extension__ typedef unsigned __int128 Magnitude;  // which wraps around where bytes are none of pack()
  Magnitude magnitude = 0;
  uint64_t head = 0;  // of the magnitude, while it is short
  for (size_t i = 0; i < group_count_; ++i) {
    const Group& group = groups_[i];
    uint64_t digits = load_big_endian(at, group.bytes);
    if (i == 0) digits ^= sign_of_width(group.bytes);
    if (negative) digits = ~digits & bits_of_width(group.bytes);
    exact = exact && digits < group.base;
    // Two groups fit into 64 bits.
    magnitude = i < 2 ? head = head * group.base + digits : magnitude * group.base + digits;
    at += group.bytes;
  }
  exact = exact && !(negative && magnitude == 0);
  return static_cast<WideInteger>(negative ? -magnitude : magnitude);
}

void DecimalFormat::pack(WideInteger number, char* to) const {
  __extension__ typedef unsigned __int128 Magnitude;
  const bool negative = number < 0;
  Magnitude wide = negative ? -static_cast<Magnitude>(number) : static_cast<Magnitude>(number);
  char* at = to + width_;
  size_t i = group_count_;
  const uint64_t inverted = negative ? ~uint64_t{0} : 0;
  for (; i > 0 && wide >> 64 != 0; --i) {
    const Group& group = groups_[i - 1];
    at -= group.bytes;
    store_big_endian(at, static_cast<uint64_t>(wide % group.base) ^ inverted, group.bytes);
    wide /= group.base;
  }
  for (auto rest = static_cast<uint64_t>(wide); i > 0; --i) {
    const Group& group = groups_[i - 1];
    at -= group.bytes;
    store_big_endian(at, take_digits(rest, group.base) ^ inverted, group.bytes);
  }
  to[0] = static_cast<char>(static_cast<unsigned char>(to[0]) ^ 0x80U);
}

WideInteger DecimalFormat::first_from(ByteView packed) const {
  const auto exact = packed.size() == width_ ? number(packed) : std::nullopt;
  if (exact) return *exact;
  std::array<char, DecimalDigits::most> probe{};
  WideInteger low = -greatest_, high = greatest_ + 1;
  while (low < high) {
    // The sum or the difference of the two may be too wide.
    const WideInteger middle = (low >> 1) + (high >> 1) + (low & high & 1);
    pack(middle, probe.data());
    if (ByteView(probe.data(), width_) < packed) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

WideInteger DecimalFormat::last_until(ByteView packed) const {
  const auto exact = packed.size() == width_ ? number(packed) : std::nullopt;
  return exact ? *exact : first_from(packed) - 1;
}

bool DecimalFormat::numbers(std::span<const uint64_t> packed, uint64_t* to) const {
  ShortGroups groups{.sign = sign_of_width(width_), .all = bits_of_width(width_)};
  unsigned below = width_;
  for (size_t i = 0; i < group_count_; ++i) {
    below -= groups_[i].bytes;
    const size_t place = ShortGroups::most - group_count_ + i;
    groups.shifts[place] = uint64_t{8} * below;
    groups.bits[place] = bits_of_width(groups_[i].bytes);
    groups.bases[place] = groups_[i].base;
  }
  return scale_decimals(groups, packed.data(), packed.size(), to) == 0;
}

void DecimalFormat::pack(std::span<const uint64_t> numbers, uint64_t* to) const {
  constexpr size_t at_once = 256;  // they stay in the cache
  const uint64_t sign = sign_of_width(width_), all = bits_of_width(width_);
  std::array<uint64_t, at_once> rests, packed, turned;
  for (; !numbers.empty(); numbers = numbers.subspan(std::min(at_once, numbers.size()))) {
    const size_t count = std::min(at_once, numbers.size());
    for (size_t i = 0; i < count; ++i) {
      const auto number = static_cast<int64_t>(numbers[i] ^ sign_bit);
      const uint64_t negative = number < 0 ? ~uint64_t{0} : 0;
      rests[i] = (static_cast<uint64_t>(number) ^ negative) - negative;
      packed[i] = 0;
      turned[i] = sign ^ negative;
    }
    // One group of all numbers after the other: divisions by one constant.
    unsigned shift = 0;
    for (size_t group = group_count_; group > 1; --group) {
      with_base(groups_[group - 1].base, [&](auto of) {
        move_digits_of<of.value>({rests.data(), count}, shift, packed.data());
      });
      shift += 8U * groups_[group - 1].bytes;
    }
    for (size_t i = 0; i < count; ++i) to[i] = ((packed[i] | rests[i] << shift) ^ turned[i]) & all;
    to += count;
  }
}

WideInteger DecimalFormat::first_from(uint64_t packed) const {
  if (packed > bits_of_width(width_)) return greatest_ + 1;
  std::array<char, sizeof packed> bytes{};
  store_big_endian(bytes.data(), packed, width_);
  return first_from(ByteView(bytes.data(), width_));
}

WideInteger DecimalFormat::last_until(uint64_t packed) const {
  if (packed > bits_of_width(width_)) return greatest_;
  std::array<char, sizeof packed> bytes{};
  store_big_endian(bytes.data(), packed, width_);
  return last_until(ByteView(bytes.data(), width_));
}

}  // namespace hailstone
