#include "file/sync_method.h"

#include <algorithm>
#include <array>

#include "file/io_error.h"

namespace hailstone {
namespace {

class SyncReader final : public RandomAccessFile {
 public:
  explicit SyncReader(OpenFile file) : file_(std::move(file)) {}
  Status read_at(uint64_t offset, size_t size, char* to) const override {
    return read_fully(file_, offset, size, to);
  }
  Result<uint64_t> size() const override { return size_of(file_.descriptor, file_.path); }
  const std::string& path() const override { return file_.path; }

 private:
  const OpenFile file_;
};

class SyncWriter final : public WritableFile {
 public:
  explicit SyncWriter(OpenFile file) : file_(std::move(file)), size_(file_.size), allocated_(file_.size) {}
  ~SyncWriter() override {
    // A failure here loses nothing that was promised: what is synced is safe, and the zeros that stay are no
    // content.
    if (file_.descriptor.is_open() && allocated_ > size_) file_.calls.truncate(file_.number(), size_);
  }

  Status append(ByteView bytes) override {
    HAILSTONE_TRY(write_at(size_, bytes));
    size_ += bytes.size();
    return {};
  }
  Status preallocate(uint64_t bytes) override {
    static constexpr std::array<char, size_t{64} << 10> zeros{};
    for (uint64_t left = bytes; left != 0;) {
      const uint64_t now = std::min<uint64_t>(left, zeros.size());
      HAILSTONE_TRY(write_at(allocated_, ByteView(zeros.data(), static_cast<size_t>(now))));
      left -= now;
    }
    return {};
  }
  Status cut() override {
    if (const int cut = file_.calls.truncate(file_.number(), size_); cut < 0)
      return std::unexpected(io_error("cut", file_.path, -cut));
    allocated_ = size_;
    return {};
  }
  Status sync() override {
    const int result = file_.calls.sync(file_.number(), false);
    if (result < 0) return std::unexpected(io_error("sync", file_.path, -result));
    return {};
  }
  Status close() override {
    if (!file_.descriptor.is_open()) return {};
    const int cut = allocated_ == size_ ? 0 : file_.calls.truncate(file_.number(), size_);
    if (!file_.descriptor.close()) return std::unexpected(io_error("close", file_.path, errno));
    if (cut < 0) return std::unexpected(io_error("cut the unused end of", file_.path, -cut));
    return {};
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_.path; }

 private:
  Status write_at(uint64_t offset, ByteView bytes) {
    while (!bytes.empty()) {
      const int64_t now = file_.calls.write(file_.number(), bytes.data(), bytes.size(), offset);
      if (now < 0) return cannot_write(file_, offset, bytes.size(), static_cast<int>(-now));
      bytes.remove_prefix(static_cast<size_t>(now));
      offset += static_cast<uint64_t>(now);
      allocated_ = std::max(allocated_, offset);
    }
    return {};
  }

  OpenFile file_;
  uint64_t size_;
  uint64_t allocated_;  // end of everything written, the zeros included
};

}  // namespace

std::unique_ptr<RandomAccessFile> make_sync_reader(OpenFile file) {
  return std::make_unique<SyncReader>(std::move(file));
}

std::unique_ptr<WritableFile> make_sync_writer(OpenFile file) {
  return std::make_unique<SyncWriter>(std::move(file));
}

}  // namespace hailstone
