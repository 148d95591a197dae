#include "query/computed_rows.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"

namespace hailstone {

namespace {

/// A register's values as those of a column.
void store(const Computed& from, Program::Kind kind, uint32_t rows, ColumnVector& to) {
  to.integers.resize(rows);
  if (kind == Program::Kind::Real) {
    // A reader of ordered numbers takes the two zeros for two values.
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = order_double(from.reals[row] + 0.0);
  } else {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = order_signed(from.integers[row], sizeof(int64_t));
  }
  to.any_nulls = from.any_nulls;
  if (from.any_nulls) to.nulls.assign(from.nulls.begin(), from.nulls.begin() + rows);
}

}  // namespace

Computation::Column Computation::Column::of(const Program& program, Program::Register result) {
  const bool real = program.kind(result) == Program::Kind::Real;
  return {.type = {.integer = true, .type = real ? Type::Double : Type::Signed, .width = sizeof(int64_t)},
          .result = result};
}

/// What one thread computes.
class ComputedRows::Worker {
 public:
  explicit Worker(const ComputedRows& rows) : computation_(rows.computation_), counts_(rows.counts_) {
    if (computation_.conditions != nullptr) conditions_.emplace(computation_.conditions);
    if (computation_.values != nullptr) values_.emplace(computation_.values);
    has_places_ = rows.has_places_;
    kept_.resize(rows.source_columns_ + (has_places_ ? 1 : 0));
    computed_.resize(computation_.columns.size());
    for (size_t i = 0; i < computed_.size(); ++i) {
      if (computation_.columns[i].result == Program::none) of_host_.push_back(i);
    }
  }

  /// The rows for which the program's conditions hold; there may be none.
  Status filter(const RowBatch& batch, unsigned part, RowBatch& rows) {
    columns_.assign(batch.columns.begin(), batch.columns.end());
    rows = {.rows = batch.rows, .columns = columns_};
    if (!conditions_) return {};
    return counted(counts_.filter, part, rows, [&] { return filter(rows); });
  }

  /// Goes on from `row` to the first of the rows that filter() has left for which the host's conditions hold.
  /// False: there is none.
  Result<bool> find(const RowBatch& rows, uint32_t& row) {
    if (computation_.host == nullptr || row == rows.rows) return row != rows.rows;
    const OperatorWork work(counts_.host, 0);
    for (; row != rows.rows; ++row) {
      HAILSTONE_ASSIGN(const bool passes, computation_.host->compute(rows, row, row == 0, {}));
      work.add_rows(1, passes ? 1 : 0);
      if (passes) return true;
    }
    return false;
  }

  /// The rows that pass, with what is computed of them; there may be none.
  Status compute(const RowBatch& batch, unsigned part, RowBatch& rows) {
    HAILSTONE_TRY(filter(batch, part, rows));
    if (computation_.host != nullptr && rows.rows != 0)
      HAILSTONE_TRY(counted(counts_.host, part, rows, [&] { return ask_host(rows); }));
    if (rows.rows == 0) return {};
    if (values_) HAILSTONE_TRY(counted(counts_.compute, part, rows, [&] { return values_->run(rows); }));
    const ColumnVector* const places = has_places_ ? columns_.back() : nullptr;
    if (has_places_) columns_.pop_back();
    for (size_t i = 0; i < computed_.size(); ++i) {
      const auto& column = computation_.columns[i];
      if (column.result != Program::none) {
        store(values_->result(column.result), computation_.values->kind(column.result), rows.rows,
              computed_[i]);
      }
      columns_.push_back(&computed_[i]);
    }
    if (has_places_) columns_.push_back(places);
    rows.columns = columns_;
    return {};
  }

 private:
  /// What `step` leaves of the rows is what the operator hands on.
  template <typename Step>
  Status counted(OperatorCounts* counts, unsigned part, const RowBatch& rows, const Step& step) {
    const OperatorWork work(counts, part);
    const uint32_t in = rows.rows;
    HAILSTONE_TRY(step());
    work.add_rows(in, rows.rows);
    return {};
  }

  Status filter(RowBatch& rows) {
    HAILSTONE_TRY(conditions_->run(rows));
    find_true_rows(conditions_->result(computation_.passes), rows.rows, chosen_);
    keep_chosen(rows);
    return {};
  }

  void keep_chosen(RowBatch& rows) {
    if (chosen_.size() == rows.rows) return;
    // A batch that has been narrowed before is narrowed in place: the chosen rows are in order.
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == nullptr) continue;
      choose_rows(*columns_[i], chosen_, spare_);
      std::swap(kept_[i], spare_);
      columns_[i] = &kept_[i];
    }
    rows.rows = static_cast<uint32_t>(chosen_.size());
    rows.columns = columns_;
  }

  Status ask_host(RowBatch& rows) {
    chosen_.clear();
    host_values_.resize(of_host_.size());
    for (const size_t i : of_host_) {
      ColumnVector& column = computed_[i];
      column.integers.clear();
      column.bytes.clear();
      column.nulls.clear();
      column.any_nulls = false;
    }
    for (uint32_t row = 0; row < rows.rows; ++row) {
      HAILSTONE_ASSIGN(const bool passes, computation_.host->compute(rows, row, row == 0, host_values_));
      if (!passes) continue;
      chosen_.push_back(static_cast<uint16_t>(row));
      for (size_t i = 0; i < of_host_.size(); ++i) {
        ColumnVector& column = computed_[of_host_[i]];
        const Value& value = host_values_[i];
        if (computation_.columns[of_host_[i]].type.integer) {
          column.integers.push_back(value.integer);
        } else {
          column.bytes.push_back(value.bytes);
        }
        column.nulls.push_back(value.null ? 1 : 0);
        column.any_nulls |= value.null;
      }
    }
    keep_chosen(rows);
    return {};
  }

  const Computation& computation_;
  const RowCounts counts_;
  bool has_places_ = false;
  std::optional<Evaluator> conditions_, values_;
  std::vector<const ColumnVector*> columns_;  // of the rows at hand
  std::vector<ColumnVector> kept_;            // the source's columns, of the rows that passed
  std::vector<ColumnVector> computed_;
  std::vector<size_t> of_host_;  // places in computed_
  ColumnVector spare_;
  std::vector<uint16_t> chosen_;
  std::vector<Value> host_values_;
};

/// Where next() is.
struct ComputedRows::Next {
  explicit Next(const ComputedRows& all) : worker(all) {}
  Worker worker;
  RowBatch rows = {};
  uint32_t row = 0;  // not yet looked at
};

ComputedRows::~ComputedRows() = default;

ComputedRows::ComputedRows(std::unique_ptr<RowBatches> source, size_t columns, Computation computation)
    : source_(std::move(source)), source_columns_(columns), computation_(std::move(computation)) {}

void ComputedRows::add_places(const std::vector<uint16_t>& columns) {
  source_->add_places(columns);
  has_places_ = true;
}

Result<ScanColumn> ComputedRows::column(size_t position) const {
  if (position < source_columns_) return source_->column(position);
  position -= source_columns_;
  if (has_places_ && position == computation_.columns.size()) return ScanColumn{};
  if (position >= computation_.columns.size())
    return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they have not got");
  return computation_.columns[position].type;
}

Status ComputedRows::each_batch(unsigned wanted, const TakeRows& take) {
  const unsigned used = std::max(1U, threads(wanted));
  std::deque<Worker> workers;
  for (unsigned i = 0; i < used; ++i) workers.emplace_back(*this);
  return source_->each_batch(used, [&](unsigned part, const RowBatch& batch) -> Status {
    RowBatch rows;
    HAILSTONE_TRY(workers[part].compute(batch, part, rows));
    return rows.rows == 0 ? Status() : take(part, rows);
  });
}

Result<const RowBatch*> ComputedRows::next() {
  if (next_ == nullptr) next_ = std::make_unique<Next>(*this);
  for (;;) {
    HAILSTONE_ASSIGN(const RowBatch* const batch, source_->next());
    if (batch == nullptr) return nullptr;
    HAILSTONE_TRY(next_->worker.compute(*batch, 0, next_->rows));
    if (next_->rows.rows != 0) return &next_->rows;
  }
}

Result<ComputedRows::Row> ComputedRows::next_row() {
  HAILSTONE_CHECK(computation_.columns.empty(), "{} columns are to be computed of rows that come one by one",
                  computation_.columns.size());
  if (next_ == nullptr) next_ = std::make_unique<Next>(*this);
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, next_->worker.find(next_->rows, next_->row));
    if (found) return Row{.rows = &next_->rows, .number = next_->row++};
    HAILSTONE_ASSIGN(const RowBatch* const batch, source_->next());
    if (batch == nullptr) return Row{};
    next_->row = 0;
    HAILSTONE_TRY(next_->worker.filter(*batch, 0, next_->rows));
  }
}

}  // namespace hailstone
