// All streams of a configuration at work: each has a spool, a thread that takes records in, and one that
// delivers.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/stop.h"

namespace hailstone {

struct CollectOptions {
  bool once = false;  // ends when all that is there now has been delivered
};

/// Ends when stop is asked for, or when all sources have ended and all records are delivered; with the first
/// error that no waiting helps against.
Status collect(const CollectConfig& config, const CollectOptions& options, Stop& stop);

}  // namespace hailstone
