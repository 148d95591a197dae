// What stands for the items of a statement while its groups are sent: HAVING, and what is made of several
// items, find there what a group has. Belongs to the connection's thread.
#pragma once

#include <vector>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The item of the column that the statement's temporary table has for an item, or that item where it has
/// none; null: no memory.
inline Item* column_for(THD& thd, Item& item) {
  if (item.type() == Item::FIELD_ITEM) return item.get_tmp_table_item(&thd);
  Field* const field = item.get_tmp_table_field();
  if (field == nullptr) return &item;
  auto* const column = new (thd.mem_root) Item_field(&thd, field);
  if (column == nullptr) return nullptr;
  column->name = item.name;
  // Clients are told of the table that a column comes from, by the name that a view has there.
  if (item.real_item()->type() != Item::FIELD_ITEM) field->orig_table = nullptr;
  if (item.type() == Item::REF_ITEM) {
    column->table_name = static_cast<Item_ref&>(item).table_name;
    column->db_name = static_cast<Item_ref&>(item).db_name;
  }
  return column;
}

class GroupItems {
 public:
  explicit GroupItems(JOIN& join) : join_(join) {}
  GroupItems(const GroupItems&) = delete;
  GroupItems& operator=(const GroupItems&) = delete;
  ~GroupItems() { put_back(); }

  /// For the statement's next item, in the order of JOIN::all_fields.
  void add(Item* item) {
    items_.push_back(item);
    told_.push_back(item);
  }
  void replace(size_t number, Item* item) { items_[number] = told_[number] = item; }
  /// The same for what reads it; clients are told of what was there.
  void replace_value(size_t number, Item* item) { items_[number] = item; }
  /// The other way round.
  void tell(size_t number, Item* item) { told_[number] = item; }
  Item* operator[](size_t number) const { return items_[number]; }
  /// What clients are told of, where they are told of columns of the table.
  Item* told(size_t number) const { return told_[number]; }

  /// Puts all of them in the places of the statement's own; `shown` gets those that are sent. False: no
  /// memory.
  bool put(THD& thd, List<Item>& shown) {
    if (!originals_.empty()) return true;
    for (size_t i = 0; i < items_.size(); ++i) {
      originals_.push_back(place_of(i));
      place_of(i) = items_[i];
    }
    shown.empty();
    for (size_t i = items_.size() - join_.fields_list.elements; i < items_.size(); ++i) {
      if (shown.push_back(items_[i], thd.mem_root)) return false;
    }
    return true;
  }
  void put_back() {
    for (size_t i = 0; i < originals_.size(); ++i) place_of(i) = originals_[i];
    originals_.clear();
  }

 private:
  /// Where items and HAVING look for the statement's item of this number: those that only they use stand
  /// before the shown ones in the list, behind them in the array.
  Item*& place_of(size_t number) {
    const size_t all = items_.size(), hidden = all - join_.fields_list.elements;
    return join_.ref_ptrs[number < hidden ? all - number - 1 : number - hidden];
  }

  JOIN& join_;
  std::vector<Item*> items_;
  std::vector<Item*> told_;
  std::vector<Item*> originals_;  // of the places where items_ are put
};

}  // namespace hailstone
