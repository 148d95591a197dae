// A line on the terminal that shows how far a long job is and how long it will still take. Shows nothing when
// stderr is no terminal. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hailstone {

class Progress {
 public:
  /// `what`: "loading"; `all`: the amount in the end, 0 when it cannot be known.
  Progress(std::string what, uint64_t all);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `detail` follows the bar: "1,234 rows".
  void update(uint64_t done, const std::string& detail = {});
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const std::string what_;
  const uint64_t all_;
  const bool terminal_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_;
  bool visible_ = false;
};

}  // namespace hailstone
