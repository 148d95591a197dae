#include "query/arranged_rows.h"

#include <deque>
#include <utility>

#include "query/pipeline.h"

namespace hailstone {

class ArrangedRows::Go final : public Step {
 public:
  Go(const ArrangedRows& rows, unsigned threads) : rows_(rows) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(*this);
  }
  Worker& worker(unsigned part) override { return parts_[part]; }

 private:
  struct Part final : Worker {
    explicit Part(const Go& all) : go(all), columns(go.rows_.columns_.size()) {}
    Status begin(const RowBatch& batch) override {
      for (size_t i = 0; i < columns.size(); ++i)
        columns[i] = go.rows_.has(i) ? batch.columns[go.rows_.columns_[i]] : nullptr;
      rows = {.rows = batch.rows, .columns = columns, .order = batch.order};
      is_given = false;
      return {};
    }
    Result<const RowBatch*> next() override { return std::exchange(is_given, true) ? nullptr : &rows; }

    const Go& go;
    std::vector<const ColumnVector*> columns;
    RowBatch rows;
    bool is_given = true;
  };

  const ArrangedRows& rows_;
  std::deque<Part> parts_;
};

Result<ScanColumn> ArrangedRows::column(size_t position) const {
  if (has(position)) return rows_->column(columns_[position]);
  return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they do not have");
}

Status ArrangedRows::open(Pipeline& to) {
  to.add_step(std::make_unique<Go>(*this, to.threads()));
  return rows_->open(to);
}

}  // namespace hailstone
