// Tells how many distinct values it was shown, and can be stored and merged: several segments' sketches of
// one column give the column's number, not a sum. Up to 128 values are told apart exactly, by their hashes;
// more are estimated by HyperLogLog (Flajolet et al., 2007) with 1,024 registers: standard error 3.2 percent.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace hailstone {

class DistinctSketch {
 public:
  static constexpr size_t most_hashes = 128;
  static constexpr size_t register_count = 1024;

  void add(uint64_t hash) {
    if (hash == 0) hash = 1;  // 0 is a free slot; one more value that shares a hash does no harm
    if (count_ <= most_hashes && !add_exact(hash)) return;
    uint8_t& highest = registers_[register_of(hash)];
    const uint8_t rank = rank_of(hash);
    if (highest < rank) highest = rank;
  }
  uint64_t estimate() const;
  /// As if every value of the stored sketch (of take_stored()) had been added here.
  void merge(ByteView stored);

  /// The stored form, at most 1,028 bytes: a varint n, and n hashes in ascending order (8 bytes each); or,
  /// when n is 129, the registers, a byte each.
  void append_stored(std::string& to) const;
  /// Takes a stored form from a file. False: it is none.
  [[nodiscard]] static bool take_stored(ByteReader& reader, ByteView& stored);

  /// A well mixed hash of a number.
  static uint64_t mix(uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
  }

 private:
  static constexpr unsigned register_bits = 10;
  static constexpr uint8_t most_rank = 64 - register_bits + 1;
  static constexpr size_t slot_count = 256;

  static size_t register_of(uint64_t hash) { return hash >> (64 - register_bits); }
  static uint8_t rank_of(uint64_t hash);
  /// False: the hash was there.
  bool add_exact(uint64_t hash);

  std::array<uint64_t, slot_count> slots_{};  // the hashes, by open addressing; 0: free
  size_t count_ = 0;                          // of hashes; most_hashes + 1: there were more
  std::array<uint8_t, register_count> registers_{};
};

}  // namespace hailstone
