// Rows that programs do not compute: which these are, what becomes of them, and in what order the embedding
// application is asked of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "query/ordered_rows.h"
#include "query/query_fixture.h"

namespace hailstone {
namespace {

/// Three columns of a batch: whole numbers, some of them NULL; of these `c` without a sign.
struct Numbers {
  std::vector<std::optional<int64_t>> a, b;
  std::vector<uint64_t> c;
};

class Columns {
 public:
  explicit Columns(const Numbers& numbers) : vectors_(3) {
    fill(vectors_[0], numbers.a);
    fill(vectors_[1], numbers.b);
    vectors_[2].integers.assign(numbers.c.begin(), numbers.c.end());
    for (const ColumnVector& vector : vectors_) columns_.push_back(&vector);
  }
  RowBatch batch() const {
    return {.rows = static_cast<uint32_t>(vectors_[0].integers.size()), .columns = columns_};
  }

 private:
  static void fill(ColumnVector& vector, const std::vector<std::optional<int64_t>>& numbers) {
    for (const auto& number : numbers) {
      vector.integers.push_back(order_signed(number.value_or(77), 8));
      vector.nulls.push_back(number ? 0 : 1);
      vector.any_nulls |= !number;
    }
  }
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> columns_;
};

constexpr ScanColumn signed_number{.integer = true, .type = Type::Signed, .width = 8};
constexpr ScanColumn unsigned_number{.integer = true, .type = Type::Unsigned, .width = 8};

class FailureTest : public testing::Test {
 protected:
  static Expression call(Function called, std::vector<Expression> arguments) {
    return Expression::call(called, std::move(arguments));
  }
  Expression quotient(bool tells_zero = true) {
    return Expression::call(Function::IntegerDivide, {a_, b_},
                            {.tells_zero = tells_zero, .range = NumberRange::Signed});
  }
  static Expression constant(int64_t number) { return Expression::constant(number); }

  /// Computes the expression of the rows: nothing for NULL.
  static void expect(const Expression& expression, const Numbers& numbers,
                     const std::vector<std::optional<int64_t>>& values,
                     const std::vector<Failure>& failures) {
    const Columns columns(numbers);
    const auto program = std::make_shared<Program>();
    const Program::Register result = program->add(expression);
    Evaluator evaluator(program);
    evaluator.run(columns.batch());
    const Computed& computed = evaluator.result(result);
    for (uint32_t row = 0; row < failures.size(); ++row) {
      EXPECT_EQ(computed.failure(row), failures[row]) << "row " << row;
      if (failures[row] > most_warnings) continue;
      EXPECT_EQ(computed.is_null(row), !values[row].has_value()) << "row " << row;
      if (values[row]) {
        EXPECT_EQ(computed.integers[row], *values[row]) << "row " << row;
      }
    }
  }

  const Expression a_ = Expression::column(0, signed_number), b_ = Expression::column(1, signed_number);
  const Expression c_ = Expression::call(Function::InRange, {Expression::column(2, unsigned_number)},
                                         {.range = NumberRange::Signed});
  const Numbers some_{.a = {7, 7, std::nullopt, 7, std::nullopt, INT64_MIN},
                      .b = {2, 0, 0, std::nullopt, 3, -1},
                      .c = {1, 2, 3, 4, 5, uint64_t{1} << 63}};
};

TEST_F(FailureTest, DivisionsByZeroAreNull) {
  expect(quotient(), some_, {3, {}, {}, {}, {}, {}}, {0, 1, 0, 0, 0, unknown_value});
  expect(quotient(false), some_, {3, {}, {}, {}, {}, {}}, {0, 0, 0, 0, 0, unknown_value});
  const Expression remainder = Expression::call(Function::Remainder, {a_, b_}, {.tells_zero = true});
  expect(remainder, some_, {1, {}, {}, {}, {}, 0}, {0, 1, 0, 0, 0, 0});
}

TEST_F(FailureTest, AreCountedByRow) {
  const Expression remainder = Expression::call(Function::Remainder, {a_, b_}, {.tells_zero = true});
  const Expression twice =
      Expression::call(Function::Add, {quotient(), remainder}, {.range = NumberRange::Signed});
  expect(twice, some_, {4, {}, {}, {}, {}, {}}, {0, 2, 0, 0, 0, unknown_value});
  expect(c_, some_, {1, 2, 3, 4, 5, {}}, {0, 0, 0, 0, 0, unknown_value});
}

TEST_F(FailureTest, GoWithWhatIsTaken) {
  const Expression divided = quotient();
  // IF(b, a DIV b, 5), and the other way round.
  const Expression is_zero = call(Function::IsTrue, {call(Function::Equal, {b_, constant(0)})});
  expect(call(Function::Choose, {is_zero, constant(5), divided}), some_, {3, 5, 5, {}, {}, {}},
         {0, 0, 0, 0, 0, unknown_value});
  expect(call(Function::Choose, {is_zero, divided, constant(5)}), some_, {5, {}, {}, 5, 5, 5},
         {0, 1, 0, 0, 0, 0});
  expect(call(Function::Coalesce, {constant(4), divided}), some_, {4, 4, 4, 4, 4, 4}, {0, 0, 0, 0, 0, 0});
  expect(call(Function::Coalesce, {divided, constant(4)}), some_, {3, 4, 4, 4, 4, {}},
         {0, 1, 0, 0, 0, unknown_value});
  expect(call(Function::Silenced, {divided}), some_, {3, {}, {}, {}, {}, 0}, {0, 0, 0, 0, 0, 0});
  expect(call(Function::IsNull, {divided}), some_, {0, 1, 1, 1, 1, {}}, {0, 1, 0, 0, 0, unknown_value});
}

TEST_F(FailureTest, EndWhereTheOtherSideDecides) {
  const Expression low = call(Function::Less, {quotient(), constant(9)});
  const Expression never = call(Function::Less, {c_, constant(0)});
  const Expression always = call(Function::Less, {constant(0), constant(1)});
  // What decides stands in front, or behind.
  expect(call(Function::And, {call(Function::Silenced, {never}), low}), some_, {0, 0, 0, 0, 0, 0},
         {0, 0, 0, 0, 0, 0});
  expect(call(Function::And, {low, call(Function::Silenced, {never})}), some_, {0, 0, 0, 0, 0, {}},
         {0, 1, 0, 0, 0, unknown_value});
  expect(call(Function::Or, {always, low}), some_, {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0});
  expect(call(Function::Or, {low, always}), some_, {1, 1, 1, 1, 1, {}}, {0, 1, 0, 0, 0, unknown_value});
  // Behind a first NULL nothing is compared.
  const Numbers nulls{.a = {{}, 1}, .b = {0, 0}, .c = {1, 1}};
  const Expression divides_by_b =
      Expression::call(Function::IntegerDivide, {constant(1), b_}, {.tells_zero = true});
  expect(call(Function::Less, {a_, divides_by_b}), nulls, {{}, {}}, {0, 1});
  expect(call(Function::Greater, {divides_by_b, a_}), nulls, {{}, {}}, {1, 1});
  expect(call(Function::Between, {a_, divides_by_b, divides_by_b}), nulls, {{}, {}}, {0, 2});
  expect(call(Function::SameOrNull, {a_, divides_by_b}), nulls, {1, 0}, {1, 1});
}

TEST_F(FailureTest, BetweenIsDecidedByOneBound) {
  const Numbers numbers{.a = {5, 5, 5, {}, 5}, .b = {1, 6, {}, 1, {}}, .c = {9, 9, 4, 9, 9}};
  expect(call(Function::Between, {a_, b_, c_}), numbers, {1, 0, 0, {}, {}}, {0, 0, 0, 0, 0});
}

/// The sum of its numbers. It is NULL above 9, and not known above 99.
class SmallSum final : public NumberFunction {
 public:
  void of_all(uint32_t rows, const int64_t* first, const int64_t* second, int64_t* to,
              State* state) const override {
    for (uint32_t row = 0; row < rows; ++row) {
      to[row] = first[row] % 1000 + (second == nullptr ? 0 : second[row] % 1000);
      state[row] = to[row] > 99 ? State::Unknown : to[row] > 9 ? State::Null : State::Known;
    }
  }
};

TEST_F(FailureTest, FunctionsOfNumbersAreUnknownOrNull) {
  const auto function = std::make_shared<SmallSum>();
  const Numbers numbers{.a = {7, 7, {}, 7, 112, {}}, .b = {2, 3, 99, {}, 0, {}}, .c = {1, 1, 1, 1, 1, 1}};
  expect(Expression::call(Function::PartOfMoment, {a_}, {.of_numbers = function}), numbers,
         {7, 7, {}, 7, {}, {}}, {0, 0, 0, 0, unknown_value, 0});
  expect(Expression::call(Function::PartOfMoment, {b_}, {.of_numbers = function}), numbers,
         {2, 3, {}, {}, 0, {}}, {0, 0, 1, 0, 0, 0});
  const Expression sum = Expression::call(Function::UnitsBetween, {a_, b_}, {.of_numbers = function});
  expect(sum, numbers, {9, {}, {}, {}, {}, {}}, {0, 1, 0, 0, unknown_value, 0});
  // The second is not looked at behind a first NULL.
  expect(Expression::call(Function::UnitsBetween, {a_, quotient()}, {.of_numbers = function}),
         {.a = {4, {}}, .b = {0, 0}, .c = {1, 1}}, {{}, {}}, {1, 0});
  Program program;
  program.add(sum);
  EXPECT_TRUE(program.may_fail());
}

TEST_F(FailureTest, EndWithAnotherValue) {
  expect(call(Function::Otherwise, {quotient(), constant(-5)}), some_, {3, -5, {}, {}, {}, -5},
         {0, 0, 0, 0, 0, 0});
  const Expression null = Expression::null(ValueKind::Integer);
  expect(call(Function::Otherwise, {quotient(), null}), some_, {3, {}, {}, {}, {}, {}}, {0, 0, 0, 0, 0, 0});
}

/// Rows of a table, of which some are asked of a host.
TableDefinition failed_definition() {
  TableDefinition definition;
  definition.name = "test/failed";
  definition.columns = {{.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
                        {.name = "divisor", .type = Type::Signed, .width = 4},
                        {.name = "word", .type = Type::Varchar, .width = 200}};
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

constexpr int32_t all_rows = 70'000;
constexpr int64_t of_host = -1000;  // what it has for number DIV divisor

/// Lets rows pass whose number is even, and has a value of its own for the quotient.
class Asked final : public FallbackExpressions {
 public:
  explicit Asked(uint64_t told) : most_told_(told) {}
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool, std::span<Value> values) override {
    const auto number = native_signed(rows.columns[0]->value(row).integer, 4);
    EXPECT_EQ(rows.columns[2]->value(row).bytes, "word " + std::to_string(number));
    numbers.push_back(number);
    if (!values.empty()) values[0] = Value::of(order_signed(of_host, 8));
    return number % 2 == 0;
  }
  uint64_t most_told() const override { return most_told_; }
  void count_warnings(uint64_t warnings) override { counted += warnings; }

  std::vector<int64_t> numbers;
  uint64_t counted = 0;

 private:
  const uint64_t most_told_;
};

class FailedRowsTest : public QueryTest {
 protected:
  FailedRowsTest() : QueryTest(31, failed_definition()) {
    host_.segment_rows = 20'000;
    write(0, 60'000, true);
    write(60'000, all_rows, false);
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  }

  void write(int32_t first, int32_t last, bool in_bulk) {
    write_rows(first, last, in_bulk, [this](int32_t number, const auto& take) {
      const int32_t divisor = below(10) == 0 ? 0 : 3;
      const std::string word = "word " + std::to_string(number);
      if (divisor == 0) wrong_.push_back(number);
      take(std::array<Value, 3>{Value::of(order_signed(number, 4)), Value::of(order_signed(divisor, 4)),
                                Value::of(word)});
    });
  }

  /// Even numbers with number DIV divisor behind them, in the column 3.
  /// `host`: has one more column, which is a text.
  std::unique_ptr<ComputedRows> rows(std::shared_ptr<FallbackExpressions> fallback, bool in_condition,
                                     std::shared_ptr<HostExpressions> host = nullptr) {
    constexpr ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
    const auto conditions = std::make_shared<Program>(), values = std::make_shared<Program>();
    const Expression number = Expression::column(0, column);
    const Expression rest = Expression::call(Function::Remainder, {number, Expression::constant(int64_t{2})},
                                             {.tells_zero = true});
    Expression passes = Expression::call(Function::Equal, {rest, Expression::constant(int64_t{0})});
    if (in_condition) {
      const Expression quotient = Expression::call(
          Function::IntegerDivide, {number, Expression::column(1, column)}, {.tells_zero = true});
      const Expression is_positive =
          Expression::call(Function::GreaterEqual, {quotient, Expression::constant(int64_t{0})});
      passes = Expression::call(Function::And, {is_positive, passes});
    }
    Computation computation{
        .conditions = conditions, .passes = conditions->add(passes), .fallback = std::move(fallback)};
    const Expression quotient = Expression::call(
        Function::IntegerDivide, {Expression::column(0, column), Expression::column(1, column)},
        {.tells_zero = true});
    computation.values = values;
    computation.columns = {Computation::Column::of(*values, values->add(quotient))};
    if (host != nullptr) {
      computation.host = std::move(host);
      computation.columns.push_back(Computation::Column::of_host(
          {.integer = false, .type = Type::Varchar, .width = 30, .collation = &binary_collation()}));
    }
    auto scan = std::make_unique<Scan>(table_, *reader_, ReadLock::None,
                                       std::make_shared<const Predicate>(Predicate::always()),
                                       std::vector<uint16_t>{0, 1, 2}, std::vector<bool>{false, false, true});
    return std::make_unique<ComputedRows>(std::move(scan), 3, std::move(computation));
  }

  /// What each_batch() gives: for each number the quotient; nothing for NULL.
  std::map<int64_t, std::optional<int64_t>> take(ComputedRows& rows, unsigned threads) {
    std::map<int64_t, std::optional<int64_t>> taken;
    std::mutex mutex;
    EXPECT_TRUE(rows.each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
      const std::lock_guard guard(mutex);
      for (uint32_t row = 0; row < batch.rows; ++row) {
        const Value quotient = batch.columns[3]->value(row);
        EXPECT_TRUE(
            taken
                .try_emplace(native_signed(batch.columns[0]->value(row).integer, 4),
                             quotient.null ? std::nullopt : std::optional(native_signed(quotient.integer, 8)))
                .second);
      }
      return {};
    }));
    return taken;
  }

  std::vector<int64_t> wrong_;  // numbers of rows whose divisor is 0
};

TEST_F(FailedRowsTest, AreAskedOfTheHostInTheOrderOfTheScan) {
  for (const bool in_condition : {false, true}) {
    for (const unsigned threads : {1U, 3U}) {
      const auto host = std::make_shared<Asked>(uint64_t{1} << 40);
      const auto taken = take(*rows(host, in_condition), threads);
      std::vector<int64_t> asked = wrong_;
      // A condition behind the division is not looked at before.
      if (!in_condition) std::erase_if(asked, [](int64_t number) { return number % 2 != 0; });
      EXPECT_EQ(host->numbers, asked);
      EXPECT_EQ(host->counted, 0);
      EXPECT_EQ(taken.size(), all_rows / 2);
      for (const auto& [number, quotient] : taken) {
        const bool wrong = std::ranges::binary_search(wrong_, number);
        ASSERT_EQ(quotient, wrong ? of_host : number / 3);
      }
    }
  }
}

TEST_F(FailedRowsTest, OfManyDivisionsTheFirstAreTold) {
  constexpr uint64_t told = 10;
  for (const bool in_condition : {false, true}) {
    for (const unsigned threads : {1U, 3U}) {
      const auto host = std::make_shared<Asked>(told);
      const auto taken = take(*rows(host, in_condition), threads);
      std::vector<int64_t> met = wrong_;
      if (!in_condition) std::erase_if(met, [](int64_t number) { return number % 2 != 0; });
      ASSERT_GE(host->numbers.size(), told);
      EXPECT_LE(host->numbers.size(), told * threads);
      EXPECT_TRUE(std::equal(met.begin(), met.begin() + told, host->numbers.begin()));
      EXPECT_EQ(host->numbers.size() + host->counted, met.size());
      size_t nulls = 0;
      for (const auto& [number, quotient] : taken) nulls += size_t{!quotient};
      // The others have the division's own value; of a condition that is not TRUE.
      EXPECT_EQ(nulls, in_condition ? 0 : host->counted);
      EXPECT_EQ(taken.size(),
                in_condition
                    ? all_rows - std::ranges::count_if(wrong_, [](int64_t n) { return n % 2 == 0; }) -
                          all_rows / 2 +
                          std::ranges::count_if(host->numbers, [](int64_t n) { return n % 2 == 0; })
                    : all_rows / 2);
    }
  }
}

TEST_F(FailedRowsTest, AreComputedOnce) {
  for (const uint64_t told : {uint64_t{10}, uint64_t{1} << 40}) {
    for (const bool in_condition : {false, true}) {
      const auto host = std::make_shared<Asked>(told);
      auto all = rows(host, in_condition);
      OperatorCounts filter, compute;
      all->count_in({.filter = &filter, .compute = &compute});
      const size_t taken = take(*all, 2).size();
      EXPECT_EQ(filter.rows_in.load(), all_rows);
      EXPECT_EQ(filter.rows_out.load(), taken);
      EXPECT_EQ(compute.rows_in.load(), taken);
      EXPECT_EQ(compute.rows_out.load(), taken);
    }
  }
}

TEST_F(FailedRowsTest, GoByWayOfFilesWhereMemoryIsShort) {
  host_.budget().set_limit(size_t{1} << 20);
  const size_t before = host_.budget().used();
  {
    const auto host = std::make_shared<Asked>(uint64_t{1} << 40);
    auto all = rows(host, true);
    OperatorCounts counts;
    all->count_in({.filter = &counts});
    EXPECT_EQ(take(*all, 3).size(), all_rows / 2);
    EXPECT_EQ(host->numbers, wrong_);
    EXPECT_GT(counts.spilled.load(), 0);
  }
  expect_nothing_left(before);
  for (const SpillFault& fault : spill_faults) {
    add_spill_fault(fault, 0);
    const auto host = std::make_shared<Asked>(uint64_t{1} << 40);
    const Status status = rows(host, true)->each_batch(3, [](unsigned, const RowBatch&) { return Status(); });
    ASSERT_FALSE(status);
    expect_error_of(fault, status.error());
  }
  host_.filesystem().clear_rules();
  expect_nothing_left(before);
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(FailedRowsTest, NeedNoHostWhereNoneIsTaken) {
  // IF(divisor = 0, 1, number DIV divisor) > 0.
  constexpr ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
  const auto conditions = std::make_shared<Program>();
  const Expression divisor = Expression::column(1, column), zero = Expression::constant(int64_t{0});
  const Expression quotient = Expression::call(
      Function::IntegerDivide, {Expression::column(0, column), divisor}, {.tells_zero = true});
  const Expression is_zero = Expression::call(Function::Equal, {divisor, zero});
  const Expression chosen =
      Expression::call(Function::Choose, {is_zero, Expression::constant(int64_t{1}), quotient});
  Computation computation{.conditions = conditions,
                          .passes = conditions->add(Expression::call(Function::Greater, {chosen, zero}))};
  auto scan = std::make_unique<Scan>(table_, *reader_, ReadLock::None,
                                     std::make_shared<const Predicate>(Predicate::always()),
                                     std::vector<uint16_t>{0, 1}, std::vector<bool>{false, false});
  ComputedRows rows(std::move(scan), 2, std::move(computation));
  std::atomic<size_t> taken{0};
  ASSERT_TRUE(rows.each_batch(2, [&](unsigned, const RowBatch& batch) {
    taken += batch.rows;
    return Status();
  }));
  size_t below_divisor = 0;
  for (int64_t number = 0; number < 3; ++number)
    below_divisor += size_t{!std::ranges::binary_search(wrong_, number)};
  EXPECT_EQ(taken, all_rows - below_divisor);
}

TEST_F(FailedRowsTest, WithoutAFallbackEndTheRun) {
  const Status status =
      rows(nullptr, true)->each_batch(2, [](unsigned, const RowBatch&) { return Status(); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
}

/// Lets rows pass whose number is no multiple of 3, and has the number itself as its column.
class OwnColumn final : public HostExpressions {
 public:
  explicit OwnColumn(bool wants_order) : wants_order_(wants_order) {}
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins, std::span<Value> values) override {
    EXPECT_EQ(std::this_thread::get_id(), caller_);
    const int64_t number = native_signed(rows.columns[0]->value(row).integer, 4);
    if (begins) texts_.clear();
    numbers.push_back(number);
    if (number % 3 == 0) return false;
    values[0] = Value::of(ByteView(texts_.emplace_back("own " + std::to_string(number))));
    return true;
  }
  bool wants_order() const override { return wants_order_; }
  std::shared_ptr<HostExpressions> for_another_thread() const override {
    EXPECT_FALSE(wants_order_);
    return std::make_shared<OwnColumn>(false);
  }

  std::vector<int64_t> numbers;

 private:
  const bool wants_order_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::deque<std::string> texts_;  // of the batch
};

/// The fallback beside it: as what it and the programs compute.
class OwnFallback final : public FallbackExpressions {
 public:
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins, std::span<Value> values) override {
    EXPECT_EQ(std::this_thread::get_id(), caller_);
    const int64_t number = native_signed(rows.columns[0]->value(row).integer, 4);
    if (begins) texts_.clear();
    numbers.push_back(number);
    if (number % 2 != 0 || number % 3 == 0) return false;
    values[0] = number % 5 == 0 ? Value{} : Value::of(order_signed(of_host, 8));
    values[1] = Value::of(ByteView(texts_.emplace_back("fallback " + std::to_string(number))));
    return true;
  }
  uint64_t most_told() const override { return uint64_t{1} << 40; }
  void count_warnings(uint64_t) override { ADD_FAILURE() << "all rows are told of one by one"; }

  std::vector<int64_t> numbers;

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  std::deque<std::string> texts_;
};

TEST_F(FailedRowsTest, BesideAHostAreAskedInTheirOrder) {
  for (const bool wants_order : {true, false}) {
    for (const bool in_condition : {false, true}) {
      const auto host = std::make_shared<OwnColumn>(wants_order);
      const auto fallback = std::make_shared<OwnFallback>();
      const auto computed = rows(fallback, in_condition, host);
      std::map<int64_t, std::string> taken;
      std::mutex mutex;
      ASSERT_TRUE(computed->each_batch(3, [&](unsigned, const RowBatch& batch) -> Status {
        const std::lock_guard guard(mutex);
        for (uint32_t row = 0; row < batch.rows; ++row) {
          const Value quotient = batch.columns[3]->value(row);
          taken[native_signed(batch.columns[0]->value(row).integer, 4)] =
              (quotient.null ? "NULL" : std::to_string(native_signed(quotient.integer, 8))) + " " +
              std::string(batch.columns[4]->value(row).bytes);
        }
        return {};
      }));
      std::map<int64_t, std::string> expected;
      std::vector<int64_t> asked = wrong_;
      if (!in_condition) std::erase_if(asked, [](int64_t number) { return number % 2 != 0; });
      for (int64_t number = 0; number < all_rows; number += 2) {
        if (number % 3 == 0) continue;
        const std::string text = std::to_string(number);
        expected[number] = !std::ranges::binary_search(wrong_, number)
                               ? std::to_string(number / 3) + " own " + text
                               : (number % 5 == 0 ? "NULL" : std::to_string(of_host)) + " fallback " + text;
      }
      EXPECT_EQ(taken, expected);
      EXPECT_EQ(fallback->numbers, asked);
      if (wants_order) {
        EXPECT_TRUE(std::ranges::is_sorted(host->numbers));
      }
    }
  }
}

}  // namespace
}  // namespace hailstone
