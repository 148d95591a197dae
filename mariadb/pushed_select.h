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
  /// Makes `table`, whose record has a field for each of the statement's items but constants; null: no
  /// memory.
  void make_table() {
    JOIN& join = *select->join;
    TMP_TABLE_PARAM parameters;
    parameters.init();
    count_field_types(select, &parameters, join.all_fields, false);
    parameters.func_count = join.all_fields.elements;
    table = ::create_tmp_table(thd, &parameters, join.all_fields, nullptr, false, true, join.select_options,
                               HA_POS_ERROR, &empty_clex_str, true, true);
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
  /// What the optimizer notes of a plan that reads the whole table: the slow log tells of it.
  void note_full_scan() {
    thd->set_status_no_index_used();
    thd->inc_status_select_scan();
    thd->query_plan_flags |= QPLAN_FULL_SCAN;
  }
  void note_sort() {
    thd->inc_status_sort_scan();
    thd->query_plan_flags |= QPLAN_FILESORT;
  }
  /// The end of init_scan(). The server asks for no row of a statement that it analyzes: all are made here,
  /// and go where they go without the engine.
  int begun() {
    if (!is_analyze) return 0;
    int error = next_row();
    for (; error == 0; error = next_row()) {
      if (thd->check_killed() || send_data()) return HA_ERR_ABORTED_BY_USER;
    }
    return error == HA_ERR_END_OF_FILE ? 0 : error;
  }

  HailstoneHandler& reader_;
};

}  // namespace hailstone
