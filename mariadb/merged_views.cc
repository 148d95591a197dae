#include "merged_views.h"

#include "engine.h"
#include "source_tables.h"

namespace hailstone {

namespace {

bool reads_only_own_tables(SELECT_LEX& select) {
  List_iterator_fast<TABLE_LIST> leaves(select.leaf_tables);
  while (const TABLE_LIST* const leaf = leaves++) {
    if (!is_plain_table(*leaf)) return false;
  }
  return true;
}

/// Whether each table is this engine's, or a view that is to be merged and of which that is so.
bool are_own_tables(TABLE_LIST* tables) {
  if (tables == nullptr) return false;
  for (TABLE_LIST* table = tables; table != nullptr; table = table->next_local) {
    if (!table->is_view_or_derived()) {
      if (!is_plain_table(*table)) return false;
      continue;
    }
    if (!table->is_merged_derived() || table->table == nullptr) return false;
    SELECT_LEX* const inner = table->get_single_select();
    if (inner == nullptr || !are_own_tables(inner->table_list.first)) return false;
  }
  return true;
}

}  // namespace

void let_block_be_offered(const TABLE& table) {
  const TABLE_LIST* const leaf = table.pos_in_table_list;
  if (leaf == nullptr || leaf->table != &table) return;
  SELECT_LEX* const select = leaf->select_lex;
  if (select == nullptr || select->join == nullptr) return;
  for (TABLE_LIST* view = select->join->tables_list; view != nullptr; view = view->next_local) {
    // A view that a statement changes stands for its table.
    const bool is_merged = view->is_merged_derived() && view->merged && view->table != nullptr &&
                           view->table->s->tmp_table == INTERNAL_TMP_TABLE;
    if (!is_merged || view->table->file->ht == engine_handlerton()) continue;
    if (!reads_only_own_tables(*select)) return;
    view->table->file->ht = engine_handlerton();
  }
}

bool is_offered_as_block(SELECT_LEX& select) {
  return select.olap == UNSPECIFIED_OLAP_TYPE && select.join != nullptr &&
         are_own_tables(select.join->tables_list);
}

}  // namespace hailstone
