#include "query/ordered_rows.h"

#include <deque>
#include <utility>

#include "base/check.h"
#include "query/pipeline.h"
#include "query/query_memory.h"
#include "query/sort_record.h"

namespace hailstone {

namespace {

constexpr uint32_t rows_between_interruption_checks = 4096;

}  // namespace

Result<std::unique_ptr<OrderedRows>> OrderedRows::make(std::unique_ptr<RowBatches> rows,
                                                       std::vector<RowOrder> order, Equal equal,
                                                       std::span<const uint16_t> values, unsigned threads,
                                                       OperatorCounts* counts) {
  if (equal == Equal::AsScanned) {
    order.push_back({.position = rows->add_places({}), .nullable = false});
  }
  std::vector<RowRecords::Key> keys;
  for (const RowOrder& by : order) {
    HAILSTONE_ASSIGN(const ScanColumn column, rows->column(by.position));
    keys.push_back({.by = by, .column = column});
  }
  std::vector<RowRecords::Wanted> wanted;
  for (const uint16_t position : values) {
    HAILSTONE_ASSIGN(const ScanColumn column, rows->column(position));
    wanted.push_back({.position = position, .column = column});
  }
  const unsigned used = std::max(1U, rows->threads(threads));
  return std::unique_ptr<OrderedRows>(new OrderedRows(
      std::move(rows), RowRecords(std::move(keys), std::move(wanted)), equal, values.size(), used, counts));
}

OrderedRows::OrderedRows(std::unique_ptr<RowBatches> rows, RowRecords records, Equal equal, size_t values,
                         unsigned threads, OperatorCounts* counts)
    : rows_(std::move(rows)),
      records_(std::move(records)),
      equal_(equal),
      threads_(threads),
      counts_(counts),
      sort_(rows_->host().budget(), rows_->host().spill_space(),
            {.share = query_memory(rows_->host().budget()),
             .floor = floor_part(rows_->host().budget(), FloorPart::RowSort)},
            threads, counts),
      values_(values) {}

/// Each thread writes records; they are sorted in the end.
class OrderedRows::Sorting final : public Sink {
 public:
  explicit Sorting(OrderedRows& all) : all_(all) {
    for (unsigned i = 0; i < all.threads_; ++i) parts_.emplace_back(all.records_);
  }

  Status consume(unsigned number, const RowBatch& batch, const GoOn& go_on) override {
    Part& part = parts_[number];
    HAILSTONE_ASSIGN(const size_t bytes, part.writer.measure(batch));
    HAILSTONE_ASSIGN(char* const room, all_.sort_.room(number, bytes, batch.rows, go_on));
    part.writer.write(batch, room);
    for (const char* record : part.writer.records()) all_.sort_.add(number, record);
    part.rows += batch.rows;
    return {};
  }
  Status finish() override {
    for (const Part& part : parts_) all_.rows_met_ += part.rows;
    parts_.clear();
    HAILSTONE_TRY(all_.sort_.sort(all_.rows_->host(), all_.threads_));
    if (all_.counts_ != nullptr) all_.counts_->add_rows(0, all_.rows_met_);
    return {};
  }
  OperatorCounts* counts() const override { return all_.counts_; }

 private:
  struct Part {
    explicit Part(const RowRecords& records) : writer(records) {}
    RowRecords::Writer writer;
    uint64_t rows = 0;
  };
  OrderedRows& all_;
  std::deque<Part> parts_;
};

Result<bool> OrderedRows::next() {
  if (!sorted_) {
    Sorting sorting(*this);
    HAILSTONE_TRY(run(*rows_, threads_, sorting));
    sorted_ = true;
  }
  if (given_++ % rows_between_interruption_checks == 0) HAILSTONE_TRY(rows_->host().check_interruption());
  HAILSTONE_ASSIGN(const char* const record, sort_.next());
  if (record == nullptr) return false;
  key_ = sort_record::key(record);
  if (equal_ == Equal::AsScanned) key_.remove_suffix(sizeof(uint64_t));
  records_.read(record, values_);
  return true;
}

}  // namespace hailstone
