// All streams of a configuration at work: each has a spool, a thread that takes records in, and one that
// delivers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/stop.h"

namespace hailstone {

/// How far a stream is.
struct StreamState {
  std::string name;
  uint64_t acknowledged = 0;  // records of the spool, from its beginning
  uint64_t delivered = 0;     // of these, those that are in the table, or rejected
  uint64_t rejected = 0;      // since the start
  uint64_t spool_bytes = 0;
};

struct CollectOptions {
  bool once = false;  // ends when all that is there now has been delivered
  /// Called twice a second, on the caller's thread.
  std::function<void(const std::vector<StreamState>&)> watch;
};

/// Ends when stop is asked for, or when all sources have ended and all records are delivered; with the first
/// error that no waiting helps against.
Status collect(const CollectConfig& config, const CollectOptions& options, Stop& stop);

}  // namespace hailstone
