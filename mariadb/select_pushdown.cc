#include "select_pushdown.h"

#include <memory>
#include <utility>
#include <vector>

#include "engine.h"
#include "ha_hailstone.h"
#include "select_block.h"
#include "variables.h"

namespace hailstone {

namespace {

class SelectHandler final : public select_handler {
 public:
  SelectHandler(THD* thd_arg, SELECT_LEX& select_arg, HailstoneHandler& reader, TABLE& source,
                SelectBlock block)
      : select_handler(thd_arg, engine_handlerton()),
        reader_(reader),
        source_(source),
        block_(std::move(block)) {
    select = &select_arg;
    for (const Field* field : block_.shown) {
      shown_.emplace_back(*field, source_.record[0]);
      shown_columns_.push_back(reader_.column_of_field(field->field_index));
    }
  }

  /// The items of the statement are sent as they are: they read the row out of the table's record.
  bool prepare() override {
    result_columns.empty();
    List_iterator_fast<Item> items(select->item_list);
    while (Item* const item = items++) {
      if (result_columns.push_back(item, thd->mem_root)) return true;
    }
    return false;
  }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      rows_ = nullptr;
      return 0;
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      if (rows_ != nullptr) return show_next();
      if (const int error = open_rows(/*by_program=*/true); error != 0) return error;
      auto found = rows_->next();
      if (!found && found.error().code() == ErrorCode::Unsupported) {
        // A row has a value that only the server computes, or finds an error in.
        if (const int error = open_rows(/*by_program=*/false); error != 0) return error;
        found = rows_->next();
      }
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      rows_found_ = 0;
      for (size_t skipped = 0; skipped < block_.offset && found && *found; ++skipped) {
        ++rows_found_;
        found = rows_->next();
      }
      return show(found);
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      if (rows_ != nullptr) {
        const bool all = (select->options & OPTION_FOUND_ROWS) != 0;
        thd->limit_found_rows = all ? rows_->rows_met() : rows_found_;
        thd->inc_examined_row_count(rows_->rows_read());
      }
      rows_ = nullptr;
      return 0;
    });
  }

  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 private:
  int open_rows(bool by_program) {
    rows_ = nullptr;
    std::unique_ptr<Scan> scan;
    if (const int error = reader_.open_scan(block_.predicate, block_.columns.numbers(), scan); error != 0)
      return error;
    // Nothing is sorted by an image.
    auto rows =
        block_.open(std::move(scan), source_, by_program, [](const RowExpression&) { return nullptr; });
    if (!rows) return reader_.report(rows.error());
    std::vector<RowOrder> order;
    for (const SelectBlock::Order& each : block_.order)
      order.push_back({.position = block_.position_of(each.by), .descending = each.descending});
    auto made =
        SortedRows::make(std::move(*rows), std::move(order), shown_columns_, block_.most, query_threads(thd));
    if (!made) return reader_.report(made.error());
    rows_ = std::move(*made);
    return 0;
  }

  int show_next() { return show(rows_->next()); }

  int show(const Result<bool>& found) {
    if (!found) return reader_.report(found.error());
    if (!*found) return HA_ERR_END_OF_FILE;
    ++rows_found_;
    for (size_t i = 0; i < shown_.size(); ++i) shown_[i].write_to(rows_->values()[i], source_.record[0]);
    return 0;
  }

  HailstoneHandler& reader_;
  TABLE& source_;
  const SelectBlock block_;
  std::vector<FieldFormat> shown_;
  std::vector<uint16_t> shown_columns_;
  std::unique_ptr<SortedRows> rows_;
  uint64_t rows_found_ = 0;  // those before the offset included
};

bool is_of_known_form(THD& thd, SELECT_LEX& select) {
  const auto command = thd.lex->sql_command;
  if (command != SQLCOM_SELECT && command != SQLCOM_INSERT_SELECT && command != SQLCOM_REPLACE_SELECT &&
      command != SQLCOM_CREATE_TABLE)
    return false;
  const JOIN& join = *select.join;
  if (thd.lex->analyze_stmt || thd.in_sub_stmt != 0 || thd.lex->limit_rows_examined != nullptr ||
      (thd.variables.option_bits & OPTION_BIG_SELECTS) == 0)
    return false;
  return join.order != nullptr && join.group_list == nullptr && !join.implicit_grouping &&
         !join.select_distinct && join.having == nullptr && join.procedure == nullptr &&
         select.olap == UNSPECIFIED_OLAP_TYPE && !select.have_window_funcs() && !select.with_rownum &&
         select.ftfunc_list->elements == 0 && (select.options & OPTION_SCHEMA_TABLE) == 0;
}

bool is_plain(const TABLE_LIST& leaf) {
  return leaf.table->file->ht == engine_handlerton() && !leaf.table->versioned() &&
         leaf.table_function == nullptr && leaf.schema_table == nullptr;
}

std::expected<SelectBlock, Declined> make_block(THD& thd, SELECT_LEX& select, const SelectSource& source,
                                                HailstoneHandler& reader) {
  if (select_pushdown(&thd) == SelectPushdown::Off) return std::unexpected(Declined{SelectOutcome::Off});
  reader.settle_lock();
  if (reader.reads_with_locks() || reader.reads_uncommitted())
    return std::unexpected(Declined{SelectOutcome::Locks});
  return make_select_block(thd, select, source, reader);
}

}  // namespace

select_handler* create_select_handler(THD* thd, SELECT_LEX* select) {
  const auto source = source_of(*select);
  if (!source || !is_plain(*source->leaf) || !is_of_known_form(*thd, *select)) return nullptr;
  return run_traced(thd, {"create_select", Returns::Pushed}, [&]() -> select_handler* {
    auto& reader = static_cast<HailstoneHandler&>(*source->leaf->table->file);
    auto block = make_block(*thd, *select, *source, reader);
    if (!block) {
      note_outcome(*thd, block.error().reason, block.error().item, "");
      return nullptr;
    }
    note_outcome(*thd, SelectOutcome::Pushed, nullptr, block->describe().c_str());
    return new SelectHandler(thd, *select, reader, *source->leaf->table, std::move(*block));
  });
}

}  // namespace hailstone
