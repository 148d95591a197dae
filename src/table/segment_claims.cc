#include "table/segment_claims.h"

#include <chrono>

namespace hailstone {

namespace {

/// How long a waiter sleeps at most before it looks at its stop token.
constexpr std::chrono::milliseconds stop_interval{50};

}  // namespace

void SegmentClaims::add(const TableSegments& segments) {
  try {
    for (const auto& segment : segments) claimed_.insert(segment.get());
  } catch (const std::bad_alloc&) {
    for (const auto& segment : segments) claimed_.erase(segment.get());
    throw;
  }
}

TableSegments SegmentClaims::look(const Choose& choose) const {
  const MutexLock guard(mutex_);
  return waiting_for_all_ > 0 ? TableSegments() : choose(claimed_);
}

std::optional<SegmentClaims::Claim> SegmentClaims::claim(const Choose& choose) {
  const MutexLock guard(mutex_);
  if (waiting_for_all_ > 0) return std::nullopt;
  TableSegments chosen = choose(claimed_);
  if (chosen.empty()) return std::nullopt;
  add(chosen);
  return Claim(*this, std::move(chosen));
}

bool SegmentClaims::asked_to_stop(const StopToken& stop) {
  const MutexUnlock unlocked(mutex_);
  return stop.stop_requested();
}

Result<SegmentClaims::Claim> SegmentClaims::claim_all(const Choose& choose, const StopToken& stop) {
  const MutexLock guard(mutex_);
  ++waiting_for_all_;
  while (!claimed_.empty()) {
    if (asked_to_stop(stop)) {
      --waiting_for_all_;
      return fail(ErrorCode::Interrupted, "interrupted while waiting for a merge of the table");
    }
    // A release may have come meanwhile. Too early an end of the wait is one look more.
    if (!claimed_.empty()) released_.wait_for(mutex_, stop_interval);
  }
  --waiting_for_all_;
  TableSegments chosen = choose(claimed_);
  add(chosen);
  return Claim(*this, std::move(chosen));
}

void SegmentClaims::release(const TableSegments& segments) {
  {
    const MutexLock guard(mutex_);
    for (const auto& segment : segments) claimed_.erase(segment.get());
  }
  released_.notify_all();
}

}  // namespace hailstone
