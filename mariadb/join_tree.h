// How a SELECT joins its tables: read from the server's FROM and WHERE, and put into an order by cost.
// Belongs to the connection's thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <vector>

#include "pushdown.h"
#include "query/join/join_again.h"
#include "query/join/join_plan.h"
#include "select_expressions.h"
#include "select_outcome.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// An equality of two tables: of columns that are compared as they are stored, or of values that are computed
/// of each side, by programs or, row by row, by the server.
struct JoinKey {
  const Field* one;  // or the first column that the value is computed of
  const Field* other;
  bool nulls_are_equal = false;  // <=>
  Item* computed = nullptr;      // the equality of such values
  bool by_server = false;        // only the server computes them
  bool is_turned = false;        // of which `one` is of the second one

  JoinKey turned() const { return {other, one, nulls_are_equal, computed, by_server, !is_turned}; }
};

/// An item of some tables, and between which items of others conditions put it.
struct BoundedItem {
  Item* item;
  Item *least = nullptr, *greatest = nullptr;  // one of them may be null; of an equality they are the same
  std::optional<ComparedAs> compared = {};     // nothing: not as numbers, or NULL may be within the bounds
  Item* condition = nullptr;                   // the last one of those that say so

  bool has_both() const { return least != nullptr && greatest != nullptr; }
  /// The item, and each bound that it has, as numbers. Nothing: they are not computed.
  std::optional<std::vector<Expression>> numbers(ScanColumns& columns) const;
};

/// What conditions say of items of the tables `of`, given rows of the tables `by` (join_range.cc). A bit for
/// each table's number.
std::vector<BoundedItem> bounded_items(const std::vector<Item*>& conditions, uint64_t of, uint64_t by,
                                       const SourceTables& sources);

/// Where the pairs of a join are (JoinPlan::Range). The conditions say more: what equals a bound may be in no
/// pair.
struct JoinRange {
  BoundedItem number;                   // of `build`, its bounds of `probe`
  std::optional<BoundedItem> end = {};  // of an interval that begins with that number

  /// Whether few rows are left by it.
  bool is_narrow() const { return end || number.has_both(); }
  struct Numbers {
    Expression number;                          // of rows of `build`
    std::optional<Expression> end = {};         // the same
    std::optional<Expression> least, greatest;  // of `probe`
  };
  std::optional<Numbers> numbers(ScanColumns& columns) const;
};

/// A table, or two sides that are joined: rows of `probe` are looked up in those of `build`.
struct JoinNode {
  std::optional<size_t> source = {};  // the table's number
  std::unique_ptr<JoinNode> probe = {}, build = {};
  JoinPlan::Kind kind = JoinPlan::Kind::Inner;
  std::vector<JoinKey> keys = {};       // `one` is of `probe`
  std::optional<JoinRange> range = {};  // only where there are no keys
  std::vector<Item*> on = {};           // of an outer join: what pairs must fulfil beside their keys
  std::vector<Item*> where = {};        // what rows that come out must fulfil, or the table's own
  /// Of a table: its own conditions as the engine has them, and behind them what else is true of each row
  /// that is wanted, which some other condition makes sure of.
  std::vector<PushedCondition> pushed = {};
  double rows = 0;          // estimated: that come out
  double rows_scanned = 0;  // of a table, estimated: that its scan gives

  /// A bit for each one's number.
  uint64_t tables() const { return source ? uint64_t{1} << *source : probe->tables() | build->tables(); }
};

/// Tables that are all joined with each other, and what is joined to their rows by other joins.
struct JoinedTables {
  struct Added;
  std::vector<size_t> tables = {};     // their numbers
  std::vector<Item*> conditions = {};  // parts of WHERE and of inner joins' ON: all must hold
  std::vector<Added> added;            // in their order, semi joins last
};
struct JoinedTables::Added {
  JoinPlan::Kind kind = JoinPlan::Kind::Left;  // or Semi
  JoinedTables side = {};
  std::vector<Item*> on = {};  // what a pair must fulfil
};

/// The numbers of all tables, those of sides included.
std::vector<size_t> all_tables(const JoinedTables& joined);

/// As many as the server joins.
constexpr size_t most_joined_tables = 61;

/// A bit for each table's number.
constexpr uint64_t bits_between(size_t first, size_t behind) {
  return ((uint64_t{1} << behind) - 1) & ~((uint64_t{1} << first) - 1);
}

/// Of STRAIGHT_JOIN: tables that are joined before others are joined to them. A bit for each table's number.
struct StraightJoin {
  uint64_t before = 0, after = 0;
};

/// What SELECT STRAIGHT_JOIN asks: that so many tables are joined in their order.
std::vector<StraightJoin> joined_in_order(size_t tables);

/// What a SELECT of several tables of this engine reads.
struct FromClause {
  std::shared_ptr<const SourceTables> sources;
  JoinedTables joined;
  std::vector<StraightJoin> straight = {};

  /// All parts of WHERE and ON.
  std::vector<Item*> all_conditions() const;
  /// Whether what a condition warns of is that of rows which all others leave: the engine asks it last.
  bool is_asked_last(Item& condition) const;
  /// Which tables have columns in the rows that come out: not those of semi joins.
  std::vector<bool> shown_tables() const;
};

/// Of a SELECT that the optimizer has not been at; nothing: of one table, of others than this engine's, or of
/// a form that is not known.
std::optional<FromClause> tables_joined_by(SELECT_LEX& select);

/// Of one that it is done with, all tables of which are this engine's (joined_block.cc).
std::expected<FromClause, Declined> tables_joined_by_block(const Query& query);

/// What a view, or a derived table, on the inner side of an outer join makes, if a condition, something that
/// the block shows, or HAVING (or null) wants it; null: nothing. Where that side has no row it is NULL,
/// whatever the view would make of the NULLs of its columns.
Item* made_of_missing_rows(const FromClause& from, List<Item>& shown, Item* having);

/// The parts of a condition, all of which must hold.
void add_parts(Item* condition, std::vector<Item*>& to);

/// The equality that a condition is; nothing: it is none, or compares what can neither be looked up as it is
/// stored nor computed before.
std::optional<JoinKey> key_of_condition(Item& condition, const std::shared_ptr<const SourceTables>& sources);

/// Finds the ranges of joins that have no keys (join_range.cc).
void find_ranges(JoinNode& tree, const FromClause& from);

/// Whether the server is done with all pairs of rows before the engine has begun.
bool joins_few_rows(const FromClause& from);

/// In the order that costs least, unless, where that is asked for, the server would be quicker
/// (join_indexes.cc): it has few rows to join, or indexes that lead to few, or an index or a hash table that
/// finds the pairs where the engine would compare each row with each.
std::expected<std::unique_ptr<JoinNode>, Declined> plan_joins_if_quicker(const FromClause& from,
                                                                         bool server_may_be_quicker);

/// In the order that costs least. Errors of the estimates' reads are left to the statement's own.
std::unique_ptr<JoinNode> plan_joins(const FromClause& from);

/// The tree that costs so much less than to go on with those joins that it is worth to begin anew; null:
/// there is none.
std::unique_ptr<JoinNode> plan_joins_again(const FromClause& from, const JoinsSoFar& so_far);

}  // namespace hailstone
