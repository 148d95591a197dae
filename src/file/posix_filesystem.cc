#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "file/descriptor.h"
#include "file/filesystem.h"
#include "file/io_error.h"
#include "file/lock_holder.h"
#include "file/read_lock.h"
#include "file/sync_method.h"

namespace hailstone {
namespace {

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
  return std::unexpected(io_error(what, path, errno));
}

/// Of the filesystem that lives for ever.
SystemCalls& calls() {
  static SystemCalls* const calls = new SystemCalls;
  return *calls;
}

/// The lock lasts as long as the open file. It is the open file's and not the process's, so that a second
/// holder in the same process meets it too, and closing some other descriptor of the file does not lose it.
/// A child of fork() has the open file, too, so that closing it is not enough; but what the child does must
/// not take the lock from its parent.
class PosixDirectoryLock final : public DirectoryLock {
 public:
  explicit PosixDirectoryLock(Descriptor file) : file_(std::move(file)), holder_(::getpid()) {}
  ~PosixDirectoryLock() override {
    if (::getpid() != holder_) return;
    struct flock whole = {};
    whole.l_type = F_UNLCK;
    whole.l_whence = SEEK_SET;
    // Closing the file unlocks it, too, where no child has it.
    static_cast<void>(::fcntl(file_.number(), F_OFD_SETLK, &whole));
  }
  PosixDirectoryLock(const PosixDirectoryLock&) = delete;
  PosixDirectoryLock& operator=(const PosixDirectoryLock&) = delete;

 private:
  const Descriptor file_;
  const pid_t holder_;
};

class PosixFilesystem final : public Filesystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("open", path, O_RDONLY));
    return make_sync_reader({.calls = calls(), .descriptor = std::move(file), .path = path});
  }
  Result<std::unique_ptr<RandomAccessFile>> open_plain(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_plain_file("open", path, O_RDONLY));
    return make_sync_reader({.calls = calls(), .descriptor = std::move(file), .path = path});
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("create", path, O_WRONLY | O_CREAT | O_TRUNC));
    return make_sync_writer({.calls = calls(), .descriptor = std::move(file), .path = path});
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    HAILSTONE_ASSIGN(Descriptor file, open_file("open for writing", path, O_WRONLY));
    HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
    return make_sync_writer({.calls = calls(), .descriptor = std::move(file), .path = path, .size = size});
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
    if (error_number == EEXIST && ::stat(path.c_str(), &attributes) == 0) {
      if (S_ISDIR(attributes.st_mode)) return {};
      return fail(ErrorCode::AlreadyExists, fmt::format("'{}' is not a directory; give another name", path));
    }
    return std::unexpected(io_error("make directory", path, error_number));
  }
  Status remove_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) != 0) return failed("remove directory", path);
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    const OpenDirectory directory(::opendir(path.c_str()));
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
  bool exists(const std::string& path) override {
    return ::access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
  }
  Result<uint64_t> file_size(const std::string& path) override {
    struct stat attributes;
    if (::stat(path.c_str(), &attributes) != 0) return failed("get the size of", path);
    return static_cast<uint64_t>(attributes.st_size);
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    const std::string lock_path = path + "/lock";
    HAILSTONE_ASSIGN(Descriptor file, open_plain_file("open lock file", lock_path, O_RDWR | O_CREAT));
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    while (::fcntl(file.number(), F_OFD_SETLK, &whole) != 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EACCES) return directory_in_use(path, lock_path);
      return failed("lock", lock_path);
    }
    return std::make_unique<PosixDirectoryLock>(std::move(file));
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override {
    return hailstone::lock_directory_to_read(path);
  }
  bool is_writable(const std::string& path) override { return ::access(path.c_str(), W_OK) == 0; }
  Result<std::string> canonical_path(const std::string& path) override {
    std::error_code error;
    const auto found = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    if (error) return std::unexpected(io_error("find the whole path of", path, error.value()));
    return found.string();
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
