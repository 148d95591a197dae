// Turns stored pieces into blocks and dictionaries. Everything that a later read relies on is tested here, so
// that readers need no checks: hostile bytes are refused when they are loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/page_allocator.h"
#include "base/status.h"
#include "segment/block.h"
#include "segment/segment_format.h"

namespace hailstone {

/// The bytes of a piece: memory of its own, which begins at a multiple of 64 bytes, or what its file lends.
class PieceBuffer {
 public:
  PieceBuffer() = default;
  /// `size` bytes to be written; `piece` is what they are for.
  static Result<PieceBuffer> allocate(const SegmentFile& file, const Piece& piece, size_t size);
  /// Reads the piece and tests its checksum.
  static Result<PieceBuffer> read(const SegmentFile& file, const Piece& piece);
  /// The same without a copy where the file lies in memory: the bytes then begin anywhere, and stay as long
  /// as the file is open.
  static Result<PieceBuffer> borrow(const SegmentFile& file, const Piece& piece);
  ByteView bytes() const { return bytes_; }
  char* data() { return own_.get(); }
  /// Bytes of its own.
  size_t memory() const { return own_.get_deleter().bytes; }

 private:
  /// Tests the checksum.
  Status check(const SegmentFile& file, const Piece& piece) const;

  PageBytes own_;
  ByteView bytes_;
};

/// What the footer knows of a block.
struct BlockContext {
  uint32_t rows = 0;
  bool integer = false;
  uint32_t dictionary_size = 0;
  uint32_t nulls = 0;
  uint64_t far_size = 0;
  Piece piece;
  DecimalDigits decimal = {};
};

class SegmentCodec {
 public:
  static Result<std::shared_ptr<const Block>> load_block(const std::shared_ptr<const SegmentFile>& file,
                                                         const BlockContext& context);
  /// The same block, its near frames decompressed: it is as if it had been stored plain.
  static Result<std::shared_ptr<const Block>> unpack_block(const Block& block, const BlockContext& context);
  static Result<std::shared_ptr<const Dictionary>> load_dictionary(const SegmentFile& file,
                                                                   const Piece& piece, uint32_t size);
  /// Decompresses every frame of a block; all else was tested when it was loaded.
  static Status check_frames(const Block& block);

 private:
  static Result<std::shared_ptr<const Block>> parse_block(const std::shared_ptr<const SegmentFile>& file,
                                                          const BlockContext& context, PieceBuffer piece);
};

}  // namespace hailstone
