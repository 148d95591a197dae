// Whether rows that a bulk load has put into segments of its own are refused by a unique index: because two
// of them have the same key, or because a row with the key is in the table. The segments are in the table's
// view already, as uncommitted ones: who inserts such a key from then on waits.
#pragma once

#include <vector>

#include "table/table_state.h"

namespace hailstone {

using LoadedSegments = std::vector<std::shared_ptr<TableSegment>>;

/// `before`: the places of the table from before the segments were added. Undecided rows of other
/// transactions are waited for. ErrorCode::DuplicateKey fills `duplicate`.
Status check_loaded(const std::shared_ptr<Table>& owner, Table::State& state, Transaction& transaction,
                    const LoadedSegments& loaded, const TableView& before, Duplicate& duplicate);

std::unexpected<Error> refuse_duplicate(const Table::State& state, size_t index);

}  // namespace hailstone
