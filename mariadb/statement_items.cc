#include "statement_items.h"

#include "item_parts.h"
#include "pushdown_warnings.h"
#include "raised_conditions.h"

namespace hailstone {

namespace {

/// As the function converts a constant text that it compares with times.
void convert_to_time(THD& thd, const Item_func& function, Item& text) {
  const Item* const* const arguments = function.arguments();
  const bool of_day = std::any_of(arguments, arguments + function.argument_count(), [](const Item* argument) {
    return argument->field_type() == MYSQL_TYPE_TIME;
  });
  if (of_day) {
    const Time time(&thd, &text, Time::Options_cmp(&thd));
  } else {
    const Datetime time(&thd, &text, Datetime::Options_cmp(&thd));
  }
}

/// Whether the constant texts that the function takes for numbers, or for times, are such.
bool converts_silently(THD& thd, Item_func& function) {
  const bool to_numbers = takes_texts_for_numbers(function), to_times = compares_texts_with_times(function);
  if (!to_numbers && !to_times) return true;
  const RaisedConditions conditions(thd);
  any_part(function, [&](Item& part) {
    if (!part.basic_const_item() || part.cmp_type() != STRING_RESULT) return false;
    if (to_numbers) part.val_real();
    if (to_times) convert_to_time(thd, function, part);
    return false;
  });
  return !conditions.any();
}

/// Whether evaluating the item once converts constants in it for good, with warnings that come only then.
bool converts_once(Item& item) {
  Item& real = *item.real_item();
  if (dynamic_cast<Item_func_nullif*>(&real) != nullptr || dynamic_cast<Item_func_in*>(&real) != nullptr) {
    const auto& function = static_cast<Item_func&>(real);
    const std::span arguments(function.arguments(), function.argument_count());
    const auto has_other_type = [&](const Item* argument) {
      return argument->cmp_type() != arguments.front()->cmp_type();
    };
    if (std::ranges::any_of(arguments, has_other_type)) return true;
  }
  return any_part(real, converts_once);
}

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

/// The server evaluates anew what the item keeps of its constants.
void forget_values(THD& thd, Item& item) {
  if (item.type() == Item::CACHE_ITEM) {
    auto& kept = static_cast<Item_cache&>(item);
    if (kept.get_item() != nullptr) kept.clear();
  }
  Item& real = *item.real_item();
  any_part(real, [&thd](Item& part) {
    forget_values(thd, part);
    return false;
  });
  // It converts each constant once, to what it compares.
  if (auto* const comparison = dynamic_cast<Item_bool_rowready_func2*>(&real))
    comparison->fix_length_and_dec(&thd);
}

/// Whether a list of tables is of one that is joined with no other; then that one.
TABLE_LIST* only_one(List<TABLE_LIST>& tables) {
  if (tables.elements != 1) return nullptr;
  TABLE_LIST* const only = tables.head();
  return only->on_expr == nullptr && only->sj_on_expr == nullptr && only->outer_join == 0 ? only : nullptr;
}

/// Whether a value of ON DUPLICATE KEY UPDATE is made of constants, of the row that is there and of the new
/// one.
bool reads_target_only(Item& item, const TABLE& target) {
  Item& real = *item.real_item();
  if (real.type() == Item::INSERT_VALUE_ITEM || real.basic_const_item()) return true;
  if (real.type() == Item::FIELD_ITEM) return static_cast<const Item_field&>(real).field->table == &target;
  return (real.type() == Item::FUNC_ITEM || real.type() == Item::COND_ITEM) &&
         !any_part(real, [&target](Item& part) { return !reads_target_only(part, target); });
}

/// Whether ON DUPLICATE KEY UPDATE reads columns of the tables that the SELECT reads: the server takes them
/// from the record of each table, which has no row when the engine answers.
bool updates_by_source_rows(const THD& thd, const SELECT_LEX& select) {
  LEX& statement = *thd.lex;
  if (statement.duplicates != DUP_UPDATE || &select != statement.first_select_lex()) return false;
  const TABLE* const target = statement.query_tables->table;
  if (target == nullptr) return true;
  List_iterator_fast<Item> values(statement.value_list);
  while (Item* value = values++) {
    if (!reads_target_only(*value, *target)) return true;
  }
  return false;
}

}  // namespace

bool is_plain_statement(const THD& thd, const SELECT_LEX& select) {
  const auto command = thd.lex->sql_command;
  if (command != SQLCOM_SELECT && command != SQLCOM_INSERT_SELECT && command != SQLCOM_REPLACE_SELECT &&
      command != SQLCOM_CREATE_TABLE)
    return false;
  return !const_cast<SELECT_LEX&>(select).have_window_funcs() && !select.with_rownum &&
         thd.lex->limit_rows_examined == nullptr && !updates_by_source_rows(thd, select);
}

bool sends_rows(const THD& thd) {
  const LEX& statement = *thd.lex;
  // A prepared statement has made the client's result by itself.
  return statement.sql_command == SQLCOM_SELECT &&
         (statement.result == nullptr || dynamic_cast<const select_send*>(statement.result) != nullptr);
}

bool moves_having(const THD& thd, const SELECT_LEX& select) {
  return thd.lex->sql_command == SQLCOM_SELECT && select.cond_pushdown_is_allowed() &&
         optimizer_flag(&thd, OPTIMIZER_SWITCH_COND_PUSHDOWN_FROM_HAVING);
}

bool has_silent_constants(THD& thd, Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return true;
  if (real.type() == Item::FUNC_ITEM && !converts_silently(thd, static_cast<Item_func&>(real))) return false;
  if (!real.const_item())
    return !any_part(real, [&](Item& part) { return !has_silent_constants(thd, part); });
  if (!real.can_eval_in_optimize() || converts_once(real)) return false;
  const RaisedConditions conditions(thd);
  evaluate(thd, real);
  // The statement warns only when the server itself evaluates it.
  if (conditions.any()) forget_values(thd, real);
  return !conditions.any();
}

bool is_replaced(Item& item) {
  Item& real = *item.real_item();
  if (auto* const is_null = dynamic_cast<Item_func_isnull*>(&real)) {
    Item& argument = *is_null->arguments()[0]->real_item();
    if (argument.type() != Item::FIELD_ITEM) return false;
    const Field& field = *static_cast<Item_field&>(argument).field;
    // Zero dates are looked for also where an outer join may have no row.
    if (field.type() == MYSQL_TYPE_DATE || field.type() == MYSQL_TYPE_DATETIME)
      return !field.real_maybe_null();
    return !field.maybe_null() && (field.flags & AUTO_INCREMENT_FLAG) != 0;
  }
  return real.type() == Item::COND_ITEM && any_part(real, is_replaced);
}

bool is_never_true(Item& item, Constants constants) {
  Item& real = *item.real_item();
  if (real.type() == Item::COND_ITEM) {
    auto& condition = static_cast<Item_cond&>(real);
    const bool all = condition.functype() == Item_func::COND_OR_FUNC;
    List_iterator<Item> parts(*condition.argument_list());
    while (Item* part = parts++) {
      if (is_never_true(*part, constants) != all) return !all;
    }
    return all;
  }
  if (constants == Constants::AreAsked && real.const_item() && real.can_eval_in_optimize())
    return !real.val_bool();
  if (real.type() != Item::FUNC_ITEM) return false;
  auto& function = static_cast<Item_func&>(real);
  if (dynamic_cast<Item_bool_func2*>(&real) != nullptr && real.eq_cmp_result() == Item::COND_FALSE)
    return function.arguments()[0]->eq(function.arguments()[1], /*binary_cmp=*/true);
  if (function.functype() != Item_func::ISNULL_FUNC || is_replaced(real)) return false;
  Item& argument = *function.arguments()[0];
  if (argument.maybe_null()) return false;
  Item& column = *argument.real_item();
  if (column.type() == Item::FIELD_ITEM) return !static_cast<Item_field&>(column).field->maybe_null();
  // The inner table of an outer join may have no row.
  return std::ranges::none_of(columns_read_by(column),
                              [](const Item_field* each) { return each->field->table->maybe_null != 0; });
}

bool asks_whether_null(Item& item) {
  Item& real = *item.real_item();
  return dynamic_cast<Item_func_isnull*>(&real) != nullptr ||
         dynamic_cast<Item_func_isnotnull*>(&real) != nullptr || any_part(real, asks_whether_null);
}

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

bool names_index(const TABLE_LIST& table) {
  if (table.index_hints == nullptr) return false;
  List_iterator_fast<Index_hint> hints(*table.index_hints);
  while (const Index_hint* const hint = hints++) {
    if (hint->type != INDEX_HINT_IGNORE) return true;
  }
  return false;
}

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

}  // namespace hailstone
