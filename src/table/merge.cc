// Which segments are merged, so that there are few places to look for a key in, and no room is taken by dead
// rows. How is in segment_merge.h.
//
// Merged are: a segment of which a good part is dead; many small ones; or those that meet at the key where
// most segments overlap, the widest of them first, so that rows are written again only once for each doubling
// or so of the table (tiers). Segments that overlap no other are left alone.
#include <algorithm>
#include <map>

#include "table/segment_merge.h"

namespace hailstone {

namespace {

constexpr size_t most_overlapping = 8;
constexpr size_t most_small = 32;
constexpr uint64_t small_share = 8;  // a small segment is less than this part of a full one
constexpr uint64_t most_dead_percent = 30;
/// Of a table in memory: what dead rows take is more dear than the work of a merge.
constexpr uint64_t most_dead_percent_in_memory = 10;

ByteView first_key(const TableSegment& segment) { return segment.segment->first_key(); }
ByteView last_key(const TableSegment& segment) { return segment.segment->last_key(); }
bool overlap(const TableSegment& a, const TableSegment& b) {
  return first_key(a) <= last_key(b) && first_key(b) <= last_key(a);
}

TableSegments mergeable_segments(const Table::State& state, const SegmentClaims::IsClaimed& is_claimed) {
  TableSegments result;
  const auto view = state.current_view();
  for (const auto& segment : view->segments) {
    if (!is_marker(segment->shared_begin()) && !is_claimed(*segment)) result.push_back(segment);
  }
  return result;
}

/// Segments that meet at the key where most do.
TableSegments deepest(TableSegments segments) {
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return first_key(*a) < first_key(*b); });
  TableSegments open, best;
  for (const auto& segment : segments) {
    std::erase_if(open, [&](const auto& other) { return last_key(*other) < first_key(*segment); });
    open.push_back(segment);
    if (open.size() > best.size()) best = open;
  }
  return best;
}

/// No row of the ordinal's block began before this.
Timestamp least_begin(const TableSegment& segment, uint32_t ordinal) {
  if (segment.columns.begin() < 0) return 0;
  return segment.segment->summary(static_cast<size_t>(segment.columns.begin()), ordinal / block_rows).low;
}

/// Rows that nobody sees any more. Ends that a snapshot in use still needs, or that are not committed, free
/// nothing.
uint64_t dead_rows(const TableSegment& segment, const SnapshotsInUse& snapshots)
    HAILSTONE_REQUIRES_SHARED(table_latch) {
  uint64_t dead = 0;
  segment.ends->for_each([&](uint32_t ordinal, Timestamp end) {
    if (!snapshots.may_see(least_begin(segment, ordinal), end)) ++dead;
  });
  return dead;
}

/// The segment of which a merge gives back most; none: nothing is to be had.
TableSegments deadest(const Table::State& state, const SegmentClaims::IsClaimed& is_claimed) {
  const TableSegments all = mergeable_segments(state, is_claimed);
  const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
  TableSegments best;
  uint64_t most = 0;
  const SharedLock guard(state.latch());
  for (const auto& segment : all) {
    if (segment->ends->empty()) continue;
    const uint64_t bytes =
        dead_rows(*segment, snapshots) * segment->segment->file_bytes() / std::max(segment->rows(), 1U);
    if (bytes <= most) continue;
    most = bytes;
    best = {segment};
  }
  return best;
}

/// What to merge now of what is not claimed; empty: nothing.
TableSegments choose(const Table::State& state, const SegmentClaims::IsClaimed& is_claimed) {
  const TableSegments all = mergeable_segments(state, is_claimed);
  const uint64_t most_dead = state.is_in_memory() ? most_dead_percent_in_memory : most_dead_percent;
  {
    const SharedLock guard(state.latch());
    for (const auto& segment : all) {
      if (uint64_t{segment->ends->count()} * 100 <= uint64_t{segment->rows()} * most_dead) continue;
      const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
      if (dead_rows(*segment, snapshots) * 100 > uint64_t{segment->rows()} * most_dead) return {segment};
    }
  }
  const uint64_t small_bytes = state.host.segment_buffer_bytes() / small_share;
  TableSegments small;
  for (const auto& segment : all) {
    if (segment->segment->unpacked_bytes() < small_bytes) small.push_back(segment);
  }
  if (small.size() > most_small) {
    std::sort(small.begin(), small.end(),
              [](const auto& a, const auto& b) { return first_key(*a) < first_key(*b); });
    small.resize(most_small);
    return small;
  }
  TableSegments meeting = deepest(all);
  if (meeting.size() <= most_overlapping) return {};
  std::map<const TableSegment*, size_t> neighbours;
  for (const auto& segment : meeting) {
    for (const auto& other : all)
      if (overlap(*segment, *other)) ++neighbours[segment.get()];
  }
  std::stable_sort(meeting.begin(), meeting.end(),
                   [&](const auto& a, const auto& b) { return neighbours[a.get()] > neighbours[b.get()]; });
  meeting.resize(most_overlapping);
  return meeting;
}

}  // namespace

bool Table::State::merge_due() const {
  return !claims.look([this](const auto& is_claimed) { return choose(*this, is_claimed); }).empty();
}

bool Table::merge_due() const { return state_->usable() && state_->merge_due(); }

Result<bool> Table::merge(const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  {
    const auto claim = state.claims.claim([&](const auto& is_claimed) { return choose(state, is_claimed); });
    if (!claim) return false;
    HAILSTONE_TRY(state.noted(merge_segments(state, claim->segments(), stop)));
  }
  HAILSTONE_TRY(state.host.record(*this));
  return state.merge_due();
}

Status Table::compact(const std::function<bool()>& enough, const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  bool flushes = false;
  {
    const auto view = state.current_view();
    const SharedLock guard(state.latch());
    // A flush of live rows alone gives little, and many of them would leave many small segments.
    flushes = view->deltas.size() > 1 || view->deltas.front()->has_dead();
  }
  if (flushes) HAILSTONE_TRY(flush(true));
  const auto choose_deadest = [&](const auto& is_claimed) { return deadest(state, is_claimed); };
  while (!enough()) {
    {
      HAILSTONE_ASSIGN(const auto claim, state.claims.claim_all(choose_deadest, stop));
      if (claim.segments().empty()) return {};
      HAILSTONE_TRY(state.noted(merge_segments(state, claim.segments(), stop)));
    }
    HAILSTONE_TRY(state.host.record(*this));
  }
  return {};
}

Status Table::optimize(const StopToken& stop) {
  HAILSTONE_TRY(flush(true));
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  {
    const auto all = [&](const auto& is_claimed) { return mergeable_segments(state, is_claimed); };
    HAILSTONE_ASSIGN(const auto claim, state.claims.claim_all(all, stop));
    const TableSegments& segments = claim.segments();
    if (segments.empty()) return {};
    bool useful = segments.size() > 1;
    {
      const SharedLock guard(state.latch());
      useful = useful || !segments.front()->ends->empty() || segments.front()->columns.begin() >= 0;
    }
    if (!useful) return {};
    HAILSTONE_TRY(state.noted(merge_segments(state, segments, stop)));
  }
  return state.host.record(*this);
}

}  // namespace hailstone
