// Asks long work to end: a scan, a merge, a check. The work looks at its token between two steps and returns
// ErrorCode::Interrupted when a stop is requested. One token serves every reason: a KILL, Ctrl-C, the close
// of the database, a sibling's error. Tokens are cheap to copy; all members are thread-safe as far as the
// function given is.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace hailstone {

class StopToken {
 public:
  /// Nobody requests a stop.
  StopToken() = default;
  /// A stop is requested when `asked` returns true. An empty std::function: never.
  template <typename Asked>
  requires std::is_invocable_r_v<bool, const Asked&> StopToken(
      Asked asked)  // NOLINT(google-explicit-constructor): callers have functions
      : asked_(std::move(asked)) {}

  bool stop_requested() const {
    return (flag_ != nullptr && flag_->load(std::memory_order_relaxed)) || (asked_ && asked_());
  }

 private:
  friend class StopSource;
  std::shared_ptr<const std::atomic<bool>> flag_;
  std::function<bool()> asked_;
};

/// Requests stops of the work that has its tokens.
class StopSource {
 public:
  StopToken token() const {
    StopToken token;
    token.flag_ = flag_;
    return token;
  }
  void request_stop() { flag_->store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace hailstone
