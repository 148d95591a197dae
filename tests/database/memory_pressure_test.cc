// Writers whose memory is held by rows of other transactions are slowed and not refused, though those others
// do nothing, or wait for the writers.
#include <chrono>
#include <thread>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

using namespace std::chrono_literals;

class MemoryPressureTest : public DatabaseTest {
 protected:
  void SetUp() override {
    options_.memory_budget = size_t{16} << 20;
    open();
    create("d/a");
    create("d/b");
  }
  /// Whoever waits in vain gives up in the end.
  std::unique_ptr<Transaction> begin_with_limit() {
    auto transaction = begin();
    transaction->set_interruption_check([this] { return std::chrono::steady_clock::now() > give_up_; });
    return transaction;
  }
  /// Less than makes a transaction large.
  static Status write_some(Table& table, Transaction& transaction, int64_t first, Rows& rows) {
    for (int64_t id = first; id < first + 100; ++id) {
      const std::string text(4000, static_cast<char>('a' + id % 26));
      HAILSTONE_TRY(put(table, transaction, id, text));
      rows[id] = text;
    }
    return {};
  }

  const std::chrono::steady_clock::time_point give_up_ = std::chrono::steady_clock::now() + 30s;
};

TEST_F(MemoryPressureTest, RowsOfIdleTransactionsHoldNobodyForGood) {
  std::map<std::string, Rows> kept;
  {
    const std::map<std::string, std::shared_ptr<Table>> tables{{"d/a", *database_->table("d/a")},
                                                               {"d/b", *database_->table("d/b")}};
    std::vector<std::unique_ptr<Transaction>> open;
    std::vector<std::pair<std::string, Rows>> written;
    while (database_->counters().memory_waits.load() < 3) {
      const size_t number = open.size();
      ASSERT_LT(number, 100U);
      const std::string name = number % 2 == 0 ? "d/a" : "d/b";
      open.push_back(begin_with_limit());
      Rows& rows = written.emplace_back(name, Rows()).second;
      ASSERT_OK(write_some(*tables.at(name), *open.back(), 1000 * static_cast<int64_t>(number), rows));
    }
    // The others may write more, too.
    for (size_t i = 0; i < 3; ++i) {
      auto& [name, rows] = written[i];
      ASSERT_OK(write_some(*tables.at(name), *open[i], 1000 * static_cast<int64_t>(i) + 500, rows));
    }
    for (size_t i = 0; i < open.size(); ++i) {
      if (i % 3 == 1) continue;  // rolled back as it goes
      ASSERT_OK(commit(*open[i]));
      kept[written[i].first].insert(written[i].second.begin(), written[i].second.end());
    }
  }
  for (const auto& [name, rows] : kept) expect_rows(name, rows);
  reopen();
  for (const auto& [name, rows] : kept) expect_rows(name, rows);
}

TEST_F(MemoryPressureTest, AWriterThatOthersWaitForGoesOn) {
  const auto table = *database_->table("d/a");
  Rows rows;
  const auto first = begin_with_limit(), last = begin_with_limit();
  ASSERT_OK(write_some(*table, *first, 0, rows));
  std::vector<std::unique_ptr<Transaction>> open;
  for (int64_t i = 1; database_->counters().memory_waits.load() == 0; ++i) {
    ASSERT_LT(i, 100);
    open.push_back(begin_with_limit());
    ASSERT_OK(write_some(*table, *open.back(), 1000 * i, rows));
  }
  // One waits for a row of the first, which finds no memory.
  std::thread waiting([&] {
    EXPECT_OK(put(*table, *last, 5, "last"));
    EXPECT_OK(commit(*last));
  });
  std::this_thread::sleep_for(50ms);
  for (int64_t more = 100; more < 500; more += 100) {
    const Status written = write_some(*table, *first, more, rows);
    ASSERT_TRUE(written || (waiting.detach(), false)) << written.error().message();
  }
  ASSERT_OK(commit(*first));
  waiting.join();
  for (const auto& transaction : open) ASSERT_OK(commit(*transaction));
  rows[5] = "last";
  expect_rows("d/a", rows);
}

}  // namespace
}  // namespace hailstone
