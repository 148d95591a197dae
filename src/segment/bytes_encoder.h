// Encodes one block of a bytes column that has no dictionary. One encoder serves a segment being written; not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "base/status.h"
#include "segment/segment_format.h"

namespace hailstone {

class BytesEncoder {
 public:
  /// Writes frames that stay outside of their block, in order.
  using FarWriter = std::function<Status(ByteView)>;

  BytesEncoder();
  ~BytesEncoder();

  /// Appends the body of a block (behind its head) of `values`, those of NULL rows empty; `nulls` has a bit a
  /// row or is empty. Sets encoding, far_size and the kind.
  Status encode(std::span<const ByteView> values, std::span<const uint64_t> nulls, const FarWriter& write_far,
                PageString& to, BlockKind& kind, BlockEntry& entry);

 private:
  struct Frame;
  struct Compressor;
  bool encode_digits(std::span<const ByteView> values, std::span<const uint64_t> nulls, PageString& to);
  Status encode_frames(std::span<const ByteView> values, FrameCodec codec, bool far,
                       const FarWriter& write_far, PageString& to, BlockEntry& entry);
  FrameCodec choose_codec(std::span<const ByteView> values);
  FrameCodec compress(ByteView raw, FrameCodec codec, ByteView& stored);

  std::unique_ptr<Compressor> compressor_;
  std::string frame_, compressed_;
  PageVector<char> frames_;
  PageVector<uint64_t> numbers_;
};

/// Strings of 0 to 18 decimal digits as numbers: a 1 and the digits, so that length and leading zeros
/// survive.
constexpr size_t max_digits = 18;

}  // namespace hailstone
