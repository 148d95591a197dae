// A file written front to back through windows (WindowSink). Windows end at multiples of io_alignment in the
// file, or of their own size where they are smaller: the first one of a file that is not begun at such a
// place is shorter therefore.
#pragma once

#include <optional>

#include "file/filesystem.h"
#include "file/windows.h"

namespace hailstone {

class WriteStream final : public WritableFile {
 public:
  /// Goes on at the end of the file, which no other writes to. ErrorCode::Unsupported where the kernel or the
  /// filesystem does not offer what the method needs.
  static Result<std::unique_ptr<WriteStream>> make(OpenFile file, const IoSettings& settings);
  ~WriteStream() override;

  Status append(ByteView bytes) override;
  /// Nothing: such a file is synced once, at its end.
  Status preallocate(uint64_t bytes) override;
  Status cut() override;
  Status sync() override;
  Status close() override;
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_.path; }

 private:
  WriteStream(OpenFile file, const IoSettings& settings, Windows windows);
  Status append_on(ByteView bytes);
  /// Begins the current window at `offset`.
  void begin_window(uint64_t offset);
  /// Hands over the current window, and takes the next.
  Status hand_over();
  /// Writes all that was appended, and cuts what lies behind it.
  Status flush();
  Status finish_all();
  /// The first failure is that of all later calls: what came after it would lie behind a hole.
  Status remember(Status status);

  OpenFile file_;
  const IoMethod method_;
  Windows windows_;
  const size_t window_bytes_;
  uint64_t size_;
  Window* current_ = nullptr;
  size_t capacity_ = 0;   // of the current window; its size is what it holds
  uint64_t next_ = 0;     // number of the window after the current one
  bool flushed_ = false;  // the current window has been written as far as it is filled
  bool cut_ = false;      // since the last sync
  std::optional<Error> error_;
  std::unique_ptr<WindowSink> sink_;  // goes first: it may still read from the windows
};

}  // namespace hailstone
