// Background threads that help the caller's with its work.
#pragma once

#include <functional>

#include "table/table.h"

namespace hailstone {

/// Runs `work` on `threads` threads at most: on this one, as part 0, and on background threads that are free,
/// with other parts below `threads`. Returns when all of them have. While this thread waits for the others,
/// it calls `waiting` every few milliseconds. `work` takes its share from what all parts have in common: a
/// helper may never come, and then the others do its share. It throws nothing.
void run_with_helpers(TableHost& host, unsigned threads, const std::function<void(unsigned part)>& work,
                      const std::function<void()>& waiting);

}  // namespace hailstone
