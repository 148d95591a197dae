#include "file/memory_filesystem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/page_allocator.h"
#include "file/io_error.h"

namespace hailstone {

namespace {

constexpr uint64_t least_piece_bytes = uint64_t{4} << 10;
constexpr uint64_t most_piece_bytes = uint64_t{1} << 20;
/// Of a file that has been written: as much is copied at once, so that it takes memory twice.
constexpr uint64_t most_joined_bytes = uint64_t{32} << 20;

}  // namespace

class MemoryFilesystem::File {
 public:
  explicit File(MemoryBudget* budget) : budget_(budget) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (budget_ != nullptr) budget_->release(charged_);
  }

  uint64_t size() const {
    const SharedLock guard(mutex_);
    return size_;
  }

  /// False: the file ends before.
  bool read(uint64_t offset, size_t size, char* to) const {
    const SharedLock guard(mutex_);
    if (offset > size_ || size > size_ - offset) return false;
    const auto behind = std::ranges::upper_bound(pieces_, offset, {}, &Piece::begin);
    for (auto piece = behind - (behind == pieces_.begin() ? 0 : 1); size > 0; ++piece) {
      const uint64_t inside = offset - piece->begin;
      const auto here = static_cast<size_t>(std::min<uint64_t>(size, piece->bytes - inside));
      std::memcpy(to, piece->memory.get() + inside, here);
      to += here;
      offset += here;
      size -= here;
    }
    return true;
  }

  /// Null: they lie in two pieces, or beyond the end, or the last piece may still move.
  const char* lent(uint64_t offset, size_t size) const {
    const SharedLock guard(mutex_);
    if (!fits_ || offset > size_ || size > size_ - offset || pieces_.empty()) return nullptr;
    const Piece& piece = *std::prev(std::ranges::upper_bound(pieces_, offset, {}, &Piece::begin));
    const uint64_t inside = offset - piece.begin;
    return size <= piece.bytes - inside ? piece.memory.get() + inside : nullptr;
  }

  void append(ByteView bytes) {
    const ExclusiveLock guard(mutex_);
    fits_ = false;
    // First, so that all is there or nothing.
    const uint64_t end = size_ + bytes.size();
    while (capacity() < end) add_piece(std::clamp(capacity(), least_piece_bytes, most_piece_bytes));
    auto piece = std::ranges::upper_bound(pieces_, size_, {}, &Piece::begin);
    if (piece != pieces_.begin()) --piece;
    for (; !bytes.empty(); ++piece) {
      const uint64_t inside = size_ - piece->begin;
      const auto here = static_cast<size_t>(std::min<uint64_t>(bytes.size(), piece->bytes - inside));
      std::memcpy(piece->memory.get() + inside, bytes.data(), here);
      size_ += here;
      bytes.remove_prefix(here);
    }
  }

  void cut_to(uint64_t size) {
    const ExclusiveLock guard(mutex_);
    size_ = std::min(size_, size);
    drop_unused();
  }

  /// Joins the pieces, so that more can be lent, and gives back what the last one has too much.
  void fit() {
    const ExclusiveLock guard(mutex_);
    drop_unused();
    for (size_t first = 0; first < pieces_.size(); ++first) {
      size_t last = first + 1;
      while (last < pieces_.size() && pieces_[last].end() - pieces_[first].begin <= most_joined_bytes) ++last;
      if (last - first > 1 || pieces_[first].end() > size_) join(first, last);
    }
    fits_ = true;  // not when there was no memory to join them
  }

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    PageBytes memory;
    uint64_t end() const { return begin + bytes; }
  };

  uint64_t capacity() const HAILSTONE_REQUIRES_SHARED(mutex_) {
    return pieces_.empty() ? 0 : pieces_.back().end();
  }
  /// Puts what the pieces [first, last) hold into one that has no room for more.
  void join(size_t first, size_t last) HAILSTONE_REQUIRES(mutex_) {
    const uint64_t begin = pieces_[first].begin, capacity = pieces_[last - 1].end() - begin;
    const uint64_t used = std::min(size_ - begin, capacity);
    PageBytes memory = make_page_bytes(static_cast<size_t>(used));
    for (size_t i = first; i < last; ++i) {
      const uint64_t inside = pieces_[i].begin - begin;
      std::memcpy(memory.get() + inside, pieces_[i].memory.get(),
                  static_cast<size_t>(std::min(pieces_[i].bytes, used - inside)));
    }
    pieces_[first] = {begin, used, std::move(memory)};
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                  pieces_.begin() + static_cast<std::ptrdiff_t>(last));
    discharge(capacity - used);
  }
  void add_piece(uint64_t bytes) HAILSTONE_REQUIRES(mutex_) {
    pieces_.push_back({capacity(), bytes, make_page_bytes(static_cast<size_t>(bytes))});
    charged_ += static_cast<size_t>(bytes);
    if (budget_ != nullptr) budget_->reserve(static_cast<size_t>(bytes));
  }
  void drop_unused() HAILSTONE_REQUIRES(mutex_) {
    while (!pieces_.empty() && pieces_.back().begin >= size_) {
      const uint64_t bytes = pieces_.back().bytes;
      pieces_.pop_back();
      discharge(bytes);
    }
  }
  void discharge(uint64_t bytes) HAILSTONE_REQUIRES(mutex_) {
    charged_ -= static_cast<size_t>(bytes);
    if (budget_ != nullptr) budget_->release(static_cast<size_t>(bytes));
  }

  MemoryBudget* const budget_;
  mutable SharedMutex mutex_;
  std::vector<Piece> pieces_ HAILSTONE_GUARDED_BY(mutex_);  // side by side, from 0 on
  uint64_t size_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  bool fits_ HAILSTONE_GUARDED_BY(mutex_) = false;  // the last piece has been cut to what it holds
  size_t charged_ = 0;  // to the budget; guarded by the mutex, and at the end nobody else's
};

class MemoryFilesystem::Reader final : public RandomAccessFile {
 public:
  Reader(std::shared_ptr<File> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    if (file_->read(offset, size, to)) return {};
    return fail(ErrorCode::Corruption,
                fmt::format("file {} in memory has {} bytes, but {} were to be read at {}", path_,
                            file_->size(), size, offset));
  }
  const char* lent(uint64_t offset, size_t size) const override { return file_->lent(offset, size); }
  Result<uint64_t> size() const override { return file_->size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<File> file_;
  const std::string path_;
};

class MemoryFilesystem::Writer final : public WritableFile {
 public:
  Writer(std::shared_ptr<File> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Status append(ByteView bytes) override {
    file_->append(bytes);
    return {};
  }
  // Nothing is ever beyond size().
  Status preallocate(uint64_t) override { return {}; }
  Status cut() override { return {}; }
  Status sync() override { return {}; }
  Status close() override {
    file_->fit();
    return {};
  }
  uint64_t size() const override { return file_->size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<File> file_;
  const std::string path_;
};

class MemoryFilesystem::Lock final : public DirectoryLock {
 public:
  Lock(MemoryFilesystem& filesystem, std::string path) : filesystem_(filesystem), path_(std::move(path)) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() override {
    const MutexLock guard(filesystem_.mutex_);
    filesystem_.locked_.erase(path_);
  }

 private:
  MemoryFilesystem& filesystem_;
  const std::string path_;
};

class MemoryFilesystem::LockToRead final : public DirectoryLock {
 public:
  LockToRead(MemoryFilesystem& filesystem, std::string path)
      : filesystem_(filesystem), path_(std::move(path)) {}
  LockToRead(const LockToRead&) = delete;
  LockToRead& operator=(const LockToRead&) = delete;
  ~LockToRead() override {
    const MutexLock guard(filesystem_.mutex_);
    filesystem_.locked_to_read_.erase(filesystem_.locked_to_read_.find(path_));
  }

 private:
  MemoryFilesystem& filesystem_;
  const std::string path_;
};

Result<std::shared_ptr<MemoryFilesystem::File>> MemoryFilesystem::find(std::string_view what,
                                                                       const std::string& path) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return std::unexpected(io_error(what, path, ENOENT));
  return found->second;
}

Result<std::unique_ptr<RandomAccessFile>> MemoryFilesystem::open(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(auto file, find("open", path));
  return std::make_unique<Reader>(std::move(file), path);
}

Result<std::unique_ptr<WritableFile>> MemoryFilesystem::create(const std::string& path) {
  const MutexLock guard(mutex_);
  std::shared_ptr<File>& file = files_[path];
  if (file != nullptr) {
    file->cut_to(0);
  } else {
    file = std::make_shared<File>(budget_);
  }
  return std::make_unique<Writer>(file, path);
}

Result<std::unique_ptr<WritableFile>> MemoryFilesystem::append_to(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(auto file, find("open", path));
  return std::make_unique<Writer>(std::move(file), path);
}

Status MemoryFilesystem::rename(const std::string& from, const std::string& to) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(auto file, find("rename", from));
  files_[to] = std::move(file);
  if (from != to) files_.erase(from);
  return {};
}

Status MemoryFilesystem::remove(const std::string& path) {
  const MutexLock guard(mutex_);
  if (files_.erase(path) == 0) return std::unexpected(io_error("remove", path, ENOENT));
  return {};
}

Status MemoryFilesystem::link(const std::string& from, const std::string& to) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(auto file, find("link", from));
  if (!files_.emplace(to, std::move(file)).second) return std::unexpected(io_error("link", to, EEXIST));
  return {};
}

Status MemoryFilesystem::truncate(const std::string& path, uint64_t size) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const auto file, find("truncate", path));
  file->cut_to(size);
  return {};
}

Status MemoryFilesystem::make_directory(const std::string& path) {
  const MutexLock guard(mutex_);
  directories_.insert(path);
  return {};
}

Status MemoryFilesystem::remove_directory(const std::string& path) {
  const MutexLock guard(mutex_);
  const std::string prefix = path + "/";
  const auto first = files_.lower_bound(prefix);
  if (first != files_.end() && first->first.starts_with(prefix))
    return std::unexpected(io_error("remove directory", path, ENOTEMPTY));
  if (directories_.erase(path) == 0) return std::unexpected(io_error("remove directory", path, ENOENT));
  return {};
}

Result<std::vector<std::string>> MemoryFilesystem::list(const std::string& path) {
  const MutexLock guard(mutex_);
  if (!directories_.contains(path)) return std::unexpected(io_error("list", path, ENOENT));
  const std::string prefix = path + "/";
  std::vector<std::string> names;
  for (auto each = files_.lower_bound(prefix); each != files_.end() && each->first.starts_with(prefix);
       ++each) {
    std::string name = each->first.substr(prefix.size());
    if (!name.contains('/')) names.push_back(std::move(name));
  }
  return names;
}

bool MemoryFilesystem::exists(const std::string& path) {
  const MutexLock guard(mutex_);
  return files_.contains(path) || directories_.contains(path);
}

Result<uint64_t> MemoryFilesystem::file_size(const std::string& path) {
  const MutexLock guard(mutex_);
  HAILSTONE_ASSIGN(const auto file, find("find the size of", path));
  return file->size();
}

Result<std::unique_ptr<DirectoryLock>> MemoryFilesystem::lock_directory(const std::string& path) {
  const MutexLock guard(mutex_);
  if (locked_to_read_.contains(path) || !locked_.insert(path).second) {
    return fail(ErrorCode::Busy, fmt::format("directory '{}' in memory is locked by another holder", path));
  }
  return std::make_unique<Lock>(*this, path);
}

Result<std::unique_ptr<DirectoryLock>> MemoryFilesystem::lock_directory_to_read(const std::string& path) {
  const MutexLock guard(mutex_);
  if (locked_.contains(path)) {
    return fail(ErrorCode::Busy, fmt::format("directory '{}' in memory is locked by another holder", path));
  }
  locked_to_read_.insert(path);
  return std::make_unique<LockToRead>(*this, path);
}

bool MemoryFilesystem::is_writable(const std::string& path) {
  const MutexLock guard(mutex_);
  return directories_.contains(path);
}

Result<std::string> MemoryFilesystem::canonical_path(const std::string& path) {
  return ("/" / std::filesystem::path(path)).lexically_normal().string();
}

}  // namespace hailstone
