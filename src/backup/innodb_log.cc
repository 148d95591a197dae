#include "backup/innodb_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "backup/posix_calls.h"
#include "base/bytes.h"

namespace hailstone {
namespace {

// The form of the file since MariaDB 10.8: a header, then a ring of changes. Numbers are big-endian.
constexpr size_t header_bytes = 12'288;
constexpr size_t begin_offset = 8;  // of the log sequence number behind the header, in the ring's first round
/// At the file's begin; the second is of encrypted logs, since MariaDB 11.
constexpr std::array<uint32_t, 2> known_forms = {0x50687973, 0xf09f979d};

/// So many bytes are compared at once.
constexpr size_t enough_bytes = size_t{1} << 22;
constexpr auto time_between_looks = std::chrono::milliseconds(20);
/// Where transactions do not flush the log (innodb_flush_log_at_trx_commit), the server does it once a
/// second, unless innodb_flush_log_at_timeout is larger.
constexpr auto longest_wait = std::chrono::seconds(60);

/// The log sequence number that the header says.
Result<uint64_t> begin_of(std::string_view header, const std::string& what) {
  if (std::ranges::count(known_forms, load_big_endian(header.data(), sizeof(uint32_t))) == 0) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} is not of a form of MariaDB 10.8 to 11.8, so that it cannot be compared with "
                            "its copy",
                            what));
  }
  return load_big_endian(header.data() + begin_offset, sizeof(uint64_t));
}

/// The server's file, as it is now.
class Ring {
 public:
  static Result<Ring> open(const std::string& path) {
    Descriptor file = opened(path, O_RDONLY);
    if (!file.is_open()) return failed_call(fmt::format("cannot open InnoDB's log '{}'", path), errno);
    HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
    if (size <= header_bytes)
      return fail(ErrorCode::Corruption, fmt::format("InnoDB's log '{}' has only {} bytes", path, size));
    Ring ring(std::move(file), path, size - header_bytes);
    std::string header(header_bytes, '\0');
    HAILSTONE_TRY(ring.read_at(0, header.data(), header.size()));
    HAILSTONE_ASSIGN(ring.begin_, begin_of(header, fmt::format("InnoDB's log '{}'", path)));
    return ring;
  }

  uint64_t capacity() const { return capacity_; }
  uint64_t begin() const { return begin_; }

  /// What is where `lsn`, which is not before begin(), was written last.
  Status read(uint64_t lsn, char* to, size_t size) const {
    const uint64_t offset = (lsn - begin_) % capacity_;
    const size_t first = std::min<uint64_t>(size, capacity_ - offset);
    HAILSTONE_TRY(read_at(header_bytes + offset, to, first));
    return first < size ? read_at(header_bytes, to + first, size - first) : Status{};
  }

  /// Behind each group of changes there is a byte that says whether the round is an even one; copies have 1
  /// there always.
  bool marks_are_ones(uint64_t lsn) const { return (lsn - begin_) / capacity_ % 2 == 0; }

 private:
  Ring(Descriptor file, std::string path, uint64_t capacity)
      : file_(std::move(file)), path_(std::move(path)), capacity_(capacity) {}

  Status read_at(uint64_t offset, char* to, size_t size) const {
    while (size > 0) {
      const ssize_t got = pread(file_.number(), to, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed_call(fmt::format("cannot read InnoDB's log '{}'", path_), errno);
      if (got == 0) return fail(ErrorCode::Busy, fmt::format("InnoDB's log '{}' became shorter", path_));
      to += got;
      offset += static_cast<uint64_t>(got);
      size -= static_cast<size_t>(got);
    }
    return {};
  }

  Descriptor file_;
  std::string path_;
  uint64_t capacity_;
  uint64_t begin_ = 0;
};

std::unexpected<Error> is_other(uint64_t lsn, const std::string& why) {
  return fail(
      ErrorCode::Busy,
      fmt::format("mariadb-backup has copied InnoDB's log wrongly from log sequence number {} on: {}. The "
                  "backup would have half transactions. mariadb-backup 10.11.18 does so now and then beside "
                  "clients that commit all the time (MDEV-39468): try again, or use a later one",
                  lsn, why));
}

}  // namespace

Status CopiedInnodbLog::take(std::string_view bytes) {
  bytes_ += bytes;
  HAILSTONE_TRY(read_header());
  return has_header_ && bytes_.size() >= enough_bytes ? compare_what_is_flushed() : Status{};
}

Status CopiedInnodbLog::end_file() { return has_header_ ? compare_what_is_flushed() : Status{}; }

Status CopiedInnodbLog::end(const std::function<bool()>& stop) {
  if (!has_header_) {
    return fail(ErrorCode::Corruption,
                fmt::format("mariadb-backup has copied {} bytes of InnoDB's log", bytes_.size()));
  }
  const uint64_t end = begin_ + bytes_.size();
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  while (true) {
    HAILSTONE_ASSIGN(const InnodbLogPlace now, place_());
    if (now.current < end) return is_other(now.current, "the server's log ends there");
    if (now.flushed >= end) return compare_up_to(end);
    if (stop()) return fail(ErrorCode::Interrupted, "interrupted");
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(ErrorCode::LockWaitTimeout,
                  fmt::format("InnoDB has not flushed its log up to {} within {} s; give "
                              "innodb_flush_log_at_timeout a smaller value",
                              end, longest_wait.count()));
    }
    std::this_thread::sleep_for(time_between_looks);
  }
}

Status CopiedInnodbLog::read_header() {
  if (has_header_ || bytes_.size() < header_bytes) return {};
  HAILSTONE_ASSIGN(begin_, begin_of(bytes_, "the copy of InnoDB's log"));
  bytes_.erase(0, header_bytes);
  has_header_ = true;
  return {};
}

Status CopiedInnodbLog::compare_what_is_flushed() {
  HAILSTONE_ASSIGN(const InnodbLogPlace now, place_());
  return compare_up_to(now.flushed);
}

Status CopiedInnodbLog::compare_up_to(uint64_t end) {
  if (end <= begin_ || bytes_.empty()) return {};
  const size_t size = std::min<uint64_t>(bytes_.size(), end - begin_);
  HAILSTONE_ASSIGN(const Ring ring, Ring::open(log_));
  if (begin_ < ring.begin())
    return is_other(begin_, fmt::format("the server has begun '{}' anew meanwhile", log_));
  std::string written(size, '\0');
  HAILSTONE_TRY(ring.read(begin_, written.data(), size));
  if (std::memcmp(written.data(), bytes_.data(), size) != 0) {
    for (size_t i = 0; i < size; ++i) {
      const uint64_t lsn = begin_ + i;
      if (written[i] == bytes_[i]) continue;
      if (written[i] == 0 && bytes_[i] == 1 && !ring.marks_are_ones(lsn)) continue;
      HAILSTONE_ASSIGN(const InnodbLogPlace now, place_());
      if (now.current > lsn + ring.capacity()) {
        return fail(ErrorCode::Busy,
                    fmt::format("the server has written over its InnoDB log, '{}', before the copy of it was "
                                "compared; give it a larger innodb_log_file_size",
                                log_));
      }
      return is_other(lsn, fmt::format("'{}' has other bytes", log_));
    }
  }
  begin_ += size;
  bytes_.erase(0, size);
  return {};
}

}  // namespace hailstone
