// Where a row is: in which delta or segment its newest or visible version lives. What is read from files
// (match_…) is apart from what decides on the newest state (find_…), as writers decide under the write mutex.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "segment/key_filter.h"
#include "table/table_state.h"

namespace hailstone {

Result<SegmentMatches> Table::State::match_key(const TableView& places, ByteView key,
                                               const Transaction* writer, SegmentReaders* readers) const {
  SegmentMatches matches;
  if (places.segments.empty()) return matches;
  if (readers != nullptr) readers->follow(places);
  const uint64_t hash = hash_bytes(key);
  uint64_t ruled_out = 0;
  const auto look = [&](uint32_t position) -> Status {
    if (readers != nullptr && readers->is_ruled_out(position, hash)) {
      ++ruled_out;
      return {};
    }
    const std::shared_ptr<TableSegment>& segment = places.segments[position];
    SegmentReaders::Reader* const reader = readers == nullptr ? nullptr : &readers->at(places, position);
    HAILSTONE_ASSIGN(const OrdinalRange range,
                     find_clustered(*segment, *keys, key, hash, host.counters(), reader));
    if (range.empty()) return {};
    SegmentMatch& match = matches.emplace_back(segment, range);
    if (segment->columns.begin() < 0 || writer == nullptr || !writer->is_behind(segment->shared_begin()))
      return {};
    BlockReader blocks(segment->columns);
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      HAILSTONE_ASSIGN(const Timestamp begin, segment->begin_of(blocks, ordinal));
      match.begins.push_back(begin);
    }
    return {};
  };
  absl::InlinedVector<uint32_t, 64> candidates;
  places.order(TableView::clustered).visit_between(key, key, [&](const SegmentRange& candidate) {
    candidates.push_back(candidate.segment);
    if (readers != nullptr) readers->prefetch(candidate.segment, hash);
    return true;
  });
  for (const uint32_t position : candidates) HAILSTONE_TRY(look(position));
  count(host.counters().bloom_filter_skips, ruled_out);
  return matches;
}

NewestRow Table::State::find_newest(const TableView& places, const SegmentMatches& matches, ByteView key,
                                    Timestamp own) const {
  NewestRow result;
  // At most one version of a key is live; older ones may be anywhere. In a delta only the newest of a key can
  // be live or undecided.
  for (const auto& delta : places.deltas) {
    const SharedLock guard(latch());
    if (delta->rows.version_count() == 0) continue;
    Version* const version = delta->rows.find(key);
    if (version == nullptr) continue;
    const auto [begin, end] = version->span();
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
  for (const SegmentMatch& rows : matches) {
    const auto& segment = rows.segment;
    const Timestamp shared_begin = segment->shared_begin();
    const SharedLock guard(latch());
    for (uint32_t ordinal = rows.range.first; ordinal < rows.range.last; ++ordinal) {
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
                      .begin = rows.begins.empty() ? shared_begin : rows.begins[ordinal - rows.range.first]};
      result.blocker = 0;
      return result;
    }
  }
  return result;
}

Result<RowPlace> Table::State::find_latest(ByteView key) const {
  for (;;) {
    const auto looked_at = current_view();
    HAILSTONE_ASSIGN(const SegmentMatches matches, match_key(*looked_at, key));
    const MutexLock writers(write_mutex());
    const auto places = current_view();
    if (places->orders != looked_at->orders) continue;  // other segments: look again
    const SharedLock guard(latch());
    for (const auto& delta : places->deltas) {
      if (delta->rows.version_count() == 0) continue;
      Version* const version = delta->rows.find(key);
      if (version == nullptr || version->end() != infinity) continue;
      return RowPlace{.delta = delta, .version = version, .segment = nullptr, .begin = version->begin()};
    }
    for (const SegmentMatch& rows : matches) {
      for (uint32_t ordinal = rows.range.first; ordinal < rows.range.last; ++ordinal) {
        if (rows.segment->ends->end(ordinal) != infinity) continue;
        return RowPlace{.delta = nullptr,
                        .version = nullptr,
                        .segment = rows.segment,
                        .ordinal = ordinal,
                        .begin = rows.segment->shared_begin()};
      }
    }
    return RowPlace{};
  }
}

Result<bool> Table::State::is_unchanged(const RowPlace& place, const Snapshot& snapshot) const {
  if (place.version != nullptr) {
    const auto [begin, end] = place.version->span();
    return snapshot.includes(begin) && end == infinity;
  }
  BlockReader reader(place.segment->columns);
  HAILSTONE_ASSIGN(const Timestamp begin, place.segment->begin_of(reader, place.ordinal));
  const SharedLock guard(latch());
  return snapshot.includes(begin) && place.segment->ends->end(place.ordinal) == infinity;
}

Result<RowPlace> Table::State::find_visible(const TableView& places, ByteView key, const Snapshot& snapshot,
                                            const Transaction& transaction, SegmentReaders* readers) {
  const auto superseded = transaction.superseded(id);
  const bool own_only = superseded != nullptr && superseded->contains(key, transaction.own_writes());
  for (const auto& delta : places.deltas) {
    const SharedLock guard(latch());
    if (delta->rows.version_count() == 0) continue;
    for (Version* version = delta->rows.find(key); version != nullptr; version = version->older()) {
      const auto [begin, end] = version->span();
      if (own_only && begin != snapshot.own) continue;
      if (snapshot.sees(begin, end)) {
        return RowPlace{.delta = delta, .version = version, .segment = nullptr, .begin = begin};
      }
    }
  }
  RowPlace found;
  if (readers != nullptr) readers->follow(places);
  const uint64_t hash = hash_bytes(key);
  const auto look = [&](uint32_t position) -> Status {
    const std::shared_ptr<TableSegment>& segment = places.segments[position];
    if (segment->columns.begin() < 0 && !snapshot.includes(segment->shared_begin())) return {};
    SegmentReaders::Reader* const reader = readers == nullptr ? nullptr : &readers->at(places, position);
    HAILSTONE_ASSIGN(const OrdinalRange range,
                     find_clustered(*segment, *keys, key, hash, host.counters(), reader));
    if (range.empty()) return {};
    std::optional<BlockReader> own;
    BlockReader& blocks = reader == nullptr ? own.emplace(segment->columns) : reader->blocks();
    for (uint32_t ordinal = range.first; ordinal < range.last; ++ordinal) {
      HAILSTONE_ASSIGN(const Timestamp begin, segment->begin_of(blocks, ordinal));
      if (own_only && begin != snapshot.own) continue;
      const SharedLock guard(latch());
      if (snapshot.sees(begin, segment->ends->end(ordinal))) {
        found = {
            .delta = nullptr, .version = nullptr, .segment = segment, .ordinal = ordinal, .begin = begin};
        return {};
      }
    }
    return {};
  };
  Status status;
  places.order(TableView::clustered).visit_between(key, key, [&](const SegmentRange& candidate) {
    status = look(candidate.segment);
    return status && !found.found();
  });
  HAILSTONE_TRY(status);
  return found;
}

Result<UniqueMatches> Table::State::match_unique(const TableView& places, size_t secondary,
                                                 ByteView index_key, SegmentReaders* readers) const {
  UniqueMatches matches;
  if (readers != nullptr) readers->follow(places);
  const uint64_t hash = hash_bytes(index_key);
  const auto look = [&](uint32_t in_view) -> Status {
    const std::shared_ptr<TableSegment>& segment = places.segments[in_view];
    const KeyFilter& filter = segment->segment->index_filter(secondary);
    HAILSTONE_ASSIGN(
        const bool may_contain,
        filter.admits(
            hash, readers == nullptr ? nullptr : &readers->at(places, in_view).filter_of_index(secondary)));
    if (!may_contain) {
      count(host.counters().bloom_filter_skips);
      return {};
    }
    SegmentKeys entries(*segment, *keys, secondary);
    HAILSTONE_ASSIGN(uint32_t position, entries.lower_bound(index_key));
    std::string key;
    for (; position < entries.entries(); ++position) {
      HAILSTONE_TRY(entries.key(position, key));
      if (!key.starts_with(index_key)) break;
      HAILSTONE_ASSIGN(const uint32_t ordinal, entries.ordinal(position));
      matches.push_back({segment, ordinal, key.substr(index_key.size())});
    }
    return {};
  };
  Status status;
  places.order(secondary).visit_between(index_key, index_key, [&](const SegmentRange& candidate) {
    status = look(candidate.segment);
    return status.has_value();
  });
  HAILSTONE_TRY(status);
  return matches;
}

Table::State::UniqueEntry Table::State::find_unique(const TableView& places, const UniqueMatches& matches,
                                                    size_t secondary, ByteView index_key, ByteView except,
                                                    Timestamp own) const {
  UniqueEntry result;
  // True: decided, stop looking.
  const auto consider = [&](Timestamp begin, Timestamp end, ByteView clustered) {
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
    const SharedLock guard(latch());
    if (delta->rows.version_count() == 0) continue;
    const auto& tree = delta->rows.secondary(secondary);
    for (auto entry = tree.lower_bound(index_key); entry != tree.end(); ++entry) {
      const ByteView entry_key = entry.key();
      if (!entry_key.starts_with(index_key)) break;
      const auto [begin, end] = entry.version()->span();
      if (consider(begin, end, entry_key.substr(index_key.size()))) return result;
    }
  }
  const SharedLock guard(latch());
  for (const UniqueMatch& match : matches) {
    if (consider(match.segment->shared_begin(), match.segment->ends->end(match.ordinal), match.clustered_key))
      return result;
  }
  return result;
}

Status Table::State::read_place(const RowPlace& place, const Projection& projection, SegmentReaders& readers,
                                Batch& batch, std::span<Value> values) {
  batch.clear();
  if (place.segment != nullptr)
    return projection.read_row(readers.of(place.segment).blocks(), place.ordinal, batch, values);
  // Copied: the delta may be gone when the caller looks at the values.
  const ByteView row = batch.scratch.copy(place.version->row());
  projection.decode(row, row_id_of(place.version->key()), values);
  return {};
}

}  // namespace hailstone
