#include "schema/padding.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace hailstone {
namespace {

constexpr char rest_is_below = 1;
constexpr char rest_is_pads = 2;
constexpr char rest_is_above = 3;

/// `unit` is known to the compiler, as most of the time goes into copies and comparisons of so few bytes.
template <unsigned unit>
void append_padded(ByteView weights, uint32_t pad, std::string& to) {
  constexpr size_t chunk = unit == 3 ? 9 : 8;
  char pad_bytes[4];
  store_big_endian(pad_bytes, pad, unit);
  const auto is_pad = [&](size_t at) { return std::memcmp(weights.data() + at, pad_bytes, unit) == 0; };

  size_t size = weights.size();
  while (size > 0 && is_pad(size - unit)) size -= unit;

  // The next weight that is not a pad decides every marker before it; it is looked for once, so that long
  // runs of pads cost linear time.
  size_t decider = 0;
  char one[chunk + 1];
  for (size_t from = 0;;) {
    const size_t taken = std::min(chunk, size - from);
    std::copy_n(weights.data() + from, taken, one);
    for (size_t filled = taken; filled < chunk; filled += unit) std::memcpy(one + filled, pad_bytes, unit);
    from += taken;
    if (from == size) {
      one[chunk] = rest_is_pads;
    } else {
      decider = std::max(decider, from);
      while (is_pad(decider)) decider += unit;  // ends: the last weight is no pad
      one[chunk] = std::memcmp(weights.data() + decider, pad_bytes, unit) < 0 ? rest_is_below : rest_is_above;
    }
    to.append(one, sizeof one);
    if (from == size) return;
  }
}

}  // namespace

void append_padded_weights(ByteView weights, unsigned unit, uint32_t pad, std::string& to) {
  HAILSTONE_CHECK(unit >= 1 && unit <= 4 && weights.size() % unit == 0, "{} bytes of weights in units of {}",
                  weights.size(), unit);
  switch (unit) {
    case 1:
      return append_padded<1>(weights, pad, to);
    case 2:
      return append_padded<2>(weights, pad, to);
    case 3:
      return append_padded<3>(weights, pad, to);
    default:
      return append_padded<4>(weights, pad, to);
  }
}

void shorten_padded_pairs(std::string& to, size_t begin) {
  constexpr size_t chunk = 8;
  constexpr unsigned first_of_two = 0x80, first_of_three = 0xFF;
  constexpr unsigned least_of_three = first_of_two + ((first_of_three - first_of_two) << 8);
  const size_t size = to.size() - begin;
  // Written behind what is read, and then moved to its place.
  to.resize(begin + size + size + size / 2);
  const auto* read = reinterpret_cast<const unsigned char*>(to.data()) + begin;
  const unsigned char* const end = read + size;
  char* const from = to.data() + begin + size;
  char* write = from;
  const auto put = [&write](unsigned byte) { *write++ = static_cast<char>(byte); };
  while (read != end) {
    for (size_t i = 0; i < chunk && end - read > 1; i += 2, read += 2) {
      const unsigned weight = static_cast<unsigned>(read[0]) << 8 | read[1];
      if (weight < first_of_two) {
        put(weight);
      } else if (weight < least_of_three) {
        put(first_of_two + ((weight - first_of_two) >> 8));
        put(weight - first_of_two);
      } else {
        put(first_of_three);
        put(read[0]);
        put(read[1]);
      }
    }
    if (read != end) put(*read++);  // the chunk's marker, or half of a weight
  }
  const auto written = static_cast<size_t>(write - from);
  std::memmove(to.data() + begin, from, written);
  to.resize(begin + written);
}

int compare_padded_bytes(ByteView a, ByteView b, unsigned char pad) {
  const size_t common = std::min(a.size(), b.size());
  if (common > 0) {
    if (const int order = std::memcmp(a.data(), b.data(), common); order != 0) return order;
  }
  const bool a_is_longer = a.size() > b.size();
  for (const char byte : (a_is_longer ? a : b).substr(common)) {
    const auto weight = static_cast<unsigned char>(byte);
    if (weight != pad) return (weight > pad) == a_is_longer ? 1 : -1;
  }
  return 0;
}

}  // namespace hailstone
