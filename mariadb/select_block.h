// What the engine is to do for a block of a SELECT over one table that makes no groups: made of the server's
// description, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <vector>

#include "query/sorted_rows.h"
#include "row_block.h"
#include "select_outcome.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Rows, in an order or in none, of which the server then evaluates what it sends.
struct SelectBlock : RowBlock {
  struct Order {
    RowColumn by;
    bool descending = false;
    bool nullable = true;
  };
  /// How the rows are found.
  enum class Way : uint8_t {
    FirstRows,  // few of an order: what is shown of them, but of joins, is read when they are known
    Sorted,     // all, with what is shown of them, before the first is given; maybe in no order
    Scanned,    // in no order, one by one
  };
  using RowBlock::RowBlock;

  Way way = Way::Scanned;
  std::vector<Order> order;
  bool has_having = false;
  size_t most = 0;                  // rows, those before an offset included
  bool counts_all = false;          // those beyond these, too
  std::vector<const Field*> shown;  // stored fields that the result reads
  /// Fields that the server makes of these, and of each other, where the result reads them.
  std::vector<const Field*> made;

  OperatorPlan plan() const;
};

std::expected<SelectBlock, Declined> make_select_block(THD& thd, const BlockStatement& statement);

}  // namespace hailstone
