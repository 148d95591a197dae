// What `hailstone collect` shows: events as lines of text or JSON on standard error, and on a terminal a line
// below them that says how far each stream is. Any thread may tell an event; the states come from one.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "collect/collector.h"

namespace hailstone {

class CollectOutput {
 public:
  explicit CollectOutput(bool as_json);
  /// Takes the line away.
  ~CollectOutput();
  CollectOutput(const CollectOutput&) = delete;
  CollectOutput& operator=(const CollectOutput&) = delete;

  void tell(std::string_view stream, std::string_view message);
  /// Where it is no terminal, says once a minute what there is to say.
  void show(const CollectState& state);

 private:
  using Clock = std::chrono::steady_clock;
  void write(std::string text) HAILSTONE_REQUIRES(mutex_);

  const bool as_json_;
  const bool terminal_;
  Mutex mutex_;
  std::string line_ HAILSTONE_GUARDED_BY(mutex_);  // below the events
  CollectState before_;
  Clock::time_point shown_ = Clock::now();
};

}  // namespace hailstone
