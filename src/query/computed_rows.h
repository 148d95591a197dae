// The rows of a scan that pass further conditions, with columns behind the scan's own that are computed of
// them: what Grouping and other consumers go through.
//
// Conditions and columns are registers of programs, computed by the threads that scan; or they are the
// embedding application's own, which is asked on the caller's thread: then no other one takes part.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "query/expression/evaluator.h"
#include "table/scans.h"

namespace hailstone {

/// Conditions and columns that only the embedding application can compute, row by row, in the order of the
/// scan. Called on the thread that goes through the rows.
class HostExpressions {
 public:
  virtual ~HostExpressions() = default;
  /// Whether `row` passes; when it does, `values` gets the host's columns, which are valid until the batch
  /// has been taken. `begins`: it is the first of a batch. `rows` has the scan's columns.
  virtual Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins, std::span<Value> values) = 0;
};

/// What is to be computed. Immutable.
struct Computation {
  struct Column {
    ScanColumn type;
    Program::Register result = Program::none;  // none: the host's
    /// A Real result becomes Double, an Integer one Signed of 8 bytes.
    static Column of(const Program& program, Program::Register result);
    /// The host's, of any type.
    static Column of_host(const ScanColumn& type) { return {.type = type}; }
  };
  std::shared_ptr<const Program> conditions = {};  // may be null
  Program::Register passes = Program::none;        // of `conditions`: rows for which it is TRUE
  std::shared_ptr<const Program> values = {};      // may be null
  std::vector<Column> columns = {};
  std::shared_ptr<HostExpressions> host =
      {};  // may be null; its columns are those without a register, in order

  bool is_empty() const { return conditions == nullptr && columns.empty() && host == nullptr; }
};

/// Where the operators that rows go through count what they do; null: nobody wants to know. They outlive the
/// rows.
struct RowCounts {
  OperatorCounts* scan = nullptr;
  OperatorCounts* filter = nullptr;   // conditions of programs
  OperatorCounts* host = nullptr;     // what the host computes, conditions and columns
  OperatorCounts* compute = nullptr;  // columns of programs
};

class ComputedRows {
 public:
  ComputedRows(Scans scans, size_t scan_columns, Computation computation);
  ~ComputedRows();

  /// Scans::add_bound(), of a column of the scans.
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) {
    return scans_.add_bound(position, descending);
  }
  bool is_of_scan(size_t position) const { return position < scan_columns_; }
  /// Scans::add_places(): from here on the rows have the column of places behind the scan's own and the
  /// computed ones.
  void add_places(const std::vector<uint16_t>& columns);
  Status read_place(uint64_t place, std::span<Value> values) { return scans_.read_place(place, values); }
  uint16_t position_of_places() const {
    return static_cast<uint16_t>(scan_columns_ + computation_.columns.size());
  }

  /// Call it before each_batch().
  void count_in(const RowCounts& counts) {
    counts_ = counts;
    if (counts.scan != nullptr) scans_.count_in(*counts.scan);
  }

  /// Of a column of the scan, or, behind those, of a computed one.
  Result<ScanColumn> column(size_t position) const;
  /// As Scans::each_batch(). ErrorCode::Unsupported: a program does not compute what a row asks for.
  using TakeRows = std::function<Status(unsigned part, const RowBatch& rows)>;
  Status each_batch(unsigned wanted, const TakeRows& take);
  /// The same one after the other, on the caller's thread, instead of each_batch(): rows that are valid until
  /// the next call, at least one; null at the end.
  Result<const RowBatch*> next();

  /// How many rows the scan has given so far.
  uint64_t rows_read() const { return rows_read_.load(std::memory_order_relaxed); }

  Status check_interruption() const { return scans_.check_interruption(); }
  Status check_interruption_seen() const { return scans_.check_interruption_seen(); }
  void run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const {
    scans_.run_with_helpers(threads, work);
  }
  MemoryBudget& budget() const { return scans_.budget(); }
  SpillSpace& spill_space() const { return scans_.spill_space(); }
  /// How many threads each_batch() may use: hosts' expressions are asked by one.
  unsigned threads(unsigned wanted) const { return computation_.host != nullptr ? 1 : wanted; }

 private:
  class Worker;
  struct Next;
  Scans scans_;
  const size_t scan_columns_;
  const Computation computation_;
  RowCounts counts_;
  bool has_places_ = false;
  std::atomic<uint64_t> rows_read_{0};
  std::unique_ptr<Next> next_;
};

}  // namespace hailstone
