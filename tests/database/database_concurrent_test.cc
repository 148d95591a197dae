// Commits, DDL, checkpoints, flushes and lookups of several threads at once.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

class DatabaseConcurrentTest : public DatabaseTest {};

TEST_F(DatabaseConcurrentTest, WritersDdlAndCheckpointsTogether) {
  constexpr int writers = 3;
  constexpr int transactions = 150;
  options_.checkpoint_log_bytes = size_t{64} << 10;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  open();
  create("d/shared");
  std::atomic<int> running{writers};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < transactions; ++i) {
        const auto transaction = begin();
        const auto shared = database_->table("d/shared");
        ASSERT_OK(shared);
        ASSERT_OK(put(**shared, *transaction, i * writers + writer,
                      std::string(300, static_cast<char>('a' + writer))));
        ASSERT_OK(put(**shared, *transaction, -1 - writer, std::to_string(i)));
        const std::string name = fmt::format("d/own{}-{}", writer, i % 3);
        if (i % 6 < 3) {
          ASSERT_OK(database_->create_table(*transaction, pair_definition(name)));
        } else {
          ASSERT_OK(database_->drop_table(*transaction, name));
        }
        ASSERT_OK(commit(*transaction));
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running > 0) ASSERT_OK(database_->checkpoint());
  });
  threads.emplace_back([&] {
    while (running > 0) {
      ASSERT_OK((*database_->table("d/shared"))->flush(true));
      ASSERT_OK(read_table(*database_, "d/shared"));
      static_cast<void>(database_->table_names("d/own"));
      static_cast<void>(database_->counters());
    }
  });
  for (std::thread& thread : threads) thread.join();
  Rows expected;
  for (int writer = 0; writer < writers; ++writer) {
    for (int i = 0; i < transactions; ++i) {
      expected[i * writers + writer] = std::string(300, static_cast<char>('a' + writer));
    }
    expected[-1 - writer] = std::to_string(transactions - 1);
  }
  expect_rows("d/shared", expected);
  reopen();
  expect_rows("d/shared", expected);
  EXPECT_EQ(database_->table_names(), std::vector<std::string>{"d/shared"});
  EXPECT_TRUE(messages_.empty());
}

}  // namespace
}  // namespace hailstone
