// The logical plan of a query: what is to be computed, and not how. A tree of nodes, one kind for each
// operation. Nodes are immutable and shared; a rule makes new ones.
//
// A column has an id. One node makes it; all nodes above name it by the id, however rows are laid out below.
//   - Among the columns of a node, and of all its inputs together, an id is there once.
//   - Wherever in a plan an id is made, its column is the same. A rule may make copies of a node, as of a
//     filter that goes into all inputs of a UNION.
// validate() (plan/validate.h) holds this and all else that a node asks for. docs/design/plans.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expression/expression.h"
#include "expression/value_type.h"
#include "table/scan.h"

namespace hailstone::plan {

/// Expressions of plans have ids where others have the positions of columns in a batch.
using ColumnId = uint16_t;
/// No column has this id.
constexpr ColumnId no_column = 0xffff;

struct Column {
  ColumnId id = 0;
  std::string name;  // for people; of a Scan: the table's
  ScanColumn stored = {};
  ValueType type = {};
  bool operator==(const Column&) const = default;
};

/// The type of values that are stored so, as SQL has it: BIGINT, DOUBLE, VARCHAR(20) …
ValueType usual_type(const ScanColumn& stored);
/// That of values which are declared so.
ValueType type_of(const SqlType& declared);
/// A truth: 0, 1 or NULL.
Column truth_column(ColumnId id, std::string name);

struct Node;
using Plan = std::shared_ptr<const Node>;

/// Rows of a table. What a Filter right above it asks for goes down to the blocks of the table.
struct Scan {
  std::string table;
  std::vector<Column> columns;
};
/// Rows of a table of another engine.
struct HostScan {
  std::string table;
  std::vector<Column> columns;
};
/// Rows that are given.
struct Values {
  std::vector<Column> columns = {};
  std::vector<std::vector<Expression>> rows = {};  // constants, one a column
};
/// The rows for which all conditions are TRUE.
struct Filter {
  std::vector<Expression> conditions;
};
/// Other columns: of each row these.
struct Project {
  /// A column of the input that is kept has its id, and its bare column as the value.
  struct Item {
    Column column;
    Expression value;
    bool is_kept() const;
    /// Whether the value is a column as it is stored, so that nothing is computed.
    bool is_copy() const;
  };
  std::vector<Item> items;
};

enum class JoinKind : uint8_t {
  Inner,     // each pair
  Left,      // each pair, and the rows of the left input that are in none, with NULL on the right
  Semi,      // the rows of the left input that are in a pair, once
  Anti,      // those that are in none
  NullAnti,  // those for which a condition is FALSE with each row of the right input: NOT IN
  Mark,    // all rows of the left input, and whether they are in a pair: TRUE, NULL where that is not known,
           // else FALSE
  Single,  // as Left, but a second partner is an error: a subquery that stands for a value
};
/// Pairs of a row of the left input and one of the right, for which all conditions are TRUE.
struct Join {
  JoinKind kind = JoinKind::Inner;
  std::vector<Expression> conditions = {};
  std::optional<Column> mark = {};  // of Mark
};
/// A join whose right input is another one for each row of the left: it may read columns of the left.
struct Apply {
  JoinKind kind = JoinKind::Inner;
  std::vector<Expression> conditions = {};
  std::optional<Column> mark = {};
};

/// Groups of rows that are equal in the keys, as GROUP BY has it: NULL is equal to NULL.
struct Aggregate {
  struct Item {
    Column column;
    hailstone::Aggregate::Kind kind = hailstone::Aggregate::Kind::Rows;
    std::optional<ColumnId> argument = {};  // of all kinds but Rows
    bool distinct = false;
  };
  std::vector<ColumnId> keys = {};  // none: all rows are one group, also where there are no rows
  std::vector<Item> aggregates = {};
  /// With ROLLUP and the like: the groups of each set of keys; the other keys are NULL in its rows. Empty:
  /// one set of all keys. Of no rows no set has groups.
  std::vector<std::vector<ColumnId>> sets = {};
};

struct SortKey {
  ColumnId column = 0;
  bool descending = false;  // NULL comes first when ascending
  bool operator==(const SortKey&) const = default;
};

/// Each row with values of the rows around it.
struct Window {
  enum class Kind : uint8_t { RowNumber, Rank, DenseRank, Aggregate };
  struct Item {
    Column column;
    Kind kind = Kind::RowNumber;
    // Of an Aggregate: over the partition, or, where there is an order, up to the row and those equal to it.
    hailstone::Aggregate::Kind aggregate = hailstone::Aggregate::Kind::Rows;
    std::optional<ColumnId> argument = {};
  };
  std::vector<ColumnId> partition = {};
  std::vector<SortKey> order = {};
  std::vector<Item> items = {};
};
/// The rows in an order. Only a Limit right above it, and what the whole plan gives, see it.
struct Sort {
  std::vector<SortKey> order;
};
struct Limit {
  uint64_t offset = 0;
  std::optional<uint64_t> most = {};  // nothing: all behind the offset
  bool with_ties = false;             // and those that are equal to the last one in the Sort right below
};

/// Rows of several inputs, whose columns stand for each other by their places.
struct SetOperation {
  enum class Kind : uint8_t { Union, Intersect, Except };
  Kind kind = Kind::Union;
  bool all = true;  // else of equal rows one
  std::vector<Column> columns = {};
};

/// A reader of rows that are made once. All readers of one input, the same node, share its rows; each has
/// columns of its own, by the places of the input's.
struct Materialize {
  std::vector<Column> columns;
};

/// WITH RECURSIVE: the rows of the first input, then, again and again, those of the second, which reads by
/// RoundRows what the round before has given, until a round gives none.
struct Recurse {
  uint32_t number = 0;  // of its RoundRows
  bool all = true;      // else rows that were there before do not count
  std::vector<Column> columns = {};
};
struct RoundRows {
  uint32_t number = 0;
  std::vector<Column> columns = {};
};

using Operation = std::variant<Scan, HostScan, Values, Filter, Project, Join, Apply, Aggregate, Window, Sort,
                               Limit, SetOperation, Materialize, Recurse, RoundRows>;

struct Node {
  Operation operation;
  std::vector<Plan> inputs;
  std::vector<Column> columns;  // of the rows, in their order
};

/// The operation of a node, where it is of this kind; else null.
template <typename Kind>
const Kind* as(const Plan& plan) {
  return std::get_if<Kind>(&plan->operation);
}

/// A node, whose columns are those that its operation gives. What validate() would refuse may be missing
/// among them.
Plan make(Operation operation, std::vector<Plan> inputs = {});
/// The same operation over other inputs; the node itself, where they are the same.
Plan with_inputs(const Plan& node, std::vector<Plan> inputs);

/// The words that stand for the kind in texts, as "semi join".
std::string_view name_of(const Operation& operation);
std::string_view name_of(JoinKind kind);

/// Null: there is none.
const Column* find_column(std::span<const Column> columns, ColumnId id);
/// An id that no node of the plan makes: greater than all.
uint32_t next_id(const Plan& plan);
/// A column's value: of a DATE or another time as the plugin's tables store it, the moment or span.
Expression read(const Column& column);

/// A column that has room for an expression's values: of a column the same, else as short as its type allows.
Column computed_column(ColumnId id, std::string name, const Expression& value);
/// What an aggregate gives, by the operators of src/query. `argument`: null for Rows.
Column aggregate_column(ColumnId id, std::string name, hailstone::Aggregate::Kind kind,
                        const Column* argument);

/// Whether rows of the right input are columns of a join's.
constexpr bool shows_right(JoinKind kind) {
  return kind == JoinKind::Inner || kind == JoinKind::Left || kind == JoinKind::Single;
}

/// Whether the operation asks all conditions of the list for TRUE: those of a Filter or a join. Null: it has
/// none.
const std::vector<Expression>* conditions_of(const Operation& operation);

/// Calls `work` for each node once, inputs first.
void each_node(const Plan& plan, const std::function<void(const Plan& node)>& work);

/// Ids of columns. Ordered, each once.
class ColumnSet {
 public:
  ColumnSet() = default;
  explicit ColumnSet(std::span<const Column> columns) { add(columns); }
  void add(ColumnId id);
  void add(std::span<const Column> columns);
  void add(const ColumnSet& other);
  void remove(ColumnId id);
  bool has(ColumnId id) const;
  bool has_all(const ColumnSet& other) const;
  bool has_any(const ColumnSet& other) const;
  bool is_empty() const { return ids_.empty(); }
  size_t size() const { return ids_.size(); }
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }

 private:
  std::vector<ColumnId> ids_;
};

/// What the operation itself reads of its inputs' columns. Operations that take columns by their places, as
/// SetOperation, read all of them.
ColumnSet columns_read(const Node& node);

}  // namespace hailstone::plan
