#include "table/cursor_sources.h"

#include <algorithm>

namespace hailstone {

namespace {
/// Segments that stay open though the cursor has left them: it may come back.
constexpr size_t most_left_open = 16;
}  // namespace

void CursorSources::open(std::shared_ptr<const TableView> view, const Visibility& visibility) {
  segments_.clear();
  deltas_.clear();
  view_ = std::move(view);
  visibility_ = visibility;
  for (const auto& delta : view_->deltas) {
    deltas_.push_back(make_delta_source(delta, secondary_, visibility_, projection_));
  }
  let_wait(0);
}

void CursorSources::let_wait(size_t next) {
  const SegmentOrder& order = view_->order(secondary_);
  next_ = next;
  if (direction_ == Direction::Forward) {
    waiting_ = next_ < order.by_first().size() ? &order.by_first()[next_] : nullptr;
  } else {
    waiting_ = next_ > 0 ? &order.by_last()[next_ - 1] : nullptr;
  }
}

CursorSource& CursorSources::source_of(uint32_t segment) {
  for (const OpenSegment& open : segments_) {
    if (open.segment == segment) return *open.source;
  }
  segments_.push_back(
      {segment, make_segment_source(view_->segments[segment], table_, secondary_, visibility_, projection_)});
  return *segments_.back().source;
}

void CursorSources::let_go() {
  if (segments_.size() <= most_left_open) return;
  std::erase_if(segments_, [](const OpenSegment& open) { return !open.source->valid; });
}

Status CursorSources::seek(Direction direction, const SeekBound& bound) {
  direction_ = direction;
  waits_ = !bound.prefix;
  for (const OpenSegment& open : segments_) open.source->valid = open.source->in_run = false;
  HAILSTONE_TRY(seek_deltas(bound));
  const SegmentOrder& order = view_->order(secondary_);
  const bool forward = direction == Direction::Forward;
  if (forward) {
    let_wait(order.by_first().rank_behind(bound.key));
  } else if (bound.unbounded) {
    let_wait(order.by_last().size());
    return {};
  } else {
    let_wait(order.by_last().rank_of(bound.key));
  }
  if (bound.prefix) return seek_prefix(bound);
  if (forward && bound.key.empty()) return {};
  Status status;
  order.visit_between(bound.key, bound.key, [&](const SegmentRange& range) {
    if (bound.key < range.first) return true;  // waits, or lies behind
    status = source_of(range.segment).seek(direction, bound);
    return status.has_value();
  });
  HAILSTONE_TRY(status);
  let_go();
  return {};
}

Status CursorSources::seek_prefix(const SeekBound& bound) {
  Status status;
  view_->order(secondary_).visit_between(bound.key, bound.key, [&](const SegmentRange& range) {
    status = source_of(range.segment).seek(Direction::Forward, bound);
    return status.has_value();
  });
  HAILSTONE_TRY(status);
  let_go();
  // Several sources are merged by key; one needs none.
  size_t valid = 0;
  for_each_source([&](const CursorSource& source) { valid += source.valid ? 1 : 0; });
  if (valid < 2) return {};
  for_each_source([&](CursorSource& source) {
    if (status && source.valid) status = source.end_run();
  });
  return status;
}

Status CursorSources::seek_deltas(const SeekBound& bound) {
  for (const auto& source : deltas_) HAILSTONE_TRY(source->seek(direction_, bound));
  return {};
}

CursorSource* CursorSources::nearest_open(const CursorSource* except) const {
  CursorSource* best = nullptr;
  for_each_source([&](CursorSource& source) {
    if (!source.valid || &source == except) return;
    if (best == nullptr || comes_before(source.key, best->key)) best = &source;
  });
  return best;
}

std::optional<CursorSource*> CursorSources::nearest_if_open() const {
  CursorSource* const best = nearest_open();
  const SegmentRange* const range = waiting();
  if (range == nullptr) return best;
  const ByteView edge = direction_ == Direction::Forward ? range->first : range->last;
  if (best != nullptr && comes_before(best->key, edge)) return best;
  return std::nullopt;
}

Status CursorSources::open_waiting() {
  let_go();
  const uint32_t segment = waiting()->segment;
  const bool forward = direction_ == Direction::Forward;
  let_wait(forward ? next_ + 1 : next_ - 1);
  return source_of(segment).seek(direction_, {.key = {}, .after = false, .unbounded = !forward});
}

Result<CursorSource*> CursorSources::nearest() {
  for (;;) {
    if (const auto best = nearest_if_open()) return *best;
    HAILSTONE_TRY(open_waiting());
  }
}

const ByteView* CursorSources::rival_of(const CursorSource* current) {
  const CursorSource* const other = nearest_open(current);
  const SegmentRange* const range = waiting();
  if (other == nullptr && range == nullptr) return nullptr;
  if (range != nullptr) rival_ = direction_ == Direction::Forward ? range->first : range->last;
  if (range == nullptr || (other != nullptr && comes_before(other->key, rival_))) rival_ = other->key;
  return &rival_;
}

Status CursorSources::leave_key(ByteView key) {
  Status status;
  for_each_source([&](CursorSource& source) {
    while (status && source.valid && source.key == key) status = source.step();
  });
  return status;
}

void CursorSources::forget() {
  for_each_source([](CursorSource& source) { source.forget(); });
}

}  // namespace hailstone
