// An item of the server's that the engine evaluates. While it does, and no longer, the columns in the item
// are read from slots (column_slot.h), and not from the records of the tables. So an item's value depends on
// nothing but what the engine has put into its slots. Belongs to the connection's thread.
//
// The item itself is asked, not a copy: what the server's deep copies have of comparisons, and of texts that
// functions keep, is still the original's.
#pragma once

#include <vector>

#include "column_slot.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class SlotItem {
 public:
  /// `slots` has all columns that the item reads, and outlives this.
  SlotItem(Item& item, const ColumnSlots& slots);

  /// The numbers of the slots that it reads, each once.
  const std::vector<size_t>& columns() const { return columns_; }

  /// Has the item read the slots as long as it lives. There is one at a time of each column of an item.
  class Pointed {
   public:
    explicit Pointed(SlotItem& of);
    ~Pointed();
    Pointed(const Pointed&) = delete;
    Pointed& operator=(const Pointed&) = delete;
    Item* operator->() const { return of_.item_; }
    Item& operator*() const { return *of_.item_; }

   private:
    SlotItem& of_;
  };
  Item& item() const { return *item_; }

 private:
  struct Leaf {
    Item_field* item;
    Field* slot;
    bool is_argument;        // of an aggregate
    Field* field = nullptr;  // what the item has while nobody asks it
    Field* result_field = nullptr;
  };
  Item* item_;
  std::vector<Leaf> leaves_;
  std::vector<size_t> columns_;
};

/// Whether all columns are known that the server says an item reads.
bool has_known_leaves(Item& item);

}  // namespace hailstone
