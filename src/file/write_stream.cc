#include "file/write_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "file/io_error.h"

namespace hailstone {
namespace {

size_t window_count(const IoSettings& settings) {
  if (settings.method == IoMethod::Direct) return std::max(settings.queue_depth, 1U) + 1;
  return settings.method == IoMethod::Async ? 2 : 1;
}

size_t window_bytes_of(const IoSettings& settings) {
  const size_t bytes = std::max<size_t>(settings.window_bytes, 1);
  return settings.method == IoMethod::Direct ? io_aligned(bytes) : bytes;
}

}  // namespace

WriteStream::WriteStream(OpenFile file, const IoSettings& settings, Windows windows)
    : file_(std::move(file)),
      method_(settings.method),
      windows_(std::move(windows)),
      window_bytes_(windows_.bytes()),
      size_(file_.size) {}

Result<std::unique_ptr<WriteStream>> WriteStream::make(OpenFile file, const IoSettings& settings) {
  HAILSTONE_ASSIGN(Windows windows, Windows::make(window_count(settings), window_bytes_of(settings)));
  const uint64_t size = file.size;
  if (settings.method == IoMethod::Direct && size % io_alignment != 0) {
    return fail(ErrorCode::Unsupported, fmt::format("file '{}' of {} bytes does not end where one that is "
                                                    "written directly can be gone on with",
                                                    file.path, size));
  }
  std::unique_ptr<WriteStream> stream(new WriteStream(std::move(file), settings, std::move(windows)));
  switch (settings.method) {
    case IoMethod::Async:
    case IoMethod::Direct: {
      HAILSTONE_ASSIGN(stream->sink_, make_ring_sink(stream->file_.calls, stream->windows_, size));
      break;
    }
    case IoMethod::Mmap:
      stream->sink_ = make_mapped_sink(size);
      break;
    case IoMethod::Sync:
    case IoMethod::Buffered:
      stream->sink_ = make_buffered_sink(size);
      break;
  }
  stream->current_ = &stream->windows_[0];
  stream->next_ = 1;
  stream->begin_window(size);
  return stream;
}

WriteStream::~WriteStream() {
  // Whoever wants to know has called close().
  static_cast<void>(finish_all());
}

void WriteStream::begin_window(uint64_t offset) {
  const size_t unit = std::min(window_bytes_, io_alignment);
  current_->begin = offset;
  current_->size = 0;
  const uint64_t end = (offset + window_bytes_) / unit * unit;
  capacity_ = static_cast<size_t>(end - offset);
}

Status WriteStream::append(ByteView bytes) {
  if (bytes.size() < capacity_ - current_->size && !error_) {
    std::memcpy(current_->bytes + current_->size, bytes.data(), bytes.size());
    current_->size += bytes.size();
    size_ += bytes.size();
    flushed_ = false;
    return {};
  }
  return remember(append_on(bytes));
}

Status WriteStream::append_on(ByteView bytes) {
  if (error_) return std::unexpected(*error_);
  flushed_ = false;
  while (!bytes.empty()) {
    if (method_ == IoMethod::Buffered && current_->size == 0 && bytes.size() >= capacity_) {
      // Much at once needs no window.
      const size_t unit = std::min(window_bytes_, io_alignment);
      const auto here = static_cast<size_t>((size_ + bytes.size()) / unit * unit - size_);
      HAILSTONE_TRY(write_fully(file_, size_, bytes.substr(0, here)));
      bytes.remove_prefix(here);
      size_ += here;
      sink_->note_end(size_);
      begin_window(size_);
      continue;
    }
    const size_t here = std::min(bytes.size(), capacity_ - current_->size);
    std::memcpy(current_->bytes + current_->size, bytes.data(), here);
    current_->size += here;
    size_ += here;
    bytes.remove_prefix(here);
    if (current_->size == capacity_) HAILSTONE_TRY(hand_over());
  }
  return {};
}

Status WriteStream::hand_over() {
  HAILSTONE_TRY(sink_->start(file_, *current_));
  current_->started = true;
  current_ = &windows_[next_++];
  if (current_->started) {
    current_->started = false;
    HAILSTONE_TRY(sink_->finish(file_, *current_));
  }
  begin_window(size_);
  return {};
}

Status WriteStream::finish_all() {
  Status first;
  for (Window& window : windows_.all()) {
    if (!window.started) continue;
    window.started = false;
    Status status = sink_->finish(file_, window);
    if (first) first = std::move(status);
  }
  return first;
}

Status WriteStream::flush() {
  if (error_) return std::unexpected(*error_);
  if (current_->size > 0 && !flushed_) {
    if (file_.is_direct) {
      std::memset(current_->bytes + current_->size, 0, io_aligned(current_->size) - current_->size);
    }
    HAILSTONE_TRY(sink_->start(file_, *current_));
    current_->started = true;
  }
  HAILSTONE_TRY(finish_all());
  if (file_.is_direct) {
    flushed_ = true;  // its last block stays, to be written again when it is full
  } else {
    begin_window(size_);
  }
  if (sink_->end_of_file() > size_) {
    const int result = file_.calls.truncate(file_.number(), size_);
    if (result < 0) return std::unexpected(io_error("cut the unused end of", file_.path, -result));
    sink_->note_end(size_);
    cut_ = true;
  }
  return {};
}

Status WriteStream::cut() {
  return fail(ErrorCode::Unsupported,
              fmt::format("file '{}' is written as a whole, and cannot be cut to go on", file_.path));
}

Status WriteStream::sync() {
  HAILSTONE_TRY(remember(flush()));
  // That a file was cut is no part of what fdatasync is for.
  const int result = file_.calls.sync(file_.number(), cut_);
  if (result < 0) return remember(std::unexpected(io_error("sync", file_.path, -result)));
  cut_ = false;
  return {};
}

Status WriteStream::close() {
  if (!file_.descriptor.is_open()) return {};
  Status status = remember(flush());
  static_cast<void>(finish_all());  // after a failure; the first is the one that is told
  const bool closed = file_.descriptor.close();
  if (status && !closed) status = std::unexpected(io_error("close", file_.path, errno));
  return status;
}

Status WriteStream::preallocate(uint64_t) { return {}; }

Status WriteStream::remember(Status status) {
  if (!status && !error_) error_ = status.error();
  return status;
}

}  // namespace hailstone
