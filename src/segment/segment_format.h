// How a segment file is laid out: what writer and reader share. docs/formats.md, "Segment", has every byte.
// The file is a header, pieces one behind another without gaps, the footer that lists them in order with size
// and checksum, and a trailer that finds the footer. So every byte of the file is covered by a checksum or
// has one allowed value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "file/filesystem.h"
#include "segment/bloom_filter.h"
#include "segment/column_buffer.h"
#include "segment/file_identity.h"

namespace hailstone {

constexpr size_t segment_header_bytes = 16;  // magic, version, zeros
constexpr ByteView segment_magic("HAILSEGM", 8);
constexpr ByteView segment_header("HAILSEGM\3\0\0\0\0\0\0\0", segment_header_bytes);
/// Of files without scaled numbers.
constexpr ByteView segment_header_2("HAILSEGM\2\0\0\0\0\0\0\0", segment_header_bytes);
/// Of files whose footer has no identity, either.
constexpr ByteView segment_header_1("HAILSEGM\1\0\0\0\0\0\0\0", segment_header_bytes);
/// Of the file with this header; 0: of none that is known.
unsigned segment_version(ByteView header);
constexpr ByteView segment_trailer_magic("HAILSEGE", 8);
constexpr size_t segment_trailer_bytes = 32;    // footer offset, footer size, footer checksum, magic
constexpr size_t max_value_bytes = 0x7e000000;  // of one stored bytes value; what LZ4 takes at once
constexpr uint32_t max_dictionary_entries = 4U << 20;
constexpr size_t max_dictionary_text = size_t{128} << 20;
constexpr size_t frame_bytes = size_t{8} << 10;  // values are compressed together up to this
constexpr size_t far_block_bytes = size_t{4}
                                   << 20;  // blocks with more text than this keep their frames outside
constexpr size_t summary_bytes = 16;

/// As INFORMATION_SCHEMA names a block's encoding; the number is stored in the footer.
enum class Encoding : uint8_t {
  Constant,
  BitPacked,
  Delta,
  RunLength,
  IntegerDictionary,
  Sparse,
  Dictionary,
  Digits,
  Plain,
  Lz4,
  Zstd
};
constexpr size_t encoding_count = 11;
std::string_view to_string(Encoding encoding);

/// What a column block's bytes are.
enum class BlockKind : uint8_t {
  Integers = 0,
  Codes = 1,
  ConstantBytes = 2,
  Digits = 3,
  Plain = 4,
  Frames = 5,
  WideIntegers = 6
};

enum class FrameCodec : uint8_t { Raw = 0, Lz4 = 1, Zstd = 2 };

struct Piece {
  uint64_t offset = 0;  // not stored: the pieces before it say it
  uint64_t size = 0;
  uint64_t checksum = 0;
};

struct BlockEntry {
  Encoding encoding = Encoding::Constant;
  uint32_t nulls = 0;
  uint64_t far_size = 0;  // bytes of frames just before the piece
  Piece piece;
  // Of the values as they are outside of the file: of decimals packed.
  uint64_t low = 0, high = 0;      // integers and dictionary codes
  ByteView low_bytes, high_bytes;  // other bytes; into the footer when read
};

struct ColumnEntry {
  StoredColumn column;
  uint64_t raw_bytes = 0;
  uint64_t distinct = 0;
  ByteView sketch{"\0", 1};      // of the distinct values, as DistinctSketch stores it; at first of none
  uint32_t dictionary_size = 0;  // 0: none
  Piece dictionary;
  std::vector<BlockEntry> blocks;
};

/// A Bloom filter's pieces; each but the last has bloom_piece_bytes.
struct FilterEntry {
  uint64_t bytes = 0;  // 0: none
  std::vector<Piece> pieces;
};

/// Keys in order, for search.
struct KeyDirectory {
  std::vector<ByteView> samples;
  ByteView last_key;
  std::vector<uint64_t> distinct_prefixes;
  FilterEntry filter;
};

struct IndexEntry {
  uint32_t entries = 0;
  KeyDirectory keys;
  std::vector<Piece> pieces;  // ordinals, block_rows a piece
};

struct Footer {
  std::optional<FileIdentity> identity;  // older files have none
  uint32_t rows = 0;
  std::vector<ColumnEntry> columns;
  KeyDirectory keys;
  std::vector<IndexEntry> indexes;

  uint32_t blocks() const;
  std::string serialise() const;
  /// Views point into `bytes`. `end` is where the pieces must end: the offset of the footer. False when the
  /// bytes are not a footer of a file of this version.
  [[nodiscard]] bool parse(ByteView bytes, uint64_t end, unsigned version);
  size_t memory() const;
};

/// The open file, shared by a segment and by blocks that read frames of it later.
class SegmentFile {
 public:
  SegmentFile(Filesystem& filesystem, std::unique_ptr<RandomAccessFile> file, Counters& counters)
      : filesystem_(filesystem), file_(std::move(file)), counters_(counters) {}
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;
  ~SegmentFile();

  const std::string& path() const { return file_->path(); }
  Status read(uint64_t offset, size_t size, char* to) const;
  /// RandomAccessFile::lent().
  const char* lent(uint64_t offset, size_t size) const { return file_->lent(offset, size); }
  Result<uint64_t> size() const { return file_->size(); }
  Counters& counters() const { return counters_; }
  /// What the path leads to now.
  Result<std::shared_ptr<SegmentFile>> open_again() const;
  void remove_when_closed() { remove_.store(true, std::memory_order_relaxed); }
  /// An error of ErrorCode::Corruption that names the file, the place and the cure.
  std::unexpected<Error> corrupt(uint64_t offset, std::string_view what) const;
  /// Why a file is not read whose header segment_version() does not know: ErrorCode::Unsupported where the
  /// header names the format of a later release, else Corruption.
  std::unexpected<Error> unknown(ByteView header) const;

 private:
  Filesystem& filesystem_;
  std::unique_ptr<RandomAccessFile> file_;
  Counters& counters_;
  std::atomic<bool> remove_{false};
};

}  // namespace hailstone
