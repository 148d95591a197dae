// The first rows in an order: ORDER BY and LIMIT without groups.
//
// Each thread keeps the first ones of those that it meets: the values that decide the order, and the row's
// place. What else is wanted of a row is read at its place once it is known to be among the first. Rows that
// have no place, as those of joins, are kept with all that is wanted of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/operator_counts.h"
#include "query/row_batches.h"
#include "query/row_records.h"
#include "query/row_source.h"

namespace hailstone {

class SortedRows final : public RowSource {
 public:
  /// What values() has of each row.
  enum class Values : uint8_t {
    AtPlaces,  // columns of the table, read when the first rows are known
    Kept,      // columns of the rows, by their positions: a copy is made of each row that may be among them
  };
  struct Wanted {
    std::vector<RowOrder> order;  // at least one
    size_t most = 1;              // rows; of those that are equal in the order, any
    Values values = Values::AtPlaces;
    std::vector<uint16_t> columns = {};
    bool counts = false;  // all that there were to choose from, for rows_met()
    /// Of this operator, which it fills; they outlive it; may be null.
    OperatorCounts* operator_counts = nullptr;
  };
  /// `threads`: how many may work at it, the caller's included.
  static Result<std::unique_ptr<SortedRows>> make(std::unique_ptr<RowBatches> rows, Wanted wanted,
                                                  unsigned threads);

  Result<bool> next() override;
  std::span<const Value> values() const override {
    if (has_places_) return {window_values_.data() + (at_ - window_first_) * shown_.size(), shown_.size()};
    return std::span(first_[at_].values).subspan(order_.size());
  }
  /// After the first next(): of all rows, if they were to be counted, else of those that the scan did not
  /// pass by.
  uint64_t rows_read() const override { return rows_->rows_read(); }
  uint64_t rows_met() const override { return rows_met_; }
  const QueryHost& host() const override { return rows_->host(); }

 private:
  struct Row {
    uint64_t head = 0;  // what is less comes first; of equal heads nothing is known
    uint64_t place = 0;
    std::vector<Value> values = {};  // those of the order first, then those that are kept
    std::vector<char> bytes = {};    // of the values; they stay where they are when the row is moved
    /// Of values whose bytes are others'.
    void copy_bytes();
  };
  /// What one thread has.
  struct Part {
    std::vector<Row> rows;  // once there are enough, a heap with the last one in front
    uint64_t rows_met = 0;
    size_t bytes = 0;  // of the rows
    Row spare;
    // Of the batch's rows, by the first column of the order.
    std::vector<uint64_t> heads;
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<uint64_t> heads_of_codes;
    std::string weights;
  };

  class Choosing;
  SortedRows(std::unique_ptr<RowBatches> rows, Wanted wanted, unsigned threads)
      : rows_(std::move(rows)),
        order_(std::move(wanted.order)),
        has_places_(wanted.values == Values::AtPlaces),
        shown_(std::move(wanted.columns)),
        most_(wanted.most),
        threads_(threads),
        counts_(wanted.operator_counts),
        memory_(rows_->host().budget(), counts_) {}
  void take(Part& part, const RowBatch& batch) const;
  void tighten(const Value& last) const;
  void find_heads(Part& part, const ColumnVector& vector, uint32_t rows) const;
  /// Whether the row comes before `other`.
  bool precedes(const RowBatch& batch, uint32_t row, const Row& other) const;
  bool precedes(const Row& left, const Row& right) const;
  Value key(const RowBatch& batch, uint32_t row, size_t number) const;
  /// Reads the rows from at_ on.
  Status fill_window();

  const std::unique_ptr<RowBatches> rows_;
  const std::vector<RowOrder> order_;
  std::vector<ScanColumn> columns_;   // of the order
  std::shared_ptr<ScanBound> bound_;  // of the first of them; may be null
  const bool has_places_;
  const std::vector<uint16_t> shown_;
  const size_t most_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  OperatorMemory memory_;  // of first_, beyond the budget if it must be
  bool collected_ = false;
  uint64_t rows_met_ = 0;
  std::vector<Row> first_;
  size_t at_ = 0;
  // Rows from window_first_ on, with their values.
  size_t window_first_ = 0, window_rows_ = 0;
  size_t window_size_ = 16;  // of the next one
  std::vector<Value> window_values_;
  Arena window_bytes_;
};

}  // namespace hailstone
