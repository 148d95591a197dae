// What all select_handlers of the engine have in common. Belongs to the connection's thread.
#pragma once

#include "engine.h"
#include "ha_hailstone.h"
// clang-format off
#include "server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

class PushedSelect : public select_handler {
 public:
  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 protected:
  /// `reader`: of the only table that the statement reads, or of one of its partitions.
  PushedSelect(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader)
      : select_handler(&connection, engine_handlerton()), reader_(reader) {
    select = &statement;
  }
  /// From here on the result has these items. True: no memory.
  bool show(List<Item>& items) {
    result_columns.empty();
    List_iterator_fast<Item> each(items);
    while (Item* const item = each++) {
      if (result_columns.push_back(item, thd->mem_root)) return true;
    }
    return false;
  }
  /// Of FOUND_ROWS(): whether rows beyond the limit count.
  bool counts_all() const { return (select->options & OPTION_FOUND_ROWS) != 0; }

  HailstoneHandler& reader_;
};

}  // namespace hailstone
