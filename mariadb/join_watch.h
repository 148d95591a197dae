// Watches the build sides of a block's joins while they are read. Where one has far more or fewer rows than
// were estimated, the order of the joins is chosen again, by what is known then: nothing has been made of the
// rows yet, as those of the first probe side come when all build sides are there. Belongs to the connection's
// thread.
#pragma once

#include <memory>
#include <vector>

#include "join_tree.h"
#include "query/join/hash_join.h"

namespace hailstone {

class JoinWatch {
 public:
  explicit JoinWatch(std::shared_ptr<const FromClause> from);

  /// The joins of a tree are opened, inner ones first.
  void begin();
  struct Sides {
    uint64_t probe = 0, build = 0;  // tables, a bit for each number
    double rows = 0;                // estimated: that the build side has
    /// Estimated: that the scan of a table gives, whose own conditions leave those; 0: the side is a join.
    double scanned = 0;
  };
  /// Of the next one. What is returned ends the reading with an error where another tree is better. Null:
  /// nothing is to be watched.
  HashJoin::WatchBuild watch(const Sides& sides);
  /// Whether there is a tree that is better.
  bool has_plan() const { return plan_ != nullptr; }
  /// That tree, once.
  std::unique_ptr<JoinNode> take_plan() { return std::move(plan_); }

 private:
  Status note(size_t join, const Sides& sides, const HashJoin::BuiltRows& built);
  void keep(const JoinsSoFar::Rows& found);

  const std::shared_ptr<const FromClause> from_;
  bool is_worth_it_ = false;
  unsigned choices_ = 0;
  JoinsSoFar so_far_;
  std::vector<double> asks_beyond_;  // of each join: rows at which to choose again
  std::unique_ptr<JoinNode> plan_;
};

}  // namespace hailstone
