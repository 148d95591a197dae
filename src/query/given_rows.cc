#include "query/given_rows.h"

#include <atomic>

#include "base/check.h"
#include "query/pipeline.h"

namespace hailstone {

void GivenRows::add(std::span<const Value> row) {
  HAILSTONE_CHECK(row.size() == columns_.size(), "a row of {} values is one of {} columns", row.size(),
                  columns_.size());
  if (batches_.empty() || batches_.back()->rows == batch_rows) {
    Given& begun = *batches_.emplace_back(std::make_unique<Given>());
    begun.vectors.resize(columns_.size());
    for (const ColumnVector& vector : begun.vectors) begun.places.push_back(&vector);
  }
  Given& given = *batches_.back();
  for (size_t i = 0; i < row.size(); ++i) {
    ColumnVector& vector = given.vectors[i];
    if (columns_[i].integer) {
      vector.integers.push_back(row[i].integer);
    } else {
      vector.bytes.push_back(bytes_.copy(row[i].bytes));
    }
    vector.nulls.push_back(row[i].null ? 1 : 0);
    vector.any_nulls |= row[i].null;
  }
  ++given.rows;
}

Result<ScanColumn> GivenRows::column(size_t position) const {
  if (position < columns_.size()) return columns_[position];
  return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they have not got");
}

class GivenRows::Go final : public SharedSource {
 public:
  Go(const GivenRows& given, unsigned threads) : given_(given), rows_(threads) {}

  Result<const RowBatch*> next_of(unsigned part) override {
    const size_t number = next_.fetch_add(1);
    if (number >= given_.batches_.size()) return nullptr;
    const Given& batch = *given_.batches_[number];
    rows_[part] = {.rows = batch.rows, .columns = batch.places, .order = number};
    return &rows_[part];
  }

  size_t pieces() const override { return given_.batches_.size(); }

 private:
  const GivenRows& given_;
  std::atomic<size_t> next_{0};
  std::vector<RowBatch> rows_;  // of each thread
};

Status GivenRows::open(Pipeline& to) {
  to.set_source(std::make_unique<Go>(*this, to.threads()));
  return {};
}

}  // namespace hailstone
