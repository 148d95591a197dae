// The word to stop, for threads that wait for time or for descriptors. Any thread.
#pragma once

#include <chrono>
#include <memory>

#include "base/status.h"

namespace hailstone {

class Stop {
 public:
  static Result<std::unique_ptr<Stop>> make();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void request();
  bool is_requested() const;
  /// True: stop was asked for, now or before the time had passed.
  bool wait(std::chrono::milliseconds time) const;
  /// Readable once stop has been asked for: for poll().
  int descriptor() const { return descriptor_; }

 private:
  explicit Stop(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

}  // namespace hailstone
