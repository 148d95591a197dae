#include "cli/stream_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "backup/posix_calls.h"

namespace hailstone {
namespace {

constexpr int look_interval = 50;  // milliseconds

}  // namespace

Result<std::unique_ptr<StreamOutput>> StreamOutput::take_standard_output(std::function<bool()> stop) {
  if (isatty(STDOUT_FILENO) != 0) {
    return fail(ErrorCode::InvalidArgument,
                "the standard output is a terminal; send the stream to a file or another program: > FILE, or "
                "| ssh HOST 'cat > FILE'");
  }
  (void)std::fflush(stdout);
  Descriptor output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  struct stat facts {};
  if (!output.is_open() || fstat(output.number(), &facts) != 0)
    return failed_call("cannot use the standard output", errno);
  if (S_ISFIFO(facts.st_mode)) {
    // A description of its own: other processes that have the pipe go on to wait in their writes.
    Descriptor own = opened(fmt::format("/proc/self/fd/{}", output.number()), O_WRONLY | O_NONBLOCK);
    if (own.is_open() && dup3(own.number(), output.number(), O_CLOEXEC) < 0)
      return failed_call("cannot use the standard output", errno);
  }
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return failed_call("cannot print to standard error", errno);
  return std::unique_ptr<StreamOutput>(new StreamOutput(std::move(output), std::move(stop)));
}

Status StreamOutput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (stop_ && stop_()) return fail(ErrorCode::Interrupted, "interrupted");
    pollfd waits{.fd = output_.number(), .events = POLLOUT, .revents = 0};
    const int ready = poll(&waits, 1, look_interval);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t written = ::write(output_.number(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return fail(
          ErrorCode::Io,
          "the program that reads the stream has ended before the backup has; what it got is no backup");
    } else if (errno != EINTR && errno != EAGAIN) {
      return failed_call("cannot write the stream; what was written is no backup", errno);
    }
  }
  return {};
}

Status StreamOutput::finish() {
  // Pipes and sockets have nothing to sync.
  if (fsync(output_.number()) != 0 && errno != EINVAL && errno != EROFS)
    return failed_call("cannot sync the stream", errno);
  return output_.close() ? Status{} : failed_call("cannot write the stream", errno);
}

}  // namespace hailstone
