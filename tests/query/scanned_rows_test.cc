// Rows in no order, one by one, against what is known of them; and what the host is asked on the way.
#include "query/scanned_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "query/query_fixture.h"

namespace hailstone {
namespace {

TableDefinition scanned_definition() {
  TableDefinition definition;
  definition.name = "test/scanned";
  definition.columns = {{.name = "number", .type = Type::Signed, .width = 4, .nullable = false}};
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

constexpr int32_t rows_in_segments = 40'000, rows_in_delta = 300, all_rows = rows_in_segments + rows_in_delta;

/// Lets every third number pass, and fails at one.
class EveryThird final : public HostExpressions {
 public:
  explicit EveryThird(int32_t wrong) : wrong_(wrong) {}
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins, std::span<Value>) override {
    EXPECT_EQ(begins, row == 0);
    const auto number = native_signed(rows.columns[0]->value(row).integer, 4);
    ++asked;
    if (number == wrong_) return fail(ErrorCode::InvalidArgument, "a wrong number");
    return number % 3 == 0;
  }
  size_t asked = 0;

 private:
  const int32_t wrong_;
};

class ScannedRowsTest : public QueryTest {
 protected:
  ScannedRowsTest() : QueryTest(18, scanned_definition()) {
    host_.segment_rows = 15'000;
    write(0, rows_in_segments, true);
    write(rows_in_segments, all_rows, false);
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  }

  void write(int32_t first, int32_t last, bool in_bulk) {
    write_rows(first, last, in_bulk, [](int32_t number, const auto& take) {
      take(std::array<Value, 1>{Value::of(order_signed(number, 4))});
    });
  }

  /// Those from `from` on, by a program, that pass the host, if there is one.
  ScannedRows rows(int32_t from, std::shared_ptr<HostExpressions> host, const RowCounts& counts = {}) {
    const auto conditions = std::make_shared<Program>();
    const auto number = Expression::column(0, {.type = Type::Signed, .width = 4});
    Computation computation;
    computation.passes =
        conditions->add(Expression::call(Function::Less, {Expression::constant(int64_t{from} - 1), number}));
    computation.conditions = conditions;
    computation.host = std::move(host);
    auto scan = std::make_unique<Scan>(table_, *reader_, ReadLock::None,
                                       std::make_shared<const Predicate>(Predicate::always()),
                                       std::vector<uint16_t>{0}, std::vector<bool>{false});
    auto computed = std::make_unique<ComputedRows>(std::move(scan), 1, std::move(computation));
    computed->count_in(counts);
    return {std::move(computed), std::array<uint16_t, 1>{0}};
  }

  /// All numbers from `from` on, in the order of the scan.
  std::vector<int64_t> numbers(int32_t from) {
    std::vector<int64_t> found;
    Scan scan(table_, *reader_, ReadLock::None, std::make_shared<const Predicate>(Predicate::always()), {0},
              {false});
    for (;;) {
      const auto batch = scan.next();
      EXPECT_TRUE(batch);
      if (!batch || *batch == nullptr) return found;
      for (uint32_t row = 0; row < (*batch)->rows; ++row) {
        const int64_t number = native_signed((*batch)->columns[0].value(row).integer, 4);
        if (number >= from) found.push_back(number);
      }
    }
  }

  static int64_t number_of(const ScannedRows& rows) { return native_signed(rows.values()[0].integer, 4); }
};

TEST_F(ScannedRowsTest, GivesTheRowsThatPass) {
  constexpr int32_t from = 17'000;
  for (const bool by_host : {false, true}) {
    auto scanned = rows(from, by_host ? std::make_shared<EveryThird>(-1) : nullptr);
    uint64_t given = 0;
    for (const int64_t number : numbers(from)) {
      if (by_host && number % 3 != 0) continue;
      const auto found = scanned.next();
      ASSERT_TRUE(found);
      ASSERT_TRUE(*found);
      ASSERT_EQ(number_of(scanned), number);
      ASSERT_EQ(scanned.rows_met(), ++given);
    }
    const auto end = scanned.next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(*end);
    EXPECT_EQ(scanned.rows_read(), uint64_t{all_rows});
  }
}

TEST_F(ScannedRowsTest, AsksTheHostOfNoRowBehindTheLastWanted) {
  const std::vector<int64_t> all = numbers(0);
  constexpr size_t wrong = 13;  // which of them the host fails at
  OperatorCounts counts;
  const auto host = std::make_shared<EveryThird>(all[wrong]);
  auto scanned = rows(0, host, {.host = &counts});
  uint64_t given = 0;
  for (size_t i = 0; i < wrong; ++i) {
    if (all[i] % 3 != 0) continue;
    const auto found = scanned.next();
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found);
    EXPECT_EQ(number_of(scanned), all[i]);
    EXPECT_EQ(host->asked, i + 1);
    EXPECT_EQ(counts.rows_in, i + 1);
    EXPECT_EQ(counts.rows_out, ++given);
  }
  EXPECT_GE(given, 4);
  const auto failed = scanned.next();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace hailstone
