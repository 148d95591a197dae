// From the tables that a SELECT joins, and their conditions, to a tree of joins in the order that costs least
// (query/join/join_search.h).
#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "ha_hailstone.h"
#include "item_parts.h"
#include "join_estimate.h"
#include "join_limits.h"
#include "join_tree.h"
#include "query/join/join_search.h"
#include "row_block.h"

namespace hailstone {

namespace {

/// Of the pairs that a condition on several tables is asked of, it leaves something.
constexpr double share_of_condition = 0.3, share_of_equality = 0.05;

/// Of joins that have begun.
struct PlanAgain {
  const JoinsSoFar& so_far;
  bool is_worth_it = false;  // to begin anew, in some group of tables
};

/// Plans one group of tables that are joined with each other.
class Planner {
 public:
  /// `again` (may be null): the joins have begun.
  Planner(const FromClause& from, const JoinedTables& joined, PlanAgain* again)
      : from_(from), sources_(*from.sources), joined_(joined), again_(again), tables_(joined.tables) {
    std::ranges::sort(tables_);
  }

  std::unique_ptr<JoinNode> plan() {
    for (const size_t table : tables_) {
      auto leaf = std::make_unique<JoinNode>();
      leaf->source = table;
      leaves_.push_back(leaf.get());
      members_.push_back(std::move(leaf));
    }
    take_conditions();
    carry_limits();
    for (size_t i = 0; i < members_.size(); ++i) {
      const MatchingRows matching = rows_that_match(source_of(i), members_[i]->pushed);
      members_[i]->rows = matching.all;
      members_[i]->rows_scanned = matching.by_predicates;
    }
    find_anti_joins();
    std::vector<const JoinedTables::Added*> behind_members;
    for (const JoinedTables::Added& added : joined_.added) {
      const auto member = member_that_decides(added);
      if (member) {
        members_[*member] = add(std::move(members_[*member]), added);
      } else {
        behind_members.push_back(&added);
      }
    }
    std::unique_ptr<JoinNode> node = join_members();
    for (const JoinedTables::Added* const added : behind_members) node = add(std::move(node), *added);
    for (Item* const condition : behind_) add_condition(*node, *condition);
    return node;
  }

 private:
  struct Column {
    size_t member;
    const Field* field;
    /// By limits of the values that are wanted: there are no more of them.
    double most = std::numeric_limits<double>::infinity();
  };
  /// Columns that are equal, each of another member.
  struct Equality {
    std::vector<Column> columns;
    /// Of two members alone, whose equality is `<=>`, or one of computed values.
    std::optional<JoinKey> key = {};

    const Column* of(JoinMembers members) const {
      const auto found = std::ranges::find_if(
          columns, [members](const Column& column) { return (members >> column.member & 1) != 0; });
      return found == columns.end() ? nullptr : &*found;
    }
    bool has(const Field* field) const {
      return std::ranges::find(columns, field, &Column::field) != columns.end();
    }
    bool has_member(size_t member) const { return of(JoinMembers{1} << member) != nullptr; }
    /// Whether all columns' values are those that are compared.
    bool is_of_columns() const { return !key || key->computed == nullptr; }
  };

  const SourceTables::Source& source_of(size_t member) const { return sources_.all()[tables_[member]]; }

  /// The members whose columns the item reads; nothing: it reads others, too.
  std::optional<JoinMembers> members_of(Item& item) const {
    JoinMembers members = 0;
    for (const Item_field* const column : columns_read_by(item)) {
      const auto member = member_of(*column->field);
      if (!member) return std::nullopt;
      members |= JoinMembers{1} << *member;
    }
    return members;
  }
  std::optional<size_t> member_of(const Field& field) const {
    const auto number = sources_.number_of(field);
    return number ? member_of_table(*number) : std::nullopt;
  }
  std::optional<size_t> member_of_table(size_t number) const {
    const auto found = std::ranges::find(tables_, number);
    if (found == tables_.end()) return std::nullopt;
    return static_cast<size_t>(found - tables_.begin());
  }

  void add_condition(JoinNode& node, Item& condition) const {
    node.where.push_back(&condition);
    if (node.source) {
      const HailstoneHandler& reader = sources_.all()[*node.source].reader();
      node.pushed.push_back(reader.condition(&condition, /*row_is_there=*/true));
    }
  }
  /// What is true of each row of a table that is wanted.
  static void add_implied(JoinNode& leaf, Predicate predicate) {
    leaf.pushed.push_back({.predicate = std::make_shared<Predicate>(std::move(predicate)), .complete = true});
  }

  void take_conditions() {
    for (Item* const condition : joined_.conditions) {
      const auto members = members_of(*condition);
      if (!members || *members == 0) {
        behind_.push_back(condition);
      } else if (std::has_single_bit(*members)) {
        add_condition(*members_[static_cast<size_t>(std::countr_zero(*members))], *condition);
      } else if (const auto key = key_of_condition(*condition, from_.sources)) {
        add_key(*key);
      } else {
        across_.emplace_back(*members, condition);
        take_implied(*condition);
      }
    }
  }

  /// Columns that are equal to the same one are equal to each other, as such keys are compared as they are
  /// stored. Where two of them would be of one member, what is compared stays as it is.
  void add_key(const JoinKey& key) {
    const Column one{*member_of(*key.one), key.one}, other{*member_of(*key.other), key.other};
    if (key.nulls_are_equal || key.computed != nullptr) {
      equalities_.push_back({.columns = {one, other}, .key = key});
      return;
    }
    const auto equality_of = [this](const Column& column) {
      return std::ranges::find_if(
          equalities_, [&](const Equality& equality) { return !equality.key && equality.has(column.field); });
    };
    const auto first = equality_of(one), second = equality_of(other);
    const auto none = equalities_.end();
    if (first != none && first == second) return;
    if (first != none && second != none && std::ranges::none_of(second->columns, [&](const Column& each) {
          return first->has_member(each.member);
        })) {
      first->columns.insert(first->columns.end(), second->columns.begin(), second->columns.end());
      equalities_.erase(second);
    } else if (first != none && second == none && !first->has_member(other.member)) {
      first->columns.push_back(other);
    } else if (first == none && second != none && !second->has_member(one.member)) {
      second->columns.push_back(one);
    } else {
      equalities_.push_back({.columns = {one, other}});
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
    for (size_t i = 0; i < members_.size(); ++i) {
      const SourceTables::Source& source = source_of(i);
      for (const PushedCondition& pushed : members_[i]->pushed) {
        const Predicate& predicate = *pushed.predicate;
        if (predicate.kind() != Predicate::Kind::Integer) continue;
        const Field* const field = source.table->field[source.reader().field_of_column(predicate.column())];
        limits.push_back({field, {predicate.ranges().begin(), predicate.ranges().end()}, limits.size()});
      }
    }
    for (size_t i = 0; i < limits.size(); ++i) {
      const Limit limit = limits[i];
      for (Equality& equality : equalities_) {
        if (!equality.is_of_columns() || !equality.has(limit.field)) continue;
        for (Column& column : equality.columns) {
          if (column.field != limit.field && !are_stored_alike(*column.field, *limit.field)) continue;
          column.most = std::min(column.most, values_within(limit.ranges));
          const bool known = std::ranges::any_of(limits, [&](const Limit& has) {
            return has.field == column.field && has.origin == limit.origin;
          });
          if (known) continue;
          limits.push_back({column.field, limit.ranges, limit.origin});
          const uint16_t number =
              source_of(column.member).reader().column_of_field(column.field->field_index);
          add_implied(*members_[column.member], Predicate::integer(number, limit.ranges));
        }
      }
    }
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
      if (key && std::ranges::all_of(branches, has_it)) add_key(*key);
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
      if (choices.size() == branches.size()) add_implied(*member, Predicate::any_of(std::move(choices)));
    }
  }

  // --- estimates

  JoinGraph::Equality::Column values_of(size_t member, const Field& field) const {
    const DistinctValues distinct = distinct_values_of(sources_.all()[*sources_.number_of(field)], {&field});
    return {.member = member, .distinct = distinct.values, .is_known = distinct.is_known};
  }

  JoinGraph graph() const {
    JoinGraph graph;
    for (const auto& member : members_) graph.rows.push_back(member->rows);
    for (const Equality& equality : equalities_) {
      auto& columns = graph.equalities.emplace_back().columns;
      for (const Column& column : equality.columns) {
        columns.push_back(values_of(column.member, *column.field));
        columns.back().distinct = std::min(columns.back().distinct, column.most);
      }
    }
    for (size_t one = 0; one < members_.size(); ++one) {
      for (size_t other = one + 1; other < members_.size(); ++other) add_combination(one, other, graph);
    }
    for (const auto& [members, condition] : across_)
      graph.factors.push_back({members, share_left_by(*condition)});
    const auto here = [this](uint64_t numbers) {
      JoinMembers members = 0;
      for (size_t i = 0; i < tables_.size(); ++i) members |= (numbers >> tables_[i] & 1) << i;
      return members;
    };
    add_limits_by_keys(graph);
    for (const StraightJoin& join : from_.straight) {
      const JoinGraph::Order order{.before = here(join.before), .after = here(join.after)};
      if (order.before != 0 && order.after != 0) graph.orders.push_back(order);
    }
    return graph;
  }

  void add_limits_by_keys(JoinGraph& graph) const {
    std::vector<std::vector<LimitsByKeys::Column>> columns;
    for (const Equality& equality : equalities_) {
      auto& of_equality = columns.emplace_back();
      if (!equality.is_of_columns()) continue;
      for (const Column& column : equality.columns) of_equality.push_back({column.member, column.field});
    }
    LimitsByKeys{.sources = sources_, .members = leaves_, .columns = columns}.add_to(graph);
  }

  /// Of what is no key.
  double share_left_by(Item& condition) const {
    Item& real = *condition.real_item();
    if (real.type() != Item::FUNC_ITEM) return share_of_condition;
    auto& function = static_cast<Item_func&>(real);
    if (function.functype() != Item_func::EQ_FUNC && function.functype() != Item_func::EQUAL_FUNC)
      return share_of_condition;
    double most = 0;
    for (uint i = 0; i < function.argument_count(); ++i) {
      Item& argument = *function.arguments()[i]->real_item();
      if (argument.type() != Item::FIELD_ITEM) return share_of_equality;
      const Field& field = *static_cast<Item_field&>(argument).field;
      if (!field.stored_in_db()) return share_of_equality;
      const DistinctValues distinct = distinct_values_of(source_of(*member_of(field)), {&field});
      if (distinct.is_known) most = std::max(most, distinct.values);
    }
    return most == 0 ? share_of_equality : 1 / most;
  }

  /// Two members that are compared by several columns: of the values that these have, not all combinations
  /// are there.
  void add_combination(size_t one, size_t other, JoinGraph& graph) const {
    JoinGraph by_columns, together;
    std::vector<const Field*> of_one, of_other;
    for (size_t i = 0; i < equalities_.size(); ++i) {
      const Column* const first = equalities_[i].of(JoinMembers{1} << one);
      const Column* const second = equalities_[i].of(JoinMembers{1} << other);
      if (!equalities_[i].is_of_columns() || first == nullptr || second == nullptr) continue;
      of_one.push_back(first->field);
      of_other.push_back(second->field);
      by_columns.equalities.push_back(graph.equalities[i]);
    }
    if (of_one.size() < 2) return;
    const JoinMembers both = JoinMembers{1} << one | JoinMembers{1} << other;
    // Far more rows than can come of the pair, so that shares of them can be told.
    constexpr double very_many = 1e30;
    by_columns.rows.assign(members_.size(), 1);
    by_columns.rows[one] = by_columns.rows[other] = very_many;
    together.rows = by_columns.rows;
    const DistinctValues first = distinct_values_of(source_of(one), of_one);
    const DistinctValues second = distinct_values_of(source_of(other), of_other);
    together.equalities = {
        {.columns = {{.member = one, .distinct = first.values, .is_known = first.is_known},
                     {.member = other, .distinct = second.values, .is_known = second.is_known}}}};
    graph.factors.push_back({both, std::max(1.0, together.rows_of(both) / by_columns.rows_of(both))});
  }

  // --- the tree

  std::unique_ptr<JoinNode> join_members() {
    if (members_.size() == 1) return std::move(members_.front());
    std::vector<JoinMembers> made;
    for (size_t i = 0; i < members_.size(); ++i) made.push_back(JoinMembers{1} << i);
    for (const JoinStep& step : steps()) {
      auto node = join(std::move(members_[step.probe]), made[step.probe], std::move(members_[step.build]),
                       made[step.build]);
      node->rows = step.rows;
      members_.push_back(std::move(node));
      made.push_back(made[step.probe] | made[step.build]);
    }
    return std::move(members_.back());
  }

  std::vector<JoinStep> steps() const {
    if (again_ == nullptr) return search_joins(graph());
    std::vector<uint64_t> tables;
    for (const auto& member : members_) tables.push_back(member->tables());
    StepsAgain again = choose_steps_again(graph(), tables, again_->so_far);
    again_->is_worth_it = again_->is_worth_it || again.are_better;
    return std::move(again.steps);
  }

  std::unique_ptr<JoinNode> join(std::unique_ptr<JoinNode> probe, JoinMembers of_probe,
                                 std::unique_ptr<JoinNode> build, JoinMembers of_build) const {
    auto node = std::make_unique<JoinNode>();
    node->probe = std::move(probe);
    node->build = std::move(build);
    for (const Equality& equality : equalities_) {
      const Column* const one = equality.of(of_probe);
      const Column* const other = equality.of(of_build);
      if (one == nullptr || other == nullptr) continue;
      if (equality.key) {
        node->keys.push_back(equality.key->one == one->field ? *equality.key : equality.key->turned());
      } else {
        node->keys.push_back({one->field, other->field});
      }
    }
    const JoinMembers both = of_probe | of_build;
    for (const auto& [members, condition] : across_) {
      if ((members & ~both) == 0 && (members & of_probe) != 0 && (members & of_build) != 0)
        node->where.push_back(condition);
    }
    leave_to_pairs(*node, node->where);
    return node;
  }

  /// Where other keys leave few pairs, the server is asked of these, and need not compute keys of all rows.
  void leave_to_pairs(JoinNode& node, std::vector<Item*>& conditions) const {
    JoinGraph graph{.rows = {node.probe->rows, node.build->rows}};
    for (const JoinKey& key : node.keys) {
      if (!key.by_server)
        graph.equalities.push_back({.columns = {values_of(0, *key.one), values_of(1, *key.other)}});
    }
    if (graph.equalities.empty() || graph.rows_of(0b11) > node.probe->rows + node.build->rows) return;
    std::erase_if(node.keys, [&](const JoinKey& key) {
      if (key.by_server) conditions.push_back(key.computed);
      return key.by_server;
    });
  }

  /// The one of whose rows a semi or anti join takes some away, whatever they are joined to; nothing: it is
  /// up to the rows of several, or it is another join.
  std::optional<size_t> member_that_decides(const JoinedTables::Added& added) const {
    if (added.kind != JoinPlan::Kind::Semi && !anti_.contains(&added)) return std::nullopt;
    const std::vector<size_t> numbers = all_tables(added.side);
    std::optional<size_t> only;
    for (Item* const condition : added.on) {
      for (const Item_field* const column : columns_read_by(*condition)) {
        const size_t number = *sources_.number_of(*column->field);
        if (std::ranges::find(numbers, number) != numbers.end()) continue;
        const auto member = member_of_table(number);
        if (!member || (only && *only != *member)) return std::nullopt;
        only = member;
      }
    }
    return only;
  }

  /// An outer join of whose rows only those are wanted that have no partner is an anti join; the condition
  /// that says so holds for all of its rows.
  void find_anti_joins() {
    std::erase_if(behind_, [this](Item* condition) {
      const auto tells = std::ranges::find_if(joined_.added, [&](const JoinedTables::Added& added) {
        return added.kind == JoinPlan::Kind::Left && is_null_without_partner_only(*condition, added);
      });
      if (tells == joined_.added.end()) return false;
      anti_.insert(&*tells);
      return true;
    });
  }
  /// Whether it is `x IS NULL` of a column that no row which an outer join adds has NULL in.
  bool is_null_without_partner_only(Item& condition, const JoinedTables::Added& added) const {
    Item& real = *condition.real_item();
    if (real.type() != Item::FUNC_ITEM || static_cast<Item_func&>(real).functype() != Item_func::ISNULL_FUNC)
      return false;
    Item& argument = *static_cast<Item_func&>(real).arguments()[0]->real_item();
    if (argument.type() != Item::FIELD_ITEM) return false;
    const Field* const field = static_cast<Item_field&>(argument).field;
    const auto number = sources_.number_of(*field);
    if (!number || std::ranges::find(added.side.tables, *number) == added.side.tables.end()) return false;
    if (!field->real_maybe_null()) return true;
    return std::ranges::any_of(added.on, [&](Item* part) {
      const auto key = key_of_condition(*part, from_.sources);
      return key && !key->nulls_are_equal && key->computed == nullptr &&
             (key->one == field || key->other == field);
    });
  }

  /// What is joined to rows by an outer or a semi join: of its ON, what its side alone can tell is the side's
  /// own.
  std::unique_ptr<JoinNode> add(std::unique_ptr<JoinNode> probe, const JoinedTables::Added& added) const {
    JoinedTables side = added.side;
    const std::vector<size_t> numbers = all_tables(side);
    auto node = std::make_unique<JoinNode>();
    node->kind = anti_.contains(&added) ? JoinPlan::Kind::Anti : added.kind;
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
    node->build = Planner(from_, side, again_).plan();
    node->probe = std::move(probe);
    leave_to_pairs(*node, node->on);
    const double rows = node->probe->rows;
    JoinGraph graph{.rows = {rows, node->build->rows}};
    for (const JoinKey& key : node->keys)
      graph.equalities.push_back({.columns = {values_of(0, *key.one), values_of(1, *key.other)}});
    const double pairs = graph.rows_of(0b11);
    // Of those without a partner some are expected where all seem to have one.
    constexpr double least_share_without_partner = 0.1;
    if (node->kind == JoinPlan::Kind::Semi) {
      node->rows = std::min(rows, pairs);
    } else if (node->kind == JoinPlan::Kind::Anti) {
      node->rows = std::max(rows - pairs, rows * least_share_without_partner);
    } else {
      node->rows = std::max(rows, pairs);
    }
    return node;
  }

  const FromClause& from_;  // of which this is the whole or a side
  const SourceTables& sources_;
  const JoinedTables& joined_;
  PlanAgain* const again_;
  std::vector<size_t> tables_;                      // numbers of the members' tables, ascending
  std::vector<std::unique_ptr<JoinNode>> members_;  // behind them, what has been made of them
  std::vector<const JoinNode*> leaves_;             // the members' tables
  std::vector<Equality> equalities_;
  std::vector<std::pair<JoinMembers, Item*>> across_;  // conditions on several members that are no keys
  std::vector<Item*> behind_;                          // conditions on what outer joins add, or on nothing
  std::set<const JoinedTables::Added*> anti_;          // outer joins that are anti joins
};

}  // namespace

std::unique_ptr<JoinNode> plan_joins(const FromClause& from) {
  std::unique_ptr<JoinNode> node = Planner(from, from.joined, /*again=*/nullptr).plan();
  find_ranges(*node, from);
  return node;
}

std::unique_ptr<JoinNode> plan_joins_again(const FromClause& from, const JoinsSoFar& so_far) {
  PlanAgain again{.so_far = so_far};
  std::unique_ptr<JoinNode> node = Planner(from, from.joined, &again).plan();
  if (!again.is_worth_it) return nullptr;
  find_ranges(*node, from);
  return node;
}

}  // namespace hailstone
