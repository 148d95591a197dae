// Rows of two sides joined by equal keys: the rows of one, the build side, are put into a JoinTable, in which
// those of the other, the probe side, are looked up, batch by batch, by several threads.
//
// The rows of both sides, and those that come of the join, have their columns at the same positions: a column
// that a side has not got is null in its batches.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/operator_counts.h"
#include "query/computed_rows.h"
#include "query/join/join_table.h"
#include "query/row_batches.h"

namespace hailstone {

struct JoinPlan {
  enum class Kind : uint8_t {
    Inner,  // each pair
    Left,   // each pair, and rows of the probe side that are in none, with NULL for the other side's columns
    Semi,   // rows of the probe side that are in a pair, once
    Anti,   // those that are in none
  };
  struct Key {
    uint16_t probe = 0, build = 0;  // positions
    bool nulls_are_equal = false;   // as <=> has it; else NULL is equal to nothing
  };
  Kind kind = Kind::Inner;
  std::vector<Key> keys = {};              // none: every row with every row
  std::vector<uint16_t> from_build = {};   // positions that are wanted of the build side
  std::vector<uint16_t> left_behind = {};  // those of the probe side that nothing reads any more
  /// What a pair must fulfil, too. Then `from_build` has what that reads. May be null.
  std::shared_ptr<const Program> conditions = {};
  Program::Register passes = Program::none;
  /// The same, by the embedding application, which has no columns of its own then. May be null.
  std::shared_ptr<HostExpressions> host = {};
  size_t width = 0;  // how many columns the rows have
};

class HashJoin final : public RowBatches {
 public:
  /// `threads`: how many may fill the table, the caller's included. `counts`: of this operator; they outlive
  /// it; may be null.
  static Result<std::unique_ptr<HashJoin>> make(std::unique_ptr<RowBatches> probe,
                                                std::unique_ptr<RowBatches> build, JoinPlan plan,
                                                unsigned threads, OperatorCounts* counts = nullptr);
  ~HashJoin() override;

  Result<ScanColumn> column(size_t position) const override;
  Status each_batch(unsigned wanted, const TakeRows& take) override;
  Result<const RowBatch*> next() override;
  /// Hosts' conditions are asked by one thread.
  unsigned threads(unsigned wanted) const override {
    return plan_.host != nullptr ? 1 : probe_->threads(wanted);
  }
  void add_filter(size_t position, const RuntimeFilter& filter) override;
  uint64_t rows_read() const override { return probe_->rows_read() + build_->rows_read(); }
  const Scans& scans() const override { return probe_->scans(); }

 private:
  class Worker;
  struct Next;
  HashJoin(std::unique_ptr<RowBatches> probe, std::unique_ptr<RowBatches> build, JoinPlan plan,
           unsigned threads, OperatorCounts* counts);
  /// Fills the table, once.
  Status fill();
  bool is_of_build(size_t position) const;
  /// Whether no row can come of the join.
  bool is_without_rows() const {
    return table_->rows() == 0 && (plan_.kind == JoinPlan::Kind::Inner || plan_.kind == JoinPlan::Kind::Semi);
  }

  const std::unique_ptr<RowBatches> probe_, build_;
  const JoinPlan plan_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  std::vector<uint16_t> probe_keys_;
  std::unique_ptr<JoinTable> table_;
  bool filled_ = false;
  std::unique_ptr<Next> next_;
};

}  // namespace hailstone
