#include "file/spill_file.h"

#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>

#include "base/check.h"
#include "base/guard.h"
#include "base/hash.h"

namespace hailstone {

namespace {

constexpr std::string_view spill_prefix = "spill-";
constexpr size_t spill_number_digits = 16;

// A frame's header: the checksum of all behind it, its offset in the file, the sizes of its bytes before
// and after compression.
constexpr size_t frame_checksum_at = 0;
constexpr size_t frame_offset_at = 8;
constexpr size_t frame_size_at = 16;
constexpr size_t frame_stored_at = 20;
constexpr size_t frame_header_bytes = 24;

/// Frames are held back until they are worth a system call.
constexpr size_t write_bytes = size_t{64} << 10;

}  // namespace

bool SpillSpace::is_spill_name(std::string_view name) {
  if (!name.starts_with(spill_prefix)) return false;
  name.remove_prefix(spill_prefix.size());
  return name.size() == spill_number_digits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::unique_ptr<SpillFile>> SpillSpace::create() {
  const uint64_t number = next_file_.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<SpillFile> file(
      new SpillFile(*this, fmt::format("{}/{}{:016x}", directory_, spill_prefix, number)));
  HAILSTONE_ASSIGN(file->writer_, filesystem_.create(file->path_));
  return file;
}

Status SpillSpace::take(uint64_t bytes, const std::string& path) {
  const uint64_t limit = limit_.load(std::memory_order_relaxed);
  const uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
  count(counters_.spill_bytes, bytes);
  if (limit == 0 || before + bytes <= limit) return {};
  give_back(bytes);
  // Short, as a server may cut it.
  return fail(
      ErrorCode::DiskFull,
      fmt::format("spill file '{}' would pass hailstone_spill_limit, {} bytes: raise it or the memory budget",
                  path, limit));
}

void SpillSpace::give_back(uint64_t bytes) {
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  counters_.spill_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

SpillFile::~SpillFile() {
  reader_.reset();
  // It is not to last: neither whether all of it was written matters, nor, for the next start removes what
  // is left, whether it can be removed. Without memory it stays until then, too. It may be there though it
  // has no writer: when memory failed behind its creation.
  writer_.reset();
  try_to([&] { static_cast<void>(space_.filesystem_.remove(path_)); });
  space_.give_back(size_);
}

Result<SpilledFrame> SpillFile::append(ByteView bytes) {
  HAILSTONE_CHECK(writer_ != nullptr && bytes.size() <= most_frame_bytes, "a frame of {} bytes for file '{}'",
                  bytes.size(), path_);
  packed_.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))));
  const int packed = LZ4_compress_default(bytes.data(), packed_.data(), static_cast<int>(bytes.size()),
                                          static_cast<int>(packed_.size()));
  const bool is_packed = packed > 0 && static_cast<size_t>(packed) < bytes.size();
  const ByteView stored = is_packed ? ByteView(packed_.data(), static_cast<size_t>(packed)) : bytes;

  const SpilledFrame frame{.offset = size_ + buffer_.size(),
                           .stored = static_cast<uint32_t>(stored.size()),
                           .size = static_cast<uint32_t>(bytes.size())};
  const size_t begin = buffer_.size();
  buffer_.resize(begin + frame_header_bytes);
  buffer_.append(stored);
  char* const header = buffer_.data() + begin;
  store(header + frame_offset_at, frame.offset);
  store(header + frame_size_at, frame.size);
  store(header + frame_stored_at, frame.stored);
  store(header + frame_checksum_at, checksum(ByteView(buffer_).substr(begin + frame_offset_at)));
  if (buffer_.size() >= write_bytes) HAILSTONE_TRY(write_buffer());
  return frame;
}

Status SpillFile::write_buffer() {
  if (buffer_.empty()) return {};
  HAILSTONE_TRY(space_.take(buffer_.size(), path_));
  size_ += buffer_.size();
  if (Status written = writer_->append(buffer_); !written) {
    const Error& error = written.error();
    if (error.code() != ErrorCode::DiskFull) return written;
    return std::unexpected(Error(
        error.code(), fmt::format("{}: make room on its disk, or raise the memory budget", error.message()),
        error.system_error()));
  }
  count(space_.counters_.spill_writes);
  count(space_.counters_.spill_write_bytes, buffer_.size());
  buffer_.clear();
  return {};
}

Status SpillFile::finish() {
  HAILSTONE_TRY(write_buffer());
  HAILSTONE_TRY(writer_->close());
  HAILSTONE_ASSIGN(reader_, space_.filesystem_.open(path_));
  writer_.reset();
  // For the rest of its life the file needs the reader only.
  std::string().swap(buffer_);
  std::string().swap(packed_);
  return {};
}

Status SpillFile::read(const SpilledFrame& frame, std::string& scratch, std::string& to) const {
  HAILSTONE_CHECK(reader_ != nullptr, "file '{}' is read before it has been finished", path_);
  const auto damaged = [&] {
    return fail(ErrorCode::Io,
                fmt::format("spill file '{}' does not hold at offset {} what was written there: the disk or "
                            "memory is faulty; the statement can be tried again",
                            path_, frame.offset));
  };
  scratch.resize(frame_header_bytes + frame.stored);
  if (Status done = reader_->read_at(frame.offset, scratch.size(), scratch.data()); !done) {
    // A file that is too short was not cut by us.
    if (done.error().code() == ErrorCode::Corruption) return damaged();
    return done;
  }
  count(space_.counters_.spill_reads);
  count(space_.counters_.spill_read_bytes, scratch.size());
  const ByteView whole = scratch;
  const char* const header = whole.data();
  if (load<uint64_t>(header + frame_checksum_at) != checksum(whole.substr(frame_offset_at)) ||
      load<uint64_t>(header + frame_offset_at) != frame.offset ||
      load<uint32_t>(header + frame_size_at) != frame.size ||
      load<uint32_t>(header + frame_stored_at) != frame.stored) {
    return damaged();
  }
  const ByteView stored = whole.substr(frame_header_bytes);
  if (frame.stored == frame.size) {
    to.assign(stored);
    return {};
  }
  to.resize(frame.size);
  const int unpacked = LZ4_decompress_safe(stored.data(), to.data(), static_cast<int>(stored.size()),
                                           static_cast<int>(to.size()));
  if (unpacked != static_cast<int>(frame.size)) return damaged();
  return {};
}

}  // namespace hailstone
