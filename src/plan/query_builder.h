// Plans by words: rows, and what is done to them one after the other, with columns by their names and
// expressions as text (expression/expression_text.h). What hailstone.h, Python and the command make their
// queries with.
//
// An operation that fails has changed nothing. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression_text.h"
#include "plan/plan.h"

namespace hailstone::plan {

/// Gives ids to the columns of queries that may be joined.
class ColumnIds {
 public:
  /// ErrorCode::InvalidArgument: there are no more.
  Result<ColumnId> take();

 private:
  ColumnId next_ = 0;
};

/// A column of the rows so far.
struct NamedColumn {
  std::string qualifier;  // `t` of t.price; empty: it has none
  std::string name;
  /// Of ids, with a type of SQL: the column itself, or an ascending ColumnFunction of it.
  Expression value;
  /// The application's own, of a column that it has given; 0: of one that was computed.
  uint32_t mark = 0;
  bool is_truth = false;  // of a condition that was computed
};

class QueryBuilder {
 public:
  /// Rows of a Scan, a HostScan or Values, whose columns these are.
  QueryBuilder(std::shared_ptr<ColumnIds> ids, Plan rows, std::vector<NamedColumn> columns)
      : ids_(std::move(ids)), plan_(std::move(rows)), columns_(std::move(columns)) {}

  // ErrorCode::InvalidArgument: a text is none, or does not fit; Unsupported: the library does not compute
  // it. The sentence names the text. `parameters`: of all texts of the call, in their order.
  using Texts = std::span<const std::string_view>;
  /// The rows for which it is TRUE.
  Status filter(std::string_view condition, const Parameters& parameters = {});
  /// Other columns: "price * n AS total"; "price"; "*" and "t.*": all, and all of t.
  Status project(Texts items, const Parameters& parameters = {});
  /// Pairs. The right columns come behind the left ones, but for Semi, Anti and NullAnti. An empty condition
  /// is TRUE. `right` is used up.
  Status join(QueryBuilder& right, JoinKind kind, std::string_view condition,
              const Parameters& parameters = {});
  /// Groups of rows with equal keys, which are items as project() has them. An aggregate is COUNT(*), or
  /// COUNT, SUM, AVG, MIN or MAX of an expression or, but for AVG, of DISTINCT ones; with AS and a name.
  Status aggregate(Texts keys, Texts aggregates, const Parameters& parameters = {});
  /// Of equal rows one.
  Status distinct();
  /// "total DESC", "price * n", "name ASC". Right behind project() also columns that it has left out, as SQL
  /// has it; where both have a name, the ones that it shows.
  Status sort(Texts keys, const Parameters& parameters = {});
  /// `most`: nothing: all behind the offset.
  Status limit(uint64_t offset, std::optional<uint64_t> most);
  /// The rows of both, whose columns stand for each other by their places; the names are the left ones.
  /// `right` is used up.
  Status unite(QueryBuilder& right);

  std::span<const NamedColumn> columns() const { return columns_; }
  /// Its columns stand at the places of columns(), as they are stored.
  Result<Plan> plan() const;

 private:
  class Names;
  class Reader;
  struct Item {
    std::string name;
    Expression value;
  };
  struct MadeColumns;
  Result<Column> new_column(std::string name, const Expression& value) const;
  Result<MadeColumns> with_columns(std::span<const Item> items) const;
  std::shared_ptr<ColumnIds> ids_;
  Plan plan_;  // may have more columns than are named
  std::vector<NamedColumn> columns_;
  std::vector<NamedColumn> left_out_;  // by project(), right before; the plan has them
};

}  // namespace hailstone::plan
