#include "base/md5.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace hailstone {

namespace {

constexpr size_t md5_block = 64;

/// Of each of the 64 steps: the bits of a sine, as the RFC has them.
const std::array<uint32_t, md5_block>& md5_sines() {
  static const auto sines = [] {
    std::array<uint32_t, md5_block> all{};
    for (size_t i = 0; i < all.size(); ++i)
      all[i] =
          static_cast<uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
    return all;
  }();
  return sines;
}

struct Md5State {
  uint32_t a = 0x6745'2301, b = 0xEFCD'AB89, c = 0x98BA'DCFE, d = 0x1032'5476;

  using Words = std::array<uint32_t, 16>;
  using Sines = std::array<uint32_t, md5_block>;

  template <int turn, typename Mix>
  void step(uint32_t added, Mix mix) {
    const uint32_t sum = a + mix(b, c, d) + added;
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, turn);
  }

  /// 16 steps: `mix` of b, c and d; the word that a step reads is its number times `factor` and `first`.
  template <size_t begin, size_t factor, size_t first, int... turns, typename Mix>
  void round(const Words& words, const Sines& sines, Mix mix) {
    constexpr std::array<int, 4> of_steps{turns...};
    [&]<size_t... i>(std::index_sequence<i...>) {
      (step<of_steps[i % 4]>(sines[begin + i] + words[(i * factor + first) % 16], mix), ...);
    }
    (std::make_index_sequence<16>());
  }

  void add(const char* block) {
    Words words;
    std::memcpy(words.data(), block, md5_block);
    const Sines& sines = md5_sines();
    const Md5State before = *this;
    using Bits = uint32_t;
    round<0, 1, 0, 7, 12, 17, 22>(words, sines, [](Bits x, Bits y, Bits z) { return z ^ (x & (y ^ z)); });
    round<16, 5, 1, 5, 9, 14, 20>(words, sines, [](Bits x, Bits y, Bits z) { return y ^ (z & (x ^ y)); });
    round<32, 3, 5, 4, 11, 16, 23>(words, sines, [](Bits x, Bits y, Bits z) { return x ^ y ^ z; });
    round<48, 7, 0, 6, 10, 15, 21>(words, sines, [](Bits x, Bits y, Bits z) { return y ^ (x | ~z); });
    a += before.a;
    b += before.b;
    c += before.c;
    d += before.d;
  }
};

}  // namespace

Md5Digest md5(ByteView bytes) {
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  Md5State state;
  for (; bytes.size() >= md5_block; bytes.remove_prefix(md5_block)) state.add(bytes.data());
  // The rest, a bit that is set, zeros, and the length.
  std::array<char, 2 * md5_block> end{};
  std::ranges::copy(bytes, end.begin());
  end[bytes.size()] = static_cast<char>(0x80);
  const size_t size = bytes.size() + 1 + sizeof(bits) <= md5_block ? md5_block : 2 * md5_block;
  std::memcpy(end.data() + size - sizeof(bits), &bits, sizeof(bits));
  for (size_t at = 0; at < size; at += md5_block) state.add(end.data() + at);
  Md5Digest result;
  std::memcpy(result.data(), &state, result.size());
  return result;
}

}  // namespace hailstone
