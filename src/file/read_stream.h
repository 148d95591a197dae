// Reads a file mostly front to back through windows, some of which may be on their way while one is used
// (WindowSource). For one thread at a time. It can be bound to one file after another.
#pragma once

#include <cstring>
#include <memory>

#include "file/windows.h"

namespace hailstone {

class ReadStream {
 public:
  /// ErrorCode::Unsupported where the kernel does not offer what the method needs. IoMethod::Sync has no
  /// streams.
  static Result<std::unique_ptr<ReadStream>> make(SystemCalls& calls, const IoSettings& settings);
  ~ReadStream();

  /// Goes on with this file; nothing behind `limit` is read ahead. Waits for what is on its way.
  void bind(std::shared_ptr<const OpenFile> file, uint64_t limit);
  void unbind();
  const OpenFile* file() const { return file_.get(); }

  /// Exactly `size` bytes at `offset`. ErrorCode::Corruption where the file, or the limit, ends before.
  Status read(uint64_t offset, size_t size, char* to) {
    if (offset >= begin_ && offset + size <= end_) {
      std::memcpy(to, bytes_ + (offset - begin_), size);
      return {};
    }
    return read_on(offset, size, to);
  }
  /// From where to where a read may begin that finds its window in memory, on its way, or as the next.
  uint64_t begin() const { return base_ + first_ * window_bytes_; }
  uint64_t end() const { return base_ + next_ * window_bytes_; }
  bool leads_to(uint64_t offset) const { return offset >= begin() && offset <= end(); }

 private:
  ReadStream(Windows windows, unsigned ahead)
      : windows_(std::move(windows)), window_bytes_(windows_.bytes()), ahead_(ahead) {}
  Status read_on(uint64_t offset, size_t size, char* to);
  Result<Window*> window_at(uint64_t offset);
  Status start_next();
  /// Waits for what is on its way; what it says is of no interest any more.
  void drain();

  Windows windows_;
  const size_t window_bytes_;
  const unsigned ahead_;  // windows started beyond the one in use
  std::shared_ptr<const OpenFile> file_;
  uint64_t limit_ = 0;
  // Window number n begins at base_ + n * window_bytes_; those in [first_, next_) are started.
  uint64_t base_ = 0, first_ = 0, next_ = 0;
  // The window in use.
  uint64_t begin_ = 0, end_ = 0;
  const char* bytes_ = nullptr;
  std::unique_ptr<WindowSource> source_;  // goes first: it may still write to the windows
};

}  // namespace hailstone
