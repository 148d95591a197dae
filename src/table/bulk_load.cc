#include "table/bulk_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "base/guard.h"
#include "base/mutex.h"
#include "log/operation.h"
#include "table/delete_vector_file.h"
#include "table/load_check.h"
#include "table/row_reads.h"
#include "table/segment_builder.h"
#include "table/uniqueness.h"
#include "transaction/statement.h"

namespace hailstone {

namespace {

/// A load of less goes to the delta row by row: it does not deserve a file.
constexpr size_t small_load_bytes = size_t{1} << 20;
/// The first segments are small, so that encoding begins early; later ones grow with the load.
constexpr size_t first_segment_bytes = size_t{32} << 20;
constexpr size_t loaded_share = 4;  // a segment is about this part of what was loaded before it

/// A segment's rows have so much memory however short it is, and more as the budget gives it: each time so
/// many times as much.
constexpr size_t least_segment_bytes = size_t{512} << 10;
constexpr size_t growth = 4;
/// For so long a load waits for memory until it writes what it has.
constexpr std::chrono::milliseconds longest_wait_for_room{200};
constexpr std::chrono::milliseconds look_interval{20};
constexpr uint64_t rows_between_looks = 4096;

/// Segments that a transaction has loaded: shared with all at its commit, gone at its rollback.
class PublishAction : public TransactionAction {
 public:
  PublishAction(std::shared_ptr<Table> table, Table::State& state, LoadedSegments segments)
      HAILSTONE_REQUIRES(table_write_mutex)
      : table_(std::move(table)),
        state_(state),
        segments_(std::move(segments)),
        spare_view_(state.make_spare_view()) {}

  void commit(Timestamp timestamp) override {
    const ExclusiveLock guard(state_.latch());
    for (const auto& segment : segments_) segment->begin.store(timestamp, std::memory_order_release);
    state_.last_publish.store(timestamp, std::memory_order_relaxed);
    state_.generation.fetch_add(1, std::memory_order_release);
    // Segments may have become so many that they are to be merged.
    try_to([&] { state_.host.request_merge(table_); });
  }

  void undo() override {
    const MutexLock write_guard(state_.write_mutex());
    const ExclusiveLock guard(state_.latch());
    for (const auto& segment : segments_) segment->segment->remove_when_unused();
    state_.withdraw(segments_, std::move(spare_view_));
    state_.host.counters().segments.fetch_sub(segments_.size(), std::memory_order_relaxed);
  }

 private:
  const std::shared_ptr<Table> table_;
  Table::State& state_;
  const LoadedSegments segments_;
  std::shared_ptr<SpareView> spare_view_;
};

/// Puts segments into the table's view.
void add_segments(Table::State& state, const LoadedSegments& segments) HAILSTONE_REQUIRES(table_write_mutex) {
  const ExclusiveLock guard(state.latch());
  auto next = std::make_shared<TableView>(*state.current_view());
  state.set_view(std::move(next), {}, segments);
  count(state.host.counters().segments, segments.size());
}

}  // namespace

Status Table::restore_publish(Transaction& transaction, std::span<const LoadedFile> files) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  LoadedSegments segments;
  for (const LoadedFile& each : files) {
    HAILSTONE_ASSIGN(auto segment, open_new_segment(state, each.file, transaction.marker()));
    segments.push_back(std::move(segment));
  }
  if (state.keys->hidden_row_id()) {
    for (const auto& segment : segments)
      raise_to(state.next_row_id, row_id_of(segment->segment->last_key()) + 1);
  }
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  std::unique_ptr<PublishAction> publish;
  {
    const MutexLock guard(state.write_mutex());
    publish = std::make_unique<PublishAction>(shared_from_this(), state, segments);
    add_segments(state, segments);
  }
  transaction.add_action(std::move(publish));
  write.keep();
  return {};
}

struct BulkLoad::State {
  State(std::shared_ptr<Table> loaded, Transaction& loader, Duplicates duplicates)
      : table(std::move(loaded)), inside(*table->state_), transaction(loader) {
    if (duplicates == Duplicates::AreToldByRow) check = std::make_unique<LoadCheck>(inside, transaction);
    inside.host.bulk_loads().fetch_add(1, std::memory_order_relaxed);
  }
  ~State() { inside.host.bulk_loads().fetch_sub(1, std::memory_order_relaxed); }

  /// Rows that become one segment, encoded on a background thread. Kept when two of them have the same key.
  struct Set {
    std::unique_ptr<SegmentBuilder> builder;
    FileIdentity file;
    uint32_t rows = 0;
    size_t bytes = 0;        // that they take before they are encoded
    uint64_t row_bytes = 0;  // of the rows as they came
    std::optional<SegmentBuilder::DuplicateRows> duplicate;
    std::shared_ptr<const LoadKeys> keys;  // where duplicates are told by row
    std::atomic<bool> written{false};
  };

  /// What the background threads and the loading one share; outlives neither.
  struct Shared {
    Mutex mutex;
    Condition changed;
    size_t sets_in_flight HAILSTONE_GUARDED_BY(mutex) = 0;
    size_t bytes_in_flight HAILSTONE_GUARDED_BY(mutex) = 0;
    std::optional<Error> failure HAILSTONE_GUARDED_BY(mutex);  // the first
    /// Its rows are in a file: memory for the next ones.
    std::unique_ptr<SegmentBuilder> spare HAILSTONE_GUARDED_BY(mutex);
    std::atomic<bool> cancelled{false};
  };

  Status append_small();
  Status hand_off();
  uint64_t loaded_bytes() const;
  /// Of steps that lose rows when they fail.
  template <typename Work>
  Status noting_failure(Work&& work) noexcept {
    Status result = guarded(work);
    if (!result && !failure) {
      failure = no_memory();
      try_to([&] { failure = result.error(); });
    }
    return result;
  }
  /// Until sets of at most so many bytes, or none, are being encoded.
  Status wait_for_sets(size_t most_bytes);
  size_t most_buffer_bytes() const;
  Status look_around() const;
  Result<size_t> size_of(std::span<const Value> values);
  /// `row`: as SegmentBuilder::append() takes it.
  template <typename Row>
  Status append_to_builder(const Row& row, size_t row_bytes);
  std::unique_ptr<SegmentBuilder> next_builder();
  Result<bool> make_room(size_t wanted);
  Status put_in_place(Duplicate& duplicate);
  Status insert_small(Duplicate& duplicate);
  Status finish_segments(Duplicate& duplicate);
  Status admit_to_builder(std::span<const Value> values, size_t row_bytes, Duplicate& duplicate);
  std::unexpected<Error> refuse(LoadCheck::Conflict conflict, Duplicate& duplicate);
  /// Those of the sets that are written, or all of them, become rows of the table and of the transaction.
  Status join_table(bool all);
  Status open_segments(std::span<const std::shared_ptr<Set>> of, LoadedSegments& segments);
  /// Puts segments into the table's view, uncommitted; gives the places from before.
  std::shared_ptr<const TableView> add_to_view(const LoadedSegments& segments,
                                               std::span<const std::shared_ptr<Set>> of, bool& beside_loads);
  void append_publish(std::span<const std::shared_ptr<Set>> of, std::string& redo) const;
  void count_rows(std::span<const std::shared_ptr<Set>> of) const;
  void remove_files();

  const std::shared_ptr<Table> table;
  Table::State& inside;
  Transaction& transaction;
  std::string encoded;     // scratch space
  std::string small_rows;  // encoded rows, one behind the other
  std::vector<size_t> small_ends;
  std::unique_ptr<SegmentBuilder> builder;
  size_t builder_room = 0;  // bytes of rows that it may take
  uint64_t builder_row_bytes = 0;
  std::vector<std::shared_ptr<Set>> sets;  // that are not rows of the transaction yet
  std::unique_ptr<LoadCheck> check;        // null: duplicates are found at the end
  std::optional<LoadCheck::Conflict> in_the_way;
  size_t small_bytes = 0;  // of rows that went to the delta, as they were told by row
  const std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  uint64_t rows = 0;
  uint64_t looks_left = 0;  // rows to come before the load looks around
  size_t handed_off_bytes = 0;
  bool loading_segments = false;
  bool finished = false;
  std::optional<Error> failure;  // rows that were taken are lost: there is nothing to finish any more
};

BulkLoad::BulkLoad(std::shared_ptr<Table> table, Transaction& transaction, Duplicates duplicates)
    : state_(std::make_unique<State>(std::move(table), transaction, duplicates)) {}

BulkLoad::~BulkLoad() {
  State& state = *state_;
  if (state.finished) return;
  state.shared->cancelled.store(true, std::memory_order_relaxed);
  // Their errors do not matter any more. A file that stays is an orphan, which the next recovery removes.
  try_to([&] { static_cast<void>(state.wait_for_sets(0)); });
  try_to([&] { state.remove_files(); });
}

uint64_t BulkLoad::rows() const { return state_->rows; }

Status BulkLoad::append(std::span<const Value> values) {
  State& state = *state_;
  HAILSTONE_ASSIGN(const size_t row_bytes, state.size_of(values));
  if (!state.loading_segments) {
    HAILSTONE_TRY(state.inside.layout->row_codec().encode(values, state.encoded));
  }
  ++state.rows;
  return state.noting_failure([&] {
    return state.loading_segments ? state.append_to_builder(values, row_bytes) : state.append_small();
  });
}

Status BulkLoad::State::append_small() {
  small_rows.append(encoded);
  small_ends.push_back(small_rows.size());
  if (small_rows.size() < small_load_bytes) return {};
  loading_segments = true;
  size_t start = 0;
  for (const size_t end : small_ends) {
    const ByteView row = ByteView(small_rows).substr(start, end - start);
    HAILSTONE_TRY(append_to_builder(row, row.size()));
    start = end;
  }
  small_rows = {};
  small_ends = {};
  return {};
}

Status BulkLoad::append(std::span<const Value> values, Duplicate& duplicate) {
  State& state = *state_;
  state.in_the_way.reset();
  HAILSTONE_ASSIGN(const size_t row_bytes, state.size_of(values));
  HAILSTONE_TRY(state.inside.layout->row_codec().encode(values, state.encoded));
  if (state.loading_segments) {
    HAILSTONE_TRY(state.admit_to_builder(values, row_bytes, duplicate));
  } else {
    const auto inserted = state.table->insert(state.transaction, state.encoded, duplicate);
    if (!inserted) {
      if (inserted.error().code() == ErrorCode::DuplicateKey) {
        state.in_the_way = {.index = duplicate.index, .row = {}, .clustered_key = duplicate.clustered_key};
      }
      return std::unexpected(inserted.error());
    }
    state.small_bytes += row_bytes;
    state.loading_segments = state.small_bytes >= small_load_bytes;
  }
  ++state.rows;
  return {};
}

Status BulkLoad::State::admit_to_builder(std::span<const Value> values, size_t row_bytes,
                                         Duplicate& duplicate) {
  for (;;) {
    if (builder == nullptr) builder = next_builder();
    LoadCheck::Conflict conflict;
    HAILSTONE_ASSIGN(const LoadCheck::Verdict verdict, check->admit(encoded, *builder, conflict));
    if (verdict == LoadCheck::Verdict::Admitted) {
      return noting_failure([&] { return append_to_builder(values, row_bytes); });
    }
    if (verdict == LoadCheck::Verdict::Refused) return refuse(std::move(conflict), duplicate);
    const auto make_room = [&]() -> Status {
      if (sets.empty()) HAILSTONE_TRY(hand_off());
      return join_table(true);
    };
    HAILSTONE_TRY(noting_failure(make_room));
  }
}

std::unexpected<Error> BulkLoad::State::refuse(LoadCheck::Conflict conflict, Duplicate& duplicate) {
  duplicate.index = conflict.index;
  duplicate.clustered_key = conflict.clustered_key;
  duplicate.row = encoded;
  in_the_way = std::move(conflict);
  return refuse_duplicate(inside, duplicate.index);
}

bool BulkLoad::has_duplicate() const { return state_->in_the_way.has_value(); }

Result<bool> BulkLoad::find_duplicate(std::string& row) {
  State& state = *state_;
  const LoadCheck::Conflict& conflict = *state.in_the_way;
  if (conflict.row) {
    HAILSTONE_TRY(state.builder->row(*conflict.row, row));
    return true;
  }
  return state.table->find_row(state.transaction, conflict.clustered_key, ReadLock::Exclusive, row);
}

Status BulkLoad::remove_duplicate() {
  State& state = *state_;
  const LoadCheck::Conflict conflict = *std::exchange(state.in_the_way, std::nullopt);
  if (!conflict.row) return state.table->erase(state.transaction, conflict.clustered_key);
  return state.noting_failure([&]() -> Status {
    HAILSTONE_TRY(state.builder->row(*conflict.row, state.encoded));
    HAILSTONE_TRY(state.check->forget(state.encoded));
    state.builder->remove(*conflict.row);
    return {};
  });
}

/// Of a row that is to be appended; looks around now and then.
Result<size_t> BulkLoad::State::size_of(std::span<const Value> values) {
  if (failure) return std::unexpected(*failure);
  if (looks_left-- == 0) {
    looks_left = rows_between_looks;
    HAILSTONE_TRY(look_around());
  }
  const auto bytes = inside.layout->row_codec().row_bytes(values);
  if (bytes) return *bytes;
  return fail(bytes.error().code(),
              fmt::format("table {}: {}", table->definition().name, bytes.error().message()));
}

/// Whether there is a reason not to go on.
Status BulkLoad::State::look_around() const {
  HAILSTONE_TRY(inside.usable());
  if (!transaction.interrupted()) return {};
  return fail(ErrorCode::Interrupted,
              fmt::format("interrupted while loading table {}", table->definition().name));
}

template <typename Row>
Status BulkLoad::State::append_to_builder(const Row& row, size_t row_bytes) {
  if (builder == nullptr) builder = next_builder();
  const uint64_t row_id =
      inside.keys->hidden_row_id() ? inside.next_row_id.fetch_add(1, std::memory_order_relaxed) : 0;
  builder->append(row, row_id, 0);
  builder_row_bytes += row_bytes;
  // The sum over the columns is not taken for every row.
  constexpr uint32_t rows_between_sums = 64;
  const uint32_t held = builder->rows();
  const bool big_row = row_bytes > small_load_bytes;
  if (held < max_segment_rows && !big_row && held % rows_between_sums != 0) return {};
  const size_t bytes = builder->bytes();
  const size_t check_bytes = check != nullptr ? check->bytes() : 0;
  bool enough = held >= max_segment_rows;
  if (!enough && bytes + check_bytes >= builder_room) {
    // Those being encoded have their keys beside them.
    const size_t share = bytes + check_bytes + builder->key_bytes();
    const auto most = static_cast<size_t>(static_cast<double>(most_buffer_bytes()) *
                                          static_cast<double>(bytes) / static_cast<double>(share));
    const size_t wanted = std::min(most, std::max(first_segment_bytes, handed_off_bytes / loaded_share));
    const Status looked = noting_failure([&]() -> Status {
      HAILSTONE_ASSIGN(const bool more, make_room(wanted));
      enough = !more;
      return {};
    });
    HAILSTONE_TRY(looked);
  }
  return enough ? noting_failure([&] { return hand_off(); }) : Status{};
}

/// Makes room for more rows of the segment that is being filled, which shall take `wanted` bytes at last.
/// False: it has what it gets.
Result<bool> BulkLoad::State::make_room(size_t wanted) {
  const size_t bytes = builder->bytes();
  if (bytes >= wanted) return false;
  // From a part of the rows on it is known what the rest of them will take: room for all at once, instead of
  // growing beyond what is needed.
  const size_t next =
      builder->room_for(bytes >= wanted / 8 ? wanted : bytes * growth, std::min(wanted, bytes * 2));
  MemoryBudget& budget = inside.host.budget();
  const size_t missing = builder->missing_for(next);
  const auto end = std::chrono::steady_clock::now() + longest_wait_for_room;
  while (!budget.make_room(missing)) {
    // Those being encoded give theirs back soon.
    HAILSTONE_TRY(wait_for_sets(0));
    if (budget.make_room(missing)) break;
    HAILSTONE_TRY(look_around());
    if (std::chrono::steady_clock::now() >= end) return false;
    inside.host.request_room();
    budget.wait_for_release([&] { return budget.used() + missing <= budget.limit(); }, look_interval);
  }
  builder->reserve(next);
  builder_room = next;
  return true;
}

/// What the rows being filled in may take, and those being encoded together.
size_t BulkLoad::State::most_buffer_bytes() const {
  return inside.host.segment_buffer_bytes() / std::max<size_t>(1, inside.host.bulk_loads());
}

/// Of the sets that are in files.
uint64_t BulkLoad::State::loaded_bytes() const {
  uint64_t bytes = 0;
  for (const auto& set : sets) {
    if (!set->written.load(std::memory_order_acquire)) continue;
    bytes += inside.host.filesystem().file_size(inside.host.segment_path(set->file.file)).value_or(0);
  }
  return bytes;
}

std::unique_ptr<SegmentBuilder> BulkLoad::State::next_builder() {
  builder_room = least_segment_bytes;
  const MutexLock guard(shared->mutex);
  return shared->spare != nullptr ? std::move(shared->spare)
                                  : std::make_unique<SegmentBuilder>(inside, false);
}

Status BulkLoad::State::hand_off() {
  auto set = std::make_shared<Set>();
  set->rows = builder->rows_kept();
  set->bytes = builder->bytes();
  set->row_bytes = std::exchange(builder_row_bytes, 0);
  if (check != nullptr) set->keys = check->hand_off();
  const size_t most = most_buffer_bytes();
  HAILSTONE_TRY(wait_for_sets(most - std::min(most, set->bytes)));
  set->builder = std::move(builder);
  handed_off_bytes += set->bytes;
  set->file = inside.host.new_file(inside.id);
  if (inside.is_in_memory()) {
    HAILSTONE_TRY(inside.make_room_in_memory(*table, transaction, 0, loaded_bytes()));
  }
  sets.push_back(set);
  {
    const MutexLock guard(shared->mutex);
    ++shared->sets_in_flight;
    shared->bytes_in_flight += set->bytes;
  }
  const auto encode = [set, shared = shared] {
    const Status written = guarded([&]() -> Status {
      HAILSTONE_ASSIGN(auto summary, set->builder->write(set->file, true, [&] {
        return shared->cancelled.load(std::memory_order_relaxed);
      }));
      set->duplicate = summary.duplicate;
      if (!set->duplicate) set->builder->clear();
      return {};
    });
    const MutexLock guard(shared->mutex);
    if (written && !set->duplicate) shared->spare = std::move(set->builder);
    if (!written && !shared->failure) {
      shared->failure = no_memory();
      try_to([&]() HAILSTONE_REQUIRES(shared->mutex) { shared->failure = written.error(); });
    }
    set->written.store(written.has_value(), std::memory_order_release);
    --shared->sets_in_flight;
    shared->bytes_in_flight -= set->bytes;
    shared->changed.notify_all();
  };
  // Counted until it has run: a job that cannot be handed over runs here.
  bool handed_over = false;
  try_to([&] {
    inside.host.run(encode);
    handed_over = true;
  });
  if (!handed_over) encode();
  return check != nullptr ? join_table(false) : Status{};
}

Status BulkLoad::State::wait_for_sets(size_t most_bytes) {
  const MutexLock guard(shared->mutex);
  while (shared->sets_in_flight != 0 && (most_bytes == 0 || shared->bytes_in_flight > most_bytes)) {
    shared->changed.wait(shared->mutex);
  }
  if (shared->failure) return std::unexpected(*shared->failure);
  return {};
}

void BulkLoad::State::remove_files() {
  for (const auto& set : sets) {
    const std::string path = inside.host.segment_path(set->file.file);
    // A file that stays is an orphan, which the next recovery removes.
    if (inside.host.filesystem().exists(path)) static_cast<void>(inside.host.filesystem().remove(path));
  }
}

Status BulkLoad::finish(Duplicate& duplicate) {
  State& state = *state_;
  if (state.failure) return std::unexpected(*state.failure);
  HAILSTONE_TRY(state.noting_failure([&] { return state.put_in_place(duplicate); }));
  state.finished = true;
  return {};
}

Status BulkLoad::State::put_in_place(Duplicate& duplicate) {
  if (check == nullptr) return loading_segments ? finish_segments(duplicate) : insert_small(duplicate);
  if (builder != nullptr && builder->rows_kept() > 0) HAILSTONE_TRY(hand_off());
  HAILSTONE_TRY(join_table(true));
  check.reset();
  return {};
}

Status BulkLoad::State::insert_small(Duplicate& duplicate) {
  Write all(transaction);
  KeyReads reads(*table);
  size_t start = 0;
  for (const size_t end : small_ends) {
    const ByteView row = ByteView(small_rows).substr(start, end - start);
    start = end;
    HAILSTONE_TRY(table->insert(transaction, row, duplicate, &reads));
  }
  all.keep();
  return {};
}

Status BulkLoad::State::open_segments(std::span<const std::shared_ptr<Set>> of, LoadedSegments& segments) {
  for (const auto& set : of) {
    HAILSTONE_ASSIGN(auto segment, open_new_segment(inside, set->file.file, transaction.marker()));
    segments.push_back(std::move(segment));
  }
  if (inside.is_in_memory())
    HAILSTONE_TRY(inside.make_room_in_memory(*table, transaction, 0, loaded_bytes()));
  return inside.host.sync_files();
}

std::shared_ptr<const TableView> BulkLoad::State::add_to_view(const LoadedSegments& segments,
                                                              std::span<const std::shared_ptr<Set>> of,
                                                              bool& beside_loads) {
  std::unique_ptr<PublishAction> publish;
  std::shared_ptr<const TableView> before;
  {
    const MutexLock write_guard(inside.write_mutex());
    publish = std::make_unique<PublishAction>(table, inside, segments);
    before = inside.current_view();
    add_segments(inside, segments);
    // From now on writers meet the rows themselves.
    for (const auto& set : of) {
      if (check != nullptr) check->joined(set->keys);
    }
    beside_loads = !inside.pending_keys.empty();
  }
  transaction.add_action(std::move(publish));
  return before;
}

void BulkLoad::State::append_publish(std::span<const std::shared_ptr<Set>> of, std::string& redo) const {
  if (!inside.is_durable()) return;
  Operation publish{.kind = OperationKind::Publish, .table = inside.id};
  for (const auto& set : of) publish.files.push_back({.file = set->file.file, .rows = set->rows});
  append_operation(redo, publish);
}

void BulkLoad::State::count_rows(std::span<const std::shared_ptr<Set>> of) const {
  for (const auto& set : of) {
    count(inside.host.counters().rows_bulk_loaded, set->rows);
    count(inside.host.counters().row_bytes_written, set->row_bytes);
  }
}

Status BulkLoad::State::join_table(bool all) {
  if (all) HAILSTONE_TRY(wait_for_sets(0));
  const auto rest = std::stable_partition(sets.begin(), sets.end(), [](const auto& set) {
    return !set->written.load(std::memory_order_acquire);
  });
  const std::vector<std::shared_ptr<Set>> joining(rest, sets.end());
  if (joining.empty()) return {};
  for (const auto& set : joining) {
    // Each row was let in after a look at all the others.
    if (set->duplicate) return refuse_duplicate(inside, set->duplicate->index);
  }
  LoadedSegments segments;
  HAILSTONE_TRY(open_segments(joining, segments));
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  append_publish(joining, write.redo());
  bool beside_loads = false;
  static_cast<void>(add_to_view(segments, joining, beside_loads));
  sets.erase(rest, sets.end());
  HAILSTONE_TRY(wait_for_range_readers(inside, transaction));
  write.keep();
  count_rows(joining);
  return {};
}

Status BulkLoad::State::finish_segments(Duplicate& duplicate) {
  if (builder != nullptr && builder->rows() > 0) HAILSTONE_TRY(hand_off());
  HAILSTONE_TRY(wait_for_sets(0));
  for (const auto& set : sets) {
    if (!set->duplicate) continue;
    duplicate.index = set->duplicate->index;
    duplicate.clustered_key.clear();
    HAILSTONE_TRY(set->builder->row(set->duplicate->row, duplicate.row));
    return refuse_duplicate(inside, duplicate.index);
  }
  LoadedSegments segments;
  HAILSTONE_TRY(open_segments(sets, segments));
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  append_publish(sets, write.redo());
  bool beside_loads = false;
  auto places = add_to_view(segments, sets, beside_loads);
  HAILSTONE_TRY(wait_for_range_readers(inside, transaction));
  if (beside_loads) {
    HAILSTONE_ASSIGN(places, wait_for_loads(inside, transaction, segments));
  }
  HAILSTONE_TRY(check_loaded(inside, transaction, segments, std::move(places), duplicate));
  write.keep();
  count_rows(sets);
  return {};
}

}  // namespace hailstone
