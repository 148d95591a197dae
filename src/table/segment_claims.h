// Which segments of a table are being merged. A merge claims its segments before it reads them, so that two
// merges never take the same one, and flushes, writers and merges of other segments need not wait.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/stop_token.h"
#include "table/places.h"

namespace hailstone {

class SegmentClaims {
 public:
  /// Segments that nobody else claims as long as this lives. The claims outlive it.
  class Claim {
   public:
    Claim(SegmentClaims& claims, TableSegments segments) : claims_(&claims), segments_(std::move(segments)) {}
    Claim(Claim&& other) noexcept
        : claims_(std::exchange(other.claims_, nullptr)), segments_(std::move(other.segments_)) {}
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() {
      if (claims_ != nullptr) claims_->release(segments_);
    }
    const TableSegments& segments() const { return segments_; }

   private:
    SegmentClaims* claims_;
    TableSegments segments_;
  };

  /// Those that are claimed.
  using Claimed = std::unordered_set<const TableSegment*>;
  /// Chooses segments that are not claimed.
  using Choose = std::function<TableSegments(const Claimed&)>;

  /// What `choose` would take now; nothing while claim_all() waits.
  TableSegments look(const Choose& choose) const;
  /// Claims what `choose` takes. Nothing: it takes none, or claim_all() waits.
  std::optional<Claim> claim(const Choose& choose);
  /// Waits until nothing is claimed, keeping others from claiming meanwhile, and claims what `choose` takes.
  /// ErrorCode::Interrupted.
  Result<Claim> claim_all(const Choose& choose, const StopToken& stop);

 private:
  void add(const TableSegments& segments) HAILSTONE_REQUIRES(mutex_);
  /// Asks without the mutex, as it may take long.
  bool asked_to_stop(const StopToken& stop) HAILSTONE_REQUIRES(mutex_);
  void release(const TableSegments& segments);

  mutable Mutex mutex_;  // the table's latch is taken under it
  Condition released_;
  Claimed claimed_ HAILSTONE_GUARDED_BY(mutex_);
  size_t waiting_for_all_ HAILSTONE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hailstone
