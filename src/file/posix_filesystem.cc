#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "file/filesystem.h"
#include "file/io_error.h"
#include "file/lock_holder.h"

namespace hailstone {
namespace {

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
  return std::unexpected(io_error(what, path, errno));
}

/// A file descriptor, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    // Whoever needs to know whether closing worked has called close().
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// False with errno set. The descriptor is gone in any case, as Linux frees it before it can fail; EINTR is
  /// no failure therefore.
  bool close() { return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR; }

 private:
  int number_;
};

Result<Descriptor> open_file(std::string_view what, const std::string& path, int flags) {
  for (;;) {
    const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0660);
    if (number >= 0) return Descriptor(number);
    if (errno != EINTR) return failed(what, path);
  }
}

Result<uint64_t> size_of(const Descriptor& file, const std::string& path) {
  struct stat attributes;
  if (::fstat(file.number(), &attributes) != 0) return failed("get the size of", path);
  return static_cast<uint64_t>(attributes.st_size);
}

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  PosixRandomAccessFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    for (size_t done = 0; done < size;) {
      const ssize_t now = ::pread(file_.number(), to + done, size - done, static_cast<off_t>(offset + done));
      if (now > 0) {
        done += static_cast<size_t>(now);
      } else if (now == 0) {
        return fail(
            ErrorCode::Corruption,
            fmt::format("file '{}' ends at byte {} where {} bytes at offset {} were expected; it was cut, "
                        "restore it from a backup",
                        path_, offset + done, size, offset));
      } else if (errno != EINTR) {
        return failed(fmt::format("read {} bytes at offset {} of", size, offset), path_);
      }
    }
    return {};
  }
  Result<uint64_t> size() const override { return size_of(file_, path_); }
  const std::string& path() const override { return path_; }

 private:
  const Descriptor file_;
  const std::string path_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(Descriptor file, std::string path, uint64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size), allocated_(size) {}
  ~PosixWritableFile() override {
    // A failure here loses nothing that was promised: what is synced is safe, and the zeros that stay are no
    // content.
    if (file_.is_open() && allocated_ > size_) (void)!::ftruncate(file_.number(), static_cast<off_t>(size_));
  }

  Status append(ByteView bytes) override {
    HAILSTONE_TRY(write_at(size_, bytes));
    size_ += bytes.size();
    return {};
  }
  Status preallocate(uint64_t bytes) override {
    static constexpr std::array<char, size_t{64} << 10> zeros{};
    for (uint64_t left = bytes; left != 0;) {
      const uint64_t now = std::min<uint64_t>(left, zeros.size());
      HAILSTONE_TRY(write_at(allocated_, ByteView(zeros.data(), static_cast<size_t>(now))));
      left -= now;
    }
    return {};
  }
  Status sync() override {
    while (::fdatasync(file_.number()) != 0) {
      if (errno != EINTR) return failed("sync", path_);
    }
    return {};
  }
  Status close() override {
    if (!file_.is_open()) return {};
    const bool cut = allocated_ == size_ || ::ftruncate(file_.number(), static_cast<off_t>(size_)) == 0;
    const int cut_error = errno;
    if (!file_.close()) return failed("close", path_);
    if (!cut) return std::unexpected(io_error("cut the unused end of", path_, cut_error));
    return {};
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  Status write_at(uint64_t offset, ByteView bytes) {
    while (!bytes.empty()) {
      const ssize_t now = ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (now < 0) {
        if (errno == EINTR) continue;
        return failed(fmt::format("write {} bytes at offset {} of", bytes.size(), offset), path_);
      }
      bytes.remove_prefix(static_cast<size_t>(now));
      offset += static_cast<uint64_t>(now);
      allocated_ = std::max(allocated_, offset);
    }
    return {};
  }

  Descriptor file_;
  const std::string path_;
  uint64_t size_;
  uint64_t allocated_;  // end of everything written, the zeros included
};

/// The lock lasts as long as the open file. It is the open file's and not the process's, so that a second
/// holder in the same process meets it too, and closing some other descriptor of the file does not lose it.
class PosixDirectoryLock final : public DirectoryLock {
 public:
  explicit PosixDirectoryLock(Descriptor file) : file_(std::move(file)) {}

 private:
  const Descriptor file_;
};

class PosixFilesystem final : public Filesystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("open", path, O_RDONLY));
    return std::make_unique<PosixRandomAccessFile>(std::move(file), path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("create", path, O_WRONLY | O_CREAT | O_TRUNC));
    return std::make_unique<PosixWritableFile>(std::move(file), path, 0);
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("open for writing", path, O_WRONLY));
    HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
    return std::make_unique<PosixWritableFile>(std::move(file), path, size);
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed(fmt::format("rename '{}' to", from), to);
    return {};
  }
  Status link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) == 0) return {};
    const int number = errno;
    if (number == EXDEV || number == EPERM || number == EMLINK || number == ENOSYS || number == EOPNOTSUPP) {
      return Filesystem::link(from, to);
    }
    return std::unexpected(io_error(fmt::format("link '{}' to", from), to, number));
  }
  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return failed("remove", path);
    return {};
  }
  Status truncate(const std::string& path, uint64_t size) override {
    HAILSTONE_ASSIGN(const Descriptor file, open_file("open for writing", path, O_WRONLY));
    while (::ftruncate(file.number(), static_cast<off_t>(size)) != 0) {
      if (errno != EINTR) return failed(fmt::format("cut to {} bytes", size), path);
    }
    while (::fsync(file.number()) != 0) {
      if (errno != EINTR) return failed("sync", path);
    }
    return {};
  }
  Status sync_directory(const std::string& path) override {
    HAILSTONE_ASSIGN(const Descriptor directory, open_file("open directory", path, O_RDONLY | O_DIRECTORY));
    while (::fsync(directory.number()) != 0) {
      if (errno != EINTR) return failed("sync directory", path);
    }
    return {};
  }
  Status make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0770) == 0) return {};
    const int error_number = errno;
    struct stat attributes;
    if (error_number == EEXIST && ::stat(path.c_str(), &attributes) == 0 && S_ISDIR(attributes.st_mode))
      return {};
    return std::unexpected(io_error("make directory", path, error_number));
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    struct Closer {
      void operator()(DIR* directory) const { ::closedir(directory); }
    };
    const std::unique_ptr<DIR, Closer> directory(::opendir(path.c_str()));
    if (directory == nullptr) return failed("list directory", path);
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return failed("list directory", path);
    return names;
  }
  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
  Result<uint64_t> file_size(const std::string& path) override {
    struct stat attributes;
    if (::stat(path.c_str(), &attributes) != 0) return failed("get the size of", path);
    return static_cast<uint64_t>(attributes.st_size);
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    const std::string lock_path = path + "/lock";
    HAILSTONE_ASSIGN(Descriptor file, open_file("open lock file", lock_path, O_RDWR | O_CREAT));
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    while (::fcntl(file.number(), F_OFD_SETLK, &whole) != 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EACCES) {
        const std::string holder = lock_holder(lock_path);
        return fail(
            ErrorCode::Busy,
            fmt::format("directory '{}' is in use: {} holds '{}'; close the database there first", path,
                        holder.empty() ? "another database object of this or another process" : holder,
                        lock_path));
      }
      return failed("lock", lock_path);
    }
    return std::make_unique<PosixDirectoryLock>(std::move(file));
  }
};

}  // namespace

Status Filesystem::link(const std::string& from, const std::string& to) {
  return fail(ErrorCode::Unsupported, fmt::format("file '{}' cannot be linked to '{}'", from, to));
}

Filesystem& posix_filesystem() {
  static PosixFilesystem* const filesystem =
      new PosixFilesystem;  // never destroyed: files may outlive main()
  return *filesystem;
}

}  // namespace hailstone
