// What joins that have begun know of their rows, and the order that costs least from there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query/join/join_search.h"

namespace hailstone {

/// By the time that some build sides of a tree are read. Tables are bits of their numbers.
struct JoinsSoFar {
  struct Rows {
    uint64_t tables = 0;   // joined
    double rows = 0;       // that come of them
    bool are_all = false;  // else there are more
  };
  struct Join {
    uint64_t probe = 0, build = 0;
    bool is_built = false;  // all rows of the build side are there
  };
  std::vector<Rows> known = {};  // by joins of the tree, or of one before it
  std::vector<Join> joins = {};  // of the tree, inner ones first
  /// To begin anew is worth it if it costs at most so much of what is left: estimates of what comes later are
  /// wrong, too.
  double most_share = 0.5;
};

/// The steps for members of which each is some tables.
struct StepsAgain {
  std::vector<JoinStep> steps;
  bool are_better = false;  // else they are those that have begun
};
/// `tables`: those of each of the graph's members, all of which the tree joins.
StepsAgain choose_steps_again(JoinGraph graph, std::span<const uint64_t> tables, const JoinsSoFar& so_far);

}  // namespace hailstone
