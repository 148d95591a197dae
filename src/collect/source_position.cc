#include "collect/source_position.h"

#include <filesystem>

#include "base/hash.h"
#include "file/filesystem.h"

namespace hailstone {

namespace {

/// Of the number of the head's bytes: a tail follows. Spool files of version 1 have none.
constexpr uint32_t has_tail = uint32_t{1} << 31;

void append_identity(std::string& to, const SourceIdentity& file) {
  append_number(to, file.device);
  append_number(to, file.inode);
}
bool take_identity(ByteReader& reader, SourceIdentity& file) {
  return reader.take(file.device) && reader.take(file.inode);
}

}  // namespace

SourcePosition beginning_of(const SourceIdentity& file) {
  const FilePiece nothing{.bytes = 0, .hash = checksum({})};
  return {.identity = file, .fingerprint = {.head = nothing, .tail = nothing}, .newer = {}, .header = {}};
}

std::string encode(const SourcePosition& position) {
  std::string bytes;
  append_identity(bytes, position.identity);
  append_number(bytes, position.offset);
  append_number(bytes, position.line);
  const auto& [head, tail] = position.fingerprint;
  append_number(bytes, head.bytes | has_tail);
  append_number(bytes, head.hash);
  append_number(bytes, tail.bytes);
  append_number(bytes, tail.hash);
  append_varint(bytes, position.newer.size());
  for (const SourceIdentity& file : position.newer) append_identity(bytes, file);
  for (const std::string& name : position.header) append_string(bytes, name);
  return bytes;
}

std::optional<SourcePosition> decode_source_position(ByteView bytes) {
  ByteReader reader(bytes);
  SourcePosition position;
  uint64_t newer = 0;
  auto& [head, tail] = position.fingerprint;
  if (!take_identity(reader, position.identity) || !reader.take(position.offset) ||
      !reader.take(position.line) || !reader.take(head.bytes) || !reader.take(head.hash))
    return std::nullopt;
  const bool with_tail = (head.bytes & has_tail) != 0;
  head.bytes &= ~has_tail;
  if (with_tail && (!reader.take(tail.bytes) || !reader.take(tail.hash))) return std::nullopt;
  if (!reader.take_varint(newer)) return std::nullopt;
  for (uint64_t i = 0; i < newer; ++i) {
    if (!take_identity(reader, position.newer.emplace_back())) return std::nullopt;
  }
  while (!reader.empty()) {
    ByteView name;
    if (!reader.take_string(name)) return std::nullopt;
    position.header.emplace_back(name);
  }
  return position;
}

Result<bool> is_still(const std::string& path, const FileFacts& facts, const SourcePosition& position) {
  if (facts.identity != position.identity || facts.size < position.offset) return false;
  return has_fingerprint(path, position.offset, position.fingerprint);
}

Result<bool> is_copy(const std::string& path, const FileFacts& facts, const SourcePosition& position) {
  if (facts.identity == position.identity || facts.size < position.offset || !facts.is_regular) return false;
  if (position.offset == 0 || position.fingerprint.tail.bytes == 0) return false;
  return has_fingerprint(path, position.offset, position.fingerprint);
}

Result<std::optional<std::string>> find_renamed(const std::string& path, const SourcePosition& position) {
  const std::string folder = std::filesystem::path(path).parent_path();
  HAILSTONE_ASSIGN(const auto names, posix_filesystem().list(folder.empty() ? "." : folder));
  for (const std::string& name : names) {
    std::string other = folder.empty() ? name : folder + "/" + name;
    HAILSTONE_ASSIGN(const auto facts, facts_of(other));
    if (other == path || !facts || !facts->is_regular || facts->identity != position.identity) continue;
    HAILSTONE_ASSIGN(const bool same, is_still(other, *facts, position));
    if (same) return other;
  }
  return std::nullopt;
}

}  // namespace hailstone
