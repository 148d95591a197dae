#include "table/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/guard.h"
#include "log/operation.h"
#include "table/delete_vector_file.h"
#include "table/table_state.h"
#include "transaction/statement.h"

namespace hailstone {

Table::Table() = default;
Table::~Table() {
  if (state_ == nullptr) return;
  const auto last = state_->current_view();
  if (last == nullptr) return;
  state_->host.counters().segments.fetch_sub(last->segments.size(), std::memory_order_relaxed);
  // A transaction may keep one for longer than its neighbours in lists.
  const ExclusiveLock guard(state_->latch());
  for (const auto& segment : last->segments) segment->count_ended_in(nullptr);
}

namespace {

DeltaMemory memory_of_deltas(TableHost& host, const TableDefinition& definition) {
  if (!definition.in_memory) {
    // The counter is nobody's to delete.
    const std::shared_ptr<std::atomic<uint64_t>> counter(std::shared_ptr<void>(),
                                                         &host.counters().delta_bytes);
    return {.budget = &host.row_budget(), .total = counter, .most_chunk_bytes = 0, .leaves_memory = true};
  }
  // What is set aside and not in use yet is a small part of what the table may take.
  constexpr uint64_t chunk_share = 64;
  return {.budget = &host.row_budget(),
          .total = std::make_shared<std::atomic<uint64_t>>(0),
          .most_chunk_bytes = static_cast<size_t>(definition.most_bytes / chunk_share),
          .leaves_memory = false};
}

}  // namespace

Table::State::State(TableHost& table_host, const TableRecord& record)
    : host(table_host),
      id(record.id),
      definition_timestamp(record.definition_timestamp),
      layout(std::make_shared<TableLayout>(record.definition.unpack())),
      delta_memory(memory_of_deltas(table_host, layout->definition())),
      emptied(layout->definition().in_memory && record.definition_timestamp != 0),
      next_row_id(record.next_row_id),
      next_auto_increment(record.next_auto_increment),
      last_publish(record.last_publish),
      recorded_publish(record.last_publish),
      recorded_until(record.applied_until) {}

namespace {

/// Whether an error is one of the table's files. Others, of memory above all, pass: the table is opened again
/// at its next use. A file that the system could not read at the last try of a recovery counts as well.
bool is_lasting(const Error& error, bool last_try) {
  return error.code() == ErrorCode::Corruption || (last_try && error.code() == ErrorCode::Io);
}

}  // namespace

Result<std::shared_ptr<Table>> Table::open(TableHost& host, const TableRecord& given, bool set_aside) {
  std::shared_ptr<Table> table(new Table);
  table->state_ = std::make_unique<State>(host, given);
  State& state = *table->state_;
  HAILSTONE_ASSIGN(state.keys, TableKeys::make(state.layout, host.collations()));
  // Tables in memory are looked at all the time.
  if (!table->is_in_memory()) {
    state.ended_rows->many = [weak = table->weak_from_this(), &host] {
      try_to([&] {
        if (const auto alive = weak.lock()) host.request_merge_of_dead(alive);
      });
    };
  }
  auto view = std::make_shared<TableView>();
  view->orders = std::make_shared<const SegmentOrders>(state.keys->secondary_count());
  TableSegments segments;
  view->deltas.push_back(state.new_delta(*table));
  for (const auto& entry : given.segments) {
    auto segment = open_table_segment(state, entry);
    if (!segment) {
      const Error& error = segment.error();
      const Error unreadable(
          error.code(), fmt::format("table {} cannot be read: {}", table->definition().name, error.message()),
          error.system_error());
      if (!is_lasting(error, set_aside)) return std::unexpected(unreadable);
      // Nothing of the table can be trusted without one of its segments, but its state must stay as it is, so
      // that a repaired or restored file is found again.
      state.unopened.push_back(entry);
      state.mark_corrupt(unreadable);
      continue;
    }
    (*segment)->is_recorded = true;
    segments.push_back(std::move(*segment));
  }
  count(host.counters().segments, segments.size());
  {
    const MutexLock writing(state.write_mutex());
    const ExclusiveLock latched(state.latch());
    state.set_view(std::move(view), {}, segments);
  }
  if (!given.rows.empty() && state.usable()) {
    // As above.
    if (const Status restored = table->restore_rows(given.rows); !restored) {
      if (!is_lasting(restored.error(), set_aside)) return std::unexpected(restored.error());
      state.mark_corrupt(restored.error());
    }
  }
  return table;
}

void Table::State::make_room_in_spare_views(const TableView& next) {
  std::erase_if(spare_views, [](const auto& each) { return each.expired(); });
  for (const auto& each : spare_views) {
    if (const auto spare = each.lock()) spare->make_room(next);
  }
}

void Table::State::set_deltas(std::shared_ptr<TableView> next) {
  make_room_in_spare_views(*next);
  HAILSTONE_CHECK(current_view()->orders == next->orders, "table {}", id);
  const MutexLock guard(view_mutex);
  view = std::move(next);
}

void Table::State::set_view(std::shared_ptr<TableView> next, const TableSegments& gone,
                            const TableSegments& added) {
  const size_t before = next->segments.size();
  next->change_segments(gone, added);
  HAILSTONE_CHECK(next->segments.size() == before + added.size() - gone.size(),
                  "table {}: {} segments have become {} by {} that came and {} that went", id, before,
                  next->segments.size(), added.size(), gone.size());
  make_room_in_spare_views(*next);
  count_segments(gone, added);
  const MutexLock guard(view_mutex);
  view = std::move(next);
}

void Table::State::count_segments(const TableSegments& gone, const TableSegments& added) noexcept {
  uint64_t bytes = segment_bytes.load(std::memory_order_relaxed);
  for (const auto& segment : gone) {
    segment->count_ended_in(nullptr);
    bytes -= segment->segment->file_bytes();
  }
  for (const auto& segment : added) {
    segment->count_ended_in(ended_rows);
    bytes += segment->segment->file_bytes();
    if (files_are_dropped) segment->segment->remove_when_unused();
  }
  segment_bytes.store(bytes, std::memory_order_relaxed);
  note_segments(gone, added);
}

size_t Table::State::delta_limit() const {
  const size_t most = host.delta_limit_bytes();
  if (!is_in_memory()) return most;
  // Rows take more memory in a delta than in a segment, and dead versions keep theirs until the flush: both
  // are to stay a small part of what the table takes.
  constexpr uint64_t segment_share = 16;
  constexpr size_t least = size_t{1} << 20;
  const uint64_t share = segment_bytes.load(std::memory_order_relaxed) / segment_share;
  return static_cast<size_t>(std::clamp<uint64_t>(share, std::min(least, most), most));
}

std::shared_ptr<SpareView> Table::State::make_spare_view() {
  auto spare = std::make_shared<SpareView>(keys->secondary_count());
  spare->make_room(*current_view());
  spare_views.emplace_back(spare);
  return spare;
}

void Table::State::withdraw(const TableSegments& segments, std::shared_ptr<SpareView> spare) noexcept {
  std::erase_if(spare_views, [&](const auto& each) { return each.lock() == spare; });
  count_segments(segments, {});
  spare->fill(*current_view());
  const MutexLock guard(view_mutex);
  view = std::shared_ptr<const TableView>(spare, &spare->view);
}

std::shared_ptr<TableDelta> Table::State::new_delta(Table& table) {
  auto delta = std::make_shared<TableDelta>(shared_latch, keys, delta_memory);
  delta->settled = [table = table.weak_from_this(), &host = host] {
    // Called at the end of transactions, which must not fail: without memory the next flush of the table
    // finds the delta.
    try_to([&] {
      if (const auto alive = table.lock()) host.request_flush(alive);
    });
  };
  return delta;
}

void Table::State::freeze_active(Table& table) {
  const auto now = current_view();
  auto next = std::make_shared<TableView>(*now);
  next->deltas.insert(next->deltas.begin(), new_delta(table));
  std::atomic<bool>& frozen = now->deltas.front()->frozen;
  frozen.store(true, std::memory_order_seq_cst);  // as TableDelta::decide() says
  try {
    set_deltas(std::move(next));
  } catch (const std::bad_alloc&) {
    frozen.store(false, std::memory_order_release);
    throw;
  }
  flush_requested.store(false, std::memory_order_relaxed);
}

Status Table::State::unusable() const {
  const MutexLock guard(corruption_mutex);
  return std::unexpected(*corruption);
}

void Table::State::mark_corrupt(const Error& error) {
  const MutexLock guard(corruption_mutex);
  if (corruption) return;
  // A file that the system could not read during recovery need not be damaged.
  // Nor need one whose log only the program that made the table can apply.
  const bool is_whole = error.code() == ErrorCode::Io || error.code() == ErrorCode::Unsupported;
  corruption = Error(is_whole ? error.code() : ErrorCode::Corruption, error.message());
  corrupt.store(true, std::memory_order_release);
  count(host.counters().tables_corrupt);
}

TableId Table::id() const { return state_->id; }
const TableDefinition& Table::definition() const { return state_->definition(); }
bool Table::is_in_memory() const { return state_->is_in_memory(); }
bool Table::is_durable() const { return state_->is_durable(); }
bool Table::take_emptied() { return state_->emptied.exchange(false); }
void Table::replace_definition(std::unique_ptr<ReplacedDefinition> replaced) noexcept {
  replaced->before = std::move(state_->replaced_definitions);
  state_->replaced_definition.store(&replaced->definition, std::memory_order_release);
  state_->replaced_definitions = std::move(replaced);
}
const std::shared_ptr<const TableLayout>& Table::layout() const { return state_->layout; }
const KeyCodec& Table::key_codec(size_t index) const { return state_->keys->codec(index); }
Status Table::usable() const { return state_->usable(); }
void Table::mark_corrupt(const Error& error) { state_->mark_corrupt(error); }

void Table::set_ddl_commits(Timestamp made, Timestamp named) {
  state_->made.store(made, std::memory_order_release);
  state_->named.store(named, std::memory_order_release);
}

Timestamp Table::made() const { return state_->made.load(std::memory_order_acquire); }

Status Table::check_snapshot(Transaction& transaction, bool by_name) const {
  const Timestamp made = state_->made.load(std::memory_order_acquire);
  const Timestamp named = by_name ? state_->named.load(std::memory_order_acquire) : 0;
  if (std::max(made, named) == 0) return {};
  if (!transaction.has_snapshot()) {
    TransactionManager& transactions = state_->host.transactions();
    if (std::max(made, named) <= transactions.last_committed()) [[likely]]
      return {};
    // The commit has put the table into the catalog, but is not published yet: a snapshot taken now would be
    // older. Commits are stopped only when this one is done.
    return transactions.with_commits_stopped([](Timestamp) { return Status(); });
  }
  const Timestamp read = transaction.snapshot().read;
  if (made <= read && named <= read) [[likely]]
    return {};
  return fail(ErrorCode::TableChanged,
              fmt::format("table {} was {} after transaction {} had taken its snapshot; read it in a new "
                          "transaction",
                          definition().name, made > read ? "made, emptied or rebuilt" : "given this name",
                          transaction.id()));
}

uint64_t Table::next_auto_increment() const {
  return state_->next_auto_increment.load(std::memory_order_relaxed);
}

Status Table::raise_auto_increment(Transaction& transaction, uint64_t next) {
  std::atomic<uint64_t>& counter = state_->next_auto_increment;
  uint64_t now = counter.load(std::memory_order_relaxed);
  if (now >= next) return {};
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(0));
  if (state_->is_durable())
    append_operation(write.redo(), {.kind = OperationKind::Counter, .table = id(), .number = next});
  while (now < next && !counter.compare_exchange_weak(now, next, std::memory_order_relaxed)) {
  }
  if (now >= next) return {};
  state_->generation.fetch_add(1, std::memory_order_relaxed);
  write.keep();
  return {};
}

uint64_t Table::take_auto_increment(uint64_t count_taken) {
  return state_->next_auto_increment.fetch_add(count_taken, std::memory_order_relaxed);
}

size_t Table::delta_bytes() const {
  const auto view = state_->current_view();
  const SharedLock guard(state_->latch());
  size_t bytes = 0;
  for (const auto& delta : view->deltas) {
    if (delta->rows.version_count() > 0) bytes += delta->rows.bytes();
  }
  return bytes;
}

uint64_t Table::memory_bytes() const {
  return state_->delta_memory.total->load(std::memory_order_relaxed) +
         state_->segment_bytes.load(std::memory_order_relaxed);
}

bool Table::has_delta_rows() const {
  const auto view = state_->current_view();
  const SharedLock guard(state_->latch());
  return std::any_of(view->deltas.begin(), view->deltas.end(),
                     [](const auto& delta)
                         HAILSTONE_REQUIRES_SHARED(table_latch) { return delta->rows.version_count() > 0; });
}

TableRecord Table::record() const {
  const State& state = *state_;
  TableRecord result;
  result.generation = state.generation.load(std::memory_order_acquire);
  result.id = state.id;
  result.definition_timestamp = state.definition_timestamp;
  result.definition = definition();
  if (!state.is_durable()) return result;
  {
    // Held so that a commit cannot publish bulk-loaded segments between reading them and reading
    // last_publish.
    const SharedLock guard(state.latch());
    const auto view = state.current_view();
    for (const auto& segment : view->segments) {
      const Timestamp begin = segment->shared_begin();
      if (is_marker(begin)) continue;  // its transaction is open: the log will tell
      result.segments.push_back({segment->file, segment->ends_file, begin});
    }
    result.last_publish = state.last_publish.load(std::memory_order_relaxed);
  }
  result.segments.insert(result.segments.end(), state.unopened.begin(), state.unopened.end());
  result.next_row_id = state.next_row_id.load(std::memory_order_relaxed);
  result.next_auto_increment = state.next_auto_increment.load(std::memory_order_relaxed);
  return result;
}

Timestamp Table::applied_until(Timestamp committed) const {
  const auto view = state_->current_view();
  for (const auto& delta : view->deltas) {
    // Without one, its versions will have later timestamps.
    const Timestamp first = delta->first_commit.load();
    if (first != infinity) committed = std::min(committed, first - 1);
  }
  return committed;
}

void Table::drop_files() {
  State& state = *state_;
  // A flush or a merge may be under way, and a merge's inputs may wait until the manifest no longer names
  // them.
  const MutexLock files_guard(state.files_mutex);
  std::vector<uint64_t> delete_vectors;
  {
    const ExclusiveLock guard(state.latch());
    state.files_are_dropped = true;
    const auto view = state.current_view();
    for (const auto& segment : view->segments) {
      segment->segment->remove_when_unused();
      delete_vectors.push_back(segment->ends_file);
    }
  }
  for (const uint64_t file : delete_vectors) state.remove_delete_vector(file);
  state.remove_obsolete(std::numeric_limits<uint64_t>::max());
}

void Table::State::remove_obsolete(uint64_t up_to) {
  std::erase_if(obsolete, [&](const Obsolete& file) {
    if (file.generation > up_to) return false;
    if (file.segment != nullptr) file.segment->segment->remove_when_unused();
    remove_delete_vector(file.delete_vector);
    return true;
  });
}

void Table::State::remove_delete_vector(uint64_t file) noexcept {
  if (file == 0) return;
  // A file that stays is an orphan, which the next recovery removes.
  try_to([&] { static_cast<void>(host.filesystem().remove(host.delete_vector_path(file))); });
}

}  // namespace hailstone
