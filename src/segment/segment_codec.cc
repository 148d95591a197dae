#include "segment/segment_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <new>

#include "base/hash.h"
#include "segment/bit_packing.h"
#include "segment/block_state.h"
#include "segment/bytes_encoder.h"
#include "segment/zstd_frame.h"

namespace hailstone {
namespace {

/// Whether a number is a 1 and at most max_digits digits.
bool is_digits(uint64_t number) {
  uint64_t power = 1;
  for (size_t digits = 0; digits <= max_digits; ++digits, power *= 10) {
    if (number < power) return false;
    if (number < 2 * power) return true;
  }
  return false;
}

bool all_digits(const IntegerStream& numbers) {
  uint64_t values[packing_unit];
  for (uint32_t first = 0; first < numbers.count(); first += packing_unit) {
    const uint32_t here = std::min(packing_unit, numbers.count() - first);
    numbers.decode(first, here, values);
    if (!std::all_of(values, values + here, is_digits)) return false;
  }
  return true;
}

/// Whether the ends never fall; the last is given back.
bool rising(const IntegerStream& ends, uint64_t& last) {
  uint64_t values[packing_unit];
  last = 0;
  for (uint32_t first = 0; first < ends.count(); first += packing_unit) {
    const uint32_t here = std::min(packing_unit, ends.count() - first);
    ends.decode(first, here, values);
    for (uint32_t i = 0; i < here; ++i) {
      if (values[i] < last) return false;
      last = values[i];
    }
  }
  return true;
}

bool kind_fits(BlockKind kind, const BlockContext& context) {
  if (context.decimal.any())
    return kind == (context.decimal.is_short() ? BlockKind::Integers : BlockKind::WideIntegers);
  return kind != BlockKind::WideIntegers && (kind == BlockKind::Integers) == context.integer &&
         (kind == BlockKind::Codes) == (context.dictionary_size != 0);
}

}  // namespace

Result<PieceBuffer> PieceBuffer::allocate(const SegmentFile& file, const Piece& piece, size_t size) {
  PieceBuffer buffer;
  try {
    buffer.own_ = make_page_bytes(size);
  } catch (const std::bad_alloc&) {
    return fail(
        ErrorCode::OutOfMemory,
        fmt::format("no memory for {} bytes at offset {} of segment file {}; give the process more memory",
                    size, piece.offset, file.path()));
  }
  buffer.bytes_ = {buffer.own_.get(), size};
  return buffer;
}

Status PieceBuffer::check(const SegmentFile& file, const Piece& piece) const {
  if (checksum(bytes_) == piece.checksum) return {};
  return file.corrupt(piece.offset, "a checksum does not match");
}

Result<PieceBuffer> PieceBuffer::read(const SegmentFile& file, const Piece& piece) {
  HAILSTONE_ASSIGN(PieceBuffer buffer, allocate(file, piece, piece.size));
  HAILSTONE_TRY(file.read(piece.offset, piece.size, buffer.data()));
  HAILSTONE_TRY(buffer.check(file, piece));
  return buffer;
}

Result<PieceBuffer> PieceBuffer::borrow(const SegmentFile& file, const Piece& piece) {
  const char* const lent = file.lent(piece.offset, piece.size);
  if (lent == nullptr) return read(file, piece);
  PieceBuffer buffer;
  buffer.bytes_ = {lent, piece.size};
  HAILSTONE_TRY(buffer.check(file, piece));
  return buffer;
}

Result<std::shared_ptr<const Block>> SegmentCodec::load_block(const std::shared_ptr<const SegmentFile>& file,
                                                              const BlockContext& context) {
  HAILSTONE_ASSIGN(PieceBuffer piece, PieceBuffer::borrow(*file, context.piece));
  return parse_block(file, context, std::move(piece));
}

Result<std::shared_ptr<const Block>> SegmentCodec::parse_block(const std::shared_ptr<const SegmentFile>& file,
                                                               const BlockContext& context,
                                                               PieceBuffer piece) {
  auto block = std::make_shared<Block>();
  block->state_ = std::make_unique<Block::State>();
  Block::State& state = *block->state_;
  state.piece = std::move(piece);
  state.file = file;
  state.piece_offset = context.piece.offset;
  state.rows = context.rows;
  const ByteView bytes = state.piece.bytes();
  const auto wrong = [&] {
    return file->corrupt(context.piece.offset, "the structure of a column block is wrong");
  };
  size_t position = 0;
  uint8_t kind = 0, has_nulls = 0;
  if (!take_at(bytes, position, kind) || kind > static_cast<uint8_t>(BlockKind::WideIntegers) ||
      !take_at(bytes, position, has_nulls) || has_nulls > 1) {
    return wrong();
  }
  state.kind = static_cast<BlockKind>(kind);
  if (!kind_fits(state.kind, context) || (has_nulls != 0) != (context.nulls != 0)) return wrong();
  if (has_nulls != 0) {
    const size_t words = (context.rows + 63) / 64;
    if (bytes.size() - position < words * 8) return wrong();
    state.nulls = bytes.data() + position;
    position += words * 8;
    uint32_t nulls = 0;
    for (size_t word = 0; word < words; ++word)
      nulls += static_cast<uint32_t>(std::popcount(state.null_word(word)));
    const uint32_t tail = context.rows % 64;
    if (nulls != context.nulls || (tail != 0 && state.null_word(words - 1) >> tail != 0)) return wrong();
  }
  if (state.kind == BlockKind::ConstantBytes) {
    ByteReader reader(bytes.substr(position));
    if (!reader.take_string(state.text) || !reader.empty()) return wrong();
    return block;
  }
  if (context.decimal.any()) state.decimal.emplace(context.decimal);
  if (state.kind == BlockKind::WideIntegers && !state.high_numbers.parse(bytes, position, context.rows))
    return wrong();
  if (!state.numbers.parse(bytes, position, context.rows)) return wrong();
  if (state.decimal && !state.numbers_have_digits()) return wrong();
  state.numbers_end = position;
  switch (state.kind) {
    case BlockKind::Codes:
      if (!state.numbers.at_most(context.dictionary_size - 1)) return wrong();
      break;
    case BlockKind::Digits:
      if (!all_digits(state.numbers)) return wrong();
      break;
    case BlockKind::Plain:
      if (!rising(state.numbers, state.text_size) || state.text_size != bytes.size() - position)
        return wrong();
      state.text = bytes.substr(position);
      position = bytes.size();
      break;
    case BlockKind::Frames:
      if (!rising(state.numbers, state.text_size) || !state.parse_frames(bytes, position, context))
        return wrong();
      position = bytes.size();
      break;
    case BlockKind::Integers:
    case BlockKind::WideIntegers:
    case BlockKind::ConstantBytes:
      break;
  }
  if (position != bytes.size()) return wrong();
  return block;
}

bool Block::State::numbers_have_digits() const {
  const WideInteger greatest = decimal->greatest();
  WideInteger values[packing_unit];
  for (uint32_t first = 0; first < rows; first += packing_unit) {
    const uint32_t here = std::min(packing_unit, rows - first);
    decode_decimals(first, here, values);
    if (!std::all_of(values, values + here,
                     [&](WideInteger number) { return number >= -greatest && number <= greatest; }))
      return false;
  }
  return true;
}

bool Block::State::parse_frames(ByteView bytes, size_t position, const BlockContext& context) {
  uint8_t far = 0;
  uint32_t count = 0;
  if (!take_at(bytes, position, far) || far > 1 || !take_at(bytes, position, count) || count == 0 ||
      count > context.rows)
    return false;
  const size_t size_of_each = far != 0 ? 21 : 13;
  if (bytes.size() - position < count * size_of_each) return false;
  const char* codecs = bytes.data() + position;
  const char* row_ends = codecs + count;
  const char* stored_ends = row_ends + count * size_t{4};
  const char* checksums = stored_ends + count * size_t{8};
  text = bytes.substr(position + count * size_of_each);
  frames.resize(count);
  uint32_t row = 0;
  uint64_t stored = 0, text_position = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Frame& frame = frames[i];
    const auto codec = static_cast<uint8_t>(codecs[i]);
    if (codec > static_cast<uint8_t>(FrameCodec::Zstd)) return false;
    frame.codec = static_cast<FrameCodec>(codec);
    frame.first_row = row;
    frame.end_row = load<uint32_t>(row_ends + i * size_t{4});
    if (frame.end_row <= row || frame.end_row > context.rows) return false;
    row = frame.end_row;
    frame.stored_begin = stored;
    frame.stored_end = load<uint64_t>(stored_ends + i * size_t{8});
    if (frame.stored_end < stored) return false;
    stored = frame.stored_end;
    frame.text_begin = text_position;
    frame.text_end = numbers.at(row - 1);
    text_position = frame.text_end;
    frame.checksum = far != 0 ? load<uint64_t>(checksums + i * size_t{8}) : 0;
    const uint64_t frame_text = frame.text_end - frame.text_begin;
    const uint64_t stored_size = frame.stored_end - frame.stored_begin;
    if (frame.codec == FrameCodec::Raw ? frame_text != stored_size
                                       : frame_text > max_value_bytes || stored_size > frame_text)
      return false;
    if (frame.codec == FrameCodec::Lz4 && frame_text / 256 > stored_size) return false;
  }
  if (row != context.rows || stored != (far != 0 ? context.far_size : text.size())) return false;
  if (far != 0) {
    if (!text.empty()) return false;
    far_offset = context.piece.offset - context.far_size;
  }
  return far != 0 || context.far_size == 0;
}

Result<std::shared_ptr<const Block>> SegmentCodec::unpack_block(const Block& block,
                                                                const BlockContext& context) {
  // A plain block is the same up to the end of its numbers, and then its text.
  const Block::State& state = *block.state_;
  HAILSTONE_ASSIGN(PieceBuffer plain,
                   PieceBuffer::allocate(*state.file, context.piece, state.numbers_end + state.text_size));
  std::memcpy(plain.data(), state.piece.bytes().data(), state.numbers_end);
  plain.data()[0] = static_cast<char>(BlockKind::Plain);
  for (const auto& frame : state.frames) {
    Arena scratch;
    HAILSTONE_ASSIGN(const ByteView text, state.frame_text(frame, scratch));
    std::memcpy(plain.data() + state.numbers_end + frame.text_begin, text.data(), text.size());
  }
  return parse_block(state.file, context, std::move(plain));
}

Status SegmentCodec::check_frames(const Block& block) {
  const Block::State& state = *block.state_;
  for (const auto& frame : state.frames) {
    Arena scratch;
    HAILSTONE_TRY(state.frame_text(frame, scratch));
  }
  return {};
}

Result<std::shared_ptr<const Dictionary>> SegmentCodec::load_dictionary(const SegmentFile& file,
                                                                        const Piece& piece, uint32_t size) {
  HAILSTONE_ASSIGN(const PieceBuffer buffer, PieceBuffer::borrow(file, piece));
  const auto wrong = [&] { return file.corrupt(piece.offset, "the structure of a dictionary is wrong"); };
  ByteReader reader(buffer.bytes());
  uint64_t text_size = 0, lengths_size = 0, body_size = 0;
  uint8_t compressed = 0;
  if (!reader.take(text_size) || !reader.take(lengths_size) || !reader.take(body_size) ||
      !reader.take(compressed) || compressed > 1 || text_size > max_dictionary_text ||
      lengths_size > body_size || body_size > max_dictionary_text + size_t{max_dictionary_entries} * 10) {
    return wrong();
  }
  ByteView body;
  if (!reader.take_bytes(reader.remaining(), body)) return wrong();
  std::vector<char> unpacked;
  if (compressed != 0) {
    // The frame tells its size itself, so a few bytes cannot claim much memory by a wrong head alone.
    if (ZSTD_getFrameContentSize(body.data(), body.size()) != body_size) return wrong();
    unpacked.resize(body_size);
    HAILSTONE_TRY(decompress_zstd(file, piece.offset, body, unpacked.data(), unpacked.size()));
    body = {unpacked.data(), unpacked.size()};
  }
  if (body.size() != body_size) return wrong();
  auto dictionary = std::make_shared<Dictionary>();
  dictionary->ends_.reserve(size);
  dictionary->text_.reserve(text_size);
  ByteReader lengths(body.substr(0, lengths_size));
  ByteReader text(body.substr(lengths_size));
  size_t previous_begin = 0;
  for (uint32_t code = 0; code < size; ++code) {
    uint64_t shared = 0, length = 0;
    ByteView rest;
    auto& all = dictionary->text_;
    const size_t begin = all.size();
    const size_t previous_size = begin - previous_begin;
    if (!lengths.take_varint(shared) || !lengths.take_varint(length) || shared > previous_size ||
        length > text.remaining() || !text.take_bytes(length, rest) || shared + length > text_size - begin) {
      return wrong();
    }
    // Strictly ascending: the rest must be greater than what it replaces.
    const ByteView replaced(all.data() + previous_begin + shared, previous_size - shared);
    if (code > 0 && rest <= replaced) return wrong();
    all.resize(begin + shared + length);
    std::copy_n(all.data() + previous_begin, shared, all.data() + begin);
    std::copy_n(rest.data(), length, all.data() + begin + shared);
    dictionary->ends_.push_back(static_cast<uint32_t>(all.size()));
    previous_begin = begin;
  }
  if (!lengths.empty() || !text.empty() || dictionary->text_.size() != text_size) return wrong();
  return dictionary;
}

}  // namespace hailstone
