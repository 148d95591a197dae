// What contracts call the locks of a table. A table, its segments and its deltas reach the same lock each by
// a pointer of its own, which the compiler's analysis takes for different ones. So the lock has one name
// here, and what is checked is that the thread holds it of some table; a thread never holds it of two.
//
// The write mutex is taken before the latch.
#pragma once

#include "base/mutex.h"
#include "delta/delta.h"

namespace hailstone {

/// The write mutex: held by a thread that changes what rows the table has.
extern Mutex table_write_mutex;

/// The latch: held exclusively by a thread that changes a place or, with the write mutex, swaps the view.
using TableLatch = SharedMutex;

}  // namespace hailstone
