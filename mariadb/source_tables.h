// The library's tables that have the rows of a table of the server: one, or, where it is partitioned, one for
// each partition that the statement reads. To the server each of them is a handler of its own, under that of
// the whole; their columns are those of the one definition.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "table/scans.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class HailstoneHandler;

/// Whether the table's rows, or those of its partitions, are in this engine.
bool is_in_engine(const TABLE& table);
/// For a table of this engine. Partitions that the statement has not chosen, or that the optimizer has found
/// to have no row of it, are left out; so there may be none. Conditions, columns and statistics of columns
/// are the same for all of them.
std::vector<HailstoneHandler*> readers_of(const TABLE& table);
/// Leaves out the partitions that have no row for which all these conditions hold, as the optimizer would
/// find them; of a statement that it will not see.
void prune(THD& thd, TABLE& table, const std::vector<Item*>& conditions);
/// Whether the columns are the same to the last detail. Not those of partitions, some of which come from an
/// earlier version of the engine, with keys in another order.
bool have_same_columns(const std::vector<HailstoneHandler*>& readers);
/// Scans of these columns of the rows that match. `readers`: not empty. A handler error or 0.
int open_scans(const std::vector<HailstoneHandler*>& readers,
               const std::shared_ptr<const Predicate>& predicate, const std::vector<uint16_t>& columns,
               std::optional<Scans>& to);
/// Estimated distinct values of a column in all of them; 0: unknown.
uint64_t distinct_values(const std::vector<HailstoneHandler*>& readers, uint16_t column);

}  // namespace hailstone
