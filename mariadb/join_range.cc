// What bounds conditions set to items of one side of a join by items of the other side, and the ranges by
// which a join without keys finds its pairs.
#include <algorithm>
#include <array>
#include <limits>

#include "item_parts.h"
#include "join_tree.h"
#include "row_block.h"
#include "select_server.h"

namespace hailstone {

namespace {

/// How the server compares the items of a condition; nothing: not as numbers.
std::optional<ComparedAs> comparison_of(Item_func& condition) {
  if (condition.functype() != Item_func::BETWEEN) {
    const auto* const compares = dynamic_cast<Item_bool_rowready_func2*>(&condition);
    return compares == nullptr ? std::nullopt : compared_as(*compares->compare_type_handler());
  }
  const std::span<Item*> items(condition.arguments(), condition.argument_count());
  const auto compared = compared_as(*items.front()->type_handler());
  const bool are_alike =
      std::ranges::all_of(items, [&](Item* item) { return compared_as(*item->type_handler()) == compared; });
  return are_alike && compared != ComparedAs::Real ? compared : std::nullopt;
}

/// Reads what conditions say of items of some tables, given rows of others.
class BoundedItems {
 public:
  BoundedItems(uint64_t of, uint64_t by, const SourceTables& sources) : of_(of), by_(by), sources_(sources) {}

  void read(Item& condition) {
    if (condition.type() != Item::FUNC_ITEM) return;
    auto& function = static_cast<Item_func&>(condition);
    Item** const arguments = function.arguments();
    switch (function.functype()) {
      case Item_func::EQ_FUNC:
      case Item_func::EQUAL_FUNC:
        add_order(function, *arguments[0], *arguments[1]);
        return add_order(function, *arguments[1], *arguments[0]);
      case Item_func::LT_FUNC:
      case Item_func::LE_FUNC:
        return add_order(function, *arguments[0], *arguments[1]);
      case Item_func::GT_FUNC:
      case Item_func::GE_FUNC:
        return add_order(function, *arguments[1], *arguments[0]);
      case Item_func::BETWEEN:
        if (static_cast<Item_func_between&>(function).negated) return;
        add_order(function, *arguments[1], *arguments[0]);
        return add_order(function, *arguments[0], *arguments[2]);
      default:
        return;
    }
  }

  std::vector<BoundedItem> take() { return std::move(items_); }

 private:
  /// A condition says that `low` is not greater than `high`.
  void add_order(Item_func& condition, Item& low, Item& high) {
    if (is_of(low, of_) && is_of(high, by_)) {
      add_bound(condition, low, high, &BoundedItem::greatest);
    } else if (is_of(high, of_) && is_of(low, by_)) {
      add_bound(condition, high, low, &BoundedItem::least);
    }
  }

  void add_bound(Item_func& condition, Item& item, Item& bound, Item* BoundedItem::*which) {
    const std::optional<ComparedAs> compared = compared_by(condition);
    auto known = std::ranges::find_if(items_, [&](const BoundedItem& each) {
      return each.compared == compared && each.item->eq(&item, true);
    });
    if (known == items_.end()) known = items_.insert(known, {.item = &item, .compared = compared});
    if ((*known).*which == nullptr) (*known).*which = &bound;
    known->condition = &condition;
  }

  std::optional<ComparedAs> compared_by(Item_func& condition) const {
    if (condition.functype() == Item_func::EQUAL_FUNC || !is_function_of_row(condition, sources_) ||
        may_name_rows(condition))
      return std::nullopt;
    return comparison_of(condition);
  }

  bool is_of(Item& item, uint64_t tables) const {
    const auto columns = columns_read_by(item);
    return !columns.empty() && std::ranges::all_of(columns, [&](const Item_field* column) {
      const auto number = sources_.number_of(*column->field);
      return number && (tables >> *number & 1) != 0;
    });
  }

  const uint64_t of_, by_;
  const SourceTables& sources_;
  std::vector<BoundedItem> items_;
};

/// The range of pairs that conditions of a join say, one that leaves few rows if there is any; nothing: there
/// is none that programs compute.
std::optional<JoinRange> range_of_pairs(const std::vector<Item*>& conditions, const JoinNode& probe,
                                        const JoinNode& build,
                                        const std::shared_ptr<const SourceTables>& sources) {
  std::vector<BoundedItem> numbers = bounded_items(conditions, build.tables(), probe.tables(), *sources);
  std::erase_if(numbers, [&](const BoundedItem& each) {
    ScanColumns columns(sources);
    return !each.compared || !each.numbers(columns);
  });
  if (numbers.empty()) return std::nullopt;
  const auto both = std::ranges::find_if(numbers, &BoundedItem::has_both);
  if (both != numbers.end()) return JoinRange{.number = *both};
  const auto has_least = [](const BoundedItem& each) { return each.least != nullptr; };
  const auto begin = std::ranges::find_if_not(numbers, has_least),
             end = std::ranges::find_if(numbers, has_least);
  if (begin != numbers.end() && end != numbers.end()) return JoinRange{.number = *begin, .end = *end};
  return JoinRange{.number = numbers.front()};
}

/// Where the number is not known, the greatest or the least one, which leaves the pair to the conditions.
Expression widened(const Expression& number, bool is_huge, bool to_greatest) {
  Program alone;
  alone.add(number);
  if (number->values != ValueKind::Integer || !(is_huge || alone.may_fail())) return number;
  const int64_t widest =
      to_greatest ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  const Expression narrow = Expression::call(Function::InRange, {number}, {.range = NumberRange::Signed});
  return Expression::call(Function::Otherwise, {narrow, Expression::constant(widest)});
}

}  // namespace

std::vector<BoundedItem> bounded_items(const std::vector<Item*>& conditions, uint64_t of, uint64_t by,
                                       const SourceTables& sources) {
  BoundedItems items(of, by, sources);
  for (Item* const condition : conditions) items.read(*condition->real_item());
  return items.take();
}

std::optional<std::vector<Expression>> BoundedItem::numbers(ScanColumns& columns) const {
  std::vector<Item*> items{item};
  for (Item* const bound : {least, greatest}) {
    if (bound != nullptr) items.push_back(bound);
  }
  auto found = compared ? ExpressionTranslator(columns).compared_numbers(*compared, items) : std::nullopt;
  if (!found || (has_both() && found->are_huge)) return std::nullopt;
  std::vector<Expression>& numbers = found->numbers;
  if (least != nullptr) numbers[1] = widened(numbers[1], found->are_huge, /*to_greatest=*/false);
  if (greatest != nullptr) numbers.back() = widened(numbers.back(), found->are_huge, /*to_greatest=*/true);
  if (!has_both()) numbers.front() = widened(numbers.front(), found->are_huge, least != nullptr);
  return std::move(numbers);
}

std::optional<JoinRange::Numbers> JoinRange::numbers(ScanColumns& columns) const {
  const auto of_number = number.numbers(columns);
  if (!of_number) return std::nullopt;
  Numbers found{.number = of_number->front(), .least = {}, .greatest = {}};
  if (number.least != nullptr) found.least = (*of_number)[1];
  if (number.greatest != nullptr) found.greatest = of_number->back();
  if (end) {
    const auto of_end = end->numbers(columns);
    if (!of_end) return std::nullopt;
    found.end = of_end->front();
    found.least = of_end->back();
  }
  return found;
}

void find_ranges(JoinNode& tree, const FromClause& from) {
  if (tree.source) return;
  find_ranges(*tree.probe, from);
  find_ranges(*tree.build, from);
  if (!tree.keys.empty()) return;
  const bool is_inner = tree.kind == JoinPlan::Kind::Inner;
  const std::vector<Item*>& conditions = is_inner ? tree.where : tree.on;
  tree.range = range_of_pairs(conditions, *tree.probe, *tree.build, from.sources);
  if ((tree.range && tree.range->is_narrow()) || !is_inner || !from.straight.empty()) return;
  // Few rows are left by it, whichever side has more of them.
  const auto turned = range_of_pairs(conditions, *tree.build, *tree.probe, from.sources);
  if (!turned || (!turned->is_narrow() && tree.range)) return;
  std::swap(tree.probe, tree.build);
  tree.range = turned;
}

}  // namespace hailstone
