// The rows of a table on their way into another one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/stop_token.h"
#include "table/table.h"

namespace hailstone {

/// Makes the values of a row of the new table out of those of the old one.
using RowOfOther = std::function<Status(std::span<const Value> from, std::vector<Value>& to)>;

/// Brings all committed rows of `from`, in the order of its clustered key, into `to`, as a part of `writer`.
/// `reader` is of the database of `from`; both may be one. The caller keeps writers of `from` away.
/// ErrorCode::DuplicateKey fills `duplicate`; Interrupted.
Status copy_rows(const std::shared_ptr<Table>& from, Transaction& reader, const std::shared_ptr<Table>& to,
                 Transaction& writer, const RowOfOther& change, Duplicate& duplicate,
                 const StopToken& stop = {});

/// Whether the table has no row, whatever the transaction's snapshot is.
Result<bool> is_empty(const std::shared_ptr<Table>& table, Transaction& transaction);

}  // namespace hailstone
