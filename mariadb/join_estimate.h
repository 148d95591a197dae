// How many rows and values joins will meet, by the statistics of tables and by samples of their blocks.
// Errors of the reads are left to the statement's own. Belongs to the connection's thread.
#pragma once

#include <optional>
#include <vector>

#include "pushdown.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether equal values of both are the same numbers in their tables.
bool are_stored_alike(const Field& one, const Field& other);

double rows_of_table(const SourceTables::Source& source);

/// How many rows of a table fulfil all these conditions; a row at least.
struct MatchingRows {
  double by_predicates = 1;  // as far as these tell
  double all = 1;
};
MatchingRows rows_that_match(const SourceTables::Source& source,
                             const std::vector<PushedCondition>& conditions);

/// Of a table's rows that fulfil conditions.
struct FoundRows {
  double rows = 0;
  std::vector<IntegerRange> ranges = {};  // of each column: its least and its greatest value
};
/// Looks at all rows, for columns of whole numbers or days. Nothing: none fulfils the conditions, or a column
/// has no value in those that do.
std::optional<FoundRows> find_rows(const SourceTables::Source& source,
                                   const std::vector<PushedCondition>& conditions,
                                   const std::vector<const Field*>& fields);

struct DistinctValues {
  double values = 1;
  bool is_known = false;  // else there are no more
};
/// Of a column, or of several together.
DistinctValues distinct_values_of(const SourceTables::Source& source,
                                  const std::vector<const Field*>& fields);

}  // namespace hailstone
