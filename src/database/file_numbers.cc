#include "database/file_numbers.h"

#include <algorithm>

namespace hailstone {

namespace {
/// Many more files than can be made before the manifest is written again.
constexpr uint64_t numbers_ahead = uint64_t{1} << 20;
}  // namespace

FileIdentity FileNumbers::take(uint64_t table) {
  const MutexLock guard(mutex_);
  const uint64_t file = next_++;
  return {.database = database_of_file(databases_, file), .table = table, .file = file};
}

uint64_t FileNumbers::next() const {
  const MutexLock guard(mutex_);
  return next_;
}

void FileNumbers::skip_to(uint64_t next) {
  const MutexLock guard(mutex_);
  next_ = std::max(next_, next);
}

std::vector<DatabaseIdentity> FileNumbers::databases() const {
  const MutexLock guard(mutex_);
  return databases_;
}

void FileNumbers::adopt(std::vector<DatabaseIdentity> databases) {
  const MutexLock guard(mutex_);
  databases_ = std::move(databases);
  if (!databases_.empty()) next_ = std::max(next_, databases_.back().first_file);
}

std::optional<DatabaseIdentity> FileNumbers::missing() {
  const MutexLock guard(mutex_);
  if (!databases_.empty()) return std::nullopt;
  // The same again after a failure: a crash may bring to light that it was written.
  if (!chosen_) {
    chosen_ = {.first_file = next_ == 1 ? 1 : next_ + numbers_ahead, .database = new_database_number()};
  }
  return chosen_;
}

void FileNumbers::recorded(const DatabaseIdentity& identity) {
  const MutexLock guard(mutex_);
  databases_.push_back(identity);
  next_ = std::max(next_, identity.first_file);
  chosen_.reset();
}

Status FileNumbers::check(const std::string& path, uint64_t table, uint64_t file,
                          const std::optional<FileIdentity>& found) const {
  return check_identity(databases(), path, table, file, found);
}

}  // namespace hailstone
