// The inside of a Block, shared by the reader of its values (block.cc) and by the loader (segment_codec.cc).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "segment/block.h"
#include "segment/integer_stream.h"
#include "segment/segment_codec.h"
#include "segment/wide_halves.h"

namespace hailstone {

struct Block::State {
  /// Values compressed together.
  struct Frame {
    FrameCodec codec;
    uint32_t first_row, end_row;
    uint64_t text_begin, text_end;      // in the block's text
    uint64_t stored_begin, stored_end;  // in the frames' bytes
    uint64_t checksum;                  // of far frames
  };

  /// A closed range of scaled numbers.
  struct NumberRange {
    WideInteger low = 0, high = 0;
  };

  BlockKind kind = BlockKind::Integers;
  uint32_t rows = 0;
  const char* nulls = nullptr;  // bitmap in words, null when no row is NULL
  IntegerStream numbers;        // values, codes, digits or ends of values; the low halves of wide integers
  IntegerStream high_numbers;   // WideIntegers: the high halves
  std::optional<DecimalFormat> decimal;  // of a column of decimals: the numbers are scaled ones
  ByteView text;                         // Plain: all values; ConstantBytes: the value; Frames: near frames
  uint64_t text_size = 0;                // Plain, Frames: of all values
  size_t numbers_end = 0;                // where `numbers` end in the piece
  std::vector<Frame> frames;
  std::shared_ptr<const SegmentFile> file;
  uint64_t piece_offset = 0;
  uint64_t far_offset = 0;  // of the first far frame; 0: frames are near
  PieceBuffer piece;
  /// Frames: bytes of text decompressed to read values, those of scans at a fraction.
  mutable std::atomic<uint64_t> decompressed_again = 0;

  uint64_t null_word(size_t word) const { return load<uint64_t>(nulls + word * 8); }
  bool is_null(uint32_t row) const {
    return nulls != nullptr && (null_word(row / 64) >> (row % 64) & 1) != 0;
  }
  /// Leaves only rows of the block that are not NULL.
  void restrict(BlockBitmap& bitmap) const;
  /// Whether scaled numbers have no more digits than the column's decimals.
  bool numbers_have_digits() const;
  void decode_decimals(uint32_t first, uint32_t count, WideInteger* to) const;
  void gather_decimals(std::span<const uint16_t> chosen, WideInteger* to) const;
  void gather_packed(std::span<const uint16_t> chosen, Arena& scratch, ByteView* to) const;
  /// Rows whose scaled number lies in one of the ranges (sorted, disjoint).
  void select_decimals(std::vector<NumberRange> ranges, BlockBitmap& bitmap) const;
  void select_halves(std::span<const NumberRange> ranges, BlockBitmap& bitmap) const;
  /// Takes the frames of a block from behind its ends; false when they are wrong.
  [[nodiscard]] bool parse_frames(ByteView bytes, size_t position, const BlockContext& context);
  /// The text of a frame, in the block or in `scratch`.
  Result<ByteView> frame_text(const Frame& frame, Arena& scratch) const;
};

}  // namespace hailstone
