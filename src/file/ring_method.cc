// IoMethod::Async and IoMethod::Direct: windows on their way through io_uring. They differ in how the file
// was opened and in how many windows there are.
#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "file/ring.h"
#include "file/windows.h"

namespace hailstone {
namespace {

/// Requests for the windows of one stream, by their index.
class WindowRing {
 public:
  static Result<std::unique_ptr<WindowRing>> make(SystemCalls& calls, Windows& windows) {
    HAILSTONE_ASSIGN(auto ring, Ring::make(calls, static_cast<unsigned>(windows.count())));
    std::vector<iovec> buffers;
    for (const Window& window : windows.all()) buffers.push_back({window.bytes, windows.bytes()});
    ring->register_buffers(buffers);
    return std::unique_ptr<WindowRing>(new WindowRing(std::move(ring), windows));
  }

  void start(const OpenFile& file, Window& window, bool is_write) {
    window.done = 0;
    window.error_number = 0;
    request(file, window, is_write);
  }

  Status submit() { return ring_->submit(); }

  /// Waits until nothing of the window is on its way: it is done or has failed, or (reading) the file has
  /// ended.
  Status finish(const OpenFile& file, Window& window, bool is_write) {
    // Others that are queued must be on their way while this one is used.
    if (!window.on_its_way) return ring_->submit();
    while (window.on_its_way) {
      HAILSTONE_ASSIGN(const Ring::Completion completion, ring_->wait());
      Window& completed = windows_.all()[completion.buffer];
      completed.on_its_way = false;
      note(file, completed, completion.result, is_write);
    }
    return {};
  }

 private:
  WindowRing(std::unique_ptr<Ring> ring, Windows& windows) : windows_(windows), ring_(std::move(ring)) {}

  void note(const OpenFile& file, Window& window, int result, bool is_write) {
    if (result == -EINTR || result == -EAGAIN) {
      request(file, window, is_write);
    } else if (result < 0) {
      window.error_number = -result;
    } else if (result == 0) {
      if (is_write) window.error_number = EIO;
    } else {
      window.done = std::min(window.size, window.done + static_cast<size_t>(result));
      // A request that fell short goes on where it ended, which with O_DIRECT may be within a sector.
      if (file.is_direct && window.done < window.size) window.done -= window.done % io_alignment;
      const bool at_end = !is_write && window.begin + window.done >= file.size;
      const bool moved = !file.is_direct || result >= static_cast<int>(io_alignment);
      if (window.done < window.size && !at_end && moved) request(file, window, is_write);
      // A write that cannot even reach the next block has met the end of what there is room for.
      if (is_write && !moved && window.done < window.size) window.error_number = ENOSPC;
    }
  }

  void request(const OpenFile& file, Window& window, bool is_write) {
    const size_t left = window.size - window.done;
    ring_->queue({.file = file.number(),
                  .is_write = is_write,
                  .bytes = window.bytes + window.done,
                  .size = file.is_direct ? io_aligned(left) : left,
                  .offset = window.begin + window.done,
                  .buffer = window.index});
    window.on_its_way = true;
  }

  Windows& windows_;
  std::unique_ptr<Ring> ring_;  // goes before the windows' memory does
};

class RingSource final : public WindowSource {
 public:
  explicit RingSource(std::unique_ptr<WindowRing> ring) : ring_(std::move(ring)) {}
  Status start(const OpenFile& file, Window& window) override {
    ring_->start(file, window, false);
    return {};
  }
  Status finish(const OpenFile& file, Window& window) override {
    HAILSTONE_TRY(ring_->finish(file, window, false));
    if (window.error_number != 0) return cannot_read(file, window.begin, window.size, window.error_number);
    if (window.done == window.size) return {};
    const int64_t end = file.calls.size(file.number());
    if (end < 0 || static_cast<uint64_t>(end) >= window.begin + window.size)
      return cannot_read(file, window.begin, window.size, EIO);
    return ends_early(file.path, static_cast<uint64_t>(end), window.begin, window.size);
  }

 private:
  const std::unique_ptr<WindowRing> ring_;
};

class RingSink final : public WindowSink {
 public:
  RingSink(std::unique_ptr<WindowRing> ring, uint64_t end_of_file)
      : ring_(std::move(ring)), end_(end_of_file) {}
  Status start(const OpenFile& file, Window& window) override {
    HAILSTONE_CHECK(!file.is_direct || window.begin % io_alignment == 0, "file {}: a window begins at {}",
                    file.path, window.begin);
    ring_->start(file, window, true);
    const size_t size = file.is_direct ? io_aligned(window.size) : window.size;
    end_ = std::max(end_, window.begin + size);
    // At once: the disk is to be busy while the next window fills.
    return ring_->submit();
  }
  Status finish(const OpenFile& file, Window& window) override {
    HAILSTONE_TRY(ring_->finish(file, window, true));
    if (window.error_number != 0) return cannot_write(file, window.begin, window.size, window.error_number);
    return {};
  }
  uint64_t end_of_file() const override { return end_; }
  void note_end(uint64_t size) override { end_ = size; }

 private:
  const std::unique_ptr<WindowRing> ring_;
  uint64_t end_;
};

}  // namespace

Result<std::unique_ptr<WindowSource>> make_ring_source(SystemCalls& calls, Windows& windows) {
  HAILSTONE_ASSIGN(auto ring, WindowRing::make(calls, windows));
  return std::make_unique<RingSource>(std::move(ring));
}

Result<std::unique_ptr<WindowSink>> make_ring_sink(SystemCalls& calls, Windows& windows,
                                                   uint64_t end_of_file) {
  HAILSTONE_ASSIGN(auto ring, WindowRing::make(calls, windows));
  return std::make_unique<RingSink>(std::move(ring), end_of_file);
}

}  // namespace hailstone
