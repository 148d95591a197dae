// What a join is to do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
    /// Of texts: what makes them equal; null: the collation that both columns have.
    const Collation* collation = nullptr;
  };
  /// Of pairs, the number of the build side's row is between `least` and `greatest` of the probe side's, or
  /// on one side of one. Or it is where an interval begins, which ends at `end`: this interval and the one
  /// between the bounds have a number in common. Positions of numbers; those that are compared are of one
  /// type. NULL is in no pair.
  struct Range {
    uint16_t build = 0;
    std::optional<uint16_t> end = {};
    std::optional<uint16_t> least = {}, greatest = {};  // at least one of them; both, if there is an `end`
  };
  Kind kind = Kind::Inner;
  std::vector<Key> keys = {};              // none: every row with every row, or those in its range
  std::optional<Range> range = {};         // only where there are no keys
  std::vector<uint16_t> from_build = {};   // positions that are wanted of the build side
  std::vector<uint16_t> left_behind = {};  // those of the probe side that nothing reads any more
  /// What a pair must fulfil, too. Then `from_build` has what that reads. May be null.
  std::shared_ptr<const Program> conditions = {};
  Program::Register passes = Program::none;
  /// The same, by the embedding application, which has no columns of its own then. May be null. Beside
  /// `conditions` it is asked of the pairs of which these have a failure.
  std::shared_ptr<HostExpressions> host = {};
  /// The probe side seems to have few rows, and the build side many: then it is read first (KeptRows).
  bool probe_first = false;
  size_t width = 0;  // how many columns the rows have
};

}  // namespace hailstone
