#include "part_pushdown.h"

#include <algorithm>
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
#include "pushdown_warnings.h"
#include "pushed_part.h"
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

/// Whether the block reads one table, which is the engine's.
bool reads_one_table(const Query& query) {
  const TABLE_LIST& from = *query.from;
  return from.next_local == nullptr && from.embedding == nullptr && from.on_expr == nullptr &&
         from.table != nullptr && is_in_engine(*from.table);
}

OfferedBlock offered_block(THD& thd, const Query& query) {
  return {thd, *query.from->select_lex, "create_group_by"};
}

/// A block that may be the engine's.
class Part {
 public:
  /// Of one table.
  Part(THD& thd, const Query& query)
      : Part(thd, query,
             std::make_shared<SourceTables>(
                 std::vector<SourceTables::Source>{{query.from->table, readers_of(*query.from->table)}})) {}
  /// Of several, of which the optimizer may have made constants of all but one.
  Part(THD& thd, const Query& query, FromClause from) : Part(thd, query, from.sources) {
    from_ = std::make_shared<FromClause>(std::move(from));
  }

  std::expected<group_by_handler*, Declined> push() {
    for (const SourceTables::Source& source : sources_->all()) {
      if (const auto reason = reason_to_decline(thd_, source.readers)) return declined(*reason);
    }
    if (const auto reason = sources_->is_join() ? take_join() : take_table()) return std::unexpected(*reason);
    auto result = has_groups() || query_.distinct ? push_groups() : push_rows();
    if (!result) return std::unexpected(result.error());
    return make_pushed_part(thd_, select_, reader(), std::move(*result));
  }

 private:
  using Pushed = std::expected<std::unique_ptr<BlockResult>, Declined>;

  Part(THD& thd, const Query& query, std::shared_ptr<const SourceTables> sources)
      : thd_(thd),
        query_(query),
        select_(*query.from->select_lex),
        join_(*select_.join),
        sources_(std::move(sources)) {}

  OfferedBlock offered() const { return offered_block(thd_, query_); }
  bool chooses() const { return select_pushdown(&thd_) == SelectPushdown::Auto; }
  HailstoneHandler& reader() const { return sources_->first().reader(); }
  const TABLE& table() const { return *sources_->first().table; }
  BlockStatement statement() const {
    return {query_, select_, sources_, conditions_, join_plan_.get(), from_, /*whole=*/false};
  }

  /// The conditions on one table. Why it is left to the server; nothing: it is not.
  std::optional<Declined> take_table() {
    if (chooses()) {
      if (!has_groups() && names_index(*table().pos_in_table_list)) return Declined{SelectOutcome::Hint};
      if (is_quick_by_index()) return Declined{SelectOutcome::Index, query_.where};
    }
    std::vector<Item*> conditions;
    if (query_.where != nullptr) {
      conditions.push_back(query_.where);
      conditions_.push_back(reader().condition(query_.where));
    }
    if (select_pushdown(&thd_) != SelectPushdown::Auto || !rows_wanted(query_, select_, *sources_))
      return std::nullopt;
    return server_ends_sooner(conditions, leaf_with(sources_->first(), conditions_));
  }

  /// The same of tables that are joined.
  std::optional<Declined> take_join() {
    // Read again and again by others, which change what it depends on.
    if ((select_.uncacheable & UNCACHEABLE_DEPENDENT) != 0) return Declined{SelectOutcome::Statement};
    for (Item* const condition : from_->all_conditions()) {
      // The engine evaluates them in an order of its own, and so for other rows.
      if (!is_made_of_columns(*condition) || !has_silent_constants(thd_, *condition) ||
          (may_warn(thd_, *condition) && !from_->is_asked_last(*condition)))
        return Declined{SelectOutcome::Condition, condition};
    }
    if (Item* const item = made_of_missing_rows(*from_, *query_.select, query_.having))
      return Declined{SelectOutcome::View, item};
    const std::vector<bool> shown = from_->shown_tables();
    const auto is_shown = [&](Item& item) {
      return std::ranges::all_of(columns_read_by(item), [&](const Item_field* column) {
        const auto number = sources_->number_of(*column->field);
        return !number || shown[*number];
      });
    };
    List_iterator_fast<Item> items(*query_.select);
    while (Item* const item = items++) {
      if (!is_shown(*item)) return Declined{SelectOutcome::Columns, item};
    }
    if (query_.having != nullptr && !is_shown(*query_.having))
      return Declined{SelectOutcome::Condition, query_.having};
    if (chooses()) {
      for (const SourceTables::Source& source : sources_->all()) {
        if (names_index(*source.table->pos_in_table_list)) return Declined{SelectOutcome::Hint};
      }
    }
    auto plan = plan_joins_if_quicker(*from_, chooses());
    if (!plan) return plan.error();
    join_plan_ = std::move(*plan);
    return chooses() ? server_ends_sooner(from_->all_conditions(), *join_plan_) : std::nullopt;
  }
  /// Whether the server, as it has planned the block, is at its LIMIT before the engine is: why so.
  std::optional<Declined> server_ends_sooner(const std::vector<Item*>& conditions,
                                             const JoinNode& tree) const {
    const auto wanted = rows_wanted(query_, select_, *sources_);
    if (!wanted) return std::nullopt;
    const LimitedBlock block{query_, select_, *sources_, conditions, tree};
    // Of a union that it explains the server plans each part without its LIMIT.
    const bool without_limit = thd_.lex->describe != 0 && select_.master_unit()->is_unit_op() &&
                               query_.limit->get_select_limit() == HA_POS_ERROR;
    return without_limit ? leave_as_expected(block, *wanted) : leave_as_planned(block, *wanted);
  }
  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item = nullptr) {
    return std::unexpected(Declined{reason, item});
  }
  bool has_groups() const { return query_.group_by != nullptr || join_.implicit_grouping; }

  /// Whether the server has found an index that leads it to so few rows that it is quicker by itself.
  bool is_quick_by_index() const {
    JOIN_TAB& step = join_.join_tab[join_.const_tables];
    const SQL_SELECT* const select = step.get_sql_select();
    const QUICK_SELECT_I* const range =
        step.quick != nullptr ? step.quick : (select != nullptr ? select->quick : nullptr);
    double rows = step.records_read;
    if (range != nullptr) {
      rows = static_cast<double>(range->records);
    } else if (step.type != JT_REF && step.type != JT_EQ_REF && step.type != JT_REF_OR_NULL &&
               step.type != JT_CONST) {
      return false;
    }
    return rows * rows_scanned_in_time_of_one < static_cast<double>(table().file->stats.records);
  }

  Pushed push_rows() {
    // Read again and again by others, which change what it depends on.
    if (!is_plain_statement(thd_, select_) || (select_.uncacheable & UNCACHEABLE_DEPENDENT) != 0)
      return declined(SelectOutcome::Statement);
    auto block = make_select_block(thd_, statement());
    if (!block) return std::unexpected(block.error());
    if (Item* const item = chooses() ? quick_by_server(*block) : nullptr)
      return declined(SelectOutcome::Computed, item);
    auto record = note_pushed(offered(), block->plan());
    return make_row_result(std::move(*block), std::move(record));
  }

  /// A number of groups that a union makes a text: the server shows as many digits as it has, the engine as
  /// many as its type has. Null: none is.
  Item* number_shown_as_text() const {
    SELECT_LEX_UNIT& unit = *select_.master_unit();
    if (!unit.is_unit_op()) return nullptr;
    List_iterator_fast<Item> items(*query_.select);
    List_iterator_fast<Item> types(unit.types);
    while (Item* const item = items++) {
      const Item* const type = types++;
      const bool has_digits = item->cmp_type() == DECIMAL_RESULT || item->cmp_type() == REAL_RESULT;
      if (has_digits && (type == nullptr || type->cmp_type() == STRING_RESULT)) return item;
    }
    return nullptr;
  }

  Pushed push_groups() {
    if (Item* const item = number_shown_as_text()) return declined(SelectOutcome::Columns, item);
    auto block = make_group_block(thd_, statement());
    if (!block) return push_groups_for_server(block.error());
    if (Item* const item = chooses() ? quick_by_server(*block) : nullptr)
      return declined(SelectOutcome::Computed, item);
    auto record = note_pushed(offered(), block->plan());
    return make_group_result(std::move(*block), std::move(record));
  }

  /// The groups of sorted rows, whose aggregates the server computes. `reason`: why the engine does not.
  Pushed push_groups_for_server(const Declined& reason) {
    if (reason.reason != SelectOutcome::Aggregates) return std::unexpected(reason);
    auto block = make_server_groups_block(thd_, statement());
    if (!block) return std::unexpected(reason);
    auto record = note_pushed(offered(), block->plan());
    return make_server_group_result(std::move(*block), std::move(record));
  }

  THD& thd_;
  const Query& query_;
  SELECT_LEX& select_;
  JOIN& join_;
  const std::shared_ptr<const SourceTables> sources_;
  std::vector<PushedCondition> conditions_;  // of one table
  std::shared_ptr<const FromClause> from_;   // of several
  std::unique_ptr<JoinNode> join_plan_;      // of these
};

}  // namespace

group_by_handler* create_part_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    SELECT_LEX& select = *query->from->select_lex;
    // Of a whole statement WITH ROLLUP create_select has said why not.
    if (&select == thd->lex->first_select_lex() && select.next_select() == nullptr &&
        select.olap != UNSPECIFIED_OLAP_TYPE)
      return nullptr;
    const OfferedBlock offered = offered_block(*thd, *query);
    if (const auto left = leave_again(*thd, *query, select)) {
      note_declined(offered, *left);
      return nullptr;
    }
    std::optional<Part> part;
    if (reads_one_table(*query)) {
      part.emplace(*thd, *query);
    } else {
      auto from = tables_joined_by_block(*query);
      if (!from) {
        note_declined(offered, from.error());
        return nullptr;
      }
      part.emplace(*thd, *query, std::move(*from));
    }
    const auto pushed = part->push();
    if (!pushed) {
      note_declined(offered, pushed.error());
      return nullptr;
    }
    allow_advised_huge_pages();
    query->group_by = nullptr;
    query->order_by = nullptr;
    query->distinct = false;
    return *pushed;
  });
}

}  // namespace hailstone
