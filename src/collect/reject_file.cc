#include "collect/reject_file.h"

#include <ctime>
#include <filesystem>

#include "collect/load_text.h"

namespace hailstone {
namespace {

constexpr size_t later_bytes = size_t{64} << 10;

std::string line_of(const Rejection& rejection) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32];
  std::string line(time, std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &utc));
  for (const std::string& field : {rejection.source, std::to_string(rejection.line), rejection.column,
                                   rejection.reason, rejection.record}) {
    line += '\t';
    append_load_field(line, {Field::Kind::Text, field});
  }
  return line + '\n';
}

}  // namespace

Status RejectFile::add(std::span<const Rejection* const> rejections) {
  if (rejections.empty()) return {};
  std::string lines;
  for (const Rejection* rejection : rejections) lines += line_of(*rejection);
  MutexLock lock(mutex_);
  HAILSTONE_TRY(write_later_ones());
  HAILSTONE_TRY(append(lines));
  count_ += rejections.size();
  return {};
}

Status RejectFile::add_later(const Rejection& rejection) {
  const std::string line = line_of(rejection);
  MutexLock lock(mutex_);
  if (later_.size() >= later_bytes) HAILSTONE_TRY(write_later_ones());
  later_ += line;
  ++count_;
  return {};
}

Status RejectFile::write_later_ones() {
  if (later_.empty()) return {};
  HAILSTONE_TRY(append(later_));
  later_.clear();
  return {};
}

Status RejectFile::append(std::string_view lines) {
  if (file_ == nullptr) HAILSTONE_TRY(open());
  if (const Status appended = file_->append(lines); !appended) {
    HAILSTONE_TRY(file_->cut());
    return appended;
  }
  is_synced_ = false;
  return {};
}

Status RejectFile::open() {
  if (!filesystem_.exists(path_)) {
    HAILSTONE_ASSIGN(auto file, filesystem_.create(path_));
    const std::string folder = std::filesystem::path(path_).parent_path();
    HAILSTONE_TRY(filesystem_.sync_directory(folder.empty() ? "." : folder));
    file_ = std::move(file);
    return {};
  }
  HAILSTONE_ASSIGN(auto file, filesystem_.append_to(path_));
  if (file->size() > 0) {
    // A crash may have left a part of a line, whose record comes again.
    HAILSTONE_ASSIGN(const auto written, filesystem_.open(path_));
    char last = 0;
    HAILSTONE_TRY(written->read_at(file->size() - 1, 1, &last));
    if (last != '\n') HAILSTONE_TRY(file->append("\n"));
  }
  file_ = std::move(file);
  return {};
}

Status RejectFile::sync() {
  MutexLock lock(mutex_);
  HAILSTONE_TRY(write_later_ones());
  if (is_synced_) return {};
  HAILSTONE_TRY(file_->sync());
  is_synced_ = true;
  return {};
}

uint64_t RejectFile::count() const {
  MutexLock lock(mutex_);
  return count_;
}

}  // namespace hailstone
