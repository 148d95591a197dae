#include "target_fields.h"

namespace hailstone {

namespace {

/// Whether nothing but the value itself decides what is stored.
bool is_plain_target(const select_insert& target) {
  const TABLE* const table = target.table;
  return table != nullptr && !target.info.ignore && target.info.handle_duplicates != DUP_UPDATE &&
         !target.insert_into_view && table->triggers == nullptr && table->check_constraints == nullptr &&
         table->vfield == nullptr && table->default_field == nullptr && !table->versioned();
}

bool fits(Item& item, Field& field) {
  if (item.maybe_null() && !field.maybe_null()) return false;
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM)
    return field.memcpy_field_possible(static_cast<const Item_field&>(real).field);
  const bool is_bigint = field.real_type() == MYSQL_TYPE_LONGLONG &&
                         static_cast<const Field_num&>(field).unsigned_flag == item.unsigned_flag;
  if (item.cmp_type() == INT_RESULT) return is_bigint;
  return item.cmp_type() == REAL_RESULT && field.real_type() == MYSQL_TYPE_DOUBLE &&
         field.decimals() == NOT_FIXED_DEC;
}

}  // namespace

bool stores_values_as_they_are(const THD& thd) {
  const auto command = thd.lex->sql_command;
  if (command != SQLCOM_INSERT_SELECT && command != SQLCOM_REPLACE_SELECT && command != SQLCOM_CREATE_TABLE)
    return false;
  SELECT_LEX& select = *thd.lex->first_select_lex();
  auto* const target = select.join == nullptr ? nullptr : dynamic_cast<select_insert*>(select.join->result);
  if (target == nullptr || !is_plain_target(*target)) return false;
  const bool creates = dynamic_cast<select_create*>(target) != nullptr;
  // What is created has the columns of the SELECT behind those that it declares by itself.
  const uint first = creates ? target->table->s->fields - select.item_list.elements : 0;
  const bool lists_fields = !creates && target->fields->elements != 0;
  List_iterator_fast<Item> items(select.item_list), fields(*target->fields);
  Item* item = nullptr;
  for (uint number = first; (item = items++) != nullptr; ++number) {
    Item* const listed = lists_fields ? fields++ : nullptr;
    const Item_field* const column = listed == nullptr ? nullptr : listed->field_for_view_update();
    if (lists_fields && column == nullptr) return false;
    if (!fits(*item, lists_fields ? *column->field : *target->table->field[number])) return false;
  }
  return true;
}

}  // namespace hailstone
