// What is refused as a plan, each with a message that names the node.
#include "plan/validate.h"

#include <gtest/gtest.h>

#include "plan/made_plans.h"

namespace hailstone::plan {
namespace {

using Kind = hailstone::Aggregate::Kind;

void expect_right(const Plan& plan) {
  const Status status = validate(plan);
  EXPECT_TRUE(status) << status.error().message();
}
void expect_wrong(const Plan& plan, const std::string& message) {
  const Status status = validate(plan);
  ASSERT_FALSE(status) << "not refused: " << message;
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().message(), message);
}

const Column a = number_column(1, "a"), b = number_column(2, "b"), c = number_column(3, "c"),
             word = text_column(9, "word");

Plan table() { return scan("t", {a, b, word}); }
Plan other() { return scan("u", {c}); }
Expression same(ColumnId left, ColumnId right) { return call(Function::Equal, column(left), column(right)); }

TEST(ValidateTest, WhatIsRightPasses) {
  const Plan joined = join(JoinKind::Left, table(), other(), {same(1, 3)});
  EXPECT_EQ(joined->columns.size(), 4);
  const Plan sums =
      make(Aggregate{.keys = {2}, .aggregates = {{.column = aggregate_column(5, "n", Kind::Rows, nullptr)}}},
           {filter(joined, {call(Function::Less, column(1), number(5))})});
  expect_right(
      make(Limit{.offset = 1, .most = 5, .with_ties = true}, {make(Sort{.order = {{.column = 5}}}, {sums})}));
  expect_right(join(JoinKind::Semi, table(), other(), {}));
  // A node may be there twice where its columns do not meet.
  expect_right(make(SetOperation{.columns = {number_column(7, "x")}}, {other(), other()}));
  // The right input of an Apply reads the row of the left.
  expect_right(make(Apply{.kind = JoinKind::Semi}, {table(), filter(other(), {same(1, 3)})}));
  const Column round = number_column(8, "i");
  expect_right(make(Recurse{.number = 1, .columns = {number_column(10, "n")}},
                    {other(), make(Project{.items = {{.column = number_column(11, "next"),
                                                      .value = call(Function::Add, column(8), number(1))}}},
                                   {make(RoundRows{.number = 1, .columns = {round}})})}));
}

TEST(ValidateTest, ColumnsAreKnownAndThereOnce) {
  expect_wrong(filter(other(), {same(1, 3)}),
               "the node filter (c#3): an expression reads column 1, which its input does not have");
  expect_wrong(join(JoinKind::Inner, other(), other(), {}),
               "the node inner join (c#3, c#3): both inputs have column 3");
  expect_wrong(scan("t", {a, a}), "the node scan t (a#1, a#1): it has column 1 twice");
  expect_wrong(make(Sort{.order = {{.column = 4}}}, {other()}),
               "the node sort (c#3): it reads column 4, which its input does not have");
  expect_wrong(make(Aggregate{.keys = {4}}, {other()}),
               "the node aggregate (): it reads column 4, which its input does not have");
  expect_wrong(make(Aggregate{.keys = {3}, .sets = {{3}, {4}}}, {other()}),
               "the node aggregate (c#3): column 4 of a set is not one of the keys");
  expect_wrong(make(Project{.items = {{.column = c, .value = number(1)}}}, {other()}),
               "the node project (c#3): column 3 is new, but its input has it");
  expect_wrong(join(JoinKind::Inner, table(), filter(other(), {same(1, 3)}), {}),
               "the node filter (c#3): an expression reads column 1, which its input does not have");
  expect_wrong(
      join(JoinKind::Semi, scan("t", {a}), filter(scan("u", {number_column(1, "d")}), {column(1)}), {}),
      "the node scan u (d#1): column 1 is not the one that has this id elsewhere in the plan, a");
}

TEST(ValidateTest, TypesAgree) {
  expect_wrong(filter(scan("t", {word}), {read(number_column(9, "n"))}),
               "the node filter (word#9): an expression takes column 9 for one of another type");
  expect_wrong(filter(scan("t", {word}), {read(word)}),
               "the node filter (word#9): a condition is not a truth");
  expect_wrong(make(Project{.items = {{.column = text_column(4, "w"), .value = number(1)}}}, {other()}),
               "the node project (w#4): column 4 is not of the kind that its value is");
  expect_wrong(make(SetOperation{.columns = {number_column(7, "x")}}, {other(), scan("t", {word})}),
               "the node union (x#7): column 7 and column 9 of an input are of different types");
  expect_wrong(make(Values{.columns = {a}, .rows = {{number(1), number(2)}}}),
               "the node values (a#1): a row has 2 values");
  expect_wrong(make(Values{.columns = {a}, .rows = {{column(1)}}}),
               "the node values (a#1): a value is not a constant");
  expect_wrong(make(Values{.columns = {word}, .rows = {{number(1)}}}),
               "the node values (word#9): a value is not one of column 9");
  expect_wrong(make(Aggregate{.aggregates = {{.column = number_column(5, "n")}}}, {other()}),
               "the node aggregate (n#5): the column of aggregate 5 is not what it gives");
  expect_wrong(make(SetOperation{.columns = {number_column(7, "x")}}, {other(), table()}),
               "the node union (x#7): it has 1 columns, and an input 3");
}

TEST(ValidateTest, OperationsHaveWhatTheyNeed) {
  expect_wrong(make(Filter{.conditions = {number(1)}}), "the node filter (): it has 0 inputs");
  expect_wrong(make(Filter{}, {other()}), "the node filter (c#3): it has no condition");
  expect_wrong(make(Join{}, {other(), nullptr}), "a plan has no node where one is wanted");
  expect_wrong(make(Aggregate{}, {other()}), "the node aggregate (): it has neither keys nor aggregates");
  expect_wrong(make(Limit{.most = 1, .with_ties = true}, {other()}),
               "the node limit (c#3): ties are those of a sort right below, and of a last row");
  expect_wrong(make(Join{.kind = JoinKind::Mark}, {table(), other()}),
               "the node mark join (a#1, b#2, word#9): it has a mark where none is wanted, or lacks one");
  expect_wrong(make(RoundRows{.number = 4, .columns = {a}}),
               "the node round (a#1): no recursion around it has the number 4");
  expect_wrong(scan("t", {}), "the node scan t (): it has no columns");
  // What is made once does not depend on a row.
  expect_wrong(
      make(Apply{.kind = JoinKind::Semi},
           {table(), make(Materialize{.columns = {number_column(7, "m")}}, {filter(other(), {same(1, 3)})})}),
      "the node filter (c#3): an expression reads column 1, which its input does not have");
}

}  // namespace
}  // namespace hailstone::plan
