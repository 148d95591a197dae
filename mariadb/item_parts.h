// What the server's items are made of.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether `test` holds for an argument of a function or a part of AND or OR; false for other items. NULLIF
/// names its first argument once more as its third: nested ones would have it asked again and again.
template <typename Test>
bool any_part(Item& item, Test&& test) {
  if (item.type() == Item::COND_ITEM) {
    List_iterator<Item> parts(*static_cast<Item_cond&>(item).argument_list());
    while (Item* part = parts++) {
      if (test(*part)) return true;
    }
    return false;
  }
  if (item.type() != Item::FUNC_ITEM) return false;
  const auto& function = static_cast<const Item_func&>(item);
  std::span<Item* const> arguments(function.arguments(), function.argument_count());
  if (arguments.size() == 3 && arguments.front() == arguments.back()) arguments = arguments.first(2);
  return std::ranges::any_of(arguments, [&](Item* argument) { return test(*argument); });
}

/// Whether the item itself is a MIN or MAX.
inline bool is_extreme(Item& item) {
  if (item.type() != Item::SUM_FUNC_ITEM) return false;
  const auto kind = static_cast<Item_sum&>(item).sum_func();
  return kind == Item_sum::MIN_FUNC || kind == Item_sum::MAX_FUNC;
}

/// Which the server compares without the quotes of its strings.
inline bool is_json_extract(Item& item) {
  Item& real = *item.real_item();
  return real.type() == Item::FUNC_ITEM &&
         static_cast<const Item_func&>(real).functype() == Item_func::JSON_EXTRACT_FUNC;
}

/// Whether an item of GROUP BY or ORDER BY is this one, or says the same.
inline bool is_listed(const ORDER* list, Item& item) {
  for (; list != nullptr; list = list->next) {
    if ((*list->item)->real_item() == item.real_item() || (*list->item)->eq(&item, true)) return true;
  }
  return false;
}

/// Calls `take` with each of the conditions that must hold for this one to hold.
template <typename Take>
void each_conjunct(Item& condition, Take&& take) {
  if (condition.type() != Item::COND_ITEM ||
      static_cast<Item_cond&>(condition).functype() != Item_func::COND_AND_FUNC) {
    take(condition);
    return;
  }
  List_iterator<Item> parts(*static_cast<Item_cond&>(condition).argument_list());
  while (Item* part = parts++) take(*part);
}

/// The columns that an item reads, each once; not those of a table of which the optimizer has read the only
/// row that is wanted: they are constants.
inline std::vector<Item_field*> columns_read_by(Item& item) {
  List<Item_field> found;
  item.walk(&Item::collect_item_field_processor, false, &found);
  std::vector<Item_field*> columns;
  List_iterator_fast<Item_field> each(found);
  while (Item_field* const column = each++) {
    // DEFAULT() that the server has moved to another block may have no field.
    if (column->field != nullptr && !column->field->table->const_table) columns.push_back(column);
  }
  return columns;
}

/// Whether all that the item depends on are columns of the table.
inline bool reads_only(Item& item, const TABLE& table) {
  if ((item.used_tables() & PSEUDO_TABLE_BITS) != 0) return false;
  const auto columns = columns_read_by(item);
  return !columns.empty() && std::ranges::all_of(columns, [&](const Item_field* column) {
    return column->field->table == &table;
  });
}

}  // namespace hailstone
