#include "table/scans.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/mutex.h"
#include "base/processor_turns.h"
#include "table/aggregate.h"
#include "table/helpers.h"
#include "table/scan_state.h"

namespace hailstone {

/// A place is the number of a segment and the ordinal there. Each scan has a number for each of its segments,
/// and before these one for what its deltas hold; numbers go on through all scans.
struct Scans::State {
  struct One {
    explicit One(std::unique_ptr<Scan> one) : scan(std::move(one)) {}
    Scan::State& state() const { return *scan->state_; }

    std::unique_ptr<Scan> scan;
    uint64_t first_segment = 0;  // its first number
    std::optional<Projection> of_places;
    std::vector<std::pair<const Version*, uint64_t>> delta_places;  // versions, and their row ids
  };

  Scan::State& first() const { return scans.front().state(); }
  Status begin_pass();
  std::vector<BlockScan*> all_blocks() const;
  /// How many threads are worth waking for all rows, at most `wanted`.
  /// Of the deltas.
  uint64_t versions() const;
  unsigned threads(unsigned wanted) const;
  /// All rows, by so many threads: block by block, then those of the deltas, batch by batch.
  Status take_rows(unsigned threads, const TakeBlock& take_block, const TakeBatch& take_delta_rows);
  Status take_deltas(One& one, unsigned part, const std::function<Status()>& go_on, const TakeBatch& take);
  void add_places(One& one, const DeltaRows& rows, Batch& batch) HAILSTONE_EXCLUDES(places_mutex);
  Status aggregate_rows(const std::vector<AggregatePlan>& plans, unsigned threads, AggregateSums& sums);
  std::shared_ptr<MemoryBudget> budget;  // null: the database's
  struct Sample;
  uint64_t rows_in_segments() const;
  Result<double> sample_segments();
  Status sample_blocks(std::span<const uint64_t> numbers, Sample& sample);
  Status sample_blocks_at(std::span<const uint64_t> places, std::span<const uint64_t> numbers,
                          Sample& sample);
  static bool agree(const Sample& one, const Sample& other);
  void sample_deltas(One& one, Sample& sample);

  std::vector<One> scans;
  std::shared_ptr<ScanBound> bound;  // may be null
  std::optional<size_t> next_scan;   // where next() is
  std::atomic<uint64_t> delta_batches{0};
  Mutex places_mutex;  // guards the delta_places of all scans while threads add to them
  // For read_place().
  std::optional<BlockReader> reader;
  uint64_t reader_segment = 0;  // where the reader is, as in a place
  Batch place_batch;
};

Scans::Scans(std::vector<std::unique_ptr<Scan>> scans) : state_(std::make_unique<State>()) {
  HAILSTONE_CHECK(!scans.empty(), "{} scans are to be gone through", scans.size());
  state_->scans.reserve(scans.size());
  for (std::unique_ptr<Scan>& scan : scans) state_->scans.emplace_back(std::move(scan));
}

Scans::Scans(std::unique_ptr<Scan> scan) : state_(std::make_unique<State>()) {
  state_->scans.emplace_back(std::move(scan));
}

Scans::Scans(Scans&&) noexcept = default;
Scans::~Scans() = default;

/// All tables' views are there before the first row.
Status Scans::State::begin_pass() {
  uint64_t segments = 0;
  for (One& one : scans) {
    Scan::State& state = one.state();
    HAILSTONE_TRY(state.inside.usable());
    if (state.view == nullptr) {
      HAILSTONE_TRY(state.start());
    } else {
      state.go_to_first_row();
    }
    if (bound != nullptr) state.blocks->set_bound(bound);
    one.first_segment = segments;
    one.delta_places.clear();
    segments += state.view->segments.size() + 1;
  }
  reader.reset();
  return {};
}

Status Scans::begin() { return state_->begin_pass(); }

std::vector<BlockScan*> Scans::State::all_blocks() const {
  std::vector<BlockScan*> all;
  all.reserve(scans.size());
  for (const One& one : scans) all.push_back(&*one.state().blocks);
  return all;
}

Result<std::vector<AggregateResult>> Scans::aggregate(std::span<const Aggregate> wanted, unsigned threads) {
  HAILSTONE_TRY(state_->begin_pass());
  std::vector<AggregatePlan> plans;
  for (const State::One& one : state_->scans) {
    HAILSTONE_ASSIGN(AggregatePlan plan,
                     AggregatePlan::make(one.state().inside, one.state().projection, wanted));
    plans.push_back(std::move(plan));
  }
  AggregateSums sums(plans.front());
  if (state_->first().is_plain()) {
    HAILSTONE_TRY(state_->aggregate_rows(plans, threads, sums));
    return sums.results();
  }
  for (const State::One& one : state_->scans) {
    Scan::State& state = one.state();
    for (;;) {
      HAILSTONE_ASSIGN(
          const Batch* const batch,
          state.inside.noted(state.lock == ReadLock::None ? state.next_plain() : state.next_locking()));
      if (batch == nullptr) break;
      count(state.inside.host.counters().rows_returned, batch->rows);
      sums.add(*batch);
    }
    HAILSTONE_TRY(state.visibility.check());
  }
  return sums.results();
}

Status Scans::State::aggregate_rows(const std::vector<AggregatePlan>& plans, unsigned wanted,
                                    AggregateSums& sums) {
  struct Part {
    explicit Part(const AggregatePlan& plan) : before(plan) {}
    AggregateSums before;                  // of the scans whose blocks the thread has left, and of deltas
    std::optional<AggregateSums> of_scan;  // where it is
    size_t scan = 0;
    void leave_scan() {
      if (of_scan) before.add(*of_scan);
      of_scan.reset();
    }
  };
  const unsigned used = threads(wanted);
  std::deque<Part> parts;
  for (unsigned i = 0; i < used; ++i) parts.emplace_back(plans.front());
  const auto take = [&](unsigned number, size_t scan, BlockScan::Worker& worker) -> Status {
    Part& part = parts[number];
    if (part.scan != scan) part.leave_scan();
    if (!part.of_scan) part.of_scan.emplace(plans[scan]);
    part.scan = scan;
    const OperatorWork adding(first().counts);
    return part.of_scan->add(worker);
  };
  const auto take_delta_rows = [&](unsigned number, const Batch& batch) -> Status {
    parts[number].before.add(batch);
    return {};
  };
  HAILSTONE_TRY(take_rows(used, take, take_delta_rows));
  for (Part& part : parts) {
    part.leave_scan();
    sums.add(part.before);
  }
  return {};
}

uint64_t Scans::State::versions() const {
  uint64_t versions = 0;
  for (const One& one : scans) versions += one.state().deltas->versions();
  return versions;
}

unsigned Scans::State::threads(unsigned wanted) const {
  return worthwhile_threads(all_blocks(), versions(), wanted);
}

Status Scans::State::take_rows(unsigned threads, const TakeBlock& take_block,
                               const TakeBatch& take_delta_rows) {
  for (const One& one : scans) one.state().next_number = one.state().blocks->blocks();
  const auto take_all_deltas = [&](unsigned part, const std::function<Status()>& go_on) -> Status {
    for (One& one : scans) HAILSTONE_TRY(take_deltas(one, part, go_on, take_delta_rows));
    return {};
  };
  HAILSTONE_TRY(for_each_block(
      first().inside.host, all_blocks(), versions(), threads, [this] { return first().interrupted(); },
      take_block, take_all_deltas));
  for (const One& one : scans) HAILSTONE_TRY(one.state().visibility.check());
  return {};
}

Status Scans::each_batch(unsigned threads, const TakeBatch& take) {
  HAILSTONE_CHECK(state_->first().is_plain(),
                  "a scan that locks, or reads what is uncommitted, was asked for its rows by threads");
  HAILSTONE_TRY(state_->begin_pass());
  struct Part {
    UnclearedVector<uint16_t> rows;
    Batch batch;
  };
  std::deque<Part> parts(state_->threads(threads));
  Counters& counters = state_->first().inside.host.counters();
  const auto take_block = [&](unsigned number, size_t scan, BlockScan::Worker& worker) -> Status {
    Part& part = parts[number];
    const std::span<const uint16_t> all_rows = worker.rows().rows(part.rows);
    count(counters.rows_returned, all_rows.size());
    const State::One& one = state_->scans[scan];
    const Projection& projection = one.state().projection;
    for (size_t first = 0; first < all_rows.size(); first += batch_rows) {
      const size_t rows = std::min<size_t>(batch_rows, all_rows.size() - first);
      {
        const OperatorWork reading(one.state().counts);
        HAILSTONE_TRY(
            projection.read(worker.reader(), worker.block(), all_rows.subspan(first, rows), part.batch));
        reading.add_rows(0, rows);
      }
      const uint64_t segment = one.first_segment + 1 + worker.segment_number();
      const uint64_t block = segment << 32 | uint64_t{worker.block()} * block_rows;
      part.batch.order = block + all_rows[first];
      if (one.of_places) {
        UnclearedVector<uint64_t>& places = part.batch.places.integers;
        places.resize(rows);
        for (size_t row = 0; row < rows; ++row) places[row] = block + all_rows[first + row];
      }
      HAILSTONE_TRY(take(number, part.batch));
    }
    return {};
  };
  const auto take_delta_rows = [&](unsigned number, const Batch& batch) -> Status {
    if (OperatorCounts* const counts = state_->first().counts; counts != nullptr)
      counts->add_rows(0, batch.rows);
    return take(number, batch);
  };
  return state_->take_rows(static_cast<unsigned>(parts.size()), take_block, take_delta_rows);
}

/// Of all rows, some, and how many of these match.
struct Scans::State::Sample {
  uint64_t rows = 0, looked_at = 0, matching = 0;
  double expected() const {
    return looked_at == 0
               ? 0
               : static_cast<double>(rows) * static_cast<double>(matching) / static_cast<double>(looked_at);
  }
};

Result<double> Scans::sample() {
  HAILSTONE_TRY(state_->begin_pass());
  State::Sample deltas;
  HAILSTONE_ASSIGN(const double share, state_->sample_segments());
  for (State::One& one : state_->scans) state_->sample_deltas(one, deltas);
  const uint64_t in_segments = state_->rows_in_segments(), rows = in_segments + deltas.rows;
  return rows == 0
             ? 1
             : (share * static_cast<double>(in_segments) + deltas.expected()) / static_cast<double>(rows);
}

uint64_t Scans::State::rows_in_segments() const {
  uint64_t rows = 0;
  for (const One& one : scans) {
    for (const auto& segment : one.state().view->segments) rows += segment->rows();
  }
  return rows;
}

/// The share of the segments' rows that match. What a block's summaries decide is known, and of the others
/// some are read.
Result<double> Scans::State::sample_segments() {
  // Of more blocks, some that lie as far apart. A segment's summaries cost something before the first.
  constexpr uint64_t most_asked = 1024, most_segments = 64;
  const std::vector<BlockScan*> all = all_blocks();
  uint64_t blocks = 0, segments = 0;
  for (const BlockScan* scan : all) {
    blocks += scan->blocks();
    segments += scan->segments();
  }
  const uint64_t asked = std::min(blocks, segments > most_segments ? most_segments : most_asked);
  uint64_t rows = 0, known = 0, before = 0;
  Sample open;
  std::vector<uint64_t> numbers;  // of the blocks that are left open
  auto scan = all.begin();
  for (uint64_t i = 0; i < asked; ++i) {
    const uint64_t number = blocks * (2 * i + 1) / (2 * asked);
    while (number >= before + (*scan)->blocks()) before += (*scan++)->blocks();
    HAILSTONE_ASSIGN(const BlockScan::Summary summary, (*scan)->summary_of(number - before));
    rows += summary.rows;
    if (summary.outcome == BlockOutcome::All) known += summary.rows;
    if (summary.outcome != BlockOutcome::Some) continue;
    open.rows += summary.rows;
    numbers.push_back(number);
  }
  if (rows == 0) return 0;
  HAILSTONE_TRY(sample_blocks(numbers, open));
  return (static_cast<double>(known) + open.expected()) / static_cast<double>(rows);
}

Status Scans::State::sample_blocks(std::span<const uint64_t> numbers, Sample& sample) {
  // Two blocks that lie far apart, and the others only where these leave it open.
  constexpr std::array<uint64_t, 1> first{2}, second{5};
  constexpr std::array<uint64_t, 6> others{0, 1, 3, 4, 6, 7};
  Sample one, other;
  HAILSTONE_TRY(sample_blocks_at(first, numbers, one));
  HAILSTONE_TRY(sample_blocks_at(second, numbers, other));
  if (!agree(one, other)) HAILSTONE_TRY(sample_blocks_at(others, numbers, sample));
  for (const Sample& part : {one, other}) {
    sample.looked_at += part.looked_at;
    sample.matching += part.matching;
  }
  return {};
}

/// Whether both have rows that match and others, and as many of them as rows in no order would have.
bool Scans::State::agree(const Sample& one, const Sample& other) {
  const auto is_mixed = [](const Sample& sample) {
    return sample.matching != 0 && sample.matching != sample.looked_at;
  };
  if (!is_mixed(one) || !is_mixed(other)) return false;
  // Three times the deviation of numbers that have Poisson's distribution.
  constexpr double deviations = 3;
  const auto first = static_cast<double>(one.matching), second = static_cast<double>(other.matching);
  const double shares = static_cast<double>(one.looked_at) / static_cast<double>(other.looked_at);
  const double difference = first - second * shares;
  return difference * difference <= deviations * deviations * (first + second * shares * shares);
}

/// Of 8 places among these blocks of all scans, those.
Status Scans::State::sample_blocks_at(std::span<const uint64_t> places, std::span<const uint64_t> numbers,
                                      Sample& sample) {
  constexpr uint64_t most_places = 8;
  const std::vector<BlockScan*> all = all_blocks();
  const uint64_t looked_at = std::min<uint64_t>(numbers.size(), most_places);
  uint64_t before = 0;
  auto place = places.begin();
  for (BlockScan* const scan : all) {
    std::optional<BlockScan::Worker> worker;
    for (; place != places.end() && *place < looked_at; ++place) {
      const uint64_t number = numbers[numbers.size() * (2 * *place + 1) / (2 * looked_at)];
      if (number >= before + scan->blocks()) break;
      if (!worker) worker.emplace(*scan).count_met();
      uint64_t at = number - before;
      HAILSTONE_ASSIGN(const bool found, worker->next(at, at + 1));
      if (found) sample.matching += worker->rows().count();
    }
    if (worker) sample.looked_at += worker->met_in_all();
    before += scan->blocks();
  }
  return {};
}

void Scans::State::sample_deltas(One& one, Sample& sample) {
  constexpr size_t rows_looked_at = 4096;
  Scan::State& state = one.state();
  sample.rows += state.deltas->versions();
  DeltaRows rows;
  for (size_t met = 0; met < rows_looked_at && state.deltas->next(batch_rows, rows);) {
    met += rows.entries.size();
    rows.encoded.clear();
    for (const DeltaReader::Entry& entry : rows.entries) rows.encoded.push_back(entry.version->row());
    rows.matching.resize(rows.entries.size());
    std::iota(rows.matching.begin(), rows.matching.end(), uint16_t{0});
    if (!state.always) state.predicate->select(state.inside.layout->row_codec(), rows.encoded, rows.matching);
    sample.looked_at += rows.entries.size();
    sample.matching += rows.matching.size();
  }
}

Result<const Batch*> Scans::next() {
  State& state = *state_;
  if (!state.next_scan) {
    HAILSTONE_CHECK(state.first().is_plain(), "a scan that locks, or reads what is uncommitted, is one of {}",
                    state.scans.size());
    HAILSTONE_TRY(state.begin_pass());
    state.next_scan = 0;
  }
  for (; *state.next_scan < state.scans.size(); ++*state.next_scan) {
    Scan::State& scan = state.scans[*state.next_scan].state();
    HAILSTONE_ASSIGN(const Batch* const batch, scan.inside.noted(scan.next_plain()));
    HAILSTONE_TRY(scan.visibility.check());
    if (batch == nullptr) continue;
    count(scan.inside.host.counters().rows_returned, batch->rows);
    if (scan.counts != nullptr) {
      scan.counts->add_part(0);
      scan.counts->add_rows(0, batch->rows);
    }
    return batch;
  }
  return nullptr;
}

Status Scans::State::take_deltas(One& one, unsigned part, const std::function<Status()>& go_on,
                                 const TakeBatch& take) {
  Scan::State& state = one.state();
  DeltaRows rows;
  Batch batch;
  for (;;) {
    {
      const OperatorWork reading(state.counts, part);
      HAILSTONE_ASSIGN(const bool found, state.next_delta_rows(batch_rows, rows, go_on));
      if (!found) return {};
      state.read_delta_rows(rows, batch);
    }
    count(state.inside.host.counters().rows_returned, batch.rows);
    // Behind all that segments have.
    batch.order = delta_batches.fetch_add(1, std::memory_order_relaxed) | uint64_t{1} << 63;
    if (one.of_places) add_places(one, rows, batch);
    HAILSTONE_TRY(take(part, batch));
  }
}

void Scans::State::add_places(One& one, const DeltaRows& rows, Batch& batch) {
  UnclearedVector<uint64_t>& places = batch.places.integers;
  places.clear();
  const MutexLock guard(places_mutex);
  for (const DeltaReader::Entry& entry : rows.entries) {
    places.push_back(one.first_segment << 32 | one.delta_places.size());
    one.delta_places.emplace_back(entry.version, row_id_of(entry.key));
  }
}

void Scans::count_in(OperatorCounts& counts) {
  for (const State::One& one : state_->scans) one.state().counts = &counts;
}

std::shared_ptr<ScanBound> Scans::add_bound(size_t position, bool descending) {
  uint16_t column = state_->first().projection.columns()[position];
  std::optional<DecimalFormat> decimal;
  if (is_scaled(column)) {
    column ^= scaled_bit;
    decimal = state_->first().inside.layout->decimal(column);
  }
  state_->bound = std::make_shared<ScanBound>(column, descending, decimal);
  return state_->bound;
}

void Scans::add_filter(size_t position, const RuntimeFilter& filter) {
  const uint16_t column = state_->first().projection.columns()[position];
  const TableLayout& layout = *state_->first().inside.layout;
  // Scaled numbers are not what is stored everywhere; rows of the row group are as quickly looked up by the
  // consumer, and row ids are nobody's values.
  if (is_scaled(column) || column == StoredColumn::row_id || layout.group_position(column) >= 0) return;
  for (State::One& one : state_->scans) one.state().add_condition(filter.predicate(column));
}

void Scans::add_places(const std::vector<uint16_t>& columns) {
  for (State::One& one : state_->scans) one.of_places.emplace(one.state().inside.layout, columns);
}

Status Scans::read_place(uint64_t place, std::span<Value> values) {
  const uint64_t segment = place >> 32;
  const auto number = static_cast<uint32_t>(place);
  const auto behind = std::ranges::upper_bound(state_->scans, segment, {}, &State::One::first_segment);
  const State::One& one = *std::prev(behind);
  HAILSTONE_CHECK(one.of_places.has_value(), "state_->scans that add no places were asked for one");
  Scan::State& state = one.state();
  if (segment == one.first_segment) {
    const auto& [version, row_id] = one.delta_places[number];
    one.of_places->decode(version->row(), row_id, values);
    return {};
  }
  if (!state_->reader || state_->reader_segment != segment) {
    state_->reader.emplace(state.view->segments[segment - one.first_segment - 1]->columns);
    state_->reader_segment = segment;
  }
  state_->place_batch.clear();
  return state.inside.noted(one.of_places->read_row(*state_->reader, number, state_->place_batch, values));
}

size_t Scans::columns() const { return state_->first().projection.columns().size(); }

Result<ScanColumn> Scans::column(size_t position) const {
  return describe_column(state_->first().inside, state_->first().projection, position);
}

Status Scans::check_interruption() const {
  ProcessorTurns::check();
  answer_helpers();
  return state_->first().check_interruption();
}

Status Scans::check_interruption_seen() const {
  ProcessorTurns::check();
  return state_->first().interruption_seen.load(std::memory_order_relaxed) ? state_->first().end_interrupted()
                                                                           : Status();
}

void Scans::run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const {
  hailstone::run_with_helpers(state_->first().inside.host, threads, work,
                              [&] { static_cast<void>(state_->first().interrupted()); });
}

void Scans::take_memory_from(std::shared_ptr<MemoryBudget> budget) { state_->budget = std::move(budget); }

MemoryBudget& Scans::budget() const {
  return state_->budget != nullptr ? *state_->budget : state_->first().inside.host.budget();
}

SpillSpace& Scans::spill_space() const { return state_->first().inside.host.spill_space(); }

}  // namespace hailstone
