#include "query/aside_rows.h"

#include <utility>

#include "query/query_memory.h"
#include "query/sort_record.h"

namespace hailstone {

namespace {

/// Behind the columns of a batch stand its place in the order of the host, and how many rows the thread has
/// put aside before: of rows of one place, as of a row's partners in a join, the order is that.
constexpr size_t columns_of_order = 2;

std::vector<RowRecords::Key> keys_behind(size_t width) {
  std::vector<RowRecords::Key> keys;
  for (size_t i = 0; i < columns_of_order; ++i) {
    keys.push_back({.by = {.position = static_cast<uint16_t>(width + i), .nullable = false},
                    .column = {.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)}});
  }
  return keys;
}

/// They are few; of many it does not matter that they come from files.
RecordSort::Memory memory_of(const MemoryBudget& budget) {
  const size_t floor = floor_part(budget, FloorPart::AsideRows);
  return {.share = floor, .floor = floor};
}

}  // namespace

AsideRows::AsideRows(const QueryHost& host, std::vector<Column> columns, size_t width, unsigned threads,
                     OperatorCounts* counts)
    : host_(host),
      width_(width),
      wanted_(std::move(columns)),
      records_(keys_behind(width), wanted_),
      sort_(host.budget(), host.spill_space(), memory_of(host.budget()), threads, counts),
      vectors_(wanted_.size()),
      columns_(width) {
  for (unsigned i = 0; i < threads; ++i) {
    Part& part = parts_.emplace_back(records_);
    part.chosen.resize(wanted_.size() + columns_of_order);
    part.columns.resize(width + columns_of_order);
    for (size_t column = 0; column < wanted_.size(); ++column)
      part.columns[wanted_[column].position] = &part.chosen[column];
    for (size_t order = 0; order < columns_of_order; ++order)
      part.columns[width + order] = &part.chosen[wanted_.size() + order];
  }
  for (size_t column = 0; column < wanted_.size(); ++column)
    columns_[wanted_[column].position] = &vectors_[column];
}

Status AsideRows::add(unsigned number, const RowBatch& batch, std::span<const uint16_t> chosen,
                      const GoOn& go_on) {
  Part& part = parts_[number];
  for (size_t i = 0; i < wanted_.size(); ++i)
    choose_rows(*batch.columns[wanted_[i].position], chosen, part.chosen[i]);
  auto& places = part.chosen[wanted_.size()].integers;
  auto& numbers = part.chosen[wanted_.size() + 1].integers;
  places.assign(chosen.size(), batch.order);
  numbers.resize(chosen.size());
  for (uint64_t& each : numbers) each = part.rows++;
  const RowBatch rows{.rows = static_cast<uint32_t>(chosen.size()), .columns = part.columns};
  HAILSTONE_ASSIGN(const size_t bytes, part.writer.measure(rows));
  HAILSTONE_ASSIGN(char* const room, sort_.room(number, bytes, rows.rows, go_on));
  part.writer.write(rows, room);
  for (const char* const record : part.writer.records()) sort_.add(number, record);
  return {};
}

Result<const RowBatch*> AsideRows::next() {
  if (!std::exchange(sorted_, true)) HAILSTONE_TRY(sort_.sort(host_, static_cast<unsigned>(parts_.size())));
  bytes_.clear();
  begins_.clear();
  while (begins_.size() < batch_rows) {
    HAILSTONE_ASSIGN(const char* const record, sort_.next());
    if (record == nullptr) break;
    begins_.push_back(bytes_.size());
    bytes_.append(record, sort_record::size(record));
  }
  if (begins_.empty()) return nullptr;
  at_hand_.clear();
  for (const size_t begin : begins_) at_hand_.push_back(bytes_.data() + begin);
  records_.read(at_hand_, vectors_);
  batch_ = {.rows = static_cast<uint32_t>(begins_.size()), .columns = columns_};
  return &batch_;
}

}  // namespace hailstone
