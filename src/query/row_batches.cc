#include "query/row_batches.h"

#include <algorithm>

#include "query/pipeline.h"

namespace hailstone {

bool has_failures(const Computed& computed, uint32_t rows) {
  const auto failures = std::span(computed.failures).first(rows);
  return computed.any_failures && std::ranges::any_of(failures, [](Failure failure) { return failure != 0; });
}

std::unexpected<Error> not_computed() {
  return fail(ErrorCode::InvalidArgument,
              "a value is not computed: a number has no room in its type or is divided by 0, "
              "or a day is in no calendar");
}

void find_true_rows(const Computed& truth, uint32_t rows, std::vector<uint16_t>& to) {
  to.resize(rows);
  size_t found = 0;
  const auto find = [&](const auto& is_true) {
    for (uint32_t row = 0; row < rows; ++row) {
      to[found] = static_cast<uint16_t>(row);
      found += is_true(row) ? 1U : 0U;
    }
  };
  if (truth.any_nulls) {
    find([&](uint32_t row) { return truth.integers[row] != 0 && truth.nulls[row] == 0; });
  } else {
    find([&](uint32_t row) { return truth.integers[row] != 0; });
  }
  to.resize(found);
}

void choose_rows(const ColumnVector& from, std::span<const uint16_t> rows, ColumnVector& to) {
  const auto copy = [&](const auto& values, auto& chosen) {
    chosen.resize(values.empty() ? 0 : rows.size());
    if (values.empty()) return;
    for (size_t i = 0; i < rows.size(); ++i) chosen[i] = values[rows[i]];
  };
  copy(from.integers, to.integers);
  copy(from.bytes, to.bytes);
  copy(from.codes, to.codes);
  to.dictionary = from.dictionary;
  to.any_nulls = from.any_nulls;
  if (from.any_nulls) copy(from.nulls, to.nulls);
}

Result<ScanColumn> ScannedBatches::column(size_t position) const {
  const size_t in_scans = position_in_scans(position);
  if (!positions_.empty() && in_scans == positions_.size())
    return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they have not got");
  return scans_.column(in_scans);
}

RowBatch ScannedBatches::rows_of(const Batch& batch, std::vector<const ColumnVector*>& columns) const {
  if (positions_.empty()) {
    columns.clear();
    for (const ColumnVector& column : batch.columns) columns.push_back(&column);
  } else {
    columns.assign(width_, nullptr);
    for (size_t i = 0; i < positions_.size(); ++i) columns[positions_[i]] = &batch.columns[i];
  }
  if (has_places_) columns.push_back(&batch.places);
  return {.rows = batch.rows, .columns = columns, .order = batch.order};
}

/// Scans share their blocks out among threads by themselves.
class ScannedBatches::Go final : public Source {
 public:
  Go(ScannedBatches& scanned, unsigned threads) : scanned_(scanned), columns_(threads) {}

  Status each_batch(const QueryHost&, unsigned threads, const TakeRows& take) override {
    return scanned_.scans_.each_batch(threads, [&](unsigned part, const Batch& batch) -> Status {
      return take(part, rows_of(part, batch));
    });
  }
  Result<const RowBatch*> next() override {
    HAILSTONE_TRY(scanned_.scans_.check_interruption());
    HAILSTONE_ASSIGN(const Batch* const batch, scanned_.scans_.next());
    if (batch == nullptr) return nullptr;
    rows_ = rows_of(0, *batch);
    return &rows_;
  }

 private:
  RowBatch rows_of(unsigned part, const Batch& batch) {
    scanned_.rows_read_.fetch_add(batch.rows, std::memory_order_relaxed);
    return scanned_.rows_of(batch, columns_[part]);
  }

  ScannedBatches& scanned_;
  std::vector<std::vector<const ColumnVector*>> columns_;  // of each thread
  RowBatch rows_;                                          // of next()
};

Status ScannedBatches::open(Pipeline& to) {
  to.set_source(std::make_unique<Go>(*this, to.threads()));
  return {};
}

size_t ScannedBatches::position_in_scans(size_t position) const {
  if (positions_.empty()) return position;
  return static_cast<size_t>(std::ranges::find(positions_, position) - positions_.begin());
}

std::shared_ptr<ScanBound> ScannedBatches::add_bound(size_t position, bool descending) {
  return scans_.add_bound(position_in_scans(position), descending);
}

void ScannedBatches::add_filter(size_t position, const RuntimeFilter& filter) {
  const size_t in_scans = position_in_scans(position);
  if (positions_.empty() || in_scans != positions_.size()) scans_.add_filter(in_scans, filter);
}

uint16_t ScannedBatches::add_places(const std::vector<uint16_t>& columns) {
  scans_.add_places(columns);
  has_places_ = true;
  return static_cast<uint16_t>(width());
}

}  // namespace hailstone
