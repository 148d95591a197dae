#include "query/one_row.h"

#include <atomic>
#include <deque>
#include <utility>

#include "query/pipeline.h"

namespace hailstone {

class OneRow::Go final : public Step {
 public:
  Go(const OneRow& rows, unsigned threads) : rows_(rows) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(*this);
  }

  Worker& worker(unsigned part) override { return parts_[part]; }

 private:
  struct Part final : Worker {
    explicit Part(Go& all) : go(all) {}
    Status begin(const RowBatch& batch) override {
      if (go.met_.fetch_add(batch.rows) + batch.rows > 1) return std::unexpected(go.rows_.too_many_);
      rows = batch;
      is_given = false;
      return {};
    }
    Result<const RowBatch*> next() override { return std::exchange(is_given, true) ? nullptr : &rows; }

    Go& go;
    RowBatch rows;
    bool is_given = true;
  };

  const OneRow& rows_;
  std::atomic<uint64_t> met_{0};
  std::deque<Part> parts_;
};

/// A consumer that pulls has had the first row when the second one is met: it asks for the end.
Status OneRow::open(Pipeline& to) {
  to.add_step(std::make_unique<Go>(*this, to.threads()));
  return rows_->open(to);
}

}  // namespace hailstone
