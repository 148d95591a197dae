#include "file/windows.h"

#include <fmt/format.h>

#include "file/io_error.h"

namespace hailstone {

Result<Windows> Windows::make(size_t count, size_t bytes) {
  Windows windows;
  windows.memory_.reset(static_cast<char*>(std::aligned_alloc(io_alignment, io_aligned(count * bytes))));
  if (windows.memory_ == nullptr) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("no memory for {} buffers of {} bytes to read or write files through; give the "
                            "process more memory or use smaller buffers",
                            count, bytes));
  }
  windows.bytes_ = bytes;
  windows.windows_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    windows.windows_[i].bytes = windows.memory_.get() + i * bytes;
    windows.windows_[i].index = static_cast<unsigned>(i);
  }
  return windows;
}

std::unexpected<Error> cannot_read(const OpenFile& file, uint64_t offset, size_t size, int number) {
  return std::unexpected(
      io_error(fmt::format("read {} bytes at offset {} of", size, offset), file.path, number));
}

std::unexpected<Error> cannot_write(const OpenFile& file, uint64_t offset, size_t size, int number) {
  return std::unexpected(
      io_error(fmt::format("write {} bytes at offset {} of", size, offset), file.path, number));
}

std::unexpected<Error> ends_early(const std::string& path, uint64_t end, uint64_t offset, size_t size) {
  return fail(ErrorCode::Corruption,
              fmt::format("file '{}' ends at byte {} where {} bytes at offset {} were expected; it was cut, "
                          "restore it from a backup",
                          path, end, size, offset));
}

Status read_fully(const OpenFile& file, uint64_t offset, size_t size, char* to) {
  for (size_t done = 0; done < size;) {
    const int64_t now = file.calls.read(file.number(), to + done, size - done, offset + done);
    if (now < 0) return cannot_read(file, offset, size, static_cast<int>(-now));
    if (now == 0) return ends_early(file.path, offset + done, offset, size);
    done += static_cast<size_t>(now);
  }
  return {};
}

Status write_fully(const OpenFile& file, uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    const int64_t now = file.calls.write(file.number(), bytes.data(), bytes.size(), offset);
    if (now < 0) return cannot_write(file, offset, bytes.size(), static_cast<int>(-now));
    bytes.remove_prefix(static_cast<size_t>(now));
    offset += static_cast<uint64_t>(now);
  }
  return {};
}

}  // namespace hailstone
