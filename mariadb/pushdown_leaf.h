// A comparison of a column with constants, taken apart, for pushdown.cc and what translates it for one kind
// of column. Belongs to the connection's thread.
#pragma once

#include <optional>
#include <vector>

#include "column/predicate.h"
#include "record.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// A predicate that is true wherever the condition is; `exact` when it is true nowhere else.
struct Translation {
  Predicate predicate = Predicate::always();
  bool exact = false;
};

/// A leaf taken apart: `column OP constants`.
struct Leaf {
  Item* item = nullptr;                                     // the whole comparison
  Item_func::Functype operation = Item_func::UNKNOWN_FUNC;  // with the column on its left
  bool negated = false;                                     // NOT BETWEEN, NOT IN, NOT LIKE
  Field* field = nullptr;
  uint16_t column = 0;
  std::vector<Item*> constants;
  /// A column of whole numbers beside literals that are whole numbers, all within 64 bits with or without a
  /// sign: such are compared by their values, and without a warning.
  bool of_whole_numbers = false;
  bool has_null = false;  // IN: a NULL has been taken out of the constants
};

/// Whether it is INT, of any width.
bool is_whole_number(enum_field_types type);

bool is_comparison(Item_func::Functype operation);

/// Whether a comparison is true below, at and above its constant.
struct Sides {
  bool below = false, equal = false, above = false;
};

/// Of a comparison that is_comparison() knows.
Sides sides_of(Item_func::Functype operation);

/// Evaluated once for all rows, without a query of its own.
bool is_constant(Item& item);

/// The column of the table that an item is, as it is stored.
std::optional<uint16_t> column_of(Item& item, const TABLE& table, const RecordFormat& format);

/// Nothing when the function is something else.
std::optional<Leaf> take_apart(Item_func& function, const TABLE& table, const RecordFormat& format);

/// A comparison like the leaf's. The server's own one keeps what it has converted its constants to, once
/// and for all, and has reported then what there is to report: it is left alone until the server evaluates
/// it. Null when there is none.
Item* copy_of(THD* thd, const Leaf& leaf);

/// In a list of several types the server makes strings of all constants, and still compares each by the
/// type that it had: the copy, which meets the strings, would compare strings.
bool compares_alike(const Leaf& leaf, const Item& original, const Item& copy);

}  // namespace hailstone
