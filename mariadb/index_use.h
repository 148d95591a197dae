// Whether the server would be quicker by an index than the engine by a scan. Belongs to the connection's
// thread.
#pragma once

#include <optional>
#include <vector>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class HailstoneHandler;
struct PushedCondition;

/// Rows that a scan passes in the time in which the server reads one by an index.
constexpr double rows_scanned_in_time_of_one = 30;

/// So few are never slow by an index, however small the table is.
constexpr double few_rows = 10;

struct FewRows {
  Item* condition = nullptr;  // that leads to them; null: none does
  double rows = 0;            // estimated
};

/// Of conditions that must all hold, one for which an index may lead to so few rows that the server is
/// quicker by it. `readers`: of the table, or of its partitions. `pushed`: what the engine makes of the
/// conditions. What one leaves of an index is estimated as far as the engine knows its limits; where it does
/// not, it may be few.
FewRows leads_to_few_rows(const TABLE& table, const std::vector<HailstoneHandler*>& readers,
                          const std::vector<Item*>& conditions, const std::vector<PushedCondition>& pushed);

/// How many of the index's entries may be of rows for which these conditions, all of which must hold, are
/// true, by what they say of its first column.
double entries_within(const TABLE& table, const std::vector<HailstoneHandler*>& readers, uint index,
                      const std::vector<PushedCondition>& pushed);

/// How many rows an index that begins with the field has for one of its values; nothing: there is no such
/// index.
std::optional<double> rows_for_value(const Field& field);

/// The column that the condition says is equal to a constant, which an index on it finds as it is; null: none
/// is known.
const Field* found_by_constant(Item& condition);

/// Of conditions that must all hold, one of those by which the server reads one row by a unique key; null:
/// they are not known to name one. Known at once, before anything is made of the conditions.
Item* finds_one_row(const TABLE& table, const std::vector<Item*>& conditions);

}  // namespace hailstone
