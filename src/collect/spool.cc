#include "collect/spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "collect/spool_scan.h"

namespace hailstone {
namespace {

/// Of a file that has no durable header yet; what a crash leaves of these goes.
constexpr std::string_view unfinished_end = ".new";

SpoolId random_id() {
  SpoolId id{};
  std::random_device random;
  for (size_t i = 0; i < id.size(); i += 4) store(id.data() + i, static_cast<uint32_t>(random()));
  return id;
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::open(Filesystem& filesystem, SpoolOptions options) {
  std::unique_ptr<Spool> spool(new Spool(filesystem, std::move(options)));
  HAILSTONE_TRY(filesystem.make_directory(spool->options_.directory));
  auto lock = filesystem.lock_directory(spool->options_.directory);
  if (!lock && lock.error().code() == ErrorCode::Busy) {
    // Who has it is the error's first part.
    const std::string_view said = lock.error().message();
    return fail(ErrorCode::Busy,
                fmt::format("{}; end the collector that has this spool, or give [spool] another directory",
                            said.substr(0, said.rfind("; "))));
  }
  HAILSTONE_TRY(lock);
  spool->lock_ = std::move(*lock);
  HAILSTONE_TRY(spool->recover());
  return spool;
}

Spool::~Spool() = default;

std::string Spool::path_of(uint64_t number) const {
  return options_.directory + "/" + spool_file_name(number);
}

Status Spool::recover() {
  MutexLock lock(mutex_);
  HAILSTONE_ASSIGN(const auto names, filesystem_.list(options_.directory));
  std::vector<uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_spool_file_name(name)) {
      numbers.push_back(*number);
    } else if (name.ends_with(unfinished_end)) {
      HAILSTONE_TRY(filesystem_.remove(options_.directory + "/" + name));
    }
  }
  std::ranges::sort(numbers);
  if (numbers.empty()) {
    id_ = random_id();
    is_recovered_ = true;
    return {};
  }
  for (const uint64_t number : numbers) {
    HAILSTONE_ASSIGN(const SpoolFileScan scan, SpoolFileScan::open(filesystem_, path_of(number), number));
    if (files_.empty()) {
      id_ = scan.header().id;
    } else if (number != files_.back().number + 1) {
      return scan.damaged(fmt::format("the file '{}' before it is missing", path_of(number - 1)));
    } else if (scan.header().id != id_ || scan.header().sequence < files_.back().sequence) {
      return scan.damaged("the file is of another spool");
    }
    files_.push_back({number, scan.header().sequence, scan.size(), scan.size()});
  }

  File& last = files_.back();
  HAILSTONE_ASSIGN(SpoolFileScan scan, SpoolFileScan::open(filesystem_, path_of(last.number), last.number));
  positions_ = scan.header().positions;
  bool is_closed = scan.size() == scan.offset();  // there is but the header, which is durable
  last.durable_bytes = scan.offset();
  durable_sequence_ = scan.sequence();
  std::deque<std::pair<uint64_t, uint64_t>> unproven;  // where frames end, and records before that
  for (;;) {
    const uint64_t begin = scan.offset();
    HAILSTONE_ASSIGN(const bool found, scan.next(scan.size()));
    if (!found) break;
    unproven.emplace_back(scan.offset(), scan.sequence());
    for (; !unproven.empty() && unproven.front().first <= scan.proven(); unproven.pop_front()) {
      std::tie(last.durable_bytes, durable_sequence_) = unproven.front();
    }
    if (!take_positions(scan.positions(), positions_)) return scan.damaged("a frame's positions are damaged");
    const bool is_end = scan.frame().body_bytes == 0 && scan.frame().durable == begin;
    is_closed = is_end && scan.offset() == scan.size();
  }
  if (scan.offset() < scan.size()) HAILSTONE_TRY(scan.check_tail());
  last.bytes = scan.offset();
  appended_sequence_ = scan.sequence();
  is_recovered_ = is_closed;
  if (is_closed) {
    last.durable_bytes = last.bytes;
    durable_sequence_ = appended_sequence_;
  }
  return {};
}

Status Spool::finish_file(WritableFile& file, uint64_t number) {
  HAILSTONE_TRY(file.sync());
  HAILSTONE_TRY(file.close());
  HAILSTONE_TRY(filesystem_.rename(file.path(), path_of(number)));
  return filesystem_.sync_directory(options_.directory);
}

Status Spool::write_again() {
  File last;
  {
    MutexLock lock(mutex_);
    if (is_recovered_) return {};
    last = files_.back();
  }
  const std::string path = path_of(last.number);
  HAILSTONE_ASSIGN(const auto from, filesystem_.open(path));
  HAILSTONE_ASSIGN(const auto to, filesystem_.create(path + std::string(unfinished_end)));
  std::string piece;
  while (to->size() < last.bytes) {
    piece.resize(std::min<uint64_t>(last.bytes - to->size(), uint64_t{1} << 20));
    HAILSTONE_TRY(from->read_at(to->size(), piece.size(), piece.data()));
    HAILSTONE_TRY(to->append(piece));
  }
  // It says that all before it is durable, which holds by the time that the file has its name.
  SpoolFrame end;
  HAILSTONE_TRY(to->append(
      end.encoded({.id = id_, .number = last.number, .offset = to->size()}, appended_sequence_, to->size())));
  const uint64_t bytes = to->size();
  HAILSTONE_TRY(finish_file(*to, last.number));
  MutexLock lock(mutex_);
  files_.back().bytes = files_.back().durable_bytes = bytes;
  durable_sequence_ = appended_sequence_;
  is_recovered_ = true;
  return {};
}

std::string Spool::header_of(uint64_t number) const {
  return encode({.id = id_, .number = number, .sequence = appended_sequence_, .positions = positions_});
}

Status Spool::begin_file() {
  HAILSTONE_TRY(sync());
  uint64_t number = 1;
  {
    MutexLock lock(mutex_);
    if (!files_.empty()) number = files_.back().number + 1;
  }
  {
    HAILSTONE_ASSIGN(const auto file, filesystem_.create(path_of(number) + std::string(unfinished_end)));
    HAILSTONE_TRY(file->append(header_of(number)));
    HAILSTONE_TRY(finish_file(*file, number));
  }
  // Under its name, by which it may be cut.
  HAILSTONE_ASSIGN(file_, filesystem_.append_to(path_of(number)));
  MutexLock lock(mutex_);
  files_.push_back({number, appended_sequence_, file_->size(), file_->size()});
  return {};
}

Status Spool::append(SpoolFrame& frame) {
  HAILSTONE_TRY(check_usable());
  const uint64_t size = frame.encoded_bytes();
  if (size > options_.file_bytes) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} bytes are more than a file of the spool '{}' takes, {}", size,
                            options_.directory, options_.file_bytes));
  }
  const bool begins_file = file_ == nullptr || file_->size() + size > options_.file_bytes;
  const uint64_t more = size + (begins_file ? header_of(0).size() : 0);
  if (state().bytes + more > options_.limit_bytes) {
    return fail(ErrorCode::Busy, fmt::format("the spool '{}' is full: it may take {} bytes",
                                             options_.directory, options_.limit_bytes));
  }
  if (begins_file) HAILSTONE_TRY(begin_file());
  File last;
  {
    MutexLock lock(mutex_);
    last = files_.back();
  }
  const Status appended = file_->append(frame.encoded(
      {.id = id_, .number = last.number, .offset = last.bytes}, appended_sequence_, last.durable_bytes));
  if (!appended) {
    if (const Status cut = file_->cut(); !cut) return become_unusable(cut.error());
    return appended;
  }
  appended_sequence_ += frame.records();
  for (const auto& [source, position] : frame.positions()) {
    if (position.empty()) {
      positions_.erase(source);
    } else {
      positions_.insert_or_assign(source, position);
    }
  }
  frame.clear();
  MutexLock lock(mutex_);
  files_.back().bytes = file_->size();
  return {};
}

Status Spool::sync() {
  HAILSTONE_TRY(check_usable());
  if (file_ == nullptr) return write_again();
  {
    MutexLock lock(mutex_);
    if (files_.back().durable_bytes == file_->size()) return {};
  }
  if (const Status synced = file_->sync(); !synced) return become_unusable(synced.error());
  MutexLock lock(mutex_);
  files_.back().durable_bytes = file_->size();
  durable_sequence_ = appended_sequence_;
  return {};
}

Status Spool::close() {
  HAILSTONE_TRY(sync());
  if (file_ == nullptr) return {};
  // Nothing but the end mark: an empty frame behind bytes that are all durable.
  SpoolFrame end;
  HAILSTONE_TRY(append(end));
  HAILSTONE_TRY(sync());
  return file_->close();
}

Status Spool::release(uint64_t sequence) {
  for (;;) {
    uint64_t number = 0;
    {
      MutexLock lock(mutex_);
      HAILSTONE_CHECK(sequence <= durable_sequence_, "{} of {} records", sequence, durable_sequence_);
      if (files_.size() < 2 || files_[1].sequence > sequence) return {};
      number = files_.front().number;
    }
    const Status removed = filesystem_.remove(path_of(number));
    // A call before this one may have removed it and then failed.
    if (!removed && removed.error().code() != ErrorCode::NotFound) return removed;
    HAILSTONE_TRY(filesystem_.sync_directory(options_.directory));
    MutexLock lock(mutex_);
    files_.pop_front();
  }
}

Spool::State Spool::state() const {
  MutexLock lock(mutex_);
  State state{.begin = files_.empty() ? 0 : files_.front().sequence,
              .end = durable_sequence_,
              .bytes = 0,
              .is_recovered = is_recovered_};
  for (const File& file : files_) state.bytes += file.bytes;
  return state;
}

Result<Spool::FileExtent> Spool::file_of(uint64_t sequence) const {
  MutexLock lock(mutex_);
  if (files_.empty() || sequence < files_.front().sequence || sequence > durable_sequence_) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("the spool '{}' does not have record {}, only those from {} to {}", options_.directory,
                    sequence, files_.empty() ? 0 : files_.front().sequence, durable_sequence_));
  }
  // Of files without records the last one.
  const auto behind = std::ranges::upper_bound(files_, sequence, {}, &File::sequence);
  const File& file = *std::prev(behind);
  return FileExtent{.number = file.number, .bytes = file.durable_bytes};
}

Status Spool::check_usable() const {
  if (failure_.empty()) return {};
  return fail(
      ErrorCode::ReadOnly,
      fmt::format("the spool '{}' takes nothing more, as {}; start the collector again, which writes again "
                  "what may not have reached the disk",
                  options_.directory, failure_));
}

std::unexpected<Error> Spool::become_unusable(const Error& cause) {
  failure_ = fmt::format("an earlier write failed ({})", cause.message());
  return std::unexpected(check_usable().error());
}

}  // namespace hailstone
