#include "collect/followed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "file/io_error.h"
#include "text/plain_input.h"

namespace hailstone {
namespace {

constexpr std::chrono::milliseconds between_looks(100);
/// A file that was written so long ago has another time when it is written again; clocks of file systems may
/// differ by some of it.
constexpr time_t settled_seconds = 60;
/// How long a writer may go on with a file that was renamed.
constexpr std::chrono::seconds renamed_for(3);
constexpr uint64_t piece_bytes = 1024;  // of a fingerprint

FileFacts facts_from(const struct stat& attributes) {
  return {.identity = {.device = attributes.st_dev, .inode = attributes.st_ino},
          .size = static_cast<uint64_t>(attributes.st_size),
          .is_regular = S_ISREG(attributes.st_mode)};
}

/// As many bytes as there are from `begin` on, `size` at most.
Result<std::string> bytes_at(int descriptor, const std::string& name, uint64_t begin, uint64_t size) {
  std::string bytes(size, '\0');
  size_t found = 0;
  while (found < size) {
    const ssize_t now =
        ::pread(descriptor, bytes.data() + found, size - found, static_cast<off_t>(begin + found));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return std::unexpected(io_error("read", name, errno));
    if (now == 0) break;
    found += static_cast<size_t>(now);
  }
  bytes.resize(found);
  return bytes;
}

FilePiece piece_of(ByteView bytes) {
  return {.bytes = static_cast<uint32_t>(bytes.size()), .hash = checksum(bytes)};
}

Result<Fingerprint> fingerprint_of(int descriptor, const std::string& name, uint64_t offset) {
  const uint64_t size = std::min(offset, piece_bytes);
  HAILSTONE_ASSIGN(const std::string head, bytes_at(descriptor, name, 0, size));
  HAILSTONE_ASSIGN(const std::string tail, bytes_at(descriptor, name, offset - size, size));
  return Fingerprint{.head = piece_of(head), .tail = piece_of(tail)};
}

/// A file's first bytes.
class FileBeginning final : public Input {
 public:
  FileBeginning(std::string name, int descriptor, uint64_t end)
      : name_(std::move(name)), descriptor_(descriptor), end_(end) {}

  Result<size_t> read(char* to, size_t size) override {
    for (;;) {
      HAILSTONE_ASSIGN(const std::string bytes,
                       bytes_at(descriptor_, name_, offset_, std::min<uint64_t>(size, end_ - offset_)));
      offset_ += bytes.size();
      const size_t nuls = in_nuls_ ? std::min(bytes.find_first_not_of('\0'), bytes.size()) : 0;
      if (nuls == bytes.size() && nuls > 0) continue;
      in_nuls_ = false;
      std::ranges::copy(bytes.begin() + static_cast<ptrdiff_t>(nuls), bytes.end(), to);
      return bytes.size() - nuls;
    }
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::string name_;
  const int descriptor_;  // another one's
  const uint64_t end_;
  uint64_t offset_ = 0;
  bool in_nuls_ = true;
};

}  // namespace

Result<std::optional<FileFacts>> facts_of(const std::string& path) {
  struct stat attributes;
  if (::stat(path.c_str(), &attributes) == 0) return facts_from(attributes);
  if (errno == ENOENT) return std::nullopt;
  return std::unexpected(io_error("look at", path, errno));
}

Result<bool> has_fingerprint(const std::string& path, uint64_t offset, const Fingerprint& fingerprint) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::unexpected(io_error("open", path, errno));
  const auto found = fingerprint_of(descriptor, path, offset);
  ::close(descriptor);
  if (!found) return std::unexpected(found.error());
  return fingerprint.is_of(*found);
}

Status check_readable(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::unexpected(io_error("open", path, errno));
  struct stat attributes;
  const int failed = fstat(descriptor, &attributes) == 0 ? 0 : errno;
  const bool is_plain = failed == 0 && S_ISREG(attributes.st_mode);
  const auto begin = is_plain ? bytes_at(descriptor, path, 0, 4) : Result<std::string>();
  ::close(descriptor);
  if (failed != 0) return std::unexpected(io_error("look at", path, failed));
  if (!begin) return std::unexpected(begin.error());
  if (const auto compression = compression_of(*begin); !compression.empty()) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' is compressed by {}; decompress it, or give it to a stream of standard input: "
                    "hailstone collect run CONFIG < {}",
                    path, compression, path));
  }
  if (is_plain) return {};
  return fail(ErrorCode::InvalidArgument, "'" + path + "' is not a plain file; read pipes as standard input");
}

Result<std::unique_ptr<FollowedFile>> FollowedFile::open(const std::string& path, Options options) {
  // A pipe would wait for its writer here.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
    return fail(ErrorCode::InvalidArgument,
                "'" + name_ + "' is not a plain file; read pipes as standard input");
  }
  is_regular_ = true;
  identity_ = facts.identity;
  offset_ = options_.offset;
  if (::lseek(descriptor_, static_cast<off_t>(offset_), SEEK_SET) < 0) {
    return std::unexpected(io_error("read", name_, errno));
  }
  const uint64_t known = std::min(offset_, piece_bytes);
  HAILSTONE_ASSIGN(head_, bytes_at(descriptor_, name_, 0, known));
  HAILSTONE_ASSIGN(tail_, bytes_at(descriptor_, name_, offset_ - known, known));
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
      // What is as it was read after a read was so before: the new bytes go on with it.
      HAILSTONE_ASSIGN(const bool same, is_as_read());
      if (!same) return cut();
      note_read({to, static_cast<size_t>(now)});
      if (quiet_ && offset_ > quiet_->bytes) quiet_ = Quiet{.bytes = offset_, .since = Clock::now()};
      return static_cast<size_t>(now);
    }
    if (now < 0 && errno != EINTR) return std::unexpected(io_error("read", name_, errno));
    if (now == 0 && limit_) return cut();
  }
}

void FollowedFile::note_read(ByteView bytes) {
  offset_ += bytes.size();
  if (head_.size() < piece_bytes) head_.append(bytes.substr(0, piece_bytes - head_.size()));
  if (bytes.size() >= piece_bytes) {
    tail_.assign(bytes.substr(bytes.size() - piece_bytes));
  } else {
    tail_.append(bytes);
    if (tail_.size() > piece_bytes) tail_.erase(0, tail_.size() - piece_bytes);
  }
}

Result<bool> FollowedFile::is_as_read() const {
  HAILSTONE_ASSIGN(const std::string tail,
                   bytes_at(descriptor_, name_, offset_ - tail_.size(), tail_.size()));
  if (tail != tail_) return false;
  HAILSTONE_ASSIGN(const std::string head, bytes_at(descriptor_, name_, 0, head_.size()));
  return head == head_;
}

std::unexpected<Error> FollowedFile::cut() {
  is_cut_ = true;
  if (options_.cut) options_.cut();
  return fail(ErrorCode::Interrupted, "'" + name_ + "' was cut or written anew while it was read");
}

Result<std::optional<uint64_t>> FollowedFile::pass_nuls() {
  constexpr uint64_t step = uint64_t{1} << 16;
  for (uint64_t passed = 0;;) {
    HAILSTONE_ASSIGN(const bool found, wait_for_bytes());
    if (!found) return std::nullopt;
    if (offset_ != passed) return passed;  // it was begun before
    HAILSTONE_ASSIGN(const std::string bytes, bytes_at(descriptor_, name_, offset_, step));
    const size_t nuls = std::min(bytes.find_first_not_of('\0'), bytes.size());
    note_read(ByteView(bytes).substr(0, nuls));
    passed += nuls;
    if (nuls == bytes.size() && nuls != 0) continue;
    if (::lseek(descriptor_, static_cast<off_t>(offset_), SEEK_SET) < 0)
      return std::unexpected(io_error("read", name_, errno));
    return passed;
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
    if (bytes < offset_) return cut();
    if (bytes > offset_) return true;
    // As big as before, but is it what was read?
    const std::pair written(attributes.st_mtim.tv_sec, attributes.st_mtim.tv_nsec);
    const bool is_recent = written.first + settled_seconds >= ::time(nullptr);
    if (is_recent || settled_ != written) {
      HAILSTONE_ASSIGN(const bool same, is_as_read());
      if (!same) return cut();
      if (!is_recent) settled_ = written;
    }
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

std::unique_ptr<Input> FollowedFile::beginning() const {
  return std::make_unique<FileBeginning>(name_, descriptor_, options_.offset);
}

Result<Fingerprint> FollowedFile::fingerprint(uint64_t offset) {
  if (is_cut_) return Fingerprint::of_none();
  HAILSTONE_ASSIGN(const Fingerprint found, fingerprint_of(descriptor_, name_, offset));
  HAILSTONE_ASSIGN(const bool same, is_as_read());
  return same ? found : Fingerprint::of_none();
}

}  // namespace hailstone
