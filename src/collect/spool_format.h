// The bytes of spool files; docs/formats.md has the picture. A file is a header and frames; a frame is what
// one append wrote: records, and where the sources of the records stand behind them.
//
// A frame's checksum also covers which spool, file and offset it was written for, so that a copy of it, which
// may be a record of another spool, is never taken for a frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace hailstone {

constexpr size_t spool_file_header_size = 64;  // without the positions behind it
constexpr size_t spool_frame_header_size = 48;
/// Files of version 1 have positions without the end of what was read.
constexpr uint32_t spool_format_version = 2;
constexpr uint32_t spool_format_version_1 = 1;
constexpr ByteView spool_frame_magic = "HSPF";

/// Tells one spool from all others; random.
using SpoolId = std::array<char, 16>;

/// In hexadecimal digits.
std::string to_text(const SpoolId& id);

/// Where each source stands, by its name: bytes that only the source understands, never empty.
using SourcePositions = std::map<std::string, std::string, std::less<>>;

struct SpoolFileHeader {
  SpoolId id{};
  uint64_t number = 0;    // of the file; files of a spool are numbered without gaps
  uint64_t sequence = 0;  // records of the spool before this file
  SourcePositions positions{};
};

struct SpoolFrameHeader {
  uint32_t body_bytes = 0;
  uint32_t records = 0;
  uint64_t sequence = 0;      // records of the spool before this frame
  uint32_t record_bytes = 0;  // of the body; the rest are positions
  uint64_t durable = 0;       // bytes of this file that were known durable when the frame was written
  uint64_t body_checksum = 0;
};

/// The place for which a frame is written.
struct SpoolPlace {
  SpoolId id{};
  uint64_t number = 0;
  uint64_t offset = 0;
};

/// The header of a file with its positions.
std::string encode(const SpoolFileHeader& header);
/// `bytes` begin with the header; `size` becomes what it takes. Nothing when they are no header, or damaged.
std::optional<SpoolFileHeader> decode_spool_file_header(ByteView bytes, size_t& size);
/// The format of a file with an intact header that this release does not know; nothing: it is known, or no
/// header.
std::optional<uint32_t> unknown_spool_format(ByteView bytes);
/// What the header takes with its positions, by its first spool_file_header_size bytes; nothing as above.
std::optional<size_t> spool_file_header_extent(ByteView bytes);

/// Writes spool_frame_header_size bytes.
void encode(const SpoolFrameHeader& header, const SpoolPlace& place, char* to);
/// Nothing when the bytes are no frame header of this place, or damaged.
std::optional<SpoolFrameHeader> decode_spool_frame_header(ByteView bytes, const SpoolPlace& place);

void append_positions(std::string& to, const SourcePositions& positions);
/// Takes positions over into `to`; an empty one removes the source. False: the bytes are no positions.
bool take_positions(ByteView bytes, SourcePositions& to);

std::string spool_file_name(uint64_t number);
/// Nothing for the name of another kind of file.
std::optional<uint64_t> parse_spool_file_name(std::string_view name);

}  // namespace hailstone
