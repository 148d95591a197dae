// Columns at other places, with what joins and sorts tell the rows below.
#include "query/arranged_rows.h"

#include <gtest/gtest.h>

#include <array>

#include "query/fake_host.h"
#include "query/given_rows.h"

namespace hailstone {
namespace {

constexpr ScanColumn whole{.integer = true, .type = Type::Unsigned, .width = 8};
constexpr ScanColumn real{.integer = true, .type = Type::Double, .width = 8};

class ArrangedRowsTest : public testing::Test {
 protected:
  std::unique_ptr<GivenRows> pairs() {
    auto rows = std::make_unique<GivenRows>(host_, std::vector{whole, real});
    for (uint64_t i = 0; i < 3; ++i) {
      const std::array<Value, 2> row{Value::of(i), Value::of(10 * i)};
      rows->add(row);
    }
    return rows;
  }
  FakeHost host_;
};

TEST_F(ArrangedRowsTest, ColumnsStandWhereTheyAreWanted) {
  for (const unsigned threads : {0U, 1U, 2U}) {
    ArrangedRows rows(pairs(), {1, ArrangedRows::missing, 0, 0});
    ASSERT_EQ(rows.width(), 4);
    EXPECT_EQ(*rows.column(0), real);
    EXPECT_EQ(rows.column(1).error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(*rows.column(3), whole);
    EXPECT_FALSE(rows.column(4));
    size_t met = 0;
    const auto check = [&](const RowBatch& batch) {
      ASSERT_EQ(batch.columns.size(), 4);
      EXPECT_EQ(batch.columns[1], nullptr);
      for (uint32_t row = 0; row < batch.rows; ++row, ++met) {
        EXPECT_EQ(batch.columns[0]->integers[row], 10 * batch.columns[2]->integers[row]);
        EXPECT_EQ(batch.columns[3]->integers[row], batch.columns[2]->integers[row]);
      }
    };
    if (threads == 0) {
      PulledRows pulled(rows);
      for (;;) {
        const auto batch = pulled.next();
        ASSERT_TRUE(batch);
        if (*batch == nullptr) break;
        check(**batch);
      }
    } else {
      ASSERT_TRUE(rows.each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
        check(batch);
        return {};
      }));
    }
    EXPECT_EQ(met, 3);
  }
}

/// Notes of which columns it hears.
class Listening final : public RowBatches {
 public:
  explicit Listening(const QueryHost& host, std::vector<size_t>& heard) : host_(host), heard_(heard) {}
  size_t width() const override { return 2; }
  Result<ScanColumn> column(size_t) const override { return whole; }
  Status open(Pipeline&) override { return {}; }
  unsigned threads(unsigned) const override { return 1; }
  uint64_t rows_read() const override { return 7; }
  const QueryHost& host() const override { return host_; }
  std::shared_ptr<ScanBound> add_bound(size_t position, bool) override {
    heard_.push_back(position);
    return nullptr;
  }
  void add_filter(size_t position, const RuntimeFilter&) override { heard_.push_back(position); }

 private:
  const QueryHost& host_;
  std::vector<size_t>& heard_;
};

TEST_F(ArrangedRowsTest, TheRowsBelowHearOfTheirOwnColumns) {
  std::vector<size_t> heard;
  ArrangedRows rows(std::make_unique<Listening>(host_, heard), {ArrangedRows::missing, 1, 0});
  for (size_t position = 0; position < 4; ++position) {
    rows.add_bound(position, false);
    rows.add_filter(position, {});
  }
  EXPECT_EQ(heard, (std::vector<size_t>{1, 1, 0, 0}));
  EXPECT_EQ(rows.threads(4), 1);
  EXPECT_EQ(rows.rows_read(), 7);
  EXPECT_EQ(&rows.host(), &host_);
}

}  // namespace
}  // namespace hailstone
