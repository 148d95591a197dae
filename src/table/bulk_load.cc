#include "table/bulk_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>

#include "table/delete_vector_file.h"
#include "table/operation.h"
#include "table/segment_builder.h"
#include "table/uniqueness.h"

namespace hailstone {

namespace {

/// A load of less goes to the delta row by row: it does not deserve a file.
constexpr size_t small_load_bytes = size_t{1} << 20;
/// The first segments are small, so that encoding begins early; later ones grow with the load.
constexpr size_t first_segment_bytes = size_t{32} << 20;
constexpr size_t loaded_share = 4;  // a segment is about this part of what was loaded before it
constexpr uint64_t rows_between_looks = 4096;

/// Segments that a transaction has loaded: shared with all at its commit, gone at its rollback.
class PublishAction : public TransactionAction {
 public:
  PublishAction(std::shared_ptr<Table> table, Table::State& state, LoadedSegments segments)
      : table_(std::move(table)), state_(state), segments_(std::move(segments)) {}

  void commit(Timestamp timestamp) override {
    const std::unique_lock guard(*state_.latch);
    for (const auto& segment : segments_) segment->begin.store(timestamp, std::memory_order_release);
    state_.last_publish.store(timestamp, std::memory_order_relaxed);
    state_.generation.fetch_add(1, std::memory_order_release);
  }

  void undo() override {
    const std::lock_guard write_guard(state_.write_mutex);
    const std::unique_lock guard(*state_.latch);
    auto next = std::make_shared<TableView>(*state_.current_view());
    for (const auto& segment : segments_) {
      std::erase(next->segments, segment);
      segment->segment->remove_when_unused();
    }
    state_.host.counters().segments.fetch_sub(segments_.size(), std::memory_order_relaxed);
    state_.set_view(std::move(next));
  }

 private:
  const std::shared_ptr<Table> table_;
  Table::State& state_;
  const LoadedSegments segments_;
};

}  // namespace

struct BulkLoad::State {
  State(std::shared_ptr<Table> loaded, Transaction& loader)
      : table(std::move(loaded)), inside(*table->state_), transaction(loader) {
    inside.host.bulk_loads().fetch_add(1, std::memory_order_relaxed);
  }
  ~State() { inside.host.bulk_loads().fetch_sub(1, std::memory_order_relaxed); }

  /// Rows that become one segment, encoded on a background thread. Kept when two of them have the same key.
  struct Set {
    std::unique_ptr<SegmentBuilder> builder;
    uint64_t file = 0;
    uint32_t rows = 0;
    size_t bytes = 0;
    std::optional<SegmentBuilder::DuplicateRows> duplicate;
  };

  /// What the background threads and the loading one share; outlives neither.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    size_t sets_in_flight = 0;   // protected by mutex
    size_t bytes_in_flight = 0;  // protected by mutex
    /// The first; protected by mutex.
    std::optional<Error> failure;
    /// Its rows are in a file: memory for the next ones. Protected by mutex.
    std::unique_ptr<SegmentBuilder> spare;
    std::atomic<bool> cancelled{false};
  };

  Status hand_off();
  /// Until sets of at most so many bytes, or none, are being encoded.
  Status wait_for_sets(size_t most_bytes);
  size_t most_buffer_bytes() const;
  Status look_around() const;
  /// `row`: as SegmentBuilder::append() takes it.
  template <typename Row>
  Status append_to_builder(const Row& row, size_t row_bytes);
  std::unique_ptr<SegmentBuilder> next_builder();
  Status insert_small(Duplicate& duplicate);
  Status finish_segments(Duplicate& duplicate);
  Status open_segments(LoadedSegments& segments);
  void remove_files();

  const std::shared_ptr<Table> table;
  Table::State& inside;
  Transaction& transaction;
  std::string encoded;     // scratch space
  std::string small_rows;  // encoded rows, one behind the other
  std::vector<size_t> small_ends;
  std::unique_ptr<SegmentBuilder> builder;
  bool builder_has_room = false;
  std::vector<std::shared_ptr<Set>> sets;
  const std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  uint64_t rows = 0;
  size_t handed_off_bytes = 0;
  bool loading_segments = false;
  bool finished = false;
};

BulkLoad::BulkLoad(std::shared_ptr<Table> table, Transaction& transaction)
    : state_(std::make_unique<State>(std::move(table), transaction)) {}

BulkLoad::~BulkLoad() {
  State& state = *state_;
  if (state.finished) return;
  state.shared->cancelled.store(true, std::memory_order_relaxed);
  // Their errors do not matter any more.
  static_cast<void>(state.wait_for_sets(0));
  state.remove_files();
}

uint64_t BulkLoad::rows() const { return state_->rows; }

Status BulkLoad::append(std::span<const Value> values) {
  State& state = *state_;
  if (state.rows % rows_between_looks == 0) HAILSTONE_TRY(state.look_around());
  const RowCodec& codec = state.inside.layout->row_codec();
  const auto row_bytes = codec.row_bytes(values);
  if (!row_bytes) {
    return fail(row_bytes.error().code(),
                fmt::format("table {}: {}", state.table->definition().name, row_bytes.error().message()));
  }
  ++state.rows;
  if (state.loading_segments) return state.append_to_builder(values, *row_bytes);
  HAILSTONE_TRY(codec.encode(values, state.encoded));
  state.small_rows.append(state.encoded);
  state.small_ends.push_back(state.small_rows.size());
  if (state.small_rows.size() < small_load_bytes) return {};
  state.loading_segments = true;
  size_t start = 0;
  for (const size_t end : state.small_ends) {
    const ByteView row = ByteView(state.small_rows).substr(start, end - start);
    HAILSTONE_TRY(state.append_to_builder(row, row.size()));
    start = end;
  }
  state.small_rows = {};
  state.small_ends = {};
  return {};
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
  // The sum over the columns is not taken for every row.
  constexpr uint32_t rows_between_sums = 64;
  const uint32_t held = builder->rows();
  const bool big_row = row_bytes > small_load_bytes;
  if (held < max_segment_rows && !big_row && held % rows_between_sums != 0) return {};
  const size_t most = most_buffer_bytes();
  const size_t wanted = std::min(most, std::max(first_segment_bytes, handed_off_bytes / loaded_share));
  const size_t bytes = builder->bytes();
  if (held >= max_segment_rows || bytes >= wanted) return hand_off();
  // From a part of the rows on it is known what the rest of them will take: room for all at once, instead of
  // doubling it beyond what is needed.
  if (!builder_has_room && bytes >= wanted / 8) {
    builder->reserve_times(static_cast<double>(wanted) / static_cast<double>(bytes) * 1.02);
    builder_has_room = true;
  }
  return {};
}

/// What the rows being filled in may take, and those being encoded together.
size_t BulkLoad::State::most_buffer_bytes() const {
  return inside.host.segment_buffer_bytes() / std::max<size_t>(1, inside.host.bulk_loads());
}

std::unique_ptr<SegmentBuilder> BulkLoad::State::next_builder() {
  builder_has_room = false;
  const std::lock_guard guard(shared->mutex);
  return shared->spare != nullptr ? std::move(shared->spare)
                                  : std::make_unique<SegmentBuilder>(inside, false);
}

Status BulkLoad::State::hand_off() {
  auto set = std::make_shared<Set>();
  set->rows = builder->rows();
  set->bytes = builder->bytes();
  const size_t most = most_buffer_bytes();
  HAILSTONE_TRY(wait_for_sets(most - std::min(most, set->bytes)));
  set->builder = std::move(builder);
  handed_off_bytes += set->bytes;
  set->file = inside.host.new_file_number();
  sets.push_back(set);
  {
    const std::lock_guard guard(shared->mutex);
    ++shared->sets_in_flight;
    shared->bytes_in_flight += set->bytes;
  }
  inside.host.run([set, shared = shared, &host = inside.host] {
    auto written = set->builder->write(host.segment_path(set->file), true,
                                       [&] { return shared->cancelled.load(std::memory_order_relaxed); });
    if (written) set->duplicate = written->duplicate;
    if (!set->duplicate) set->builder->clear();
    const std::lock_guard guard(shared->mutex);
    if (!set->duplicate) shared->spare = std::move(set->builder);
    if (!written && !shared->failure) shared->failure = written.error();
    --shared->sets_in_flight;
    shared->bytes_in_flight -= set->bytes;
    shared->changed.notify_all();
  });
  return {};
}

Status BulkLoad::State::wait_for_sets(size_t most_bytes) {
  std::unique_lock guard(shared->mutex);
  shared->changed.wait(guard, [&] {
    return shared->sets_in_flight == 0 || (most_bytes > 0 && shared->bytes_in_flight <= most_bytes);
  });
  if (shared->failure) return std::unexpected(*shared->failure);
  return {};
}

void BulkLoad::State::remove_files() {
  for (const auto& set : sets) {
    const std::string path = inside.host.segment_path(set->file);
    // A file that stays is an orphan, which the next recovery removes.
    if (inside.host.filesystem().exists(path)) static_cast<void>(inside.host.filesystem().remove(path));
  }
}

Status BulkLoad::finish(Duplicate& duplicate) {
  State& state = *state_;
  if (!state.loading_segments) {
    HAILSTONE_TRY(state.insert_small(duplicate));
    state.finished = true;
    return {};
  }
  HAILSTONE_TRY(state.finish_segments(duplicate));
  state.finished = true;
  return {};
}

Status BulkLoad::State::insert_small(Duplicate& duplicate) {
  const Savepoint before = transaction.savepoint();
  size_t start = 0;
  for (const size_t end : small_ends) {
    const ByteView row = ByteView(small_rows).substr(start, end - start);
    start = end;
    auto inserted = table->insert(transaction, row, duplicate);
    if (inserted) continue;
    HAILSTONE_TRY(inside.host.transactions().rollback_to(transaction, before));
    return std::unexpected(std::move(inserted).error());
  }
  return {};
}

Status BulkLoad::State::open_segments(LoadedSegments& segments) {
  for (const auto& set : sets) {
    HAILSTONE_ASSIGN(auto segment, open_new_segment(inside, set->file, transaction.marker()));
    segments.push_back(std::move(segment));
  }
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
  HAILSTONE_TRY(open_segments(segments));
  HAILSTONE_TRY(inside.host.sync_files());

  const Savepoint before = transaction.savepoint();
  std::shared_ptr<const TableView> places;
  {
    const std::lock_guard write_guard(inside.write_mutex);
    const std::unique_lock guard(*inside.latch);
    places = inside.current_view();
    auto next = std::make_shared<TableView>(*places);
    next->segments.insert(next->segments.end(), segments.begin(), segments.end());
    inside.set_view(std::move(next));
    count(inside.host.counters().segments, segments.size());
  }
  transaction.add_action(std::make_unique<PublishAction>(table, inside, segments));
  const auto complete = [&]() -> Status {
    HAILSTONE_TRY(check_loaded(table, inside, transaction, segments, *places, duplicate));
    std::string operation;
    append_operation_head(operation, OperationKind::Publish, inside.id);
    append_varint(operation, sets.size());
    for (const auto& set : sets) {
      append_varint(operation, set->file);
      append_varint(operation, set->rows);
    }
    return transaction.add_redo(operation);
  };
  Status completed = complete();
  if (!completed) {
    HAILSTONE_TRY(inside.host.transactions().rollback_to(transaction, before));
    return completed;
  }
  count(inside.host.counters().rows_bulk_loaded, rows);
  return {};
}

}  // namespace hailstone
