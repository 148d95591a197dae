// The system calls through which files are read and written, counted. Every one is repeated when a signal
// interrupts it, and gives back what it did (0 or more) or minus the error number. Tests derive from it to
// make calls fail or fall short. Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

struct io_uring;
struct iovec;

namespace hailstone {

/// Requests, their bytes, and the system calls that they took: with io_uring one call can carry many.
struct IoCounts {
  uint64_t calls = 0;
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
  uint64_t writes = 0;
  uint64_t write_bytes = 0;
  uint64_t syncs = 0;
};

class SystemCalls {
 public:
  SystemCalls() = default;
  virtual ~SystemCalls() = default;
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;

  IoCounts counts() const;

  int64_t read(int file, char* to, size_t size, uint64_t offset);
  int64_t write(int file, const char* from, size_t size, uint64_t offset);
  /// fdatasync, or fsync.
  int sync(int file, bool with_attributes);
  int allocate(int file, uint64_t offset, uint64_t size);
  int truncate(int file, uint64_t size);
  /// The file's size.
  int64_t size(int file);
  /// Maps a part of a file, shared; null with `error` set.
  char* map(int file, uint64_t offset, size_t size, bool writable, int& error);
  void unmap(char* address, size_t size);
  /// Copies within this process like memcpy, but memory that cannot be reached (a mapped file that was cut
  /// or cannot be read) is an error, EFAULT, and no signal. May copy a part only.
  int64_t copy(char* to, const char* from, size_t size);

  // io_uring; see Ring.
  int ring_set_up(unsigned entries, io_uring* ring);
  int ring_register(io_uring* ring, const iovec* buffers, unsigned count);
  /// Hands over what is queued and waits for so many completions.
  int ring_enter(io_uring* ring, unsigned wait_for);
  /// What a completion says.
  int ring_result(int result, bool is_write) { return do_ring_result(result, is_write); }
  void count_request(bool is_write, size_t size);

 protected:
  virtual ssize_t do_read(int file, char* to, size_t size, off_t offset);
  virtual ssize_t do_write(int file, const char* from, size_t size, off_t offset);
  virtual int do_sync(int file, bool with_attributes);
  virtual int do_allocate(int file, off_t offset, off_t size);
  virtual ssize_t do_copy(char* to, const char* from, size_t size);
  virtual int do_ring_set_up(unsigned entries, io_uring* ring);
  virtual int do_ring_enter(io_uring* ring, unsigned wait_for);
  virtual int do_ring_result(int result, bool is_write);

 private:
  void count_call() { calls_.fetch_add(1, std::memory_order_relaxed); }

  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> read_bytes_{0};
  std::atomic<uint64_t> writes_{0};
  std::atomic<uint64_t> write_bytes_{0};
  std::atomic<uint64_t> syncs_{0};
};

}  // namespace hailstone
