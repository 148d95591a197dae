// A table that a subcommand has open through hailstone.h, closed with its owner.
#pragma once

#include <memory>

#include "hailstone.h"

namespace hailstone {

struct TableCloser {
  void operator()(hs_table* table) const { hs_table_close(table); }
};
using OwnedTable = std::unique_ptr<hs_table, TableCloser>;

}  // namespace hailstone
