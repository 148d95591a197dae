// The spool of one stream: records on their way, in files of a directory that is the spool's alone. A record
// is *acknowledged* when a sync() after its append() has succeeded; from then on it survives the end of the
// process and of the machine at any instant, until release() says that it has been delivered. Where its
// sources stand is part of the same append, so that neither can be there without the other.
//
// Records are numbered: a sequence number says how many records of the spool are before. Readers are given
// acknowledged records only: else a record could be delivered, lost, and its number given to another.
//
// Invariants:
// - A file has its name only when its header is durable. All files but the last are durable as a whole.
// - The last file stays, also when all of it has been released: it knows the next number and the positions.
// - Files are removed oldest first, each durably before the next, so a missing one is damage.
// - After a sync that failed nothing more is appended: what the disk holds is unknown until the spool is
//   opened again, which writes again what nothing proves to be durable.
//
// One thread appends and syncs, one releases; readers (spool_reader.h) may be on any. Holds the directory's
// lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "collect/spool_format.h"
#include "collect/spool_frame.h"
#include "file/filesystem.h"

namespace hailstone {

struct SpoolOptions {
  std::string directory;
  uint64_t limit_bytes = uint64_t{4} << 30;  // of all files
  uint64_t file_bytes = uint64_t{64} << 20;  // a file that is as big is followed by a new one
};

class Spool {
 public:
  /// Makes the directory when it is not there; its parent must be. After a crash nothing proves that the end
  /// of the last file is durable: the first sync() writes it again, and readers have it from then on.
  /// ErrorCode::Busy when another process has the spool, ErrorCode::Corruption when records that had been
  /// acknowledged are damaged.
  static Result<std::unique_ptr<Spool>> open(Filesystem& filesystem, SpoolOptions options);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  const SpoolId& id() const { return id_; }

  /// Takes the frame's records and positions over, and clears it. ErrorCode::Busy: the limit is reached, wait
  /// for release(). ErrorCode::DiskFull: the frame is not in the spool, and the call can be repeated, as
  /// after other errors, but for ErrorCode::ReadOnly, after which only opening the spool again helps.
  /// Appending thread.
  Status append(SpoolFrame& frame);
  /// Acknowledges all that was appended, and what open() found. ErrorCode::DiskFull, by the first call after
  /// open() only: as for append(). Appending thread.
  Status sync();
  /// Where the sources stand behind all that was appended. Appending thread.
  const SourcePositions& positions() const { return positions_; }
  /// sync(), and a mark that this was the end, so that the next open() need not write anything again.
  /// Appending thread; nothing follows it.
  Status close();

  /// The first `sequence` records have been delivered: files that hold no others go. Releasing thread.
  Status release(uint64_t sequence);

  struct State {
    uint64_t begin = 0;         // the first record that is still there
    uint64_t end = 0;           // behind the last acknowledged record
    uint64_t bytes = 0;         // of all files
    bool is_recovered = false;  // `end` covers all that open() found
  };
  /// Any thread.
  State state() const;

  /// Of a file, for readers.
  struct FileExtent {
    uint64_t number = 0;
    uint64_t bytes = 0;  // up to which its frames may be read
  };
  /// The file that has the record behind the first `sequence` ones, or will have it. ErrorCode::NotFound: the
  /// record has been released, or there are not so many, or nothing was ever appended.
  Result<FileExtent> file_of(uint64_t sequence) const;
  std::string path_of(uint64_t number) const;
  Filesystem& filesystem() const { return filesystem_; }

 private:
  struct File {
    uint64_t number = 0;
    uint64_t sequence = 0;
    uint64_t bytes = 0;          // written
    uint64_t durable_bytes = 0;  // synced
  };

  Spool(Filesystem& filesystem, SpoolOptions options)
      : filesystem_(filesystem), options_(std::move(options)) {}
  Status recover();
  /// Writes the intact part of the last file that open() found again, with an end mark, as a whole that is
  /// durable, unless it is.
  Status write_again();
  /// Makes a file that has been written durable, gives it its name, and that durable, too.
  Status finish_file(WritableFile& file, uint64_t number);
  /// Of a file that begins behind what was appended.
  std::string header_of(uint64_t number) const;
  Status begin_file();
  Status check_usable() const;
  std::unexpected<Error> become_unusable(const Error& cause);

  Filesystem& filesystem_;
  const SpoolOptions options_;
  SpoolId id_{};
  std::unique_ptr<DirectoryLock> lock_;

  // Of the appending thread.
  std::unique_ptr<WritableFile> file_;  // the last one, unless nothing has been appended since open()
  uint64_t appended_sequence_ = 0;
  SourcePositions positions_;
  std::string failure_;  // why nothing more can be appended

  mutable Mutex mutex_;
  std::deque<File> files_ HAILSTONE_GUARDED_BY(mutex_);  // in order, without gaps
  uint64_t durable_sequence_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  bool is_recovered_ HAILSTONE_GUARDED_BY(mutex_) = false;  // the files that open() found are durable
};

}  // namespace hailstone
