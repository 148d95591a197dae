// Files for what a query must put aside when its memory is full: frames of bytes, compressed, each with a
// checksum, read back once or more and gone with the object. docs/formats.md, "Spill files".
//
// A SpillSpace is where the spill files of a database are: it numbers them, counts their bytes, and holds
// them all together to a limit. It is thread-safe and outlives its files. A SpillFile is written by one
// thread; once finish() has returned, any threads may read it at once. Its destructor removes the file. What
// a crash leaves has a name that is_spill_name() knows, and is removed when the database is opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "file/filesystem.h"

namespace hailstone {

class SpillFile;

class SpillSpace {
 public:
  /// `limit`: bytes that all spill files may have together; 0: what the disk has.
  SpillSpace(Filesystem& filesystem, std::string directory, Counters& counters, uint64_t limit)
      : filesystem_(filesystem), directory_(std::move(directory)), counters_(counters), limit_(limit) {}
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  /// Files that are being written are held to it from now on, too.
  void set_limit(uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  /// Bytes of all spill files that there are.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  Result<std::unique_ptr<SpillFile>> create();

  /// Of a file in the directory, without the directory.
  static bool is_spill_name(std::string_view name);

 private:
  friend class SpillFile;
  /// Before so many bytes are written to `path`. ErrorCode::DiskFull: they would be beyond the limit.
  Status take(uint64_t bytes, const std::string& path);
  void give_back(uint64_t bytes);

  Filesystem& filesystem_;
  const std::string directory_;
  Counters& counters_;
  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> next_file_{1};
};

/// Where a frame is in its file.
struct SpilledFrame {
  uint64_t offset = 0;
  uint32_t stored = 0;  // bytes behind its header
  uint32_t size = 0;    // bytes that they were made of
};

class SpillFile {
 public:
  static constexpr size_t most_frame_bytes = size_t{1} << 30;

  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  /// At most most_frame_bytes. After an error the file is of no use any more. ErrorCode::DiskFull names the
  /// file and the cure.
  Result<SpilledFrame> append(ByteView bytes);
  /// Writes what has been held back. Nothing can be appended afterwards.
  Status finish();
  /// Fills `to` with a frame's bytes; `scratch` is the caller's to reuse. ErrorCode::Io, with file and
  /// offset, also for bytes that are not those that were written: no table is damaged by that.
  Status read(const SpilledFrame& frame, std::string& scratch, std::string& to) const;

  const std::string& path() const { return path_; }

 private:
  friend class SpillSpace;
  SpillFile(SpillSpace& space, std::string path) : space_(space), path_(std::move(path)) {}
  Status write_buffer();

  SpillSpace& space_;
  const std::string path_;
  std::unique_ptr<WritableFile> writer_;  // until finish()
  std::unique_ptr<RandomAccessFile> reader_;
  std::string buffer_;  // behind size_
  std::string packed_;
  uint64_t size_ = 0;  // bytes written
};

}  // namespace hailstone
