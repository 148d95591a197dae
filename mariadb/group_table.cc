#include "group_table.h"

#include <algorithm>

#include "item_parts.h"
#include "statement_items.h"

namespace hailstone {

namespace {

bool fixes_column(Item& condition, Item& column) {
  if (column.real_item()->type() != Item::FIELD_ITEM) return false;
  bool fixes = false;
  each_conjunct(condition, [&](Item& part) {
    Item& real = *part.real_item();
    if (real.type() != Item::FUNC_ITEM) return;
    auto& function = static_cast<Item_func&>(real);
    const auto is_column = [&](Item* side) { return side->real_item()->eq(column.real_item(), true); };
    Item** const sides = function.arguments();
    switch (function.functype()) {
      case Item_func::EQ_FUNC:
      case Item_func::EQUAL_FUNC:
        fixes = fixes || (is_column(sides[0]) && sides[1]->const_item()) ||
                (is_column(sides[1]) && sides[0]->const_item());
        break;
      case Item_func::ISNULL_FUNC:
        fixes = fixes || is_column(sides[0]);
        break;
      default:
        break;
    }
  });
  return fixes;
}

/// Whether conditions say what all keys are: to the server all rows are one group then.
bool are_keys_fixed(const THD& thd, const BlockStatement& statement) {
  const Query& query = statement.query;
  for (const ORDER* order = query.group_by; order != nullptr; order = order->next) {
    Item& key = **order->item;
    const auto fixes = [&](Item* condition) { return fixes_column(*condition, key); };
    if (std::ranges::none_of(statement.where, fixes) &&
        !(query.having != nullptr && moves_having(thd, statement.select) && fixes(query.having)))
      return false;
  }
  return true;
}

}  // namespace

bool may_group_sorted_rows(const BlockStatement& statement) {
  if (statement.select.olap == ROLLUP_TYPE || (statement.select.options & SELECT_BIG_RESULT) != 0)
    return true;
  List_iterator_fast<Item> items(*statement.query.select);
  while (Item* const item = items++) {
    Item& real = *item->real_item();
    if (real.type() == Item::SUM_FUNC_ITEM && !static_cast<Item_sum&>(real).quick_group) return true;
  }
  return false;
}

bool groups_by_table(const THD& thd, const BlockStatement& statement) {
  return statement.query.group_by != nullptr && !may_group_sorted_rows(statement) &&
         !are_keys_fixed(thd, statement);
}

bool has_index_of_groups(const ScanColumns& columns, std::span<const Field* const> keys) {
  if (columns.sources().is_join()) return false;
  const TABLE& table = *columns.sources().first().table;
  const auto is_key = [&](const KEY_PART_INFO& part) {
    return std::ranges::find(keys, part.field) != keys.end();
  };
  return std::ranges::any_of(std::span(table.key_info, table.s->keys), [&](const KEY& key) {
    const std::span parts(key.key_part, key.ext_key_parts);
    if (keys.size() > parts.size()) return false;
    return std::ranges::all_of(parts.first(keys.size()), is_key) &&
           std::ranges::all_of(columns.fields(), [&](const Field* column) {
             return column == nullptr || std::ranges::any_of(parts, [&](const KEY_PART_INFO& part) {
                      return part.fieldnr == column->field_index + 1U;
                    });
           });
  });
}

}  // namespace hailstone
