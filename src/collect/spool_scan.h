// One spool file read from its beginning: its header, then frame after frame, each checked before it is given
// out. Says where the intact part ends, and tells a torn tail from damage. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "collect/spool_format.h"
#include "file/filesystem.h"

namespace hailstone {

class SpoolFileScan {
 public:
  /// ErrorCode::Corruption when the file has no intact header, or that of another number: files get their
  /// name only when their header is durable.
  static Result<SpoolFileScan> open(Filesystem& filesystem, const std::string& path, uint64_t number);

  const SpoolFileHeader& header() const { return header_; }
  /// Bytes of the file, as they were when it was opened.
  uint64_t size() const { return size_; }
  /// Where the next frame begins.
  uint64_t offset() const { return offset_; }
  /// Records of the spool before the next frame.
  uint64_t sequence() const { return sequence_; }
  /// The greatest durable position that a frame has named so far.
  uint64_t proven() const { return proven_; }

  /// The next frame, which must end at `end` (an offset, within the file) or before. False: there is no
  /// intact one; frame() and body() are as they were.
  Result<bool> next(uint64_t end);
  const SpoolFrameHeader& frame() const { return frame_; }
  /// Of the frame, valid until the next call.
  ByteView records() const { return ByteView(body_).substr(0, frame_.record_bytes); }
  ByteView positions() const { return ByteView(body_).substr(frame_.record_bytes); }

  /// After next() was false before the file's end: ErrorCode::Corruption when a frame further on proves that
  /// what is broken here had been durable. Else nobody was told of what is behind offset().
  Status check_tail() const;
  std::unexpected<Error> damaged(const std::string& what) const;

 private:
  SpoolFileScan() = default;
  SpoolPlace place(uint64_t offset) const {
    return {.id = header_.id, .number = header_.number, .offset = offset};
  }

  std::unique_ptr<RandomAccessFile> file_;
  SpoolFileHeader header_;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;
  uint64_t sequence_ = 0;
  uint64_t proven_ = 0;
  SpoolFrameHeader frame_;
  std::string body_;
};

/// The records of a frame, one after another.
class SpoolRecords {
 public:
  explicit SpoolRecords(ByteView records) : reader_(records) {}
  /// False: there are no more, or the bytes are none; is_whole() tells.
  bool next(ByteView& record) { return !reader_.empty() && reader_.take_string(record); }
  bool is_whole() const { return reader_.empty(); }

 private:
  ByteReader reader_;
};

}  // namespace hailstone
