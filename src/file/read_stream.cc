#include "file/read_stream.h"

#include <algorithm>

namespace hailstone {

Result<std::unique_ptr<ReadStream>> ReadStream::make(SystemCalls& calls, const IoSettings& settings) {
  const size_t window = io_aligned(std::max(settings.window_bytes, io_alignment));
  const bool with_ring = settings.method == IoMethod::Async || settings.method == IoMethod::Direct;
  const unsigned ahead = settings.method == IoMethod::Direct ? std::max(settings.queue_depth, 1U)
                         : with_ring                         ? 1
                                                             : 0;
  // One window behind stays, for readers who take turns.
  HAILSTONE_ASSIGN(Windows windows, Windows::make(ahead + 2, window));
  std::unique_ptr<ReadStream> stream(new ReadStream(std::move(windows), ahead));
  if (with_ring) {
    HAILSTONE_ASSIGN(stream->source_, make_ring_source(calls, stream->windows_));
  } else {
    stream->source_ = settings.method == IoMethod::Mmap ? make_mapped_source() : make_buffered_source();
  }
  return stream;
}

ReadStream::~ReadStream() { unbind(); }

void ReadStream::bind(std::shared_ptr<const OpenFile> file, uint64_t limit) {
  unbind();
  file_ = std::move(file);
  limit_ = limit;
}

void ReadStream::unbind() {
  if (file_ == nullptr) return;
  drain();
  source_->leave();
  file_.reset();
}

void ReadStream::drain() {
  for (Window& window : windows_.all()) {
    if (window.on_its_way) static_cast<void>(source_->finish(*file_, window));
    window.started = false;
  }
  base_ = first_ = next_ = begin_ = end_ = 0;
}

Status ReadStream::start_next() {
  Window& window = windows_[next_];
  if (next_ - first_ == windows_.count()) {
    if (window.on_its_way) static_cast<void>(source_->finish(*file_, window));
    ++first_;
  }
  window.begin = end();
  window.size = static_cast<size_t>(std::min<uint64_t>(window_bytes_, limit_ - window.begin));
  window.done = 0;
  window.started = true;
  HAILSTONE_TRY(source_->start(*file_, window));
  ++next_;
  return {};
}

Result<Window*> ReadStream::window_at(uint64_t offset) {
  if (next_ == first_ || offset < begin() || offset >= end() + window_bytes_) {
    drain();
    base_ = offset / io_alignment * io_alignment;
  }
  const uint64_t number = (offset - base_) / window_bytes_;
  while (next_ <= number + ahead_ && end() < limit_) HAILSTONE_TRY(start_next());
  Window& window = windows_[number];
  if (window.started) {
    window.started = false;
    HAILSTONE_TRY(source_->finish(*file_, window));
  }
  return &window;
}

Status ReadStream::read_on(uint64_t offset, size_t size, char* to) {
  if (offset + size > limit_) return ends_early(file_->path, limit_, offset, size);
  begin_ = end_ = 0;
  while (size > 0) {
    auto found = window_at(offset);
    if (!found) {
      // Nothing is known of the windows any more.
      drain();
      return std::unexpected(std::move(found).error());
    }
    const Window& window = **found;
    const auto inside = static_cast<size_t>(offset - window.begin);
    const size_t here = std::min(size, window.size - inside);
    std::memcpy(to, window.bytes + inside, here);
    to += here;
    offset += here;
    size -= here;
    begin_ = window.begin;
    end_ = window.begin + window.size;
    bytes_ = window.bytes;
  }
  return {};
}

}  // namespace hailstone
