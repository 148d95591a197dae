// Scans that are gone through as one, all rows at once, by several threads: of a table, or of several with
// the same columns, such as the partitions of one. Their blocks are shared out together, so that threads have
// work also where each table is small. All begin with the first pass: what they see is one snapshot.
//
// Belongs to the thread of the scans. At least one scan; all of one transaction, of the same columns in the
// same order, and neither begun nor used otherwise.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/operator_counts.h"
#include "column/runtime_filter.h"
#include "table/query_host.h"
#include "table/scan.h"
#include "table/scan_bound.h"

namespace hailstone {

class Scans final : public QueryHost {
 public:
  explicit Scans(std::vector<std::unique_ptr<Scan>> scans);
  /// One alone is as good as a list of it.
  Scans(std::unique_ptr<Scan> scan);  // NOLINT(google-explicit-constructor)
  Scans(Scans&&) noexcept;
  ~Scans() override;

  /// The rows are those of this moment, and not of that when the first one is asked for.
  Status begin();
  /// One result for each of `wanted`, over all rows. Only the columns in question are read, and where a
  /// block's summary says enough not even they. Sum is for numbers only. `threads`: how many may work at it,
  /// the caller's included; others are background threads that are free.
  Result<std::vector<AggregateResult>> aggregate(std::span<const Aggregate> wanted, unsigned threads);
  /// All rows, each once, as often as is wanted: it is the same rows each time. `take` is called by up to
  /// `threads` threads at once, each of which is a `part` below that number; a batch is valid during the
  /// call. Not for scans that lock, nor for READ UNCOMMITTED.
  using TakeBatch = std::function<Status(unsigned part, const Batch& batch)>;
  Status each_batch(unsigned threads, const TakeBatch& take);

  /// The rows one batch after the other, on the caller's thread, valid until the next call; null at the end.
  /// Instead of each_batch(), once.
  Result<const Batch*> next();

  /// Estimated: the share of the rows that match, by some blocks of the segments and some rows of the deltas;
  /// 1 where there are no rows.
  Result<double> sample();

  /// Call it before each_batch(): rows that a bound of the column at `position`, an Integer one, excludes may
  /// be left out. The consumer tightens it as it goes on.
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending);
  /// Call it before each_batch() or next(): rows whose column at `position` the filter excludes may be left
  /// out.
  void add_filter(size_t position, const RuntimeFilter& filter);
  /// Call it before each_batch(), to read some columns of few of the rows only: each batch then tells the
  /// places of its rows, of which read_place() reads `columns`.
  void add_places(const std::vector<uint16_t>& columns);
  /// The row as each_batch() has met it, whatever was written since. Quickest in the order of the places.
  /// `values`: one a column; their bytes are valid until the next call.
  Status read_place(uint64_t place, std::span<Value> values);

  /// Call it before each_batch() or aggregate(): what the scans have done is added to `counts`, which outlive
  /// them. aggregate() counts no rows out.
  void count_in(OperatorCounts& counts);

  /// How many columns are read.
  size_t columns() const;
  Result<ScanColumn> column(size_t position) const;
  Status check_interruption() const override;
  Status check_interruption_seen() const override;
  void run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const override;
  /// The query's own; it keeps it as long as the scans are there. Without it, memory is the database's.
  void take_memory_from(std::shared_ptr<MemoryBudget> budget);
  MemoryBudget& budget() const override;
  SpillSpace& spill_space() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
