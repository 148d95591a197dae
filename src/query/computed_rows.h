// Rows that pass further conditions, with columns behind their own that are computed of them: what Grouping
// and other consumers go through.
//
// Conditions and columns are registers of programs, computed by the threads that scan; or they are the
// embedding application's own, the host's, which is asked on the caller's thread. The other threads wait for
// its answer, batch by batch; where the host is to be asked in the order of the rows, they take no part.
//
// Of a row of which a program has a failure the fallback is asked, for all that is computed of the row. The
// row is put aside until all others have been taken, and then comes in the order of the scans. Where one
// thread goes through the rows in their order, it is asked at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "query/row_batches.h"

namespace hailstone {

/// Conditions and columns that only the embedding application can compute, row by row. Called on the thread
/// of the rows' consumer.
class HostExpressions {
 public:
  virtual ~HostExpressions() = default;
  /// Whether rows are to come in their order, from one thread.
  virtual bool wants_order() const { return true; }
  /// The same for the batches of another thread, where no order is wanted.
  virtual std::shared_ptr<HostExpressions> for_another_thread() const { return nullptr; }
  /// Whether `row` passes; when it does, `values` gets the host's columns, which are valid until the batch
  /// has been taken. `begins`: it is the first of a batch. `rows` has the scan's columns.
  virtual Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins, std::span<Value> values) = 0;
};

/// Computes the rows that programs fail to compute.
class FallbackExpressions : public HostExpressions {
 public:
  /// So many rows that warn are to be told of one by one, in the order of their rows; of others it matters
  /// how many there were.
  virtual uint64_t most_told() const = 0;
  /// So many more there were than compute() has met.
  virtual void count_warnings(uint64_t warnings) = 0;
};

/// What is to be computed. Immutable.
struct Computation {
  struct Column {
    ScanColumn type;
    Program::Register result = Program::none;  // none: the host's
    /// A Real result becomes Double, an Integer one Signed of 8 bytes. Not of a Text, which says more of its
    /// type. Integer results may also be Unsigned of 8 bytes, or OrderedBytes as ordered_wide.h has them; a
    /// row with a number that the column has no room for fails.
    static Column of(const Program& program, Program::Register result);
    /// The host's, of any type.
    static Column of_host(const ScanColumn& type) { return {.type = type}; }
  };
  std::shared_ptr<const Program> conditions = {};  // may be null
  Program::Register passes = Program::none;        // of `conditions`: rows for which it is TRUE
  std::shared_ptr<const Program> values = {};      // may be null
  std::vector<Column> columns = {};
  /// May be null. Its columns are those without a register, in order.
  std::shared_ptr<HostExpressions> host = {};
  /// Has all conditions and all columns, in order. Null: a failure ends the run with an error.
  std::shared_ptr<FallbackExpressions> fallback = {};
  /// Set by any thread where a failure ends the run. May be null.
  std::shared_ptr<std::atomic<bool>> has_failed = {};

  bool is_empty() const { return conditions == nullptr && columns.empty() && host == nullptr; }
};

/// Where the operators that rows go through count what they do; null: nobody wants to know. They outlive the
/// rows.
struct RowCounts {
  OperatorCounts* scan = nullptr;     // of a source that is one
  OperatorCounts* filter = nullptr;   // conditions of programs
  OperatorCounts* host = nullptr;     // what the host computes, conditions and columns
  OperatorCounts* compute = nullptr;  // columns of programs
};

class ComputedRows final : public RowBatches {
 public:
  /// `columns`: how many the rows of `source` have.
  ComputedRows(std::unique_ptr<RowBatches> source, size_t columns, Computation computation);
  ComputedRows(Scans scans, size_t columns, Computation computation)
      : ComputedRows(std::make_unique<ScannedBatches>(std::move(scans)), columns, std::move(computation)) {}
  ~ComputedRows() override;

  /// Of a column of the source; those that are computed know of no bounds.
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) override {
    return is_of_source(position) ? source_->add_bound(position, descending) : nullptr;
  }
  /// Of a column of the source; those that are computed know of no filters.
  void add_filter(size_t position, const RuntimeFilter& filter) override {
    if (is_of_source(position)) source_->add_filter(position, filter);
  }
  /// From here on the rows have the column of places behind the source's own and the computed ones.
  uint16_t add_places(const std::vector<uint16_t>& columns) override;
  Status read_place(uint64_t place, std::span<Value> values) override {
    return source_->read_place(place, values);
  }

  /// Call it before each_batch().
  void count_in(const RowCounts& counts) {
    counts_ = counts;
    if (counts.scan != nullptr) source_->count_scan_in(*counts.scan);
  }

  size_t width() const override { return source_columns_ + computation_.columns.size(); }
  /// Of a column of the source, or, behind those, of a computed one.
  Result<ScanColumn> column(size_t position) const override;
  Status open(Pipeline& to) override;
  /// A row of a batch.
  struct Row {
    const RowBatch* rows = nullptr;
    uint32_t number = 0;
  };
  /// The rows that pass one after the other, on the caller's thread, instead of going through batches; not
  /// where columns are computed. The host is asked of a row when all before it have been given: where the
  /// caller stops, it has met no error of the rows behind. Valid until the next call; without `rows`: at the
  /// end.
  Result<Row> next_row();
  uint64_t rows_read() const override { return source_->rows_read(); }
  const QueryHost& host() const override { return source_->host(); }
  unsigned threads(unsigned wanted) const override { return asks_in_order() ? 1 : source_->threads(wanted); }

 private:
  class Worker;
  class Go;
  struct NextRow;
  struct Aside;
  struct Late;
  bool is_of_source(size_t position) const { return position < source_columns_; }
  bool asks_in_order() const { return computation_.host != nullptr && computation_.host->wants_order(); }
  const std::unique_ptr<RowBatches> source_;
  const size_t source_columns_;
  const Computation computation_;
  RowCounts counts_;
  bool has_places_ = false;
  std::unique_ptr<NextRow> next_;
};

}  // namespace hailstone
