#include "segment/bytes_encoder.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "base/hash.h"
#include "segment/integer_stream.h"

namespace hailstone {
namespace {

constexpr int zstd_level = 1;

bool is_null(std::span<const uint64_t> nulls, size_t row) {
  return !nulls.empty() && (nulls[row / 64] >> (row % 64) & 1) != 0;
}

bool parse_digits(ByteView value, uint64_t& number) {
  if (value.size() > max_digits) return false;
  number = 1;
  for (const char c : value) {
    const auto digit = static_cast<unsigned char>(c - '0');
    if (digit > 9) return false;
    number = number * 10 + digit;
  }
  return true;
}

}  // namespace

struct BytesEncoder::Compressor {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(zstd); }
};

BytesEncoder::BytesEncoder() : compressor_(std::make_unique<Compressor>()) {}
BytesEncoder::~BytesEncoder() = default;

bool BytesEncoder::encode_digits(std::span<const ByteView> values, std::span<const uint64_t> nulls,
                                 PageString& to) {
  numbers_.resize(values.size());
  // NULL rows repeat the number before them, or the first: that costs the least.
  uint64_t number = 0;
  size_t leading = 0;
  for (size_t row = 0; row < values.size(); ++row) {
    if (!is_null(nulls, row)) {
      if (!parse_digits(values[row], number)) return false;
    } else if (leading == row) {
      ++leading;
    }
    numbers_[row] = number;
  }
  std::fill_n(numbers_.begin(), leading, numbers_[leading]);
  append_integer_stream(numbers_, to);
  return true;
}

FrameCodec BytesEncoder::compress(ByteView raw, FrameCodec codec, ByteView& stored) {
  stored = raw;
  size_t size = 0;
  if (codec == FrameCodec::Lz4) {
    compressed_.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(raw.size()))));
    size = static_cast<size_t>(LZ4_compress_default(
        raw.data(), compressed_.data(), static_cast<int>(raw.size()), static_cast<int>(compressed_.size())));
  } else if (codec == FrameCodec::Zstd && compressor_->zstd != nullptr) {
    compressed_.resize(ZSTD_compressBound(raw.size()));
    size = ZSTD_compressCCtx(compressor_->zstd, compressed_.data(), compressed_.size(), raw.data(),
                             raw.size(), zstd_level);
    if (ZSTD_isError(size) != 0) size = 0;
  }
  // A frame that hardly shrinks is quicker as it is.
  if (size == 0 || size > raw.size() - raw.size() / 16) return FrameCodec::Raw;
  stored = {compressed_.data(), size};
  return codec;
}

FrameCodec BytesEncoder::choose_codec(std::span<const ByteView> values) {
  // Tries about a frame from the first, the middle and the last part.
  size_t raw = 0, lz4 = 0, zstd = 0;
  for (size_t part = 0; part < 3; ++part) {
    frame_.clear();
    for (size_t row = values.size() * part / 3; row < values.size() && frame_.size() < frame_bytes; ++row) {
      frame_.append(values[row].substr(0, frame_bytes - frame_.size()));
    }
    if (frame_.empty()) continue;
    ByteView stored;
    raw += frame_.size();
    compress(frame_, FrameCodec::Lz4, stored);
    lz4 += stored.size();
    compress(frame_, FrameCodec::Zstd, stored);
    zstd += stored.size();
  }
  // LZ4 decompresses several times as fast as ZSTD: ZSTD has to save an eighth more.
  if (zstd < lz4 - lz4 / 8 && zstd < raw / 10 * 9) return FrameCodec::Zstd;
  return lz4 < raw / 10 * 9 ? FrameCodec::Lz4 : FrameCodec::Raw;
}

Status BytesEncoder::encode_frames(std::span<const ByteView> values, FrameCodec codec, bool far,
                                   const FarWriter& write_far, PageString& to, BlockEntry& entry) {
  std::string codecs;
  std::vector<uint64_t> row_ends, stored_ends, checksums;
  uint64_t stored_total = 0;
  frames_.clear();
  for (size_t row = 0; row < values.size();) {
    // A frame is one value, or several neighbours that stay small together.
    ByteView raw = values[row++];
    if (raw.size() < frame_bytes) {
      frame_.assign(raw);
      while (row < values.size() && frame_.size() + values[row].size() <= frame_bytes)
        frame_.append(values[row++]);
      raw = frame_;
    }
    ByteView stored;
    codecs.push_back(static_cast<char>(compress(raw, codec, stored)));
    row_ends.push_back(row);
    stored_total += stored.size();
    stored_ends.push_back(stored_total);
    if (far) {
      checksums.push_back(checksum(stored));
      HAILSTONE_TRY(write_far(stored));
    } else {
      frames_.insert(frames_.end(), stored.begin(), stored.end());
    }
  }
  entry.far_size = far ? stored_total : 0;
  to.push_back(far ? 1 : 0);
  append_number(to, static_cast<uint32_t>(row_ends.size()));
  to.append(codecs);
  for (const uint64_t end : row_ends) append_number(to, static_cast<uint32_t>(end));
  for (const uint64_t end : stored_ends) append_number(to, end);
  for (const uint64_t sum : checksums) append_number(to, sum);
  to.append(frames_.data(), frames_.size());
  return {};
}

Status BytesEncoder::encode(std::span<const ByteView> values, std::span<const uint64_t> nulls,
                            const FarWriter& write_far, PageString& to, BlockKind& kind, BlockEntry& entry) {
  size_t total = 0;
  const ByteView* only = nullptr;
  bool constant = true;
  for (size_t row = 0; row < values.size(); ++row) {
    if (is_null(nulls, row)) continue;
    if (values[row].size() > max_value_bytes) {
      return fail(
          ErrorCode::RowTooLarge,
          fmt::format(
              "a value of {} bytes is longer than {} bytes, the longest that a segment stores; split it",
              values[row].size(), max_value_bytes));
    }
    total += values[row].size();
    if (only == nullptr) {
      only = &values[row];
    } else if (constant) {
      constant = values[row] == *only;
    }
  }
  if (constant && (only == nullptr || only->size() <= far_block_bytes)) {
    kind = BlockKind::ConstantBytes;
    entry.encoding = Encoding::Constant;
    append_string(to, only == nullptr ? ByteView() : *only);
    return {};
  }
  const size_t start = to.size();
  if (encode_digits(values, nulls, to)) {
    kind = BlockKind::Digits;
    entry.encoding = Encoding::Digits;
    return {};
  }
  to.resize(start);
  numbers_.resize(values.size());
  uint64_t end = 0;
  for (size_t row = 0; row < values.size(); ++row) numbers_[row] = end += values[row].size();
  append_integer_stream(numbers_, to);
  const bool far = total > far_block_bytes;
  const FrameCodec codec = choose_codec(values);
  if (codec == FrameCodec::Raw && !far) {
    kind = BlockKind::Plain;
    entry.encoding = Encoding::Plain;
    for (const ByteView value : values) to.append(value);
    return {};
  }
  kind = BlockKind::Frames;
  entry.encoding = codec == FrameCodec::Raw   ? Encoding::Plain
                   : codec == FrameCodec::Lz4 ? Encoding::Lz4
                                              : Encoding::Zstd;
  return encode_frames(values, codec, far, write_far, to, entry);
}

}  // namespace hailstone
