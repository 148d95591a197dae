// The order of joins: of all ways to join the tables, by dynamic programming, the one that costs least by the
// estimates of rows; of very many tables, the next pair that gives the fewest rows, again and again.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>

#include "ha_hailstone.h"
#include "item_parts.h"
#include "join_tree.h"
#include "row_block.h"

namespace hailstone {

namespace {

using Tables = uint64_t;  // a bit for each member of what is planned

/// Up to so many members all orders are tried.
constexpr size_t most_in_all_orders = 11;
// What a row costs, against one that is only looked up in memory near at hand.
constexpr double cost_of_probe = 1, cost_of_build = 3, cost_of_row_out = 1;
/// A lookup in many rows waits for memory.
constexpr double rows_near_at_hand = 50'000, cost_of_far_probe = 3;

double rows_of_table(const SourceTables::Source& source) {
  source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  return static_cast<double>(source.table->file->stats.records);
}

/// Plans one group of tables that are joined with each other.
class Planner {
 public:
  Planner(const FromClause& from, const JoinedTables& joined)
      : from_(from), sources_(*from.sources), joined_(joined) {}

  std::unique_ptr<JoinNode> plan() {
    for (const size_t table : joined_.tables) {
      auto leaf = std::make_unique<JoinNode>();
      leaf->source = table;
      members_.push_back(std::move(leaf));
    }
    take_conditions();
    carry_limits();
    for (auto& member : members_) {
      member->rows = std::max(1.0, estimate(*member));
    }
    std::vector<const JoinedTables::Added*> behind_members;
    for (const JoinedTables::Added& added : joined_.added) {
      const auto member = member_that_decides(added);
      if (member) {
        members_[*member] = add(std::move(members_[*member]), added);
      } else {
        behind_members.push_back(&added);
      }
    }
    for (const auto& member : members_) rows_.push_back(std::max(1.0, member->rows));
    take_straight_joins();
    std::unique_ptr<JoinNode> node = members_.size() <= most_in_all_orders ? best_of_all_orders()
                                     : straight_.empty()                   ? by_fewest_rows()
                                                                           : in_their_order();
    for (const JoinedTables::Added* const added : behind_members) node = add(std::move(node), *added);
    append(node->where, behind_);
    return node;
  }

 private:
  struct Edge {
    Tables tables;
    JoinKey key;
    double distinct;  // values of the key on the side that has more
  };
  struct Plan {
    double cost = std::numeric_limits<double>::infinity();
    Tables probe = 0;  // 0: a single member
  };

  static void append(std::vector<Item*>& to, const std::vector<Item*>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  /// The members whose columns the item reads; nothing: it reads others, too.
  std::optional<Tables> tables_of(Item& item) const {
    Tables tables = 0;
    for (const Item_field* const column : columns_read_by(item)) {
      const auto number = sources_.number_of(*column->field);
      const auto member = number ? std::ranges::find(joined_.tables, *number) : joined_.tables.end();
      if (member == joined_.tables.end()) return std::nullopt;
      tables |= Tables{1} << (member - joined_.tables.begin());
    }
    return tables;
  }

  /// How many values a key has, of which rows of both sides have the same ones. Where it is not known, those
  /// of one side are taken for a key of its table, and the other side's for references to it.
  double distinct_of(const JoinKey& key) const {
    bool known = true;
    const auto values_of = [&](const Field& field) {
      const auto& source = sources_.all()[*sources_.number_of(field)];
      const uint16_t column = source.reader().column_of_field(field.field_index);
      const auto found = static_cast<double>(distinct_values(source.readers, column));
      known = known && found != 0;
      return found != 0 ? found : std::min(rows_of_table(source), values_between(source, field, column));
    };
    const double one = values_of(*key.one), other = values_of(*key.other);
    return std::max(1.0, known ? std::max(one, other) : std::min(one, other));
  }

  /// How many whole numbers there are between the least and the greatest of a column.
  static double values_between(const SourceTables::Source& source, const Field& field, uint16_t column) {
    constexpr double any = std::numeric_limits<double>::infinity();
    if (!is_whole_number(field)) return any;
    std::optional<Scans> scans;
    if (open_scans(source.readers, std::make_shared<Predicate>(Predicate::always()), {column}, scans) != 0)
      return any;
    constexpr std::array<Aggregate, 2> ends{
        {{.kind = Aggregate::Kind::Minimum}, {.kind = Aggregate::Kind::Maximum}}};
    const auto found = scans->aggregate(ends, 1);
    if (!found || found->front().count == 0) return any;
    return static_cast<double>(found->back().integer - found->front().integer) + 1;
  }

  void take_conditions() {
    for (Item* const condition : joined_.conditions) {
      const auto tables = tables_of(*condition);
      if (!tables || *tables == 0) {
        behind_.push_back(condition);
      } else if (std::has_single_bit(*tables)) {
        members_[static_cast<size_t>(std::countr_zero(*tables))]->where.push_back(condition);
      } else if (const auto key = key_of_condition(*condition, from_.sources)) {
        edges_.push_back({*tables, *key, distinct_of(*key)});
      } else {
        across_.emplace_back(*tables, condition);
        take_implied(*condition);
      }
    }
  }

  /// Limits of a column are those of the columns that it must be equal to, too: of `a.x = b.x AND a.x = 5`,
  /// 5 is looked for in both tables.
  void carry_limits() {
    struct Limit {
      const Field* field;
      std::vector<IntegerRange> ranges;
      size_t origin;  // the number of the condition that it comes of
    };
    std::vector<Limit> limits;
    for (const auto& member : members_) {
      const SourceTables::Source& source = sources_.all()[*member->source];
      for (Item* const condition : member->where) {
        const auto predicate = source.reader().condition(condition, /*row_is_there=*/true).predicate;
        if (predicate->kind() != Predicate::Kind::Integer) continue;
        const Field* const field = source.table->field[source.reader().field_of_column(predicate->column())];
        limits.push_back({field, {predicate->ranges().begin(), predicate->ranges().end()}, limits.size()});
      }
    }
    for (size_t i = 0; i < limits.size(); ++i) {
      for (Edge& edge : edges_) {
        const auto& [one, other] = std::pair(edge.key.one, edge.key.other);
        const Limit limit = limits[i];
        if ((one != limit.field && other != limit.field) || edge.key.computed != nullptr ||
            !are_stored_alike(*one, *other))
          continue;
        edge.distinct = std::min(edge.distinct, values_within(limit.ranges));
        const Field* const to = one == limit.field ? other : one;
        const bool known = std::ranges::any_of(
            limits, [&](const Limit& has) { return has.field == to && has.origin == limit.origin; });
        if (known) continue;
        limits.push_back({to, limit.ranges, limit.origin});
        const size_t number = *sources_.number_of(*to);
        const auto member = std::ranges::find(joined_.tables, number) - joined_.tables.begin();
        const uint16_t column = sources_.all()[number].reader().column_of_field(to->field_index);
        members_[static_cast<size_t>(member)]->implied.push_back(Predicate::integer(column, limit.ranges));
      }
    }
  }

  /// Whether equal values of both are the same numbers in their tables.
  static bool are_stored_alike(const Field& one, const Field& other) {
    const auto type = one.real_type();
    return type == other.real_type() &&
           (type == MYSQL_TYPE_NEWDATE ||
            (is_whole_number(one) && (one.flags & UNSIGNED_FLAG) == (other.flags & UNSIGNED_FLAG)));
  }
  static double values_within(const std::vector<IntegerRange>& ranges) {
    double values = 0;
    for (const IntegerRange& range : ranges) values += static_cast<double>(range.high - range.low) + 1;
    return std::max(1.0, values);
  }

  /// What all branches of an OR ask: keys, and of a table's rows something or other.
  void take_implied(Item& condition) {
    Item& real = *condition.real_item();
    if (real.type() != Item::COND_ITEM || static_cast<Item_cond&>(real).functype() != Item_func::COND_OR_FUNC)
      return;
    std::vector<std::vector<Item*>> branches;
    List_iterator<Item> each(*static_cast<Item_cond&>(real).argument_list());
    while (Item* const branch = each++) add_parts(branch, branches.emplace_back());
    for (Item* const part : branches.front()) {
      const auto key = key_of_condition(*part, from_.sources);
      const auto has_it = [&](const std::vector<Item*>& parts) {
        return std::ranges::any_of(parts, [&](const Item* other) { return part->eq(other, true); });
      };
      if (key && std::ranges::all_of(branches, has_it))
        edges_.push_back({*tables_of(*part), *key, distinct_of(*key)});
    }
    for (const auto& member : members_) {
      const HailstoneHandler& reader = sources_.all()[*member->source].reader();
      std::vector<Predicate> choices;
      for (const auto& parts : branches) {
        std::vector<Predicate> all;
        for (Item* const part : parts) {
          if (sources_.only_one_of(*part) == member->source)
            all.push_back(*reader.condition(part, /*row_is_there=*/true).predicate);
        }
        if (all.empty()) break;
        choices.push_back(Predicate::all_of(std::move(all)));
      }
      if (choices.size() == branches.size()) member->implied.push_back(Predicate::any_of(std::move(choices)));
    }
  }

  /// How many rows of a table fulfil its own conditions.
  double estimate(const JoinNode& leaf) const {
    const SourceTables::Source& source = sources_.all()[*leaf.source];
    double rows = rows_of_table(source);
    if (leaf.where.empty() && leaf.implied.empty()) return rows;
    std::vector<Predicate> predicates = leaf.implied;
    // Of what only a row can tell, something.
    constexpr double share_of_unknown = 0.3;
    for (Item* const condition : leaf.where) {
      const PushedCondition pushed = source.reader().condition(condition, /*row_is_there=*/true);
      predicates.push_back(*pushed.predicate);
      if (!pushed.complete) rows *= share_of_unknown;
    }
    std::optional<Scans> scans;
    if (open_scans(source.readers, std::make_shared<Predicate>(Predicate::all_of(std::move(predicates))), {},
                   scans) != 0)
      return rows;
    const auto share = scans->sample();
    return share ? rows * *share : rows;
  }

  /// Estimated: of the members in `tables`, joined.
  double rows_of(Tables tables) const {
    double rows = 1;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if ((tables >> i & 1) != 0) rows *= rows_[i];
    }
    for (const Edge& edge : edges_) {
      if ((edge.tables & ~tables) == 0) rows /= std::max(1.0, edge.distinct);
    }
    constexpr double share_of_condition = 0.3;
    for (const auto& [of, condition] : across_) {
      if ((of & ~tables) == 0) rows *= share_of_condition;
    }
    return std::max(1.0, rows);
  }

  bool are_connected(Tables one, Tables other) const {
    return std::ranges::any_of(edges_, [&](const Edge& edge) {
      return (edge.tables & one) != 0 && (edge.tables & other) != 0 && (edge.tables & ~(one | other)) == 0;
    });
  }

  void take_straight_joins() {
    const auto members_of = [&](uint64_t numbers) {
      Tables members = 0;
      for (size_t i = 0; i < members_.size(); ++i) members |= (numbers >> joined_.tables[i] & 1) << i;
      return members;
    };
    for (const StraightJoin& join : from_.straight) {
      const StraightJoin here{.before = members_of(join.before), .after = members_of(join.after)};
      if (here.before != 0 && here.after != 0) straight_.push_back(here);
    }
  }

  /// Whether the members may be joined with each other before others are.
  bool may_be_joined(Tables tables) const {
    return std::ranges::all_of(straight_, [tables](const StraightJoin& join) {
      return (tables & join.after) == 0 || (join.before & ~tables) == 0 || (tables & ~join.after) == 0;
    });
  }
  /// Whether members that come later are in the side that is looked up.
  bool keeps_order(Tables probe, Tables build) const {
    return std::ranges::none_of(straight_, [probe, build](const StraightJoin& join) {
      return (probe & join.after) != 0 && (build & join.before) != 0;
    });
  }

  static double cost_of(double probe, double build, double out) {
    const double lookup = build > rows_near_at_hand ? cost_of_far_probe : cost_of_probe;
    return probe * lookup + build * cost_of_build + out * cost_of_row_out;
  }

  std::unique_ptr<JoinNode> best_of_all_orders() {
    const Tables all = (Tables{1} << members_.size()) - 1;
    std::vector<Plan> plans(all + 1);
    std::vector<double> rows(all + 1, 1);
    for (Tables tables = 1; tables <= all; ++tables) rows[tables] = rows_of(tables);
    for (Tables tables = 1; tables <= all; ++tables) {
      Plan& plan = plans[tables];
      if (std::has_single_bit(tables)) {
        plan.cost = 0;
        continue;
      }
      if (!may_be_joined(tables)) continue;
      for (const bool with_products : {false, true}) {
        for (Tables probe = (tables - 1) & tables; probe != 0; probe = (probe - 1) & tables) {
          const Tables build = tables & ~probe;
          if (!keeps_order(probe, build) || (!with_products && !are_connected(probe, build))) continue;
          const double cost =
              plans[probe].cost + plans[build].cost + cost_of(rows[probe], rows[build], rows[tables]);
          if (cost < plan.cost) plan = {cost, probe};
        }
        // Every row with every row only where nothing else is left.
        if (plan.probe != 0) break;
      }
    }
    return make(plans, rows, all);
  }

  std::unique_ptr<JoinNode> make(const std::vector<Plan>& plans, const std::vector<double>& rows,
                                 Tables tables) {
    const Tables probe = plans[tables].probe;
    if (probe == 0) return std::move(members_[static_cast<size_t>(std::countr_zero(tables))]);
    return join(make(plans, rows, probe), probe, make(plans, rows, tables & ~probe), tables & ~probe,
                rows[tables]);
  }

  std::unique_ptr<JoinNode> join(std::unique_ptr<JoinNode> probe, Tables of_probe,
                                 std::unique_ptr<JoinNode> build, Tables of_build, double rows) const {
    auto node = std::make_unique<JoinNode>();
    node->probe = std::move(probe);
    node->build = std::move(build);
    node->rows = rows;
    const Tables both = of_probe | of_build;
    const auto spans = [&](Tables tables) {
      return (tables & ~both) == 0 && (tables & of_probe) != 0 && (tables & of_build) != 0;
    };
    for (const Edge& edge : edges_) {
      if (!spans(edge.tables)) continue;
      const auto member =
          std::ranges::find(joined_.tables, *sources_.number_of(*edge.key.one)) - joined_.tables.begin();
      const bool as_is = (of_probe >> member & 1) != 0;
      node->keys.push_back(as_is ? edge.key : edge.key.turned());
    }
    for (const auto& [of, condition] : across_) {
      if (spans(of)) node->where.push_back(condition);
    }
    return node;
  }

  /// One after the other, as the statement has them.
  std::unique_ptr<JoinNode> in_their_order() {
    std::vector<size_t> order(members_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, std::less{}, [&](size_t member) { return joined_.tables[member]; });
    Tables joined = Tables{1} << order.front();
    auto node = std::move(members_[order.front()]);
    for (const size_t member : order | std::views::drop(1)) {
      const Tables next = Tables{1} << member;
      node = join(std::move(node), joined, std::move(members_[member]), next, rows_of(joined | next));
      joined |= next;
    }
    return node;
  }

  std::unique_ptr<JoinNode> by_fewest_rows() {
    std::vector<std::pair<Tables, std::unique_ptr<JoinNode>>> parts;
    for (size_t i = 0; i < members_.size(); ++i) parts.emplace_back(Tables{1} << i, std::move(members_[i]));
    while (parts.size() > 1) {
      size_t best = 0, other = 1;
      double least = std::numeric_limits<double>::infinity();
      for (const bool with_products : {false, true}) {
        for (size_t i = 0; i < parts.size(); ++i) {
          for (size_t j = i + 1; j < parts.size(); ++j) {
            if (!with_products && !are_connected(parts[i].first, parts[j].first)) continue;
            const double rows = rows_of(parts[i].first | parts[j].first);
            if (rows < least) least = rows, best = i, other = j;
          }
        }
        if (least < std::numeric_limits<double>::infinity()) break;
      }
      if (parts[best].second->rows < parts[other].second->rows) std::swap(best, other);
      auto node = join(std::move(parts[best].second), parts[best].first, std::move(parts[other].second),
                       parts[other].first, least);
      const Tables both = parts[best].first | parts[other].first;
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(std::max(best, other)));
      parts[std::min(best, other)] = {both, std::move(node)};
    }
    return std::move(parts.front().second);
  }

  /// The one of whose rows a semi join takes some away, whatever they are joined to; nothing: it is up to the
  /// rows of several, or it is no semi join.
  std::optional<size_t> member_that_decides(const JoinedTables::Added& added) const {
    if (added.kind != JoinPlan::Kind::Semi) return std::nullopt;
    std::vector<size_t> numbers;
    add_numbers(added.side, numbers);
    std::optional<size_t> only;
    for (Item* const condition : added.on) {
      for (const Item_field* const column : columns_read_by(*condition)) {
        const size_t number = *sources_.number_of(*column->field);
        if (std::ranges::find(numbers, number) != numbers.end()) continue;
        const auto member = std::ranges::find(joined_.tables, number);
        if (member == joined_.tables.end()) return std::nullopt;
        const auto found = static_cast<size_t>(member - joined_.tables.begin());
        if (only && *only != found) return std::nullopt;
        only = found;
      }
    }
    return only;
  }

  /// What is joined to rows by an outer or a semi join: of its ON, what its side alone can tell is the side's
  /// own.
  std::unique_ptr<JoinNode> add(std::unique_ptr<JoinNode> probe, const JoinedTables::Added& added) const {
    JoinedTables side = added.side;
    std::vector<size_t> numbers;
    add_numbers(side, numbers);
    auto node = std::make_unique<JoinNode>();
    node->kind = added.kind;
    for (Item* const condition : added.on) {
      const auto columns = columns_read_by(*condition);
      const auto is_of_side = [&](const Field& field) {
        return std::ranges::find(numbers, *sources_.number_of(field)) != numbers.end();
      };
      const auto of_side = std::ranges::count_if(
          columns, [&](const Item_field* column) { return is_of_side(*column->field); });
      if (of_side != 0 && of_side == std::ssize(columns)) {
        side.conditions.push_back(condition);
        continue;
      }
      const auto key = key_of_condition(*condition, from_.sources);
      if (key && is_of_side(*key->one) != is_of_side(*key->other)) {
        node->keys.push_back(is_of_side(*key->other) ? *key : key->turned());
      } else {
        node->on.push_back(condition);
      }
    }
    node->build = Planner(from_, side).plan();
    double pairs = probe->rows * node->build->rows;
    for (const JoinKey& key : node->keys) pairs /= distinct_of(key);
    node->rows =
        added.kind == JoinPlan::Kind::Semi ? std::min(probe->rows, pairs) : std::max(probe->rows, pairs);
    node->probe = std::move(probe);
    return node;
  }

  static void add_numbers(const JoinedTables& joined, std::vector<size_t>& to) {
    to.insert(to.end(), joined.tables.begin(), joined.tables.end());
    for (const JoinedTables::Added& added : joined.added) add_numbers(added.side, to);
  }

  const FromClause& from_;  // of which this is the whole or a side
  const SourceTables& sources_;
  const JoinedTables& joined_;
  std::vector<StraightJoin> straight_;  // bits are those of members
  std::vector<std::unique_ptr<JoinNode>> members_;
  std::vector<double> rows_;
  std::vector<Edge> edges_;
  std::vector<std::pair<Tables, Item*>> across_;  // conditions on several members that are no keys
  std::vector<Item*> behind_;                     // conditions on what outer joins add, or on nothing
};

}  // namespace

std::unique_ptr<JoinNode> plan_joins(const FromClause& from) { return Planner(from, from.joined).plan(); }

}  // namespace hailstone
