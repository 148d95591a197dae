// io_uring: reads and writes that the kernel does while the caller goes on. For one thread at a time. Memory
// given to a request must live until its completion has been taken; the destructor waits for all.
#pragma once

#include <liburing.h>

#include <memory>
#include <span>

#include "base/status.h"
#include "file/system_calls.h"

namespace hailstone {

class Ring {
 public:
  /// For at most `entries` requests on their way. ErrorCode::Unsupported where the kernel offers no io_uring
  /// or does not allow it.
  static Result<std::unique_ptr<Ring>> make(SystemCalls& calls, unsigned entries);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Makes the buffers known to the kernel, which saves it work with each request that names one. Where the
  /// system does not allow it (the limit on locked memory), nothing changes but that.
  void register_buffers(std::span<const iovec> buffers);

  struct Request {
    int file;
    bool is_write;
    char* bytes;
    size_t size;
    uint64_t offset;
    unsigned
        buffer;  // of those registered: the one that `bytes` lies in; also what its completion is told by
  };
  /// The request goes to the kernel with the next submit() or wait().
  void queue(const Request& request);
  Status submit();
  struct Completion {
    unsigned buffer;
    int result;  // bytes, or minus the error number
  };
  /// The next completion; there must be a request on its way.
  Result<Completion> wait();
  unsigned on_their_way() const { return on_their_way_; }

 private:
  explicit Ring(SystemCalls& calls) : calls_(calls) {}
  Status enter(unsigned wait_for);

  SystemCalls& calls_;
  io_uring ring_{};
  bool registered_ = false;
  unsigned queued_ = 0;        // not handed to the kernel yet
  unsigned on_their_way_ = 0;  // queued or handed over, completion not taken yet
};

}  // namespace hailstone
