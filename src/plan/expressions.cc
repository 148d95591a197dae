#include "plan/expressions.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "expression/conditions.h"
#include "expression/evaluator.h"
#include "expression/program.h"

namespace hailstone::plan {

namespace {

bool reads_column(const Expression& expression) {
  return expression->kind == Expression::Kind::Column || expression->kind == Expression::Kind::OfColumn ||
         expression->kind == Expression::Kind::Matches;
}

/// The node of a column, of another one.
Expression moved(const Expression& column, uint16_t position) {
  switch (column->kind) {
    case Expression::Kind::OfColumn:
      return Expression::of_column(position, column->column, column->of_column).as(column.type());
    case Expression::Kind::Matches:
      return Expression::matches(*column->predicate, position, column->column).as(column.type());
    default:
      break;
  }
  const bool is_number = !column->column.integer && column->values == ValueKind::Integer;
  return (is_number ? Expression::column_of_numbers(position, column->column)
                    : Expression::column(position, column->column))
      .as(column.type());
}

class Rebuilding {
 public:
  explicit Rebuilding(const std::function<Expression(const Expression& part)>& change) : change_(change) {}

  Expression of(const Expression& expression) {
    if (const auto known = known_.find(&*expression); known != known_.end()) return known->second;
    Expression made = change_(of_words(expression, of_arguments(expression)));
    known_.emplace(&*expression, made);
    return made;
  }

 private:
  /// Whether all are what they were.
  bool rebuild(const std::vector<Expression>& from, std::vector<Expression>& to) {
    bool is_same = true;
    for (const Expression& argument : from) {
      to.push_back(of(argument));
      is_same &= &*to.back() == &*argument;
    }
    return is_same;
  }
  Expression of_arguments(const Expression& expression) {
    std::vector<Expression> arguments;
    if (rebuild(expression->arguments, arguments)) return expression;
    return Expression::call(expression->function, std::move(arguments), expression->settings)
        .as(expression.type());
  }
  /// `made`, said in the words of the expression, which may have other arguments.
  Expression of_words(const Expression& expression, const Expression& made) {
    if (expression->said == nullptr) return made;
    Expression::Said said{.name = expression->said->name, .arguments = {}, .word = expression->said->word};
    if (rebuild(expression->said->arguments, said.arguments) && &*made == &*expression) return made;
    return made.said(std::move(said));
  }

  const std::function<Expression(const Expression& part)>& change_;
  std::unordered_map<const Expression::Node*, Expression> known_;  // by parts of the whole expression
};

void visit(const Expression& expression, std::unordered_set<const Expression::Node*>& met,
           const std::function<void(const Expression::Node& column)>& work) {
  if (!met.insert(&*expression).second) return;
  if (reads_column(expression)) work(*expression);
  for (const Expression& argument : expression->arguments) visit(argument, met, work);
  if (expression->said == nullptr) return;
  for (const Expression& argument : expression->said->arguments) visit(argument, met, work);
}

}  // namespace

void each_column(const Expression& expression,
                 const std::function<void(const Expression::Node& column)>& work) {
  std::unordered_set<const Expression::Node*> met;
  visit(expression, met, work);
}

ColumnSet columns_read(const Expression& expression) {
  ColumnSet columns;
  each_column(expression, [&](const Expression::Node& column) { columns.add(column.position); });
  return columns;
}

Expression rebuilt(const Expression& expression,
                   const std::function<Expression(const Expression& part)>& change) {
  return Rebuilding(change).of(expression);
}

Expression replaced(const Expression& expression, const Replacement& replacement) {
  return rebuilt(expression, [&](const Expression& part) {
    if (!reads_column(part)) return part;
    const auto other = replacement(part->position);
    if (!other) return part;
    if (part->kind == Expression::Kind::Column) return other->as(part.type());
    HAILSTONE_CHECK((*other)->kind == Expression::Kind::Column,
                    "an expression is to take the place of column {}, of which a function is asked",
                    part->position);
    return moved(part, (*other)->position);
  });
}

Expression renumbered(const Expression& expression, const std::function<uint16_t(ColumnId id)>& number) {
  return rebuilt(expression, [&](const Expression& part) {
    return reads_column(part) ? moved(part, number(part->position)) : part;
  });
}

bool may_fail(const Expression& expression) {
  Program program;
  program.add(expression);
  return program.may_fail();
}

std::optional<Expression> all_of(std::span<const Expression> conditions) {
  std::optional<Expression> all;
  for (const Expression& condition : conditions) all = united(Function::And, all, condition);
  return all;
}

bool joins_by(const Expression& condition, Function and_or_or) {
  if (!condition.is_call(and_or_or)) return false;
  return condition->said == nullptr || condition->said->name == (and_or_or == Function::And ? "AND" : "OR");
}

void add_parts(const Expression& condition, std::vector<Expression>& to) {
  if (!joins_by(condition, Function::And)) {
    to.push_back(condition);
    return;
  }
  for (const Expression& part : condition->arguments) add_parts(part, to);
}

std::optional<Expression> constant_value(const Expression& expression) {
  if (!columns_read(expression).is_empty()) return std::nullopt;
  if (expression.is_constant() || expression.is_null()) return expression;
  auto program = std::make_shared<Program>();
  const Program::Register result = program->add(expression);
  Evaluator evaluator(program, {result});
  evaluator.run({.rows = 1, .columns = {}});
  const Computed& value = evaluator.result(result);
  if (value.failure(0) != 0) return std::nullopt;
  if (value.is_null(0)) return Expression::null(value.kind).as(expression.type());
  switch (value.kind) {
    case ValueKind::Integer:
      return Expression::constant(value.number(0)).as(expression.type());
    case ValueKind::Real:
      return Expression::constant(value.reals[0]).as(expression.type());
    case ValueKind::Text:
      return Expression::constant(std::string(value.texts[0])).as(expression.type());
  }
  return std::nullopt;
}

}  // namespace hailstone::plan
