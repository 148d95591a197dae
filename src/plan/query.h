// A plan at work: its operators (src/query), whose rows are pulled or pushed. Where an operator is missing,
// as for windows, make() says so. docs/design/plans.md has the operators of each node.
//
// Belongs to one thread, which is that of its scans; its operators are helped by others.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/operator_counts.h"
#include "plan/plan.h"
#include "query/pipeline.h"
#include "query/row_batches.h"

namespace hailstone::plan {

/// Where the tables of plans are: those that one statement sees.
class TableSource {
 public:
  virtual ~TableSource() = default;
  /// ErrorCode::NotFound: there is no such table. It lives as long as the source.
  virtual Result<const TableDefinition*> definition(std::string_view table) = 0;
  /// Scans of the statement's snapshot. `columns`: ordinals of the table, maybe none; texts may come as
  /// codes.
  virtual Result<Scans> scan(std::string_view table, std::shared_ptr<const Predicate> predicate,
                             std::vector<uint16_t> columns) = 0;
  /// Of a HostScan, whose columns the rows have in its order. They are gone through once.
  virtual Result<std::unique_ptr<RowBatches>> host_rows(std::string_view table);
  /// Of operators that read no table. Scans have the same memory and files.
  virtual const QueryHost& host() const = 0;
};

class Query {
 public:
  /// `plan`: what validate() passes. `tables` outlives the query. `threads`: how many may work at it, the
  /// caller's included. ErrorCode::Unsupported: no operator does what a node asks for; InvalidArgument: a
  /// table has other columns than a Scan asks for; NotFound: there is no such table.
  static Result<std::unique_ptr<Query>> make(const Plan& plan, TableSource& tables, unsigned threads);

  /// Those of the plan; batches have them in this order.
  std::span<const Column> columns() const { return plan_->columns; }
  /// The next rows, valid until the next call; null: there are no more. In the plan's order, if it has one.
  /// Nothing is read before it is asked for. ErrorCode::Interrupted, OutOfMemory, Io, DiskFull …: as the
  /// operators have them; InvalidArgument: a row has a value that is not computed.
  Result<const RowBatch*> next() { return pulled_.next(); }
  /// Instead of next(), once: all rows, by several threads, in any order.
  Status each_batch(const RowBatches::TakeRows& take) { return rows_->each_batch(threads_, take); }

  /// What the operators of a node of the plan have done so far; null: it has none of its own.
  const OperatorCounts* counts(const Node& node) const;
  uint64_t rows_read() const { return rows_->rows_read(); }

 private:
  friend class Lowering;
  struct Counted {
    const Node* node;
    OperatorCounts counts;
  };
  Query(Plan plan, std::unique_ptr<std::deque<Counted>> counts, std::unique_ptr<RowBatches> rows,
        unsigned threads)
      : plan_(std::move(plan)),
        counts_(std::move(counts)),
        rows_(std::move(rows)),
        threads_(threads),
        pulled_(*rows_) {}

  const Plan plan_;
  const std::unique_ptr<std::deque<Counted>> counts_;  // outlives the operators
  const std::unique_ptr<RowBatches> rows_;
  const unsigned threads_;
  PulledRows pulled_;
};

}  // namespace hailstone::plan
