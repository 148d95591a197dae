// Deltas become segments; what a checkpoint carries of those that stay; delete vector files.
#include <algorithm>
#include <list>

#include "base/guard.h"
#include "log/operation.h"
#include "table/delete_vector_file.h"
#include "table/segment_builder.h"

namespace hailstone {

namespace {

constexpr uint32_t sampled_rows = 4096;

/// Rows that some snapshot can see, or that an open transaction is about to end.
bool worth_keeping(const Version& version, const SnapshotsInUse& snapshots) {
  const Timestamp begin = version.begin.load(std::memory_order_acquire);
  const Timestamp end = version.end.load(std::memory_order_acquire);
  return end != begin && snapshots.may_see(begin, end);
}

/// All versions of a settled delta, in key order, newest first. Nothing but ends changes in it any more.
template <typename Visit>
void for_each_version(const Delta& rows, const Visit& visit) {
  for (const TreeEntry& entry : rows.clustered()) {
    for (Version* version = entry.newest; version != nullptr; version = version->older) visit(*version);
  }
}

struct LiveRow {
  ByteView key, row;
  Timestamp begin;
};

/// What the deltas of `view`, which keeps the rows alive, hold of commits up to `up_to`, in key order.
/// Versions that ended for good need no log; what an open transaction ends, its own log ends again.
std::vector<LiveRow> live_rows(const Table::State& state, const TableView& view, Timestamp up_to) {
  std::vector<LiveRow> rows;
  {
    const std::shared_lock guard(*state.latch);
    for (const auto& delta : view.deltas) {
      for_each_version(delta->rows, [&](const Version& version) {
        const Timestamp begin = version.begin.load(std::memory_order_acquire);
        const Timestamp end = version.end.load(std::memory_order_acquire);
        if (begin <= up_to && !is_marker(begin) && (end == infinity || is_marker(end)))
          rows.push_back({version.key(), version.row(), begin});
      });
    }
  }
  std::sort(rows.begin(), rows.end(), [](const LiveRow& a, const LiveRow& b) { return a.key < b.key; });
  return rows;
}

/// Writes what is worth keeping of a delta to one segment or several.
class DeltaFlush {
 public:
  DeltaFlush(Table::State& state, TableDelta& delta)
      : state_(state), delta_(delta), snapshots_(state.host.transactions().snapshots_in_use()) {}

  using Successors = std::vector<TableDelta::Successor>;

  /// Versions get their ordinals. Ends that are set from here on are taken over at publication.
  Result<Successors> write() {
    const Status written = guarded([&] { return write_all(); });
    if (written) return std::move(successors_);
    for (const auto& successor : successors_) successor.segment->segment->remove_when_unused();
    return std::unexpected(written.error());
  }

 private:
  Status write_all() {
    Timestamp newest_begin = 0;
    for_each_version(delta_.rows, [&](const Version& version) {
      if (!worth_keeping(version, snapshots_)) return;
      ++versions_;
      newest_begin = std::max(newest_begin, version.begin.load(std::memory_order_acquire));
    });
    with_begin_ = newest_begin > state_.forgettable_begin(snapshots_.oldest());
    Status status;
    for_each_version(delta_.rows, [&](Version& version) {
      if (status) status = add(version);
    });
    HAILSTONE_TRY(status);
    HAILSTONE_TRY(finish_segment());
    return successors_.empty() ? Status() : state_.host.sync_files();
  }

  Status add(Version& version) {
    version.ordinal = Version::no_ordinal;
    if (!worth_keeping(version, snapshots_)) return {};
    if (builder_ != nullptr) {
      // A segment that is big enough ends where a key does, so that segments of one flush do not overlap.
      const bool full = builder_->rows() >= state_.host.segment_rows_limit();
      const bool enough = builder_->bytes() >= state_.host.segment_buffer_bytes();
      if (full || (enough && version.key() != last_key_)) HAILSTONE_TRY(finish_segment());
    }
    if (builder_ == nullptr) builder_ = std::make_unique<SegmentBuilder>(state_, with_begin_);
    const Timestamp begin = version.begin.load(std::memory_order_acquire);
    version.ordinal = ordinal_++;
    last_key_ = version.key();
    newest_begin_ = std::max(newest_begin_, begin);
    builder_->append(version.row(), row_id_of(version.key()), begin);
    if (builder_->rows() == sampled_rows) {
      // What all rows take, as the first ones tell, so that buffers need not be doubled and copied; never
      // more than the delta, as the first ones may be the longest.
      const double bytes = static_cast<double>(builder_->bytes());
      const double by_rows = static_cast<double>(versions_) / sampled_rows;
      const double by_bytes = static_cast<double>(delta_.rows.bytes()) / bytes;
      const double by_buffer = static_cast<double>(state_.host.segment_buffer_bytes()) / bytes;
      builder_->reserve_times(std::min({by_rows * 1.02, by_bytes, std::max(by_buffer, 1.0)}));
    }
    return {};
  }

  Status finish_segment() {
    if (builder_ == nullptr) return {};
    const uint32_t first = ordinal_ - builder_->rows();
    const FileIdentity file = state_.host.new_file(state_.id);
    HAILSTONE_TRY(builder_->write(file, false, {}));
    builder_.reset();
    successors_.reserve(successors_.size() + 1);
    HAILSTONE_ASSIGN(auto segment,
                     state_.noted(open_written_segment(state_, file.file, with_begin_ ? newest_begin_ : 0)));
    successors_.push_back({std::move(segment), first});
    newest_begin_ = 0;
    return {};
  }

  Table::State& state_;
  TableDelta& delta_;
  const SnapshotsInUse snapshots_;
  bool with_begin_ = false;
  uint64_t versions_ = 0;
  std::unique_ptr<SegmentBuilder> builder_;
  uint32_t ordinal_ = 0;
  ByteView last_key_;
  Timestamp newest_begin_ = 0;  // of the segment being filled
  Successors successors_;
};

}  // namespace

Status Table::State::flush_delta(const std::shared_ptr<TableDelta>& delta) {
  HAILSTONE_ASSIGN(auto successors, DeltaFlush(*this, *delta).write());
  {
    const std::lock_guard write_guard(write_mutex);
    const std::unique_lock guard(*latch);
    delta->successors = std::move(successors);
    try {
      auto next = std::make_shared<TableView>(*current_view());
      std::erase(next->deltas, delta);
      for (const auto& successor : delta->successors) next->segments.push_back(successor.segment);
      if (!delta->successors.empty()) {
        for_each_version(delta->rows, [&](const Version& version) {
          const Timestamp end = version.end.load(std::memory_order_acquire);
          if (end != infinity) delta->end_in_successor(version, end);
        });
      }
      generation.fetch_add(1, std::memory_order_release);
      set_view(std::move(next));
    } catch (const std::bad_alloc&) {
      for (const auto& successor : delta->successors) successor.segment->segment->remove_when_unused();
      delta->successors.clear();
      throw;
    }
    count(host.counters().segments, delta->successors.size());
  }
  count(host.counters().flushes);
  return {};
}

Result<bool> Table::flush(bool force) {
  State& state = *state_;
  const std::lock_guard flushing(state.flush_mutex);
  HAILSTONE_TRY(state.usable());
  {
    const std::lock_guard guard(state.write_mutex);
    const auto view = state.current_view();
    bool full = false;
    {
      const std::shared_lock latched(*state.latch);
      const Delta& rows = view->deltas.front()->rows;
      full = rows.version_count() > 0 && (force || rows.bytes() > state.host.delta_limit_bytes());
    }
    state.flush_requested.store(false, std::memory_order_relaxed);
    if (full) state.freeze_active(*this);
  }
  bool written = false, waiting = false;
  const auto view = state.current_view();
  // Oldest first.
  for (size_t i = view->deltas.size(); i-- > 1;) {
    if (view->deltas[i]->uncommitted.load(std::memory_order_acquire) != 0) {
      waiting = true;
      continue;
    }
    HAILSTONE_TRY(state.flush_delta(view->deltas[i]));
    written = true;
  }
  if (written) {
    HAILSTONE_TRY(state.host.record_state(*this));
    if (state.merge_due()) state.host.request_merge(shared_from_this());
  }
  return waiting;
}

Status Table::carry(const std::function<Status(ByteView operation, Timestamp begin)>& carry) {
  State& state = *state_;
  const auto view = state.current_view();
  const std::vector<LiveRow> rows = live_rows(state, *view, infinity);
  std::string operation;
  for (const LiveRow& row : rows) {
    operation.clear();
    append_operation(operation, {.kind = OperationKind::Put,
                                 .table = state.id,
                                 .number = state.keys->hidden_row_id() ? row_id_of(row.key) : 0,
                                 .bytes = row.row});
    HAILSTONE_TRY(carry(operation, row.begin));
  }
  return {};
}

void Table::append_delta_rows(Timestamp up_to, std::string& to) const {
  const State& state = *state_;
  const auto view = state.current_view();
  for (const LiveRow& row : live_rows(state, *view, up_to)) {
    append_varint(to, row.begin);
    append_varint(to, state.keys->hidden_row_id() ? row_id_of(row.key) : 0);
    append_string(to, row.row);
  }
}

size_t Table::delta_row_bytes() const {
  const State& state = *state_;
  const auto view = state.current_view();
  size_t bytes = 0;
  const std::shared_lock guard(*state.latch);
  for (const auto& delta : view->deltas) {
    for_each_version(delta->rows,
                     [&](const Version& version) { bytes += version.key().size() + version.row().size(); });
  }
  return bytes;
}

bool Table::is_settled() const {
  State& state = *state_;
  if (!state.usable()) return false;
  {
    const std::lock_guard guard(state.files_mutex);
    if (!state.obsolete.empty() || state.delete_vectors_unsynced) return false;
  }
  const auto view = state.current_view();
  if (view->deltas.size() != 1) return false;
  const Timestamp horizon = state.host.transactions().horizon();
  bool settled = true;
  const std::shared_lock guard(*state.latch);
  for (const auto& segment : view->segments) {
    if (is_marker(segment->shared_begin()) || segment->ends->change_count() != segment->ends_written)
      return false;
    segment->ends->for_each([&](uint32_t, Timestamp end) { settled = settled && !is_marker(end); });
  }
  const Delta& rows = view->deltas.front()->rows;
  for_each_version(rows, [&](const Version& version) {
    const Timestamp begin = version.begin.load(std::memory_order_acquire);
    const Timestamp end = version.end.load(std::memory_order_acquire);
    settled = settled && !is_marker(begin) && (end == infinity || (!is_marker(end) && end <= horizon));
  });
  return settled;
}

Result<bool> Table::write_delete_vectors() {
  State& state = *state_;
  const std::lock_guard guard(state.files_mutex);
  const auto view = state.current_view();
  for (const auto& segment : view->segments) {
    if (is_marker(segment->shared_begin())) continue;
    uint64_t obsolete = 0;
    std::list<State::Obsolete> replaced(1);
    HAILSTONE_ASSIGN(const bool changed, write_delete_vector(state, *segment, obsolete));
    // Remembered, as an error may come before the directory is synced.
    state.delete_vectors_unsynced = state.delete_vectors_unsynced || changed;
    if (obsolete == 0) continue;
    replaced.front() = {state.generation.load(), obsolete, nullptr};
    state.obsolete.splice(state.obsolete.end(), replaced);
  }
  if (state.delete_vectors_unsynced) {
    HAILSTONE_TRY(state.host.sync_files());
    state.delete_vectors_unsynced = false;
  }
  return state.generation.load() != state.recorded_generation.load();
}

void Table::state_recorded(uint64_t generation) {
  State& state = *state_;
  std::atomic<uint64_t>& recorded = state.recorded_generation;
  uint64_t now = recorded.load(std::memory_order_relaxed);
  while (now < generation && !recorded.compare_exchange_weak(now, generation, std::memory_order_relaxed)) {
  }
  const std::lock_guard guard(state.files_mutex);
  std::erase_if(state.obsolete, [&](const State::Obsolete& file) {
    if (file.generation > generation) return false;
    if (file.segment != nullptr) file.segment->segment->remove_when_unused();
    state.remove_delete_vector(file.delete_vector);
    return true;
  });
}

}  // namespace hailstone
