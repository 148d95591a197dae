// Limits the memory of this process, page cache of its files included, by a control group of its own below
// the one that it is in, until destroyed. Versions 1 and 2 of control groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace hailstone {

class MemoryLimit {
 public:
  /// ErrorCode::Unsupported, with the reason and what to do, where the system does not permit it.
  static Result<std::unique_ptr<MemoryLimit>> set(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  MemoryLimit(std::string parent, std::string group) : parent_(std::move(parent)), group_(std::move(group)) {}

  const std::string parent_, group_;  // folders
};

}  // namespace hailstone
