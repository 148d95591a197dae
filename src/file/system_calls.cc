#include "file/system_calls.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace hailstone {
namespace {

void add(std::atomic<uint64_t>& counter, uint64_t by) { counter.fetch_add(by, std::memory_order_relaxed); }

/// Repeats a call that gives -1 and sets errno.
template <typename Call>
auto repeated(Call&& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

IoCounts SystemCalls::counts() const {
  return {.calls = calls_.load(std::memory_order_relaxed),
          .reads = reads_.load(std::memory_order_relaxed),
          .read_bytes = read_bytes_.load(std::memory_order_relaxed),
          .writes = writes_.load(std::memory_order_relaxed),
          .write_bytes = write_bytes_.load(std::memory_order_relaxed),
          .syncs = syncs_.load(std::memory_order_relaxed)};
}

void SystemCalls::count_request(bool is_write, size_t size) {
  add(is_write ? writes_ : reads_, 1);
  add(is_write ? write_bytes_ : read_bytes_, size);
}

int64_t SystemCalls::read(int file, char* to, size_t size, uint64_t offset) {
  count_call();
  const ssize_t result = repeated([&] { return do_read(file, to, size, static_cast<off_t>(offset)); });
  count_request(false, result > 0 ? static_cast<size_t>(result) : 0);
  return result;
}

int64_t SystemCalls::write(int file, const char* from, size_t size, uint64_t offset) {
  count_call();
  const ssize_t result = repeated([&] { return do_write(file, from, size, static_cast<off_t>(offset)); });
  count_request(true, result > 0 ? static_cast<size_t>(result) : 0);
  return result;
}

int SystemCalls::sync(int file, bool with_attributes) {
  count_call();
  add(syncs_, 1);
  return repeated([&] { return do_sync(file, with_attributes); });
}

int SystemCalls::allocate(int file, uint64_t offset, uint64_t size) {
  count_call();
  return repeated([&] { return do_allocate(file, static_cast<off_t>(offset), static_cast<off_t>(size)); });
}

int SystemCalls::truncate(int file, uint64_t size) {
  count_call();
  return repeated([&] { return ::ftruncate(file, static_cast<off_t>(size)); });
}

int64_t SystemCalls::size(int file) {
  count_call();
  struct stat attributes;
  return ::fstat(file, &attributes) == 0 ? attributes.st_size : -errno;
}

char* SystemCalls::map(int file, uint64_t offset, size_t size, bool writable, int& error) {
  count_call();
  void* const address = ::mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file,
                               static_cast<off_t>(offset));
  if (address != MAP_FAILED) return static_cast<char*>(address);
  error = errno;
  return nullptr;
}

void SystemCalls::unmap(char* address, size_t size) {
  count_call();
  ::munmap(address, size);  // fails only for what is no mapping
}

int64_t SystemCalls::copy(char* to, const char* from, size_t size) {
  count_call();
  count_call();  // getpid, which nobody may remember, as a program may fork
  return repeated([&] { return do_copy(to, from, size); });
}

int SystemCalls::ring_set_up(unsigned entries, io_uring* ring) {
  count_call();
  return do_ring_set_up(entries, ring);
}

int SystemCalls::ring_register(io_uring* ring, const iovec* buffers, unsigned count) {
  count_call();
  return io_uring_register_buffers(ring, buffers, count);
}

int SystemCalls::ring_enter(io_uring* ring, unsigned wait_for) {
  count_call();
  for (;;) {
    const int result = do_ring_enter(ring, wait_for);
    if (result != -EINTR) return result;
  }
}

ssize_t SystemCalls::do_read(int file, char* to, size_t size, off_t offset) {
  return ::pread(file, to, size, offset);
}

ssize_t SystemCalls::do_write(int file, const char* from, size_t size, off_t offset) {
  return ::pwrite(file, from, size, offset);
}

int SystemCalls::do_sync(int file, bool with_attributes) {
  return with_attributes ? ::fsync(file) : ::fdatasync(file);
}

int SystemCalls::do_allocate(int file, off_t offset, off_t size) {
  return ::fallocate(file, 0, offset, size);
}

// The kernel reads `from` page by page as it would another process's memory, and writes `to` as it does for
// read(): in both it meets a page that has gone as an error of the call.
ssize_t SystemCalls::do_copy(char* to, const char* from, size_t size) {
  const iovec target = {.iov_base = to, .iov_len = size};
  const iovec source = {.iov_base = const_cast<char*>(from), .iov_len = size};
  return ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
}

int SystemCalls::do_ring_set_up(unsigned entries, io_uring* ring) {
  return io_uring_queue_init(entries, ring, 0);
}

int SystemCalls::do_ring_enter(io_uring* ring, unsigned wait_for) {
  return io_uring_submit_and_wait(ring, wait_for);
}

int SystemCalls::do_ring_result(int result, bool) { return result; }

}  // namespace hailstone
