#include "segment/dictionary_builder.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/hash.h"

namespace hailstone {
namespace {

/// Open addressing from a value to its number, by linear probing. A slot keeps half of the hash, so that a
/// value is compared only with likely equals.
class ValueTable {
 public:
  explicit ValueTable(uint64_t expected) : slots_(std::bit_ceil(std::max<uint64_t>(64, expected * 2))) {
    values_.reserve(static_cast<size_t>(expected));
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

  uint32_t number_of(ByteView value, uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
      Slot& slot = slots_[place];
      if (slot.number == empty) {
        slot = {tag, static_cast<uint32_t>(values_.size())};
        values_.push_back(value);
        if (values_.size() * 4 > slots_.size() * 3) grow();
        return static_cast<uint32_t>(values_.size() - 1);
      }
      if (slot.tag == tag && values_[slot.number] == value) return slot.number;
    }
  }

  PageVector<ByteView>& values() { return values_; }

 private:
  static constexpr uint32_t empty = ~uint32_t{0};
  struct Slot {
    uint32_t tag = 0;
    uint32_t number = empty;
  };

  void grow() {
    PageVector<Slot> bigger(slots_.size() * 2);
    const size_t mask = bigger.size() - 1;
    for (size_t number = 0; number < values_.size(); ++number) {
      const uint64_t hash = hash_bytes(values_[number]);
      size_t place = hash & mask;
      while (bigger[place].number != empty) place = (place + 1) & mask;
      bigger[place] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(number)};
    }
    slots_ = std::move(bigger);
  }

  PageVector<Slot> slots_;
  PageVector<ByteView> values_;
};

/// The first eight bytes as a number that orders as they do.
uint64_t prefix_of(ByteView value) {
  if (value.size() >= 8) return load_big_endian(value.data(), 8);
  return value.empty()
             ? 0
             : load_big_endian(value.data(), static_cast<unsigned>(value.size())) << (64 - 8 * value.size());
}

}  // namespace

DistinctSketch sketch_distinct(const OrderedColumn& column) {
  DistinctSketch sketch;
  ByteView previous;
  bool any = false;
  for (uint32_t row = 0; row < column.rows; ++row) {
    if (column.null(row)) continue;
    const ByteView value = column.bytes(row);
    if (any && value == previous) continue;
    sketch.add(hash_bytes(value));
    previous = value;
    any = true;
  }
  return sketch;
}

std::optional<BuiltDictionary> build_dictionary(const OrderedColumn& column, uint64_t expected,
                                                uint64_t limit) {
  BuiltDictionary built;
  built.codes.resize(column.rows);
  ValueTable table(std::min(expected + expected / 16, limit));
  // Batches: the cache misses of a batch's slots overlap.
  constexpr uint32_t batch = 32;
  std::array<ByteView, batch> values;
  std::array<uint64_t, batch> hashes;
  std::array<bool, batch> nulls;
  ByteView previous;
  uint32_t previous_code = 0;
  bool any = false;
  for (uint32_t first = 0; first < column.rows; first += batch) {
    const uint32_t count = std::min(batch, column.rows - first);
    for (uint32_t i = 0; i < count; ++i) {
      nulls[i] = column.null(first + i);
      if (nulls[i]) continue;
      values[i] = column.bytes(first + i);
      hashes[i] = hash_bytes(values[i]);
      table.prefetch(hashes[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (!nulls[i] && !(any && values[i] == previous)) {
        previous_code = table.number_of(values[i], hashes[i]);
        previous = values[i];
        any = true;
      }
      built.codes[first + i] = previous_code;
    }
    if (table.values().size() > limit) return std::nullopt;
  }
  struct Ranked {
    uint64_t prefix;
    uint32_t number;
  };
  const auto& found = table.values();
  PageVector<Ranked> ranked(found.size());
  for (uint32_t i = 0; i < found.size(); ++i) ranked[i] = {prefix_of(found[i]), i};
  std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : found[a.number] < found[b.number];
  });
  PageVector<uint32_t> code_of(found.size());
  built.values.reserve(found.size());
  for (uint32_t code = 0; code < ranked.size(); ++code) {
    code_of[ranked[code].number] = code;
    built.values.push_back(found[ranked[code].number]);
  }
  for (auto& code : built.codes) code = code_of[code];
  return built;
}

std::string encode_dictionary(std::span<const ByteView> values) {
  // Front coding: the length shared with the value before, the length of the rest; all rests behind.
  std::string lengths, text;
  uint64_t total = 0;
  ByteView previous;
  for (const ByteView value : values) {
    const size_t limit = std::min(previous.size(), value.size());
    size_t shared = 0;
    while (shared < limit && previous[shared] == value[shared]) ++shared;
    append_varint(lengths, shared);
    append_varint(lengths, value.size() - shared);
    text.append(value.substr(shared));
    total += value.size();
    previous = value;
  }
  std::string body;
  body.reserve(lengths.size() + text.size());
  body.append(lengths).append(text);
  std::string to;
  append_number(to, total);
  append_number(to, static_cast<uint64_t>(lengths.size()));
  append_number(to, static_cast<uint64_t>(body.size()));
  constexpr int level = 5;
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), level);
  if (ZSTD_isError(size) == 0 && size < body.size()) {
    to.push_back(1);
    to.append(packed, 0, size);
  } else {
    to.push_back(0);
    to.append(body);
  }
  return to;
}

}  // namespace hailstone
