#include "collect/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "file/io_error.h"

namespace hailstone {

Result<std::unique_ptr<Stop>> Stop::make() {
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  if (descriptor < 0) return std::unexpected(io_error("make", "an event descriptor", errno));
  return std::unique_ptr<Stop>(new Stop(descriptor));
}

Stop::~Stop() { ::close(descriptor_); }

void Stop::request() {
  const uint64_t one = 1;
  const auto written = ::write(descriptor_, &one, sizeof one);
  HAILSTONE_CHECK(written == sizeof one, "errno {}", errno);
}

bool Stop::is_requested() const { return wait(std::chrono::milliseconds(0)); }

bool Stop::wait(std::chrono::milliseconds time) const {
  pollfd waits{.fd = descriptor_, .events = POLLIN, .revents = 0};
  // A signal may end the wait early, which every caller bears.
  return ::poll(&waits, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace hailstone
