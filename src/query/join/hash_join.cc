#include "query/join/hash_join.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "query/join/join_passes.h"
#include "query/pipeline.h"
#include "table/helpers.h"

namespace hailstone {

/// What one thread makes of the batches of the probe side.
class HashJoin::Worker final : public Step::Worker {
 public:
  /// `part`: the thread's number. `passes`: null where all of the build side is in its table.
  Worker(const HashJoin& join, JoinPasses* passes, unsigned part)
      : join_(join),
        passes_(passes),
        part_(part),
        plan_(join.plan_),
        gathered_(plan_.width),
        columns_(plan_.width),
        left_behind_(plan_.width) {
    for (const uint16_t position : plan_.left_behind) left_behind_[position] = true;
    if (plan_.conditions != nullptr) conditions_.emplace(plan_.conditions, std::vector{plan_.passes});
    look_in(join.side_->table());
  }

  /// Rows that begin later are looked up there.
  void look_in(const JoinTable& table) {
    table_ = &table;
    probe_.emplace(table);
  }

  /// Those rows of the batch that can be joined now.
  Status begin(const RowBatch& batch) override {
    if (passes_ == nullptr) {
      look_up(batch);
      return {};
    }
    HAILSTONE_ASSIGN(const RowBatch rows,
                     passes_->put_aside(part_, batch, [this] { return join_.host().go_on(part_); }));
    look_up(rows);
    return {};
  }
  /// Rows of a pass, of which not all partners may be in the table at hand.
  Result<bool> begin_late() override {
    HAILSTONE_ASSIGN(const auto rows, passes_->next(part_));
    if (!rows) return false;
    look_up(*rows->rows);
    aside_ = rows->paired;
    first_aside_ = rows->first;
    is_last_ = passes_->is_last_block();
    for (uint32_t row = 0; aside_ != nullptr && row < batch_.rows; ++row)
      paired_[row] = (*aside_)[first_aside_ + row] ? 1 : 0;
    return true;
  }

  Result<const RowBatch*> next() override {
    const bool pairs_are_wanted = join_.wants_pairs();
    while (row_ < batch_.rows) {
      if (!pairs_are_wanted && !has_conditions()) {
        for (; row_ < batch_.rows; ++row_) {
          if (matches_[row_] != 0) paired_[row_] = 1;
        }
        break;
      }
      collect_pairs();
      // There may be very many, of which the conditions leave none.
      HAILSTONE_TRY(join_.host().go_on(part_));
      if (rows_.empty()) continue;
      make_batch();
      if (has_conditions()) HAILSTONE_TRY(check_pairs());
      for (const uint16_t row : rows_) paired_[row] = 1;
      if (pairs_are_wanted && !rows_.empty()) return &out_;
    }
    if (plan_.kind == JoinPlan::Kind::Inner || std::exchange(done_, true)) return nullptr;
    for (uint32_t row = 0; aside_ != nullptr && row < batch_.rows; ++row)
      (*aside_)[first_aside_ + row] = paired_[row] != 0;
    if (!is_last_) return nullptr;
    const uint8_t wanted = plan_.kind == JoinPlan::Kind::Semi ? 1 : 0;
    rows_.clear();
    for (uint32_t row = 0; row < batch_.rows; ++row) {
      if (paired_[row] == wanted) rows_.push_back(static_cast<uint16_t>(row));
    }
    if (rows_.empty()) return nullptr;
    of_build_.assign(rows_.size(), 0);
    make_batch(/*with_build=*/plan_.kind != JoinPlan::Kind::Semi);
    return &out_;
  }

 private:
  void look_up(const RowBatch& batch) {
    batch_ = batch;
    row_ = 0;
    match_ = 0;
    if (batch.rows != 0) {
      matches_ =
          plan_.range ? probe_->look_up(batch, *plan_.range) : probe_->look_up(batch, join_.probe_keys_);
      match_ = matches_[0];
    }
    done_ = false;
    aside_ = nullptr;
    is_last_ = true;
    paired_.assign(batch.rows, 0);
  }

  /// Up to a batch of pairs.
  void collect_pairs() {
    rows_.clear();
    of_build_.clear();
    while (row_ < batch_.rows && rows_.size() < batch_rows) {
      if (match_ != 0) {
        rows_.push_back(static_cast<uint16_t>(row_));
        of_build_.push_back(match_);
        match_ = probe_->next(row_, match_);
      }
      if (match_ == 0 && ++row_ < batch_.rows) match_ = matches_[row_];
    }
  }

  /// Of rows_ and of_build_.
  void make_batch(bool with_build = true) {
    // All rows in their order, each once, need not be copied.
    const bool all = rows_.size() == batch_.rows && rows_.front() == 0 &&
                     std::ranges::adjacent_find(rows_, std::ranges::greater_equal{}) == rows_.end();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ColumnVector* const from =
          i < batch_.columns.size() && !left_behind_[i] ? batch_.columns[i] : nullptr;
      columns_[i] = from;
      if (from == nullptr || all) continue;
      choose_rows(*from, rows_, gathered_[i]);
      columns_[i] = &gathered_[i];
    }
    for (size_t i = 0; with_build && i < plan_.from_build.size(); ++i) {
      const uint16_t position = plan_.from_build[i];
      table_->gather(i, of_build_, gathered_[position]);
      columns_[position] = &gathered_[position];
    }
    out_ = {.rows = static_cast<uint32_t>(rows_.size()), .columns = columns_, .order = batch_.order};
  }

  bool has_conditions() const { return conditions_ || plan_.host != nullptr; }

  /// Leaves the pairs that fulfil the conditions.
  Status check_pairs() {
    if (conditions_) {
      conditions_->run(out_);
      const Computed& passes = conditions_->result(plan_.passes);
      if (has_failures(passes, out_.rows)) {
        if (plan_.host == nullptr) return not_computed();
        HAILSTONE_TRY(ask_host(&passes));
      } else {
        find_true_rows(passes, out_.rows, chosen_);
      }
    } else {
      HAILSTONE_TRY(ask_host(nullptr));
    }
    if (chosen_.size() == out_.rows) return {};
    for (size_t i = 0; i < chosen_.size(); ++i) {
      rows_[i] = rows_[chosen_[i]];
      of_build_[i] = of_build_[chosen_[i]];
    }
    rows_.resize(chosen_.size());
    of_build_.resize(chosen_.size());
    if (!rows_.empty()) make_batch();
    return {};
  }

  /// Makes chosen_ the pairs that pass: by the host, and those that have no failure by `known`.
  Status ask_host(const Computed* known) {
    chosen_.clear();
    return ask_caller([&]() -> Status {
      bool begins = true;
      for (uint32_t row = 0; row < out_.rows; ++row) {
        bool passes = false;
        if (known != nullptr && known->failure(row) == 0) {
          passes = !known->is_null(row) && known->integers[row] != 0;
        } else {
          HAILSTONE_ASSIGN(passes, plan_.host->compute(out_, row, std::exchange(begins, false), {}));
        }
        if (passes) chosen_.push_back(static_cast<uint16_t>(row));
      }
      return {};
    });
  }

  const HashJoin& join_;
  JoinPasses* const passes_;
  const unsigned part_;
  const JoinPlan& plan_;
  const JoinTable* table_ = nullptr;
  std::optional<JoinTable::Probe> probe_;
  std::optional<Evaluator> conditions_;
  RowBatch batch_;
  std::span<const uint32_t> matches_;
  uint32_t row_ = 0;    // of the batch: whose pairs come next
  uint32_t match_ = 0;  // that of its pairs which comes next
  bool done_ = false;
  std::vector<bool>* aside_ = nullptr;  // what is known of the rows from passes before, from first_aside_ on
  size_t first_aside_ = 0;
  bool is_last_ = true;             // no partners will come behind those of the table
  std::vector<uint8_t> paired_;     // rows of the batch
  std::vector<uint16_t> rows_;      // of pairs
  std::vector<uint32_t> of_build_;  // of the same
  std::vector<uint16_t> chosen_;
  std::vector<ColumnVector> gathered_;
  std::vector<const ColumnVector*> columns_;
  std::vector<bool> left_behind_;
  RowBatch out_;
};

/// Each pass is a round.
class HashJoin::Go final : public Step {
 public:
  Go(const HashJoin& join, std::unique_ptr<JoinPasses> passes, unsigned threads)
      : join_(join), passes_(std::move(passes)) {
    for (unsigned i = 0; i < threads; ++i) workers_.emplace_back(join, passes_.get(), i);
  }

  Step::Worker& worker(unsigned part) override { return workers_[part]; }
  Result<unsigned> begin_round() override {
    if (passes_ == nullptr) return 0;
    HAILSTONE_ASSIGN(const bool found, passes_->go_to_next(join_.threads_));
    if (!found) return 0;
    for (HashJoin::Worker& worker : workers_) worker.look_in(passes_->table());
    return static_cast<unsigned>(workers_.size());
  }
  OperatorCounts* counts() const override { return join_.counts_; }

 private:
  const HashJoin& join_;
  const std::unique_ptr<JoinPasses> passes_;
  std::deque<HashJoin::Worker> workers_;
};

HashJoin::~HashJoin() = default;

HashJoin::HashJoin(std::unique_ptr<RowBatches> probe, std::unique_ptr<RowBatches> build, JoinPlan plan,
                   unsigned threads, OperatorCounts* counts)
    : probe_(std::move(probe)),
      build_(std::move(build)),
      plan_(std::move(plan)),
      threads_(std::max(1U, threads)),
      counts_(counts) {
  for (const JoinPlan::Key& key : plan_.keys)
    probe_keys_.insert(probe_keys_.end(), key.nulls_are_equal ? 2 : 1, key.probe);
  if (!plan_.probe_first || plan_.keys.empty()) return;
  auto kept = std::make_unique<KeptRows>(std::move(probe_), width_of_probe());
  kept_ = kept.get();
  probe_ = std::move(kept);
}

Result<std::unique_ptr<HashJoin>> HashJoin::make(std::unique_ptr<RowBatches> probe,
                                                 std::unique_ptr<RowBatches> build, JoinPlan plan,
                                                 std::shared_ptr<JoinMemory> memory, unsigned threads,
                                                 OperatorCounts* counts) {
  std::unique_ptr<HashJoin> join(
      new HashJoin(std::move(probe), std::move(build), std::move(plan), threads, counts));
  BuildColumns columns;
  for (const JoinPlan::Key& key : join->plan_.keys) {
    HAILSTONE_ASSIGN(const ScanColumn of_probe, join->probe_->column(key.probe));
    HAILSTONE_ASSIGN(const ScanColumn of_build, join->build_->column(key.build));
    using Nulls = KeyColumn::Nulls;
    HAILSTONE_ASSIGN(KeyColumn column,
                     KeyColumn::make(of_probe, of_build, key.nulls_are_equal ? Nulls::AsZero : Nulls::LeftOut,
                                     key.collation));
    columns.keys.push_back({.position = key.build, .column = std::move(column)});
    if (key.nulls_are_equal)
      columns.keys.push_back({.position = key.build, .column = KeyColumn::of_presence()});
  }
  for (const uint16_t position : join->plan_.from_build) {
    HAILSTONE_ASSIGN(const ScanColumn column, join->build_->column(position));
    columns.kept.push_back({.position = position, .type = column});
  }
  if (join->plan_.range) HAILSTONE_TRY(join->add_range(columns));
  const auto filters = join->wants_only_partners() ? BuildSide::Filters::OfProbe : BuildSide::Filters::None;
  join->side_ = std::make_unique<BuildSide>(std::move(columns), join->build_->threads(join->threads_),
                                            filters, join->host(), std::move(memory), counts);
  return join;
}

/// The numbers of the build side are kept, behind what is wanted of it.
Status HashJoin::add_range(BuildColumns& columns) const {
  const JoinPlan::Range& range = *plan_.range;
  HAILSTONE_CHECK(plan_.keys.empty() && (range.least || range.greatest) &&
                      (!range.end || (range.least && range.greatest)),
                  "a join by a range has {} keys, or not the bounds that it needs", plan_.keys.size());
  const auto add = [&](uint16_t build, std::initializer_list<std::optional<uint16_t>> bounds,
                       std::optional<size_t>& to) -> Status {
    HAILSTONE_ASSIGN(const ScanColumn number, build_->column(build));
    for (const auto& bound : bounds) {
      if (!bound) continue;
      HAILSTONE_ASSIGN(const ScanColumn column, probe_->column(*bound));
      if (!number.integer || !column.integer || column.type != number.type || column.width != number.width) {
        return fail(ErrorCode::InvalidArgument,
                    "a range of a join is of columns of different types, or not of numbers");
      }
    }
    to = columns.kept.size();
    columns.kept.push_back({.position = build, .type = number});
    return {};
  };
  if (!range.end) return add(range.build, {range.least, range.greatest}, columns.range);
  HAILSTONE_TRY(add(range.build, {range.greatest}, columns.range));
  return add(*range.end, {range.least}, columns.range_end);
}

size_t HashJoin::width_of_probe() const {
  size_t width = plan_.width;
  const auto add = [&width](uint16_t position) { width = std::max<size_t>(width, position + size_t{1}); };
  std::ranges::for_each(probe_keys_, add);
  if (plan_.range && plan_.range->least) add(*plan_.range->least);
  if (plan_.range && plan_.range->greatest) add(*plan_.range->greatest);
  return width;
}

bool HashJoin::is_of_build(size_t position) const {
  return plan_.kind != JoinPlan::Kind::Semi &&
         std::ranges::find(plan_.from_build, position) != plan_.from_build.end();
}

Result<ScanColumn> HashJoin::column(size_t position) const {
  if (is_of_build(position)) return build_->column(position);
  if (std::ranges::find(plan_.left_behind, position) != plan_.left_behind.end())
    return fail(ErrorCode::InvalidArgument, "rows were asked for a column that a join has left behind");
  return probe_->column(position);
}

/// The build side is read to it.
class HashJoin::Filling final : public Sink {
 public:
  explicit Filling(HashJoin& join) : join_(join) {}

  Status consume(unsigned part, const RowBatch& batch, const GoOn& go_on) override {
    rows_.fetch_add(batch.rows, std::memory_order_relaxed);
    if (part == 0) HAILSTONE_TRY(watch(/*are_all=*/false));
    return join_.side_->add(part, batch, go_on);
  }
  Result<size_t> end_rows() override {
    HAILSTONE_TRY(watch(/*are_all=*/true));
    return join_.side_->end_rows();
  }
  Status combine(size_t part, const GoOn& go_on) override { return join_.side_->end_part(part, go_on); }
  /// Rows of the probe side that have no partner need not come, if nothing else comes of them.
  Status finish() override {
    HAILSTONE_ASSIGN(const std::vector<RuntimeFilter> filters, join_.side_->finish(join_.threads_));
    for (size_t i = 0; i < filters.size(); ++i) {
      if (!filters[i].is_empty()) join_.probe_->add_filter(join_.probe_keys_[i], filters[i]);
    }
    return {};
  }
  OperatorCounts* counts() const override { return join_.counts_; }

 private:
  Status watch(bool are_all) {
    if (join_.watch_ == nullptr) return {};
    return join_.watch_({rows_, join_.build_->rows_read(), are_all, join_.build_is_filtered_});
  }

  HashJoin& join_;
  std::atomic<uint64_t> rows_{0};
};

Status HashJoin::fill() {
  if (filled_) return {};
  if (kept_ != nullptr) HAILSTONE_TRY(read_probe_first());
  Filling filling(*this);
  HAILSTONE_TRY(run(*build_, threads_, filling));
  filled_ = true;
  return {};
}

Status HashJoin::read_probe_first() {
  HAILSTONE_ASSIGN(const bool are_few, kept_->read_first(threads(threads_)));
  if (!are_few) return {};
  HAILSTONE_ASSIGN(const std::vector<RuntimeFilter> filters, kept_->filters_of_build(plan_.keys, *build_));
  for (size_t i = 0; i < filters.size(); ++i) {
    if (filters[i].is_empty()) continue;
    build_is_filtered_ = true;
    build_->add_filter(plan_.keys[i].build, filters[i]);
  }
  return {};
}

/// For the join above: neither side has read anything yet.
void HashJoin::add_filter(size_t position, const RuntimeFilter& filter) {
  if (!is_of_build(position)) {
    probe_->add_filter(position, filter);
    add_filter_of_partners(position, filter);
  } else if (plan_.kind == JoinPlan::Kind::Inner) {
    build_is_filtered_ = true;
    build_->add_filter(position, filter);
  }
}

/// Rows of the build side whose key a filter of the probe side's key keeps back have only partners that need
/// not come: they make no difference to what comes.
void HashJoin::add_filter_of_partners(size_t position, const RuntimeFilter& filter) {
  if (filter.numbers == nullptr) return;
  const auto stored_alike = [](const ScanColumn& one, const ScanColumn& other) {
    return one.integer && other.integer && one.type == other.type && one.width == other.width;
  };
  for (const JoinPlan::Key& key : plan_.keys) {
    if (key.probe != position || key.nulls_are_equal) continue;
    const auto probe = probe_->column(key.probe), build = build_->column(key.build);
    if (!probe || !build || !stored_alike(*probe, *build)) continue;
    build_is_filtered_ = true;
    build_->add_filter(key.build, filter);
  }
}

std::unique_ptr<JoinPasses> HashJoin::make_passes(unsigned parts) {
  if (!side_->is_divided()) return nullptr;
  const size_t width = width_of_probe();
  std::vector<RecordColumns::Column> columns;
  for (uint16_t i = 0; i < width; ++i) {
    if (const auto column = probe_->column(i); column) columns.push_back({.position = i, .type = *column});
  }
  return std::make_unique<JoinPasses>(*side_, columns, width, probe_keys_, wants_only_partners(), parts,
                                      host(), counts_);
}

Status HashJoin::open(Pipeline& to) {
  HAILSTONE_TRY(fill());
  if (is_without_rows()) return {};
  to.add_step(std::make_unique<Go>(*this, make_passes(to.threads()), to.threads()));
  return probe_->open(to);
}

}  // namespace hailstone
