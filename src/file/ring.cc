#include "file/ring.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace hailstone {
namespace {

std::string message_of(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

std::string_view cure_of(int error_number) {
  switch (error_number) {
    case ENOSYS:
      return "it has none";
    case EPERM:
    case EACCES:
      return "it is forbidden, by the container's seccomp profile or by kernel.io_uring_disabled";
    case ENOMEM:
      return "the limit on locked memory (ulimit -l) is too low";
    case EMFILE:
    case ENFILE:
      return "the limit on open files is reached";
    default:
      return "";
  }
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::make(SystemCalls& calls, unsigned entries) {
  std::unique_ptr<Ring> ring(new Ring(calls));
  const int result = calls.ring_set_up(entries, &ring->ring_);
  if (result < 0) {
    ring->ring_.ring_fd = -1;
    const std::string_view reason = cure_of(-result);
    return fail(ErrorCode::Unsupported, fmt::format("the kernel refuses io_uring: {}{}{}",
                                                    message_of(-result), reason.empty() ? "" : "; ", reason));
  }
  return ring;
}

Ring::~Ring() {
  if (ring_.ring_fd < 0) return;
  // The kernel may still write to memory that the requests name.
  while (on_their_way_ > 0 && wait()) {
  }
  io_uring_queue_exit(&ring_);
}

void Ring::register_buffers(std::span<const iovec> buffers) {
  registered_ = calls_.ring_register(&ring_, buffers.data(), static_cast<unsigned>(buffers.size())) == 0;
}

void Ring::queue(const Request& request) {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);  // there is one: no more than `entries` are queued
  const auto size = static_cast<unsigned>(request.size);
  const auto buffer = static_cast<int>(request.buffer);
  if (request.is_write && registered_) {
    io_uring_prep_write_fixed(entry, request.file, request.bytes, size, request.offset, buffer);
  } else if (request.is_write) {
    io_uring_prep_write(entry, request.file, request.bytes, size, request.offset);
  } else if (registered_) {
    io_uring_prep_read_fixed(entry, request.file, request.bytes, size, request.offset, buffer);
  } else {
    io_uring_prep_read(entry, request.file, request.bytes, size, request.offset);
  }
  io_uring_sqe_set_data64(entry, uint64_t{request.buffer} << 1 | (request.is_write ? 1 : 0));
  calls_.count_request(request.is_write, request.size);
  ++queued_;
  ++on_their_way_;
}

Status Ring::enter(unsigned wait_for) {
  const int result = calls_.ring_enter(&ring_, wait_for);
  if (result < 0) {
    return fail(ErrorCode::Io,
                fmt::format("cannot hand requests to io_uring: {} (errno {})", message_of(-result), -result));
  }
  queued_ = io_uring_sq_ready(&ring_);
  return {};
}

Status Ring::submit() { return queued_ == 0 ? Status() : enter(0); }

Result<Ring::Completion> Ring::wait() {
  io_uring_cqe* entry = nullptr;
  while (queued_ > 0 || io_uring_peek_cqe(&ring_, &entry) != 0) {
    const bool is_there = io_uring_cq_ready(&ring_) > 0;
    HAILSTONE_TRY(enter(is_there ? 0 : 1));
    if (io_uring_peek_cqe(&ring_, &entry) == 0) break;
  }
  const uint64_t tag = io_uring_cqe_get_data64(entry);
  const int result = calls_.ring_result(entry->res, (tag & 1) != 0);
  io_uring_cqe_seen(&ring_, entry);
  --on_their_way_;
  return Completion{static_cast<unsigned>(tag >> 1), result};
}

}  // namespace hailstone
