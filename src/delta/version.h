// A version of a row in a delta, packed: what most versions do not have takes no memory.
//
//   8 bytes   state: (begin << 2) for a committed begin; (transaction << 2 | 1) for the marker of one that is
//             open; (address | 2) of a Life, which a version gets once it is ended
//   u32       number of the write
//   varint    2 * length of the key, + 1 when there is an older version of the key
//   varint    length of the row
//             key, row; per secondary index: varint length of the entry's key (0: no entry), its bytes
//
// The address of the older version is in the 8 bytes before the state, where there is one. The whole is
// aligned to 8 bytes, so up to 7 are left unused behind it.
//
// The state is atomic: commit stamps it beside readers. All else is written before others meet the version,
// but for `older`, which changes under the exclusive latch of the table only.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/timestamp.h"

namespace hailstone {

class Version {
 public:
  /// What a version may take at most beside its keys and its row; what it takes at least is 14 bytes.
  static constexpr size_t most_overhead = 40;

  /// Bytes that create() needs, aligned to 8. `older`: of the same key; null: none.
  static size_t bytes_of(ByteView key, ByteView row, const Version* older,
                         std::span<const std::string> secondary_keys);
  /// Makes a version in such memory.
  static Version* create(char* memory, ByteView key, ByteView row, Timestamp begin, Version* older,
                         std::span<const std::string> secondary_keys);
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  struct Span {
    Timestamp begin;
    Timestamp end;
  };
  Span span() const {
    const uint64_t state = state_.load(std::memory_order_acquire);
    switch (state & kind_bits) {
      case committed:
        return {state >> kind_width, infinity};
      case open:
        return {marker_of(state >> kind_width), infinity};
      default: {
        const Life& life = life_of(state);
        // In this order, as a reader that misses the end of a version may do so only if it sees no newer one.
        const Timestamp begin = life.begin.load(std::memory_order_acquire);
        return {begin, life.end.load(std::memory_order_acquire)};
      }
    }
  }
  Timestamp begin() const { return span().begin; }
  Timestamp end() const { return span().end; }

  /// Its transaction has committed.
  void stamp_begin(Timestamp begin) {
    const uint64_t state = state_.load(std::memory_order_acquire);
    if ((state & kind_bits) == lives) {
      life_of(state).begin.store(begin, std::memory_order_release);
    } else {
      state_.store(state_of(begin), std::memory_order_release);
    }
  }

  /// Where begin and end of a version are that has been ended, or was.
  struct Life {
    std::atomic<Timestamp> begin;
    std::atomic<Timestamp> end;
  };
  bool has_life() const { return (state_.load(std::memory_order_acquire) & kind_bits) == lives; }
  /// `memory`: for a Life, which stays there as long as the version; only for one without.
  void give_life(char* memory);
  /// Of one that has a Life. Infinity takes the end back.
  void set_end(Timestamp end) {
    life_of(state_.load(std::memory_order_acquire)).end.store(end, std::memory_order_release);
  }

  /// Number of the write within its transaction: readers of that tell by it what is new.
  uint32_t write() const { return write_; }
  void set_write(uint32_t number) { write_ = number; }

  ByteView key() const {
    const char* at = bytes();
    const size_t size = take_size(at) >> 1;
    skip_size(at);
    return {at, size};
  }
  ByteView row() const {
    const char* at = bytes();
    const size_t key_size = take_size(at) >> 1, row_size = take_size(at);
    return {at + key_size, row_size};
  }
  /// Index key + clustered key of an entry in a secondary index; empty: not in that index.
  ByteView secondary_key(size_t index) const;

  Version* older() const {
    const char* at = bytes();
    return (take_size(at) & 1) == 0 ? nullptr : load<Version*>(reinterpret_cast<const char*>(this) - 8);
  }
  /// Of a version that has an older one; null: not any more.
  void set_older(Version* version) { store(reinterpret_cast<char*>(this) - 8, version); }

 private:
  static constexpr unsigned kind_width = 2;
  static constexpr uint64_t kind_bits = 3, committed = 0, open = 1, lives = 2;
  static constexpr size_t header_bytes = 12;

  explicit Version(Timestamp begin) : state_(state_of(begin)) {}

  static uint64_t state_of(Timestamp begin) {
    return is_marker(begin) ? transaction_of(begin) << kind_width | open : begin << kind_width | committed;
  }
  static Life& life_of(uint64_t state) {
    // The address shares its word with the kind.
    return *reinterpret_cast<Life*>(state & ~kind_bits);  // NOLINT(performance-no-int-to-ptr)
  }

  const char* bytes() const { return reinterpret_cast<const char*>(this) + header_bytes; }
  static size_t size_bytes(size_t size);
  static char* put_size(char* to, size_t size);
  static size_t take_size(const char*& at) {
    const auto first = static_cast<unsigned char>(*at++);
    return first < 0x80 ? first : take_long_size(first, at);
  }
  static size_t take_long_size(size_t first, const char*& at);
  static void skip_size(const char*& at) {
    while ((static_cast<unsigned char>(*at++) & 0x80) != 0) {
    }
  }

  std::atomic<uint64_t> state_;
  uint32_t write_ = 0;
  // The sizes begin here, where the compiler may have 4 bytes of padding.
};

}  // namespace hailstone
