#include "select_groups.h"

#include <map>
#include <utility>
#include <vector>

#include "group_items.h"
#include "group_rows.h"
#include "pushed_select.h"

namespace hailstone {

namespace {

class GroupsHandler final : public PushedSelect {
 public:
  GroupsHandler(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader, TABLE& source,
                GroupBlock block, std::shared_ptr<BlockRecord> record)
      : PushedSelect(connection, statement, reader),
        join_(*statement.join),
        items_(join_),
        groups_(reader, source, std::move(block), std::move(record)) {}

  bool prepare() override {
    make_table();
    if (table == nullptr || !find_items() || !keep_digits_of_means()) return true;
    // The client is told of the statement's own items.
    return show(select->item_list);
  }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      std::vector<Field*> fields;
      for (const GroupOutput& output : groups_.block().outputs) {
        Item* const item = items_[output.place];
        if (const auto mean = means_.find(output.place); mean != means_.end()) {
          fields.push_back(mean->second);
          continue;
        }
        Field* const field =
            item->type() == Item::FIELD_ITEM ? static_cast<Item_field*>(item)->field : nullptr;
        fields.push_back(field != nullptr && field->table == table ? field : nullptr);
        if (fields.back() == nullptr && output.source != GroupOutput::Source::Constant)
          return HA_ERR_INTERNAL_ERROR;
      }
      std::vector<Item*> order;
      for (const GroupBlock::HostOrder& by : groups_.block().host_order) order.push_back(items_[by.place]);
      groups_.begin(std::move(fields), std::move(order));
      rows_ = groups_given_ = 0;
      note_full_scan();
      if (!groups_.block().order.empty()) note_sort();
      THD_STAGE_INFO(thd, stage_sending_data);
      return begun();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      if (!items_.put(*thd, result_columns)) return HA_ERR_OUT_OF_MEM;
      const Select_limit_counters& limit = select->master_unit()->lim;
      for (;;) {
        const bool all_sent = rows_ >= limit.get_select_limit() && !counts_all();
        if (all_sent && !groups_.block().rolls_up) return HA_ERR_END_OF_FILE;
        if (const int error = groups_.next(); error != 0) return error;
        // Where the group goes, warnings name it.
        thd->get_stmt_da()->set_current_row_for_warning(static_cast<long>(++groups_given_));
        // For FOUND_ROWS() the server counts what its last group has ended, too.
        if (all_sent && !groups_.is_rolled_up()) return HA_ERR_END_OF_FILE;
        const bool passes = join_.having == nullptr || join_.having->val_bool();
        if (OperatorCounts* const counts = groups_.run().counts(Operator::Having); counts != nullptr)
          counts->add_rows(1, passes ? 1 : 0);
        if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
        if (!passes) continue;
        ++rows_;
        if (rows_ > limit.get_offset_limit() && rows_ <= limit.get_select_limit()) return 0;
      }
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      groups_.end();
      items_.put_back();
      thd->limit_found_rows = rows_;
      return 0;
    });
  }

 private:
  /// What stands for each item of the statement once groups are made: a column of the temporary table, or, of
  /// what is made of groups, the item itself. False: no memory.
  bool find_items() {
    List_iterator_fast<Item> each(join_.all_fields);
    while (Item* const item = each++) {
      const bool of_groups = item->with_sum_func() && item->type() != Item::SUM_FUNC_ITEM;
      Item* const found = of_groups ? item : column_for(*thd, *item);
      if (found == nullptr) return false;
      items_.add(found);
    }
    return true;
  }

  /// What reads a mean of exact numbers gets all its digits, and not those of a column: by the server's item
  /// for means whose groups are not complete yet. False: no memory.
  bool keep_digits_of_means() {
    for (const GroupOutput& output : groups_.block().outputs) {
      if (output.mean == nullptr || output.mean->result_type() != DECIMAL_RESULT) continue;
      Item_sum_avg& mean = *output.mean;
      Field* const parts = mean.create_tmp_field(thd->mem_root, /*group=*/true, table);
      auto* const bytes = static_cast<uchar*>(thd->alloc(mean.dec_bin_size + sizeof(longlong)));
      if (parts == nullptr || bytes == nullptr) return false;
      parts->move_field(bytes, nullptr, 0);
      Field* const shown = std::exchange(mean.result_field, parts);
      Item* const item = mean.result_item(thd, parts);
      mean.result_field = shown;
      if (item == nullptr) return false;
      item->name = items_[output.place]->name;
      items_.replace(output.place, item);
      means_[output.place] = parts;
    }
    return true;
  }

  JOIN& join_;
  GroupItems items_;
  GroupRows groups_;
  std::map<size_t, Field*> means_;  // by place: sums and counts
  uint64_t groups_given_ = 0;       // before HAVING
  ha_rows rows_ = 0;                // that passed HAVING, those before the offset included
};

}  // namespace

select_handler* make_groups_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader, TABLE& source,
                                    GroupBlock block, std::shared_ptr<BlockRecord> record) {
  return new GroupsHandler(thd, select, reader, source, std::move(block), std::move(record));
}

}  // namespace hailstone
