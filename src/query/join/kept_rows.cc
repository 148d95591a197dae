#include "query/join/kept_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hailstone {

Result<bool> KeptRows::read_first(unsigned threads) {
  kept_columns_ = {};
  for (uint16_t position = 0; position < width_; ++position) {
    if (const auto column = source_->column(position); column)
      kept_columns_.kept.push_back({.position = position, .type = *column});
  }
  const unsigned used = std::max(1U, source_->threads(threads));
  std::deque<BuildRows> parts;
  for (unsigned i = 0; i < used; ++i) parts.emplace_back(kept_columns_);
  std::atomic<uint64_t> rows{0};
  std::atomic<bool> too_many{false};
  const TakeRows keep = [&](unsigned part, const RowBatch& batch) -> Status {
    too_many = too_many || rows.fetch_add(batch.rows) + batch.rows > most_rows;
    if (!too_many) parts[part].add(batch);
    too_many = too_many || parts[part].table_memory() > most_bytes;
    if (too_many) return fail(ErrorCode::Interrupted, "more rows of a side of a join came than are kept");
    return {};
  };
  Status status = source_->each_batch(used, keep);
  // What another thread has met meanwhile it meets again.
  if (too_many) return false;
  HAILSTONE_TRY(std::move(status));
  table_ = std::make_unique<JoinTable>(kept_columns_);
  HAILSTONE_TRY(table_->fill(std::move(parts), [this] { return scans().check_interruption(); }));
  return true;
}

Result<std::vector<RuntimeFilter>> KeptRows::filters_of_build(const std::vector<JoinPlan::Key>& keys,
                                                              const RowBatches& build) {
  // The same as a join has that would have the sides the other way round.
  BuildColumns columns;
  for (const JoinPlan::Key& key : keys) {
    HAILSTONE_ASSIGN(const ScanColumn of_probe, source_->column(key.probe));
    HAILSTONE_ASSIGN(const ScanColumn of_build, build.column(key.build));
    using Nulls = KeyColumn::Nulls;
    HAILSTONE_ASSIGN(KeyColumn column,
                     KeyColumn::make(of_build, of_probe, key.nulls_are_equal ? Nulls::AsZero : Nulls::LeftOut,
                                     key.collation));
    columns.keys.push_back({.position = key.probe, .column = std::move(column)});
  }
  std::deque<BuildRows> parts;
  BuildRows& rows = parts.emplace_back(columns);
  for (uint32_t first = 0; first < table_->rows(); first += batch_rows) rows.add(*slice(first));
  JoinTable turned(columns);
  std::vector<RuntimeFilter> filters;
  HAILSTONE_TRY(turned.fill(
      std::move(parts), [this] { return scans().check_interruption(); }, &filters,
      JoinTable::FilteredSide::Build));
  return filters;
}

const RowBatch* KeptRows::slice(uint32_t first) {
  const uint32_t rows = std::min<uint32_t>(batch_rows, table_->rows() - first);
  numbers_.resize(rows);
  std::iota(numbers_.begin(), numbers_.end(), first + 1);
  vectors_.resize(kept_columns_.kept.size());
  columns_.assign(width_, nullptr);
  for (size_t i = 0; i < vectors_.size(); ++i) {
    table_->gather(i, numbers_, vectors_[i]);
    columns_[kept_columns_.kept[i].position] = &vectors_[i];
  }
  batch_ = {.rows = rows, .columns = columns_};
  return &batch_;
}

Status KeptRows::each_batch(unsigned wanted, const TakeRows& take) {
  if (table_ == nullptr) return source_->each_batch(wanted, take);
  for (uint32_t first = 0; first < table_->rows(); first += batch_rows) {
    HAILSTONE_TRY(scans().check_interruption());
    HAILSTONE_TRY(take(0, *slice(first)));
  }
  return {};
}

Result<const RowBatch*> KeptRows::next() {
  if (table_ == nullptr) return source_->next();
  if (next_row_ >= table_->rows()) return nullptr;
  const uint32_t first = next_row_;
  next_row_ += batch_rows;
  return slice(first);
}

}  // namespace hailstone
