// What the engine is to do for a whole SELECT over one table, or over views of it that the server merges:
// made of the server's description before it has been optimised, once for each execution. Belongs to the
// connection's thread.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "query/sorted_rows.h"
#include "row_block.h"
#include "select_outcome.h"
#include "statement_items.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// ORDER BY, with a LIMIT or without: the rows, of which the server then evaluates what it sends.
struct SelectBlock : RowBlock {
  struct Order {
    RowColumn by;
    bool descending = false;
    bool nullable = true;
  };
  using RowBlock::RowBlock;

  std::vector<Order> order;
  size_t offset = 0;
  size_t most = 0;  // rows, those before the offset included
  /// Few rows are wanted: what is shown of them is read when they are known. Else it is read with all rows.
  bool first_rows = true;
  std::vector<const Field*> shown;  // stored fields that the result reads
  bool shows_virtual = false;       // fields that the server makes of these

  /// What it does, in words.
  std::string describe() const;
};

std::expected<SelectBlock, Declined> make_select_block(THD& thd, SELECT_LEX& select,
                                                       const SelectSource& source, HailstoneHandler& reader);

}  // namespace hailstone
