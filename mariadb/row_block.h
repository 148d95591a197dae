// The rows of a statement, of one table or of several that are joined, that pass its conditions, and what is
// computed of each of them: made of the server's items, once for each execution. Blocks of groups and of
// plain rows build on it. Belongs to the connection's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "equal_values.h"
#include "expression/conditions.h"
#include "join_tree.h"
#include "join_watch.h"
#include "operator_plan.h"
#include "plain_field.h"
#include "pushdown.h"
#include "query/computed_rows.h"
#include "query/join/hash_join.h"
#include "select_expressions.h"
#include "select_outcome.h"
#include "select_server.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class BlockRun;

/// A block of a SELECT, as the server has it.
struct BlockStatement {
  const Query& query;
  SELECT_LEX& select;
  std::shared_ptr<const SourceTables> sources;
  const std::vector<PushedCondition>& conditions;  // of one table: all of them on its rows
  const JoinNode* join = nullptr;                  // of several
  std::shared_ptr<const FromClause> from = {};     // of these
  bool whole = false;                              // a statement that the optimizer has not been at
  std::span<Item* const> where = {};               // of that: what holds for all rows
};

/// Something that is computed of each row.
struct RowExpression {
  Item* item = nullptr;
  /// A number, a text or a moment, in a register of the block's program; without one the server evaluates the
  /// item.
  std::optional<Expression> value = {};
  Program::Register result = Program::none;
  ServerValue kind = ServerValue::Presence;  // as what, when the server does
  static constexpr size_t none = ~size_t{0};
  size_t output = none;  // Image: whose field it is stored in

  bool is_moment() const { return value && value->type().kind == ValueType::Kind::Moment; }
  /// Of a number: the digits behind its point that are computed.
  unsigned decimals() const;
};

/// What the column of a number has that the block's program computes.
ScanColumn column_of_number(const RowExpression& expression);

/// A column of the rows: of the scan, or computed.
struct RowColumn {
  bool computed = false;
  size_t number = 0;
};

struct RowBlock {
  explicit RowBlock(std::shared_ptr<const SourceTables> sources)
      : columns(std::move(sources)), predicates(columns.sources().all().size()) {}

  /// Conditions, all of which must hold.
  struct Conditions {
    std::vector<Item*> all = {};
    std::vector<Item*> evaluated = {};  // of these, those that only the server evaluates
    std::shared_ptr<Program> program = std::make_shared<Program>();
    std::optional<Program::Register> passes = {};  // of the program, for the others
    std::optional<Expression> computed = {};       // the same

    /// One more that a program computes.
    void add(const Expression& condition) {
      computed = united(Function::And, computed, condition);
      passes = program->add(*computed);
    }
  };
  /// A table, or two sides that are joined.
  struct Join {
    std::optional<size_t> source = {};
    std::unique_ptr<Join> probe = {}, build = {};
    JoinPlan::Kind kind = JoinPlan::Kind::Inner;
    std::vector<JoinPlan::Key> keys = {};
    /// Keys that are computed of the rows of each side: by programs, or by the server. Where neither does,
    /// the server evaluates the condition.
    struct ComputedKey {
      Item_bool_func2* condition = nullptr;
      Program::Register probe = Program::none, build = Program::none;  // none: by the server only
      std::optional<EqualValues> by_server = {};                       // nothing: not by the server
      bool is_turned = false;       // the first argument is of the build side
      bool is_huge = false;         // programs give numbers that may have more than 64 bits
      bool raises_nothing = false;  // the server raises neither warnings nor errors
      bool nulls_are_equal = false;
      std::vector<uint16_t> probe_reads = {}, build_reads = {};  // positions

      bool has_program() const { return probe != Program::none; }
      Item& side(bool of_build) const { return *condition->arguments()[of_build != is_turned ? 1 : 0]; }
    };
    std::vector<ComputedKey> computed_keys = {};
    struct Range {
      Program::Register number = Program::none, end = Program::none;      // of build_values
      Program::Register least = Program::none, greatest = Program::none;  // of probe_values
    };
    std::optional<Range> range = {};
    std::shared_ptr<Program> probe_values = std::make_shared<Program>(),
                             build_values = std::make_shared<Program>();
    Conditions on = {};     // of pairs
    Conditions where = {};  // of the rows that come out, or of the table's
    uint64_t rows = 0;      // estimated: that come out, of a table those that its scan gives
    double rows_out = 0;    // the same, of a table those that fulfil its conditions

    /// A bit for each one's number.
    uint64_t tables() const { return source ? uint64_t{1} << *source : probe->tables() | build->tables(); }
    /// Whether the rows that are looked up seem to be so few, beside those of the other side, that they are
    /// read first.
    bool reads_probe_first() const {
      constexpr double most_read_first = 3072;
      constexpr double times_as_many = 16;
      return !source && probe->rows_out <= most_read_first &&
             static_cast<double>(build->rows) >= times_as_many * probe->rows_out;
    }
    /// The server evaluates all conditions of pairs where the program has not all of them.
    bool on_by_server() const { return !on.evaluated.empty(); }
    /// Whether it, or a side of it, checks conditions beyond predicates and keys.
    bool checks_conditions() const {
      if (!on.all.empty() || !where.all.empty() || (!computed_keys.empty() && keys_may_end())) return true;
      return !source && (probe->checks_conditions() || build->checks_conditions());
    }
    /// Whether a row may end a program that computes its keys or its range.
    bool programs_may_end() const { return probe_values->may_fail() || build_values->may_fail(); }
    /// Whether a row may end what computes them.
    bool keys_may_end() const {
      return programs_may_end() || std::ranges::any_of(computed_keys, [](const ComputedKey& key) {
               return !key.has_program() && !key.raises_nothing;
             });
    }
    /// Whether the server evaluates a condition for it, or for a side of it.
    bool has_conditions_of_server() const {
      if (on_by_server() || !where.evaluated.empty()) return true;
      return !source && (probe->has_conditions_of_server() || build->has_conditions_of_server());
    }
    /// Whether a row may end what computes keys, in this order of joins or another one, in which conditions
    /// may be keys.
    bool may_end() const {
      const auto may_fail = [](const Conditions& of) {
        return of.program->may_fail() || !of.evaluated.empty();
      };
      if (may_fail(where)) return true;
      return !source && (may_fail(on) || keys_may_end() || probe->may_end() || build->may_end());
    }
  };

  ScanColumns columns;
  std::shared_ptr<Program> values = std::make_shared<Program>();
  std::vector<RowExpression> computed;
  /// How often the server computes them, and warns: for each level of ROLLUP that is made of one reading.
  unsigned evaluations = 1;
  /// Whether the rows are opened several times, one after the other: levels of ROLLUP that are not.
  bool is_read_again = false;
  std::vector<std::shared_ptr<const Predicate>> predicates;  // of each table
  /// Of one table's rows, beyond the predicate; of joined ones those that are asked last.
  Conditions rest;
  std::unique_ptr<Join> join;                // null: there is one table
  std::vector<uint16_t> only_for_keys = {};  // positions that nothing but joins reads
  std::unique_ptr<JoinWatch> watch = {};     // of the joins; null: their order stays
  /// Joins compare pairs of rows in the place of keys that may fail.
  bool compares_pairs = false;
  /// Set by any thread that met such a row: its partners are known by comparing.
  std::shared_ptr<std::atomic<bool>> keys_have_failed = std::make_shared<std::atomic<bool>>(false);

  /// How many columns come before the computed ones.
  size_t width() const { return columns.numbers().size(); }
  uint16_t position_of(const RowColumn& column) const {
    return static_cast<uint16_t>(column.number + (column.computed ? width() : 0));
  }
  bool has_conditions_of_server() const {
    return !rest.evaluated.empty() || (join != nullptr && join->has_conditions_of_server());
  }
  /// Whether a column, not a computed one, is NULL where an outer join has no row of its table.
  bool join_may_miss(const RowColumn& column) const {
    return !column.computed && columns.sources().all()[columns.source_at(column.number)].may_be_missing;
  }
  /// Of fields that are among the columns.
  std::vector<uint16_t> positions_of(const std::vector<const Field*>& fields) const;
  /// The rows with what is computed of them, counted in `run`. `threads`: how many may put rows into the
  /// tables of joins; with 1, rows that are taken one by one come in the same order each time. `image` gives
  /// the field in which the server stores the value of an Image. ErrorCode::Deadlock: the transaction has
  /// been rolled back.
  using ImageField = std::function<Field*(const RowExpression& expression)>;
  Result<std::unique_ptr<ComputedRows>> open(unsigned threads, BlockRun& run, const ImageField& image) const;
  /// The same where nothing is an Image.
  Result<std::unique_ptr<ComputedRows>> open(unsigned threads, BlockRun& run) const {
    return open(threads, run, [](const RowExpression&) { return nullptr; });
  }
  /// Once rows have ended with an error: whether they did so to be opened in another way.
  bool wants_other_plan() const;
  /// When they are closed, goes on with that. Joins get another order before they give their first row only.
  void take_other_plan(BlockRun& run);
  /// What makes the rows, the scan in front: OperatorPlan has it behind.
  OperatorPlan row_plan() const;

 private:
  /// What reads tables and joins them, the last join in front.
  OperatorPlan source_plan() const;
  std::vector<uint16_t> scanned_columns() const;
  void join_in_order_of(const JoinNode& tree);
  class Opening;
};

/// Where the rows of a block's run are counted.
RowCounts row_counts(BlockRun& run);

/// Makes a RowBlock, piece by piece.
class RowTranslator {
 public:
  RowTranslator(THD& thd, RowBlock& block) : thd_(thd), block_(block) {}

  /// The column that an item is; nothing when it is none, or is not stored.
  std::optional<RowColumn> column_of(Item& item);
  /// That of a field whose values are compared or counted: decimals are read as numbers where these have 64
  /// bits.
  RowColumn comparable(PlainField field);
  /// Whether the server may evaluate the item in the engine's place; then its columns are among the scan's.
  bool can_be_evaluated(Item& item);
  std::optional<RowColumn> compute(Item& item, ServerValue kind);
  /// The column by which rows are sorted as the server sorts them by the item.
  std::optional<RowColumn> sortable(Item& item);
  /// Of all conditions, each of which must hold, the part that is in the way; null: none is.
  Item* take_conditions(const BlockStatement& statement);
  /// The same of a tree of joins, in place of what the block has.
  Item* take_joins(const JoinNode& tree);

 private:
  std::optional<Expression> number_of(Item& item, ServerValue kind);
  std::optional<Expression> value_of(Item& item, ServerValue kind);
  Item* take_parts(RowBlock::Conditions& conditions);
  void take_last(RowBlock::Conditions& conditions);
  Item* take_node(const JoinNode& node, RowBlock::Join& to);
  void take_keys(const JoinNode& node, RowBlock::Join& to);
  uint16_t position_of_key(PlainField field);
  RowBlock::Join::ComputedKey computed_key(const JoinKey& key, RowBlock::Join& to);
  void take_range(const JoinRange& range, RowBlock::Join& to);
  std::vector<uint16_t> positions_read_by(Item& item) const;

  THD& thd_;
  RowBlock& block_;
};

/// Reports what ended a query on rows, as a handler error. Where there is no room for spill files no table is
/// full: the error says itself what to do.
int report_query_error(HailstoneHandler& reader, const Error& error);

/// Why the session leaves what it reads by these to the server; nothing: it does not.
std::optional<SelectOutcome> reason_to_decline(THD& thd, const std::vector<HailstoneHandler*>& readers);
/// Whether evaluating the item may warn of a row by its number among those that the server has read.
bool may_name_rows(Item& item);
bool is_whole_number(const Field& field);
/// Whether equal stored values are what the server takes for equal, and the other way round, and their order
/// is its order.
bool can_be_key(PlainField field);
/// The same of an item whose values are stored in a field of its type.
bool can_be_stored(Item& item);
/// Whether a value may have more digits or characters than its type has: whether the server then cuts it is
/// up to its plan, but for DISTINCT within aggregates, which stores it. DIV has the digits of its first
/// argument, also where the second is less than 1; a DECIMAL that is computed has 65 at most; a DECIMAL and a
/// text, what their parts say they have.
bool may_outgrow_type(Item& item);
/// The same of a mean, which is a DECIMAL of the digits that its argument says it has.
bool mean_may_outgrow_type(Item& argument);
/// Whether a DECIMAL may have digits behind those that it shows.
bool has_hidden_digits(Item& item);
/// Whether the rows of the statement go to a table first: as it asks for that, or changes a table that it
/// reads.
bool is_buffered(const SELECT_LEX& select);
/// Whether a column of such a table may not have the whole value.
bool is_cut_by_table(Item& item);
/// Whether the sum of an argument's values may have more digits than a DECIMAL: what the server makes of it
/// is then up to its plan.
bool sum_may_outgrow_type(const Item& argument);
/// Whether the value of MIN or MAX, taken from a column, has another form than by itself: bits are bytes,
/// ZEROFILL and YEAR have zeros in front.
bool has_form_of_column(Item& sum);
bool is_number(const Item& item);
/// Whether a floating-point number is rounded where it is stored, so that different ones may become equal.
/// The server compares keys as they are stored, but for plans that sort rows before they are grouped.
bool is_rounded_when_stored(const Item& item);

}  // namespace hailstone
