// IoMethod::Mmap: a part of the file is mapped and moves along; bytes are copied from it or to it. The
// copying is done by the kernel (SystemCalls::copy), as a file that another program cuts, or that cannot be
// read, would otherwise end this process by a signal.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "file/io_error.h"
#include "file/windows.h"

namespace hailstone {
namespace {

constexpr uint64_t mapped_bytes = uint64_t{8} << 20;

/// The part of a file that is mapped now.
class Mapping {
 public:
  explicit Mapping(bool writable) : writable_(writable) {}
  ~Mapping() { unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// The address of the byte at `offset`; `size` becomes how many bytes from there on are mapped.
  Result<char*> at(const OpenFile& file, uint64_t offset, size_t& size) {
    const uint64_t begin = offset / mapped_bytes * mapped_bytes;
    if (address_ == nullptr || begin != begin_) {
      unmap();
      int error = 0;
      address_ = file.calls.map(file.number(), begin, mapped_bytes, writable_, error);
      if (address_ == nullptr) return std::unexpected(io_error("map", file.path, error));
      begin_ = begin;
      calls_ = &file.calls;
    }
    size = static_cast<size_t>(begin + mapped_bytes - offset);
    return address_ + (offset - begin);
  }
  void unmap() {
    if (address_ != nullptr) calls_->unmap(address_, mapped_bytes);
    address_ = nullptr;
  }

 private:
  const bool writable_;
  char* address_ = nullptr;
  uint64_t begin_ = 0;
  SystemCalls* calls_ = nullptr;
};

class MappedSource final : public WindowSource {
 public:
  Status start(const OpenFile&, Window&) override { return {}; }
  Status finish(const OpenFile& file, Window& window) override {
    for (window.done = 0; window.done < window.size;) {
      size_t here = 0;
      HAILSTONE_ASSIGN(const char* const from, mapping_.at(file, window.begin + window.done, here));
      here = std::min(here, window.size - window.done);
      HAILSTONE_TRY(
          copy_mapped(file, false, window.bytes + window.done, from, here, window.begin + window.done));
      window.done += here;
    }
    return {};
  }
  void leave() override { mapping_.unmap(); }

 private:
  Mapping mapping_{false};
};

class MappedSink final : public WindowSink {
 public:
  explicit MappedSink(uint64_t end_of_file) : end_(end_of_file) {}

  Status start(const OpenFile& file, Window& window) override {
    for (size_t done = 0; done < window.size;) {
      const uint64_t offset = window.begin + done;
      size_t here = 0;
      HAILSTONE_ASSIGN(char* const to, mapping_.at(file, offset, here));
      const uint64_t end_of_mapping = offset + here;
      here = std::min(here, window.size - done);
      HAILSTONE_TRY(allocate(file, offset + here, end_of_mapping));
      HAILSTONE_TRY(copy_mapped(file, true, to, window.bytes + done, here, offset));
      done += here;
    }
    return {};
  }
  Status finish(const OpenFile&, Window&) override { return {}; }
  uint64_t end_of_file() const override { return end_; }
  void note_end(uint64_t size) override { end_ = size; }

 private:
  /// Takes room on the disk, so that a full disk is an error here and not one that nobody hears of when the
  /// system writes the pages.
  Status allocate(const OpenFile& file, uint64_t needed, uint64_t wanted) {
    if (needed <= end_) return {};
    int result = file.calls.allocate(file.number(), end_, wanted - end_);
    if (result == -ENOSPC || result == -EDQUOT || result == -EFBIG) {
      result = file.calls.allocate(file.number(), end_, needed - end_);
      wanted = needed;
    }
    if (result < 0) return cannot_write(file, end_, static_cast<size_t>(needed - end_), -result);
    end_ = wanted;
    return {};
  }

  Mapping mapping_{true};
  uint64_t end_;
};

}  // namespace

Status copy_mapped(const OpenFile& file, bool is_write, char* to, const char* from, size_t size,
                   uint64_t offset) {
  const uint64_t begin = offset;
  const size_t all = size;
  int error = 0;
  while (size > 0) {
    const int64_t now = file.calls.copy(to, from, size);
    if (now <= 0) {
      error = now == 0 || now == -EFAULT ? EIO : static_cast<int>(-now);
      break;
    }
    to += now;
    from += now;
    offset += static_cast<uint64_t>(now);
    size -= static_cast<size_t>(now);
  }
  file.calls.count_request(is_write, all - size);
  // Behind the end of a file that was cut the rest of its last page reads as zeros.
  const int64_t end = file.calls.size(file.number());
  if (end >= 0 && static_cast<uint64_t>(end) < begin + all) {
    if (!is_write) return ends_early(file.path, static_cast<uint64_t>(end), begin, all);
    return fail(ErrorCode::Io, fmt::format("file '{}' was cut to {} bytes by another program while this one "
                                           "wrote to it",
                                           file.path, end));
  }
  if (error == 0) return {};
  return is_write ? cannot_write(file, begin, all, error) : cannot_read(file, begin, all, error);
}

std::unique_ptr<WindowSource> make_mapped_source() { return std::make_unique<MappedSource>(); }
std::unique_ptr<WindowSink> make_mapped_sink(uint64_t end_of_file) {
  return std::make_unique<MappedSink>(end_of_file);
}

}  // namespace hailstone
