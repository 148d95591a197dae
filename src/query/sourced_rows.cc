#include "query/sourced_rows.h"

#include <utility>

#include "base/arena.h"
#include "query/pipeline.h"

namespace hailstone {

Result<ScanColumn> SourcedRows::column(size_t position) const {
  if (position < columns_.size()) return columns_[position];
  return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they have not got");
}

class SourcedRows::Go final : public Source {
 public:
  explicit Go(SourcedRows& all) : all_(all), vectors_(all.columns_.size()) {
    for (const ColumnVector& vector : vectors_) places_.push_back(&vector);
  }

  Result<const RowBatch*> next() override {
    bytes_.clear();
    for (ColumnVector& vector : vectors_) {
      vector.integers.clear();
      vector.bytes.clear();
      vector.nulls.clear();
      vector.any_nulls = false;
    }
    rows_.rows = 0;
    while (!has_ended_ && rows_.rows < batch_rows) {
      HAILSTONE_ASSIGN(const bool found, all_.rows_->next());
      has_ended_ = !found;
      if (found) add(all_.rows_->values());
    }
    if (rows_.rows == 0) return nullptr;
    rows_.columns = places_;
    rows_.order += batch_rows;
    return &rows_;
  }

 private:
  void add(std::span<const Value> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      ColumnVector& vector = vectors_[i];
      if (all_.columns_[i].integer) {
        vector.integers.push_back(values[i].integer);
      } else {
        vector.bytes.push_back(bytes_.copy(values[i].bytes));
      }
      vector.nulls.push_back(values[i].null ? 1 : 0);
      vector.any_nulls |= values[i].null;
    }
    ++rows_.rows;
  }

  SourcedRows& all_;
  bool has_ended_ = false;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> places_;
  Arena bytes_;
  RowBatch rows_;
};

Status SourcedRows::open(Pipeline& to) {
  if (std::exchange(is_opened_, true))
    return fail(ErrorCode::InvalidArgument, "the rows of a sort are gone through once");
  to.set_source(std::make_unique<Go>(*this));
  return {};
}

}  // namespace hailstone
