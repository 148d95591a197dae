#include "select_server_groups.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "group_items.h"
#include "pushed_select.h"
#include "query/ordered_rows.h"
#include "query/scanned_rows.h"
#include "query_history.h"
#include "query_rows.h"
#include "variables.h"

namespace hailstone {

namespace {

class ServerGroupsHandler final : public PushedSelect {
 public:
  ServerGroupsHandler(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader, TABLE& source,
                      ServerGroupsBlock block, std::shared_ptr<BlockRecord> record)
      : PushedSelect(connection, statement, reader),
        join_(*statement.join),
        items_(join_),
        source_(source),
        block_(std::move(block)),
        run_(connection, std::move(record)),
        rows_([this](bool by_program) { return open_rows(by_program); }) {
    for (const Field* field : block_.read) read_.emplace_back(*field, source_.record[0]);
  }

  bool prepare() override {
    make_table();
    if (table == nullptr || !find_items()) return true;
    for (Item_sum* const aggregate : block_.aggregates) {
      const bool distinct =
          aggregate->has_with_distinct() && !aggregate->uses_non_standard_aggregator_for_distinct();
      if (aggregate->set_aggregator(
              thd, distinct ? Aggregator::DISTINCT_AGGREGATOR : Aggregator::SIMPLE_AGGREGATOR) != 0 ||
          aggregate->aggregator_setup(thd))
        return true;
    }
    // The client is told of the statement's own items.
    return show(select->item_list);
  }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      rows_.close();
      rows_sent_ = rows_taken_ = 0;
      run_.begin();
      note_full_scan();
      if (!block_.keys.empty()) {
        note_sort();
        THD_STAGE_INFO(thd, stage_creating_sort_index);
      }
      return begun();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int { return run_.noted(find_row()); });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      if (rows_.is_open()) thd->inc_examined_row_count(rows_.rows().rows_read());
      rows_.close();
      run_.end();
      items_.put_back();
      thd->limit_found_rows = rows_sent_;
      return 0;
    });
  }

 private:
  int find_row() {
    if (!rows_.is_open()) {
      if (!items_.put(*thd, result_columns)) return HA_ERR_OUT_OF_MEM;
      if (const int error = begin(); error != 0) return error;
      THD_STAGE_INFO(thd, stage_sending_data);
    }
    const Select_limit_counters& limit = select->master_unit()->lim;
    for (;;) {
      if (rows_sent_ >= limit.get_select_limit() && !counts_all()) return HA_ERR_END_OF_FILE;
      if (const int error = next_group(); error != 0) return error;
      const bool passes = join_.having == nullptr || join_.having->val_bool();
      if (OperatorCounts* const counts = run_.counts(Operator::Having); counts != nullptr)
        counts->add_rows(1, passes ? 1 : 0);
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      if (!passes) continue;
      ++rows_sent_;
      if (rows_sent_ > limit.get_offset_limit() && rows_sent_ <= limit.get_select_limit()) return 0;
    }
  }

  /// A column or expression of the groups, whose value is that of the group's first row.
  struct Shown {
    Item* item;
    Field* field;
  };

  bool find_items() {
    List_iterator_fast<Item> each(join_.all_fields);
    while (Item* const item = each++) {
      Item* found = item;
      if (!item->with_sum_func() && !item->const_item()) {
        found = column_for(*thd, *item);
        if (found == nullptr || found->type() != Item::FIELD_ITEM) return false;
        shown_.push_back({item, static_cast<Item_field*>(found)->field});
      }
      items_.add(found);
    }
    return true;
  }

  int begin() {
    const int error = next_source_row();
    // Without groups there is one row, also of nothing.
    of_nothing_ = error == 0 && !has_row_ && join_.group_list == nullptr;
    return error;
  }

  int next_source_row() {
    const auto found = rows_.next();
    if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
    if (!found) return report_query_error(reader_, found.error());
    has_row_ = *found;
    return 0;
  }

  Result<std::unique_ptr<RowSource>> open_rows(bool by_program) {
    if (!by_program) run_.restart();
    HAILSTONE_ASSIGN(auto rows, block_.open(source_, by_program, run_));
    std::vector<RowOrder> order;
    for (const ServerGroupsBlock::Key& key : block_.keys) {
      order.push_back(
          {.position = block_.position_of(key.by), .descending = key.descending, .nullable = key.nullable});
    }
    const std::vector<uint16_t> values = block_.positions_of(block_.read);
    if (order.empty()) return std::make_unique<ScannedRows>(std::move(rows), values);
    return OrderedRows::make(std::move(rows), std::move(order), OrderedRows::Equal::AsScanned, values,
                             query_threads(thd), run_.counts(Operator::Sort));
  }

  int next_group() {
    const bool of_nothing = std::exchange(of_nothing_, false);
    if (!of_nothing && !has_row_) return HA_ERR_END_OF_FILE;
    const OperatorWork work(run_.counts(Operator::Group), 0);
    uint64_t rows = 0;
    const int error = of_nothing ? group_of_nothing() : group_of_rows(rows);
    work.add_rows(rows, error == 0 ? 1 : 0);
    // Where the group goes, warnings name the row behind it, as the server has read that one, too.
    rows_taken_ += rows;
    thd->get_stmt_da()->set_current_row_for_warning(static_cast<long>(rows_taken_ + 1));
    return error;
  }

  /// `rows`: how many it has.
  int group_of_rows(uint64_t& rows) {
    group_ = rows_.rows().key();
    for (bool first = true; has_row_ && rows_.rows().key() == group_; first = false) {
      for (size_t i = 0; i < read_.size(); ++i)
        read_[i].write_to(rows_.rows().values()[i], source_.record[0]);
      if (first) store_shown();
      for (Item_sum* const aggregate : block_.aggregates) {
        if (first) aggregate->aggregator_clear();
        if (aggregate->aggregator_add()) return HA_ERR_INTERNAL_ERROR;
      }
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      ++rows;
      if (const int error = next_source_row(); error != 0) return error;
    }
    return 0;
  }

  void store_shown() {
    for (const Shown& shown : shown_) {
      // Items of columns, and references, would take the value from the field that it is stored in.
      Item& item = *shown.item->real_item();
      if (item.type() == Item::FIELD_ITEM) {
        item.save_org_in_field(shown.field, nullptr);
      } else {
        item.save_in_field(shown.field, true);
      }
    }
  }

  int group_of_nothing() {
    mark_as_null_row(&source_);
    for (Item_sum* const aggregate : block_.aggregates) {
      aggregate->aggregator_clear();
      aggregate->no_rows_in_result();
    }
    store_shown();
    unmark_as_null_row(&source_);
    return thd->is_error() ? HA_ERR_INTERNAL_ERROR : 0;
  }

  JOIN& join_;
  GroupItems items_;
  TABLE& source_;
  const ServerGroupsBlock block_;
  BlockRun run_;
  std::vector<FieldFormat> read_;
  std::vector<Shown> shown_;
  QueryRows rows_;
  bool has_row_ = false;     // the next group's first one
  bool of_nothing_ = false;  // the one group of no rows
  std::string group_;        // its key
  uint64_t rows_taken_ = 0;  // by groups
  ha_rows rows_sent_ = 0;    // that passed HAVING, those before the offset included
};

}  // namespace

select_handler* make_server_groups_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader,
                                           TABLE& source, ServerGroupsBlock block,
                                           std::shared_ptr<BlockRecord> record) {
  return new ServerGroupsHandler(thd, select, reader, source, std::move(block), std::move(record));
}

}  // namespace hailstone
