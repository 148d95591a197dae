// What rules, and the lowering of plans, ask of expressions whose columns are ids.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace hailstone::plan {

/// Calls `work` for each column that the expression reads, or has in its words; for some several times.
void each_column(const Expression& expression,
                 const std::function<void(const Expression::Node& column)>& work);
ColumnSet columns_read(const Expression& expression);

/// Each part of the expression, arguments first, becomes what `change` makes of it; of a part that several
/// share it is asked once. Where nothing changes, it is the same expression.
Expression rebuilt(const Expression& expression,
                   const std::function<Expression(const Expression& part)>& change);
/// What stands in the place of a column; nothing: the column itself.
using Replacement = std::function<std::optional<Expression>(ColumnId id)>;
/// The expression with others in the place of columns. A column of which a ColumnFunction or a predicate is
/// asked can only become another column.
Expression replaced(const Expression& expression, const Replacement& replacement);
/// The same expression of other columns of the same types: ids, or positions.
Expression renumbered(const Expression& expression, const std::function<uint16_t(ColumnId id)>& number);

/// Whether a row may have a failure (expression/computed.h). What may fail must not be asked of rows that it
/// was not asked of before: the failure would be an error of the query.
bool may_fail(const Expression& expression);

/// All of them, joined by AND; nothing: there is none.
std::optional<Expression> all_of(std::span<const Expression> conditions);
/// Whether a condition is made of others by And or Or. What became one of other words, as IN, is a whole.
bool joins_by(const Expression& condition, Function and_or_or);
/// The parts that are joined by AND, to the end of `to`.
void add_parts(const Expression& condition, std::vector<Expression>& to);

/// What the expression is of where it reads no column: a constant or NULL of its type. Nothing: it reads
/// columns, has a failure, or is of a kind that constants are not.
std::optional<Expression> constant_value(const Expression& expression);

}  // namespace hailstone::plan
