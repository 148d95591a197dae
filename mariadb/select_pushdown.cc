#include "select_pushdown.h"

#include <utility>
#include <vector>

#include "group_block.h"
#include "group_result.h"
#include "ha_hailstone.h"
#include "huge_pages.h"
#include "index_use.h"
#include "item_parts.h"
#include "pushdown_warnings.h"
#include "pushed_select.h"
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
  const bool keeps_rows = thd.lex->sql_command != SQLCOM_SELECT || thd.lex->result != nullptr;
  return is_plain_statement(thd, select) && !(thd.lex->analyze_stmt && keeps_rows) && thd.in_sub_stmt == 0 &&
         (thd.variables.option_bits & OPTION_BIG_SELECTS) != 0 && join.procedure == nullptr &&
         select.ftfunc_list->elements == 0 && (select.options & OPTION_SCHEMA_TABLE) == 0;
}

bool is_plain(const TABLE_LIST& leaf) {
  return is_in_engine(*leaf.table) && !leaf.table->versioned() && leaf.table_function == nullptr &&
         leaf.schema_table == nullptr;
}

/// A whole SELECT that may be the engine's.
class WholeSelect {
 public:
  WholeSelect(THD& thd, SELECT_LEX& select, SelectSource source)
      : thd_(thd),
        select_(select),
        join_(*select.join),
        source_(std::move(source)),
        table_(*source_.leaf->table),
        readers_(readers_of(table_)),
        query_{&join_.all_fields,
               static_cast<int>(join_.all_fields.elements - join_.fields_list.elements),
               join_.select_distinct,
               source_.leaf,
               nullptr,
               join_.group_list,
               join_.order != nullptr ? join_.order : join_.group_list,
               join_.having,
               &select_.master_unit()->lim} {}

  OfferedBlock offered() const { return {thd_, select_, "create_select"}; }
  bool has_groups() const { return join_.group_list != nullptr || join_.implicit_grouping; }

  std::expected<select_handler*, Declined> push() {
    if (!is_of_known_form(thd_, select_)) return declined(SelectOutcome::Statement);
    if (const auto reason = reason_to_decline(thd_, readers_)) return declined(*reason);
    for (Item* const condition : source_.conditions) {
      // The optimizer brings a condition's parts into another order, so that another one warns of a row.
      if (is_replaced(*condition) || !has_silent_constants(thd_, *condition) || may_warn(thd_, *condition))
        return declined(SelectOutcome::Condition, condition);
    }
    const bool chooses = select_pushdown(&thd_) == SelectPushdown::Auto;
    if (chooses && names_index(*source_.leaf)) return declined(SelectOutcome::Index);
    for (const Item* const condition : source_.conditions)
      conditions_.push_back(reader().condition(condition));
    if (chooses) {
      if (Item* const item = leads_to_few_rows(table_, readers_, source_.conditions, conditions_))
        return declined(SelectOutcome::Index, item);
      if (Item* const item = item_found_by_index()) return declined(SelectOutcome::Index, item);
    }
    return has_groups() || join_.select_distinct ? push_groups() : push_rows();
  }

  /// Whether the server offers it once more, when it has optimised it.
  bool is_offered_again() const { return !source_.by_view && select_.olap == UNSPECIFIED_OLAP_TYPE; }

 private:
  /// One of them stands for all.
  HailstoneHandler& reader() const { return *readers_.front(); }
  BlockStatement statement() const { return {query_, select_, table_, conditions_, /*whole=*/true}; }
  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item = nullptr) {
    return std::unexpected(Declined{reason, item});
  }

  /// Something that the server finds at the end of an index: the first rows, a least or greatest value.
  Item* item_found_by_index() const {
    if (!has_groups()) {
      const bool finds_first =
          join_.order != nullptr && select_.master_unit()->lim.get_select_limit() != HA_POS_ERROR;
      return finds_first && has_index(table_, **join_.order->item) ? *join_.order->item : nullptr;
    }
    if (join_.group_list != nullptr) return nullptr;
    List_iterator_fast<Item> shown(join_.all_fields);
    while (Item* const item = shown++) {
      if (is_extreme(*item->real_item()) && has_index(table_, *item)) return item;
    }
    return nullptr;
  }
  static bool is_extreme(Item& item) {
    if (item.type() != Item::SUM_FUNC_ITEM) return false;
    const auto kind = static_cast<Item_sum&>(item).sum_func();
    return kind == Item_sum::MIN_FUNC || kind == Item_sum::MAX_FUNC;
  }

  std::expected<select_handler*, Declined> push_rows() {
    auto block = make_select_block(thd_, statement(), reader());
    if (!block) return std::unexpected(block.error());
    prune(thd_, table_, source_.conditions);
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(thd_, select_, reader(),
                              make_row_result(reader(), table_, std::move(*block), std::move(record)));
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
    auto block = make_group_block(thd_, statement(), reader());
    if (!block) return push_groups_for_server(block.error());
    prune(thd_, table_, source_.conditions);
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(thd_, select_, reader(),
                              make_group_result(reader(), table_, std::move(*block), std::move(record)));
  }

  /// The groups of sorted rows, whose aggregates the server computes. `reason`: why the engine does not.
  std::expected<select_handler*, Declined> push_groups_for_server(const Declined& reason) {
    if (reason.reason != SelectOutcome::Aggregates || select_.olap != UNSPECIFIED_OLAP_TYPE)
      return std::unexpected(reason);
    auto block = make_server_groups_block(thd_, statement(), reader());
    if (!block) return std::unexpected(reason);
    prune(thd_, table_, source_.conditions);
    auto record = note_pushed(offered(), with_having(block->plan()));
    return make_pushed_select(
        thd_, select_, reader(),
        make_server_group_result(reader(), table_, std::move(*block), std::move(record)));
  }

  OperatorPlan with_having(OperatorPlan plan) const {
    if (join_.having != nullptr) {
      const uint64_t groups = plan.front().most_rows;
      plan.insert(plan.begin(), {.kind = Operator::Having, .what = "by the server", .most_rows = groups});
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
  const SelectSource source_;
  TABLE& table_;
  const std::vector<HailstoneHandler*> readers_;
  const Query query_;
  std::vector<PushedCondition> conditions_;  // the source's
};

}  // namespace

select_handler* create_select_handler(THD* thd, SELECT_LEX* select) {
  auto source = source_of(*select);
  if (!source || !is_plain(*source->leaf)) return nullptr;
  WholeSelect statement(*thd, *select, std::move(*source));
  return run_traced(thd, {"create_select", Returns::Pushed}, [&]() -> select_handler* {
    const auto pushed = statement.push();
    if (pushed) {
      allow_advised_huge_pages();
      return *pushed;
    }
    if (!statement.is_offered_again()) note_declined(statement.offered(), pushed.error());
    return nullptr;
  });
}

}  // namespace hailstone
