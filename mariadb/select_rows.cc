#include "select_rows.h"

#include <memory>
#include <utility>
#include <vector>

#include "pushed_select.h"
#include "query/ordered_rows.h"
#include "query/scanned_rows.h"
#include "query/sorted_rows.h"
#include "query_history.h"
#include "query_rows.h"
#include "variables.h"

namespace hailstone {

namespace {

class RowsHandler final : public PushedSelect {
 public:
  RowsHandler(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader, TABLE& source,
              SelectBlock block, std::shared_ptr<BlockRecord> record)
      : PushedSelect(connection, statement, reader),
        source_(source),
        block_(std::move(block)),
        run_(connection, std::move(record)),
        rows_([this](bool by_program) { return open_rows(by_program); }) {
    for (const Field* field : block_.shown) {
      shown_.emplace_back(*field, source_.record[0]);
      shown_columns_.push_back(reader_.column_of_field(field->field_index));
    }
  }

  /// The items of the statement are sent as they are: they read the row out of the table's record.
  bool prepare() override { return show(select->item_list); }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      rows_.close();
      rows_found_ = rows_given_ = 0;
      run_.begin();
      note_full_scan();
      if (block_.way != SelectBlock::Way::Scanned) {
        note_sort();
        if (block_.way == SelectBlock::Way::FirstRows) thd->query_plan_flags |= QPLAN_FILESORT_PRIORITY_QUEUE;
        THD_STAGE_INFO(thd, stage_creating_sort_index);
      } else {
        THD_STAGE_INFO(thd, stage_sending_data);
      }
      return begun();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int { return run_.noted(find_row()); });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      thd->limit_found_rows = rows_found_;
      if (rows_.is_open()) {
        if (counts_all() && rows_are_counted()) thd->limit_found_rows = rows_.rows().rows_met();
        thd->inc_examined_row_count(rows_.rows().rows_read());
        if (OperatorCounts* const counts = sort_counts(); counts != nullptr) {
          thd->inc_status_sort_rows(rows_found_);
          if (counts->spilled != 0) thd->query_plan_flags |= QPLAN_FILESORT_DISK;
        }
      }
      rows_.close();
      run_.end();
      return 0;
    });
  }

 private:
  int find_row() {
    do {
      if (rows_found_ >= block_.most && (!counts_all() || rows_are_counted())) return HA_ERR_END_OF_FILE;
      if (const int error = next_found(); error != 0) return error;
      ++rows_found_;
    } while (rows_found_ <= block_.offset || rows_found_ > block_.most);
    return 0;
  }

  /// Null: nothing is sorted.
  OperatorCounts* sort_counts() {
    switch (block_.way) {
      case SelectBlock::Way::FirstRows:
        return run_.counts(Operator::FirstRows);
      case SelectBlock::Way::Sorted:
        return run_.counts(Operator::Sort);
      case SelectBlock::Way::Scanned:
        break;
    }
    return nullptr;
  }

  /// Whether it is known how many rows there are before all have been given.
  bool rows_are_counted() const {
    return block_.way != SelectBlock::Way::Scanned && select->join->having == nullptr;
  }

  /// Puts the next row that HAVING lets through into the record.
  int next_found() {
    Item* const having = select->join->having;
    for (;;) {
      const bool begins = !rows_.is_open();
      const auto found = rows_.next();
      if (begins) THD_STAGE_INFO(thd, stage_sending_data);
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      if (!found) return report_query_error(reader_, found.error());
      if (!*found) return HA_ERR_END_OF_FILE;
      // Where the row goes, warnings name it.
      thd->get_stmt_da()->set_current_row_for_warning(static_cast<long>(++rows_given_));
      // Rows before the offset are not looked at.
      if (having == nullptr && (rows_found_ < block_.offset || rows_found_ >= block_.most)) return 0;
      const std::span<const Value> values = rows_.rows().values();
      for (size_t i = 0; i < shown_.size(); ++i) shown_[i].write_to(values[i], source_.record[0]);
      if (block_.shows_virtual && source_.update_virtual_fields(&reader_, VCOL_UPDATE_FOR_READ) != 0)
        return HA_ERR_INTERNAL_ERROR;
      if (having == nullptr) return thd->is_error() ? HA_ERR_INTERNAL_ERROR : 0;
      const bool passes = having->val_bool();
      run_.counts(Operator::Having)->add_rows(1, passes ? 1 : 0);
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      if (passes) return 0;
    }
  }

  Result<std::unique_ptr<RowSource>> open_rows(bool by_program) {
    if (!by_program) run_.restart();
    HAILSTONE_ASSIGN(auto rows, block_.open(source_, by_program, run_));
    switch (block_.way) {
      case SelectBlock::Way::FirstRows:
        return SortedRows::make(std::move(rows),
                                {.order = order(),
                                 .most = block_.most,
                                 .columns = shown_columns_,
                                 .counts = counts_all(),
                                 .operator_counts = sort_counts()},
                                query_threads(thd));
      case SelectBlock::Way::Sorted:
        return OrderedRows::make(std::move(rows), order(), OrderedRows::Equal::Any,
                                 block_.positions_of(block_.shown), query_threads(thd), sort_counts());
      case SelectBlock::Way::Scanned:
        break;
    }
    return std::make_unique<ScannedRows>(std::move(rows), block_.positions_of(block_.shown));
  }

  /// The server's own sorts have no use for weights beyond this either.
  size_t most_weights() const {
    constexpr size_t weights_of_byte = 4;
    return thd->variables.max_sort_length * weights_of_byte;
  }

  std::vector<RowOrder> order() const {
    std::vector<RowOrder> order;
    for (const SelectBlock::Order& each : block_.order) {
      order.push_back({.position = block_.position_of(each.by),
                       .descending = each.descending,
                       .nullable = each.nullable,
                       .most_weights = most_weights()});
    }
    return order;
  }

  TABLE& source_;
  const SelectBlock block_;
  BlockRun run_;
  std::vector<FieldFormat> shown_;
  std::vector<uint16_t> shown_columns_;
  QueryRows rows_;
  uint64_t rows_given_ = 0;  // before HAVING
  uint64_t rows_found_ = 0;  // behind it, those before the offset included
};

}  // namespace

select_handler* make_rows_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader, TABLE& source,
                                  SelectBlock block, std::shared_ptr<BlockRecord> record) {
  return new RowsHandler(thd, select, reader, source, std::move(block), std::move(record));
}

}  // namespace hailstone
