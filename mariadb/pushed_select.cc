#include "pushed_select.h"

#include <utility>

#include "engine.h"
#include "server/select_base.h"

namespace hailstone {

namespace {

class PushedSelect final : public SelectBase {
 public:
  PushedSelect(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader,
               std::unique_ptr<BlockResult> made)
      : SelectBase(connection, engine_handlerton(), statement),
        select_(statement),
        join_(*statement.join),
        reader_(reader),
        result_(std::move(made)),
        items_(join_) {}

  /// The client is told of what the server would send by itself.
  bool prepare() override {
    if (result_->fills_table()) {
      make_table();
      if (table == nullptr || !find_columns() || !result_->use(*table, items_)) return true;
    }
    return show_items();
  }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      found_ = 0;
      if (const int error = result_->begin(); error != 0) return error;
      note_plan();
      return send_analyzed();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      // What is stored on the way may be cut without a word, as in the server's own temporary tables. Rows
      // that have been sent to an INSERT leave another level.
      const Check_level_instant_set level(thd, CHECK_FIELD_IGNORE);
      if (result_->fills_table() && !items_.put(*thd, result_columns)) return HA_ERR_OUT_OF_MEM;
      return find_row();
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      thd->limit_found_rows = counts_all() ? result_->rows_met().value_or(found_) : found_;
      result_->end();
      items_.put_back();
      return 0;
    });
  }

  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 private:
  int find_row() {
    const Select_limit_counters& limit = select_.master_unit()->lim;
    for (;;) {
      const bool within_limit = found_ < limit.get_select_limit();
      const bool goes_on = within_limit || (counts_all() && !result_->rows_met());
      if (!goes_on && !result_->rolls_up()) return HA_ERR_END_OF_FILE;
      const bool wanted = within_limit && found_ >= limit.get_offset_limit();
      uint64_t made = 1;
      const int error =
          wanted || join_.having != nullptr
              ? result_->next()
              : result_->pass(within_limit ? limit.get_offset_limit() - found_ : HA_POS_ERROR, made);
      if (error != 0) return error;
      if (!goes_on && !result_->is_rolled_up()) return HA_ERR_END_OF_FILE;
      const bool passes = passes_having();
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      if (!passes) continue;
      found_ += made;
      if (wanted) return 0;
    }
  }

  bool passes_having() {
    if (join_.having == nullptr) return true;
    const bool passes = join_.having->val_bool();
    if (OperatorCounts* const counts = result_->run().counts(Operator::Having); counts != nullptr)
      counts->add_rows(1, passes ? 1 : 0);
    return passes;
  }

  /// Of FOUND_ROWS(): whether rows beyond the limit count.
  bool counts_all() const { return (select_.options & OPTION_FOUND_ROWS) != 0; }

  /// Makes `table`; null: no memory.
  void make_table() {
    TMP_TABLE_PARAM parameters;
    parameters.init();
    count_field_types(&select_, &parameters, join_.all_fields, false);
    parameters.func_count = join_.all_fields.elements;
    table = ::create_tmp_table(thd, &parameters, join_.all_fields, nullptr, false, true, join_.select_options,
                               HA_POS_ERROR, &empty_clex_str, true, true);
  }

  /// False: no memory.
  bool find_columns() {
    List_iterator_fast<Item> each(join_.all_fields);
    while (Item* const item = each++) {
      // What is made of groups is evaluated over them.
      const bool of_groups = item->with_sum_func() && item->type() != Item::SUM_FUNC_ITEM;
      Item* const column = of_groups ? item : column_for(*thd, *item);
      if (column == nullptr) return false;
      items_.add(column);
    }
    return true;
  }

  /// True: no memory.
  bool show_items() {
    result_columns.empty();
    size_t place = join_.all_fields.elements - select_.item_list.elements;
    List_iterator_fast<Item> each(select_.item_list);
    for (Item* item = each++; item != nullptr; item = each++, ++place) {
      Item* shown = item;
      if (result_->sends_table()) {
        shown = items_.told(place);
      } else if (result_->fills_table()) {
        shown = copy_of_column(*item);
      }
      if (shown == nullptr || result_columns.push_back(shown, thd->mem_root)) return true;
    }
    return false;
  }

  /// What the server sends for an item where it copies the columns of each group: of a view's column the one
  /// behind it, with the view's names. Null: no memory.
  Item* copy_of_column(Item& item) const {
    Item& real = *item.real_item();
    if (item.type() != Item::REF_ITEM || real.type() != Item::FIELD_ITEM ||
        static_cast<Item_ref&>(item).ref_type() == Item_ref::AGGREGATE_REF)
      return &item;
    auto* const column = new (thd->mem_root) Item_field(thd, static_cast<Item_field*>(&real));
    if (column == nullptr) return nullptr;
    const auto& names = static_cast<Item_ref&>(item);
    column->db_name = names.db_name;
    column->table_name = names.table_name;
    column->name = names.name;
    return column;
  }

  /// What the optimizer notes of a plan that reads the whole table: the slow log tells of it.
  void note_plan() {
    thd->set_status_no_index_used();
    thd->inc_status_select_scan();
    thd->query_plan_flags |= QPLAN_FULL_SCAN;
    if (result_->sort() == BlockResult::Sort::None) return;
    thd->inc_status_sort_scan();
    thd->query_plan_flags |= QPLAN_FILESORT;
    if (result_->sort() == BlockResult::Sort::FirstRows)
      thd->query_plan_flags |= QPLAN_FILESORT_PRIORITY_QUEUE;
  }

  /// The server asks for no row of a statement that it analyzes: all are made here, and go where they go
  /// without the engine.
  int send_analyzed() {
    if (!is_analyze) return 0;
    int error = next_row();
    for (; error == 0; error = next_row()) {
      if (thd->check_killed() || send_data()) return HA_ERR_ABORTED_BY_USER;
    }
    return error == HA_ERR_END_OF_FILE ? 0 : error;
  }

  SELECT_LEX& select_;
  JOIN& join_;
  HailstoneHandler& reader_;
  const std::unique_ptr<BlockResult> result_;
  GroupItems items_;
  ha_rows found_ = 0;  // that passed HAVING, those before the offset included
};

}  // namespace

select_handler* make_pushed_select(THD& thd, SELECT_LEX& select, HailstoneHandler& reader,
                                   std::unique_ptr<BlockResult> result) {
  return new PushedSelect(thd, select, reader, std::move(result));
}

}  // namespace hailstone
