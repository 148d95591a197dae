#include "select_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "item_parts.h"
#include "variables.h"

namespace hailstone {

namespace {

/// So many first rows are kept while all are gone through. For more of them the server has its disk.
constexpr ulonglong most_first_rows = 100'000;
/// The same where long texts decide the order.
constexpr ulonglong most_rows_by_long_texts = 1'000;
constexpr uint32 longest_short_text = 1024;

/// Notices warnings and errors, and keeps them from the statement.
class Conditions final : public Internal_error_handler {
 public:
  explicit Conditions(THD& thd) : thd_(thd) { thd.push_internal_handler(this); }
  ~Conditions() override { thd_.pop_internal_handler(); }
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_warning_level*, const char*,
                        Sql_condition**) override {
    raised_ = true;
    return true;
  }
  bool raised() const { return raised_; }

 private:
  THD& thd_;
  bool raised_ = false;
};

void evaluate(THD& thd, Item& item) {
  switch (item.cmp_type()) {
    case INT_RESULT:
      item.val_int();
      break;
    case REAL_RESULT:
      item.val_real();
      break;
    case DECIMAL_RESULT: {
      my_decimal buffer;
      item.val_decimal(&buffer);
      break;
    }
    case TIME_RESULT: {
      MYSQL_TIME time;
      item.get_date(&thd, &time, Datetime::Options_cmp(&thd));
      break;
    }
    default: {
      StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer(item.collation.collation);
      item.val_str(&buffer);
      break;
    }
  }
}

/// Whether no constant in the item warns when it is evaluated: the server does that once a statement, the
/// engine as often as it likes.
bool has_silent_constants(THD& thd, Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return true;
  if (!real.const_item())
    return !any_part(real, [&](Item& part) { return !has_silent_constants(thd, part); });
  if (!real.can_eval_in_optimize()) return false;
  const Conditions conditions(thd);
  evaluate(thd, real);
  return !conditions.raised();
}

/// Whether the server would find another condition in the place of this one, as it does where NOT NULL
/// columns are compared with NULL: zero dates, and the last AUTO_INCREMENT.
bool is_replaced(Item& item) {
  Item& real = *item.real_item();
  if (auto* const is_null = dynamic_cast<Item_func_isnull*>(&real)) {
    Item& argument = *is_null->arguments()[0]->real_item();
    return argument.type() == Item::FIELD_ITEM && !static_cast<Item_field&>(argument).field->maybe_null();
  }
  return real.type() == Item::COND_ITEM && any_part(real, is_replaced);
}

/// Whether an index of the table begins with a column that the item reads.
bool has_index(const TABLE& table, Item& item) {
  const auto columns = columns_read_by(item);
  for (uint i = 0; i < table.s->keys; ++i) {
    const Field* const first = table.key_info[i].key_part[0].field;
    for (const Item_field* const column : columns) {
      if (column->field->field_index == first->field_index) return true;
    }
  }
  return false;
}

class SelectTranslator {
 public:
  SelectTranslator(THD& thd, SELECT_LEX& select, const SelectSource& source, HailstoneHandler& reader)
      : thd_(thd),
        select_(select),
        join_(*select.join),
        conditions_(source.conditions),
        source_(*source.leaf->table),
        reader_(reader),
        block_(ScanColumns(source_, reader)),
        rows_(thd, source_, reader, block_) {}

  std::expected<SelectBlock, Declined> translate() {
    const auto declined = [](SelectOutcome reason, Item* item) {
      return std::unexpected(Declined{reason, item});
    };
    for (Item* const condition : conditions_) {
      if (is_replaced(*condition) || !has_silent_constants(thd_, *condition))
        return declined(SelectOutcome::Condition, condition);
    }
    if (select_pushdown(&thd_) == SelectPushdown::Auto) {
      if (Item* const item = item_of_index()) return declined(SelectOutcome::Index, item);
    }
    for (const ORDER* order = join_.order; order != nullptr; order = order->next) {
      if (!add_order(*order)) return declined(SelectOutcome::Order, *order->item);
    }
    if (block_.order.empty() || !take_limit()) return declined(SelectOutcome::Statement, nullptr);
    List_iterator_fast<Item> items(join_.fields_list);
    while (Item* const item = items++) {
      if (!add(*item)) return declined(SelectOutcome::Columns, item);
    }
    if (Item* const part = rows_.take_conditions(conditions_))
      return declined(SelectOutcome::Condition, part);
    return std::move(block_);
  }

 private:
  Item* item_of_index() const {
    for (Item* const condition : conditions_) {
      if (has_index(source_, *condition)) return condition;
    }
    return join_.order != nullptr && has_index(source_, **join_.order->item) ? *join_.order->item : nullptr;
  }

  bool add_order(const ORDER& order) {
    Item& item = **order.item;
    if (item.const_item()) return has_silent_constants(thd_, item);
    std::optional<RowColumn> by;
    if (const Field* const field = block_.columns.field_of(item)) {
      if (!can_be_key(*field)) return false;
      if (field->real_type() == MYSQL_TYPE_BLOB || field->field_length > longest_short_text)
        by_long_text_ = true;
      by = rows_.column_of(item);
    } else if (const auto kind = kind_of_order(item); kind && has_silent_constants(thd_, item)) {
      if (*kind == ServerValue::Text && item.max_length > longest_short_text) by_long_text_ = true;
      by = rows_.compute(item, *kind);
    }
    if (!by) return false;
    block_.order.push_back({.by = *by, .descending = order.direction == ORDER::ORDER_DESC});
    return true;
  }

  /// As what the server sorts by an item.
  static std::optional<ServerValue> kind_of_order(const Item& item) {
    const Type_handler& handler = *item.type_handler();
    if (handler.type_collection() != type_handler_slong.type_collection()) return std::nullopt;
    switch (item.cmp_type()) {
      case INT_RESULT:
      case DECIMAL_RESULT:
        return ServerValue::Exact;
      case REAL_RESULT:
        return ServerValue::Real;
      case STRING_RESULT:
        return handler.field_type() == MYSQL_TYPE_GEOMETRY ? std::nullopt : std::optional(ServerValue::Text);
      case TIME_RESULT:
        return handler.field_type() == MYSQL_TYPE_TIMESTAMP ? std::nullopt : std::optional(ServerValue::Time);
      default:
        return std::nullopt;
    }
  }

  bool take_limit() {
    const Select_limit_counters& limit = select_.master_unit()->lim;
    const ulonglong most = limit.get_select_limit();
    if (most == 0 || limit.is_with_ties() ||
        most > (by_long_text_ ? most_rows_by_long_texts : most_first_rows))
      return false;
    block_.most = most;
    block_.offset = limit.get_offset_limit();
    return true;
  }

  /// The server evaluates the item when it sends the row: its columns have to be there.
  bool add(Item& item) {
    if (!is_function_of_row(item, source_) || may_name_rows(item) || !has_silent_constants(thd_, item))
      return false;
    for (const Item_field* const column : columns_read_by(item)) {
      const uint number = column->field->field_index;
      if (reader_.column_of_field(number) == RecordFormat::not_stored) return false;
      const Field* const field = source_.field[number];
      if (std::ranges::find(block_.shown, field) == block_.shown.end()) block_.shown.push_back(field);
    }
    return true;
  }

  THD& thd_;
  SELECT_LEX& select_;
  JOIN& join_;
  const std::vector<Item*>& conditions_;
  TABLE& source_;
  HailstoneHandler& reader_;
  SelectBlock block_;
  RowTranslator rows_;
  bool by_long_text_ = false;
};

/// Whether a list of tables is of one that is joined with no other; then that one.
TABLE_LIST* only_one(List<TABLE_LIST>& tables) {
  if (tables.elements != 1) return nullptr;
  TABLE_LIST* const only = tables.head();
  return only->on_expr == nullptr && only->sj_on_expr == nullptr && only->outer_join == 0 ? only : nullptr;
}

}  // namespace

std::optional<SelectSource> source_of(SELECT_LEX& select) {
  SelectSource source;
  if (select.join == nullptr) return std::nullopt;
  if (select.join->conds != nullptr) source.conditions.push_back(select.join->conds);
  TABLE_LIST* table = only_one(select.top_join_list);
  while (table != nullptr && table->is_view_or_derived()) {
    if (!table->is_merged_derived()) return std::nullopt;
    if (table->merged) {
      // In an execution before this one: its condition has become a part of the statement's.
      table = table->nested_join != nullptr ? only_one(table->nested_join->join_list) : nullptr;
      continue;
    }
    SELECT_LEX* const inner = table->get_single_select();
    if (inner == nullptr || inner->join == nullptr) return std::nullopt;
    if (inner->join->conds != nullptr) source.conditions.push_back(inner->join->conds);
    table = only_one(inner->top_join_list);
  }
  if (table == nullptr || table->table == nullptr || table->nested_join != nullptr) return std::nullopt;
  source.leaf = table;
  return source;
}

std::string SelectBlock::describe() const {
  return describe_rows() + fmt::format("; order: {}; first {} rows, of which {} columns are read",
                                       order.size(), most, shown.size());
}

std::expected<SelectBlock, Declined> make_select_block(THD& thd, SELECT_LEX& select,
                                                       const SelectSource& source, HailstoneHandler& reader) {
  return SelectTranslator(thd, select, source, reader).translate();
}

}  // namespace hailstone
