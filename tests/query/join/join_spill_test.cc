// Joins whose build side memory has no room for, against the same joins in memory: keys of all kinds, keys of
// very many rows, partitions that are divided again, products of all rows, joins of joins; and what happens
// when the files cannot be written or read, when memory fails, and when the statement is ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/failing_allocations.h"
#include "base/guard.h"
#include "base/mutex.h"
#include "query/join/hash_join.h"
#include "query/join/less_numbers.h"
#include "query/pipeline.h"
#include "query/query_fixture.h"

namespace hailstone {
namespace {

using Kind = JoinPlan::Kind;

enum Column : uint16_t { number, key, real, word, text };
constexpr uint16_t columns_of_side = text + 1;

TableDefinition joined_definition() {
  TableDefinition definition;
  definition.name = "test/joined";
  definition.columns = {
      {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "key", .type = Type::Signed, .width = 8},
      {.name = "real", .type = Type::Double, .width = 8},
      {.name = "word", .type = Type::Varchar, .width = 20, .collation = binary_padded_collation_id},
      {.name = "text", .type = Type::Varchar, .width = 200},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

/// The numbers of the rows that are joined; none of a row that is missing.
using Joined = std::vector<std::optional<int64_t>>;

std::string text_of(int64_t row) { return "the text of row " + std::to_string(row); }

/// Failing: the program fails where the number of the probe side is a multiple of 3; then the host is asked.
enum class Condition : uint8_t { None, Program, Host, Failing };

/// The number of the row of the probe side is less than that of the other one.
class HostCondition final : public HostExpressions {
 public:
  explicit HostCondition(bool wants_order) : wants_order_(wants_order) {}
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool, std::span<Value>) override {
    EXPECT_EQ(std::this_thread::get_id(), caller_);
    ++pairs_;
    return rows.columns[number]->integers[row] < rows.columns[columns_of_side + number]->integers[row];
  }
  bool wants_order() const override { return wants_order_; }
  uint64_t pairs() const { return pairs_; }

 private:
  const bool wants_order_;
  const std::thread::id caller_ = std::this_thread::get_id();
  uint64_t pairs_ = 0;
};

void add_failing_condition(JoinPlan& plan) {
  const ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
  auto program = std::make_shared<Program>();
  const auto probe = Expression::column(number, column),
             build = Expression::column(columns_of_side + number, column);
  const auto rest =
      Expression::call(Function::Remainder, {probe, Expression::constant(int64_t{3})}, {.tells_zero = false});
  const auto quotient = Expression::call(Function::IntegerDivide, {probe, rest}, {.tells_zero = true});
  const auto is_positive =
      Expression::call(Function::GreaterEqual, {quotient, Expression::constant(int64_t{0})});
  const auto is_less = Expression::call(Function::Less, {probe, build});
  plan.passes = program->add(Expression::call(Function::And, {is_positive, is_less}));
  plan.conditions = std::move(program);
}

class JoinSpillTest : public QueryTest {
 protected:
  JoinSpillTest() : QueryTest(47, joined_definition()) {
    host_.background = true;
    host_.segment_rows = 20'000;
  }

  /// Blocks of the scans are the cache's.
  size_t memory_used() { return host_.budget().used() - host_.counters().block_cache_bytes.load(); }
  void expect_nothing_of_joins(size_t memory_before, size_t most_files = 0) {
    EXPECT_LE(spill_files(), most_files);
    EXPECT_EQ(host_.spill_space().bytes(), 0);
    EXPECT_LE(memory_used(), memory_before);
  }

  /// Rows [0, rows); `key_of(row)` is their key.
  template <typename KeyOf>
  void load(int32_t rows, size_t values, KeyOf&& key_of) {
    write_rows(0, rows, true, [&](int32_t row, const auto& take) {
      const auto some = [&](const Value& value) { return below(12) == 0 ? Value{} : value; };
      const std::string some_word = "w" + std::to_string(below(values)) + std::string(below(3), ' ');
      const std::string its_text = text_of(row);
      const double some_real =
          below(20) == 0 ? (below(2) == 0 ? 0.0 : -0.0) : static_cast<double>(below(values));
      const std::array<Value, columns_of_side> all{
          Value::of(order_signed(row, 4)), some(Value::of(order_signed(key_of(row), 8))),
          some(Value::of(order_double(some_real))), some(Value::of(ByteView(some_word))),
          Value::of(ByteView(its_text))};
      take(all);
    });
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  }
  void load(int32_t rows, size_t values) {
    load(rows, values, [&](int32_t) { return static_cast<int64_t>(below(values)) * 1'000'003; });
  }

  /// The rows [0, rows), as those of the side `side` of `sides`.
  std::unique_ptr<RowBatches> side(int64_t rows, uint16_t side, uint16_t sides) {
    std::vector<uint16_t> columns, positions;
    for (uint16_t i = 0; i < columns_of_side; ++i) {
      columns.push_back(i);
      positions.push_back(static_cast<uint16_t>(side * columns_of_side + i));
    }
    auto predicate = std::make_shared<const Predicate>(
        Predicate::integer(number, {{.low = order_signed(0, 4), .high = order_signed(rows - 1, 4)}}));
    return std::make_unique<ScannedBatches>(
        std::make_unique<Scan>(table_, *reader_, ReadLock::None, std::move(predicate), columns,
                               std::vector<bool>(columns.size(), below(2) == 0)),
        positions, static_cast<size_t>(sides) * columns_of_side);
  }

  JoinPlan plan_of(Kind kind, const std::vector<uint16_t>& keys, Condition condition,
                   bool nulls_are_equal = false) {
    JoinPlan plan{.kind = kind, .from_build = {}, .width = size_t{2} * columns_of_side};
    for (const uint16_t each : keys)
      plan.keys.push_back({each, static_cast<uint16_t>(columns_of_side + each), nulls_are_equal});
    for (uint16_t i = 0; i < columns_of_side; ++i)
      plan.from_build.push_back(static_cast<uint16_t>(columns_of_side + i));
    if (condition == Condition::Host) plan.host = std::make_shared<HostCondition>(below(2) == 0);
    if (condition == Condition::Failing) {
      plan.host = std::make_shared<HostCondition>(true);
      add_failing_condition(plan);
    }
    if (condition == Condition::Program) add_less_numbers(plan, number, columns_of_side + number);
    return plan;
  }

  std::unique_ptr<HashJoin> join_of(const JoinPlan& plan, int64_t of_probe, int64_t of_build, size_t memory,
                                    unsigned threads, OperatorCounts* counts = nullptr) {
    JoinPlan chosen = plan;
    // They turn out to be too many.
    chosen.probe_first = of_probe > static_cast<int64_t>(KeptRows::most_rows) && below(2) == 0;
    auto join = HashJoin::make(side(of_probe, 0, 2), side(of_build, 1, 2), chosen,
                               std::make_shared<JoinMemory>(memory, 1), std::max(1U, threads), counts);
    EXPECT_TRUE(join) << join.error().message();
    return std::move(*join);
  }

  static void add(const RowBatch& rows, uint16_t sides, std::vector<Joined>& to) {
    for (uint32_t row = 0; row < rows.rows; ++row) {
      Joined joined(sides);
      for (uint16_t i = 0; i < sides; ++i) {
        const ColumnVector* const numbers = rows.columns[static_cast<size_t>(i * columns_of_side + number)];
        if (numbers == nullptr || numbers->is_null(row)) continue;
        joined[i] = native_signed(numbers->integers[row], 4);
        const Value its_text = rows.columns[static_cast<size_t>(i * columns_of_side + text)]->value(row);
        ASSERT_EQ(its_text.bytes, text_of(*joined[i]));
      }
      to.push_back(std::move(joined));
    }
  }

  /// All rows in order; `threads`: 0: pulled.
  static Result<std::vector<Joined>> all_of(RowBatches& join, unsigned threads, uint16_t sides = 2) {
    std::vector<Joined> all;
    if (threads == 0) {
      PulledRows rows(join);
      for (;;) {
        HAILSTONE_ASSIGN(const RowBatch* const batch, rows.next());
        if (batch == nullptr) break;
        add(*batch, sides, all);
      }
    } else {
      Mutex mutex;
      HAILSTONE_TRY(join.each_batch(threads, [&](unsigned, const RowBatch& rows) -> Status {
        const MutexLock guard(mutex);
        EXPECT_GT(rows.rows, 0);
        EXPECT_LE(rows.rows, batch_rows);
        add(rows, sides, all);
        return {};
      }));
    }
    std::ranges::sort(all);
    return all;
  }

  /// A join with little memory gives the rows of one with much, and spills.
  void check(const JoinPlan& plan, int64_t of_probe, int64_t of_build, unsigned threads, size_t memory = 1) {
    const auto expected = all_of(*join_of(plan, of_probe, of_build, size_t{1} << 30, 1), 1);
    ASSERT_TRUE(expected);
    OperatorCounts counts;
    {
      const auto join = join_of(plan, of_probe, of_build, memory, threads, &counts);
      const auto found = all_of(*join, threads);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(*found, *expected);
      EXPECT_GT(counts.spilled.load(), 0);
      EXPECT_EQ(counts.rows_out.load(), expected->size());
      if (threads != 0) {
        // Rows that are asked for again are the same.
        const auto again = all_of(*join, threads);
        ASSERT_TRUE(again) << again.error().message();
        ASSERT_EQ(*again, *expected);
      }
    }
    EXPECT_EQ(counts.memory.load(), 0);
  }

  static constexpr std::array<Kind, 4> kinds{Kind::Inner, Kind::Left, Kind::Semi, Kind::Anti};
};

TEST_F(JoinSpillTest, GivesTheRowsOfAJoinInMemory) {
  load(24'000, 15'000);
  const size_t memory_before = memory_used();
  const std::vector<std::vector<uint16_t>> keys{
      {number}, {key}, {real}, {word}, {text}, {key, word}, {real, key, number}};
  for (const auto& chosen : keys) {
    for (const Kind kind : kinds) {
      for (const Condition condition : {Condition::None, Condition::Program, Condition::Host}) {
        const unsigned threads = std::array{0U, 1U, 3U}[below(3)];
        SCOPED_TRACE(fmt::format("{} keys, the first of column {}, kind {}, condition {}, {} threads",
                                 chosen.size(), chosen.front(), static_cast<int>(kind),
                                 static_cast<int>(condition), threads));
        check(plan_of(kind, chosen, condition), 3'000, 24'000, threads);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect_nothing_of_joins(memory_before);
}

TEST_F(JoinSpillTest, AsksTheHostOfPairsThatFail) {
  load(24'000, 5'000);
  for (const Kind kind : kinds) {
    const auto expected =
        all_of(*join_of(plan_of(kind, {key}, Condition::Program), 6'000, 24'000, size_t{1} << 30, 1), 1);
    ASSERT_TRUE(expected);
    for (const unsigned threads : {0U, 1U, 3U}) {
      for (const size_t memory : {size_t{1}, size_t{1} << 30}) {
        SCOPED_TRACE(fmt::format("kind {}, {} threads, {} bytes", static_cast<int>(kind), threads, memory));
        const JoinPlan plan = plan_of(kind, {key}, Condition::Failing);
        const auto found = all_of(*join_of(plan, 6'000, 24'000, memory, threads), threads);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(*found, *expected);
        EXPECT_GT(static_cast<HostCondition&>(*plan.host).pairs(), 0);
      }
    }
  }
  JoinPlan without_host = plan_of(Kind::Left, {key}, Condition::Failing);
  without_host.host = nullptr;
  EXPECT_FALSE(all_of(*join_of(without_host, 6'000, 24'000, size_t{1} << 30, 2), 2));
}

TEST_F(JoinSpillTest, LeavesInMemoryWhatHasRoom) {
  load(40'000, 30'000);
  // Some partitions stay: less is written than where none does.
  std::array<uint64_t, 2> spilled{};
  for (const bool much : {false, true}) {
    OperatorCounts counts;
    const auto join = join_of(plan_of(Kind::Inner, {key}, Condition::None), 40'000, 40'000,
                              much ? size_t{4} << 20 : 1, 2, &counts);
    const auto found = all_of(*join, 2);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, *all_of(*join_of(plan_of(Kind::Inner, {key}, Condition::None), 40'000, 40'000,
                                       size_t{1} << 30, 1),
                              1));
    spilled[much ? 1 : 0] = counts.spilled;
  }
  EXPECT_GT(spilled[1], 0);
  EXPECT_LT(spilled[1], spilled[0] * 3 / 4);
}

/// What is in files tells the probe side's scan which keys it has, as a table does.
TEST_F(JoinSpillTest, RowsWithoutPartnerAreNotRead) {
  load(60'000, 1, [](int32_t row) { return row < 8'000 ? int64_t{row} * 1'000'003 : -int64_t{row}; });
  for (const Kind kind : kinds) {
    for (const unsigned threads : {0U, 2U}) {
      SCOPED_TRACE(fmt::format("kind {}, {} threads", static_cast<int>(kind), threads));
      const JoinPlan plan = plan_of(kind, {key}, Condition::None);
      const auto expected = all_of(*join_of(plan, 60'000, 8'000, size_t{1} << 30, 1), 1);
      ASSERT_TRUE(expected);
      OperatorCounts counts;
      const auto join = join_of(plan, 60'000, 8'000, size_t{128} << 10, threads, &counts);
      const auto found = all_of(*join, threads);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(*found, *expected);
      EXPECT_GT(counts.spilled.load(), 0);
      if (kind == Kind::Inner || kind == Kind::Semi) {
        EXPECT_LT(counts.rows_in.load(), 30'000);
      } else {
        EXPECT_GE(counts.rows_in.load(), 60'000);
      }
    }
  }
}

TEST_F(JoinSpillTest, KeyOfVeryManyRows) {
  // Two of three rows of the build side have one of two keys; few of the probe side do.
  load(30'000, 10'000, [&](int32_t row) -> int64_t {
    const bool heavy = row < 3'000 ? row % 500 == 0 : row % 3 != 0;
    return heavy ? row % 2 : static_cast<int64_t>(below(10'000)) + 2;
  });
  for (const Kind kind : kinds) {
    for (const Condition condition : {Condition::None, Condition::Program, Condition::Host}) {
      for (const unsigned threads : {0U, 1U, 3U}) {
        SCOPED_TRACE(fmt::format("kind {}, condition {}, {} threads", static_cast<int>(kind),
                                 static_cast<int>(condition), threads));
        check(plan_of(kind, {key}, condition), 3'000, 30'000, threads);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(JoinSpillTest, NullsThatAreEqual) {
  load(12'000, 3'000);
  for (const auto& keys : {std::vector<uint16_t>{key, word}, std::vector<uint16_t>{word, real}}) {
    for (const Kind kind : kinds)
      check(plan_of(kind, keys, Condition::None, true), 1'500, 12'000, static_cast<unsigned>(below(3)));
  }
}

TEST_F(JoinSpillTest, KeysThatAreComputed) {
  load(12'000, 5'000);
  // Each side has one more column behind all others, which the join does not hand on.
  for (const unsigned threads : {1U, 2U}) {
    std::array<std::vector<Joined>, 2> found;
    for (const bool little : {false, true}) {
      std::array<std::unique_ptr<RowBatches>, 2> sides;
      constexpr uint16_t width = 2 * columns_of_side;
      for (uint16_t i = 0; i < 2; ++i) {
        auto program = std::make_shared<Program>();
        const ScanColumn column{.integer = true, .type = Type::Signed, .width = 4};
        const Expression computed =
            Expression::column(static_cast<uint16_t>(i * columns_of_side + number), column);
        Computation computation;
        computation.columns.push_back(Computation::Column::of(*program, program->add(computed)));
        computation.values = std::move(program);
        sides[i] =
            std::make_unique<ComputedRows>(side(9'000 + 3'000 * i, i, 2), width, std::move(computation));
      }
      JoinPlan plan = plan_of(Kind::Left, {}, Condition::None);
      plan.keys.push_back({.probe = width, .build = width});
      const auto join =
          HashJoin::make(std::move(sides[0]), std::move(sides[1]), plan,
                         std::make_shared<JoinMemory>(little ? 1 : size_t{1} << 30, 1), threads);
      ASSERT_TRUE(join);
      const uint64_t before = host_.counters().spill_write_bytes;
      auto all = all_of(**join, threads);
      ASSERT_TRUE(all) << all.error().message();
      found[little ? 1 : 0] = std::move(*all);
      EXPECT_EQ(host_.counters().spill_write_bytes.load() != before, little);
    }
    EXPECT_EQ(found[0].size(), 9'000);
    EXPECT_EQ(found[1], found[0]);
  }
}

TEST_F(JoinSpillTest, OneKey) {
  load(12'000, 10'000, [](int32_t) -> int64_t { return 5; });
  for (const Kind kind : kinds) {
    for (const Condition condition : {Condition::None, Condition::Program})
      check(plan_of(kind, {key}, condition), 20, 12'000, static_cast<unsigned>(below(3)));
  }
}

TEST_F(JoinSpillTest, DividesPartitionsAgain) {
  load(200'000, 100'000);
  for (const auto& keys : {std::vector<uint16_t>{number}, std::vector<uint16_t>{word, key}}) {
    for (const Kind kind : {Kind::Left, Kind::Semi})
      check(plan_of(kind, keys, Condition::None), 6'000, 200'000, kind == Kind::Left ? 2 : 1);
  }
}

TEST_F(JoinSpillTest, WithoutKeys) {
  load(5'000, 1'000);
  for (const Kind kind : kinds) {
    for (const Condition condition : {Condition::None, Condition::Program, Condition::Host}) {
      for (const unsigned threads : {0U, 2U}) {
        SCOPED_TRACE(fmt::format("kind {}, condition {}, {} threads", static_cast<int>(kind),
                                 static_cast<int>(condition), threads));
        check(plan_of(kind, {}, condition), 15, 5'000, threads);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(JoinSpillTest, Ranges) {
  load(30'000, 20'000);
  for (const uint16_t column : {number, real}) {
    for (const bool both : {false, true}) {
      for (const Kind kind : kinds) {
        const auto condition = std::array{Condition::None, Condition::Program, Condition::Host}[below(3)];
        const unsigned threads = std::array{0U, 1U, 3U}[below(3)];
        SCOPED_TRACE(fmt::format("column {}, both bounds {}, kind {}, condition {}, {} threads", column, both,
                                 static_cast<int>(kind), static_cast<int>(condition), threads));
        JoinPlan plan = plan_of(kind, {}, condition);
        plan.range = {.build = static_cast<uint16_t>(columns_of_side + column), .least = column};
        if (both) plan.range->greatest = column;
        if (both && below(2) == 0) plan.range->end = plan.range->build;
        check(plan, both ? 2'000 : 15, 30'000, threads);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// More than are sorted at once.
TEST_F(JoinSpillTest, RangeOfManyRows) {
  load(150'000, 100'000);
  JoinPlan by_range = plan_of(Kind::Left, {}, Condition::None);
  by_range.range = {.build = columns_of_side + key, .least = key, .greatest = key};
  const auto found = all_of(*join_of(by_range, 150'000, 150'000, size_t{1} << 30, 2), 2);
  const auto expected =
      all_of(*join_of(plan_of(Kind::Left, {key}, Condition::None), 150'000, 150'000, size_t{1} << 30, 2), 2);
  ASSERT_TRUE(found && expected);
  EXPECT_EQ(*found, *expected);
}

TEST_F(JoinSpillTest, JoinsOfJoins) {
  load(20'000, 20'000);
  const size_t memory_before = memory_used();
  const auto tree = [&](size_t memory, unsigned threads, bool build_is_join) {
    const auto share = std::make_shared<JoinMemory>(memory, 2);
    constexpr size_t width = size_t{3} * columns_of_side;
    const auto join = [&](std::unique_ptr<RowBatches> probe, std::unique_ptr<RowBatches> build, Kind kind,
                          uint16_t of_probe, uint16_t of_build, const std::vector<uint16_t>& from_build) {
      JoinPlan plan{.kind = kind,
                    .keys = {{of_probe, of_build}},
                    .from_build = from_build,
                    .probe_first = below(2) == 0,
                    .width = width};
      auto made = HashJoin::make(std::move(probe), std::move(build), plan, share, threads);
      EXPECT_TRUE(made);
      return std::move(*made);
    };
    const auto columns = [](std::initializer_list<uint16_t> sides) {
      std::vector<uint16_t> all;
      for (const uint16_t each : sides) {
        for (uint16_t i = 0; i < columns_of_side; ++i)
          all.push_back(static_cast<uint16_t>(each * columns_of_side + i));
      }
      return all;
    };
    if (build_is_join) {
      auto inner = join(side(15'000, 1, 3), side(20'000, 2, 3), Kind::Left, columns_of_side + key,
                        2 * columns_of_side + key, columns({2}));
      return join(side(18'000, 0, 3), std::move(inner), Kind::Left, word, columns_of_side + word,
                  columns({1, 2}));
    }
    auto inner =
        join(side(18'000, 0, 3), side(20'000, 1, 3), Kind::Left, key, columns_of_side + key, columns({1}));
    return join(std::move(inner), side(15'000, 2, 3), Kind::Inner, columns_of_side + word,
                2 * columns_of_side + word, columns({2}));
  };
  for (const bool build_is_join : {false, true}) {
    const auto expected = all_of(*tree(size_t{1} << 30, 1, build_is_join), 1, 3);
    ASSERT_TRUE(expected);
    for (const unsigned threads : {0U, 1U, 3U}) {
      const uint64_t before = host_.counters().spill_write_bytes;
      const auto found = all_of(*tree(1, std::max(threads, 1U), build_is_join), threads, 3);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(*found, *expected);
      EXPECT_GT(host_.counters().spill_write_bytes.load(), before);
    }
  }
  expect_nothing_of_joins(memory_before);
}

TEST_F(JoinSpillTest, TakesNoMoreThanItsShare) {
  load(120'000, 60'000);
  constexpr size_t share = size_t{2} << 20;
  const size_t before = memory_used();
  size_t most = 0;
  reader_->set_interruption_check([&] {
    most = std::max(most, memory_used());
    return false;
  });
  for (const unsigned threads : {1U, 2U}) {
    OperatorCounts counts;
    const auto join =
        join_of(plan_of(Kind::Inner, {key}, Condition::None), 60'000, 120'000, share, threads, &counts);
    size_t rows = 0;
    Mutex mutex;
    ASSERT_TRUE(join->each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
      const MutexLock guard(mutex);
      rows += batch.rows;
      most = std::max(most, memory_used());
      return {};
    }));
    EXPECT_GT(rows, 60'000);
    EXPECT_GT(counts.spilled.load(), share);
    EXPECT_LE(counts.most_memory.load(), 2 * share + (size_t{1} << 20));
  }
  reader_->set_interruption_check({});
  EXPECT_LE(most, before + 2 * share + (size_t{1} << 20));
}

TEST_F(JoinSpillTest, GoesToFilesWhereOthersHaveTheMemory) {
  load(30'000, 15'000);
  host_.budget().set_limit(1);
  check(plan_of(Kind::Left, {key}, Condition::None), 3'000, 30'000, 2, size_t{1} << 30);
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(JoinSpillTest, MemoryThatOneTableLeavesIsForOthers) {
  JoinMemory memory(size_t{80} << 20, 4);
  // A half is promised to the others.
  EXPECT_TRUE(memory.try_take(0, size_t{50} << 20));
  EXPECT_FALSE(memory.try_take(size_t{50} << 20, 1));
  EXPECT_TRUE(memory.try_take(0, memory.least()));
  memory.give_back(memory.least());
  memory.give_back(size_t{40} << 20);
  memory.settle();
  EXPECT_TRUE(memory.try_take(0, size_t{50} << 20));
  EXPECT_FALSE(memory.try_take(size_t{50} << 20, 1));
  memory.give_back(size_t{50} << 20);
  memory.settle();
  memory.settle();
  EXPECT_TRUE(memory.try_take(0, size_t{70} << 20));
  EXPECT_FALSE(memory.try_take(size_t{70} << 20, 1));
}

TEST_F(JoinSpillTest, EndsWithAnErrorWhereFilesFail) {
  load(16'000, 10'000, [&](int32_t row) { return row % 3 == 0 ? 1 : static_cast<int64_t>(below(10'000)); });
  const JoinPlan plan = plan_of(Kind::Left, {key}, Condition::None);
  const auto expected = all_of(*join_of(plan, 600, 16'000, size_t{1} << 30, 1), 1);
  ASSERT_TRUE(expected);
  const size_t memory_before = memory_used();
  for (const SpillFault& fault : spill_faults) {
    size_t failed = 0;
    for (uint64_t skip = 0;; skip += 1 + skip / 4) {
      add_spill_fault(fault, skip);
      const unsigned threads = static_cast<unsigned>(skip % 3);
      auto join = join_of(plan, 600, 16'000, 1, threads);
      const auto found = all_of(*join, threads);
      host_.filesystem().clear_rules();
      join.reset();
      expect_nothing_of_joins(memory_before);
      if (found) {
        EXPECT_EQ(*found, *expected);
        break;
      }
      ++failed;
      expect_error_of(fault, found.error());
    }
    EXPECT_GT(failed, 0U) << "a fault was never met";
  }
  EXPECT_TRUE(table_->usable());
}

TEST_F(JoinSpillTest, EndsAtTheLimit) {
  load(16'000, 10'000);
  host_.spill_space().set_limit(100'000);
  {
    const auto join = join_of(plan_of(Kind::Inner, {key}, Condition::None), 16'000, 16'000, 1, 2);
    const auto found = all_of(*join, 2);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::DiskFull);
    EXPECT_NE(found.error().message().find("spill_limit"), std::string::npos) << found.error().message();
  }
  host_.spill_space().set_limit(0);
  expect_nothing_of_joins(memory_used());
}

TEST_F(JoinSpillTest, EndsWhenItIsInterrupted) {
  load(16'000, 10'000, [&](int32_t row) { return row % 2 == 0 ? 1 : static_cast<int64_t>(below(10'000)); });
  const JoinPlan plan = plan_of(Kind::Left, {key}, Condition::None);
  const auto expected = all_of(*join_of(plan, 300, 16'000, size_t{1} << 30, 1), 1);
  const size_t memory_before = memory_used();
  for (const unsigned threads : {0U, 1U, 3U}) {
    for (uint64_t asks = 0;; asks += 1 + asks / 3) {
      uint64_t asked = 0;
      reader_->set_interruption_check([&] { return asked++ >= asks; });
      auto join = join_of(plan, 300, 16'000, 1, threads);
      const auto found = all_of(*join, threads);
      reader_->set_interruption_check({});
      join.reset();
      expect_nothing_of_joins(memory_before);
      if (found) {
        EXPECT_EQ(*found, *expected);
        break;
      }
      ASSERT_EQ(found.error().code(), ErrorCode::Interrupted) << found.error().message();
    }
  }
}

TEST_F(JoinSpillTest, EndsWhereMemoryFails) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  load(8'000, 5'000, [&](int32_t row) { return row % 2 == 0 ? 1 : static_cast<int64_t>(below(5'000)); });
  const JoinPlan plan = plan_of(Kind::Left, {key, word}, Condition::None);
  const auto expected = all_of(*join_of(plan, 200, 8'000, size_t{1} << 30, 1), 1);
  ASSERT_TRUE(expected);
  const size_t memory_before = memory_used();
  SampledAllocations samples;
  size_t failed = 0;
  auto files_left = spill_files();
  for (uint64_t nth = 0;; nth = samples.after(nth)) {
    auto join = join_of(plan, 200, 8'000, 1, 1);
    std::vector<Joined> found;
    FailingAllocations::arm(nth, 1);
    const Status done = FailingAllocations::call([&] {
      return guarded([&] {
        return join->each_batch(1, [&](unsigned, const RowBatch& rows) -> Status {
          found.reserve(found.size() + rows.rows);
          add(rows, 2, found);
          return {};
        });
      });
    });
    const bool met = FailingAllocations::disarm() != 0;
    join.reset();
    // A file that could not be removed for want of memory stays until the next start (file/spill_file.h).
    expect_nothing_of_joins(memory_before, files_left + 1);
    files_left = spill_files();
    if (!done) {
      ASSERT_EQ(done.error().code(), ErrorCode::OutOfMemory) << done.error().message();
      ++failed;
      continue;
    }
    std::ranges::sort(found);
    ASSERT_EQ(found, *expected);
    if (!met) break;
  }
  EXPECT_GT(failed, 100U);
}

}  // namespace
}  // namespace hailstone
