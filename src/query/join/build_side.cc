#include "query/join/build_side.h"

#include <algorithm>
#include <utility>

#include "query/join/divide_records.h"

namespace hailstone {

namespace {

/// Memory is asked for in steps of this, or of a part of what there is to have.
constexpr size_t memory_step = size_t{1} << 20;

/// A partition with more than so many quarters of what was divided is mostly rows of one key: to divide it
/// again would only write them again.
constexpr size_t most_quarters_to_divide = 3;

/// The filters of one that is divided have this part of its memory. A row of the probe side that they keep
/// back costs nothing; else it is written, and read again.
constexpr size_t part_of_filters = 4;

RecordColumns record_columns_of(const BuildColumns& read) {
  std::vector<RecordColumns::Column> columns;
  for (const BuildColumns::Key& key : read.keys) {
    const Collation* const collation = key.column.collation();
    columns.push_back(
        {.position = key.position, .type = {.integer = collation == nullptr, .collation = collation}});
  }
  for (const BuildColumns::Kept& kept : read.kept)
    columns.push_back({.position = kept.position, .type = kept.type});
  return {columns, columns.size()};
}

}  // namespace

BuildSide::BuildSide(BuildColumns columns, unsigned parts, Filters filters, const QueryHost& host,
                     std::shared_ptr<JoinMemory> memory, OperatorCounts* counts)
    : columns_(std::move(columns)),
      read_columns_(columns_.of_read_rows()),
      record_columns_(record_columns_of(read_columns_)),
      host_(host),
      share_(std::move(memory)),
      counts_(counts),
      budget_(host.budget(), share_->least()),
      wanted_filters_(filters),
      table_(columns_),
      table_memory_(budget_, counts) {
  for (unsigned i = 0; i < std::max(1U, parts); ++i) parts_.emplace_back(columns_, budget_, counts);
}

BuildSide::~BuildSide() { share_->give_back(taken_); }

std::vector<uint16_t> BuildSide::read_keys() const {
  std::vector<uint16_t> positions;
  for (const BuildColumns::Key& key : read_columns_.keys) positions.push_back(key.position);
  return positions;
}

Status BuildSide::add(unsigned number, const RowBatch& batch, const GoOn& go_on) {
  Part& part = parts_[number];
  part.rows.add(batch);
  if (!divided_.load(std::memory_order_acquire)) {
    if (has_room(part)) return {};
    begin_to_divide();
  }
  return move_out(part, go_on);
}

/// Takes memory for what the part has by now.
bool BuildSide::has_room(Part& part) {
  const size_t needed = part.rows.table_memory();
  if (part.rows.rows() > JoinTable::most_rows / parts_.size()) return false;
  if (needed <= part.memory.bytes()) return true;
  const size_t more = needed - part.memory.bytes();
  const size_t taken = taken_.load(std::memory_order_relaxed);
  const size_t step = std::max(more, std::min(memory_step, taken / 8));
  if (!share_->try_take(taken, step)) return false;
  taken_.fetch_add(step, std::memory_order_relaxed);
  if (taken + step <= share_->least()) {
    part.memory.grow(step);
  } else if (!part.memory.try_grow(step)) {
    taken_.fetch_sub(step, std::memory_order_relaxed);
    share_->give_back(step);
    return false;
  }
  return true;
}

void BuildSide::begin_to_divide() {
  const MutexLock guard(dividing_);
  if (is_divided()) return;
  // Each row of a table takes more than eight bytes.
  most_ = std::clamp(taken_.load(std::memory_order_relaxed), share_->least(),
                     size_t{JoinTable::most_rows} * sizeof(uint64_t));
  record_memory_.emplace(host_.budget(), host_.spill_space(), most_,
                         RecordDivision::of(most_ / parts_.size()),
                         RecordFloor{.bytes = share_->least(), .partitions = parts_.size()}, counts_);
  if (const size_t taken = taken_; taken < most_)
    kept_memory_.emplace_back(budget_, counts_).grow(most_ - taken);
  if (wanted_filters_ == Filters::OfProbe) begin_filters();
  divided_.store(true, std::memory_order_release);
}

/// Those of numbers; how many there will be is not known yet.
void BuildSide::begin_filters() {
  const auto has_filter = [](const BuildColumns::Key& key) {
    return key.column.collation() == nullptr && key.column.leaves_nulls_out();
  };
  const MutexLock guard(filters_mutex_);
  const auto count = static_cast<size_t>(std::ranges::count_if(columns_.keys, has_filter));
  for (const BuildColumns::Key& key : columns_.keys) {
    filters_.push_back(has_filter(key) ? std::make_shared<NumberFilter>(most_ / part_of_filters / count)
                                       : nullptr);
    if (filters_.back() != nullptr) memory_of_filters_ += filters_.back()->memory();
  }
}

/// Rows that move out: their keys come first.
void BuildSide::add_to_filters(const RowBatch& rows) {
  const MutexLock guard(filters_mutex_);
  for (size_t i = 0; i < filters_.size(); ++i) {
    if (filters_[i] == nullptr) continue;
    const auto& numbers = rows.columns[read_columns_.keys[i].position]->integers;
    columns_.keys[i].column.add_to(*filters_[i], {numbers.data(), rows.rows});
  }
}

std::vector<RuntimeFilter> BuildSide::end_filters() {
  const MutexLock guard(filters_mutex_);
  std::vector<RuntimeFilter> filters;
  for (std::shared_ptr<NumberFilter>& filter : filters_) {
    if (filter != nullptr) filter->end_adding();
    filters.push_back({.numbers = std::move(filter)});
  }
  filters_.clear();
  return filters;
}

/// To the partitions.
Status BuildSide::move_out(Part& part, const GoOn& go_on) {
  if (!part.partitions) {
    part.partitions.emplace(*record_memory_, 0);
    part.writer.emplace(record_columns_.records());
    part.hashes.emplace(read_columns_, KeyHashes::Side::Build, read_keys());
    part.records.kind = RecordKind::Rows;
  }
  const auto write = [&](const RowBatch& rows) -> Status {
    HAILSTONE_TRY(part.writer->write(rows, part.records));
    add_to_filters(rows);
    const std::span<const uint64_t> hashes = part.hashes->hash(rows);
    part.records.hashes.assign(hashes.begin(), hashes.end());
    return part.partitions->append(part.records, go_on);
  };
  HAILSTONE_TRY(part.rows.move_out(write));
  if (part.memory.bytes() == 0) return {};
  const MutexLock guard(dividing_);
  kept_memory_.push_back(std::move(part.memory));  // which has nothing then
  return {};
}

Result<std::vector<RuntimeFilter>> BuildSide::finish(unsigned threads) {
  std::vector<RuntimeFilter> filters;
  if (is_divided()) {
    HAILSTONE_TRY(finish_divided(threads));
    filters = end_filters();
  } else {
    const OperatorWork work(counts_, 0);
    std::deque<BuildRows> rows;
    for (Part& part : parts_) rows.push_back(std::move(part.rows));
    HAILSTONE_TRY(table_.fill(std::move(rows), Workers(host_, threads, counts_),
                              wanted_filters_ == Filters::OfProbe ? &filters : nullptr));
  }
  parts_.clear();
  {
    const MutexLock guard(dividing_);
    kept_memory_.clear();
  }
  table_memory_.grow(table_.memory() + memory_of_pass_ + memory_of_filters_);
  if (const size_t taken = taken_; !is_divided() && table_.memory() < taken) {
    taken_ = table_.memory();
    share_->give_back(taken - taken_);
  }
  share_->settle();
  return filters;
}

Status BuildSide::end_part(size_t part, const GoOn& go_on) {
  HAILSTONE_TRY(move_out(parts_[part], go_on));
  return parts_[part].partitions->finish(go_on);
}

Status BuildSide::finish_divided(unsigned threads) {
  std::vector<RecordRun> runs;
  for (Part& part : parts_) take_runs(*part.partitions, runs);
  for (RecordRun& run : runs) partitions_.push_back({.rows = std::move(run)});
  choose_aside();
  HAILSTONE_TRY(put_aside(threads));
  std::vector<RecordPiece> pieces;
  for (const BuildPartition& partition : partitions_) {
    if (!partition.aside) RecordPiece::add_all(partition.rows, pieces);
  }
  HAILSTONE_TRY(load(pieces, threads, table_));
  for (BuildPartition& partition : partitions_) {
    if (!partition.aside) partition.rows = RecordRun();
  }
  return {};
}

void BuildSide::choose_aside() {
  size_t all = 0, largest = 0;
  for (BuildPartition& partition : partitions_) {
    partition.table_bytes = columns_.table_bytes(partition.rows);
    all += partition.table_bytes;
    largest = std::max(largest, partition.table_bytes);
  }
  memory_of_pass_ = std::clamp(largest, most_ / 4, most_ / 2);
  size_t room = most_ - memory_of_pass_ - memory_of_filters_;
  for (BuildPartition& partition : partitions_) {
    partition.divisible =
        !columns_.keys.empty() && partition.table_bytes <= all / 4 * most_quarters_to_divide;
    partition.aside = !partition.rows.empty() &&
                      (share_->is_none() || !partition.rows.is_in_memory() || partition.table_bytes > room);
    if (!partition.aside) room -= partition.table_bytes;
  }
}

/// So that all memory for records is there for the rows of the probe side.
Status BuildSide::put_aside(unsigned threads) {
  std::atomic<size_t> next{0};
  return work_by_threads(host_, threads, counts_, [&](unsigned, const GoOn& go_on) -> Status {
    std::shared_ptr<SpillFile> file;
    for (size_t i = next++; i < partitions_.size(); i = next++) {
      if (partitions_[i].aside) HAILSTONE_TRY(partitions_[i].rows.spill(file, go_on));
    }
    return file == nullptr ? Status() : file->finish();
  });
}

Status BuildSide::load(std::span<const RecordPiece> pieces, unsigned threads, JoinTable& table) {
  std::deque<BuildRows> parts;
  size_t rows = 0;
  for (const RecordPiece& piece : pieces) rows += piece.extent.records;
  for (unsigned i = 0; i < threads; ++i) parts.emplace_back(read_columns_);
  std::atomic<size_t> next{0};
  const PartWork load_some = [&](unsigned part, const GoOn& go_on) -> Status {
    RecordBatches batches(record_columns_);
    for (size_t i = next++; i < pieces.size(); i = next++) {
      HAILSTONE_TRY(go_on());
      if (parts[part].rows() == 0) parts[part].reserve(rows / threads);
      HAILSTONE_TRY(batches.begin(pieces[i]));
      while (const RowBatch* const some = batches.next()) parts[part].add(*some);
    }
    return {};
  };
  HAILSTONE_TRY(work_by_threads(host_, threads, counts_, load_some));
  const OperatorWork work(counts_, 0);
  return table.fill(std::move(parts), Workers(host_, threads, counts_));
}

Status BuildSide::divide(BuildPartition& partition, unsigned used_bits, unsigned threads) {
  HAILSTONE_ASSIGN(std::vector<RecordRun> runs,
                   divide_records(
                       partition.rows, record_columns_,
                       [this] { return KeyHashes(read_columns_, KeyHashes::Side::Build, read_keys()); },
                       used_bits, *record_memory_, host_, threads, counts_));
  if (partition.is_part) partition.rows = RecordRun();
  for (RecordRun& run : runs) {
    BuildPartition part{.rows = std::move(run), .aside = true, .is_part = true};
    part.table_bytes = columns_.table_bytes(part.rows);
    part.divisible = part.table_bytes <= partition.table_bytes / 4 * most_quarters_to_divide;
    partition.parts.push_back(std::move(part));
  }
  return {};
}

}  // namespace hailstone
