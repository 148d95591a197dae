#include "part_pushdown.h"

#include <utility>
#include <vector>

#include "group_block.h"
#include "group_result.h"
#include "ha_hailstone.h"
#include "huge_pages.h"
#include "index_use.h"
#include "pushed_part.h"
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

/// A block that may be the engine's.
class Part {
 public:
  Part(THD& thd, const Query& query)
      : thd_(thd),
        query_(query),
        select_(*query.from->select_lex),
        join_(*select_.join),
        table_(*query.from->table),
        sources_(std::make_shared<SourceTables>(
            std::vector<SourceTables::Source>{{&table_, readers_of(table_)}})) {}

  OfferedBlock offered() const { return {thd_, select_, "create_group_by"}; }

  std::expected<group_by_handler*, Declined> push() {
    if (const auto reason = reason_to_decline(thd_, sources_->first().readers)) return declined(*reason);
    if (select_pushdown(&thd_) == SelectPushdown::Auto) {
      if (finds_rows_by_index()) return declined(SelectOutcome::Index, *query_.order_by->item);
      if (is_quick_by_index()) return declined(SelectOutcome::Index, query_.where);
    }
    if (query_.where != nullptr) conditions_.push_back(reader().condition(query_.where));
    auto result = has_groups() || query_.distinct ? push_groups() : push_rows();
    if (!result) return std::unexpected(result.error());
    return make_pushed_part(thd_, select_, reader(), std::move(*result));
  }

 private:
  using Pushed = std::expected<std::unique_ptr<BlockResult>, Declined>;

  HailstoneHandler& reader() const { return sources_->first().reader(); }
  BlockStatement statement() const {
    return {query_, select_, sources_, conditions_, nullptr, /*whole=*/false};
  }
  static std::unexpected<Declined> declined(SelectOutcome reason, Item* item = nullptr) {
    return std::unexpected(Declined{reason, item});
  }
  bool has_groups() const { return query_.group_by != nullptr || join_.implicit_grouping; }

  /// Whether the first rows of an order stand at the end of an index.
  bool finds_rows_by_index() const {
    // EXPLAIN, of a union's part, tells of no limit.
    const bool has_limit =
        query_.limit->get_select_limit() != HA_POS_ERROR || select_.limit_params.select_limit != nullptr;
    return !has_groups() && query_.order_by != nullptr && has_limit &&
           has_index(table_, **query_.order_by->item);
  }

  /// Whether the server reads rows by an index that the statement names, or has found one that leads it to so
  /// few rows that it is quicker by itself.
  bool is_quick_by_index() const {
    if (!has_groups() && names_index(*query_.from)) return true;
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
    return rows * rows_scanned_in_time_of_one < static_cast<double>(table_.file->stats.records);
  }

  Pushed push_rows() {
    // Read again and again by others, which change what it depends on.
    if (!is_plain_statement(thd_, select_) || (select_.uncacheable & UNCACHEABLE_DEPENDENT) != 0)
      return declined(SelectOutcome::Statement);
    auto block = make_select_block(thd_, statement());
    if (!block) return std::unexpected(block.error());
    auto record = note_pushed(offered(), block->plan());
    return make_row_result(std::move(*block), std::move(record));
  }

  Pushed push_groups() {
    auto block = make_group_block(thd_, statement());
    if (!block) return push_groups_for_server(block.error());
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
  TABLE& table_;
  const std::shared_ptr<const SourceTables> sources_;
  std::vector<PushedCondition> conditions_;
};

}  // namespace

group_by_handler* create_part_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    SELECT_LEX& select = *query->from->select_lex;
    const bool whole = &select == thd->lex->first_select_lex() && select.next_select() == nullptr;
    if (!reads_one_table(*query)) {
      // Of a whole statement create_select has said why not.
      const bool has_groups = query->group_by != nullptr || query->distinct || select.join->implicit_grouping;
      if (has_groups && !whole) note_declined({*thd, select, "create_group_by"}, {SelectOutcome::Statement});
      return nullptr;
    }
    // So it has of one WITH ROLLUP.
    if (whole && select.olap != UNSPECIFIED_OLAP_TYPE) return nullptr;
    Part part(*thd, *query);
    const auto pushed = part.push();
    if (!pushed) {
      note_declined(part.offered(), pushed.error());
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
