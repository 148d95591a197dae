// Recovery: operations of committed transactions, applied with the transaction's timestamp; those on one key
// in commit order. Idempotent; see docs/design/durability.md.
#include <fmt/format.h>

#include "base/hash.h"
#include "table/delete_vector_file.h"
#include "table/table_state.h"

namespace hailstone {

namespace {

/// What the places hold of a key: all that replay needs to know.
struct Replayed {
  RowPlace live;            // the version that has not ended
  bool superseded = false;  // the operation is there already, or a newer one
};

Result<Replayed> look(Table::State& state, ByteView key, Timestamp timestamp) {
  Replayed result;
  const auto view = state.current_view();
  for (const auto& delta : view->deltas) {
    const SharedLock guard(state.latch());
    if (delta->rows.version_count() == 0) continue;
    Version* const version = delta->rows.find(key);
    if (version == nullptr) continue;
    const auto [begin, end] = version->span();
    result.superseded = result.superseded || begin > timestamp;
    if (end == infinity) {
      result.live = {.delta = delta, .version = version, .segment = nullptr, .ordinal = 0, .begin = begin};
    }
  }
  const uint64_t hash = hash_bytes(key);
  const auto look_in = [&](const std::shared_ptr<TableSegment>& segment) -> Status {
    HAILSTONE_ASSIGN(const OrdinalRange range,
                     find_clustered(*segment, *state.keys, key, hash, state.host.counters(), nullptr));
    if (range.empty()) return {};
    BlockReader reader(segment->columns);
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      HAILSTONE_ASSIGN(const Timestamp begin, segment->begin_of(reader, ordinal));
      const SharedLock guard(state.latch());
      const Timestamp end = segment->ends->end(ordinal);
      // Its transaction has taken it back, or it has never been seen.
      if (end < begin) continue;
      // A segment of the manifest holds final states: all ends of the transactions that it has rows of are in
      // it. What the operation's own transaction has ended is no state of the row, and the next one may be in
      // no file. A segment that replay has made may still be changed by later operations of its transaction.
      const bool is_state = begin == timestamp && end > begin && segment->is_recorded;
      if (begin > timestamp || is_state) result.superseded = true;
      if (end == infinity) {
        result.live = {
            .delta = nullptr, .version = nullptr, .segment = segment, .ordinal = ordinal, .begin = begin};
      }
    }
    return {};
  };
  Status status;
  view->order(TableView::clustered).visit_between(key, key, [&](const SegmentRange& candidate) {
    status = look_in(view->segments[candidate.segment]);
    return status.has_value();
  });
  HAILSTONE_TRY(status);
  return result;
}

void end_version(Table::State& state, const RowPlace& place, Timestamp timestamp) {
  const ExclusiveLock guard(state.latch());
  if (place.version != nullptr) {
    place.delta->end(*place.version, timestamp);
  } else if (place.segment != nullptr) {
    place.segment->set_end(place.ordinal, timestamp);
  }
}

}  // namespace

bool Table::has_applied(Timestamp timestamp) const { return timestamp <= state_->recorded_until; }

Status Table::replay_put(Timestamp timestamp, uint64_t row_id, ByteView row) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  std::string key;
  std::vector<std::string> secondary;
  HAILSTONE_TRY(state.keys->clustered_key(row, row_id, key));
  HAILSTONE_TRY(state.keys->secondary_keys_to_read(row, key, secondary));
  if (state.keys->hidden_row_id()) raise_to(state.next_row_id, row_id + 1);
  const MutexLock guard(state.write_mutex());
  HAILSTONE_ASSIGN(const Replayed found, state.noted(look(state, key, timestamp)));
  if (found.superseded) return {};
  end_version(state, found.live, timestamp);
  const ExclusiveLock latched(state.latch());
  TableDelta& delta = *state.current_view()->deltas.front();
  delta.note_commit(timestamp);
  delta.rows.insert(key, row, timestamp, secondary);
  return {};
}

namespace {

/// A row of the manifest of a table whose clustered keys cannot be made here: it can be read, and a number
/// stands in for its key. The rows of the manifest are live, and what they have replaced has its end in the
/// segments' files, so nothing need be looked for.
Status add_row_to_read(Table::State& state, Timestamp begin, uint64_t number, ByteView row) {
  std::string key;
  std::vector<std::string> secondary;
  append_row_id(number, key);
  HAILSTONE_TRY(state.keys->secondary_keys_to_read(row, key, secondary));
  const MutexLock guard(state.write_mutex());
  const ExclusiveLock latched(state.latch());
  TableDelta& delta = *state.current_view()->deltas.front();
  delta.note_commit(begin);
  delta.rows.insert(key, row, begin, secondary);
  return {};
}

}  // namespace

Status Table::restore_rows(ByteView rows) {
  uint64_t number = 0;
  for (ByteReader reader(rows); !reader.empty();) {
    Timestamp begin = 0;
    uint64_t row_id = 0;
    ByteView row;
    const bool taken = reader.take_varint(begin) && reader.take_varint(row_id) && reader.take_string(row);
    if (!taken || !layout()->row_codec().check(row)) {
      return fail(ErrorCode::Corruption,
                  fmt::format("the manifest's rows of table {} are damaged; restore the database from a "
                              "backup",
                              definition().name));
    }
    HAILSTONE_TRY(state_->keys->makes_clustered() ? replay_put(begin, row_id, row)
                                                  : add_row_to_read(*state_, begin, ++number, row));
  }
  return {};
}

Status Table::replay_delete(Timestamp timestamp, ByteView key) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  if (!state.keys->makes_clustered()) {
    // Rows of the manifest have other keys here (add_row_to_read()).
    return fail(ErrorCode::Unsupported,
                fmt::format("a row of table {} that was deleted cannot be found here", definition().name));
  }
  const MutexLock guard(state.write_mutex());
  HAILSTONE_ASSIGN(const Replayed found, state.noted(look(state, key, timestamp)));
  if (!found.superseded) end_version(state, found.live, timestamp);
  return {};
}

Status Table::replay_publish(Timestamp timestamp, uint64_t file) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  // The state from the manifest reflects it, though perhaps merged into another segment meanwhile.
  if (timestamp <= state.recorded_publish) return {};
  auto opened = open_new_segment(state, file, timestamp);
  if (!opened) {
    const Error& error = opened.error();
    if (error.code() == ErrorCode::Corruption)
      state.unopened.push_back({.file = file, .delete_vector = 0, .begin = timestamp});
    return fail(error.code(), fmt::format("table {}: bulk-loaded rows cannot be read: {}", definition().name,
                                          error.message()));
  }
  if (state.keys->hidden_row_id()) raise_to(state.next_row_id, row_id_of((*opened)->segment->last_key()) + 1);
  const MutexLock guard(state.write_mutex());
  const ExclusiveLock latched(state.latch());
  auto next = std::make_shared<TableView>(*state.current_view());
  raise_to(state.last_publish, timestamp);
  state.generation.fetch_add(1, std::memory_order_release);
  state.set_view(std::move(next), {}, {std::move(*opened)});
  count(state.host.counters().segments);
  return {};
}

void Table::replay_counter(uint64_t next_auto_increment) {
  raise_to(state_->next_auto_increment, next_auto_increment);
  state_->generation.fetch_add(1, std::memory_order_release);
}

}  // namespace hailstone
