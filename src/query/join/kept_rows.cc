#include "query/join/kept_rows.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <utility>

#include "query/pipeline.h"

namespace hailstone {

/// The kept rows, batch by batch.
class KeptRows::Slices final : public Source {
 public:
  explicit Slices(const KeptRows& kept)
      : columns_(kept.kept_columns_.kept),
        table_(*kept.table_),
        vectors_(columns_.size()),
        places_(kept.width_) {
    for (size_t i = 0; i < columns_.size(); ++i) places_[columns_[i].position] = &vectors_[i];
  }

  Result<const RowBatch*> next() override {
    if (first_ >= table_.rows()) return nullptr;
    numbers_.resize(std::min<uint32_t>(batch_rows, table_.rows() - first_));
    std::iota(numbers_.begin(), numbers_.end(), first_ + 1);
    for (size_t i = 0; i < columns_.size(); ++i) table_.gather(i, numbers_, vectors_[i]);
    first_ += batch_rows;
    batch_ = {.rows = static_cast<uint32_t>(numbers_.size()), .columns = places_};
    return &batch_;
  }

 private:
  const std::vector<BuildColumns::Kept>& columns_;
  const JoinTable& table_;
  uint32_t first_ = 0;  // of the next batch
  // Of the batch at hand.
  std::vector<uint32_t> numbers_;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> places_;
  RowBatch batch_;
};

/// Has enough where too many rows come.
class KeptRows::Keeping final : public Sink {
 public:
  Keeping(KeptRows& kept, unsigned threads) : kept_(kept) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(kept.kept_columns_);
  }

  Status consume(unsigned part, const RowBatch& batch, const GoOn&) override {
    if (rows_.fetch_add(batch.rows) + batch.rows > most_rows) too_many_ = true;
    if (!too_many_) parts_[part].add(batch);
    if (parts_[part].table_memory() > most_bytes) too_many_ = true;
    return {};
  }
  bool has_enough() const override { return too_many_; }
  Status finish() override {
    if (too_many_) return {};
    kept_.table_ = std::make_unique<JoinTable>(kept_.kept_columns_);
    return kept_.table_->fill(std::move(parts_),
                              Workers([this] { return kept_.host().check_interruption(); }));
  }

 private:
  KeptRows& kept_;
  std::deque<BuildRows> parts_;
  std::atomic<uint64_t> rows_{0};
  std::atomic<bool> too_many_{false};
};

Result<bool> KeptRows::read_first(unsigned threads) {
  kept_columns_ = {};
  for (uint16_t position = 0; position < width_; ++position) {
    if (const auto column = source_->column(position); column)
      kept_columns_.kept.push_back({.position = position, .type = *column});
  }
  const unsigned used = std::max(1U, source_->threads(threads));
  Keeping keeping(*this, used);
  HAILSTONE_TRY(run(*source_, used, keeping));
  return table_ != nullptr;
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
  Slices slices(*this);
  for (;;) {
    HAILSTONE_ASSIGN(const RowBatch* const batch, slices.next());
    if (batch == nullptr) break;
    rows.add(*batch);
  }
  JoinTable turned(columns);
  std::vector<RuntimeFilter> filters;
  HAILSTONE_TRY(turned.fill(std::move(parts), Workers([this] { return host().check_interruption(); }),
                            &filters, JoinTable::FilteredSide::Build));
  return filters;
}

Status KeptRows::open(Pipeline& to) {
  if (table_ == nullptr) return source_->open(to);
  to.set_source(std::make_unique<Slices>(*this));
  return {};
}

}  // namespace hailstone
