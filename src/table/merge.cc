// Which segments are merged, so that there are few places to look for a key in, and no room is taken by dead
// rows. How is in segment_merge.h.
//
// Merged are: a segment of which a good part is dead; many small ones; or, at the key where most segments
// meet, those of one tier when they have become many. Segments of a tier have about as many bytes for their
// width, which is the number of segments of the table that they overlap. A merge of a tier makes segments of
// the next one, which has several times the bytes, so that a row is written again once for each such step of
// the table's size, however its keys come. Segments that overlap no other are merged with their neighbours
// only where the table has very many, and they are small beside it.
#include <algorithm>
#include <utility>

#include "table/segment_merge.h"

namespace hailstone {

namespace {

/// Segments of one tier that are merged: the more, the less often a row is written again, and the more places
/// a key may be in.
constexpr size_t least_of_tier = 8;
constexpr size_t most_of_tier = 32;
/// The densest segment of a tier has at most so many times the bytes for its width of the sparsest.
constexpr double tier_spread = 3;
/// When more segments meet at a key, some are merged even where no tier has so many.
constexpr size_t most_overlapping = 48;
constexpr size_t most_small = 32;
/// A table with more segments merges those that are small beside it.
constexpr size_t most_of_one_size = 1024;
constexpr uint64_t small_share = 8;  // a small segment is less than this part of a full one

ByteView first_key(const TableSegment& segment) { return segment.segment->first_key(); }
ByteView last_key(const TableSegment& segment) { return segment.segment->last_key(); }

bool is_mergeable(const TableSegment& segment, const SegmentClaims::Claimed& claimed) {
  return !is_marker(segment.shared_begin()) && !claimed.contains(&segment);
}

TableSegments mergeable_segments(const Table::State& state, const SegmentClaims::Claimed& claimed) {
  TableSegments result;
  const auto view = state.current_view();
  for (const auto& segment : view->segments) {
    if (is_mergeable(*segment, claimed)) result.push_back(segment);
  }
  return result;
}

/// The segments of a view by their keys, those that are claimed left out.
class Mergeable {
 public:
  Mergeable(std::shared_ptr<const TableView> view, const SegmentClaims::Claimed& claimed)
      : view_(std::move(view)), order_(view_->order(TableView::clustered)) {
    for (const TableSegment* const segment : claimed) {
      const auto number = view_->number_of(*segment);
      if (number) order_.erase(*SegmentOrder::range_of(*segment, TableView::clustered, *number));
    }
  }

  size_t size() const { return order_.by_first().size(); }
  /// Calls `visit` for each segment whose rows take less than so many bytes, by key, with its rank. False
  /// from it ends the visit. Those of open transactions are left out.
  template <typename Visit>
  void for_each_smaller(uint64_t bytes, const Visit& visit) const {
    order_.by_first().visit_smaller(bytes, [&](const SegmentRange& range, size_t rank) {
      const auto& segment = view_->segments[range.segment];
      return is_marker(segment->shared_begin()) || visit(segment, rank);
    });
  }
  /// Those that meet at the key where most segments do.
  TableSegments deepest() const {
    TableSegments result;
    const auto [at, count] = order_.by_first().deepest();
    if (count < least_of_tier) return result;
    order_.visit_between(at->first, at->first, [&](const SegmentRange& range) {
      const auto& segment = view_->segments[range.segment];
      if (range.first <= at->first && !is_marker(segment->shared_begin())) result.push_back(segment);
      return true;
    });
    return result;
  }
  /// Bytes for each segment that it overlaps, itself among them.
  double density(const TableSegment& segment) const {
    const size_t begun = order_.by_first().rank_behind(last_key(segment));
    const size_t ended = order_.by_last().rank_of(first_key(segment));
    return static_cast<double>(segment.segment->file_bytes()) / static_cast<double>(begun - ended);
  }

 private:
  const std::shared_ptr<const TableView> view_;
  SegmentOrder order_;
};

/// At the key where most segments meet, the sparsest tier that has become many; empty: none has.
TableSegments overlapping_tier(const Mergeable& all) {
  const TableSegments meeting = all.deepest();
  if (meeting.size() < least_of_tier) return {};
  std::vector<std::pair<double, std::shared_ptr<TableSegment>>> by_density;
  for (const auto& segment : meeting) by_density.emplace_back(all.density(*segment), segment);
  std::ranges::stable_sort(by_density, {}, [](const auto& each) { return each.first; });
  const auto some = [&](size_t first, size_t last) {
    TableSegments result;
    for (size_t i = first; i < last; ++i) result.push_back(by_density[i].second);
    return result;
  };
  // Sparse ones first: there is least to write for each of them.
  for (size_t first = 0, last = 0; first < by_density.size(); ++first) {
    while (last < by_density.size() && by_density[last].first <= by_density[first].first * tier_spread)
      ++last;
    if (last - first >= least_of_tier) return some(first, std::min(last, first + most_of_tier));
  }
  return meeting.size() > most_overlapping ? some(0, least_of_tier) : TableSegments();
}

/// Neighbours in the order of keys that are small for a table of so many segments, though they overlap no
/// other: files of less than a part of the table, whose rows take less than half of a merge's buffer, so that
/// what becomes of them is as big as it gets. Empty: there are not so many of them side by side.
TableSegments small_neighbours(const Table::State& state, const Mergeable& all) {
  if (all.size() <= most_of_one_size) return {};
  const uint64_t small_file = state.segment_bytes.load(std::memory_order_relaxed) / most_of_one_size;
  // Merges that run at once share a buffer: what becomes of a merge now must not be small again.
  const uint64_t buffer = state.host.segment_buffer_bytes() / (1 + state.host.merges().load());
  TableSegments run;
  size_t behind = 0;  // the rank behind the run
  all.for_each_smaller(buffer / 2, [&](const auto& segment, size_t rank) {
    if (segment->segment->file_bytes() >= small_file) return true;
    if (rank != behind) {
      if (run.size() >= least_of_tier) return false;
      run.clear();
    }
    run.push_back(segment);
    behind = rank + 1;
    return run.size() < most_small;
  });
  // With less memory than that, what becomes of them may be small again.
  return run.size() < least_of_tier || !state.host.budget().could_fit(buffer) ? TableSegments() : run;
}

/// No row of the ordinal's block began before this.
Timestamp least_begin(const TableSegment& segment, uint32_t ordinal) {
  if (segment.columns.begin() < 0) return 0;
  return segment.segment->summary(static_cast<size_t>(segment.columns.begin()), ordinal / block_rows).low;
}

/// Rows that nobody sees any more. Ends that a snapshot in use still needs, or that are not committed, free
/// nothing.
EndedRows::Looked look_at(TableSegment& segment, const SnapshotsInUse& snapshots)
    HAILSTONE_REQUIRES_SHARED(table_latch) {
  EndedRows::Looked found{.segment = &segment, .changes = segment.ends->change_count()};
  segment.ends->for_each([&](uint32_t ordinal, Timestamp end) {
    if (!snapshots.may_see(least_begin(segment, ordinal), end)) ++found.dead;
    if (!is_marker(end)) found.newest_end = std::max(found.newest_end, end);
  });
  return found;
}

/// The segment of which a merge gives back most; none: nothing is to be had.
TableSegments deadest(const Table::State& state, const SegmentClaims::Claimed& claimed) {
  const TableSegments all = mergeable_segments(state, claimed);
  const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
  TableSegments best;
  uint64_t most = 0;
  const SharedLock guard(state.latch());
  for (const auto& segment : all) {
    if (segment->ends->empty()) continue;
    const uint64_t bytes =
        look_at(*segment, snapshots).dead * segment->segment->file_bytes() / std::max(segment->rows(), 1U);
    if (bytes <= most) continue;
    most = bytes;
    best = {segment};
  }
  return best;
}

/// The segment with the greatest part of ends of which too much is dead, as a merge of it writes least for
/// what it frees. Or several of which all is dead, as nothing is written for them. Empty: none.
TableSegments too_dead(const Table::State& state, const SegmentClaims::Claimed& claimed) {
  EndedRows& ended = *state.ended_rows;
  if (!ended.lists_any()) return {};
  // First, as snapshots that are taken later see no row that is dead then.
  const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
  bool is_snapshot_gone = false;
  {
    const SharedLock guard(state.latch());
    is_snapshot_gone = ended.is_snapshot_gone(snapshots);
  }
  if (is_snapshot_gone) {
    const ExclusiveLock guard(state.latch());
    ended.look_again();
  }
  std::shared_ptr<const TableView> view;  // keeps what is listed
  std::vector<EndedRows::Listed> listed;
  {
    const SharedLock guard(state.latch());
    view = state.current_view();
    listed = ended.to_look_at();
  }
  std::erase_if(listed, [&](const auto& each) { return !is_mergeable(*each.segment, claimed); });
  const auto less_ended = [](const auto& a, const auto& b) { return a.percent < b.percent; };
  std::ranges::make_heap(listed, less_ended);
  TableSegments result;
  std::vector<EndedRows::Looked> found_few;
  while (!listed.empty() && result.size() < most_small) {
    std::ranges::pop_heap(listed, less_ended);
    TableSegment& segment = *listed.back().segment;
    if (!result.empty() && listed.back().percent < 100) break;
    listed.pop_back();
    EndedRows::Looked found;
    {
      const SharedLock guard(state.latch());
      found = look_at(segment, snapshots);
    }
    const bool is_all_dead = found.dead == segment.rows();
    if (static_cast<double>(found.dead) * 100 / segment.rows() <= ended.most_percent) {
      found_few.push_back(found);
    } else if (is_all_dead || result.empty()) {
      result.push_back(view->segments[*view->number_of(segment)]);
      if (!is_all_dead) break;
    }
  }
  if (!found_few.empty()) {
    const ExclusiveLock guard(state.latch());
    ended.put_aside(found_few, snapshots);
  }
  return result;
}

/// What to merge now of what is not claimed, whatever is dead of it; empty: nothing.
TableSegments too_many(const Table::State& state, const SegmentClaims::Claimed& claimed) {
  const Mergeable all(state.current_view(), claimed);
  TableSegments small;
  all.for_each_smaller(state.host.segment_buffer_bytes() / small_share, [&](const auto& segment, size_t) {
    small.push_back(segment);
    return small.size() <= most_small;
  });
  if (small.size() > most_small) {
    small.resize(most_small);
    return small;
  }
  TableSegments tier = overlapping_tier(all);
  return tier.empty() ? small_neighbours(state, all) : tier;
}

}  // namespace

bool Table::State::merge_due() const {
  const auto choose = [&](const auto& claimed) {
    TableSegments chosen = too_dead(*this, claimed);
    return chosen.empty() ? too_many(*this, claimed) : chosen;
  };
  return !claims.look(choose).empty();
}

bool Table::merge_due() const { return state_->usable() && state_->merge_due(); }

Table::MergeOfDead Table::merge_of_dead() {
  State& state = *state_;
  // First, so that who ends rows behind the look asks again.
  state.ended_rows->told.store(false);
  if (!state.usable()) return MergeOfDead::Never;
  const auto choose = [&](const auto& claimed) { return too_dead(state, claimed); };
  if (!state.claims.look(choose).empty()) return MergeOfDead::Now;
  if (!state.ended_rows->lists_any()) return MergeOfDead::Never;
  state.ended_rows->told.store(true);
  return MergeOfDead::Later;
}

Result<bool> Table::merge(const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  bool of_dead = false;
  {
    const auto claim = state.claims.claim([&](const auto& claimed) {
      TableSegments chosen = too_dead(state, claimed);
      of_dead = !chosen.empty();
      return of_dead ? chosen : too_many(state, claimed);
    });
    if (!claim) return false;
    HAILSTONE_TRY(state.noted(merge_segments(state, claim->segments(), stop)));
  }
  HAILSTONE_TRY(state.host.record(*this));
  if (of_dead) state.host.request_checkpoint();
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
    flushes = view->deltas.size() > 1 || view->deltas.front()->dead_versions() > 0;
  }
  if (flushes) HAILSTONE_TRY(flush(true));
  const auto choose_deadest = [&](const auto& claimed) { return deadest(state, claimed); };
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
  HAILSTONE_TRY(merge_all(stop));
  // The log has rows that are in files now.
  state_->host.request_checkpoint();
  return {};
}

Status Table::merge_all(const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  {
    const auto all = [&](const auto& claimed) { return mergeable_segments(state, claimed); };
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
