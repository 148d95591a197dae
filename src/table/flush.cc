// Deltas become segments; what a checkpoint carries of those that stay; delete vector files.
#include <algorithm>
#include <list>

#include "base/guard.h"
#include "log/operation.h"
#include "table/delete_vector_file.h"
#include "table/delta_writer.h"

namespace hailstone {

namespace {

struct LiveRow {
  ByteView key, row;
  Timestamp begin;
};

/// What the deltas of `view`, which keeps the rows alive, hold of commits up to `up_to`, in key order.
/// Versions that ended for good need no log; what an open transaction ends, its own log ends again.
std::vector<LiveRow> live_rows(const Table::State& state, const TableView& view, Timestamp up_to) {
  std::vector<LiveRow> rows;
  {
    const SharedLock guard(state.latch());
    for (const auto& delta : view.deltas) {
      for_each_version(delta->rows, [&](const Version& version) {
        const auto [begin, end] = version.span();
        if (begin <= up_to && !is_marker(begin) && (end == infinity || is_marker(end)))
          rows.push_back({version.key(), version.row(), begin});
      });
    }
  }
  std::sort(rows.begin(), rows.end(), [](const LiveRow& a, const LiveRow& b) { return a.key < b.key; });
  return rows;
}

/// Whether a flush of the delta gives its memory back. What rows leave behind that were taken back
/// goes with the next rows where a flush takes those to files.
bool holds_something(const Table::State& state, const Delta& rows) {
  return rows.version_count() > 0 || (state.is_in_memory() && rows.removed_count() > 0);
}

}  // namespace

Status Table::State::flush_delta(const std::shared_ptr<TableDelta>& delta) {
  HAILSTONE_ASSIGN(const DeltaWriter::Written written, DeltaWriter(*this, *delta, {}).write());
  replace_delta(delta, written.segments, written.is_row);
  count(host.counters().flushes);
  return {};
}

namespace {

/// Calls visit(version, segment, ordinal) for each version of a delta that has become a row of one of these
/// segments.
template <typename Visit>
void for_each_row(const TableDelta& delta, const TableSegments& segments, const std::vector<bool>& is_row,
                  const Visit& visit) HAILSTONE_REQUIRES(table_latch) {
  size_t version_number = 0, segment = 0;
  uint32_t next = 0;
  for_each_version(delta.rows, [&](const Version& version) HAILSTONE_REQUIRES(table_latch) {
    if (!is_row[version_number++]) return;
    if (next == segments[segment]->rows()) {
      ++segment;
      next = 0;
    }
    visit(version, segment, next++);
  });
}

/// Brings the ends of a delta's versions to the rows that they have become. What they still become later is
/// forwarded.
void take_over_ends(TableDelta& delta, const TableSegments& segments, const std::vector<bool>& is_row)
    HAILSTONE_REQUIRES(table_latch) {
  for_each_row(delta, segments, is_row,
               [&](const Version& version, size_t segment, uint32_t ordinal) HAILSTONE_REQUIRES(table_latch) {
                 const Timestamp end = version.end();
                 if (end == infinity) return;
                 segments[segment]->set_end(ordinal, end);
                 if (is_marker(end))
                   delta.forwards[TableDelta::slot_of(&version)] = {segments[segment], ordinal};
               });
}

/// Who has locked rows of the delta by their places has locked them in the segments.
void take_over_locks(LockManager& locks, const TableDelta& delta, const TableSegments& segments,
                     const std::vector<bool>& is_row) HAILSTONE_REQUIRES(table_latch) {
  if (!locks.has_rows_of(delta)) return;
  NumberMap<uint64_t> rows;  // by version: the segment's number and the ordinal there
  for_each_row(delta, segments, is_row, [&](const Version& version, size_t segment, uint32_t ordinal) {
    rows[TableDelta::slot_of(&version)] = uint64_t{segment} << 32 | ordinal;
  });
  locks.follow_rows(delta, [&](uint64_t slot) -> VersionPlace {
    const uint64_t* const row = rows.find(slot);
    if (row == nullptr) return {};
    return {.store = segments[*row >> 32], .slot = static_cast<uint32_t>(*row)};
  });
}

}  // namespace

void Table::State::replace_delta(const std::shared_ptr<TableDelta>& delta, const TableSegments& written,
                                 const std::vector<bool>& is_row) {
  const MutexLock write_guard(write_mutex());
  const ExclusiveLock guard(latch());
  try {
    auto next = std::make_shared<TableView>(*current_view());
    std::erase(next->deltas, delta);
    if (!written.empty()) {
      take_over_ends(*delta, written, is_row);
      take_over_locks(host.locks(), *delta, written, is_row);
    }
    generation.fetch_add(1, std::memory_order_release);
    set_view(std::move(next), {}, written);
    host.locks().forget_rows(*delta);
  } catch (const std::bad_alloc&) {
    for (const auto& segment : written) segment->segment->remove_when_unused();
    delta->forwards = {};
    throw;
  }
  count(host.counters().segments, written.size());
}

bool Table::State::record_due() {
  // The log has the rows until a checkpoint, which records all tables.
  constexpr uint64_t segments_a_flush = 256;
  if (flushes_unrecorded.fetch_add(1, std::memory_order_relaxed) <
      current_view()->segments.size() / segments_a_flush)
    return false;
  flushes_unrecorded.store(0, std::memory_order_relaxed);
  return true;
}

bool Table::State::flush_due(const TableDelta& active) const {
  return holds_something(*this, active.rows) &&
         (active.rows.bytes() > delta_limit() || (is_in_memory() && flush_gives_room(active)));
}

bool Table::flush_due() const {
  const State& state = *state_;
  if (!state.usable()) return false;
  const auto view = state.current_view();
  const SharedLock latched(state.latch());
  return state.flush_due(*view->deltas.front());
}

Result<bool> Table::flush(bool force) {
  State& state = *state_;
  const MutexLock flushing(state.flush_mutex);
  HAILSTONE_TRY(state.usable());
  if (!state.keys->makes_all()) return false;  // rows of a database that is only read stay in memory
  {
    const MutexLock guard(state.write_mutex());
    const auto view = state.current_view();
    bool full = false;
    {
      const SharedLock latched(state.latch());
      const TableDelta& active = *view->deltas.front();
      full = state.flush_due(active) || (force && holds_something(state, active.rows));
    }
    state.flush_requested.store(false, std::memory_order_relaxed);
    if (full) state.freeze_active(*this);
  }
  bool written = false, waiting = false;
  const auto view = state.current_view();
  // Oldest first.
  for (size_t i = view->deltas.size(); i-- > 1;) {
    if (view->deltas[i]->uncommitted.load(std::memory_order_seq_cst) != 0) {
      waiting = true;
      continue;
    }
    HAILSTONE_TRY(state.flush_delta(view->deltas[i]));
    written = true;
  }
  if (written) {
    if (state.record_due()) HAILSTONE_TRY(state.host.record(*this));
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
  const SharedLock guard(state.latch());
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
    const MutexLock guard(state.files_mutex);
    if (!state.obsolete.empty() || state.delete_vectors_unsynced) return false;
  }
  const auto view = state.current_view();
  if (view->deltas.size() != 1) return false;
  const Timestamp horizon = state.host.transactions().horizon();
  bool settled = true;
  const SharedLock guard(state.latch());
  for (const auto& segment : view->segments) {
    if (is_marker(segment->shared_begin()) || segment->ends->change_count() != segment->ends_written)
      return false;
    segment->ends->for_each([&](uint32_t, Timestamp end) { settled = settled && !is_marker(end); });
  }
  const Delta& rows = view->deltas.front()->rows;
  for_each_version(rows, [&](const Version& version) {
    const auto [begin, end] = version.span();
    settled = settled && !is_marker(begin) && (end == infinity || (!is_marker(end) && end <= horizon));
  });
  return settled;
}

namespace {

/// Segments with ends that their delete vector files do not have, or that take less memory in another form.
TableSegments changed_ends(const Table::State& state, const TableView& view) {
  TableSegments changed;
  const SharedLock guard(state.latch());
  for (const auto& segment : view.segments) {
    if (is_marker(segment->shared_begin())) continue;
    if (segment->ends->change_count() != segment->ends_written || segment->ends->is_wide())
      changed.push_back(segment);
  }
  return changed;
}

}  // namespace

Result<bool> Table::write_delete_vectors() {
  State& state = *state_;
  const MutexLock guard(state.files_mutex);
  {
    const SharedLock latched(state.latch());
    if (state.files_are_dropped) return false;
  }
  const auto view = state.current_view();
  for (const auto& segment : changed_ends(state, *view)) {
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

void Table::recorded(uint64_t generation) {
  State& state = *state_;
  raise_to(state.recorded_generation, generation);
  const MutexLock guard(state.files_mutex);
  state.remove_obsolete(generation);
}

}  // namespace hailstone
