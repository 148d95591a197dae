#include "table/scan.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "base/check.h"
#include "column/row_window.h"
#include "table/aggregate.h"
#include "table/block_scan.h"
#include "table/helpers.h"
#include "table/table_state.h"
#include "table/visibility.h"

namespace hailstone {

namespace {

constexpr uint32_t most_rows_locked_ahead = 64;
constexpr uint32_t rows_between_interruption_checks = 1024;

}  // namespace

struct Scan::State {
  State(std::shared_ptr<Table> scanned, Transaction& reader, ReadLock read_lock,
        std::shared_ptr<const Predicate> condition, std::vector<uint16_t> columns, std::vector<bool> as_codes)
      : table(std::move(scanned)),
        inside(*table->state_),
        transaction(reader),
        lock(read_lock),
        dirty(read_lock == ReadLock::None && reader.reads_uncommitted()),
        predicate(std::move(condition)),
        projection(inside.layout, std::move(columns), std::move(as_codes)) {
    if (predicate == nullptr) predicate = std::make_shared<Predicate>(Predicate::always());
    always = predicate->kind() == Predicate::Kind::Always;
  }

  /// The first call, not the constructor: a snapshot is taken when reading begins.
  void start() {
    if (view != nullptr) return;
    if (lock == ReadLock::None) {
      visibility = {.snapshot = transaction.snapshot(),
                    .own_writes = transaction.own_writes(),
                    .superseded = transaction.superseded(inside.id),
                    .held = transaction.hold_snapshot()};
    } else {
      // Held, as it must be told what has ended since; by its own end only.
      auto newest = std::make_shared<const HeldSnapshot>(inside.host.transactions(), transaction.marker(),
                                                         /*may_expire=*/false);
      visibility = {.snapshot = **newest,
                    .candidates = true,
                    .own_writes = transaction.own_writes(),
                    .held = std::move(newest)};
    }
    if (lock != ReadLock::None && transaction.locks_ranges()) {
      // Whoever inserts a row holds the write mutex: it has done so before the view is taken, or will wait.
      const MutexLock writers(inside.write_mutex());
      inside.host.locks().lock_range(transaction, inside.id, LockManager::clustered_order, {}, {});
    }
    candidates = visibility;
    // Each row that was not ended for good then may be there.
    if (dirty) candidates.candidates = true;
    view = inside.current_view();
    go_to_first_row();
  }

  /// Before each pass over all rows.
  void go_to_first_row() {
    blocks.emplace(inside, view, predicate, candidates);
    worker.emplace(*blocks, [this] { return interrupted(); });
    if (numbers_rows) worker->count_met();
    next_number = 0;
    selected.clear();
    selected_next = 0;
    delta = 0;
    delta_begun = false;
  }

  /// Selects the rows of the next block that has some. False: no segment is left.
  Result<bool> select_block() {
    selected.clear();
    selected_next = window_rows = 0;
    HAILSTONE_ASSIGN(const bool found, next_block());
    if (!found) return false;
    taken.append_rows(0, block_rows, selected);
    if (numbers_rows) {
      met_before_selected.clear();
      worker->met().append_counts(selected, met_before_selected);
    }
    return true;
  }
  uint64_t number_of_selected(size_t position) const {
    return worker->met_before() + met_before_selected[position] + 1;
  }

  /// Finds the next block with matching rows. False: no segment is left.
  Result<bool> next_block() {
    for (;;) {
      HAILSTONE_ASSIGN(const bool found, worker->next(next_number, blocks->blocks()));
      if (!found) return false;
      taken = worker->rows();
      if (dirty) HAILSTONE_TRY(put_changed_aside());
      if (!taken.none()) return true;
    }
  }

  /// Keys of the segment where the worker stands.
  SegmentKeys& keys_here() {
    const TableSegment& here = *worker->segment();
    if (keys_of != &here) block_keys.emplace(here, *inside.keys, SegmentKeys::clustered);
    keys_of = &here;
    return *block_keys;
  }

  /// READ UNCOMMITTED: of the block's rows that match, those that the snapshot sees and nobody has changed
  /// since stay; all others that may be there are looked for by their keys later.
  Status put_changed_aside() {
    const TableSegment& place = *worker->segment();
    const uint32_t block = worker->block();
    BlockBitmap changed = taken;
    HAILSTONE_TRY(mask_rows(place, *inside.keys, worker->reader(), block, visibility, taken));
    const BlockBitmap seen = taken;
    {
      const SharedLock guard(inside.latch());
      if (!place.ends->empty()) place.ends->mask(block, {.read = infinity - 1}, taken);
    }
    for (size_t word = 0; word < BlockBitmap::words; ++word) changed.bits[word] &= ~taken.bits[word];
    if (changed.none()) return {};
    std::vector<uint16_t> positions;
    changed.append_rows(0, block_rows, positions);
    for (const uint16_t row : positions) {
      auto& [changed_key, is_seen] = changed_keys.emplace_back();
      HAILSTONE_TRY(keys_here().clustered_key(block * block_rows + row, changed_key));
      is_seen = seen.test(row);
    }
    return {};
  }

  bool interrupted() const {
    if (!transaction.interrupted()) return false;
    interruption_seen.store(true, std::memory_order_relaxed);
    return true;
  }
  Status end_interrupted() const {
    return fail(ErrorCode::Interrupted, "interrupted while scanning table " + inside.definition().name);
  }
  Status check_interruption() const { return interrupted() ? end_interrupted() : Status(); }

  /// Fills `entries` with the next versions of the deltas that match. False: none is left.
  Result<bool> next_delta_rows(size_t most) {
    for (; delta < view->deltas.size(); ++delta, delta_begun = false) {
      const DeltaReader reader(view->deltas[delta], DeltaReader::clustered, candidates);
      for (;;) {
        HAILSTONE_TRY(check_interruption());
        reader.forward(delta_begun ? ByteView(delta_key) : ByteView(), delta_begun, most, entries);
        if (entries.empty()) break;
        delta_begun = true;
        delta_key = entries.back().key;
        count(inside.host.counters().rows_scanned, entries.size());
        const uint64_t met_in_blocks = numbers_rows ? worker->met_in_all() : 0;
        entry_numbers.clear();
        if ((!always && !dirty) || numbers_rows) {
          std::erase_if(entries, [&](const DeltaReader::Entry& entry) {
            ++met_in_deltas;
            if (!always && !dirty && !predicate->matches(inside.layout->row_codec(), entry.version->row()))
              return true;
            if (numbers_rows) entry_numbers.push_back(met_in_blocks + met_in_deltas);
            return false;
          });
        }
        if (!entries.empty()) return true;
      }
    }
    return false;
  }

  /// Takes all blocks on several threads; none is left then.
  Status each_block(unsigned threads, const std::function<Status(unsigned, BlockScan::Worker&)>& take) {
    next_number = blocks->blocks();
    return for_each_block(
        inside.host, *blocks, threads, [&] { return interrupted(); }, take);
  }

  Result<const Batch*> next_plain();
  Result<const Batch*> next_locking();
  /// READ UNCOMMITTED, behind the rows of segments that nobody has changed.
  Result<const Batch*> next_changed();
  /// `unchanged`: the version, when it is known to be the latest; `seen`: the snapshot sees the version that
  /// was met.
  Status add_latest(const std::string& key, const RowPlace* unchanged, bool seen);
  Status read_row(const RowPlace& place, std::string& row);
  /// With the worker's reader where the worker stands in that segment: it pins the blocks of rows side by
  /// side.
  Status read_segment(const TableSegment& segment, const auto& read) {
    if (worker->stands() && worker->segment().get() == &segment) return read(worker->reader());
    BlockReader reader(segment.columns);
    return read(reader);
  }
  /// The next version that may become a row, for a scan that locks. False: none is left.
  Result<bool> next_candidate(std::string& key, RowPlace& place);
  Status add_locked(const std::string& key, const RowPlace& candidate);
  /// The values of the candidate, which is a row of the block where the worker stands. Those of the next ones
  /// are read with it: a compressed piece is not unpacked for each of its rows.
  Status read_candidate(std::span<Value> to);

  const std::shared_ptr<Table> table;
  Table::State& inside;
  Transaction& transaction;
  const ReadLock lock;
  const bool dirty;  // READ UNCOMMITTED
  std::shared_ptr<const Predicate> predicate;
  bool always = false;
  const Projection projection;
  Visibility visibility;
  Visibility candidates;  // what is taken up of the places: the same, but for READ UNCOMMITTED
  std::vector<std::pair<std::string, bool>> changed_keys;  // and whether the snapshot sees the version
  size_t changed_next = 0;
  std::shared_ptr<const TableView> view;

  std::optional<BlockScan> blocks;
  std::optional<BlockScan::Worker> worker;
  uint64_t next_number = 0;        // of the block to look at next
  BlockBitmap taken;               // rows of the block where the worker stands
  std::vector<uint16_t> selected;  // rows of the block where the worker stands
  size_t selected_next = 0;
  std::optional<SegmentKeys> block_keys;  // of `keys_of`
  const TableSegment* keys_of = nullptr;

  size_t delta = 0;
  bool delta_begun = false;
  std::string delta_key;  // of the last entry looked at
  std::vector<DeltaReader::Entry> entries;
  size_t entries_next = 0;

  // With number_rows().
  mutable std::atomic<bool> interruption_seen{false};
  bool numbers_rows = false;
  std::vector<uint32_t> met_before_selected;  // in the block
  uint64_t met_in_deltas = 0;
  std::vector<uint64_t> entry_numbers;
  uint64_t candidate_number = 0;
  std::vector<uint64_t> locked_numbers;  // of the batch's rows

  Batch batch;
  size_t batch_first = 0;  // position in `selected` of the batch's first row
  enum class BatchOf : uint8_t { Segment, Delta, Locked } batch_of = BatchOf::Segment;
  std::string key;

  std::shared_ptr<ScanBound> bound;  // of each_batch(); may be null
  // With add_places(). A place is the number of the segment, from 1 on, and the ordinal there; or, with 0, a
  // number in delta_places.
  std::optional<Projection> of_places;
  std::vector<std::pair<const Version*, uint64_t>> delta_places;  // versions, and their row ids
  std::optional<BlockReader> place_reader;
  size_t place_segment = 0;  // where the reader is
  Batch place_batch;

  // Of a scan that locks.
  std::vector<std::string> locked_keys;      // of the batch's rows
  std::unordered_set<std::string> returned;  // rows whose versions may be met more than once
  uint32_t lock_batch = 1;
  RowWindow window{projection};  // of selected[window_first] and those behind it
  size_t window_first = 0, window_rows = 0;
  uint32_t window_size = 1;  // of the next one: the first rows may be all that is wanted
  std::vector<uint32_t> window_ordinals;
  std::vector<Value> values;
};

Scan::Scan(std::shared_ptr<Table> table, Transaction& transaction, ReadLock lock,
           std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns,
           std::vector<bool> as_codes)
    : state_(std::make_unique<State>(std::move(table), transaction, lock, std::move(predicate),
                                     std::move(columns), std::move(as_codes))) {}

Scan::~Scan() = default;

Result<const Batch*> Scan::next() {
  State& state = *state_;
  HAILSTONE_TRY(state.inside.usable());
  state.start();
  auto result = state.inside.noted(state.lock == ReadLock::None ? state.next_plain() : state.next_locking());
  HAILSTONE_TRY(state.visibility.check());
  if (result && *result != nullptr) count(state.inside.host.counters().rows_returned, (*result)->rows);
  return result;
}

Result<const Batch*> Scan::State::next_plain() {
  if (selected_next == selected.size()) HAILSTONE_TRY(select_block());
  if (!selected.empty()) {
    batch_first = selected_next;
    const size_t rows = std::min<size_t>(batch_rows, selected.size() - selected_next);
    const std::span<const uint16_t> chosen(selected.data() + selected_next, rows);
    selected_next += rows;
    HAILSTONE_TRY(projection.read(worker->reader(), worker->block(), chosen, batch));
    batch_of = BatchOf::Segment;
    return &batch;
  }
  if (dirty) return next_changed();
  HAILSTONE_ASSIGN(const bool found, next_delta_rows(batch_rows));
  if (!found) return nullptr;
  batch.clear();
  for (const auto& entry : entries) projection.append(entry.version->row(), row_id_of(entry.key), batch);
  batch_of = BatchOf::Delta;
  return &batch;
}

Result<bool> Scan::State::next_candidate(std::string& candidate_key, RowPlace& place) {
  if (selected_next == selected.size()) HAILSTONE_TRY(select_block());
  if (!selected.empty()) {
    if (numbers_rows) candidate_number = number_of_selected(selected_next);
    const uint32_t ordinal = worker->block() * block_rows + selected[selected_next++];
    HAILSTONE_TRY(keys_here().clustered_key(ordinal, candidate_key));
    place = {
        .delta = nullptr, .version = nullptr, .segment = worker->segment(), .ordinal = ordinal, .begin = 0};
    return true;
  }
  if (entries_next == entries.size()) {
    entries_next = 0;
    HAILSTONE_ASSIGN(const bool found, next_delta_rows(most_rows_locked_ahead));
    if (!found) return false;
  }
  if (numbers_rows) candidate_number = entry_numbers[entries_next];
  const auto& entry = entries[entries_next++];
  candidate_key = entry.key;
  place = {.delta = view->deltas[delta],
           .version = const_cast<Version*>(entry.version),
           .segment = nullptr,
           .ordinal = 0,
           .begin = 0};
  return true;
}

Status Scan::State::add_locked(const std::string& candidate_key, const RowPlace& candidate) {
  HAILSTONE_ASSIGN(const RowPlace newest, inside.lock_newest(transaction, candidate_key, lock));
  if (!newest.found()) return {};
  if (visibility.is_own_and_new(newest)) return {};
  values.resize(projection.columns().size());
  std::string row;
  if (newest == candidate && candidate.segment != nullptr) {
    HAILSTONE_TRY(read_candidate(values));
  } else {
    HAILSTONE_TRY(read_row(newest, row));
    if (!(newest == candidate) && !always && !predicate->matches(inside.layout->row_codec(), row)) return {};
    projection.decode(row, row_id_of(candidate_key), values);
  }
  // A version that was live when the scan began, committed or the transaction's own, is the only one of its
  // row that the scan can meet.
  Timestamp begin = newest.begin;
  if (newest.segment != nullptr) {
    HAILSTONE_TRY(read_segment(*newest.segment, [&](BlockReader& reader) -> Status {
      HAILSTONE_ASSIGN(begin, newest.segment->begin_of(reader, newest.ordinal));
      return {};
    }));
  }
  const bool was_live = begin <= visibility.snapshot.read || begin == visibility.snapshot.own;
  if (!was_live && !returned.insert(candidate_key).second) return {};
  projection.append(values, batch);
  locked_keys.push_back(candidate_key);
  if (numbers_rows) locked_numbers.push_back(candidate_number);
  return {};
}

Status Scan::State::read_candidate(std::span<Value> to) {
  const size_t at = selected_next - 1;
  if (at - window_first >= window_rows) {
    const size_t rows = std::min<size_t>(window_size, selected.size() - at);
    window_size = std::min(window_size * 2, most_rows_locked_ahead);
    window_ordinals.clear();
    for (size_t i = at; i < at + rows; ++i)
      window_ordinals.push_back(worker->block() * block_rows + selected[i]);
    window_rows = 0;
    HAILSTONE_TRY(window.read(worker->reader(), window_ordinals));
    window_first = at;
    window_rows = rows;
  }
  window.values(at - window_first, to);
  return {};
}

Status Scan::State::read_row(const RowPlace& place, std::string& row) {
  if (place.version != nullptr) {
    row = place.version->row();
    return {};
  }
  return read_segment(*place.segment, [&](BlockReader& reader) {
    return Projection::read_encoded(reader, place.ordinal, row);
  });
}

Status Scan::State::add_latest(const std::string& latest_key, const RowPlace* unchanged, bool seen) {
  RowPlace latest;
  std::string row;
  if (unchanged != nullptr) {
    latest = *unchanged;
  } else {
    if (!seen) {
      // A row that the snapshot has is met where that has it, if it matches there.
      HAILSTONE_ASSIGN(const RowPlace before,
                       inside.find_visible(*view, latest_key, visibility.snapshot, transaction));
      if (before.found()) {
        HAILSTONE_TRY(read_row(before, row));
        if (always || predicate->matches(inside.layout->row_codec(), row)) return {};
      }
    }
    HAILSTONE_ASSIGN(latest, inside.find_latest(latest_key));
    if (!latest.found()) return {};
    if (visibility.is_own_and_new(latest)) return {};
  }
  HAILSTONE_TRY(read_row(latest, row));
  if (!always && !predicate->matches(inside.layout->row_codec(), row)) return {};
  // What the snapshot has not may have been written several times.
  if (!seen && !returned.insert(latest_key).second) return {};
  projection.append(batch.scratch.copy(row), row_id_of(latest_key), batch);
  locked_keys.push_back(latest_key);
  return {};
}

Result<const Batch*> Scan::State::next_changed() {
  batch.clear();
  locked_keys.clear();
  batch_of = BatchOf::Locked;
  while (batch.rows < batch_rows) {
    if (changed_next < changed_keys.size()) {
      if (changed_next % rows_between_interruption_checks == 0) HAILSTONE_TRY(check_interruption());
      const auto& [changed_key, seen] = changed_keys[changed_next++];
      HAILSTONE_TRY(add_latest(changed_key, nullptr, seen));
      continue;
    }
    if (entries_next == entries.size()) {
      entries_next = 0;
      HAILSTONE_ASSIGN(const bool found, next_delta_rows(batch_rows));
      if (!found) break;
    }
    const auto& entry = entries[entries_next++];
    key = entry.key;
    const RowPlace place{
        .delta = view->deltas[delta], .version = const_cast<Version*>(entry.version), .segment = nullptr};
    bool seen = false, unchanged = false;
    {
      // The entry stands for all versions of the row in this delta.
      const SharedLock guard(inside.latch());
      for (const Version* each = entry.version; each != nullptr && !seen; each = each->older) {
        seen = visibility.takes(*each);
        unchanged = seen && each == entry.version && each->end.load(std::memory_order_acquire) == infinity;
      }
    }
    HAILSTONE_TRY(add_latest(key, unchanged ? &place : nullptr, seen));
  }
  return batch.rows == 0 ? nullptr : &batch;
}

Result<const Batch*> Scan::State::next_locking() {
  batch.clear();
  locked_keys.clear();
  locked_numbers.clear();
  batch_of = BatchOf::Locked;
  RowPlace place;
  uint32_t looked_at = 0;
  while (batch.rows < lock_batch) {
    if (++looked_at % rows_between_interruption_checks == 0) HAILSTONE_TRY(check_interruption());
    HAILSTONE_ASSIGN(const bool found, next_candidate(key, place));
    if (!found) break;
    HAILSTONE_TRY(add_locked(key, place));
  }
  // Rows locked ahead would be missing for others who skip them, and nobody may ever ask for them here.
  if (!skips_locked(lock)) lock_batch = std::min(lock_batch * 2, most_rows_locked_ahead);
  return batch.rows == 0 ? nullptr : &batch;
}

Result<ByteView> Scan::clustered_key(uint32_t row) {
  State& state = *state_;
  switch (state.batch_of) {
    case State::BatchOf::Delta:
      return state.entries[row].key;
    case State::BatchOf::Locked:
      return ByteView(state.locked_keys[row]);
    case State::BatchOf::Segment:
      break;
  }
  const uint32_t ordinal = state.worker->block() * block_rows + state.selected[state.batch_first + row];
  HAILSTONE_TRY(state.inside.noted(state.keys_here().clustered_key(ordinal, state.key)));
  return ByteView(state.key);
}

void Scan::number_rows() {
  HAILSTONE_CHECK(state_->view == nullptr, "a scan was told to number its rows after it had begun");
  state_->numbers_rows = true;
}

uint64_t Scan::number(uint32_t row) const {
  const State& state = *state_;
  switch (state.batch_of) {
    case State::BatchOf::Delta:
      return state.entry_numbers[row];
    case State::BatchOf::Locked:
      return state.locked_numbers[row];
    case State::BatchOf::Segment:
      break;
  }
  return state.number_of_selected(state.batch_first + row);
}

uint64_t Scan::rows_met() const { return state_->worker->met_in_all() + state_->met_in_deltas; }

Result<uint64_t> Scan::count_rest(unsigned threads) {
  State& state = *state_;
  HAILSTONE_TRY(state.inside.usable());
  state.start();
  uint64_t rows = 0;
  if (state.lock != ReadLock::None || state.dirty) {
    for (;;) {
      HAILSTONE_ASSIGN(const Batch* const batch, next());
      if (batch == nullptr) return rows;
      rows += batch->rows;
    }
  }
  rows += state.selected.size() - state.selected_next;
  state.selected.clear();
  state.selected_next = 0;
  if (state.next_number == 0) {
    struct alignas(64) Part {
      uint64_t rows = 0;
    };
    threads = worthwhile_threads(*state.blocks, threads);
    std::vector<Part> parts(threads);
    HAILSTONE_TRY(state.inside.noted(state.each_block(threads, [&](unsigned part, BlockScan::Worker& worker) {
      parts[part].rows += worker.rows().count();
      return Status();
    })));
    for (const Part& part : parts) rows += part.rows;
  }
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, state.inside.noted(state.next_block()));
    if (!found) break;
    rows += state.worker->rows().count();
  }
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, state.next_delta_rows(batch_rows));
    if (!found) break;
    rows += state.entries.size();
  }
  HAILSTONE_TRY(state.visibility.check());
  count(state.inside.host.counters().rows_returned, rows);
  return rows;
}

Result<std::vector<AggregateResult>> Scan::aggregate(std::span<const Aggregate> wanted, unsigned threads) {
  State& state = *state_;
  HAILSTONE_TRY(state.inside.usable());
  state.start();
  HAILSTONE_ASSIGN(const AggregatePlan plan, AggregatePlan::make(state.inside, state.projection, wanted));
  AggregateSums sums(plan);
  if (state.lock == ReadLock::None && !state.dirty && state.next_number == 0) {
    threads = worthwhile_threads(*state.blocks, threads);
    std::deque<AggregateSums> parts;
    for (unsigned i = 0; i < threads; ++i) parts.emplace_back(plan);
    HAILSTONE_TRY(state.inside.noted(state.each_block(
        threads, [&](unsigned part, BlockScan::Worker& worker) { return parts[part].add(worker); })));
    for (const AggregateSums& part : parts) sums.add(part);
  }
  for (;;) {
    HAILSTONE_ASSIGN(
        const Batch* const batch,
        state.inside.noted(state.lock == ReadLock::None ? state.next_plain() : state.next_locking()));
    if (batch == nullptr) break;
    count(state.inside.host.counters().rows_returned, batch->rows);
    sums.add(*batch);
  }
  HAILSTONE_TRY(state.visibility.check());
  return sums.results();
}

Status Scan::each_batch(unsigned threads, const TakeBatch& take) {
  State& state = *state_;
  HAILSTONE_CHECK(state.lock == ReadLock::None && !state.dirty,
                  "a scan that locks, or reads what is uncommitted, was asked for its rows by threads");
  HAILSTONE_TRY(state.inside.usable());
  if (state.view == nullptr) {
    state.start();
  } else {
    state.go_to_first_row();
  }
  state.delta_places.clear();
  state.blocks->set_bound(state.bound);
  struct Part {
    std::vector<uint16_t> rows;
    Batch batch;
  };
  std::deque<Part> parts(worthwhile_threads(*state.blocks, threads));
  Counters& counters = state.inside.host.counters();
  const auto take_block = [&](unsigned number, BlockScan::Worker& worker) -> Status {
    Part& part = parts[number];
    part.rows.clear();
    worker.rows().append_rows(0, block_rows, part.rows);
    count(counters.rows_returned, part.rows.size());
    for (size_t first = 0; first < part.rows.size(); first += batch_rows) {
      const size_t rows = std::min<size_t>(batch_rows, part.rows.size() - first);
      HAILSTONE_TRY(state.projection.read(worker.reader(), worker.block(), {part.rows.data() + first, rows},
                                          part.batch));
      if (state.of_places) {
        const uint64_t block = uint64_t{worker.segment_number() + 1} << 32 | worker.block() * block_rows;
        std::vector<uint64_t>& places = part.batch.places.integers;
        places.resize(rows);
        for (size_t row = 0; row < rows; ++row) places[row] = block + part.rows[first + row];
      }
      HAILSTONE_TRY(take(number, part.batch));
    }
    return {};
  };
  HAILSTONE_TRY(state.inside.noted(state.each_block(static_cast<unsigned>(parts.size()), take_block)));
  for (;;) {
    HAILSTONE_ASSIGN(const Batch* const rest, state.inside.noted(state.next_plain()));
    if (rest == nullptr) break;
    count(counters.rows_returned, rest->rows);
    if (state.of_places) {
      std::vector<uint64_t>& places = state.batch.places.integers;
      places.clear();
      for (const auto& entry : state.entries) {
        places.push_back(state.delta_places.size());
        state.delta_places.emplace_back(entry.version, row_id_of(entry.key));
      }
    }
    HAILSTONE_TRY(take(0, *rest));
  }
  return state.visibility.check();
}

std::shared_ptr<ScanBound> Scan::add_bound(size_t position, bool descending) {
  state_->bound = std::make_shared<ScanBound>(state_->projection.columns()[position], descending);
  return state_->bound;
}

void Scan::add_places(std::vector<uint16_t> columns) {
  state_->of_places.emplace(state_->inside.layout, std::move(columns));
}

Status Scan::read_place(uint64_t place, std::span<Value> values) {
  State& state = *state_;
  HAILSTONE_CHECK(state.of_places.has_value(), "a scan that adds no places was asked for one");
  const auto number = static_cast<uint32_t>(place);
  const size_t segment = place >> 32;
  if (segment == 0) {
    const auto& [version, row_id] = state.delta_places[number];
    state.of_places->decode(version->row(), row_id, values);
    return {};
  }
  if (state.place_segment != segment) {
    state.place_reader.emplace(state.view->segments[segment - 1]->columns);
    state.place_segment = segment;
  }
  state.place_batch.clear();
  return state.inside.noted(
      state.of_places->read_row(*state.place_reader, number, state.place_batch, values));
}

Result<ScanColumn> Scan::column(size_t position) const {
  return describe_column(state_->inside, state_->projection, position);
}

Status Scan::check_interruption() const { return state_->check_interruption(); }

Status Scan::check_interruption_seen() const {
  return state_->interruption_seen.load(std::memory_order_relaxed) ? state_->end_interrupted() : Status();
}

void Scan::run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const {
  hailstone::run_with_helpers(state_->inside.host, threads, work,
                              [&] { static_cast<void>(state_->interrupted()); });
}

MemoryBudget& Scan::budget() const { return state_->inside.host.budget(); }

SpillSpace& Scan::spill_space() const { return state_->inside.host.spill_space(); }

}  // namespace hailstone
