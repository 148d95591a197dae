#include "delta/version.h"

#include <algorithm>
#include <new>

#include "base/check.h"

namespace hailstone {

namespace {
constexpr size_t older_bytes = sizeof(Version*);
}  // namespace

size_t Version::size_bytes(size_t size) {
  size_t bytes = 1;
  for (; size >= 0x80; size >>= 7) ++bytes;
  return bytes;
}

char* Version::put_size(char* to, size_t size) {
  for (; size >= 0x80; size >>= 7) *to++ = static_cast<char>(size | 0x80);
  *to++ = static_cast<char>(size);
  return to;
}

size_t Version::take_long_size(size_t first, const char*& at) {
  size_t size = first & 0x7f;
  for (unsigned shift = 7;; shift += 7) {
    const auto next = static_cast<unsigned char>(*at++);
    size |= static_cast<size_t>(next & 0x7f) << shift;
    if (next < 0x80) return size;
  }
}

size_t Version::bytes_of(ByteView key, ByteView row, const Version* older,
                         std::span<const std::string> secondary_keys) {
  size_t bytes = (older != nullptr ? older_bytes : 0) + header_bytes + size_bytes(2 * key.size() + 1) +
                 size_bytes(row.size()) + key.size() + row.size();
  for (const std::string& entry : secondary_keys) bytes += size_bytes(entry.size()) + entry.size();
  // The compiler may write the padding behind the members.
  return std::max(bytes, (older != nullptr ? older_bytes : 0) + sizeof(Version));
}

Version* Version::create(char* memory, ByteView key, ByteView row, Timestamp begin, Version* older,
                         std::span<const std::string> secondary_keys) {
  if (older != nullptr) {
    store(memory, older);
    memory += older_bytes;
  }
  auto* const version = new (memory) Version(begin);
  char* to = memory + header_bytes;
  to = put_size(to, 2 * key.size() + (older != nullptr ? 1 : 0));
  to = put_size(to, row.size());
  to = std::copy(key.begin(), key.end(), to);
  to = std::copy(row.begin(), row.end(), to);
  for (const std::string& entry : secondary_keys) {
    to = put_size(to, entry.size());
    to = std::copy(entry.begin(), entry.end(), to);
  }
  return version;
}

void Version::give_life(char* memory) {
  const Span now = span();
  auto* const life = new (memory) Life{.begin = now.begin, .end = infinity};
  state_.store(reinterpret_cast<uint64_t>(life) | lives, std::memory_order_release);
}

ByteView Version::secondary_key(size_t index) const {
  const ByteView whole = row();
  const char* at = whole.data() + whole.size();
  for (;; --index) {
    const size_t size = take_size(at);
    if (index == 0) return {at, size};
    at += size;
  }
}

}  // namespace hailstone
