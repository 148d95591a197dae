// A QueryHost without tables, and operators of numbers, for tests of what rows go through.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "file/filesystem.h"
#include "file/spill_file.h"
#include "query/pipeline.h"
#include "table/query_host.h"

namespace hailstone {

class FakeHost final : public QueryHost {
 public:
  Status check_interruption() const override {
    ++asked;
    return interrupted ? Status(fail(ErrorCode::Interrupted, "interrupted")) : Status();
  }
  Status check_interruption_seen() const override {
    return interrupted ? Status(fail(ErrorCode::Interrupted, "interrupted")) : Status();
  }
  void run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const override {
    std::vector<std::thread> helpers;
    for (unsigned part = 1; part < threads; ++part) helpers.emplace_back(work, part);
    work(0);
    for (std::thread& helper : helpers) helper.join();
  }
  MemoryBudget& budget() const override { return budget_; }
  SpillSpace& spill_space() const override { return spill_space_; }

  mutable std::atomic<size_t> asked{0};
  std::atomic<bool> interrupted{false};

 private:
  mutable MemoryBudget budget_{size_t{64} << 20};
  mutable Counters counters_;
  mutable SpillSpace spill_space_{posix_filesystem(), std::filesystem::temp_directory_path().string(),
                                  counters_, 0};
};

/// Numbers one after the other from `first` on, so many in a batch, in one column. Several threads get them
/// in turn, each by itself.
class Numbers final : public RowBatches {
 public:
  Numbers(const QueryHost& host, uint64_t first, uint64_t last, uint32_t in_batch)
      : host_(host), first_(first), last_(last), in_batch_(in_batch) {}

  size_t width() const override { return 1; }
  Result<ScanColumn> column(size_t position) const override {
    if (position != 0) return fail(ErrorCode::InvalidArgument, "there is one column");
    return ScanColumn{.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)};
  }
  Status open(Pipeline& to) override;
  uint64_t rows_read() const override { return given; }
  const QueryHost& host() const override { return host_; }

  std::atomic<uint64_t> given{0};
  uint64_t fails_at = ~uint64_t{0};

 private:
  class Go;
  const QueryHost& host_;
  const uint64_t first_, last_;
  const uint32_t in_batch_;
};

class Numbers::Go final : public SharedSource {
 public:
  Go(Numbers& all, unsigned threads) : all_(all), next_(all.first_), parts_(threads) {}

  Result<const RowBatch*> next_of(unsigned number) override {
    const uint64_t first = next_.fetch_add(all_.in_batch_);
    if (first >= all_.last_) return nullptr;
    Part& part = parts_[number];
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(all_.in_batch_, all_.last_ - first));
    part.numbers.integers.resize(rows);
    for (uint32_t row = 0; row < rows; ++row) {
      if (first + row == all_.fails_at) return fail(ErrorCode::InvalidArgument, "a wrong number");
      part.numbers.integers[row] = first + row;
    }
    all_.given += rows;
    part.rows = {.rows = rows, .columns = {&part.column, 1}, .order = first};
    return &part.rows;
  }
  size_t pieces() const override { return (all_.last_ - all_.first_) / all_.in_batch_; }

 private:
  struct Part {
    ColumnVector numbers;
    const ColumnVector* column = &numbers;
    RowBatch rows;
  };
  Numbers& all_;
  std::atomic<uint64_t> next_;
  std::vector<Part> parts_;
};

inline Status Numbers::open(Pipeline& to) {
  to.set_source(std::make_unique<Go>(*this, to.threads()));
  return {};
}

/// What comes of rows when they are pulled, or, by threads, pushed, in their order; the error otherwise.
inline Result<std::vector<uint64_t>> numbers_of(RowBatches& rows, unsigned threads) {
  std::vector<uint64_t> numbers;
  const auto add = [&numbers](const RowBatch& batch) {
    EXPECT_GT(batch.rows, 0);
    for (uint32_t row = 0; row < batch.rows; ++row) {
      EXPECT_FALSE(batch.columns[0]->is_null(row));
      numbers.push_back(batch.columns[0]->integers[row]);
    }
  };
  if (threads == 0) {
    PulledRows pulled(rows);
    for (;;) {
      HAILSTONE_ASSIGN(const RowBatch* const batch, pulled.next());
      if (batch == nullptr) return numbers;
      add(*batch);
    }
  }
  Mutex mutex;
  HAILSTONE_TRY(rows.each_batch(threads, [&](unsigned part, const RowBatch& batch) -> Status {
    EXPECT_LT(part, threads);
    const MutexLock guard(mutex);
    add(batch);
    return {};
  }));
  std::ranges::sort(numbers);
  return numbers;
}

/// first, first + 1, … up to the one before `last`.
inline std::vector<uint64_t> numbers_between(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t number = first; number < last; ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace hailstone
