#include "file/overlay_filesystem.h"

#include <algorithm>
#include <cerrno>

#include "file/io_error.h"

namespace hailstone {

/// A file that begins below and goes on in memory.
class OverlayFilesystem::Reader final : public RandomAccessFile {
 public:
  Reader(std::unique_ptr<RandomAccessFile> base, uint64_t base_bytes, std::unique_ptr<RandomAccessFile> rest,
         std::string path)
      : base_(std::move(base)), base_bytes_(base_bytes), rest_(std::move(rest)), path_(std::move(path)) {}

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    if (offset < base_bytes_) {
      const auto here = static_cast<size_t>(std::min<uint64_t>(size, base_bytes_ - offset));
      HAILSTONE_TRY(base_->read_at(offset, here, to));
      offset += here;
      size -= here;
      to += here;
    }
    if (size == 0) return {};
    return rest_->read_at(offset - base_bytes_, size, to);
  }
  const char* lent(uint64_t offset, size_t size) const override {
    return offset < base_bytes_ ? nullptr : rest_->lent(offset - base_bytes_, size);
  }
  Result<uint64_t> size() const override {
    HAILSTONE_ASSIGN(const uint64_t rest, rest_->size());
    return base_bytes_ + rest;
  }
  const std::string& path() const override { return path_; }

 private:
  const std::unique_ptr<RandomAccessFile> base_;  // null when nothing is left of it
  const uint64_t base_bytes_;
  const std::unique_ptr<RandomAccessFile> rest_;
  const std::string path_;
};

class OverlayFilesystem::Writer final : public WritableFile {
 public:
  Writer(std::unique_ptr<WritableFile> rest, uint64_t base_bytes, std::string path)
      : rest_(std::move(rest)), base_bytes_(base_bytes), path_(std::move(path)) {}

  Status append(ByteView bytes) override { return rest_->append(bytes); }
  Status preallocate(uint64_t) override { return {}; }
  Status cut() override { return rest_->cut(); }
  Status sync() override { return {}; }
  Status close() override { return rest_->close(); }
  uint64_t size() const override { return base_bytes_ + rest_->size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::unique_ptr<WritableFile> rest_;
  const uint64_t base_bytes_;
  const std::string path_;
};

Result<OverlayFilesystem::Changed> OverlayFilesystem::find(const char* what, const std::string& path) {
  const auto known = changed_.find(path);
  if (known != changed_.end()) {
    if (known->second) return *known->second;
    return std::unexpected(io_error(what, path, ENOENT));
  }
  HAILSTONE_ASSIGN(const uint64_t size, below_.file_size(path));
  return Changed{.base = path, .base_bytes = size, .rest = {}};
}

Result<OverlayFilesystem::Changed> OverlayFilesystem::make_changed(const char* what,
                                                                   const std::string& path) {
  HAILSTONE_ASSIGN(Changed changed, find(what, path));
  if (changed.rest.empty()) {
    changed.rest = next_rest();
    HAILSTONE_TRY(memory_.create(changed.rest));
  }
  changed_[path] = changed;
  return changed;
}

Result<std::unique_ptr<RandomAccessFile>> OverlayFilesystem::open_changed(const std::string& path) {
  HAILSTONE_ASSIGN(const Changed changed, find("open", path));
  if (changed.rest.empty()) return below_.open_plain(changed.base);
  std::unique_ptr<RandomAccessFile> base;
  if (changed.base_bytes > 0) {
    HAILSTONE_ASSIGN(base, below_.open_plain(changed.base));
  }
  HAILSTONE_ASSIGN(auto rest, memory_.open(changed.rest));
  return std::make_unique<Reader>(std::move(base), changed.base_bytes, std::move(rest), path);
}

Result<std::unique_ptr<RandomAccessFile>> OverlayFilesystem::open(const std::string& path) {
  const MutexLock guard(mutex_);
  return changed_.contains(path) ? open_changed(path) : below_.open(path);
}

Result<std::unique_ptr<RandomAccessFile>> OverlayFilesystem::open_plain(const std::string& path) {
  const MutexLock guard(mutex_);
  return changed_.contains(path) ? open_changed(path) : below_.open_plain(path);
}

Result<std::unique_ptr<WritableFile>> OverlayFilesystem::create(const std::string& path) {
  const MutexLock guard(mutex_);
  Changed made{.base = {}, .base_bytes = 0, .rest = next_rest()};
  HAILSTONE_ASSIGN(auto rest, memory_.create(made.rest));
  changed_[path] = std::move(made);
  return std::make_unique<Writer>(std::move(rest), 0, path);
}

Result<std::unique_ptr<WritableFile>> OverlayFilesystem::append_to(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const Changed changed, make_changed("open", path));
  HAILSTONE_ASSIGN(auto rest, memory_.append_to(changed.rest));
  return std::make_unique<Writer>(std::move(rest), changed.base_bytes, path);
}

Status OverlayFilesystem::rename(const std::string& from, const std::string& to) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(Changed changed, find("rename", from));
  if (from == to) return {};
  changed_[from] = std::nullopt;
  changed_[to] = std::move(changed);
  return {};
}

Status OverlayFilesystem::remove(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const Changed changed, find("remove", path));
  changed_[path] = std::nullopt;
  if (changed.rest.empty()) return {};
  return memory_.remove(changed.rest);
}

Status OverlayFilesystem::truncate(const std::string& path, uint64_t size) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const Changed before, make_changed("truncate", path));
  changed_[path]->base_bytes = std::min(before.base_bytes, size);
  return memory_.truncate(before.rest, size - std::min(before.base_bytes, size));
}

Status OverlayFilesystem::make_directory(const std::string& path) {
  if (below_.exists(path)) return {};
  return std::unexpected(io_error("make directory", path, EROFS));
}

Status OverlayFilesystem::remove_directory(const std::string& path) {
  return std::unexpected(io_error("remove directory", path, EROFS));
}

Result<std::vector<std::string>> OverlayFilesystem::list(const std::string& path) {
  HAILSTONE_ASSIGN(auto names, below_.list(path));
  const std::string prefix = path + "/";
  const MutexLock guard(mutex_);
  std::erase_if(names, [&](const std::string& name)
                           HAILSTONE_REQUIRES(mutex_) { return changed_.contains(prefix + name); });
  for (auto each = changed_.lower_bound(prefix); each != changed_.end() && each->first.starts_with(prefix);
       ++each) {
    std::string name = each->first.substr(prefix.size());
    if (each->second && !name.contains('/')) names.push_back(std::move(name));
  }
  return names;
}

bool OverlayFilesystem::exists(const std::string& path) {
  {
    const MutexLock guard(mutex_);
    const auto known = changed_.find(path);
    if (known != changed_.end()) return known->second.has_value();
  }
  return below_.exists(path);
}

Result<uint64_t> OverlayFilesystem::file_size(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const Changed changed, find("find the size of", path));
  if (changed.rest.empty()) return changed.base_bytes;
  HAILSTONE_ASSIGN(const uint64_t rest, memory_.file_size(changed.rest));
  return changed.base_bytes + rest;
}

Result<std::unique_ptr<DirectoryLock>> OverlayFilesystem::lock_directory(const std::string& path) {
  HAILSTONE_ASSIGN(auto lock, below_.lock_directory_to_read(path));
  // Without a lock file nothing has ever locked the directory.
  if (lock == nullptr) lock = std::make_unique<DirectoryLock>();
  return lock;
}

}  // namespace hailstone
