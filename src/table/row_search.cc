// Where a row is: in which delta or segment its newest or visible version lives.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "table/table_state.h"

namespace hailstone {

Result<NewestRow> Table::State::find_newest(const TableView& places, ByteView key, Timestamp own) {
  NewestRow result;
  // At most one version of a key is live; older ones may be anywhere. In a delta only the newest of a key can
  // be live or undecided.
  for (const auto& delta : places.deltas) {
    const std::shared_lock guard(*latch);
    if (delta->rows.version_count() == 0) continue;
    Version* const version = delta->rows.find(key);
    if (version == nullptr) continue;
    const Timestamp begin = version->begin.load(std::memory_order_acquire);
    const Timestamp end = version->end.load(std::memory_order_acquire);
    if (undecided_begin(begin, own)) {
      result.blocker = transaction_of(begin);
      return result;
    }
    switch (end_state(end, own)) {
      case EndState::Live:
        result.place = {.delta = delta, .version = version, .segment = nullptr, .begin = begin};
        result.blocker = 0;
        return result;
      case EndState::Undecided:
        result.blocker = transaction_of(end);
        break;
      case EndState::Ended:
        if (end != own) result.ended = std::max(result.ended, end);
        break;
    }
  }
  for (const auto& segment : places.segments) {
    HAILSTONE_ASSIGN(const OrdinalRange range, find_clustered(*segment, *keys, key, host.counters()));
    if (range.empty()) continue;
    const Timestamp shared_begin = segment->shared_begin();
    const std::shared_lock guard(*latch);
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      const Timestamp end = segment->ends->end(ordinal);
      const EndState state = end_state(end, own);
      if (state == EndState::Ended) {
        if (end != own) result.ended = std::max(result.ended, end);
        continue;
      }
      if (undecided_begin(shared_begin, own)) {
        result.blocker = transaction_of(shared_begin);
        return result;
      }
      if (state == EndState::Undecided) {
        result.blocker = transaction_of(end);
        continue;
      }
      // Only its order matters: the begin of a committed version, or an own marker.
      result.place = {.delta = nullptr,
                      .version = nullptr,
                      .segment = segment,
                      .ordinal = ordinal,
                      .begin = shared_begin};
      result.blocker = 0;
      return result;
    }
  }
  return result;
}

Result<RowPlace> Table::State::find_latest(ByteView key) {
  const std::lock_guard writers(write_mutex);
  const auto places = current_view();
  for (const auto& delta : places->deltas) {
    const std::shared_lock guard(*latch);
    if (delta->rows.version_count() == 0) continue;
    Version* const version = delta->rows.find(key);
    if (version == nullptr || version->end.load(std::memory_order_acquire) != infinity) continue;
    return RowPlace{.delta = delta,
                    .version = version,
                    .segment = nullptr,
                    .begin = version->begin.load(std::memory_order_acquire)};
  }
  for (const auto& segment : places->segments) {
    HAILSTONE_ASSIGN(const OrdinalRange range, find_clustered(*segment, *keys, key, host.counters()));
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      {
        const std::shared_lock guard(*latch);
        if (segment->ends->end(ordinal) != infinity) continue;
      }
      HAILSTONE_ASSIGN(const Timestamp begin, segment->begin_of(ordinal));
      return RowPlace{
          .delta = nullptr, .version = nullptr, .segment = segment, .ordinal = ordinal, .begin = begin};
    }
  }
  return RowPlace{};
}

Result<bool> Table::State::is_unchanged(const RowPlace& place, const Snapshot& snapshot) {
  if (place.version != nullptr) {
    return snapshot.includes(place.version->begin.load(std::memory_order_acquire)) &&
           place.version->end.load(std::memory_order_acquire) == infinity;
  }
  HAILSTONE_ASSIGN(const Timestamp begin, place.segment->begin_of(place.ordinal));
  const std::shared_lock guard(*latch);
  return snapshot.includes(begin) && place.segment->ends->end(place.ordinal) == infinity;
}

Result<RowPlace> Table::State::find_visible(const TableView& places, ByteView key, const Snapshot& snapshot,
                                            const Transaction& transaction) {
  const auto superseded = transaction.superseded(id);
  const bool own_only = superseded != nullptr && superseded->contains(key, transaction.own_writes());
  for (const auto& delta : places.deltas) {
    const std::shared_lock guard(*latch);
    if (delta->rows.version_count() == 0) continue;
    for (Version* version = delta->rows.find(key); version != nullptr; version = version->older) {
      const Timestamp begin = version->begin.load(std::memory_order_acquire);
      if (own_only && begin != snapshot.own) continue;
      if (snapshot.sees(begin, version->end.load(std::memory_order_acquire))) {
        return RowPlace{.delta = delta, .version = version, .segment = nullptr, .begin = begin};
      }
    }
  }
  for (const auto& segment : places.segments) {
    if (segment->columns.begin() < 0 && !snapshot.includes(segment->shared_begin())) continue;
    HAILSTONE_ASSIGN(const OrdinalRange range, find_clustered(*segment, *keys, key, host.counters()));
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      HAILSTONE_ASSIGN(const Timestamp begin, segment->begin_of(ordinal));
      if (own_only && begin != snapshot.own) continue;
      const std::shared_lock guard(*latch);
      if (snapshot.sees(begin, segment->ends->end(ordinal))) {
        return RowPlace{
            .delta = nullptr, .version = nullptr, .segment = segment, .ordinal = ordinal, .begin = begin};
      }
    }
  }
  return RowPlace{};
}

Result<Table::State::UniqueEntry> Table::State::find_unique(const TableView& places, size_t secondary,
                                                            ByteView index_key, ByteView except,
                                                            Timestamp own) {
  UniqueEntry result;
  // True: decided, stop looking.
  const auto consider = [&](Timestamp begin, Timestamp end, ByteView entry_key) {
    const ByteView clustered = entry_key.substr(index_key.size());
    const EndState state = end_state(end, own);
    if (state == EndState::Ended) return false;
    if (undecided_begin(begin, own)) {
      result.blocker = transaction_of(begin);
      return true;
    }
    if (clustered == except) return false;  // the row that is being replaced
    if (state == EndState::Undecided) {
      result.blocker = transaction_of(end);
      return false;
    }
    result.found = true;
    result.blocker = 0;
    result.clustered_key = clustered;
    return true;
  };
  for (const auto& delta : places.deltas) {
    const std::shared_lock guard(*latch);
    if (delta->rows.version_count() == 0) continue;
    const auto& tree = delta->rows.secondary(secondary);
    for (auto entry = tree.lower_bound(index_key); entry != tree.end() && entry->key.starts_with(index_key);
         ++entry) {
      if (consider(entry->version->begin.load(std::memory_order_acquire),
                   entry->version->end.load(std::memory_order_acquire), entry->key)) {
        return result;
      }
    }
  }
  const uint64_t hash = hash_bytes(index_key);
  for (const auto& segment : places.segments) {
    const Segment& file = *segment->segment;
    if (file.index_entries(secondary) == 0 || file.index_last_key(secondary) < index_key) continue;
    const ByteView first = file.index_sample(secondary, 0);
    if (index_key < first && !first.starts_with(index_key)) continue;
    HAILSTONE_ASSIGN(const bool may_contain, file.index_may_contain(secondary, hash));
    if (!may_contain) {
      count(host.counters().bloom_filter_skips);
      continue;
    }
    SegmentKeys entries(*segment, *keys, secondary);
    HAILSTONE_ASSIGN(uint32_t position, entries.lower_bound(index_key));
    std::string key;
    for (; position < entries.entries(); ++position) {
      HAILSTONE_TRY(entries.key(position, key));
      if (!key.starts_with(index_key)) break;
      HAILSTONE_ASSIGN(const uint32_t ordinal, entries.ordinal(position));
      const std::shared_lock guard(*latch);
      if (consider(segment->shared_begin(), segment->ends->end(ordinal), key)) return result;
    }
  }
  return result;
}

Status Table::State::read_place(const RowPlace& place, const Projection& projection, Batch& batch,
                                std::span<Value> values) {
  batch.clear();
  if (place.segment != nullptr) {
    return projection.read_row(place.segment->columns, place.ordinal, batch, values);
  }
  // Copied: the delta may be gone when the caller looks at the values.
  const ByteView row = batch.scratch.copy(place.version->row());
  projection.decode(row, row_id_of(place.version->key()), values);
  return {};
}

}  // namespace hailstone
