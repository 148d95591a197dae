// Rows that are in records already, divided further.
#pragma once

#include <functional>
#include <vector>

#include "query/join/key_hashes.h"
#include "query/record_batches.h"
#include "query/record_memory.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// Divides the records of a run by the bits of their keys' hashes behind the first `used_bits`, by several
/// threads, each with hashes that `make_hashes` makes. Gives a run for each part. `counts`: of the operator,
/// may be null.
Result<std::vector<RecordRun>> divide_records(const RecordRun& run, const RecordColumns& columns,
                                              const std::function<KeyHashes()>& make_hashes,
                                              unsigned used_bits, RecordMemory& memory, const QueryHost& host,
                                              unsigned threads, OperatorCounts* counts);

/// Appends the runs that partitions have left, part by part; `to` has as many, or none yet.
void take_runs(RecordPartitions& from, std::vector<RecordRun>& to);

}  // namespace hailstone
