// All streams of a configuration at work: each has a spool, a thread that takes records in, and one that
// delivers. One more runs the summaries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/stop.h"
#include "collect/summary_run.h"

namespace hailstone {

/// How far a stream is.
struct StreamState {
  std::string name;
  uint64_t acknowledged = 0;  // records of the spool, from its beginning
  uint64_t delivered = 0;     // of these, those that the table has taken
  uint64_t waiting = 0;       // of these, those that are neither delivered nor rejected
  uint64_t rejected = 0;      // since the start, also those that never were in the spool
  uint64_t spool_bytes = 0;
  double lag_seconds = 0;  // since the oldest record that waits was acknowledged, or since the start
  std::string trouble;     // what goes wrong, and is tried again
};

struct CollectState {
  std::vector<StreamState> streams;
  std::optional<SummaryState> summaries;  // unless the configuration has none
};

struct CollectOptions {
  bool once =
      false;  // ends when all that is there now has been delivered, and all summaries that are due are done
  /// Called twice a second, on the caller's thread.
  std::function<void(const CollectState&)> watch;
};

/// Ends when stop is asked for, or when all sources have ended, all records are delivered, and the summaries
/// that are due then are done; with the first error that no waiting helps against.
Status collect(const CollectConfig& config, const CollectOptions& options, Stop& stop);

}  // namespace hailstone
