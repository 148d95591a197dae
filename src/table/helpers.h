// Background threads that help the caller's with its work, and what they have the caller's do for them.
#pragma once

#include <functional>

#include "base/status.h"
#include "table/table.h"

namespace hailstone {

/// Runs `work` on `threads` threads at most: on this one, as part 0, and on background threads that are free,
/// with other parts below `threads`. Returns when all of them have. While this thread waits for the others,
/// it answers them (ask_caller), and calls `waiting` every few milliseconds. `work` takes its share from what
/// all parts have in common: a helper may never come, and then the others do its share. It throws nothing.
void run_with_helpers(TableHost& host, unsigned threads, const std::function<void(unsigned part)>& work,
                      const std::function<void()>& waiting);

/// Runs `work` on the thread that this one helps, and returns what it returns; on a thread that helps none,
/// at once. The caller holds no mutex. OutOfMemory: `work` has thrown std::bad_alloc.
Status ask_caller(const std::function<Status()>& work);

/// Does what helpers have asked of this thread. Its part of the work calls this between its steps.
void answer_helpers();

}  // namespace hailstone
