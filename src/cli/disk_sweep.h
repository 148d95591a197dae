// `hailstone disk sweep` and `hailstone disk buffers`: series of measurements in a folder of their own, which
// is removed in the end, however that comes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/disk_results.h"

namespace hailstone {

/// What a long job asks and tells.
struct DiskSupervision {
  std::function<bool()> stop;  // true: end, ErrorCode::Interrupted
  std::function<void(uint64_t done, uint64_t all, const std::string&)> progress;  // bytes, what is done now
  DiskWarning warning;
};

struct SweepOptions {
  std::string folder;
  std::vector<IoMethod> methods;
  uint64_t from = 1024, to = 1 << 20;  // records; doubling
  size_t record_bytes = 103;
  size_t buffer_bytes = size_t{128} << 10;
  unsigned queue_depth = 8;
  unsigned repeats = 3;
  bool fsync = false;
  bool cold = false;
  uint64_t memory_limit = 0;
};
/// Every size, method and repeat: a new file is written, then read; all sums must agree, and the files of all
/// methods are compared byte for byte. ErrorCode::Corruption where they differ.
Result<DiskResults> sweep(const SweepOptions& options, const DiskSupervision& supervision);

struct BuffersOptions {
  std::string folder;
  uint64_t rows = 10'000'000;
  size_t from = 128, to = size_t{1} << 30;  // bytes of the buffer; doubling
  bool fixed = true, variable = true;
  bool fsync = false;
};
struct BufferMeasurement {
  bool fixed = true;
  size_t buffer_bytes = 0;
  DiskCost cost;
  uint64_t writes = 0;  // before the last, which writes what is left
};
Result<std::vector<BufferMeasurement>> measure_buffers(const BuffersOptions& options,
                                                       const DiskSupervision& supervision);

}  // namespace hailstone
