// Records that a table cannot take, or that cannot be read at all, as lines of a text file, with the reason.
// A line has, with tabs between and escaped as LOAD DATA does it: time, source, line, column (empty where it
// is not known), reason, record. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "file/filesystem.h"

namespace hailstone {

struct Rejection {
  std::string source;
  uint64_t line = 0;
  std::string column;
  std::string reason;
  std::string record;
};

class RejectFile {
 public:
  /// Made with the first rejection.
  RejectFile(Filesystem& filesystem, std::string path) : filesystem_(filesystem), path_(std::move(path)) {}

  /// All are in the file, and durable after sync(), or none is. May be repeated after an error.
  Status add(std::span<const Rejection* const> rejections);
  /// One, which is in the file by sync() at the latest: many at once cost one call of the system.
  Status add_later(const Rejection& rejection);
  Status sync();
  uint64_t count() const;

 private:
  Status open() HAILSTONE_REQUIRES(mutex_);
  Status append(std::string_view lines) HAILSTONE_REQUIRES(mutex_);
  Status write_later_ones() HAILSTONE_REQUIRES(mutex_);

  Filesystem& filesystem_;
  const std::string path_;
  mutable Mutex mutex_;
  std::unique_ptr<WritableFile> file_ HAILSTONE_GUARDED_BY(mutex_);
  std::string later_ HAILSTONE_GUARDED_BY(mutex_);  // lines that are not in the file yet
  bool is_synced_ HAILSTONE_GUARDED_BY(mutex_) = true;
  uint64_t count_ HAILSTONE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hailstone
