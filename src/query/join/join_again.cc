#include "query/join/join_again.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

namespace {

/// The members that have all of these tables between them, and no others; nothing: there are none.
std::optional<JoinMembers> members_that_are(uint64_t wanted, std::span<const uint64_t> tables) {
  JoinMembers members = 0;
  uint64_t of_members = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    if ((tables[i] & ~wanted) != 0) continue;
    members |= bit_of(i);
    of_members |= tables[i];
  }
  return of_members == wanted ? std::optional(members) : std::nullopt;
}

BegunJoins begun_joins(const JoinGraph& graph, std::span<const uint64_t> tables, const JoinsSoFar& so_far) {
  BegunJoins begun;
  std::vector<JoinMembers> made;
  for (size_t i = 0; i < tables.size(); ++i) made.push_back(bit_of(i));
  const auto number_of = [&made](JoinMembers members) {
    return static_cast<size_t>(std::ranges::find(made, members) - made.begin());
  };
  for (const JoinsSoFar::Join& join : so_far.joins) {
    const auto probe = members_that_are(join.probe, tables), build = members_that_are(join.build, tables);
    // One within a member, or of members and what is joined to them.
    if (!probe || !build) continue;
    begun.steps.push_back({number_of(*probe), number_of(*build), graph.rows_of(*probe | *build)});
    begun.built.push_back(join.is_built);
    made.push_back(*probe | *build);
  }
  HAILSTONE_CHECK(begun.steps.size() + 1 == tables.size(), "{} parts were joined in {} steps", tables.size(),
                  begun.steps.size());
  return begun;
}

}  // namespace

StepsAgain choose_steps_again(JoinGraph graph, std::span<const uint64_t> tables, const JoinsSoFar& so_far) {
  for (const JoinsSoFar::Rows& known : so_far.known) {
    const auto members = members_that_are(known.tables, tables);
    if (members && (known.are_all || known.rows > graph.rows_of(*members)))
      graph.set_rows_of(*members, known.rows);
  }
  BegunJoins begun = begun_joins(graph, tables, so_far);
  std::vector<JoinStep> better = search_joins_again(graph, begun, so_far.most_share);
  if (better.empty()) return {.steps = std::move(begun.steps)};
  return {.steps = std::move(better), .are_better = true};
}

}  // namespace hailstone
