// What a join is to do.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "query/computed_rows.h"

namespace hailstone {

struct JoinPlan {
  enum class Kind : uint8_t {
    Inner,  // each pair
    Left,   // each pair, and rows of the probe side that are in none, with NULL for the other side's columns
    Semi,   // rows of the probe side that are in a pair, once
    Anti,   // those that are in none, with NULL as above
  };
  struct Key {
    uint16_t probe = 0, build = 0;  // positions
    bool nulls_are_equal = false;   // as <=> has it; else NULL is equal to nothing
  };
  Kind kind = Kind::Inner;
  std::vector<Key> keys = {};              // none: every row with every row
  std::vector<uint16_t> from_build = {};   // positions that are wanted of the build side
  std::vector<uint16_t> left_behind = {};  // those of the probe side that nothing reads any more
  /// What a pair must fulfil, too. Then `from_build` has what that reads. May be null.
  std::shared_ptr<const Program> conditions = {};
  Program::Register passes = Program::none;
  /// The same, by the embedding application, which has no columns of its own then. May be null.
  std::shared_ptr<HostExpressions> host = {};
  /// The probe side seems to have few rows, and the build side many: then it is read first (KeptRows).
  bool probe_first = false;
  size_t width = 0;  // how many columns the rows have
};

}  // namespace hailstone
