#include "mean_digits.h"

#include <algorithm>
#include <span>

#include "decimal_numbers.h"

namespace hailstone {

namespace {

/// The fewest digits behind the point that a value of the item may have; its type has the most.
uint least_decimals(Item& item) {
  Item& real = *item.real_item();
  if (real.cmp_type() != DECIMAL_RESULT) return 0;
  if (real.type() == Item::FIELD_ITEM || real.basic_const_item() ||
      dynamic_cast<Item_decimal_typecast*>(&real) != nullptr)
    return real.decimals;
  if (real.type() != Item::FUNC_ITEM) return 0;
  const auto& function = static_cast<const Item_func&>(real);
  const std::span arguments(function.arguments(), function.argument_count());
  const auto least_from = [&](size_t first) {
    uint least = real.decimals;
    for (Item* const each : arguments.subspan(first)) least = std::min(least, least_decimals(*each));
    return least;
  };
  if (dynamic_cast<const Item_func_plus*>(&function) != nullptr ||
      dynamic_cast<const Item_func_minus*>(&function) != nullptr) {
    // What is computed may be 0, which has no digits behind the point.
    const auto least_beside = [](Item& side) {
      return side.real_item()->type() == Item::FUNC_ITEM ? 0 : least_decimals(side);
    };
    return std::max(least_beside(*arguments[0]), least_beside(*arguments[1]));
  }
  if (dynamic_cast<const Item_func_mul*>(&function) != nullptr)
    return std::min<uint>(real.decimals, least_decimals(*arguments[0]) + least_decimals(*arguments[1]));
  if (dynamic_cast<const Item_func_neg*>(&function) != nullptr ||
      dynamic_cast<const Item_func_abs*>(&function) != nullptr ||
      dynamic_cast<const Item_func_coalesce*>(&function) != nullptr ||
      dynamic_cast<const Item_func_ifnull*>(&function) != nullptr)
    return least_from(0);
  if (dynamic_cast<const Item_func_if*>(&function) != nullptr) return least_from(1);
  if (dynamic_cast<const Item_func_case_searched*>(&function) != nullptr)
    return least_from(arguments.size() / 2);
  return 0;
}

}  // namespace

bool mean_may_lack_digits(Item& argument, const Item& mean) {
  if (argument.cmp_type() != DECIMAL_RESULT) return false;
  const auto digits = [](uint decimals) {
    return quotient_decimals(decimals, 0, static_cast<unsigned>(current_thd->variables.div_precincrement));
  };
  const uint least = digits(least_decimals(argument));
  return least < digits(argument.decimals) && least <= mean.decimals;
}

}  // namespace hailstone
