// A record that is sorted: its size and that of its key, four bytes each, the key, and what belongs to it.
// Keys are in the order of their bytes, the shorter one first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace hailstone::sort_record {

constexpr size_t header_bytes = 2 * sizeof(uint32_t);

/// Writes the header of a record; gives where its key begins.
inline char* begin(char* record, size_t size, size_t key_size) {
  store(record, static_cast<uint32_t>(size));
  store(record + sizeof(uint32_t), static_cast<uint32_t>(key_size));
  return record + header_bytes;
}
inline size_t size(const char* record) { return load<uint32_t>(record); }
inline ByteView key(const char* record) {
  return {record + header_bytes, load<uint32_t>(record + sizeof(uint32_t))};
}
/// What stands behind the key.
inline const char* rest(const char* record) { return record + header_bytes + key(record).size(); }

/// The key's eight bytes from `from` on as a number, 0 for those behind its end: of two keys that agree up to
/// there the one with the smaller head comes first, and of equal heads nothing is known.
inline uint64_t head(ByteView key, size_t from) {
  if (from + sizeof(uint64_t) <= key.size()) return __builtin_bswap64(load<uint64_t>(key.data() + from));
  if (from >= key.size()) return 0;
  const auto left = static_cast<unsigned>(key.size() - from);
  return load_big_endian(key.data() + from, left) << (8 * (sizeof(uint64_t) - left));
}

/// Of two keys that agree in their first `from` bytes, or in all of one of them.
inline bool precedes(ByteView left, ByteView right, size_t from) {
  const size_t common = std::min(left.size(), right.size());
  const int order = from < common ? std::memcmp(left.data() + from, right.data() + from, common - from) : 0;
  return order != 0 ? order < 0 : left.size() < right.size();
}

}  // namespace hailstone::sort_record
