#include "join_watch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "join_estimate.h"
#include "variables.h"

namespace hailstone {

namespace {

/// So many times as many rows as estimated, or as few.
constexpr double far_off = 4;
/// What has been read of build sides is read again each time.
constexpr unsigned most_choices = 3;

}  // namespace

JoinWatch::JoinWatch(std::shared_ptr<const FromClause> from) : from_(std::move(from)) {
  const auto& sources = from_->sources->all();
  double rows = 0;
  for (const SourceTables::Source& source : sources) rows += rows_of_table(source);
  const double least = plan_again_rows(&from_->sources->thd());
  is_worth_it_ = rows >= least;
  if (least == 0) so_far_.most_share = std::numeric_limits<double>::infinity();
}

void JoinWatch::begin() {
  so_far_.joins.clear();
  asks_beyond_.clear();
}

HashJoin::WatchBuild JoinWatch::watch(const Sides& sides) {
  if (!is_worth_it_ || choices_ == most_choices) return nullptr;
  const size_t join = so_far_.joins.size();
  so_far_.joins.push_back({.probe = sides.probe, .build = sides.build});
  asks_beyond_.push_back(std::max(1.0, sides.rows) * far_off);
  return [this, join, sides](const HashJoin::BuiltRows& built) { return note(join, sides, built); };
}

Status JoinWatch::note(size_t join, const Sides& sides, const HashJoin::BuiltRows& built) {
  auto rows = static_cast<double>(built.rows);
  const bool are_known = built.are_all && !built.are_filtered;
  const bool are_more = rows > asks_beyond_[join];
  so_far_.joins[join].is_built = built.are_all;
  if (!are_more && !built.are_all) return {};
  // As many of those that the scan will give as of those that it has given.
  if (const auto given = static_cast<double>(built.of_scans); !built.are_all && given != 0)
    rows = std::max(rows, rows / given * sides.scanned);
  asks_beyond_[join] = std::max(asks_beyond_[join], rows) * far_off;
  keep({.tables = sides.build, .rows = rows, .are_all = are_known});
  if (!are_more && !(are_known && std::max(1.0, rows) * far_off < sides.rows)) return {};
  plan_ = plan_joins_again(*from_, so_far_);
  if (plan_ == nullptr) return {};
  ++choices_;
  return fail(ErrorCode::Interrupted, "the order of the joins is to be chosen again");
}

/// Trees before this one may know all rows.
void JoinWatch::keep(const JoinsSoFar::Rows& found) {
  const auto known = std::ranges::find(so_far_.known, found.tables, &JoinsSoFar::Rows::tables);
  if (known == so_far_.known.end()) {
    so_far_.known.push_back(found);
  } else if (!known->are_all) {
    *known = found;
  }
}

}  // namespace hailstone
