// Joins of a table with itself against a loop over all pairs: keys of all kinds, alone and together, with
// duplicates and NULLs, each kind of join, with and without further conditions, by one thread and by several.
// Joins of joins, whose scans leave rows out that have no partner further up.
#include "query/join/hash_join.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/mutex.h"
#include "query/join/less_numbers.h"
#include "query/order_fixture.h"
#include "query/pipeline.h"

namespace hailstone {
namespace {

constexpr uint16_t columns_of_side = all_columns.size();
constexpr uint16_t columns_of_both = 2 * columns_of_side;
constexpr uint16_t columns_of_three = 3 * columns_of_side;

/// What a pair is told by: the numbers of both rows; none of a row that is missing.
using Pair = std::pair<std::optional<int64_t>, std::optional<int64_t>>;

struct KeyOfTest {
  uint16_t probe, build;
  bool nulls_are_equal = false;
};

class HashJoinTest : public OrderTest {
 protected:
  HashJoinTest() {
    host_.background = true;
    host_.segment_rows = 20'000;
  }

  size_t memory_ = size_t{1} << 30;

  /// Rows by their numbers.
  static std::shared_ptr<const Predicate> between(int64_t low, int64_t high) {
    return std::make_shared<const Predicate>(
        Predicate::integer(number, {{.low = order_signed(low, 4), .high = order_signed(high, 4)}}));
  }

  std::unique_ptr<RowBatches> side(const std::shared_ptr<const Predicate>& predicate, uint16_t first,
                                   bool as_codes, size_t width = columns_of_both) {
    return std::make_unique<ScannedBatches>(
        scan(predicate, {all_columns.begin(), all_columns.end()}, as_codes), positions_of_side(first), width);
  }

  static std::vector<uint16_t> positions_of_side(uint16_t first) {
    std::vector<uint16_t> positions;
    for (uint16_t i = 0; i < columns_of_side; ++i) positions.push_back(static_cast<uint16_t>(first + i));
    return positions;
  }

  /// With further columns behind the rows' own ones.
  static std::unique_ptr<RowBatches> with_columns(std::unique_ptr<RowBatches> rows,
                                                  const std::vector<Expression>& columns) {
    auto program = std::make_shared<Program>();
    Computation computation;
    for (const Expression& each : columns)
      computation.columns.push_back(Computation::Column::of(*program, program->add(each)));
    computation.values = std::move(program);
    return std::make_unique<ComputedRows>(std::move(rows), columns_of_both, std::move(computation));
  }

  static Expression sum(const Expression& one, const Expression& other) {
    return Expression::call(Function::Add, {one, other});
  }

  static bool has_key(const SortedRow& probe, const SortedRow& build, const KeyOfTest& key) {
    const auto whole = [](const SortedRow& row, uint16_t column) {
      return column == number ? std::optional(row.number) : row.small;
    };
    const auto are_equal = [&](const auto& one, const auto& other) {
      return one == other && (one.has_value() || key.nulls_are_equal);
    };
    switch (key.probe) {
      case number:
      case small:
        return are_equal(whole(probe, key.probe), whole(build, key.build));
      case real:
        return are_equal(probe.real, build.real);
      default: {
        const auto padded = [](std::optional<std::string> text) {
          if (text) text->resize(30, ' ');
          return text;
        };
        return are_equal(padded(probe.word), padded(build.word));
      }
    }
  }

  static std::vector<Pair> expected(const std::vector<SortedRow>& probe, const std::vector<SortedRow>& build,
                                    JoinPlan::Kind kind, std::span<const KeyOfTest> keys, bool condition) {
    return expected(probe, build, kind, [&](const SortedRow& left, const SortedRow& right) {
      return std::ranges::all_of(keys, [&](const KeyOfTest& key) { return has_key(left, right, key); }) &&
             (!condition || left.number < right.number);
    });
  }
  template <typename Joins>
  static std::vector<Pair> expected(const std::vector<SortedRow>& probe, const std::vector<SortedRow>& build,
                                    JoinPlan::Kind kind, Joins&& joins) {
    std::vector<Pair> pairs;
    for (const SortedRow& left : probe) {
      bool paired = false;
      for (const SortedRow& right : build) {
        if (!joins(left, right)) continue;
        if (kind == JoinPlan::Kind::Inner || kind == JoinPlan::Kind::Left)
          pairs.emplace_back(left.number, right.number);
        paired = true;
      }
      if (kind == JoinPlan::Kind::Semi ? paired : (kind != JoinPlan::Kind::Inner && !paired))
        pairs.emplace_back(left.number, std::nullopt);
    }
    std::ranges::sort(pairs);
    return pairs;
  }

  void add_pairs(const RowBatch& rows, const JoinPlan& plan, std::vector<Pair>& pairs) {
    const bool with_build = plan.kind != JoinPlan::Kind::Semi && !plan.from_build.empty();
    for (uint32_t row = 0; row < rows.rows; ++row) {
      std::array<Value, columns_of_side> left, right;
      for (uint16_t i = 0; i < columns_of_side; ++i) {
        left[i] = rows.columns[i]->value(row);
        if (with_build) right[i] = rows.columns[static_cast<size_t>(columns_of_side + i)]->value(row);
      }
      const SortedRow probe = row_of(left);
      ASSERT_EQ(probe.body, "body " + std::to_string(probe.number));
      std::optional<int64_t> of_build;
      if (with_build && !right[number].null) {
        const SortedRow build = row_of(right);
        ASSERT_EQ(build.body, "body " + std::to_string(build.number));
        of_build = build.number;
      }
      pairs.emplace_back(probe.number, of_build);
    }
  }

  std::vector<Pair> joined(const std::shared_ptr<const Predicate>& of_probe,
                           const std::shared_ptr<const Predicate>& of_build, const JoinPlan& plan,
                           unsigned threads, bool as_codes) {
    return joined(side(of_probe, 0, as_codes), side(of_build, columns_of_side, as_codes), plan, threads);
  }
  std::vector<Pair> joined(std::unique_ptr<RowBatches> probe, std::unique_ptr<RowBatches> build,
                           const JoinPlan& plan, unsigned threads) {
    auto join = HashJoin::make(std::move(probe), std::move(build), plan,
                               std::make_shared<JoinMemory>(memory_, 1), threads);
    EXPECT_TRUE(join) << join.error().message();
    std::vector<Pair> pairs;
    if (threads == 0) {
      PulledRows rows(**join);
      for (;;) {
        const auto batch = rows.next();
        EXPECT_TRUE(batch) << batch.error().message();
        if (!batch || *batch == nullptr) break;
        add_pairs(**batch, plan, pairs);
      }
    } else {
      Mutex mutex;
      const auto done = (*join)->each_batch(threads, [&](unsigned, const RowBatch& rows) -> Status {
        const MutexLock guard(mutex);
        EXPECT_GT(rows.rows, 0);
        add_pairs(rows, plan, pairs);
        return {};
      });
      EXPECT_TRUE(done) << done.error().message();
    }
    std::ranges::sort(pairs);
    return pairs;
  }
};

TEST_F(HashJoinTest, KeysOfAllKinds) {
  add_rows(0, 30'000, true);
  add_rows(30'000, 30'500, false);
  erase_rows(3, 30'500, 7);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::vector<std::vector<KeyOfTest>> keys = {{{number, number}},
                                                    {{small, small}},
                                                    {{real, real}},
                                                    {{word, word}},
                                                    {{small, number}},
                                                    {{small, small}, {word, word}},
                                                    {{real, real}, {number, number}, {word, word}},
                                                    {{small, small, true}},
                                                    {{word, word, true}},
                                                    {{small, number, true}, {word, word}},
                                                    {{real, real, true}, {word, word, true}},
                                                    {}};
  for (const auto& chosen : keys) {
    const auto first = static_cast<int64_t>(below(30'000)), second = static_cast<int64_t>(below(30'000));
    const int64_t rows = chosen.empty() ? 60 : 700;
    // Rows beside each other, so that numbers meet, and rows here and there; of deltas, too.
    const auto of_probe = between(first, first + rows);
    for (const auto& of_build : {between(second, second + rows), between(first + rows / 2, first + 2 * rows),
                                 between(30'400, 30'500), between(-5, -1), between(0, 100)}) {
      const auto probe = all_rows(of_probe), build = all_rows(of_build);
      for (const auto kind :
           {JoinPlan::Kind::Inner, JoinPlan::Kind::Left, JoinPlan::Kind::Semi, JoinPlan::Kind::Anti}) {
        for (const bool condition : {false, true}) {
          JoinPlan plan{.kind = kind, .from_build = {}, .width = columns_of_both};
          for (const KeyOfTest& key : chosen)
            plan.keys.push_back(
                {key.probe, static_cast<uint16_t>(columns_of_side + key.build), key.nulls_are_equal});
          for (uint16_t i = 0; i < columns_of_side; ++i)
            plan.from_build.push_back(static_cast<uint16_t>(columns_of_side + i));
          if (condition) add_less_numbers(plan, number, columns_of_side + number);
          plan.probe_first = below(2) == 0;
          const auto pairs = expected(probe, build, kind, chosen, condition);
          for (const unsigned threads : {0U, 1U, 3U}) {
            SCOPED_TRACE(std::to_string(chosen.size()) + " keys, the first of column " +
                         std::to_string(chosen.empty() ? 99 : chosen.front().probe) + ", kind " +
                         std::to_string(static_cast<int>(kind)) + ", condition " + std::to_string(condition) +
                         ", threads " + std::to_string(threads) + ", probe first " +
                         std::to_string(plan.probe_first) + ", rows " + std::to_string(probe.size()) +
                         " and " + std::to_string(build.size()));
            ASSERT_EQ(joined(of_probe, of_build, plan, threads, below(2) == 0), pairs);
          }
        }
      }
    }
  }
}

/// Numbers of the build side's rows, whole ones with NULLs among them and real ones with both zeros, between
/// others of the probe side's.
TEST_F(HashJoinTest, Ranges) {
  add_rows(0, 25'000, true);
  add_rows(25'000, 25'400, false);
  erase_rows(3, 25'400, 7);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  struct RangeOfTest {
    uint16_t column;
    std::optional<int64_t> below = {},
                           above = {};  // so much less, and more, than the number of the probe side
  };
  const auto number_of = [](const SortedRow& row, uint16_t column) -> std::optional<double> {
    if (column == real) return row.real;
    if (column == number) return static_cast<double>(row.number);
    return row.small ? std::optional(static_cast<double>(*row.small)) : std::nullopt;
  };
  const auto with_numbers = [](std::unique_ptr<RowBatches> rows, uint16_t column, uint16_t first,
                               const std::vector<int64_t>& added) {
    const ScanColumn type{.integer = true,
                          .type = column == real ? Type::Double : Type::Signed,
                          .width = column == real ? 8U : (column == number ? 4U : 1U)};
    const Expression stored = Expression::column(static_cast<uint16_t>(first + column), type);
    std::vector<Expression> numbers;
    for (const int64_t each : added) {
      numbers.push_back(sum(stored, column == real ? Expression::constant(static_cast<double>(each))
                                                   : Expression::constant(each)));
    }
    return with_columns(std::move(rows), numbers);
  };
  for (const RangeOfTest& range :
       {RangeOfTest{number, 3, 5}, RangeOfTest{number, 0, {}}, RangeOfTest{small, 1, 2},
        RangeOfTest{small, {}, -90}, RangeOfTest{real, 0, 0}, RangeOfTest{real, {}, -1}}) {
    const auto first = static_cast<int64_t>(below(25'000));
    for (const int64_t rows : {0, 40, 900}) {
      const auto of_probe = between(first, first + 150), of_build = between(first + 50, first + 50 + rows);
      const auto probe = all_rows(of_probe), build = all_rows(of_build);
      for (const auto kind :
           {JoinPlan::Kind::Inner, JoinPlan::Kind::Left, JoinPlan::Kind::Semi, JoinPlan::Kind::Anti}) {
        const bool condition = below(2) == 0;
        const auto pairs = expected(probe, build, kind, [&](const SortedRow& left, const SortedRow& right) {
          const auto one = number_of(left, range.column), other = number_of(right, range.column);
          return one && other && (!range.below || *other >= *one - static_cast<double>(*range.below)) &&
                 (!range.above || *other <= *one + static_cast<double>(*range.above)) &&
                 (!condition || left.number < right.number);
        });
        JoinPlan plan{
            .kind = kind, .from_build = positions_of_side(columns_of_side), .width = columns_of_both};
        plan.range = {.build = columns_of_both};
        std::vector<int64_t> bounds;
        const auto add_bound = [&](std::optional<int64_t> added, std::optional<uint16_t>& to) {
          if (!added) return;
          to = static_cast<uint16_t>(columns_of_both + bounds.size());
          bounds.push_back(*added);
        };
        add_bound(range.below ? std::optional(-*range.below) : std::nullopt, plan.range->least);
        add_bound(range.above, plan.range->greatest);
        if (condition) add_less_numbers(plan, number, columns_of_side + number);
        for (const unsigned threads : {0U, 1U, 3U}) {
          SCOPED_TRACE(fmt::format("column {}, {} bounds, kind {}, condition {}, threads {}, rows {} and {}",
                                   range.column, bounds.size(), static_cast<int>(kind), condition, threads,
                                   probe.size(), build.size()));
          const bool as_codes = below(2) == 0;
          ASSERT_EQ(joined(with_numbers(side(of_probe, 0, as_codes), range.column, 0, bounds),
                           with_numbers(side(of_build, columns_of_side, as_codes), range.column,
                                        columns_of_side, {0}),
                           plan, threads),
                    pairs);
        }
      }
    }
  }
}

/// From the number of a row to what its small number adds to it, which may be less; and of real numbers.
TEST_F(HashJoinTest, Intervals) {
  add_rows(0, 25'000, true);
  add_rows(25'000, 25'400, false);
  erase_rows(3, 25'400, 7);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const ScanColumn of_four{.integer = true, .type = Type::Signed, .width = 4};
  const ScanColumn of_one{.integer = true, .type = Type::Signed, .width = 1};
  const ScanColumn of_real{.integer = true, .type = Type::Double, .width = 8};
  for (int round = 0; round < 12; ++round) {
    const bool of_reals = round % 4 == 3;
    const auto before = static_cast<int64_t>(below(40)), behind = static_cast<int64_t>(below(40));
    const auto first = static_cast<int64_t>(below(25'000));
    const auto of_probe = between(first, first + 150), of_build = between(first - 300, first + 600);
    const auto probe = all_rows(of_probe), build = all_rows(of_build);
    const auto probe_side = [&](bool as_codes) {
      const Expression of_row = Expression::column(real, of_real),
                       stored = Expression::column(number, of_four);
      const std::vector<Expression> sums{sum(stored, Expression::constant(-before)),
                                         sum(stored, Expression::constant(behind))};
      return with_columns(side(of_probe, 0, as_codes), of_reals ? std::vector{of_row, of_row} : sums);
    };
    const auto build_side = [&](bool as_codes) {
      const Expression stored = of_reals ? Expression::column(columns_of_side + real, of_real)
                                         : Expression::column(columns_of_side + number, of_four);
      const Expression added =
          of_reals ? Expression::constant(1.5) : Expression::column(columns_of_side + small, of_one);
      return with_columns(side(of_build, columns_of_side, as_codes), {stored, sum(stored, added)});
    };
    for (const auto kind :
         {JoinPlan::Kind::Inner, JoinPlan::Kind::Left, JoinPlan::Kind::Semi, JoinPlan::Kind::Anti}) {
      const bool condition = below(2) == 0;
      const auto pairs = expected(probe, build, kind, [&](const SortedRow& left, const SortedRow& right) {
        const bool meet =
            of_reals ? left.real && right.real && *right.real <= *left.real && *right.real + 1.5 >= *left.real
                     : right.small && right.number <= left.number + behind &&
                           right.number + *right.small >= left.number - before;
        return meet && (!condition || left.number < right.number);
      });
      JoinPlan plan{.kind = kind, .from_build = positions_of_side(columns_of_side), .width = columns_of_both};
      plan.range = {.build = columns_of_both,
                    .end = columns_of_both + 1,
                    .least = columns_of_both,
                    .greatest = columns_of_both + 1};
      if (condition) add_less_numbers(plan, number, columns_of_side + number);
      for (const unsigned threads : {0U, 1U, 3U}) {
        SCOPED_TRACE(fmt::format("round {}, kind {}, condition {}, threads {}, rows {} and {}", round,
                                 static_cast<int>(kind), condition, threads, probe.size(), build.size()));
        const bool as_codes = below(2) == 0;
        ASSERT_EQ(joined(probe_side(as_codes), build_side(as_codes), plan, threads), pairs);
      }
    }
  }
}

TEST_F(HashJoinTest, RefusesARangeOfOtherTypes) {
  add_rows(0, 10, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const uint16_t bound : {small, real, word}) {
    JoinPlan plan{.width = columns_of_both};
    plan.range = {.build = columns_of_side + number, .least = bound};
    const auto join =
        HashJoin::make(side(between(0, 9), 0, false), side(between(0, 9), columns_of_side, false), plan,
                       std::make_shared<JoinMemory>(memory_, 1), 1);
    ASSERT_FALSE(join);
    EXPECT_EQ(join.error().code(), ErrorCode::InvalidArgument);
  }
}

/// A join of rows one and two, and a third joined to it: its probe side or its build side.
TEST_F(HashJoinTest, JoinsOfJoins) {
  using Kind = JoinPlan::Kind;
  using Triple = std::array<std::optional<int64_t>, 3>;
  add_rows(0, 40'000, true);
  add_rows(40'000, 40'300, false);
  erase_rows(3, 40'300, 7);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  uint64_t fewer_read = 0;
  for (int round = 0; round < 40; ++round) {
    std::array<std::shared_ptr<const Predicate>, 3> predicates;
    std::array<std::vector<SortedRow>, 3> rows;
    for (size_t i = 0; i < 3; ++i) {
      const auto first = static_cast<int64_t>(below(4) == 0 ? 40'100 : below(300));
      const auto count = static_cast<int64_t>(std::array<size_t, 3>{20, 200, 500}[below(3)]);
      predicates[i] = std::make_shared<const Predicate>(Predicate::integer(
          number, {{.low = order_signed(first, 4), .high = order_signed(first + count, 4)}}));
      rows[i] = all_rows(predicates[i]);
    }
    const std::array<uint16_t, 5> kinds_of_key{number, number, small, real, word};
    const auto key = [&] {
      const uint16_t column = kinds_of_key[below(5)];
      return KeyOfTest{column, column == number && below(3) == 0 ? uint16_t{small} : column};
    };
    const KeyOfTest lower_key = key(), upper_key = key();
    const Kind lower = std::array<Kind, 6>{Kind::Inner, Kind::Inner, Kind::Inner,
                                           Kind::Left,  Kind::Semi,  Kind::Anti}[below(6)];
    const Kind upper = std::array<Kind, 4>{Kind::Inner, Kind::Inner, Kind::Semi, Kind::Left}[below(4)];
    const bool third_probes = below(2) == 0;
    // The upper key is a column of the first rows, or of the second ones where these are there.
    const bool has_second = lower == Kind::Inner || lower == Kind::Left;
    const bool of_second = has_second && below(2) == 0;
    const auto of_lower = static_cast<uint16_t>(of_second ? columns_of_side : 0);

    std::vector<Triple> expected;
    const auto has_upper_key = [&](const SortedRow& of_join, const SortedRow& third) {
      return third_probes ? has_key(third, of_join, upper_key) : has_key(of_join, third, upper_key);
    };
    std::vector<std::pair<const SortedRow*, const SortedRow*>> joined;
    for (const SortedRow& one : rows[0]) {
      bool paired = false;
      for (const SortedRow& two : rows[1]) {
        if (!has_key(one, two, lower_key)) continue;
        paired = true;
        if (has_second) joined.emplace_back(&one, &two);
      }
      if (lower == Kind::Semi ? paired : lower != Kind::Inner && !paired) joined.emplace_back(&one, nullptr);
    }
    const auto triple = [](const SortedRow* one, const SortedRow* two, const SortedRow* three) {
      const auto told = [](const SortedRow* row) {
        return row == nullptr ? std::nullopt : std::optional(row->number);
      };
      return Triple{told(one), told(two), told(three)};
    };
    const auto meets = [&](const auto& pair, const SortedRow& third) {
      const SortedRow* const row = of_second ? pair.second : pair.first;
      return row != nullptr && has_upper_key(*row, third);
    };
    const bool pairs_come_out = upper == Kind::Inner || upper == Kind::Left;
    if (third_probes) {
      for (const SortedRow& third : rows[2]) {
        bool paired = false;
        for (const auto& pair : joined) {
          if (!meets(pair, third)) continue;
          paired = true;
          if (pairs_come_out) expected.push_back(triple(pair.first, pair.second, &third));
        }
        if (upper == Kind::Semi ? paired : upper == Kind::Left && !paired)
          expected.push_back(triple(nullptr, nullptr, &third));
      }
    } else {
      for (const auto& pair : joined) {
        bool paired = false;
        for (const SortedRow& third : rows[2]) {
          if (!meets(pair, third)) continue;
          paired = true;
          if (pairs_come_out) expected.push_back(triple(pair.first, pair.second, &third));
        }
        if (upper == Kind::Semi ? paired : upper == Kind::Left && !paired)
          expected.push_back(triple(pair.first, pair.second, nullptr));
      }
    }
    std::ranges::sort(expected);

    for (const unsigned threads : {1U, 3U}) {
      const bool as_codes = below(2) == 0;
      const auto side_of_three = [&](uint16_t which) {
        return side(predicates[which], static_cast<uint16_t>(which * columns_of_side), as_codes,
                    columns_of_three);
      };
      JoinPlan plan{.kind = lower, .from_build = {}, .probe_first = below(2) == 0, .width = columns_of_three};
      plan.keys = {{lower_key.probe, static_cast<uint16_t>(columns_of_side + lower_key.build)}};
      if (has_second) plan.from_build = positions_of_side(columns_of_side);
      const auto share = std::make_shared<JoinMemory>(memory_, 2);
      auto of_two = HashJoin::make(side_of_three(0), side_of_three(1), plan, share, threads);
      ASSERT_TRUE(of_two) << of_two.error().message();
      JoinPlan above{
          .kind = upper, .from_build = {}, .probe_first = below(2) == 0, .width = columns_of_three};
      const auto third = static_cast<uint16_t>(2 * columns_of_side);
      std::unique_ptr<RowBatches> probe, build;
      if (third_probes) {
        above.keys = {{static_cast<uint16_t>(third + upper_key.probe),
                       static_cast<uint16_t>(of_lower + upper_key.build)}};
        above.from_build = positions_of_side(0);
        if (has_second) std::ranges::copy(plan.from_build, std::back_inserter(above.from_build));
        probe = side_of_three(2);
        build = std::move(*of_two);
      } else {
        above.keys = {{static_cast<uint16_t>(of_lower + upper_key.probe),
                       static_cast<uint16_t>(third + upper_key.build)}};
        above.from_build = positions_of_side(third);
        probe = std::move(*of_two);
        build = side_of_three(2);
      }
      if (upper == Kind::Semi) above.from_build.clear();
      auto join = HashJoin::make(std::move(probe), std::move(build), above, share, threads);
      ASSERT_TRUE(join) << join.error().message();
      std::vector<Triple> triples;
      Mutex mutex;
      const auto done = (*join)->each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
        const MutexLock guard(mutex);
        for (uint32_t row = 0; row < batch.rows; ++row) {
          Triple& told = triples.emplace_back();
          for (size_t i = 0; i < 3; ++i) {
            const ColumnVector* const column = batch.columns[i * columns_of_side + number];
            if (column != nullptr && !column->value(row).null)
              told[i] = native_signed(column->value(row).integer, 4);
          }
        }
        return {};
      });
      ASSERT_TRUE(done) << done.error().message();
      std::ranges::sort(triples);
      ASSERT_EQ(triples, expected) << "round " << round << ", kinds " << static_cast<int>(lower) << " and "
                                   << static_cast<int>(upper) << ", third probes " << third_probes
                                   << ", key of second " << of_second << ", keys " << lower_key.probe << " "
                                   << lower_key.build << " and " << upper_key.probe << " " << upper_key.build;
      const size_t all = rows[0].size() + rows[1].size() + rows[2].size();
      fewer_read += (*join)->rows_read() < all ? 1U : 0U;
    }
  }
  // Scans have left rows out, not joins alone.
  EXPECT_GT(fewer_read, 20);
}

/// The keys of a join above are those of the build side below, too, where both are equal.
TEST_F(HashJoinTest, FiltersFromAboveReachBuildSides) {
  add_rows(0, 40'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto few = between(20'000, 20'010), all = between(0, 40'000);
  for (const auto kind :
       {JoinPlan::Kind::Inner, JoinPlan::Kind::Left, JoinPlan::Kind::Semi, JoinPlan::Kind::Anti}) {
    const auto side_of_three = [&](const std::shared_ptr<const Predicate>& predicate, uint16_t which) {
      return side(predicate, static_cast<uint16_t>(which * columns_of_side), false, columns_of_three);
    };
    const auto third = static_cast<uint16_t>(2 * columns_of_side);
    const auto share = std::make_shared<JoinMemory>(size_t{1} << 30, 2);
    JoinPlan plan{.kind = kind,
                  .keys = {{number, columns_of_side + number}},
                  .from_build = {},
                  .width = columns_of_three};
    auto lower = HashJoin::make(side_of_three(all, 0), side_of_three(all, 1), plan, share, 1);
    ASSERT_TRUE(lower) << lower.error().message();
    JoinPlan above{.kind = JoinPlan::Kind::Semi,
                   .keys = {{number, static_cast<uint16_t>(third + number)}},
                   .from_build = {},
                   .width = columns_of_three};
    auto join = HashJoin::make(std::move(*lower), side_of_three(few, 2), above, share, 1);
    ASSERT_TRUE(join) << join.error().message();
    uint64_t rows = 0;
    ASSERT_TRUE((*join)->each_batch(1, [&](unsigned, const RowBatch& batch) -> Status {
      rows += batch.rows;
      return {};
    }));
    EXPECT_EQ(rows, kind == JoinPlan::Kind::Anti ? 0 : 11) << static_cast<int>(kind);
    EXPECT_LT((*join)->rows_read(), 20'000) << static_cast<int>(kind);
  }
}

/// Of the other side no more is read than an index leads to.
TEST_F(HashJoinTest, FewRowsFirst) {
  add_rows(0, 80'000, true);
  add_rows(80'000, 80'050, false);
  erase_rows(3, 80'050, 7);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (int round = 0; round < 12; ++round) {
    const auto first = static_cast<int64_t>(below(80'050));
    const auto of_probe = between(first, first), of_build = between(0, 90'000);
    const auto probe = all_rows(of_probe), build = all_rows(of_build);
    const bool has_key = !probe.empty() && probe.front().small;
    const std::vector<KeyOfTest> keys{{small, small}};
    for (const auto kind :
         {JoinPlan::Kind::Inner, JoinPlan::Kind::Left, JoinPlan::Kind::Semi, JoinPlan::Kind::Anti}) {
      JoinPlan plan{.kind = kind,
                    .keys = {{small, columns_of_side + small}},
                    .from_build = {},
                    .probe_first = true,
                    .width = columns_of_both};
      plan.from_build = positions_of_side(columns_of_side);
      const auto pairs = expected(probe, build, kind, keys, false);
      const uint64_t before = host_.counters().rows_scanned;
      ASSERT_EQ(joined(of_probe, of_build, plan, static_cast<unsigned>(below(3)), below(2) == 0), pairs)
          << "round " << round << ", kind " << static_cast<int>(kind) << ", has key " << has_key;
      // Of the probe side a block at most, and of the build side the deltas, beside what the index has.
      EXPECT_LT(host_.counters().rows_scanned - before, 20'000);
    }
  }
}

TEST_F(HashJoinTest, SignedAndUnsignedNumbers) {
  const ScanColumn of_signed{.integer = true, .type = Type::Signed, .width = 8};
  const ScanColumn of_unsigned{.integer = true, .type = Type::Unsigned, .width = 8};
  const ScanColumn of_byte{.integer = true, .type = Type::Signed, .width = 1};
  ColumnVector big, negative, byte;
  big.integers = {~uint64_t{0}, 5, uint64_t{1} << 63};
  negative.integers = {order_signed(-1, 8), order_signed(5, 8), order_signed(INT64_MIN, 8)};
  byte.integers = {order_signed(-1, 1), order_signed(5, 1), order_signed(-128, 1)};
  const auto read = [](const KeyColumn& column, bool of_build, const ColumnVector& vector) {
    std::vector<std::optional<uint64_t>> keys;
    std::array<uint64_t, 3> numbers{};
    std::array<uint8_t, 3> valid{1, 1, 1};
    column.read(of_build, vector, 3, numbers.data(), valid.data());
    for (size_t i = 0; i < 3; ++i) keys.push_back(valid[i] != 0 ? std::optional(numbers[i]) : std::nullopt);
    return keys;
  };
  const auto mixed = KeyColumn::make(of_unsigned, of_signed);
  ASSERT_TRUE(mixed);
  const auto one = read(*mixed, false, big), other = read(*mixed, true, negative);
  EXPECT_FALSE(one[0]);
  EXPECT_FALSE(one[2]);
  EXPECT_EQ(one[1], other[1]);
  EXPECT_NE(one[1], other[0]);
  EXPECT_NE(one[1], other[2]);
  const auto widths = KeyColumn::make(of_byte, of_signed);
  ASSERT_TRUE(widths);
  const auto short_ones = read(*widths, false, byte), long_ones = read(*widths, true, negative);
  EXPECT_EQ(short_ones[0], long_ones[0]);
  EXPECT_EQ(short_ones[1], long_ones[1]);
  EXPECT_NE(short_ones[2], long_ones[2]);
  // What the scan of the probe side is told of these keys: only values of its own column.
  const auto may_have = [](const KeyColumn& column, const std::vector<std::optional<uint64_t>>& keys,
                           const ColumnVector& values) {
    std::vector<uint64_t> numbers;
    for (const auto& key : keys) {
      if (key) numbers.push_back(*key);
    }
    const auto filter = column.filter_of_probe(numbers);
    std::vector<bool> found;
    for (const uint64_t value : values.integers) found.push_back(filter->may_have(value));
    return found;
  };
  EXPECT_EQ(may_have(*mixed, other, big), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(may_have(*widths, long_ones, byte), (std::vector<bool>{true, true, false}));
  const auto reversed = KeyColumn::make(of_signed, of_unsigned);
  ASSERT_TRUE(reversed);
  EXPECT_EQ(may_have(*reversed, read(*reversed, true, big), negative),
            (std::vector<bool>{false, true, false}));
  const ScanColumn of_real{.integer = true, .type = Type::Double, .width = 8};
  const auto reals = KeyColumn::make(of_real, of_real);
  ASSERT_TRUE(reals);
  ColumnVector zeros;
  zeros.integers = {order_double(-0.0), order_double(0.0), order_double(1)};
  const auto zero_keys = read(*reals, true, zeros);
  EXPECT_EQ(zero_keys[0], zero_keys[1]);
  EXPECT_EQ(may_have(*reals, {zero_keys[0]}, zeros), (std::vector<bool>{true, true, false}));
  EXPECT_FALSE(KeyColumn::make(of_signed, {.integer = true, .type = Type::Double, .width = 8}));
  EXPECT_FALSE(KeyColumn::make(of_signed, {.integer = false, .type = Type::Varchar}));
}

TEST(KeyColumnTest, TextsAreComparedByTheCollationOfTheKey) {
  const ScanColumn by_bytes{
      .integer = false, .type = Type::Varchar, .width = 10, .collation = &binary_collation()};
  ScanColumn padded = by_bytes;
  padded.collation = &binary_padded_collation();
  EXPECT_FALSE(KeyColumn::make(by_bytes, padded));
  using Nulls = KeyColumn::Nulls;
  const auto by_column = KeyColumn::make(padded, padded);
  const auto by_one = KeyColumn::make(padded, by_bytes, Nulls::LeftOut, &binary_padded_collation());
  const auto by_other = KeyColumn::make(by_bytes, padded, Nulls::LeftOut, &binary_padded_collation());
  ASSERT_TRUE(by_column && by_one && by_other);
  for (const KeyColumn& key : {*by_column, *by_one, *by_other})
    EXPECT_EQ(key.collation(), &binary_padded_collation());
  // A scan that compares by bytes would not find `a ` where the key has `a`.
  EXPECT_TRUE(by_column->is_of_probe());
  EXPECT_TRUE(by_one->is_of_probe());
  EXPECT_FALSE(by_other->is_of_probe());
}

}  // namespace
}  // namespace hailstone
