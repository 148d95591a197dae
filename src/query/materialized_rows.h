// Rows that are made once and read as often as is wanted: of a WITH that several read, or of anything that
// costs more to make than to keep. They are records, in memory as far as there is some, else in spill files.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "query/record_batches.h"
#include "query/record_memory.h"
#include "query/row_batches.h"

namespace hailstone {

/// Shared by the readers. Belongs to their query's thread.
class Materialization {
 public:
  struct Memory {
    size_t share = 0;  // bytes that all rows may take
    size_t floor = 0;  // that they may take whatever others have
  };
  /// `threads`: how many make the rows, the caller's included. `counts`: of this operator, which it fills;
  /// they outlive it; may be null. ErrorCode::InvalidArgument: of a column that only sums take.
  static Result<std::shared_ptr<Materialization>> make(std::unique_ptr<RowBatches> rows, const Memory& memory,
                                                       unsigned threads, OperatorCounts* counts = nullptr);

  const RowBatches& rows() const { return *rows_; }
  /// Makes them, once. An error is every reader's.
  Status fill();
  /// Once they are made.
  const RecordColumns& columns() const { return columns_; }
  std::span<const RecordPiece> pieces() const { return pieces_; }

 private:
  class Filling;
  Materialization(std::unique_ptr<RowBatches> rows, const Memory& memory,
                  const std::vector<RecordColumns::Column>& columns, unsigned threads,
                  OperatorCounts* counts);

  const std::unique_ptr<RowBatches> rows_;
  const RecordColumns columns_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  RecordMemory memory_;  // outlives the records
  std::vector<RecordRun> runs_;
  std::vector<RecordPiece> pieces_;  // of these
  std::optional<Status> filled_;     // nothing: not yet
};

/// A reader. Its rows come in no order.
class MaterializedRows final : public RowBatches {
 public:
  explicit MaterializedRows(std::shared_ptr<Materialization> made) : made_(std::move(made)) {}

  size_t width() const override { return made_->rows().width(); }
  Result<ScanColumn> column(size_t position) const override { return made_->rows().column(position); }
  Status open(Pipeline& to) override;
  /// Of what they are made of: it is counted once if one of the readers is asked.
  uint64_t rows_read() const override { return made_->rows().rows_read(); }
  const QueryHost& host() const override { return made_->rows().host(); }

 private:
  class Go;
  const std::shared_ptr<Materialization> made_;
};

}  // namespace hailstone
