// Windows: the pieces of memory through which the methods other than IoMethod::Sync move a file. A stream
// owns some and moves along the file; how one is filled or written is what the methods differ in, behind
// WindowSource and WindowSink. All for one thread at a time.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "file/descriptor.h"
#include "file/io_method.h"
#include "file/system_calls.h"

namespace hailstone {

struct OpenFile {
  SystemCalls& calls;
  Descriptor descriptor;
  std::string path;
  uint64_t size = 0;       // when it was opened
  bool is_direct = false;  // opened with O_DIRECT: offsets, sizes and memory must be aligned

  int number() const { return descriptor.number(); }
};

struct Window {
  char* bytes = nullptr;
  unsigned index = 0;    // among the stream's windows
  uint64_t begin = 0;    // in the file
  size_t size = 0;       // bytes that it has, or that are wanted
  size_t done = 0;       // of them read or written so far
  bool started = false;  // start() was called, and finish() not yet
  bool on_its_way = false;
  int error_number = 0;  // of a request that failed
};

/// Windows and their memory, aligned to io_alignment.
class Windows {
 public:
  static Result<Windows> make(size_t count, size_t bytes);
  size_t count() const { return windows_.size(); }
  size_t bytes() const { return bytes_; }
  Window& operator[](uint64_t number) { return windows_[static_cast<size_t>(number % windows_.size())]; }
  std::span<Window> all() { return windows_; }
  char* memory() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t bytes_ = 0;
  std::vector<Window> windows_;
};

class WindowSource {
 public:
  virtual ~WindowSource() = default;
  /// Begins to fill a window (begin, size), or leaves that to finish().
  virtual Status start(const OpenFile& file, Window& window) = 0;
  /// Waits until the window is filled. ErrorCode::Corruption where the file ends before.
  virtual Status finish(const OpenFile& file, Window& window) = 0;
  /// Forgets what it holds of the file.
  virtual void leave() {}
};

class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Begins to write a window; its bytes must stay until finish(). With O_DIRECT the window begins aligned
  /// and is written with what follows its end up to the next aligned one.
  virtual Status start(const OpenFile& file, Window& window) = 0;
  virtual Status finish(const OpenFile& file, Window& window) = 0;
  /// Where the file ends on account of this sink, which may be beyond what was written.
  virtual uint64_t end_of_file() const = 0;
  /// The file was cut.
  virtual void note_end(uint64_t size) = 0;
};

/// Errors that all methods give alike. `number`: the positive error number.
std::unexpected<Error> cannot_read(const OpenFile& file, uint64_t offset, size_t size, int number);
std::unexpected<Error> cannot_write(const OpenFile& file, uint64_t offset, size_t size, int number);
std::unexpected<Error> ends_early(const std::string& path, uint64_t end, uint64_t offset, size_t size);

/// read() and write() until all is done.
Status read_fully(const OpenFile& file, uint64_t offset, size_t size, char* to);
Status write_fully(const OpenFile& file, uint64_t offset, ByteView bytes);

// The methods. `windows`: those of the stream that the source or sink is for.
std::unique_ptr<WindowSource> make_buffered_source();
std::unique_ptr<WindowSink> make_buffered_sink(uint64_t end_of_file);
/// With IoMethod::Async and Direct. ErrorCode::Unsupported where there is no io_uring.
Result<std::unique_ptr<WindowSource>> make_ring_source(SystemCalls& calls, Windows& windows);
Result<std::unique_ptr<WindowSink>> make_ring_sink(SystemCalls& calls, Windows& windows,
                                                   uint64_t end_of_file);
std::unique_ptr<WindowSource> make_mapped_source();
std::unique_ptr<WindowSink> make_mapped_sink(uint64_t end_of_file);
/// Copies from mapped memory to elsewhere or the other way; the file's bytes at `offset` are what is mapped.
Status copy_mapped(const OpenFile& file, bool is_write, char* to, const char* from, size_t size,
                   uint64_t offset);

}  // namespace hailstone
