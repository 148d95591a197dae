#include "table/ended_rows.h"

#include <algorithm>

#include "base/check.h"
#include "table/places.h"

namespace hailstone {

namespace {

/// How many different moments before `end` snapshots read. As time goes by they become fewer, never others:
/// snapshots that are taken later read later moments.
size_t moments_read_before(const SnapshotsInUse& snapshots, Timestamp end) {
  size_t count = 0;
  while (const Timestamp behind = snapshots.same_end(end)) {
    ++count;
    end = behind - 1;
  }
  return count;
}

}  // namespace

EndedRows::EndedRows(double most) : most_percent(most) {
  for (Link* const ring : {&to_look_at_, &aside_}) ring->previous_ = ring->next_ = ring;
}

void EndedRows::take_out(Link& link) {
  link.previous_->next_ = link.next_;
  link.next_->previous_ = link.previous_;
  link.previous_ = link.next_ = nullptr;
}

void EndedRows::put_at_end(Link& list, Link& link) {
  link.previous_ = list.previous_;
  link.next_ = &list;
  link.previous_->next_ = &link;
  list.previous_ = &link;
}

void EndedRows::note(TableSegment& segment, uint64_t before) noexcept {
  const uint64_t ended = segment.ends->count();
  // Wraps around where it falls.
  count.fetch_add(ended - before, std::memory_order_relaxed);
  Link& link = segment.ended_link;
  link.percent_ = static_cast<double>(ended) * 100 / segment.rows();
  const bool is_listed = link.next_ != nullptr;
  if (link.percent_ > most_percent) {
    if (is_listed && !link.was_put_aside_) return;
    if (is_listed) {
      take_out(link);
    } else {
      listed_.fetch_add(1, std::memory_order_relaxed);
      segment.is_mostly_ended.store(true, std::memory_order_relaxed);
    }
    link.was_put_aside_ = false;
    put_at_end(to_look_at_, link);
  } else if (is_listed) {
    take_out(link);
    listed_.fetch_sub(1, std::memory_order_relaxed);
    segment.is_mostly_ended.store(false, std::memory_order_relaxed);
  }
}

void EndedRows::forget(TableSegment& segment) noexcept {
  count.fetch_sub(segment.ends->count(), std::memory_order_relaxed);
  Link& link = segment.ended_link;
  if (link.next_ == nullptr) return;
  take_out(link);
  listed_.fetch_sub(1, std::memory_order_relaxed);
  segment.is_mostly_ended.store(false, std::memory_order_relaxed);
}

std::vector<EndedRows::Listed> EndedRows::to_look_at() const {
  std::vector<Listed> result;
  for (const Link* link = to_look_at_.next_; link != &to_look_at_; link = link->next_)
    result.push_back({.segment = link->segment_, .percent = link->percent_});
  return result;
}

void EndedRows::put_aside(std::span<const Looked> found, const SnapshotsInUse& snapshots) {
  for (const Looked& each : found) {
    Link& link = each.segment->ended_link;
    // An end of a commit that is not published yet becomes one of a dead row by itself.
    const bool is_settled = !snapshots.may_see(infinity, each.newest_end);
    if (link.next_ == nullptr || !is_settled || each.segment->ends->change_count() != each.changes) continue;
    take_out(link);
    put_at_end(aside_, link);
    link.was_put_aside_ = true;
    aside_until_ = std::max(aside_until_, each.newest_end);
  }
  aside_for_ = moments_read_before(snapshots, aside_until_);
}

bool EndedRows::is_snapshot_gone(const SnapshotsInUse& snapshots) const {
  return moments_read_before(snapshots, aside_until_) != aside_for_;
}

void EndedRows::look_again() {
  // Links still say that they were put aside, which costs each a change of place when its rows end.
  if (aside_.next_ != &aside_) {
    Link& first = *aside_.next_;
    Link& last = *aside_.previous_;
    first.previous_ = to_look_at_.previous_;
    first.previous_->next_ = &first;
    last.next_ = &to_look_at_;
    to_look_at_.previous_ = &last;
    aside_.previous_ = aside_.next_ = &aside_;
  }
  aside_until_ = 0;
  aside_for_ = 0;
}

}  // namespace hailstone
