// Rows that are made once: every reader has all of them, from memory and from spill files.
#include "query/materialized_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "base/operator_counts.h"
#include "query/fake_host.h"
#include "query/given_rows.h"
#include "query/united_rows.h"

namespace hailstone {
namespace {

constexpr Materialization::Memory ample{.share = size_t{16} << 20, .floor = size_t{1} << 20};

TEST(MaterializedRowsConcurrentTest, AreMadeOnceAndReadByAll) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 4U}) {
    auto below = std::make_unique<Numbers>(host, 0, 50'000, 10);
    const Numbers& source = *below;
    OperatorCounts counts;
    const auto made = Materialization::make(std::move(below), ample, std::max(1U, threads), &counts);
    ASSERT_TRUE(made) << made.error().message();
    MaterializedRows first(*made), second(*made);
    EXPECT_EQ(source.given, 0) << "nothing is made before it is read";
    for (RowBatches* const reader : std::initializer_list<RowBatches*>{&first, &second, &first}) {
      auto found = numbers_of(*reader, threads);
      ASSERT_TRUE(found) << found.error().message();
      std::ranges::sort(*found);
      EXPECT_EQ(*found, numbers_between(0, 50'000));
    }
    EXPECT_EQ(source.given, 50'000);
    EXPECT_EQ(counts.rows_in, 50'000);
    EXPECT_EQ(counts.rows_out, 50'000);
    EXPECT_EQ(counts.spilled, 0);
    EXPECT_GT(counts.memory, 0);
  }
}

TEST(MaterializedRowsTest, TwoReadersTakeTurns) {
  const FakeHost host;
  const auto made = Materialization::make(std::make_unique<Numbers>(host, 0, 5'000, 100), ample, 1);
  ASSERT_TRUE(made);
  MaterializedRows one(*made), other(*made);
  PulledRows first(one), second(other);
  uint64_t rows = 0;
  for (bool more = true; more;) {
    const auto left = first.next(), right = second.next();
    ASSERT_TRUE(left && right);
    more = *left != nullptr;
    EXPECT_EQ(more, *right != nullptr);
    if (!more) break;
    ASSERT_EQ((*left)->rows, (*right)->rows);
    for (uint32_t row = 0; row < (*left)->rows; ++row)
      EXPECT_EQ((*left)->columns[0]->integers[row], (*right)->columns[0]->integers[row]);
    rows += (*left)->rows;
  }
  EXPECT_EQ(rows, 5'000);
}

TEST(MaterializedRowsConcurrentTest, GoToFilesBeyondMemory) {
  const FakeHost host;
  const ScanColumn number{.integer = true, .type = Type::Unsigned, .width = 8};
  const ScanColumn text{
      .integer = false, .type = Type::Varchar, .width = 200, .collation = &binary_collation()};
  const auto text_of = [](uint64_t value) { return std::string(100, 'x') + std::to_string(value); };
  constexpr uint64_t count = 30'000;
  for (const unsigned threads : {1U, 3U}) {
    auto given = std::make_unique<GivenRows>(host, std::vector{number, text});
    for (uint64_t value = 0; value < count; ++value)
      given->add(
          std::array{Value::of(value), value % 5 == 0 ? Value() : Value::of(ByteView(text_of(value)))});
    OperatorCounts counts;
    const size_t before = host.budget().used();
    {
      const auto made =
          Materialization::make(std::move(given), {.share = 0, .floor = size_t{256} << 10}, threads, &counts);
      ASSERT_TRUE(made);
      MaterializedRows rows(*made);
      for (int go = 0; go < 2; ++go) {
        Mutex mutex;
        std::map<uint64_t, Value> found;
        std::map<uint64_t, std::string> texts;
        ASSERT_TRUE(rows.each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
          const MutexLock guard(mutex);
          for (uint32_t row = 0; row < batch.rows; ++row) {
            const uint64_t value = batch.columns[0]->integers[row];
            found[value] = batch.columns[1]->value(row);
            texts[value] = std::string(found[value].bytes);
          }
          return {};
        }));
        ASSERT_EQ(found.size(), count);
        for (const auto& [value, is] : found) {
          EXPECT_EQ(is.null, value % 5 == 0);
          if (!is.null) {
            EXPECT_EQ(texts[value], text_of(value));
          }
        }
      }
      EXPECT_GT(counts.spilled, 0);
    }
    EXPECT_EQ(host.budget().used(), before);
    EXPECT_EQ(host.spill_space().bytes(), 0);
  }
}

TEST(MaterializedRowsTest, AnErrorIsEveryReaders) {
  const FakeHost host;
  auto below = std::make_unique<Numbers>(host, 0, 1'000, 10);
  below->fails_at = 500;
  const auto made = Materialization::make(std::move(below), ample, 1);
  ASSERT_TRUE(made);
  MaterializedRows first(*made), second(*made);
  EXPECT_EQ(numbers_of(first, 1).error().message(), "a wrong number");
  EXPECT_EQ(numbers_of(second, 0).error().message(), "a wrong number");
}

TEST(MaterializedRowsTest, OfHugeNumbersThereAreNone) {
  const FakeHost host;
  const ScanColumn huge{.integer = true, .type = Type::Signed, .width = 8, .may_be_huge = true};
  auto rows = std::make_unique<GivenRows>(host, std::vector{huge});
  EXPECT_FALSE(Materialization::make(std::move(rows), ample, 1));
}

}  // namespace
}  // namespace hailstone
