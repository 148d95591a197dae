// Whether rows that a bulk load has put into segments of its own are refused by a unique index: because two
// of them have the same key, or because a row with the key is in the table. The segments are in the table's
// view already, as uncommitted ones: who inserts such a key from then on waits.
#pragma once

#include <vector>

#include "table/table_state.h"

namespace hailstone {

using LoadedSegments = std::vector<std::shared_ptr<TableSegment>>;

/// Waits for the transactions that have read ranges of the table, in which nobody may make rows before their
/// end. Those that read from now on meet the loaded rows.
Status wait_for_range_readers(Table::State& state, Transaction& transaction);

/// For a load beside others that tell duplicates by row: waits for those that have taken a key of ours. Gives
/// the places to check against, in which all is that others have put into the table meanwhile.
Result<std::shared_ptr<const TableView>> wait_for_loads(Table::State& state, Transaction& transaction,
                                                        const LoadedSegments& loaded);

/// `places`: those of the table from before the segments were added. Undecided rows of other
/// transactions are waited for. ErrorCode::DuplicateKey fills `duplicate`.
Status check_loaded(Table::State& state, Transaction& transaction, const LoadedSegments& loaded,
                    std::shared_ptr<const TableView> places, Duplicate& duplicate);

std::unexpected<Error> refuse_duplicate(const Table::State& state, size_t index);

}  // namespace hailstone
