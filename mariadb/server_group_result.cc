#include "server_group_result.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "item_parts.h"
#include "kept_text.h"
#include "query/ordered_rows.h"
#include "query/scanned_rows.h"
#include "query_rows.h"
#include "slot_item.h"
#include "source_record.h"
#include "variables.h"

namespace hailstone {

namespace {

class ServerGroupResult final : public BlockResult {
 public:
  ServerGroupResult(ServerGroupsBlock block, std::shared_ptr<BlockRecord> record)
      : block_(std::move(block)),
        sources_(block_.columns.sources()),
        reader_(sources_.first().reader()),
        thd_(sources_.thd()),
        run_(thd_, sources_, std::move(record)),
        rows_(block_, run_, [this] { return open_rows(); }) {
    for (const Field* field : block_.read) {
      read_.emplace_back(*field, sources_);
      slots_.add(*field, false);
    }
  }

  Sort sort() const override { return block_.keys.empty() ? Sort::None : Sort::All; }
  bool fills_table() const override { return true; }
  bool sends_table() const override { return block_.by_table; }

  bool use(TABLE& table, GroupItems& items) override {
    for (const ServerGroupsBlock::Shown& shown : block_.shown) {
      Field* const field = column_of(*items[shown.place], table);
      if (field == nullptr) return false;
      // As in group_result.cc.
      if (sends_table() && shown.is_key && shown.item->maybe_null()) field->flags |= GROUP_FLAG;
      // A reference would take the value from the field that it is stored in.
      shown_.push_back({SlotItem(*shown.item->real_item(), slots_), field});
    }
    for (const ServerGroupsBlock::Computed& computed : block_.aggregates) {
      Item_sum& aggregate = *computed.aggregate;
      Field* const field =
          block_.by_table && is_extreme(aggregate) ? column_of(*items[computed.place], table) : nullptr;
      if (is_changed_by_reading(aggregate)) {
        auto* const text = new (thd_.mem_root) KeptText(thd_, aggregate);
        if (text == nullptr || text->fix_fields(&thd_, nullptr)) return false;
        texts_.push_back(text);
        items.replace(computed.place, text);
      } else if (field != nullptr) {
        extremes_.push_back({&aggregate, field});
      } else if (block_.by_table && is_column(aggregate)) {
        items.replace_value(computed.place, &aggregate);
      } else {
        items.replace(computed.place, &aggregate);
      }
      if (!set_up(aggregate)) return false;
    }
    return true;
  }

  int begin() override {
    rows_.close();
    rows_taken_ = 0;
    run_.begin();
    if (!block_.keys.empty()) THD_STAGE_INFO((&thd_), stage_creating_sort_index);
    return 0;
  }

  int next() override { return run_.noted(find_group()); }

  void end() override {
    rows_.close();
    begin_row(sources_);
    run_.end();
  }
  BlockRun& run() override { return run_; }

 private:
  /// A column or expression of the groups, whose value is that of the group's first row, and where it goes.
  struct Shown {
    SlotItem item;
    Field* field;
  };
  /// An aggregate, and the column that it goes to.
  struct Extreme {
    Item* item;
    Field* field;
  };

  /// Whether the server's table of groups has a column for it, and not what it is computed of.
  static bool is_column(Item_sum& aggregate) {
    return dynamic_cast<Item_sum_avg*>(&aggregate) == nullptr &&
           dynamic_cast<Item_sum_variance*>(&aggregate) == nullptr;
  }

  static bool is_changed_by_reading(Item_sum& aggregate) {
    return aggregate.sum_func() == Item_sum::JSON_ARRAYAGG_FUNC ||
           aggregate.sum_func() == Item_sum::JSON_OBJECTAGG_FUNC;
  }

  /// Null: the item is no column of the table.
  static Field* column_of(Item& item, const TABLE& table) {
    if (item.type() != Item::FIELD_ITEM) return nullptr;
    Field* const field = static_cast<Item_field&>(item).field;
    return field->table == &table ? field : nullptr;
  }

  bool set_up(Item_sum& aggregate) {
    const bool distinct =
        aggregate.has_with_distinct() && !aggregate.uses_non_standard_aggregator_for_distinct();
    return aggregate.set_aggregator(
               &thd_, distinct ? Aggregator::DISTINCT_AGGREGATOR : Aggregator::SIMPLE_AGGREGATOR) == 0 &&
           !aggregate.aggregator_setup(&thd_);
  }

  int find_group() {
    if (!rows_.is_open()) {
      if (const int error = next_source_row(); error != 0) return error;
      // Without groups there is one row, also of nothing.
      of_nothing_ = !has_row_ && block_.is_one_group;
      THD_STAGE_INFO((&thd_), stage_sending_data);
    }
    return next_group();
  }

  int next_source_row() {
    const auto found = rows_.next();
    if (thd_.is_error()) return HA_ERR_INTERNAL_ERROR;
    if (!found) return report_query_error(reader_, found.error());
    has_row_ = *found;
    return 0;
  }

  Result<std::unique_ptr<RowSource>> open_rows() {
    // In one group, rows come in the same order each time.
    const unsigned threads = block_.keys.empty() ? 1 : query_threads(&thd_);
    HAILSTONE_ASSIGN(auto rows, block_.open(threads, run_));
    std::vector<RowOrder> order;
    for (const ServerGroupsBlock::Key& key : block_.keys) {
      order.push_back(
          {.position = block_.position_of(key.by), .descending = key.descending, .nullable = key.nullable});
    }
    const std::vector<uint16_t> values = block_.positions_of(block_.read);
    // Rows of a join have no places.
    const auto equal = sources_.is_join() ? OrderedRows::Equal::Any : OrderedRows::Equal::AsScanned;
    if (!block_.collects_rows()) return std::make_unique<ScannedRows>(std::move(rows), values);
    return OrderedRows::make(std::move(rows), std::move(order), equal, values, threads,
                             run_.counts(Operator::Sort));
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
    thd_.get_stmt_da()->set_current_row_for_warning(static_cast<long>(rows_taken_ + 1));
    return error;
  }

  /// `rows`: how many it has.
  int group_of_rows(uint64_t& rows) {
    group_ = rows_.rows().key();
    for (bool first = true; has_row_ && rows_.rows().key() == group_; first = false) {
      begin_row(sources_);
      for (size_t i = 0; i < read_.size(); ++i) read_[i].write(rows_.rows().values()[i]);
      if (first) {
        for (size_t i = 0; i < slots_.size(); ++i) slots_[i].write(rows_.rows().values()[i]);
        store_shown();
      }
      for (const ServerGroupsBlock::Computed& computed : block_.aggregates) {
        if (first) computed.aggregate->aggregator_clear();
        if (computed.aggregate->aggregator_add()) return HA_ERR_INTERNAL_ERROR;
      }
      if (thd_.is_error()) return HA_ERR_INTERNAL_ERROR;
      ++rows;
      if (const int error = next_source_row(); error != 0) return error;
    }
    finish_aggregates();
    return 0;
  }

  /// Readies the aggregates for what reads them.
  void finish_aggregates() {
    for (KeptText* const text : texts_) text->forget();
    for (const Extreme& extreme : extremes_) extreme.item->save_in_field(extreme.field, true);
    for (const ServerGroupsBlock::Computed& computed : block_.aggregates) {
      switch (computed.aggregate->sum_func()) {
        case Item_sum::SUM_FUNC:
        case Item_sum::SUM_DISTINCT_FUNC:
        case Item_sum::AVG_FUNC:
        case Item_sum::AVG_DISTINCT_FUNC:
        case Item_sum::STD_FUNC:
        case Item_sum::VARIANCE_FUNC:
          // IS NULL does not ask for their value, but whether the value that was asked for last was NULL.
          computed.aggregate->update_null_value();
          break;
        default:
          break;
      }
    }
  }

  void store_shown() {
    for (Shown& shown : shown_) {
      const SlotItem::Pointed item(shown.item);
      item->save_in_field(shown.field, true);
    }
  }

  int group_of_nothing() {
    slots_.clear();
    for (const ServerGroupsBlock::Computed& computed : block_.aggregates) {
      computed.aggregate->aggregator_clear();
      computed.aggregate->no_rows_in_result();
    }
    finish_aggregates();
    store_shown();
    return thd_.is_error() ? HA_ERR_INTERNAL_ERROR : 0;
  }

  ServerGroupsBlock block_;
  const SourceTables& sources_;
  HailstoneHandler& reader_;
  THD& thd_;
  BlockRun run_;
  std::vector<SourceField> read_;  // in the records, for the aggregates
  ColumnSlots slots_;              // of the same columns, for what is shown
  std::vector<Shown> shown_;
  std::vector<Extreme> extremes_;
  std::vector<KeptText*> texts_;  // that stand for others
  QueryRows rows_;
  bool has_row_ = false;     // the next group's first one
  bool of_nothing_ = false;  // the one group of no rows
  std::string group_;        // its key
  uint64_t rows_taken_ = 0;  // by groups
};

}  // namespace

std::unique_ptr<BlockResult> make_server_group_result(ServerGroupsBlock block,
                                                      std::shared_ptr<BlockRecord> record) {
  return std::make_unique<ServerGroupResult>(std::move(block), std::move(record));
}

}  // namespace hailstone
