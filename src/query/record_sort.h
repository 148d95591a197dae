// Sorts records of keys and what belongs to them, of any number: several threads add them, and then the
// caller's gets them in order.
//
// What goes beyond a thread's share of memory, where the budget has none to spare, it sorts, and writes as a
// run to a spill file; what is left in memory all threads sort together. Both are merged as they are read.
// docs/design/order.md, "All rows".
#pragma once

#include <memory>

#include "base/operator_counts.h"
#include "file/spill_file.h"
#include "query/work_by_threads.h"

namespace hailstone {

class RecordSort {
 public:
  /// What it may take, in bytes.
  struct Memory {
    size_t share = 0;  // for the records of all `parts`, about; beyond it is what the budget has to spare
    size_t floor = 0;  // however short memory is: three quarters for these, the rest for the merge of runs
  };
  /// `counts`: of the operator, which get memory, spilled bytes and the time of sort(); may be null.
  RecordSort(MemoryBudget& budget, SpillSpace& space, const Memory& memory, unsigned parts,
             OperatorCounts* counts);
  ~RecordSort();
  RecordSort(const RecordSort&) = delete;
  RecordSort& operator=(const RecordSort&) = delete;

  /// Room for so many records of `bytes` in all. Each part belongs to one thread.
  Result<char*> room(unsigned part, size_t bytes, size_t records, const GoOn& go_on);
  /// A record in the room, filled.
  void add(unsigned part, const char* record);
  /// Sorts what all parts have added, on the caller's thread, as all that follows, and on helpers of `scans`.
  Status sort(const QueryHost& host, unsigned threads);
  /// The next record, valid until the next call; null at the end.
  Result<const char*> next();
  /// Passes by up to so many records without a look at them, once next() has returned one; how many. 0: they
  /// must be read, as where runs are merged.
  uint64_t skip(uint64_t records);

  uint64_t bytes_spilled() const;
  /// How often runs were merged to others before the last merge.
  unsigned merges() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace hailstone
