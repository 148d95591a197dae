// What the engine does and has done for blocks of SELECTs, and what it has left to the server, for
// INFORMATION_SCHEMA.HAILSTONE_QUERIES: the blocks that run now, and the last ones.
//
// A BlockRecord is made on the connection's thread. What it is of does not change; what becomes of it is
// counted in atomics, so that other connections may look at it at any time. Handlers and those who look share
// it: it outlives the connection.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/operator_counts.h"
#include "base/processor_turns.h"
#include "base/status.h"
#include "operator_plan.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class SourceTables;

enum class BlockState : uint8_t { NotRun, Running, Finished, Failed, Killed, Declined, PlannedAgain };
constexpr std::array<const char*, 7> block_state_names{"not run", "running",  "finished",     "failed",
                                                       "killed",  "declined", "planned again"};

class BlockRecord {
 public:
  /// `hook`: the function by which the server offered it, a literal. `reason`: why it was left to the server;
  /// without one it is the engine's.
  BlockRecord(THD& thd, const SELECT_LEX& select, const char* hook, OperatorPlan plan, std::string reason);

  /// The same block, by another plan.
  BlockRecord(const BlockRecord& before, OperatorPlan plan);
  /// What is above what reads tables and joins them, and `sources` in place of that.
  OperatorPlan plan_over(OperatorPlan sources) const;

  struct Step {
    explicit Step(PlannedOperator plan) : planned(std::move(plan)) {}
    const PlannedOperator planned;
    OperatorCounts counts;
  };

  const uint64_t connection, query, block;
  const std::optional<std::string> user;  // with whose rights it runs; nothing: a thread of the server
  const char* const hook;
  const std::string reason;
  const my_hrtime_t offered;
  CHARSET_INFO* const text_charset;  // null: there is no text
  const std::string text;            // of the statement, its beginning

  const std::deque<Step>& steps() const { return steps_; }
  BlockState state() const { return state_.load(std::memory_order_acquire); }
  /// How long it has run.
  std::chrono::nanoseconds time() const;

  // The connection's thread only.
  /// Of the operator of that kind before which there are so many; null: there is none.
  OperatorCounts* counts(Operator kind, size_t before = 0);
  void begin();
  /// All work begins again, for a reason of the engine.
  void restart();
  void end(BlockState how);

 private:
  std::deque<Step> steps_;
  std::atomic<BlockState> state_{BlockState::NotRun};
  std::atomic<int64_t> begun_{0}, ended_{0};  // of the steady clock; 0: not yet
};

/// Thread-safe.
class QueryHistory {
 public:
  void add(std::shared_ptr<BlockRecord> record);
  /// Lets go of those that are more than hailstone_query_history asks for: of the engine's blocks that run no
  /// more, and of those that were left to the server.
  void trim() noexcept;
  /// Oldest first.
  std::vector<std::shared_ptr<const BlockRecord>> records() const;

 private:
  mutable Mutex mutex_;
  std::list<std::shared_ptr<BlockRecord>> pushed_ HAILSTONE_GUARDED_BY(mutex_);
  std::list<std::shared_ptr<BlockRecord>> declined_ HAILSTONE_GUARDED_BY(mutex_);
};
QueryHistory& query_history();

/// The run of a block by a handler, from init_scan() to end_scan(), also where that does not come. The server
/// is told of the rows that its scans have gone by, as if it had asked for each: as examined by the
/// statement, in Handler_read_rnd_next, and in the statistics of tables. Belongs to the connection's thread.
class BlockRun {
 public:
  /// `sources`: the tables of the block; they outlive it.
  BlockRun(THD& thd, const SourceTables& sources, std::shared_ptr<BlockRecord> record)
      : thd_(thd), sources_(sources), record_(std::move(record)) {}
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;
  ~BlockRun() { end(); }

  OperatorCounts* counts(Operator kind, size_t before = 0) { return record_->counts(kind, before); }
  /// What its operators take their memory from; null: they need little. The first call waits until enough is
  /// free to begin with: ErrorCode::Interrupted.
  Result<std::shared_ptr<MemoryBudget>> memory();
  void begin();
  /// What next_row() returns.
  int noted(int error) {
    failed_ = failed_ || (error != 0 && error != HA_ERR_END_OF_FILE);
    return error;
  }
  void restart();
  /// All work begins again, by another plan of what reads tables and joins them: as one more record.
  void plan_again(OperatorPlan sources);
  /// SHOW PROCESSLIST shows it.
  void report_progress();
  void end();

 private:
  /// What the scans have gone by since the last call.
  void tell_of_scans();

  THD& thd_;
  const SourceTables& sources_;
  std::shared_ptr<BlockRecord> record_;
  std::shared_ptr<MemoryBudget> memory_;  // null: it has not asked, or needs little
  std::vector<uint64_t> told_;            // rows of each scan of the record, those of earlier runs included
  std::optional<ProcessorTurns::Work> work_;
  bool runs_ = false, failed_ = false;
  bool reports_progress_ = false;
};

}  // namespace hailstone
