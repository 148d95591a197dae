#include "log/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/version.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

/// A file read front to back in big pieces.
class Window {
 public:
  static Result<Window> open(Filesystem& filesystem, const std::string& path, Counters* counters) {
    HAILSTONE_ASSIGN(auto file, filesystem.open(path));
    HAILSTONE_ASSIGN(const uint64_t size, file->size());
    return Window(std::move(file), size, counters);
  }
  uint64_t size() const { return size_; }
  /// The bytes at `offset`, at most `size` of them, fewer where the file ends. Valid until the next call.
  Result<ByteView> view(uint64_t offset, uint64_t size) {
    size = offset < size_ ? std::min(size, size_ - offset) : 0;
    if (offset < offset_ || offset + size > offset_ + bytes_.size()) {
      const uint64_t wanted = std::min(std::max(size, piece), size_ - std::min(offset, size_));
      bytes_.resize(static_cast<size_t>(wanted));
      offset_ = offset;
      HAILSTONE_TRY(file_->read_at(offset, bytes_.size(), bytes_.data()));
      if (counters_ != nullptr) {
        count(counters_->log_reads);
        count(counters_->log_read_bytes, bytes_.size());
      }
    }
    return ByteView(bytes_).substr(static_cast<size_t>(offset - offset_), static_cast<size_t>(size));
  }

  static constexpr uint64_t piece = uint64_t{1} << 20;

 private:
  Window(std::unique_ptr<RandomAccessFile> file, uint64_t size, Counters* counters)
      : file_(std::move(file)), size_(size), counters_(counters) {}

  std::unique_ptr<RandomAccessFile> file_;
  uint64_t size_;
  Counters* counters_;
  uint64_t offset_ = 0;  // of bytes_ in the file
  std::string bytes_;
};

/// The greatest durable position that an intact batch header at or behind `offset` names. The batch behind
/// the header need not be intact: the header alone proves what was known when it was written.
Result<Lsn> durable_claim_behind(Window& window, Lsn file_begin, uint64_t offset) {
  Lsn claim = 0;
  while (offset + log_batch_header_size <= window.size()) {
    HAILSTONE_ASSIGN(const ByteView bytes, window.view(offset, Window::piece));
    for (size_t at = bytes.find(log_batch_magic); at != ByteView::npos;
         at = bytes.find(log_batch_magic, at + 1)) {
      if (const auto header = decode_batch_header(bytes.substr(at), file_begin + offset + at)) {
        claim = std::max(claim, header->durable);
      }
    }
    // Pieces overlap so that a header across their border is seen whole.
    offset += bytes.size() - (log_batch_header_size - 1);
  }
  return claim;
}

class Scan {
 public:
  Scan(Filesystem& filesystem, const std::vector<LogFileName>& files, Lsn from,
       const std::function<Status(const LogRecord&)>& apply, Counters* counters)
      : filesystem_(filesystem), files_(files), from_(from), apply_(apply), counters_(counters) {}

  Result<LogEnd> run() {
    size_t index = files_.size();
    while (index > 0 && files_[index - 1].begin > from_) --index;
    if (index == 0) {
      return fail(
          ErrorCode::Corruption,
          files_.empty()
              ? fmt::format("the log has no file, but is needed from position {}", from_)
              : fmt::format("log file '{}' is the oldest, but the log is needed from position {} on: older "
                            "log files are missing; put them back or restore a backup",
                            files_.front().path, from_));
    }
    for (--index;; ++index) {
      const LogFileName& file = files_[index];
      HAILSTONE_ASSIGN(Window window, Window::open(filesystem_, file.path, counters_));
      HAILSTONE_ASSIGN(const bool header_intact, read_header(window, file));
      result_.file = index;
      result_.end = file.begin;
      if (header_intact) {
        HAILSTONE_TRY(read_batches(window, file));
        if (index + 1 < files_.size()) {
          const LogFileName& next = files_[index + 1];
          if (next.begin == result_.end) continue;
          if (next.begin < result_.end) {
            return fail(
                ErrorCode::Corruption,
                fmt::format(
                    "log file '{}' begins at position {}, inside of log file '{}', which ends at {}: they "
                    "are not of one log; restore the right ones or a backup",
                    next.path, next.begin, file.path, result_.end));
          }
        }
      }
      HAILSTONE_TRY(check_tail(window, index));
      // A file whose header never became durable is as if it had not been made, when there is one before it
      // to go on in.
      if (!header_intact && index > 0 && reached_ == file.begin) --result_.file;
      return result_;
    }
  }

 private:
  Result<bool> read_header(Window& window, const LogFileName& file) {
    HAILSTONE_ASSIGN(const ByteView bytes, window.view(0, log_file_header_size));
    const auto header = decode_file_header(bytes);
    if (!header) return false;
    if (header->version != log_format_version) {
      return fail(ErrorCode::Unsupported, fmt::format("log file '{}' {}; nothing was changed", file.path,
                                                      unknown_format(header->version)));
    }
    if (header->begin != file.begin) {
      return fail(ErrorCode::Corruption,
                  fmt::format("log file '{}' was renamed: it begins at position {} and must be called '{}'",
                              file.path, header->begin, log_file_name(header->begin)));
    }
    result_.durable = std::max(result_.durable, header->durable);
    return true;
  }

  /// Applies the intact batches from the file's header on; result_.end is then where the first one would be
  /// that is not intact.
  Status read_batches(Window& window, const LogFileName& file) {
    uint64_t offset = log_file_header_size;
    for (;;) {
      const Lsn begin = file.begin + offset;
      result_.end = reached_ = begin;
      HAILSTONE_ASSIGN(const ByteView header_bytes, window.view(offset, log_batch_header_size));
      const auto header = decode_batch_header(header_bytes, begin);
      if (!header || header->size > window.size() - offset - log_batch_header_size) return {};
      HAILSTONE_ASSIGN(const ByteView records, window.view(offset + log_batch_header_size, header->size));
      if (checksum(records) != header->records_checksum) return {};
      HAILSTONE_TRY(apply_records(records, file, offset + log_batch_header_size));
      offset += log_batch_header_size + header->size;
      result_.durable = std::max(result_.durable, header->durable);
      if (header->size != 0) result_.records_end = file.begin + offset;
    }
  }

  Status apply_records(ByteView records, const LogFileName& file, uint64_t offset) {
    for (ByteReader reader(records); !reader.empty();) {
      LogRecord record;
      record.begin = file.begin + offset + (records.size() - reader.remaining());
      uint32_t size = 0;
      uint8_t type = 0;
      if (!reader.take(size) || !reader.take(type) || !reader.take_bytes(size, record.payload)) {
        return fail(
            ErrorCode::Corruption,
            fmt::format("log file '{}' holds a record at offset {} that does not fit its batch, though the "
                        "checksum is right; restore a backup",
                        file.path, record.begin - file.begin));
      }
      record.type = static_cast<LogRecordType>(type);
      record.end = file.begin + offset + (records.size() - reader.remaining());
      if (record.begin >= from_) HAILSTONE_TRY(apply_(record));
    }
    return {};
  }

  /// Corruption when something proves that the log was once durable beyond result_.end.
  Status check_tail(Window& window, size_t index) {
    const LogFileName& file = files_[index];
    const Lsn end = result_.end;
    HAILSTONE_ASSIGN(Lsn durable, durable_claim_behind(window, file.begin, end - file.begin));
    durable = std::max({durable, from_, result_.durable});
    for (size_t later = index + 1; later < files_.size(); ++later) {
      HAILSTONE_ASSIGN(Window later_window, Window::open(filesystem_, files_[later].path, counters_));
      HAILSTONE_ASSIGN(const ByteView bytes, later_window.view(0, log_file_header_size));
      const auto header = decode_file_header(bytes);
      if (header && header->begin == files_[later].begin) durable = std::max(durable, header->durable);
      HAILSTONE_ASSIGN(const Lsn claim, durable_claim_behind(later_window, files_[later].begin, 0));
      durable = std::max(durable, claim);
    }
    if (durable <= end) return {};
    return fail(
        ErrorCode::Corruption,
        fmt::format(
            "log file '{}' is damaged or cut at offset {}, or the log file that follows is missing: the log "
            "was durable up to position {}, but is readable only up to {}; restore the file or a backup",
            file.path, end - file.begin, durable, end));
  }

  Filesystem& filesystem_;
  const std::vector<LogFileName>& files_;
  const Lsn from_;
  const std::function<Status(const LogRecord&)>& apply_;
  Counters* const counters_;
  LogEnd result_;
  Lsn reached_ = 0;  // end of the last intact batch, in whichever file
};

}  // namespace

Result<LogEnd> scan_log(Filesystem& filesystem, const std::vector<LogFileName>& files, Lsn from,
                        const std::function<Status(const LogRecord&)>& apply, Counters* counters) {
  return Scan(filesystem, files, from, apply, counters).run();
}

}  // namespace hailstone
