// How rows go through steps: pushed by threads, and pulled by one, which must come to the same.
#include "query/pipeline.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "query/fake_host.h"

namespace hailstone {
namespace {

/// Of each number `times` batches with it and what is behind it come out, and nothing of odd ones; those that
/// `keeps_back` divides come late, in two rounds: below and from `border` on.
class Copies final : public RowBatches {
 public:
  Copies(std::unique_ptr<RowBatches> below, uint32_t times, uint64_t keeps_back = 0)
      : below_(std::move(below)), times_(times), keeps_back_(keeps_back) {}

  size_t width() const override { return below_->width(); }
  Result<ScanColumn> column(size_t position) const override { return below_->column(position); }
  uint64_t rows_read() const override { return below_->rows_read(); }
  const QueryHost& host() const override { return below_->host(); }
  Status open(Pipeline& to) override {
    if (is_empty) return {};
    to.add_step(std::make_unique<Go>(*this, to.threads()));
    return below_->open(to);
  }

  static constexpr uint64_t border = 600;
  bool is_empty = false;
  OperatorCounts counts;

 private:
  class Go final : public Step {
   public:
    Go(Copies& all, unsigned threads) : all_(all) {
      for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(*this);
    }
    Worker& worker(unsigned part) override { return parts_[part]; }
    OperatorCounts* counts() const override { return &all_.counts; }
    Result<unsigned> begin_round() override {
      if (round_++ == 2) return 0U;
      const MutexLock guard(mutex_);
      EXPECT_TRUE(at_hand_.empty());
      std::erase_if(kept_, [&](uint64_t number) {
        const bool is_of_round = (number < border) == (round_ == 1);
        if (is_of_round) at_hand_.push_back(number);
        return is_of_round;
      });
      return static_cast<unsigned>(parts_.size());
    }

   private:
    struct Part final : Worker {
      explicit Part(Go& all) : go(all) {}
      Status begin(const RowBatch& batch) override {
        given = 0;
        numbers.integers.clear();
        for (uint32_t row = 0; row < batch.rows; ++row) {
          const uint64_t number = batch.columns[0]->integers[row];
          if (number % 2 != 0) continue;
          if (go.all_.keeps_back_ != 0 && number % go.all_.keeps_back_ == 0) {
            const MutexLock guard(go.mutex_);
            go.kept_.push_back(number);
          } else {
            numbers.integers.push_back(number);
          }
        }
        return {};
      }
      Result<const RowBatch*> next() override {
        if (numbers.integers.empty() || given++ == go.all_.times_) return nullptr;
        rows = {.rows = static_cast<uint32_t>(numbers.integers.size()), .columns = {&column, 1}};
        return &rows;
      }
      Result<bool> begin_late() override {
        const MutexLock guard(go.mutex_);
        if (go.at_hand_.empty()) return false;
        given = 0;
        numbers.integers.assign(1, go.at_hand_.front());
        go.at_hand_.erase(go.at_hand_.begin());
        return true;
      }
      Go& go;
      ColumnVector numbers;
      const ColumnVector* column = &numbers;
      RowBatch rows;
      uint32_t given = 0;
    };

    Copies& all_;
    std::deque<Part> parts_;
    Mutex mutex_;
    std::vector<uint64_t> kept_, at_hand_;
    int round_ = 0;
  };

  const std::unique_ptr<RowBatches> below_;
  const uint32_t times_;
  const uint64_t keeps_back_;
};

TEST(PipelineConcurrentTest, WhatIsPushedIsWhatIsPulled) {
  const FakeHost host;
  std::vector<uint64_t> expected;
  for (uint64_t number = 0; number < 2000; number += 2) expected.insert(expected.end(), 6, number);
  for (const uint64_t keeps_back : {0U, 1U, 6U}) {
    for (const unsigned threads : {0U, 1U, 4U}) {
      auto lower = std::make_unique<Copies>(std::make_unique<Numbers>(host, 0, 2000, 7), 2, keeps_back);
      const OperatorCounts& of_lower = lower->counts;
      Copies rows(std::move(lower), 3, keeps_back == 0 ? 0 : 10);
      const auto found = numbers_of(rows, threads);
      ASSERT_TRUE(found) << found.error().message();
      std::vector<uint64_t> sorted = *found;
      std::ranges::sort(sorted);
      EXPECT_EQ(sorted, expected);
      EXPECT_EQ(of_lower.rows_in, 2000);
      EXPECT_EQ(of_lower.rows_out, 2000);
      EXPECT_EQ(rows.counts.rows_in, 2000);
      EXPECT_EQ(rows.counts.rows_out, 6000);
    }
  }
}

/// What a lower step keeps back goes through the step above before that one has rounds, which come in their
/// order.
TEST(PipelineTest, RowsThatWereKeptBackComeLater) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U}) {
    auto lower = std::make_unique<Copies>(std::make_unique<Numbers>(host, 0, 1000, 100), 1, 200);
    Copies rows(std::move(lower), 1, 300);
    std::vector<uint64_t> late;
    const auto note = [&](const RowBatch& batch) {
      for (uint32_t row = 0; row < batch.rows; ++row) {
        const uint64_t number = batch.columns[0]->integers[row];
        if (number % 200 == 0 || number % 300 == 0) late.push_back(number);
      }
    };
    if (threads == 0) {
      PulledRows pulled(rows);
      for (;;) {
        const auto batch = pulled.next();
        ASSERT_TRUE(batch);
        if (*batch == nullptr) break;
        note(**batch);
      }
      EXPECT_EQ(*pulled.next(), nullptr) << "the end stays the end";
    } else {
      ASSERT_TRUE(rows.each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
        note(batch);
        return {};
      }));
    }
    EXPECT_EQ(late, (std::vector<uint64_t>{200, 400, 800, 300, 0, 900, 600}));
  }
}

TEST(PipelineTest, NothingIsReadBeforeItIsAskedFor) {
  const FakeHost host;
  auto numbers = std::make_unique<Numbers>(host, 0, 1000, 10);
  Numbers& source = *numbers;
  source.fails_at = 35;
  Copies rows(std::move(numbers), 2);
  PulledRows pulled(rows);
  EXPECT_EQ(source.given, 0);
  for (int batch = 0; batch < 6; ++batch) {
    const auto found = pulled.next();
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_NE(*found, nullptr);
    EXPECT_EQ(source.given, 10 * (batch / 2 + 1));
  }
  EXPECT_FALSE(pulled.next()) << "the rows behind are asked for now";
}

TEST(PipelineTest, AnErrorEndsTheGo) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 3U}) {
    auto numbers = std::make_unique<Numbers>(host, 0, 100'000, 10);
    Numbers& source = *numbers;
    source.fails_at = 35;
    Copies rows(std::move(numbers), 1, 4);
    const auto found = numbers_of(rows, threads);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message(), "a wrong number");
    // Another go begins anew.
    source.fails_at = ~uint64_t{0};
    const auto again = numbers_of(rows, threads);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->size(), 50'000);
  }
  FakeHost interrupted;
  interrupted.interrupted = true;
  Copies rows(std::make_unique<Numbers>(interrupted, 0, 100, 10), 1);
  EXPECT_EQ(numbers_of(rows, 2).error().code(), ErrorCode::Interrupted);
}

TEST(PipelineTest, WithoutASourceThereAreNoRows) {
  const FakeHost host;
  for (const unsigned threads : {0U, 2U}) {
    auto lower = std::make_unique<Copies>(std::make_unique<Numbers>(host, 0, 100, 10), 1);
    lower->is_empty = true;
    Copies rows(std::move(lower), 1, 2);
    const auto found = numbers_of(rows, threads);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->empty());
  }
}

}  // namespace
}  // namespace hailstone
