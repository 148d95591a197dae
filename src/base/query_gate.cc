#include "base/query_gate.h"

#include <optional>

namespace hailstone {

namespace {

/// How long one that waits sleeps at most before it looks whether it is to end.
constexpr std::chrono::milliseconds interruption_interval{50};

}  // namespace

/// What the gate lets in.
struct QueryGate::Share {
  explicit Share(QueryGate& its_gate) : gate(its_gate) {}
  ~Share() {
    // First, as who is let in then takes as much.
    memory.reset();
    if (floor != 0) gate.leave(floor);
  }

  QueryGate& gate;
  size_t floor = 0;  // 0: it has not been let in
  std::optional<MemoryBudget> memory;
};

/// The floor is among those of the gate by now.
std::shared_ptr<MemoryBudget> QueryGate::begin(const std::shared_ptr<Share>& share, size_t floor) {
  share->floor = floor;
  return {share, &share->memory.emplace(share->gate.budget_, floor)};
}

Result<std::shared_ptr<MemoryBudget>> QueryGate::enter(size_t floor,
                                                       const std::function<bool()>& interrupted) {
  const auto share = std::make_shared<Share>(*this);
  {
    const MutexLock guard(mutex_);
    const auto place = waiting_.insert(waiting_.end(), floor);
    const auto may_go = [&]() HAILSTONE_REQUIRES(mutex_) {
      return place == waiting_.begin() && has_room(floor);
    };
    bool ends = false;
    if (!may_go()) {
      count(counters_.query_waits);
      count(counters_.queries_waiting);
      const auto latest = std::chrono::steady_clock::now() + longest_wait_;
      while (!may_go() && !ends && std::chrono::steady_clock::now() < latest) {
        changed_.wait_for(mutex_, interruption_interval);
        const MutexUnlock unlocked(mutex_);
        ends = interrupted();
      }
      counters_.queries_waiting.fetch_sub(1, std::memory_order_relaxed);
    }
    waiting_.erase(place);
    if (!ends) floors_ += floor;
    changed_.notify_all();
    if (ends) return fail(ErrorCode::Interrupted, "interrupted while it waited for memory to begin with");
  }
  return begin(share, floor);
}

std::shared_ptr<MemoryBudget> QueryGate::enter_at_once(size_t floor) {
  const auto share = std::make_shared<Share>(*this);
  {
    const MutexLock guard(mutex_);
    floors_ += floor;
  }
  return begin(share, floor);
}

void QueryGate::leave(size_t floor) noexcept {
  const MutexLock guard(mutex_);
  floors_ -= floor;
  changed_.notify_all();
}

}  // namespace hailstone
