// When the jobs of summaries were done, by what the server's tables say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"

namespace hailstone {

/// The jobs of a summary for one period.
struct PeriodReport {
  std::string summary;
  WallTime begin;
  uint64_t jobs = 0, done = 0;
  double started = 0;  // of the first job, in seconds since 1970
  // Seconds from then until so many of all jobs were done; nothing: they are not.
  std::optional<double> half, most, all;
};
/// The shares that `half` and `most` mean.
constexpr double half_share = 0.5, most_share = 0.97;

/// Of each summary the last `periods` ones, the latest last. ErrorCode::Busy: the server cannot be asked for
/// now.
Result<std::vector<PeriodReport>> report_of_summaries(const CollectConfig& config, uint64_t periods);

}  // namespace hailstone
