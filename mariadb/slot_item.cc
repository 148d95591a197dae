#include "slot_item.h"

#include <algorithm>
#include <span>
#include <utility>

#include "item_parts.h"

namespace hailstone {

namespace {

/// Each once.
void add_leaves(Item& item, std::vector<Item_field*>& to) {
  Item& real = *item.real_item();
  switch (real.type()) {
    case Item::FIELD_ITEM: {
      auto& leaf = static_cast<Item_field&>(real);
      if (leaf.field != nullptr && !leaf.field->table->const_table &&
          std::ranges::find(to, &leaf) == to.end())
        to.push_back(&leaf);
      return;
    }
    case Item::CACHE_ITEM:
      // NULLIF keeps its first argument in one.
      if (Item* const example = static_cast<Item_cache&>(real).get_example(); example != nullptr)
        add_leaves(*example, to);
      return;
    case Item::SUM_FUNC_ITEM: {
      auto& aggregate = static_cast<Item_sum&>(real);
      for (uint i = 0; i < aggregate.argument_count(); ++i) add_leaves(*aggregate.arguments()[i], to);
      return;
    }
    default:
      any_part(real, [&to](Item& part) {
        add_leaves(part, to);
        return false;
      });
  }
}

/// Whether the item is an aggregate, and the column an argument of it.
bool has_argument(Item& item, const Item_field& column) {
  if (item.type() != Item::SUM_FUNC_ITEM) return false;
  auto& aggregate = static_cast<Item_sum&>(item);
  return std::ranges::any_of(std::span(aggregate.arguments(), aggregate.argument_count()),
                             [&](Item* argument) { return argument->real_item() == &column; });
}

}  // namespace

SlotItem::SlotItem(Item& item, const ColumnSlots& slots) : item_(&item) {
  std::vector<Item_field*> leaves;
  add_leaves(item, leaves);
  for (Item_field* const leaf : leaves) {
    const size_t number = slots.number_of(*leaf->field);
    leaves_.push_back(
        {.item = leaf, .slot = &slots[number].field(), .is_argument = has_argument(item, *leaf)});
    if (std::ranges::find(columns_, number) == columns_.end()) columns_.push_back(number);
  }
}

SlotItem::Pointed::Pointed(SlotItem& of) : of_(of) {
  for (Leaf& leaf : of_.leaves_) {
    leaf.field = std::exchange(leaf.item->field, leaf.slot);
    leaf.result_field = leaf.item->result_field;
    // Of an argument, another one is a column that the aggregate has made for what it collects.
    if (!leaf.is_argument || leaf.result_field == leaf.field) leaf.item->result_field = leaf.slot;
  }
}

SlotItem::Pointed::~Pointed() {
  for (const Leaf& leaf : of_.leaves_) {
    leaf.item->field = leaf.field;
    if (leaf.item->result_field == leaf.slot) leaf.item->result_field = leaf.result_field;
  }
}

bool has_known_leaves(Item& item) {
  std::vector<Item_field*> leaves;
  add_leaves(item, leaves);
  return std::ranges::all_of(columns_read_by(item), [&](const Item_field* column) {
    return std::ranges::find(leaves, column->field, &Item_field::field) != leaves.end();
  });
}

}  // namespace hailstone
