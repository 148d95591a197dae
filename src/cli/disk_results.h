// What `hailstone disk` has measured, as it is kept in files: JSON, which `hailstone disk report` reads, and
// CSV for spreadsheets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/disk_work.h"

namespace hailstone {

enum class DiskJob : uint8_t { Write, Read };
constexpr std::string_view to_string(DiskJob job) { return job == DiskJob::Write ? "write" : "read"; }

struct DiskMeasurement {
  DiskJob job = DiskJob::Write;
  unsigned run = 0;
  DiskCost cost;
};

/// What a series of measurements had in common.
struct DiskConditions {
  std::string machine;     // processor, memory, kernel
  std::string folder;      // where the files were
  std::string filesystem;  // its type
  size_t record_bytes = 103;
  size_t buffer_bytes = 0;
  unsigned queue_depth = 0;
  bool fsync = false;
  bool cold = false;
  uint64_t memory_limit = 0;  // 0: none
};
/// Of this machine and folder.
DiskConditions conditions_here(const std::string& folder);

struct DiskResults {
  DiskConditions conditions;
  std::vector<DiskMeasurement> measurements;
};

std::string as_json(const DiskResults& results);
std::string as_csv(const DiskResults& results);
/// Reads what as_json() made.
Result<DiskResults> read_results(const std::string& path);
/// Writes JSON or CSV by the end of the path. ErrorCode::InvalidArgument for other ends.
Status write_results(const std::string& path, const DiskResults& results);
/// Empty when the path ends in .json or .csv.
std::string check_results_path(const std::string& path);

/// The median run of each (job, method, number of records), in order of records, job, method.
struct DiskSummary {
  DiskJob job;
  DiskCost cost;
  std::optional<double> percent_of_sync;  // of elapsed time; nothing where `sync` was not measured
  double megabytes_per_second() const {
    return cost.seconds > 0 ? static_cast<double>(cost.bytes) / 1e6 / cost.seconds : 0;
  }
};
std::vector<DiskSummary> summarise(const DiskResults& results);

/// "writing, page cache warm, 103-byte records": what the figures of a job are.
std::string title_of(const DiskConditions& conditions, DiskJob job);
/// One line about the machine and the settings.
std::string description_of(const DiskConditions& conditions);

}  // namespace hailstone
