#include "query/limited_rows.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <utility>

#include "query/pipeline.h"

namespace hailstone {

class LimitedRows::Go final : public Step {
 public:
  Go(const LimitedRows& rows, unsigned threads) : rows_(rows) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(*this);
  }

  Worker& worker(unsigned part) override { return parts_[part]; }
  bool has_enough() const override { return met_.load(std::memory_order_relaxed) >= rows_.end_; }

 private:
  struct Part final : Worker {
    explicit Part(Go& all) : go(all) {}
    Status begin(const RowBatch& batch) override {
      const uint64_t before = go.met_.fetch_add(batch.rows, std::memory_order_relaxed);
      const auto within = [&](uint64_t number) {
        return static_cast<uint32_t>(std::clamp(number, before, before + batch.rows) - before);
      };
      cut(batch, within(go.rows_.offset_), within(go.rows_.end_));
      return {};
    }
    Result<const RowBatch*> next() override {
      return std::exchange(is_given, true) || rows.rows == 0 ? nullptr : &rows;
    }
    void cut(const RowBatch& batch, uint32_t first, uint32_t last) {
      is_given = false;
      rows = batch;
      if (last - first == batch.rows) return;
      rows.rows = last - first;
      numbers.resize(rows.rows);
      std::iota(numbers.begin(), numbers.end(), static_cast<uint16_t>(first));
      chosen.resize(batch.columns.size());
      columns.assign(batch.columns.begin(), batch.columns.end());
      for (size_t i = 0; i < columns.size(); ++i) {
        if (columns[i] == nullptr) continue;
        choose_rows(*columns[i], numbers, chosen[i]);
        columns[i] = &chosen[i];
      }
      rows.columns = columns;
    }

    Go& go;
    RowBatch rows;
    bool is_given = true;
    // Of a batch that is cut.
    std::vector<uint16_t> numbers;
    std::vector<ColumnVector> chosen;
    std::vector<const ColumnVector*> columns;
  };

  const LimitedRows& rows_;
  std::atomic<uint64_t> met_{0};
  std::deque<Part> parts_;
};

Status LimitedRows::open(Pipeline& to) {
  if (offset_ == end_) return {};
  to.add_step(std::make_unique<Go>(*this, to.threads()));
  return rows_->open(to);
}

}  // namespace hailstone
