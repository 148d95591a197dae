// What the engine asks of a filesystem. PosixFilesystem is the real one; FaultFilesystem wraps another to
// fail, tear and forget writes in tests. It is the only door to files of databases: outside of src/file/ no
// code opens, makes, moves or looks at one by a system call. Paths are plain strings. Every error names the
// call, the path and the system's message; ENOSPC and EDQUOT are ErrorCode::DiskFull. A Filesystem may be
// used by any thread; a file object by one thread at a time, but for RandomAccessFile::read_at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace hailstone {

/// An open file read at positions. read_at is thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  /// Reads exactly `size` bytes at `offset` into `to`; a file that ends before is ErrorCode::Corruption.
  virtual Status read_at(uint64_t offset, size_t size, char* to) const = 0;
  /// Where `size` bytes at `offset` lie in memory, if they do, side by side: nothing needs to copy them as
  /// long as this is open and the file is neither written to nor cut. Null: they have to be read.
  virtual const char* lent(uint64_t, size_t) const { return nullptr; }
  virtual Result<uint64_t> size() const = 0;
  virtual const std::string& path() const = 0;
};

/// A file being written from its start or, reopened, from its end. What is appended is in the file at once,
/// for whoever reads it, but for files from Filesystem::create_whole().
class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes; what was not synced may be lost
  /// Writes all bytes, retrying short writes. After a failure some of them may be in the file, beyond size().
  virtual Status append(ByteView bytes) = 0;
  /// Writes `bytes` zeros beyond all that was written, which later appends overwrite: syncing those need not
  /// change the file's size or its block map, which makes sync() cheaper. The zeros count neither in size()
  /// nor as content; close() cuts what was not used of them, but after a crash they may be there, so a reader
  /// must know a zero from content.
  virtual Status preallocate(uint64_t bytes) = 0;
  /// Cuts off what lies beyond size(): what a failed append() left, and zeros written ahead. Appending can go
  /// on then where it failed. Unsupported for files from Filesystem::create_whole().
  virtual Status cut() = 0;
  /// Makes everything appended durable (fdatasync). After a failure nothing is known of what was appended
  /// since the sync before.
  virtual Status sync() = 0;
  virtual Status close() = 0;
  /// Where the next append goes.
  virtual uint64_t size() const = 0;
  virtual const std::string& path() const = 0;
};

/// Holds a lock on a directory's lock file until destroyed.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Filesystem {
 public:
  virtual ~Filesystem() = default;
  virtual Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) = 0;
  /// As open(), for a file that somebody else may have put there: ErrorCode::InvalidArgument for what is no
  /// plain file, as a symbolic link, which would lead elsewhere, or a pipe, which would be waited for.
  virtual Result<std::unique_ptr<RandomAccessFile>> open_plain(const std::string& path) { return open(path); }
  /// Creates a file; one that exists is cut to nothing.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  /// As create(), for a file that nobody reads before it has been written from its start to its end, synced
  /// and closed. What is appended may wait in memory for more, so that a failure to write it may be told by a
  /// later append(), sync() or close(); preallocate() may do nothing.
  virtual Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) { return create(path); }
  /// Opens an existing file to append to.
  virtual Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
  /// Gives the file a second name. ErrorCode::Unsupported where there can be none (another filesystem, or one
  /// without links): the caller copies then. AlreadyExists, NotFound.
  virtual Status link(const std::string& from, const std::string& to);
  /// Cuts the file to `size` bytes, durably.
  virtual Status truncate(const std::string& path, uint64_t size) = 0;
  /// Makes creations, renames and removals in the directory durable.
  virtual Status sync_directory(const std::string& path) = 0;
  /// Creates the directory; SUCCESS also when it exists. The parent must exist.
  virtual Status make_directory(const std::string& path) = 0;
  /// Removes a directory, which must be empty.
  virtual Status remove_directory(const std::string& path) = 0;
  /// Names (not paths) of the files in the directory, in any order, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  /// True also where it cannot be found out, as for lack of permission: whoever opens the file then is told.
  virtual bool exists(const std::string& path) = 0;
  virtual Result<uint64_t> file_size(const std::string& path) = 0;
  /// Locks the file "lock" in the directory, which it makes when there is none and which stays. It must be a
  /// plain file.
  /// ErrorCode::Busy when another process (or another holder in this one) has it.
  virtual Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) = 0;
  /// Keeps lock_directory() of other holders from succeeding as long as it is held, and changes nothing, so
  /// that it also works where nothing can be written. Others may hold it at the same time. Null when there is
  /// no lock file: then nothing has ever locked the directory. ErrorCode::Busy while lock_directory()'s lock
  /// is held.
  virtual Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) = 0;
  /// Whether files can be made in the directory: false on a read-only mount, in another user's, in none.
  virtual bool is_writable(const std::string& path) = 0;
  /// The path from the root on, without links, "." and "..". What is not there yet is taken to be made as
  /// named.
  virtual Result<std::string> canonical_path(const std::string& path) = 0;
};

/// The filesystem of the operating system. Lives for ever; stateless.
Filesystem& posix_filesystem();

}  // namespace hailstone
