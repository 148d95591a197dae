// Turns stored pieces into blocks and dictionaries. Everything that a later read relies on is tested here, so
// that readers need no checks: hostile bytes are refused when they are loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "segment/block.h"
#include "segment/segment_format.h"

namespace hailstone {

/// A piece in memory, 64 byte aligned.
class PieceBuffer {
 public:
  PieceBuffer() = default;
  PieceBuffer(PieceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PieceBuffer& operator=(PieceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PieceBuffer();
  /// Reads the piece and tests its checksum.
  static Result<PieceBuffer> read(const SegmentFile& file, const Piece& piece);
  ByteView bytes() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// What the footer knows of a block.
struct BlockContext {
  uint32_t rows = 0;
  bool integer = false;
  uint32_t dictionary_size = 0;
  uint32_t nulls = 0;
  uint64_t far_size = 0;
  Piece piece;
};

class SegmentCodec {
 public:
  static Result<std::shared_ptr<const Block>> load_block(const std::shared_ptr<const SegmentFile>& file,
                                                         const BlockContext& context);
  static Result<std::shared_ptr<const Dictionary>> load_dictionary(const SegmentFile& file,
                                                                   const Piece& piece, uint32_t size);
  /// Decompresses every frame of a block; all else was tested when it was loaded.
  static Status check_frames(const Block& block);
};

}  // namespace hailstone
