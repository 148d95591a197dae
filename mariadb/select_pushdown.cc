#include "select_pushdown.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "evaluated_items.h"
#include "group_block.h"
#include "group_result.h"
#include "ha_hailstone.h"
#include "huge_pages.h"
#include "index_use.h"
#include "item_parts.h"
#include "join_tree.h"
#include "limit_cost.h"
#include "merged_views.h"
#include "pushdown_warnings.h"
#include "pushed_select.h"
#include "quick_by_server.h"
#include "row_result.h"
#include "select_block.h"
#include "server_group_result.h"
#include "server_groups_block.h"
#include "source_tables.h"
#include "statement_items.h"
#include "variables.h"

namespace hailstone {

namespace {

bool is_of_known_form(THD& thd, SELECT_LEX& select) {
  const JOIN& join = *select.join;
  // ANALYZE keeps what it reads from where INSERT and INTO want it; a limit on big joins is the optimizer's
  // to check.
  return is_plain_statement(thd, select) && !(thd.lex->analyze_stmt && !sends_rows(thd)) &&
         thd.in_sub_stmt == 0 && (thd.variables.option_bits & OPTION_BIG_SELECTS) != 0 &&
         join.procedure == nullptr && select.ftfunc_list->elements == 0 &&
         (select.options & OPTION_SCHEMA_TABLE) == 0;
}

/// A whole SELECT that may be the engine's.
class WholeSelect {
 public:
  /// Of one table.
  WholeSelect(THD& thd, SELECT_LEX& select, const SelectSource& source)
      : WholeSelect(thd, select,
                    std::make_shared<SourceTables>(std::vector<SourceTables::Source>{
                        {source.leaf->table, readers_of(*source.leaf->table)}}),
                    source.conditions) {}
  /// Of several.
  WholeSelect(THD& thd, SELECT_LEX& select, FromClause from)
      : WholeSelect(thd, select, from.sources, from.all_conditions()) {
    from_ = std::make_shared<FromClause>(std::move(from));
  }

  OfferedBlock offered() const { return {thd_, select_, "create_select"}; }
  bool has_groups() const { return join_.group_list != nullptr || join_.implicit_grouping; }

  std::expected<select_handler*, Declined> push() {
    if (!is_of_known_form(thd_, select_)) return declined(SelectOutcome::Statement);
    for (const SourceTables::Source& source : sources_->all()) {
      if (const auto reason = reason_to_decline(thd_, source.readers)) return declined(*reason);
    }
    if (chooses() && !from_) {
      if (Item* const item = finds_one_row(*sources_->first().table, items_))
        return declined(SelectOutcome::Index, item);
    }
    if (const auto other = made_of_others()) return std::unexpected(*other);
    for (Item* const condition : items_) {
      // So IS NULL of what cannot be NULL evaluates nothing, and raises no error, as when it is optimised.
      condition->update_used_tables();
      // The optimizer brings a condition's parts into another order, so that another one warns of a row.
      const bool warns =
          may_warn(thd_, *condition) && !(from_ && is_asked_once() && from_->is_asked_last(*condition));
      if (is_replaced(*condition) || !has_silent_constants(thd_, *condition) || warns)
        return declined(SelectOutcome::Condition, condition);
    }
    if (Item* const item = from_ ? made_of_missing_rows(*from_, join_.all_fields, join_.having) : nullptr)
      return declined(SelectOutcome::View, item);
    // The optimizer does so when it merges a view: its columns that are NOT NULL may be NULL, too.
    for (const SourceTables::Source& source : sources_->all()) {
      if (source.may_be_missing) source.table->maybe_null = true;
    }
    update_shown();
    if (Item* const item = never_true()) return declined(SelectOutcome::Condition, item);
    for (const SourceTables::Source& source : sources_->all()) {
      if (chooses() && names_index(*source.table->pos_in_table_list)) return declined(SelectOutcome::Hint);
    }
    if (from_) {
      if (const auto parts = conditions_on_groups();
          !parts.empty() && (aggregates_computed() || may_warn_of_aggregates()))
        return declined(SelectOutcome::Condition, parts.front());
      auto plan = plan_joins_if_quicker(*from_, chooses());
      if (!plan) return std::unexpected(plan.error());
      join_plan_ = std::move(*plan);
      if (chooses()) {
        if (const auto sooner = server_ends_sooner(from_->all_conditions(), *join_plan_))
          return std::unexpected(*sooner);
      }
    } else {
      for (const Item* const condition : items_) conditions_.push_back(reader().condition(condition));
      if (Item* const part = take_conditions_on_groups();
          part != nullptr && (is_offered_again() || may_warn_of_aggregates()))
        return declined(SelectOutcome::Condition, part);
      if (Item* const item = chooses() ? item_quick_by_index() : nullptr)
        return declined(SelectOutcome::Index, item);
      if (chooses()) {
        if (const auto sooner = server_ends_sooner()) return std::unexpected(*sooner);
      }
    }
    return has_groups() || join_.select_distinct ? push_groups() : push_rows();
  }

  /// Whether the server offers it once more, when it has optimised it.
  bool is_offered_again() const { return is_offered_as_block(select_); }

 private:
  WholeSelect(THD& thd, SELECT_LEX& select, std::shared_ptr<const SourceTables> sources,
              std::vector<Item*> conditions)
      : thd_(thd),
        select_(select),
        join_(*select.join),
        sources_(std::move(sources)),
        items_(std::move(conditions)),
        query_{&join_.all_fields,
               static_cast<int>(join_.all_fields.elements - join_.fields_list.elements),
               join_.select_distinct,
               sources_->first().table->pos_in_table_list,
               nullptr,
               join_.group_list,
               join_.order != nullptr ? join_.order : join_.group_list,
               join_.having,
               &select_.master_unit()->lim} {}

  bool chooses() const { return select_pushdown(&thd_) == SelectPushdown::Auto; }
  /// What is rolled up may be read once a level.
  bool is_asked_once() const { return select_.olap == UNSPECIFIED_OLAP_TYPE; }

  /// One of them stands for all.
  HailstoneHandler& reader() const { return sources_->first().reader(); }
  BlockStatement statement() const {
    return {query_, select_, sources_, conditions_, join_plan_.get(), from_, /*whole=*/true, items_};
  }
  /// What is known of rows before they are read rules out partitions.
  void prune_tables(const JoinNode& node) const {
    if (node.source) {
      prune(thd_, *sources_->all()[*node.source].table, node.where);
      return;
    }
    prune_tables(*node.probe);
    prune_tables(*node.build);
  }
  void prune_tables() const {
    if (join_plan_ != nullptr) {
      prune_tables(*join_plan_);
    } else {
      prune(thd_, *sources_->first().table, items_);
    }
  }
  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item = nullptr) {
    return std::unexpected(Declined{reason, item});
  }

  /// What the server may not evaluate over rows and groups of the engine's; nothing: all may be. Asked before
  /// anything is made of the statement: the optimizer goes another way with what has been.
  std::optional<Declined> made_of_others() const {
    for (Item* const condition : items_) {
      if (!is_made_of_columns(*condition)) return Declined{SelectOutcome::Condition, condition};
    }
    if (Item* const having = join_.having; having != nullptr) {
      if (!(has_groups() ? is_made_of_groups(*having, join_) : is_made_of_columns(*having)))
        return Declined{SelectOutcome::Condition, having};
    }
    List_iterator_fast<Item> shown(join_.all_fields);
    while (Item* const item = shown++) {
      if (item->with_subquery() && !is_made_of_groups(*item, join_) && !is_lasting_constant(*item))
        return Declined{SelectOutcome::Columns, item};
    }
    return std::nullopt;
  }

  /// What is shown, asked of groups and ordered by: there, too, IS NULL of what cannot be NULL evaluates
  /// nothing.
  void update_shown() const {
    List_iterator_fast<Item> shown(join_.all_fields);
    while (Item* const item = shown++) item->update_used_tables();
    if (join_.having != nullptr) join_.having->update_used_tables();
    for (const ORDER* by : {join_.group_list, join_.order}) {
      for (; by != nullptr; by = by->next) (*by->item)->update_used_tables();
    }
  }

  /// A condition of rows or of groups that none fulfils, so that the server reads no table; null: none is
  /// known.
  Item* never_true() const {
    const auto is_never = [](Item* item) { return is_never_true(*item, Constants::AreAsked); };
    if (const auto never = std::ranges::find_if(items_, is_never); never != items_.end()) return *never;
    const bool knows_groups = join_.having != nullptr && has_silent_constants(thd_, *join_.having);
    return knows_groups && is_never(join_.having) ? join_.having : nullptr;
  }

  Item* item_quick_by_index() const {
    Item* const few =
        leads_to_few_rows(*sources_->first().table, sources_->first().readers, items_, conditions_).condition;
    return few != nullptr ? few : item_found_by_index();
  }

  void add_condition(Item& item, PushedCondition condition) {
    items_.push_back(&item);
    conditions_.push_back(std::move(condition));
  }

  /// Whether `test`, of an aggregate and an argument of it, is true of any.
  template <typename Test>
  bool any_aggregated(const Test& test) const {
    List_iterator_fast<Item> items(join_.all_fields);
    while (Item* const item = items++) {
      Item& real = *item->real_item();
      if (real.type() != Item::SUM_FUNC_ITEM) continue;
      auto& sum = static_cast<Item_sum&>(real);
      for (uint i = 0; i < sum.get_arg_count(); ++i) {
        if (test(sum, *sum.get_arg(i))) return true;
      }
    }
    return false;
  }
  /// Whether what is aggregated may warn where the server would not evaluate it.
  bool may_warn_of_aggregates() const {
    return any_aggregated([this](Item_sum& sum, Item& argument) {
      // BIT_AND and its like make whole numbers of others.
      const bool is_converted = sum.sum_func() == Item_sum::SUM_BIT_FUNC && argument.cmp_type() != INT_RESULT;
      return is_converted || may_warn(thd_, argument);
    });
  }
  /// Whether it is computed, which may fail there.
  bool aggregates_computed() const {
    return any_aggregated([](Item_sum&, Item& argument) {
      return argument.real_item()->type() != Item::FIELD_ITEM && !argument.const_item();
    });
  }

  /// What HAVING asks of the columns of groups: the optimizer moves that to WHERE, so that the rows of other
  /// groups are aggregated nowhere, and raise no errors.
  std::vector<Item*> conditions_on_groups() const {
    std::vector<Item*> conditions;
    if (join_.having == nullptr || !moves_having(thd_, select_)) return conditions;
    each_conjunct(*join_.having, [&](Item& part) {
      if (is_of_groups(part) || has_parts_of_groups(part)) conditions.push_back(&part);
    });
    return conditions;
  }

  /// So does the engine, of one table, with what is a predicate; HAVING still holds for the groups that are
  /// left. Returns a part that is no predicate; null: all are.
  Item* take_conditions_on_groups() {
    Item* left = nullptr;
    for (Item* const part : conditions_on_groups()) {
      PushedCondition condition = is_of_groups(*part) ? reader().condition(part) : PushedCondition();
      if (condition.complete) {
        add_condition(*part, std::move(condition));
      } else {
        left = part;
      }
    }
    return left;
  }

  /// Whether each branch of an OR asks something of the columns of groups: the optimizer makes a condition of
  /// rows of these parts.
  bool has_parts_of_groups(Item& item) const {
    if (item.type() != Item::COND_ITEM || static_cast<Item_cond&>(item).functype() != Item_func::COND_OR_FUNC)
      return false;
    return !any_part(item, [this](Item& branch) {
      bool has_part = false;
      each_conjunct(branch, [&](Item& part) {
        has_part = has_part || is_of_groups(part) || has_parts_of_groups(part);
      });
      return !has_part;
    });
  }

  /// Whether the item is a function of columns that rows are grouped by.
  bool is_of_groups(Item& item) const {
    if (!is_made_of_columns(item)) return false;
    const auto columns = columns_read_by(item);
    return !columns.empty() && std::ranges::all_of(columns, [&](const Item_field* column) {
      for (const ORDER* group = join_.group_list; group != nullptr; group = group->next) {
        Item& key = *(*group->item)->real_item();
        if (key.type() == Item::FIELD_ITEM && static_cast<Item_field&>(key).field == column->field)
          return true;
      }
      return false;
    });
  }

  /// Whether the server, as it will probably plan the statement, is at its LIMIT before the engine is: why
  /// so.
  std::optional<Declined> server_ends_sooner(const std::vector<Item*>& conditions,
                                             const JoinNode& tree) const {
    const auto wanted = rows_wanted(query_, select_, *sources_);
    if (!wanted) return std::nullopt;
    const LimitedBlock block{query_, select_, *sources_, conditions, tree};
    return leave_as_expected(block, *wanted);
  }
  /// The same of one table.
  std::optional<Declined> server_ends_sooner() const {
    if (!rows_wanted(query_, select_, *sources_)) return std::nullopt;
    return server_ends_sooner(items_, leaf_with(sources_->first(), conditions_));
  }

  /// A least or greatest value, which the server finds at the end of an index.
  Item* item_found_by_index() const {
    const TABLE& table = *sources_->first().table;
    if (!join_.implicit_grouping || join_.group_list != nullptr) return nullptr;
    List_iterator_fast<Item> shown(join_.all_fields);
    while (Item* const item = shown++) {
      if (is_extreme(*item->real_item()) && has_index(table, *item)) return item;
    }
    return nullptr;
  }

  std::expected<select_handler*, Declined> push_rows() {
    auto block = make_select_block(thd_, statement());
    if (!block) return std::unexpected(block.error());
    if (Item* const item = chooses() ? quick_by_server(*block) : nullptr)
      return declined(SelectOutcome::Computed, item);
    prune_tables();
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(thd_, select_, reader(), make_row_result(std::move(*block), std::move(record)));
  }

  std::expected<select_handler*, Declined> push_groups() {
    List_iterator_fast<Item> items(join_.all_fields);
    while (Item* const item = items++) {
      if (!has_silent_arguments(*item)) return declined(SelectOutcome::Columns, item);
    }
    if (join_.having != nullptr && (is_replaced(*join_.having) || !has_silent_arguments(*join_.having)))
      return declined(SelectOutcome::Condition, join_.having);
    if (join_.having != nullptr && select_.olap == ROLLUP_TYPE && asks_whether_null(*join_.having))
      return declined(SelectOutcome::Condition, join_.having);
    auto block = make_group_block(thd_, statement());
    if (!block) return push_groups_for_server(block.error());
    if (Item* const item = chooses() ? quick_by_server(*block) : nullptr)
      return declined(SelectOutcome::Computed, item);
    prune_tables();
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(thd_, select_, reader(),
                              make_group_result(std::move(*block), std::move(record)));
  }

  /// The groups of sorted rows, whose aggregates the server computes. `reason`: why the engine does not.
  std::expected<select_handler*, Declined> push_groups_for_server(const Declined& reason) {
    if (reason.reason != SelectOutcome::Aggregates || select_.olap != UNSPECIFIED_OLAP_TYPE)
      return std::unexpected(reason);
    auto block = make_server_groups_block(thd_, statement());
    if (!block) return std::unexpected(reason);
    prune_tables();
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(thd_, select_, reader(),
                              make_server_group_result(std::move(*block), std::move(record)));
  }

  OperatorPlan with_having(OperatorPlan plan) const {
    if (join_.having != nullptr) {
      const uint64_t groups = plan.front().rows;
      plan.insert(plan.begin(), {.kind = Operator::Having, .what = "by the server", .rows = groups});
    }
    return plan;
  }

  bool has_silent_arguments(Item& item) const {
    Item& real = *item.real_item();
    if (real.type() != Item::SUM_FUNC_ITEM)
      return real.with_sum_func()
                 ? !any_part(real, [this](Item& part) { return !has_silent_arguments(part); })
                 : has_silent_constants(thd_, real);
    auto& aggregate = static_cast<Item_sum&>(real);
    for (uint i = 0; i < aggregate.get_arg_count(); ++i) {
      if (!has_silent_constants(thd_, *aggregate.get_arg(i))) return false;
    }
    return true;
  }

  THD& thd_;
  SELECT_LEX& select_;
  JOIN& join_;
  const std::shared_ptr<const SourceTables> sources_;
  std::vector<Item*> items_;  // all conditions on rows, those on groups of one table included
  const Query query_;
  std::vector<PushedCondition> conditions_;  // the same, of one table
  std::shared_ptr<const FromClause> from_;   // of several
  std::unique_ptr<JoinNode> join_plan_;      // of these
};

}  // namespace

select_handler* create_select_handler(THD* thd, SELECT_LEX* select) {
  const auto source = source_of(*select);
  if (source && !is_plain_table(*source->leaf)) return nullptr;
  auto from = source ? std::nullopt : tables_joined_by(*select);
  if (!source && !from) {
    // Of several tables, not all of them this engine's, or joined in a way that it does not know.
    if (select->join != nullptr && select->leaf_tables.elements > 1 && !is_offered_as_block(*select))
      note_declined(
          {*thd, *select, "create_select"},
          {select_pushdown(thd) == SelectPushdown::Off ? SelectOutcome::Off : SelectOutcome::Statement});
    return nullptr;
  }
  return run_traced(thd, {"create_select", Returns::Pushed}, [&]() -> select_handler* {
    std::optional<WholeSelect> statement;
    if (source) {
      statement.emplace(*thd, *select, *source);
    } else {
      statement.emplace(*thd, *select, std::move(*from));
    }
    const auto pushed = statement->push();
    if (pushed) {
      allow_advised_huge_pages();
      return *pushed;
    }
    if (!statement->is_offered_again()) note_declined(statement->offered(), pushed.error());
    return nullptr;
  });
}

}  // namespace hailstone
