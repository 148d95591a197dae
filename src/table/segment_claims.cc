#include "table/segment_claims.h"

#include <chrono>

namespace hailstone {

namespace {

/// How long a waiter sleeps at most before it looks at its stop token.
constexpr std::chrono::milliseconds stop_interval{50};

}  // namespace

TableSegments SegmentClaims::choose_unclaimed(const Choose& choose) const {
  return choose([this](const TableSegment& segment) { return claimed_.contains(&segment); });
}

void SegmentClaims::add(const TableSegments& segments) {
  try {
    for (const auto& segment : segments) claimed_.insert(segment.get());
  } catch (const std::bad_alloc&) {
    for (const auto& segment : segments) claimed_.erase(segment.get());
    throw;
  }
}

TableSegments SegmentClaims::look(const Choose& choose) const {
  const std::lock_guard guard(mutex_);
  return waiting_for_all_ > 0 ? TableSegments() : choose_unclaimed(choose);
}

std::optional<SegmentClaims::Claim> SegmentClaims::claim(const Choose& choose) {
  const std::lock_guard guard(mutex_);
  if (waiting_for_all_ > 0) return std::nullopt;
  TableSegments chosen = choose_unclaimed(choose);
  if (chosen.empty()) return std::nullopt;
  add(chosen);
  return Claim(*this, std::move(chosen));
}

Result<SegmentClaims::Claim> SegmentClaims::claim_all(const Choose& choose, const StopToken& stop) {
  std::unique_lock guard(mutex_);
  ++waiting_for_all_;
  while (!claimed_.empty()) {
    guard.unlock();
    const bool stopped = stop.stop_requested();
    guard.lock();
    if (stopped) {
      --waiting_for_all_;
      return fail(ErrorCode::Interrupted, "interrupted while waiting for a merge of the table");
    }
    released_.wait_for(guard, stop_interval, [this] { return claimed_.empty(); });
  }
  --waiting_for_all_;
  TableSegments chosen = choose_unclaimed(choose);
  add(chosen);
  return Claim(*this, std::move(chosen));
}

void SegmentClaims::release(const TableSegments& segments) {
  {
    const std::lock_guard guard(mutex_);
    for (const auto& segment : segments) claimed_.erase(segment.get());
  }
  released_.notify_all();
}

}  // namespace hailstone
