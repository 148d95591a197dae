// Byte strings and numbers in them. Stored numbers are little-endian; keys use big-endian so that memcmp
// orders them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hailstone {

static_assert(std::endian::native == std::endian::little,
              "stored numbers are read in place on little-endian machines");

/// Any run of bytes; not text, may hold zeros. Does not own.
using ByteView = std::string_view;

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// A string of bytes, from whichever allocator it has its memory.
template <typename Allocator>
using StringWith = std::basic_string<char, std::char_traits<char>, Allocator>;

template <typename T, typename Allocator>
void append_number(StringWith<Allocator>& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Big-endian unsigned number of `width` bytes (1 to 8).
inline uint64_t load_big_endian(const void* from, unsigned width) {
  uint64_t value = 0;
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (unsigned i = 0; i < width; ++i) value = value << 8 | bytes[i];
  return value;
}

inline void store_big_endian(void* to, uint64_t value, unsigned width) {
  auto* bytes = static_cast<unsigned char*>(to);
  for (unsigned i = width; i-- > 0; value >>= 8) bytes[i] = static_cast<unsigned char>(value);
}

/// LEB128 unsigned: 7 bits a byte, low bits first.
template <typename Allocator>
void append_varint(StringWith<Allocator>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

/// Loads a number from `position`, which moves behind it. False: the bytes end before.
template <typename T>
bool take_at(ByteView bytes, size_t& position, T& number) {
  if (position > bytes.size() || bytes.size() - position < sizeof number) return false;
  number = load<T>(bytes.data() + position);
  position += sizeof number;
  return true;
}

/// A cursor over stored bytes. Every take reports running out, so that damaged bytes can never be read past
/// their end.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}
  size_t remaining() const { return rest_.size(); }
  bool empty() const { return rest_.empty(); }

  template <typename T>
  [[nodiscard]] bool take(T& value) {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  [[nodiscard]] bool take_bytes(size_t size, ByteView& bytes) {
    if (rest_.size() < size) return false;
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  [[nodiscard]] bool take_varint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  /// A length (varint) and that many bytes.
  [[nodiscard]] bool take_string(ByteView& bytes) {
    uint64_t size = 0;
    return take_varint(size) && size <= rest_.size() && take_bytes(static_cast<size_t>(size), bytes);
  }

 private:
  ByteView rest_;
};

/// A length (varint) and the bytes; ByteReader::take_string reads it.
template <typename Allocator>
void append_string(StringWith<Allocator>& to, ByteView bytes) {
  append_varint(to, bytes.size());
  to.append(bytes);
}

}  // namespace hailstone
