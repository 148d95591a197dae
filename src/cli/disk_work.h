// `hailstone disk`: what is measured. Records of a fixed size are written to a new file or read from one, by
// one thread and one of the engine's own methods (file/method_filesystem.h), and what it cost is told.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "file/io_method.h"
#include "file/system_calls.h"

namespace hailstone {

struct DiskSetup {
  IoSettings io{.method = IoMethod::Buffered};
  size_t record_bytes = 103;
  uint64_t records = 0;
  bool fsync = false;  // making the file durable belongs to writing it
};

struct DiskCost {
  double seconds = 0, user_seconds = 0, system_seconds = 0;
  uint64_t records = 0, bytes = 0;
  IoCounts counts;
  IoMethod method = IoMethod::Sync;  // the one that was used in the end
};

/// Time of this process and of the kernel on its behalf, and the clock's.
class DiskClock {
 public:
  void start();
  /// Adds what has passed since start().
  void stop(DiskCost& cost);

 private:
  double clock_ = 0, user_ = 0, system_ = 0;
};

/// Called now and then with the bytes done so far; false ends the work with interrupted().
using DiskWatch = std::function<bool(uint64_t bytes)>;
inline Error interrupted() { return {ErrorCode::Interrupted, "interrupted"}; }
/// Says that a method could not be had.
using DiskWarning = std::function<void(const std::string&)>;

/// Writes a new file. The bytes are the same for each method. A file that was begun is removed on failure.
Result<DiskCost> write_records(const std::string& path, const DiskSetup& setup, const DiskWatch& watch,
                               const DiskWarning& warning);
/// Reads records to the file's end; the last may be shorter. `sum`, unless null: of all bytes.
Result<DiskCost> read_records(const std::string& path, const DiskSetup& setup, uint64_t* sum,
                              const DiskWatch& watch, const DiskWarning& warning);
/// Compares files byte for byte with the first. ErrorCode::Corruption names the first difference.
Status compare_files(std::span<const std::string> paths, const DiskWatch& watch);

/// Drops the file from the page cache, writing it out before. ErrorCode::Unsupported where it stays.
Status evict_file(const std::string& path);
/// ErrorCode::DiskFull unless the disk of the folder has room for so many bytes.
Status need_disk(const std::string& folder, uint64_t bytes);
std::string folder_of(const std::string& path);

}  // namespace hailstone
