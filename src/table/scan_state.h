// What a Scan has and does, for the two ways to go through its rows: one batch after the other (scan.cc), and
// all at once, by several threads (scans.cc).
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "column/row_window.h"
#include "table/block_scan.h"
#include "table/delta_scan.h"
#include "table/scan.h"
#include "table/table_state.h"
#include "table/visibility.h"

namespace hailstone {

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
    HAILSTONE_CHECK(lock == ReadLock::None || std::ranges::none_of(projection.columns(), is_scaled),
                    "a scan of {} columns that locks has scaled ones", projection.columns().size());
    if (predicate == nullptr) predicate = std::make_shared<Predicate>(Predicate::always());
    always = predicate->kind() == Predicate::Kind::Always;
  }

  /// Before the first row of a pass: one more that rows must fulfil.
  void add_condition(Predicate condition) {
    HAILSTONE_CHECK(is_plain(), "a scan that locks, or reads what is uncommitted, was given a condition");
    predicate = std::make_shared<Predicate>(Predicate::all_of({*predicate, std::move(condition)}));
    always = predicate->kind() == Predicate::Kind::Always;
  }

  /// The first call, not the constructor: a snapshot is taken when reading begins.
  Status start() {
    if (view != nullptr) return {};
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
      // A thread that inserts a row holds the write mutex: it did so before the view was taken, or it waits.
      const MutexLock writers(inside.write_mutex());
      HAILSTONE_TRY(
          inside.host.locks().lock_range(transaction, inside.id, LockManager::clustered_order, {}, {}));
    }
    candidates = visibility;
    // Each row that was not ended for good then may be there.
    if (dirty) candidates.candidates = true;
    view = inside.current_view();
    go_to_first_row();
    return {};
  }

  /// Before each pass over all rows.
  void go_to_first_row() {
    blocks.emplace(inside, view, predicate, candidates);
    blocks->count_in(counts);
    worker.emplace(*blocks, [this] { return interrupted(); });
    if (numbers_rows) worker->count_met();
    next_number = 0;
    selected.clear();
    selected_next = 0;
    deltas.emplace(view, candidates);
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
    UnclearedVector<uint16_t> scratch;
    for (const uint16_t row : changed.rows(scratch)) {
      auto& [changed_key, is_seen] = changed_keys.emplace_back();
      HAILSTONE_TRY(keys_here().clustered_key(block * block_rows + row, changed_key));
      is_seen = seen.test(row);
    }
    return {};
  }

  /// Reads without locks, by the snapshot alone.
  bool is_plain() const { return lock == ReadLock::None && !dirty; }

  bool interrupted() const {
    if (!transaction.interrupted()) return false;
    interruption_seen.store(true, std::memory_order_relaxed);
    return true;
  }
  Status end_interrupted() const {
    return fail(ErrorCode::Interrupted, "interrupted while scanning table " + inside.definition().name);
  }
  Status check_interruption() const { return interrupted() ? end_interrupted() : Status(); }

  /// Leaves the next versions of the deltas that match in `rows`. False: none is left. By any thread, each
  /// with rows of its own; `go_on` is asked on the way.
  Result<bool> next_delta_rows(size_t most, DeltaRows& rows, const std::function<Status()>& go_on) {
    while (deltas->next(most, rows)) {
      HAILSTONE_TRY(go_on());
      if (counts != nullptr) counts->add_rows(rows.entries.size(), 0);
      count(inside.host.counters().rows_scanned, rows.entries.size());
      rows.matching.resize(rows.entries.size());
      std::iota(rows.matching.begin(), rows.matching.end(), uint16_t{0});
      if (!always && !dirty) {
        rows.encoded.clear();
        for (const DeltaReader::Entry& entry : rows.entries) rows.encoded.push_back(entry.version->row());
        predicate->select(inside.layout->row_codec(), rows.encoded, rows.matching);
      }
      if (numbers_rows) number_delta_rows(rows);
      for (size_t i = 0; i < rows.matching.size(); ++i) rows.entries[i] = rows.entries[rows.matching[i]];
      rows.entries.resize(rows.matching.size());
      if (!rows.entries.empty()) return true;
    }
    return false;
  }
  /// The same for the scan's own thread.
  Result<bool> next_delta_rows(size_t most) {
    return next_delta_rows(most, delta_rows, [this] { return check_interruption(); });
  }
  void number_delta_rows(const DeltaRows& rows) {
    delta_numbers.clear();
    for (const uint16_t row : rows.matching)
      delta_numbers.push_back(worker->met_in_all() + met_in_deltas + row + 1);
    met_in_deltas += rows.entries.size();
  }
  void read_delta_rows(DeltaRows& rows, Batch& to) const {
    rows.encoded.clear();
    rows.row_ids.clear();
    for (const DeltaReader::Entry& entry : rows.entries) {
      rows.encoded.push_back(entry.version->row());
      rows.row_ids.push_back(row_id_of(entry.key));
    }
    projection.read(rows.encoded, rows.row_ids, to);
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

  OperatorCounts* counts = nullptr;  // of count_in()
  std::optional<BlockScan> blocks;
  std::optional<BlockScan::Worker> worker;
  uint64_t next_number = 0;            // of the block to look at next
  BlockBitmap taken;                   // rows of the block where the worker stands
  UnclearedVector<uint16_t> selected;  // rows of the block where the worker stands
  size_t selected_next = 0;
  std::optional<SegmentKeys> block_keys;  // of `keys_of`
  const TableSegment* keys_of = nullptr;

  std::optional<DeltaScan> deltas;
  DeltaRows delta_rows;
  size_t delta_rows_next = 0;

  // With number_rows().
  mutable std::atomic<bool> interruption_seen{false};
  bool numbers_rows = false;
  std::vector<uint32_t> met_before_selected;  // in the block
  uint64_t met_in_deltas = 0;
  std::vector<uint64_t> delta_numbers;  // of delta_rows
  uint64_t candidate_number = 0;
  std::vector<uint64_t> locked_numbers;  // of the batch's rows

  Batch batch;
  size_t batch_first = 0;  // position in `selected` of the batch's first row
  enum class BatchOf : uint8_t { Segment, Delta, Locked } batch_of = BatchOf::Segment;
  std::string key;

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

}  // namespace hailstone
