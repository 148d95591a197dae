#include "collect/followed_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "file/io_error.h"

namespace hailstone {
namespace {

constexpr std::chrono::milliseconds between_looks(100);
/// How long a writer may go on with a file that was renamed.
constexpr std::chrono::seconds renamed_for(3);
constexpr uint64_t head_bytes = 1024;

FileFacts facts_from(const struct stat& attributes) {
  return {.identity = {.device = attributes.st_dev, .inode = attributes.st_ino},
          .size = static_cast<uint64_t>(attributes.st_size),
          .is_regular = S_ISREG(attributes.st_mode)};
}

Result<FileHead> head_of_descriptor(int descriptor, const std::string& name, uint64_t bytes) {
  char head[head_bytes];
  size_t size = 0;
  while (size < std::min(bytes, head_bytes)) {
    const ssize_t now =
        ::pread(descriptor, head + size, std::min(bytes, head_bytes) - size, static_cast<off_t>(size));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return std::unexpected(io_error("read", name, errno));
    if (now == 0) break;
    size += static_cast<size_t>(now);
  }
  return FileHead{.bytes = static_cast<uint32_t>(size), .hash = checksum({head, size})};
}

}  // namespace

Result<std::optional<FileFacts>> facts_of(const std::string& path) {
  struct stat attributes;
  if (::stat(path.c_str(), &attributes) == 0) return facts_from(attributes);
  if (errno == ENOENT) return std::nullopt;
  return std::unexpected(io_error("look at", path, errno));
}

Result<FileHead> head_of(const std::string& path, uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::unexpected(io_error("open", path, errno));
  auto head = head_of_descriptor(descriptor, path, bytes);
  ::close(descriptor);
  return head;
}

Result<std::unique_ptr<FollowedFile>> FollowedFile::open(const std::string& path, Options options) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::unexpected(io_error("open", path, errno));
  std::unique_ptr<FollowedFile> file(new FollowedFile(path, descriptor, std::move(options)));
  HAILSTONE_TRY(file->start());
  return file;
}

Result<std::unique_ptr<FollowedFile>> FollowedFile::standard_input(Options options) {
  const int descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return std::unexpected(io_error("open", "(standard input)", errno));
  return std::unique_ptr<FollowedFile>(new FollowedFile("(standard input)", descriptor, std::move(options)));
}

FollowedFile::~FollowedFile() { ::close(descriptor_); }

Status FollowedFile::start() {
  struct stat attributes;
  if (fstat(descriptor_, &attributes) != 0) return std::unexpected(io_error("look at", name_, errno));
  const FileFacts facts = facts_from(attributes);
  if (!facts.is_regular) {
    return fail(ErrorCode::InvalidArgument, "'" + name_ + "' is no plain file; read pipes as standard input");
  }
  is_regular_ = true;
  identity_ = facts.identity;
  offset_ = options_.offset;
  if (::lseek(descriptor_, static_cast<off_t>(offset_), SEEK_SET) < 0) {
    return std::unexpected(io_error("read", name_, errno));
  }
  if (options_.end == End::Follow) return {};
  if (options_.end == End::Renamed) {
    // What was written behind what had been seen has come at an unknown moment since.
    const bool is_known = options_.quiet && options_.quiet->bytes >= std::max(facts.size, offset_);
    quiet_ = is_known ? *options_.quiet : Quiet{.bytes = facts.size, .since = Clock::now()};
    return {};
  }
  limit_ = facts.size;
  char piece[4096];
  while (options_.end == End::LastLine && *limit_ > offset_) {
    const uint64_t begin = *limit_ - std::min<uint64_t>(sizeof piece, *limit_ - offset_);
    const ssize_t size = ::pread(descriptor_, piece, *limit_ - begin, static_cast<off_t>(begin));
    if (size < 0) return std::unexpected(io_error("read", name_, errno));
    const size_t end = ByteView(piece, static_cast<size_t>(size)).rfind('\n');
    limit_ = end == ByteView::npos ? begin : begin + end + 1;
    if (end != ByteView::npos) break;
  }
  return {};
}

Result<size_t> FollowedFile::read(char* to, size_t size) {
  if (!is_regular_) return read_stream(to, size);
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, wait_for_bytes());
    if (!found) return 0;
    if (limit_) size = std::min<uint64_t>(size, *limit_ - offset_);
    const ssize_t now = ::read(descriptor_, to, size);
    if (now > 0) {
      offset_ += static_cast<uint64_t>(now);
      if (quiet_ && offset_ > quiet_->bytes) quiet_ = Quiet{.bytes = offset_, .since = Clock::now()};
      return static_cast<size_t>(now);
    }
    if (now < 0 && errno != EINTR) return std::unexpected(io_error("read", name_, errno));
    if (now == 0 && limit_) return 0;  // truncated
  }
}

Result<bool> FollowedFile::wait_for_bytes() {
  for (;;) {
    if (options_.stop->is_requested()) return fail(ErrorCode::Interrupted, "interrupted");
    if (limit_) return offset_ < *limit_;
    const auto now = Clock::now();
    struct stat attributes;
    if (fstat(descriptor_, &attributes) != 0) return std::unexpected(io_error("look at", name_, errno));
    const uint64_t bytes = facts_from(attributes).size;
    is_cut_ = bytes < offset_;
    if (bytes != offset_) return !is_cut_;
    HAILSTONE_ASSIGN(const bool ended, has_ended(now));
    if (ended) return false;
    HAILSTONE_TRY(options_.before_wait());
    static_cast<void>(options_.stop->wait(between_looks));
  }
}

Result<bool> FollowedFile::has_ended(Clock::time_point now) {
  if (options_.end == End::Follow) {
    HAILSTONE_ASSIGN(const auto facts, facts_of(name_));
    if (facts && facts->identity == identity_) {
      quiet_.reset();
      return false;
    }
  }
  if (!quiet_) quiet_ = Quiet{.bytes = offset_, .since = Clock::now()};
  return now - quiet_->since > renamed_for;
}

Result<size_t> FollowedFile::read_stream(char* to, size_t size) {
  for (bool may_wait = false;; may_wait = true) {
    pollfd waits[2] = {{.fd = descriptor_, .events = POLLIN, .revents = 0},
                       {.fd = options_.stop->descriptor(), .events = POLLIN, .revents = 0}};
    if (::poll(waits, 2, may_wait ? -1 : 0) < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(io_error("wait for", name_, errno));
    }
    if (waits[1].revents != 0) return fail(ErrorCode::Interrupted, "interrupted");
    if (waits[0].revents == 0) {
      HAILSTONE_TRY(options_.before_wait());
      continue;
    }
    const ssize_t now = ::read(descriptor_, to, size);
    if (now >= 0) return static_cast<size_t>(now);
    if (errno != EINTR && errno != EAGAIN) return std::unexpected(io_error("read", name_, errno));
  }
}

Result<FileHead> FollowedFile::head(uint64_t offset) const {
  return head_of_descriptor(descriptor_, name_, offset);
}

}  // namespace hailstone
