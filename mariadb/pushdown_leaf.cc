#include "pushdown_leaf.h"

#include <algorithm>
#include <utility>

namespace hailstone {

namespace {

// More constants in one list than this are left to the server, which sorts them once and for all.
constexpr size_t most_constants = 2'000;

/// The operation that says the same with its sides exchanged.
Item_func::Functype mirrored(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::LT_FUNC:
      return Item_func::GT_FUNC;
    case Item_func::LE_FUNC:
      return Item_func::GE_FUNC;
    case Item_func::GT_FUNC:
      return Item_func::LT_FUNC;
    case Item_func::GE_FUNC:
      return Item_func::LE_FUNC;
    default:
      return operation;
  }
}

/// The constant itself where the server would keep its value at the first evaluation: that one is the
/// server's, as it may report something.
Item* without_cache(Item* constant) {
  if (constant->type() != Item::CACHE_ITEM) return constant;
  Item* const cached = static_cast<Item_cache*>(constant)->get_example();
  return cached != nullptr ? cached : constant;
}

/// The field of an item that is a column of the table, as it is stored.
Field* field_of(Item& item, const TABLE& table) {
  Item* real = item.real_item();
  if (real->type() != Item::FIELD_ITEM) return nullptr;
  Field* field = static_cast<Item_field*>(real)->field;
  return field->table == &table && field->stored_in_db() ? field : nullptr;
}

bool compares_whole_numbers(const Leaf& leaf) {
  if (leaf.operation == Item_func::LIKE_FUNC) return false;
  if (!is_whole_number(leaf.field->real_type())) return false;
  const bool is_unsigned = (leaf.field->flags & UNSIGNED_FLAG) != 0;
  return !leaf.constants.empty() && std::ranges::all_of(leaf.constants, [&](Item* constant) {
    // Bits and bytes, as in 0x41, are texts to some.
    const bool is_whole = constant->basic_const_item() && constant->cmp_type() == INT_RESULT &&
                          constant->result_type() == INT_RESULT;
    return is_whole && !constant->is_null() &&
           (constant->unsigned_flag == is_unsigned || constant->val_int() >= 0);
  });
}

}  // namespace

bool is_comparison(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::EQ_FUNC:
    case Item_func::EQUAL_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
      return true;
    default:
      return false;
  }
}

bool is_whole_number(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

Sides sides_of(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::NE_FUNC:
      return {true, false, true};
    case Item_func::LT_FUNC:
      return {true, false, false};
    case Item_func::LE_FUNC:
      return {true, true, false};
    case Item_func::GT_FUNC:
      return {false, false, true};
    case Item_func::GE_FUNC:
      return {false, true, true};
    default:
      return {false, true, false};
  }
}

bool is_constant(Item& item) {
  return item.const_item() && !item.is_expensive() && !item.with_subquery() && item.cols() == 1;
}

std::optional<uint16_t> column_of(Item& item, const TABLE& table, const RecordFormat& format) {
  const Field* field = field_of(item, table);
  if (field == nullptr) return std::nullopt;
  const uint16_t column = format.column_of_field(field->field_index);
  if (column == RecordFormat::not_stored) return std::nullopt;
  return column;
}

namespace {

CHARSET_INFO* compare_collation_of(Item& comparison) {
  return static_cast<Item_bool_func&>(comparison).compare_collation();
}

}  // namespace

Item* copy_of(THD* thd, const Leaf& leaf) {
  // Converts nothing.
  if (leaf.operation == Item_func::LIKE_FUNC) return leaf.item;
  MEM_ROOT* const root = thd->mem_root;
  Item* const column = new (root) Item_field(thd, leaf.field);
  Item* const first = leaf.constants.front();
  Item_func* copy = nullptr;
  switch (leaf.operation) {
    case Item_func::EQ_FUNC:
      copy = new (root) Item_func_eq(thd, column, first);
      break;
    case Item_func::EQUAL_FUNC:
      copy = new (root) Item_func_equal(thd, column, first);
      break;
    case Item_func::NE_FUNC:
      copy = new (root) Item_func_ne(thd, column, first);
      break;
    case Item_func::LT_FUNC:
      copy = new (root) Item_func_lt(thd, column, first);
      break;
    case Item_func::LE_FUNC:
      copy = new (root) Item_func_le(thd, column, first);
      break;
    case Item_func::GT_FUNC:
      copy = new (root) Item_func_gt(thd, column, first);
      break;
    case Item_func::GE_FUNC:
      copy = new (root) Item_func_ge(thd, column, first);
      break;
    case Item_func::BETWEEN:
      copy = new (root) Item_func_between(thd, column, first, leaf.constants[1]);
      break;
    case Item_func::IN_FUNC: {
      List<Item> arguments;
      arguments.push_back(column, root);
      for (Item* constant : leaf.constants) arguments.push_back(constant, root);
      copy = new (root) Item_func_in(thd, arguments);
      break;
    }
    default:
      return nullptr;
  }
  if (leaf.negated) static_cast<Item_func_opt_neg*>(copy)->negated = true;
  Item* fixed = copy;
  if (copy->fix_fields(thd, &fixed) || fixed != copy) return nullptr;
  // Which collation decides goes by how constants were written, and the optimizer has made plain texts of
  // them.
  return compare_collation_of(*copy) == compare_collation_of(*leaf.item) ? copy : nullptr;
}

/// In a list of several types the server makes strings of all constants, and still compares each by the
/// type that it had: the copy, which meets the strings, would compare strings.
bool compares_alike(const Leaf& leaf, const Item& original, const Item& copy) {
  if (leaf.operation != Item_func::IN_FUNC) return true;
  const auto& one = static_cast<const Item_func_in&>(original);
  const auto& other = static_cast<const Item_func_in&>(copy);
  return one.arg_types_compatible == other.arg_types_compatible &&
         (one.array == nullptr) == (other.array == nullptr);
}

std::optional<Leaf> take_apart(Item_func& function, const TABLE& table, const RecordFormat& format) {
  Leaf leaf;
  leaf.item = &function;
  leaf.operation = function.functype();
  Item** arguments = function.arguments();
  size_t count = function.argument_count();
  size_t column_argument = 0;
  if (is_comparison(leaf.operation)) {
    if (column_of(*arguments[0], table, format) == std::nullopt) {
      column_argument = 1;
      leaf.operation = mirrored(leaf.operation);
    }
  } else if (leaf.operation == Item_func::BETWEEN || leaf.operation == Item_func::IN_FUNC) {
    leaf.negated = static_cast<Item_func_opt_neg&>(function).negated;
  } else if (leaf.operation == Item_func::LIKE_FUNC) {
    leaf.negated = static_cast<Item_func_like&>(function).negated;
    count = 2;
  } else {
    return std::nullopt;
  }
  const auto column = column_of(*arguments[column_argument], table, format);
  if (!column || count - 1 > most_constants) return std::nullopt;
  leaf.field = field_of(*arguments[column_argument], table);
  leaf.column = *column;
  for (size_t i = 0; i < count; ++i) {
    if (i == column_argument) continue;
    if (!is_constant(*arguments[i])) return std::nullopt;
    leaf.constants.push_back(without_cache(arguments[i]));
  }
  leaf.of_whole_numbers = compares_whole_numbers(leaf);
  return leaf;
}

}  // namespace hailstone
