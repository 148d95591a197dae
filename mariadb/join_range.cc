// Joins whose pairs no equality finds, but a range: conditions put a number of the one side's rows between
// numbers of the other side's.
#include <algorithm>

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
  const auto are_all = [&](const auto& test) {
    return std::ranges::all_of(items, [&](Item* item) { return test(*item); });
  };
  if (are_all([](Item& item) { return item.cmp_type() == INT_RESULT || item.cmp_type() == DECIMAL_RESULT; }))
    return ComparedAs::Exact;
  if (are_all([](Item& item) {
        const auto type = item.type_handler()->mysql_timestamp_type();
        return type == MYSQL_TIMESTAMP_DATE || type == MYSQL_TIMESTAMP_DATETIME;
      }))
    return ComparedAs::Moment;
  return std::nullopt;
}

/// The ranges of pairs of two sides, told by tables.
class RangesOfPairs {
 public:
  RangesOfPairs(uint64_t probe, uint64_t build, const SourceTables& sources)
      : probe_(probe), build_(build), sources_(sources) {}

  void read(Item& condition) {
    if (condition.type() != Item::FUNC_ITEM || !is_function_of_row(condition, sources_) ||
        may_name_rows(condition))
      return;
    auto& function = static_cast<Item_func&>(condition);
    const auto compared = comparison_of(function);
    if (!compared) return;
    Item** const arguments = function.arguments();
    switch (function.functype()) {
      case Item_func::LT_FUNC:
      case Item_func::LE_FUNC:
        return add_order(*arguments[0], *arguments[1], *compared);
      case Item_func::GT_FUNC:
      case Item_func::GE_FUNC:
        return add_order(*arguments[1], *arguments[0], *compared);
      case Item_func::BETWEEN:
        if (static_cast<Item_func_between&>(function).negated) return;
        add_order(*arguments[1], *arguments[0], *compared);
        return add_order(*arguments[0], *arguments[2], *compared);
      default:
        return;
    }
  }

  /// One that leaves few rows, if there is any; nothing: there are none.
  std::optional<JoinRange> best() const {
    const auto has_least = [](const BoundedNumber& number) { return number.least != nullptr; };
    const auto has_greatest = [](const BoundedNumber& number) { return number.greatest != nullptr; };
    const auto both = std::ranges::find_if(
        numbers_, [&](const BoundedNumber& number) { return has_least(number) && has_greatest(number); });
    if (both != numbers_.end()) return JoinRange{.number = *both};
    const auto begin = std::ranges::find_if(numbers_, has_greatest),
               end = std::ranges::find_if(numbers_, has_least);
    if (begin != numbers_.end() && end != numbers_.end()) return JoinRange{.number = *begin, .end = *end};
    return numbers_.empty() ? std::nullopt : std::optional(JoinRange{.number = numbers_.front()});
  }

 private:
  /// A condition says that `low` is not greater than `high`.
  void add_order(Item& low, Item& high, ComparedAs compared) {
    if (is_of(low, build_) && is_of(high, probe_)) {
      Item*& greatest = bounded(low, compared).greatest;
      if (greatest == nullptr) greatest = &high;
    } else if (is_of(high, build_) && is_of(low, probe_)) {
      Item*& least = bounded(high, compared).least;
      if (least == nullptr) least = &low;
    }
  }

  BoundedNumber& bounded(Item& item, ComparedAs compared) {
    const auto known = std::ranges::find_if(numbers_, [&](const BoundedNumber& number) {
      return number.compared == compared && number.item->eq(&item, true);
    });
    return known != numbers_.end()
               ? *known
               : numbers_.emplace_back(BoundedNumber{.item = &item, .compared = compared});
  }

  bool is_of(Item& item, uint64_t tables) const {
    const auto columns = columns_read_by(item);
    return !columns.empty() && std::ranges::all_of(columns, [&](const Item_field* column) {
      const auto number = sources_.number_of(*column->field);
      return number && (tables >> *number & 1) != 0;
    });
  }

  const uint64_t probe_, build_;
  const SourceTables& sources_;
  std::vector<BoundedNumber> numbers_;
};

/// The range of pairs that conditions of a join say, which programs can compute; nothing: there is none.
std::optional<JoinRange> range_of_pairs(const std::vector<Item*>& conditions, const JoinNode& probe,
                                        const JoinNode& build,
                                        const std::shared_ptr<const SourceTables>& sources) {
  RangesOfPairs ranges(probe.tables(), build.tables(), *sources);
  for (Item* const condition : conditions) ranges.read(*condition->real_item());
  const auto best = ranges.best();
  if (!best) return std::nullopt;
  ScanColumns columns(sources);
  Program of_probe, of_build;
  return best->registers(columns, of_probe, of_build) ? best : std::nullopt;
}

}  // namespace

std::optional<std::vector<Program::Register>> BoundedNumber::registers(ScanColumns& columns, Program& of_item,
                                                                       Program& of_bounds) const {
  std::vector<NumberTranslator::Compared> items{{item, &of_item}};
  for (Item* const bound : {least, greatest}) {
    if (bound != nullptr) items.push_back({bound, &of_bounds});
  }
  return NumberTranslator::compared_numbers(compared, items, columns);
}

std::optional<JoinRange::Registers> JoinRange::registers(ScanColumns& columns, Program& of_probe,
                                                         Program& of_build) const {
  const auto of_number = number.registers(columns, of_build, of_probe);
  if (!of_number) return std::nullopt;
  Registers found{.number = of_number->front()};
  if (number.least != nullptr) found.least = (*of_number)[1];
  if (number.greatest != nullptr) found.greatest = of_number->back();
  if (end) {
    const auto of_end = end->registers(columns, of_build, of_probe);
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
