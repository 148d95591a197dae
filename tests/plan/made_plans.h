// Short words for plans and expressions that tests are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/expressions.h"
#include "plan/plan.h"

namespace hailstone::plan {

inline Column made_column(ColumnId id, std::string name, const ScanColumn& stored) {
  return {.id = id, .name = std::move(name), .stored = stored, .type = usual_type(stored)};
}
inline Column number_column(ColumnId id, std::string name) {
  return made_column(id, std::move(name), {.integer = true, .type = Type::Signed, .width = sizeof(int64_t)});
}
inline Column text_column(ColumnId id, std::string name) {
  return made_column(
      id, std::move(name),
      {.integer = false, .type = Type::Varchar, .width = 20, .collation = &binary_collation()});
}

inline Expression column(ColumnId id) { return read(number_column(id, "")); }
inline Expression number(int64_t value) { return Expression::constant(value); }
inline Expression call(Function function, const Expression& left, const Expression& right) {
  return Expression::call(function, {left, right});
}

inline Plan scan(std::string table, std::vector<Column> columns) {
  return make(Scan{.table = std::move(table), .columns = std::move(columns)});
}
inline Plan filter(const Plan& input, std::vector<Expression> conditions) {
  return make(Filter{.conditions = std::move(conditions)}, {input});
}
inline Plan join(JoinKind kind, const Plan& left, const Plan& right, std::vector<Expression> conditions) {
  return make(Join{.kind = kind, .conditions = std::move(conditions)}, {left, right});
}

}  // namespace hailstone::plan
