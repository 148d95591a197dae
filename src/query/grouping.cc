#include "query/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "query/pipeline.h"
#include "query/query_memory.h"

namespace hailstone {

namespace {

/// So many groups and pairs are put together by one thread before others would have begun to help.
constexpr size_t most_units_to_merge = size_t{1} << 14;
/// So many are worth no files.
constexpr size_t few_units = 1024;
constexpr uint32_t groups_between_interruption_checks = 4096;

void take_runs(RecordPartitions* from, std::vector<RecordRun>& to) {
  if (from == nullptr) return;
  std::vector<RecordRun> runs = from->take_runs();
  to.resize(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) to[i].append(std::move(runs[i]));
}

bool has_aggregate(const Aggregate& wanted, const ScanColumn& column) {
  switch (wanted.kind) {
    case Aggregate::Kind::Spread:
      if (wanted.distinct || (!column.integer && column.width != sizeof(WideInteger))) return false;
      [[fallthrough]];
    case Aggregate::Kind::Sum:
      return column.integer ? column.type <= Type::Double
                            : column.type == Type::OrderedBytes && (column.width == sizeof(WideInteger) ||
                                                                    column.width == sizeof(HugeInteger));
    case Aggregate::Kind::BitAnd:
    case Aggregate::Kind::BitOr:
    case Aggregate::Kind::BitXor:
      return column.type == Type::Unsigned ||
             (column.type == Type::Signed && column.width == sizeof(uint64_t));
    default:
      return true;
  }
}

}  // namespace

Result<std::unique_ptr<Grouping>> Grouping::make(std::unique_ptr<RowBatches> rows,
                                                 std::span<const uint16_t> keys,
                                                 std::span<const Aggregate> aggregates, unsigned threads,
                                                 OperatorCounts* counts) {
  if (keys.size() > GroupingPlan::most_keys) {
    return fail(ErrorCode::Unsupported,
                fmt::format("groups have at most {} keys, and not {}", GroupingPlan::most_keys, keys.size()));
  }
  std::unique_ptr<Grouping> grouping(new Grouping(std::move(rows), std::max(1U, threads), counts));
  for (const uint16_t position : keys) {
    HAILSTONE_ASSIGN(const ScanColumn column, grouping->rows_->column(position));
    grouping->plan_.keys.push_back({.position = position, .column = column});
  }
  for (const Aggregate& wanted : aggregates) {
    GroupingPlan::Item item{.wanted = wanted, .column = {}};
    if (wanted.kind != Aggregate::Kind::Rows) {
      HAILSTONE_ASSIGN(item.column, grouping->rows_->column(wanted.position));
    }
    if (!has_aggregate(wanted, item.column))
      return fail(ErrorCode::Unsupported,
                  "groups have sums of numbers, spreads of those of 16 bytes at most, and bits of whole "
                  "numbers only");
    grouping->plan_.aggregates.push_back(item);
  }
  grouping->keys_.resize(keys.size());
  // Equal texts of the only key are of one group.
  if (keys.size() > 1) grouping->plan_.variants = &grouping->variants_;
  return grouping;
}

Result<bool> Grouping::next() {
  keys_known_ = true;  // where there is no group, they are nobody's
  if (rounds_ == 0) HAILSTONE_TRY(make_tables());
  for (;;) {
    for (; place_.table < tables_.size(); ++place_.table, place_.group = 0) {
      const GroupTable& groups = table(place_.table);
      while (++place_.group < groups.end()) {
        if (place_.group % groups_between_interruption_checks == 0)
          HAILSTONE_TRY(rows_->host().check_interruption());
        if (groups.is_gone(place_.group)) continue;
        go_to(place_);
        return true;
      }
    }
    if (groups_.empty()) return false;
    HAILSTONE_TRY(make_tables());
  }
}

Result<bool> Grouping::next_tables() {
  if (rounds_ != 0 && groups_.empty()) return false;
  HAILSTONE_TRY(make_tables());
  return true;
}

std::span<const Value> Grouping::keys() const {
  if (!keys_known_ && !tables_.empty()) {
    const GroupTable& groups = table(place_.table);
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = groups.key(place_.group, i);
    keys_known_ = true;
  }
  return keys_;
}

void Grouping::count_groups(const GroupTable& made) {
  if (counts_ != nullptr) counts_->add_rows(0, made.groups_left());
}

size_t Grouping::share() const { return query_memory(rows_->host().budget()); }

size_t Grouping::floor(FloorPart part) const {
  // Without keys there is one group; only distinct values take memory.
  if (plan_.keys.empty() && plan_.distinct_values() == 0) return 0;
  return floor_part(rows_->host().budget(), part) / floor_shared_by_;
}

size_t Grouping::floor_of_table(GroupCollector::Source source) const {
  const size_t floor = this->floor(FloorPart::GroupTables) / threads_;
  return source == GroupCollector::Source::Rows ? query_floor(rows_->host().budget(), floor) : floor;
}

GroupCollector Grouping::collector(GroupCollector::Source source, size_t most) {
  return collector(source, most,
                   {std::make_unique<MemoryBudget>(rows_->host().budget(), floor_of_table(source)), counts_});
}

GroupCollector Grouping::collector(GroupCollector::Source source, size_t most, OperatorMemory memory) {
  const size_t least = floor_of_table(source);
  return {plan_, std::move(memory), *record_memory_, source,
          GroupCollector::Limits{
              .most = std::max(least, most),
              .least = least,
              .quick_units = quick_units_,
              .stays = source == GroupCollector::Source::Rows && (threads_ == 1 || merges_in_place())}};
}

/// The rows, as each thread has met them. Leaves the groups in one table, or divided.
class Grouping::Collecting final : public Sink {
 public:
  explicit Collecting(Grouping& grouping)
      : all_(grouping),
        most_(grouping.share() / grouping.threads_),
        // Where there are pairs, these and groups, or what they add up to, are divided at a time.
        floor_{.bytes = grouping.floor(FloorPart::GroupRecords),
               .partitions = grouping.threads_ * size_t{grouping.plan_.distinct_values() == 0 ? 1U : 2U}} {
    const QueryHost& host = grouping.host();
    all_.record_memory_.emplace(host.budget(), host.spill_space(), grouping.share(),
                                RecordDivision::of(most_), floor_, grouping.counts_);
    for (unsigned i = 0; i < grouping.threads_; ++i)
      collectors_.push_back(grouping.collector(GroupCollector::Source::Rows, most_));
  }

  Status consume(unsigned part, const RowBatch& batch, const GoOn& go_on) override {
    return collectors_[part].add(batch, go_on);
  }

  /// Looks for the way in which the collectors' groups are put together; if not at once, each is emptied.
  Result<size_t> end_rows() override {
    size_t bytes = 0;
    for (GroupCollector& each : collectors_) {
      all_.divided_ |= each.has_moved();
      if (!each.has_table()) continue;
      with_tables_.push_back(&each);
      units_ += each.table().end() + each.table().pairs();
      bytes += each.table().memory();
    }
    const size_t parts = with_tables_.size();
    if (!all_.divided_ && parts > 1 && all_.merges_in_place()) {
      merge_memory_.emplace(std::make_unique<MemoryBudget>(all_.host().budget(), 0), all_.counts_);
      const size_t wanted = units_ * parts * sizeof(uint32_t);
      // What records have of the floor is there, and there are none.
      if (units_ <= few_units || wanted <= floor_.bytes || merge_memory_->try_grow(wanted)) return 0;
      merge_memory_.reset();
      all_.divided_ = true;
    }
    // A table of few groups takes little, whatever memory there is.
    const auto has_room = [&] {
      return units_ <= few_units || whole().try_expect(bytes - whole().table().memory());
    };
    all_.divided_ |= parts > 1 && (units_ > most_units_to_merge || !has_room());
    return all_.divided_ ? collectors_.size() : 0;
  }
  Status combine(size_t collector, const GoOn& go_on) override {
    HAILSTONE_TRY(collectors_[collector].move_out(go_on));
    collectors_[collector].drop_table();
    return {};
  }
  Status finish() override {
    if (all_.divided_) return divide();
    return merge_memory_ ? merge_tables() : merge_records();
  }
  OperatorCounts* counts() const override { return all_.counts_; }

 private:
  GroupCollector& whole() { return with_tables_.empty() ? collectors_.front() : *with_tables_.front(); }

  /// Makes one of tables that have not moved anything out.
  Status merge_tables() {
    std::vector<GroupTable*> tables;
    for (GroupCollector* const each : with_tables_) {
      all_.tables_.push_back({each->take_table(), each->take_memory()});
      tables.push_back(&all_.tables_.back().groups);
    }
    const unsigned threads = units_ > most_units_to_merge ? all_.threads_ : 1;
    GroupMerge merge(all_.plan_, std::move(tables));
    const Workers workers(all_.host(), threads, all_.counts_);
    HAILSTONE_TRY(merge.run(workers));
    return workers.each(all_.tables_.size(), [this](size_t number, const GoOn&) -> Status {
      GroupTable& made = all_.tables_[number].groups;
      made.finish();
      all_.count_groups(made);
      return {};
    });
  }

  Status merge_records() {
    const GoOn go_on = [this] { return all_.host().check_interruption(); };
    const OperatorWork work(all_.counts_);
    for (GroupCollector* const each : with_tables_) {
      if (each != &whole()) HAILSTONE_TRY(whole().merge(std::move(*each), go_on));
    }
    all_.tables_.push_back({whole().take_table(), whole().take_memory()});
    all_.count_groups(all_.tables_.back().groups);
    return {};
  }

  /// Leaves in groups_ what the collectors have.
  Status divide() {
    Runs groups, pairs;
    for (GroupCollector& each : collectors_) {
      take_runs(each.groups(), groups);
      take_runs(each.pairs(), pairs);
    }
    collectors_.clear();  // others take their place
    const unsigned bits = all_.record_memory_->first_bits();
    all_.put_runs(pairs, bits, all_.pairs_);
    HAILSTONE_TRY(all_.count_pairs(groups));
    all_.put_runs(groups, bits, all_.groups_);
    return {};
  }

  Grouping& all_;
  const size_t most_;  // bytes of a collector
  const RecordFloor floor_;
  std::deque<GroupCollector> collectors_;
  std::vector<GroupCollector*> with_tables_;
  size_t units_ = 0;                            // groups and pairs
  std::optional<OperatorMemory> merge_memory_;  // where tables are put together where they are
};

Status Grouping::make_tables() {
  tables_.clear();
  bytes_at_hand_ = 0;
  place_ = {};
  if (rounds_++ == 0) {
    Collecting collecting(*this);
    HAILSTONE_TRY(run(*rows_, threads_, collecting));
  }
  return groups_.empty() ? Status() : put_groups_together();
}

void Grouping::put_runs(Runs& runs, unsigned bits, std::vector<Run>& to) {
  const MutexLock guard(mutex_);
  for (RecordRun& run : runs) {
    if (!run.empty()) to.push_back({std::move(run), bits});
  }
}

template <typename Fits>
std::optional<Grouping::Run> Grouping::take_run(std::vector<Run>& from, const Fits& fits) {
  const MutexLock guard(mutex_);
  if (from.empty() || !fits(from.back())) return std::nullopt;
  std::optional<Run> run(std::move(from.back()));
  from.pop_back();
  return run;
}

Status Grouping::count_pairs(Runs& groups) {
  if (pairs_.empty()) return {};
  std::deque<RecordPartitions> counted;
  for (unsigned i = 0; i < threads_; ++i) counted.emplace_back(*record_memory_, 0);
  const PartWork count_some = [&](unsigned part, const GoOn& go_on) -> Status {
    GroupCollector pairs = collector(GroupCollector::Source::Pairs, share() / threads_);
    while (std::optional<Run> run = take_run(pairs_, [](const Run&) { return true; }))
      HAILSTONE_TRY(count_pairs_of(std::move(*run), pairs, counted[part], go_on));
    return counted[part].finish(go_on);
  };
  HAILSTONE_TRY(work_by_threads(rows_->host(), threads_, counts_, count_some));
  for (RecordPartitions& each : counted) take_runs(&each, groups);
  return {};
}

Status Grouping::count_pairs_of(Run&& run, GroupCollector& pairs, RecordPartitions& counted,
                                const GoOn& go_on) {
  HAILSTONE_TRY(pairs.add(std::move(run.records), run.bits, go_on));
  if (!pairs.has_moved()) {
    HashedRecords records;
    return pairs.table().write_groups(true, records,
                                      [&](const HashedRecords& some) { return counted.append(some, go_on); });
  }
  HAILSTONE_TRY(pairs.move_out(go_on));
  Runs runs;
  take_runs(pairs.pairs(), runs);
  put_runs(runs, run.bits + pairs.pairs()->bits(), pairs_);
  return {};
}

/// Makes tables of the next partitions, one a thread at least, until half of the share is used or no memory
/// is left for another.
Status Grouping::put_groups_together() {
  const size_t expected_runs = groups_.size() / threads_;
  return work_by_threads(rows_->host(), threads_, counts_, [&](unsigned, const GoOn& go_on) -> Status {
    constexpr auto source = GroupCollector::Source::Groups;
    bool is_first = true;
    for (bool more = true; more;) {
      {
        const MutexLock guard(mutex_);
        if (bytes_at_hand_ > share() / 2) return {};
      }
      auto memory = std::exchange(is_first, false)
                        ? std::make_unique<MemoryBudget>(rows_->host().budget(), floor_of_table(source))
                        : MemoryBudget::try_part(rows_->host().budget(), floor_of_table(source));
      if (memory == nullptr) return {};
      GroupCollector groups = collector(source, share() / 2 / threads_, {std::move(memory), counts_});
      HAILSTONE_ASSIGN(more, put_runs_together(groups, expected_runs, go_on));
      if (!groups.has_table()) continue;
      Table table{groups.take_table(), groups.take_memory()};
      table.groups.finish();
      count_groups(table.groups);
      const MutexLock guard(mutex_);
      bytes_at_hand_ += table.memory.bytes();
      tables_.push_back(std::move(table));
    }
    return {};
  });
}

/// As many as there is room for, of about `expected`. False: there were none.
Result<bool> Grouping::put_runs_together(GroupCollector& groups, size_t expected, const GoOn& go_on) {
  bool any = false;
  const auto fits = [&](const Run& run) { return !any || groups.has_room_for_run(run.records.bytes()); };
  while (std::optional<Run> run = take_run(groups_, fits)) {
    const size_t bytes = run->records.bytes();
    HAILSTONE_TRY(put_together(std::move(*run), groups, go_on));
    if (any && groups.has_moved()) return true;
    if (!any && groups.has_room_for_run(bytes)) groups.expect_runs(expected);
    any = true;
  }
  return any;
}

Status Grouping::put_together(Run&& run, GroupCollector& groups, const GoOn& go_on) {
  HAILSTONE_TRY(groups.add(std::move(run.records), run.bits, go_on));
  if (!groups.has_moved()) return {};
  HAILSTONE_TRY(groups.move_out(go_on));
  Runs runs;
  take_runs(groups.groups(), runs);
  put_runs(runs, run.bits + groups.groups()->bits(), groups_);
  return {};
}

}  // namespace hailstone
