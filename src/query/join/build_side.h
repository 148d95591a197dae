// The build side of a join: its rows in a table, and, where memory has no room for all of them, in files.
//
// Threads add rows. Once they outgrow what the join may take, all of them, and those that come, move out to
// partitions by the hashes of their keys (RecordPartitions). In the end whole partitions that are still in
// memory are put into the table, and the others go to files, from where JoinPasses fetches them. The share
// of a join that is divided is for its table and for those of the passes; the records that are on their way
// have as much again.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/operator_counts.h"
#include "query/join/join_memory.h"
#include "query/join/join_table.h"
#include "query/join/key_hashes.h"
#include "query/record_batches.h"
#include "query/record_memory.h"

namespace hailstone {

/// Rows of the build side whose keys' hashes begin alike.
struct BuildPartition {
  RecordRun rows;
  size_t table_bytes = 0;  // at most, of all of them
  bool aside = false;      // in files: what it has is not in the table
  bool divisible = true;
  /// Of another one, whose rows are in files and stay there: it has its own until a pass has used them, or
  /// they have been divided.
  bool is_part = false;
  std::vector<BuildPartition> parts = {};  // that it has been divided into
};

/// Belongs to the thread of the join but for add().
class BuildSide {
 public:
  enum class Filters : uint8_t { None, OfProbe };
  /// `parts`: how many threads add rows; `filters`: what finish() is to make; `counts`: of the operator, may
  /// be null.
  BuildSide(BuildColumns columns, unsigned parts, Filters filters, const QueryHost& host,
            std::shared_ptr<JoinMemory> memory, OperatorCounts* counts);
  ~BuildSide();
  BuildSide(const BuildSide&) = delete;
  BuildSide& operator=(const BuildSide&) = delete;

  /// As Sink has them. Each part belongs to one thread.
  Status add(unsigned part, const RowBatch& batch, const GoOn& go_on);
  /// How many parts end_part() is to be called of.
  size_t end_rows() const { return is_divided() ? parts_.size() : 0; }
  Status end_part(size_t part, const GoOn& go_on);
  /// The filters of the keys, for the probe side; none unless they are wanted.
  Result<std::vector<RuntimeFilter>> finish(unsigned threads);

  /// After finish(): of all rows, or of those that are not aside.
  const JoinTable& table() const { return table_; }
  bool is_divided() const { return divided_.load(std::memory_order_relaxed); }

  // Of one that is divided:
  std::vector<BuildPartition>& partitions() { return partitions_; }
  /// Whether rows with this hash of their keys are aside.
  bool is_aside(uint64_t hash) const {
    return partitions_[hash >> (64 - record_memory_->first_bits())].aside;
  }
  const BuildColumns& columns() const { return columns_; }
  RecordMemory& record_memory() { return *record_memory_; }
  /// Of the tables.
  MemoryBudget& budget() { return budget_; }
  /// What the table of a pass may take; it is charged already.
  size_t memory_of_pass() const { return memory_of_pass_; }
  /// Fills a table with these, by several threads.
  Status load(std::span<const RecordPiece> pieces, unsigned threads, JoinTable& table);
  /// Divides a partition by the next bits of the hashes.
  Status divide(BuildPartition& partition, unsigned used_bits, unsigned threads);

 private:
  /// What one thread has.
  struct Part {
    Part(const BuildColumns& columns, MemoryBudget& budget, OperatorCounts* counts)
        : rows(columns), memory(budget, counts) {}
    BuildRows rows;
    OperatorMemory memory;
    std::optional<RecordPartitions> partitions;  // once they are divided
    std::optional<RowRecords::Writer> writer;
    std::optional<KeyHashes> hashes;
    HashedRecords records;
  };
  bool has_room(Part& part);
  void begin_to_divide();
  Status move_out(Part& part, const GoOn& go_on);
  void begin_filters();
  void add_to_filters(const RowBatch& rows);
  std::vector<RuntimeFilter> end_filters();
  Status finish_divided(unsigned threads);
  /// Which partitions are not for the table.
  void choose_aside();
  Status put_aside(unsigned threads);
  std::vector<uint16_t> read_keys() const;

  const BuildColumns columns_;
  const BuildColumns read_columns_;  // of rows that come back
  const RecordColumns record_columns_;
  const QueryHost& host_;
  const std::shared_ptr<JoinMemory> share_;
  OperatorCounts* const counts_;
  MemoryBudget budget_;           // with the floor of the table
  std::atomic<size_t> taken_{0};  // of the share
  std::atomic<bool> divided_{false};
  Mutex dividing_;                             // guards the beginning of it, and
  std::optional<RecordMemory> record_memory_;  // outlives the records of parts and partitions
  std::deque<Part> parts_;
  std::vector<BuildPartition> partitions_;
  size_t most_ = 0, memory_of_pass_ = 0;
  const Filters wanted_filters_;
  /// Of one that is divided: one a key; null: it has none.
  Mutex filters_mutex_;
  std::vector<std::shared_ptr<NumberFilter>> filters_ HAILSTONE_GUARDED_BY(filters_mutex_);
  size_t memory_of_filters_ = 0;
  /// What the rows had before they moved out: it is for the table.
  std::vector<OperatorMemory> kept_memory_ HAILSTONE_GUARDED_BY(dividing_);
  JoinTable table_;
  OperatorMemory table_memory_;
};

}  // namespace hailstone
