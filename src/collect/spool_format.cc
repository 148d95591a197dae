#include "collect/spool_format.h"

#include <fmt/format.h>

#include <charconv>

#include "base/hash.h"

namespace hailstone {
namespace {

constexpr ByteView file_magic = "HAILSPL1";
constexpr std::string_view name_prefix = "spool-";
constexpr size_t checked_file_header = spool_file_header_size - 8;
constexpr size_t checked_frame_header = spool_frame_header_size - 8;

/// Over the first bytes of a frame's header and its place.
uint64_t frame_checksum(const char* header, const SpoolPlace& place) {
  std::array<char, checked_frame_header + sizeof place.id + 16> bytes;
  std::memcpy(bytes.data(), header, checked_frame_header);
  char* to = bytes.data() + checked_frame_header;
  std::memcpy(to, place.id.data(), place.id.size());
  store(to + place.id.size(), place.number);
  store(to + place.id.size() + 8, place.offset);
  return checksum({bytes.data(), bytes.size()});
}

}  // namespace

std::string to_text(const SpoolId& id) {
  std::string text;
  for (const char byte : id) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string encode(const SpoolFileHeader& header) {
  std::string positions;
  append_positions(positions, header.positions);
  std::string bytes(file_magic);
  append_number(bytes, spool_format_version);
  append_number(bytes, static_cast<uint32_t>(positions.size()));
  bytes.append(header.id.data(), header.id.size());
  append_number(bytes, header.number);
  append_number(bytes, header.sequence);
  append_number(bytes, checksum(positions));
  append_number(bytes, checksum(bytes));
  return bytes + positions;
}

namespace {

/// Of an intact header.
std::optional<uint32_t> format_of(ByteView bytes) {
  if (bytes.size() < spool_file_header_size || !bytes.starts_with(file_magic)) return std::nullopt;
  if (load<uint64_t>(bytes.data() + checked_file_header) != checksum(bytes.substr(0, checked_file_header)))
    return std::nullopt;
  return load<uint32_t>(bytes.data() + 8);
}

bool is_known(uint32_t format) { return format == spool_format_version || format == spool_format_version_1; }

}  // namespace

std::optional<uint32_t> unknown_spool_format(ByteView bytes) {
  const auto format = format_of(bytes);
  return format && !is_known(*format) ? format : std::nullopt;
}

std::optional<size_t> spool_file_header_extent(ByteView bytes) {
  const auto format = format_of(bytes);
  if (!format || !is_known(*format)) return std::nullopt;
  return spool_file_header_size + load<uint32_t>(bytes.data() + 12);
}

std::optional<SpoolFileHeader> decode_spool_file_header(ByteView bytes, size_t& size) {
  const auto extent = spool_file_header_extent(bytes);
  if (!extent || *extent > bytes.size()) return std::nullopt;
  const ByteView positions = bytes.substr(spool_file_header_size, *extent - spool_file_header_size);
  SpoolFileHeader header;
  std::memcpy(header.id.data(), bytes.data() + 16, header.id.size());
  header.number = load<uint64_t>(bytes.data() + 32);
  header.sequence = load<uint64_t>(bytes.data() + 40);
  if (load<uint64_t>(bytes.data() + 48) != checksum(positions) ||
      !take_positions(positions, header.positions)) {
    return std::nullopt;
  }
  size = *extent;
  return header;
}

void encode(const SpoolFrameHeader& header, const SpoolPlace& place, char* to) {
  std::memcpy(to, spool_frame_magic.data(), 4);
  store(to + 4, header.body_bytes);
  store(to + 8, header.sequence);
  store(to + 16, header.records);
  store(to + 20, header.record_bytes);
  store(to + 24, header.durable);
  store(to + 32, header.body_checksum);
  store(to + 40, frame_checksum(to, place));
}

std::optional<SpoolFrameHeader> decode_spool_frame_header(ByteView bytes, const SpoolPlace& place) {
  if (bytes.size() < spool_frame_header_size || !bytes.starts_with(spool_frame_magic) ||
      load<uint64_t>(bytes.data() + checked_frame_header) != frame_checksum(bytes.data(), place)) {
    return std::nullopt;
  }
  const SpoolFrameHeader header{.body_bytes = load<uint32_t>(bytes.data() + 4),
                                .records = load<uint32_t>(bytes.data() + 16),
                                .sequence = load<uint64_t>(bytes.data() + 8),
                                .record_bytes = load<uint32_t>(bytes.data() + 20),
                                .durable = load<uint64_t>(bytes.data() + 24),
                                .body_checksum = load<uint64_t>(bytes.data() + 32)};
  if (header.record_bytes > header.body_bytes || header.durable > place.offset) return std::nullopt;
  return header;
}

void append_positions(std::string& to, const SourcePositions& positions) {
  for (const auto& [source, position] : positions) {
    append_string(to, source);
    append_string(to, position);
  }
}

bool take_positions(ByteView bytes, SourcePositions& to) {
  ByteReader reader(bytes);
  while (!reader.empty()) {
    ByteView source, position;
    if (!reader.take_string(source) || !reader.take_string(position)) return false;
    if (position.empty()) {
      if (const auto found = to.find(source); found != to.end()) to.erase(found);
    } else {
      to.insert_or_assign(std::string(source), std::string(position));
    }
  }
  return true;
}

std::string spool_file_name(uint64_t number) { return fmt::format("{}{:016x}", name_prefix, number); }

std::optional<uint64_t> parse_spool_file_name(std::string_view name) {
  if (!name.starts_with(name_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(name_prefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || spool_file_name(number) != name) {
    return std::nullopt;
  }
  return number;
}

}  // namespace hailstone
