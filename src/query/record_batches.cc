#include "query/record_batches.h"

#include "query/sort_record.h"

namespace hailstone {

namespace {

RowRecords records_of(const std::vector<RecordColumns::Column>& columns) {
  std::vector<RowRecords::Wanted> wanted;
  for (const RecordColumns::Column& column : columns)
    wanted.push_back({.position = column.position, .column = column.type});
  return {{}, std::move(wanted)};
}

}  // namespace

RecordColumns::RecordColumns(const std::vector<Column>& columns, size_t width)
    : records_(records_of(columns)), width_(width) {
  for (const Column& column : columns) positions_.push_back(column.position);
}

void RecordPiece::add_all(const RecordRun& run, std::vector<RecordPiece>& to) {
  size_t number = 0;
  for (const RecordRun::Extent& extent : run.extents())
    to.push_back({.run = &run, .number = number++, .extent = extent});
}

Status RecordBatches::begin(const RecordPiece& piece) {
  HAILSTONE_ASSIGN(piece_, reader_.read(*piece.run, piece.number));
  return {};
}

const RowBatch* RecordBatches::next() {
  if (piece_.empty()) return nullptr;
  records_.clear();
  size_t size = 0;
  for (; size < piece_.size() && records_.size() < batch_rows; size += sort_record::size(records_.back()))
    records_.push_back(piece_.data() + size);
  bytes_ = piece_.substr(0, size);
  piece_.remove_prefix(size);
  columns_.records().read(records_, vectors_);
  for (size_t i = 0; i < vectors_.size(); ++i) places_[columns_.positions()[i]] = &vectors_[i];
  rows_ = {.rows = static_cast<uint32_t>(records_.size()), .columns = places_};
  return &rows_;
}

}  // namespace hailstone
