// The reference interpreter of plans: what each node means, row by row, and as simple as can be. It knows
// nothing of batches, positions, NULL bits or files, and computes expressions by itself: what was made of
// words of SQL by these words, not by the calls that they became. Tests compare the operators, and plans that
// rules have changed, with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/datum.h"
#include "plan/plan.h"

namespace hailstone::plan {

class Interpreter {
 public:
  /// All rows of a table, with these columns of it.
  using TableRows =
      std::function<std::vector<DatumRow>(const std::string& table, const std::vector<Column>& columns)>;
  /// ErrorCode::RowTooLarge: an answer would look at more than `most_steps` rows or pairs.
  explicit Interpreter(TableRows tables, uint64_t most_steps = ~uint64_t{0})
      : tables_(std::move(tables)), steps_left_(most_steps) {}

  /// In the plan's order, if it has one.
  Result<Relation> rows(const Plan& plan);

 private:
  using Row = DatumRow;
  Result<Relation> of(const Plan& plan);
  Status step();
  Result<Datum> value(const Expression& expression);
  Result<std::vector<Datum>> values(const std::vector<Expression>& expressions);
  Result<Datum> said(const Expression::Said& words);
  /// Whether all are TRUE: TRUE, FALSE or NULL.
  Result<Datum> all_of(const std::vector<Expression>& conditions);
  void bind(const Relation& relation, const Row& row);

  Result<Relation> join(const Plan& plan, JoinKind kind, const std::vector<Expression>& conditions,
                        bool depends);
  Result<Relation> aggregate(const Plan& plan, const Aggregate& aggregate);
  Result<Relation> window(const Plan& plan, const Window& window);
  Result<Relation> set_operation(const Plan& plan, const SetOperation& operation);
  Result<Relation> recurse(const Plan& plan, const Recurse& recurse);
  Result<Relation> limit(const Plan& plan, const Limit& limit);
  Result<Datum> aggregated(hailstone::Aggregate::Kind kind, bool distinct, std::vector<Datum> values,
                           size_t rows, const ScanColumn& stored);

  TableRows tables_;
  uint64_t steps_left_;
  std::vector<Datum> bound_;  // by id: the row at hand, and those of the joins around it
  std::vector<std::pair<uint32_t, std::vector<Row>>> rounds_;
};

}  // namespace hailstone::plan
