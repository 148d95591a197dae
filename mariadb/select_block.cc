#include "select_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine.h"
#include "evaluated_items.h"
#include "item_parts.h"
#include "pushdown_warnings.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// So many first rows are kept while all are gone through. For more of them all are sorted.
constexpr ulonglong most_first_rows = 100'000;
/// The same where long texts decide the order.
constexpr ulonglong most_rows_by_long_texts = 1'000;
constexpr uint32 longest_short_text = 1024;
/// So long the first rows of a join, which are kept with all that is shown of them, may be.
constexpr uint64_t most_bytes_of_first_rows = uint64_t{32} << 20;
/// What a first row takes, about; of a join, beside what is shown of it.
constexpr uint64_t bytes_of_first_row = 512;

/// First rows go to no files, so that they must not take much of a small budget.
uint64_t memory_of_first_rows() {
  constexpr size_t share = 16;
  return std::min<uint64_t>(most_bytes_of_first_rows, database().budget().limit() / share);
}

class SelectTranslator {
 public:
  SelectTranslator(THD& thd, const BlockStatement& statement)
      : thd_(thd),
        statement_(statement),
        query_(statement.query),
        block_(statement.sources),
        rows_(thd, block_) {}

  std::expected<SelectBlock, Declined> translate() {
    const auto declined = [](SelectOutcome reason, Item* item) {
      return std::unexpected(Declined{reason, item});
    };
    for (const ORDER* order = query_.order_by; order != nullptr; order = order->next) {
      if (!add_order(*order)) return declined(SelectOutcome::Order, *order->item);
    }
    if (!take_limit()) return declined(SelectOutcome::Statement, nullptr);
    block_.has_having = query_.having != nullptr;
    block_.way = way();
    if (block_.has_having && ((statement_.whole && is_replaced(*query_.having)) || !add(*query_.having)))
      return declined(SelectOutcome::Condition, query_.having);
    List_iterator_fast<Item> items(*query_.select);
    for (int hidden = query_.n_aux; hidden > 0; --hidden) items++;
    while (Item* const item = items++) {
      if (!add(*item)) return declined(SelectOutcome::Columns, item);
    }
    if (block_.way == SelectBlock::Way::FirstRows && statement_.sources->is_join() && are_long())
      block_.way = SelectBlock::Way::Sorted;
    if (Item* const part = rows_.take_conditions(statement_)) return declined(SelectOutcome::Condition, part);
    if (block_.way == SelectBlock::Way::Scanned) {
      // The rows go into the table that they come from.
      if (is_buffered(statement_.select)) return declined(SelectOutcome::Statement, nullptr);
      // Where joins check conditions themselves, they do so batch by batch: the server has no error of rows
      // behind the last that it wants.
      if (query_.limit->get_select_limit() != HA_POS_ERROR && block_.join != nullptr &&
          block_.join->checks_conditions())
        return declined(SelectOutcome::Unordered, nullptr);
      // Warnings of rows have their numbers among all that the server would have read.
      if (has_conditions() && may_warn_of_rows(thd_)) return declined(SelectOutcome::Unordered, nullptr);
      // Where keys of joins end, rows come in another order: before the first is given.
      if (block_.join != nullptr && block_.join->may_end()) block_.way = SelectBlock::Way::Sorted;
    }
    return std::move(block_);
  }

 private:
  bool add_order(const ORDER& order) {
    Item& item = **order.item;
    if (item.const_item()) return has_silent_constants(thd_, item);
    const auto by = rows_.sortable(item);
    if (!by) return false;
    // The server sorts what HAVING leaves: it has no error or warning of another row.
    if (by->computed && query_.having != nullptr) return false;
    by_long_text_ |= item.cmp_type() == STRING_RESULT && item.max_length > longest_short_text;
    block_.order.push_back({.by = *by,
                            .descending = order.direction == ORDER::ORDER_DESC,
                            .nullable = by->computed || block_.join_may_miss(*by) || item.maybe_null()});
    return true;
  }

  bool has_conditions() const {
    return block_.join != nullptr || block_.predicates.front()->kind() != Predicate::Kind::Always ||
           !block_.rest.all.empty();
  }

  SelectBlock::Way way() const {
    if (block_.order.empty()) return SelectBlock::Way::Scanned;
    // What HAVING leaves of the first rows may be too few.
    const ulonglong most_by_memory = std::max<ulonglong>(memory_of_first_rows() / bytes_of_first_row, 1'000);
    const ulonglong most =
        by_long_text_ ? most_rows_by_long_texts : std::min(most_first_rows, most_by_memory);
    const bool few = !block_.has_having && block_.most <= most;
    return few ? SelectBlock::Way::FirstRows : SelectBlock::Way::Sorted;
  }

  /// Whether the first rows with what is shown of them may take much memory.
  bool are_long() const {
    uint64_t bytes = 0;
    for (const Field* const field : block_.shown) bytes += field->max_data_length();
    return bytes > memory_of_first_rows() / block_.most;
  }

  bool take_limit() {
    const Select_limit_counters& limit = *query_.limit;
    if (limit.get_select_limit() == 0 || limit.is_with_ties()) return false;
    block_.most = limit.get_select_limit();
    block_.counts_all = (statement_.select.options & OPTION_FOUND_ROWS) != 0;
    // The server counts the rows of a part by asking for all of them, and is told the limits of a union's
    // parts later.
    if (!statement_.whole && (block_.counts_all || statement_.select.master_unit()->is_unit_op()))
      block_.most = HA_POS_ERROR;
    return true;
  }

  /// The server evaluates the item when it sends the row: its columns have to be there.
  bool add(Item& item) {
    if (!is_function_of_row(item, block_.columns.sources()) || may_name_rows(item) ||
        !has_silent_constants(thd_, item))
      return false;
    if (is_buffered(statement_.select) && is_cut_by_table(item)) return false;
    for (const Item_field* const column : columns_read_by(item)) {
      if (!show(*column->field)) return false;
    }
    return true;
  }

  /// The field is read when a row is shown. Of a virtual one those are that it is made of.
  bool show(Field& field) {
    if (field.stored_in_db()) {
      const Field* const shown = &field;
      if (std::ranges::find(block_.shown, shown) == block_.shown.end()) block_.shown.push_back(shown);
      if (block_.way != SelectBlock::Way::FirstRows || statement_.sources->is_join())
        block_.columns.position_in_record(field);
      return true;
    }
    if (std::ranges::find(block_.made, &field) != block_.made.end()) return true;
    if (field.vcol_info == nullptr) return false;
    Item& expression = *field.vcol_info->expr;
    if (!is_made_of_columns(expression) || may_warn(thd_, expression)) return false;
    block_.made.push_back(&field);
    return std::ranges::all_of(columns_read_by(expression),
                               [this](const Item_field* column) { return show(*column->field); });
  }

  THD& thd_;
  const BlockStatement& statement_;
  const Query& query_;
  SelectBlock block_;
  RowTranslator rows_;
  bool by_long_text_ = false;
};

}  // namespace

OperatorPlan SelectBlock::plan() const {
  OperatorPlan plan = row_plan();
  const uint64_t rows = std::min<uint64_t>(most, plan.back().rows);
  if (way == Way::FirstRows) {
    plan.push_back({.kind = Operator::FirstRows,
                    .what = fmt::format("order: {}; the first {}, {} {} columns{}", order.size(), most,
                                        join == nullptr ? "of which" : "with", shown.size(),
                                        join == nullptr ? " are read" : ""),
                    .rows = rows});
  } else if (way == Way::Sorted) {
    plan.push_back({.kind = Operator::Sort,
                    .what = fmt::format("order: {}; all rows, with {} columns", order.size(), shown.size()),
                    .rows = plan.back().rows});
  }
  std::ranges::reverse(plan);
  return plan;
}

std::expected<SelectBlock, Declined> make_select_block(THD& thd, const BlockStatement& statement) {
  return SelectTranslator(thd, statement).translate();
}

}  // namespace hailstone
