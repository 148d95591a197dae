// IoMethod::Buffered: one read or write call a window.
#include <algorithm>

#include "file/windows.h"

namespace hailstone {
namespace {

class BufferedSource final : public WindowSource {
 public:
  Status start(const OpenFile&, Window&) override { return {}; }
  Status finish(const OpenFile& file, Window& window) override {
    HAILSTONE_TRY(read_fully(file, window.begin, window.size, window.bytes));
    window.done = window.size;
    return {};
  }
};

class BufferedSink final : public WindowSink {
 public:
  explicit BufferedSink(uint64_t end_of_file) : end_(end_of_file) {}
  Status start(const OpenFile& file, Window& window) override {
    HAILSTONE_TRY(write_fully(file, window.begin, ByteView(window.bytes, window.size)));
    end_ = std::max(end_, window.begin + window.size);
    return {};
  }
  Status finish(const OpenFile&, Window&) override { return {}; }
  uint64_t end_of_file() const override { return end_; }
  void note_end(uint64_t size) override { end_ = size; }

 private:
  uint64_t end_;
};

}  // namespace

std::unique_ptr<WindowSource> make_buffered_source() { return std::make_unique<BufferedSource>(); }
std::unique_ptr<WindowSink> make_buffered_sink(uint64_t end_of_file) {
  return std::make_unique<BufferedSink>(end_of_file);
}

}  // namespace hailstone
