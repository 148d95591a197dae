#include "query/ordered_rows.h"

#include <deque>
#include <utility>

#include "base/check.h"
#include "query/query_memory.h"
#include "query/sort_record.h"

namespace hailstone {

namespace {

constexpr uint32_t rows_between_interruption_checks = 4096;

}  // namespace

Result<std::unique_ptr<OrderedRows>> OrderedRows::make(std::unique_ptr<ComputedRows> rows,
                                                       std::vector<RowOrder> order, Equal equal,
                                                       std::span<const uint16_t> values, unsigned threads,
                                                       OperatorCounts* counts) {
  if (equal == Equal::AsScanned) {
    rows->add_places({});
    order.push_back({.position = rows->position_of_places(), .nullable = false});
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

OrderedRows::OrderedRows(std::unique_ptr<ComputedRows> rows, RowRecords records, Equal equal, size_t values,
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

Status OrderedRows::sort() {
  struct Part {
    explicit Part(const RowRecords& records) : writer(records) {}
    RowRecords::Writer writer;
    uint64_t rows = 0;
  };
  std::deque<Part> parts;
  for (unsigned i = 0; i < threads_; ++i) parts.emplace_back(records_);
  const GoOn of_caller = [this] { return rows_->host().check_interruption(); };
  const GoOn of_helper = [this] { return rows_->host().check_interruption_seen(); };
  HAILSTONE_TRY(rows_->each_batch(threads_, [&](unsigned number, const RowBatch& batch) -> Status {
    const OperatorWork work(counts_, number);
    work.add_rows(batch.rows, 0);
    Part& part = parts[number];
    HAILSTONE_ASSIGN(const size_t bytes, part.writer.measure(batch));
    HAILSTONE_ASSIGN(char* const room,
                     sort_.room(number, bytes, batch.rows, number == 0 ? of_caller : of_helper));
    part.writer.write(batch, room);
    for (const char* record : part.writer.records()) sort_.add(number, record);
    part.rows += batch.rows;
    return {};
  }));
  for (const Part& part : parts) rows_met_ += part.rows;
  parts.clear();
  HAILSTONE_TRY(sort_.sort(rows_->host(), threads_));
  if (counts_ != nullptr) counts_->add_rows(0, rows_met_);
  return {};
}

Result<bool> OrderedRows::next() {
  if (!sorted_) {
    HAILSTONE_TRY(sort());
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
