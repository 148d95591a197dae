// Tables in memory: rows are gone with the database, all else is as of durable tables, also when they are
// full.
#include <atomic>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "database/database_fixture.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

class MemoryTableTest : public DatabaseTest {
 protected:
  std::shared_ptr<Table> create_in_memory(const std::string& name, uint64_t most_bytes) {
    TableDefinition definition = pair_definition(name);
    definition.indexes.push_back({.name = "text", .parts = {{.column = 1, .prefix = 20}}});
    definition.in_memory = true;
    definition.most_bytes = most_bytes;
    const auto transaction = begin();
    auto table = database_->create_table(*transaction, definition);
    EXPECT_OK(table);
    EXPECT_OK(commit(*transaction));
    return *table;
  }
  static uint64_t value_bytes(const Rows& rows) {
    uint64_t bytes = 0;
    for (const auto& [id, text] : rows) bytes += sizeof id + text.size();
    return bytes;
  }
  std::string random_text(size_t most) {
    std::string text(std::uniform_int_distribution<size_t>(0, most)(random_), '\0');
    for (char& each : text) each = static_cast<char>(' ' + random_() % 95);
    return text;
  }
  uint64_t log_bytes() { return database_->counters().log_write_bytes.load(); }

  std::mt19937_64 random_{test_seed(std::random_device{}())};
};

TEST_F(MemoryTableTest, RowsGoWithTheDatabaseAndTheDefinitionStays) {
  open();
  create("d/durable");
  {
    const auto table = create_in_memory("d/memory", 0);
    EXPECT_TRUE(table->is_in_memory());
    EXPECT_FALSE(table->take_emptied());
  }
  const Rows rows{{1, "one"}, {2, "two"}, {3, std::string(3000, 'x')}};
  const uint64_t logged = log_bytes();
  put_rows("d/memory", rows);
  expect_rows("d/memory", rows);
  EXPECT_EQ(log_bytes(), logged);
  {
    // One transaction of both kinds; the log holds the durable table's rows only.
    const auto transaction = begin();
    ASSERT_OK(put(**database_->table("d/durable"), *transaction, 7, "kept"));
    ASSERT_OK(put(**database_->table("d/memory"), *transaction, 7, "lost"));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(database_->counters().log_stalls.load(), 0U);
  Rows with_seven = rows;
  with_seven[7] = "lost";
  expect_rows("d/memory", with_seven);
  for (int i = 0; i < 2; ++i) {
    reopen();
    expect_rows("d/durable", {{7, "kept"}});
    expect_rows("d/memory", {});
    const auto table = database_->table("d/memory");
    ASSERT_OK(table);
    EXPECT_TRUE((*table)->is_in_memory());
    EXPECT_TRUE((*table)->take_emptied());
    EXPECT_FALSE((*table)->take_emptied());
    put_rows("d/memory", {{7, "again"}});
  }
}

TEST_F(MemoryTableTest, DefinitionsAreWholeAfterACrashAndRowsAreGone) {
  open();
  create("d/durable");
  create_in_memory("d/memory", 1 << 20);
  const auto transaction = begin();
  ASSERT_OK(put(**database_->table("d/durable"), *transaction, 1, "kept"));
  ASSERT_OK(put(**database_->table("d/memory"), *transaction, 1, "lost"));
  ASSERT_OK(commit(*transaction));
  // What is in the directory now is what a killed process leaves.
  TemporaryDirectory copy;
  ASSERT_OK(posix_filesystem().remove_directory(copy.path()));
  ASSERT_OK(database_->backup(copy.path()));
  auto other = Database::open(posix_filesystem(), copy.path(), options());
  ASSERT_OK(other);
  EXPECT_EQ(*read_table(**other, "d/durable"), (Rows{{1, "kept"}}));
  EXPECT_EQ(*read_table(**other, "d/memory"), Rows{});
  const auto table = (*other)->table("d/memory");
  ASSERT_OK(table);
  EXPECT_EQ((*table)->definition().most_bytes, uint64_t{1} << 20);
}

TEST_F(MemoryTableTest, TimesThatTheLogDoesNotHoldAreNotGivenAgainAfterACrash) {
  open();
  create("d/durable");
  create_in_memory("d/memory", 0);
  put_rows("d/durable", {{1, "first"}});
  for (int64_t id = 0; id < 50; ++id) put_rows("d/memory", {{id, "not in the log"}});
  // The manifest says of which commits the durable table's files hold all.
  ASSERT_OK((*database_->table("d/durable"))->flush(true));
  const TemporaryDirectory crashed, again;
  std::filesystem::copy(directory_.path(), crashed.path());
  auto second = Database::open(posix_filesystem(), crashed.path(), options());
  ASSERT_OK(second);
  {
    const auto transaction = (*second)->transactions().begin(Isolation::RepeatableRead);
    ASSERT_OK(put(**(*second)->table("d/durable"), *transaction, 2, "second"));
    ASSERT_OK((*second)->transactions().commit(*transaction));
  }
  std::filesystem::copy(crashed.path(), again.path());
  auto third = Database::open(posix_filesystem(), again.path(), options());
  ASSERT_OK(third);
  EXPECT_EQ(*read_table(**third, "d/durable"), (Rows{{1, "first"}, {2, "second"}}));
}

TEST_F(MemoryTableTest, AFullTableLosesNothingAndHasRoomAgainAfterDelete) {
  options_.in_memory_size = size_t{64} << 20;
  open();
  const auto table = create_in_memory("d/memory", 4 << 20);
  Rows rows;
  Status status;
  while (status) {
    const auto transaction = begin();
    const auto id = static_cast<int64_t>(rows.size());
    const std::string text = random_text(2000);
    status = put(*table, *transaction, id, text);
    if (status) rows[id] = text;
    ASSERT_OK(commit(*transaction));
  }
  EXPECT_EQ(status.error().code(), ErrorCode::TableFull) << status.error().message();
  expect_rows("d/memory", rows);
  // The values may take nearly all of it.
  EXPECT_GT(value_bytes(rows), (uint64_t{4} << 20) * 8 / 10);
  const auto transaction = begin();
  for (int64_t id = 0; id < 100; ++id) {
    ASSERT_OK(table->erase(*transaction, pair_key(*table, id)));
    rows.erase(id);
  }
  ASSERT_OK(commit(*transaction));
  for (int64_t id = 0; id < 60; ++id) rows[id] = random_text(1000);
  for (int64_t id = 0; id < 60; ++id) put_rows("d/memory", {{id, rows[id]}});
  expect_rows("d/memory", rows);
}

TEST_F(MemoryTableTest, AllTablesTogetherHaveOneLimit) {
  options_.in_memory_size = size_t{8} << 20;
  open();
  const auto first = create_in_memory("d/first", 0);
  const auto second = create_in_memory("d/second", 0);
  int64_t id = 0;
  // How many rows, of one size, the table takes.
  const auto fill = [&](Table& table) {
    const int64_t before = id;
    for (Status status; status; ++id) {
      const auto transaction = begin();
      std::string text = random_text(2000);
      text.resize(2000, ' ');
      status = put(table, *transaction, id, text);
      if (!status) {
        EXPECT_EQ(status.error().code(), ErrorCode::TableFull);
      }
      EXPECT_OK(commit(*transaction));
    }
    return id - before - 1;
  };
  EXPECT_GT(fill(*first), 1000);
  // What background work makes room for, the first one takes, too.
  do {
    database_->wait_for_background_work();
  } while (fill(*first) != 0);
  EXPECT_EQ(fill(*second), 0);
  // The space of a dropped table, and of rows that others have deleted, is there at once.
  const auto transaction = begin();
  ASSERT_OK(database_->truncate_table(*transaction, "d/first"));
  ASSERT_OK(commit(*transaction));
  EXPECT_LT(fill(*second), 10'000'000);
  database_->wait_for_background_work();
}

TEST_F(MemoryTableTest, LoadsThatDoNotFitAreRefusedAndTakeNothing) {
  options_.in_memory_size = size_t{16} << 20;
  open();
  const auto table = create_in_memory("d/memory", 0);
  put_rows("d/memory", {{-1, "before"}});
  const auto used = [&] { return database_->counters().in_memory_used.load(); };
  const uint64_t before = used();
  {
    const auto transaction = begin();
    BulkLoad load(table, *transaction);
    Status status;
    int64_t id = 0;
    for (; status && id < 100'000; ++id) {
      const std::string text = random_text(4000);
      status = load.append(pair_values(id, text));
    }
    Duplicate duplicate;
    if (status) status = load.finish(duplicate);
    EXPECT_EQ(code_of(status), ErrorCode::TableFull);
    database_->transactions().rollback(*transaction);
  }
  expect_rows("d/memory", {{-1, "before"}});
  database_->wait_for_background_work();
  EXPECT_LE(used(), before + (size_t{1} << 20));
  const auto transaction = begin();
  BulkLoad load(table, *transaction);
  Rows rows{{-1, "before"}};
  for (int64_t id = 0; id < 2000; ++id) {
    rows[id] = random_text(4000);
    ASSERT_OK(load.append(pair_values(id, rows[id])));
  }
  Duplicate duplicate;
  ASSERT_OK(load.finish(duplicate));
  ASSERT_OK(commit(*transaction));
  expect_rows("d/memory", rows);
}

/// Random writes with savepoints, rollbacks and full tables, beside a map.
TEST_F(MemoryTableTest, RandomWritesAgreeWithAModelAndMemoryStaysBounded) {
  options_.in_memory_size = size_t{24} << 20;
  open();
  constexpr uint64_t most_bytes = 4 << 20;
  auto table = create_in_memory("d/memory", most_bytes);
  create("d/durable");
  auto durable = *database_->table("d/durable");
  Rows rows, durable_rows;
  // What the open transaction has changed, as it was before.
  std::vector<std::pair<int64_t, std::optional<std::string>>> undo;
  const auto note = [&](int64_t id) {
    const auto known = rows.find(id);
    undo.emplace_back(id, known == rows.end() ? std::nullopt : std::optional(known->second));
  };
  const auto take_back_to = [&](size_t mark) {
    for (; undo.size() > mark; undo.pop_back()) {
      auto& [id, before] = undo.back();
      rows.erase(id);
      if (before) rows[id] = std::move(*before);
    }
  };
  const uint64_t rounds = test_rounds(1000);
  uint64_t full = 0, greatest = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    const auto transaction = begin();
    undo.clear();
    for (uint64_t steps = random_() % 40; steps > 0; --steps) {
      const size_t at_start = undo.size();
      Statement statement(*transaction);
      Status status;
      for (uint64_t writes = random_() % 6; writes > 0 && status; --writes) {
        const auto id = static_cast<int64_t>(random_() % 3000);
        if (random_() % 3 == 0) {
          status = table->erase(*transaction, pair_key(*table, id));
          ASSERT_EQ(status.has_value(), rows.contains(id));
          if (!status) {
            ASSERT_EQ(status.error().code(), ErrorCode::NotFound);
            status = {};
          }
          note(id);
          rows.erase(id);
        } else {
          const std::string text = random_text(4000);
          status = put(*table, *transaction, id, text);
          if (!status) continue;
          note(id);
          rows[id] = text;
        }
      }
      if (!status) {
        ASSERT_EQ(status.error().code(), ErrorCode::TableFull) << status.error().message();
        ++full;
      }
      if (!status || random_() % 8 == 0) {
        statement.roll_back();
        take_back_to(at_start);
      } else {
        statement.end();
      }
    }
    const auto id = static_cast<int64_t>(random_() % 100);
    ASSERT_OK(put(*durable, *transaction, id, std::to_string(round)));
    if (random_() % 4 == 0) {
      database_->transactions().rollback(*transaction);
      take_back_to(0);
    } else {
      ASSERT_OK(commit(*transaction));
      durable_rows[id] = std::to_string(round);
    }
    if (round % 100 == 0) expect_rows("d/memory", rows);
    const uint64_t bytes = table->memory_bytes();
    greatest = std::max(greatest, bytes);
    constexpr uint64_t bound = most_bytes + most_bytes / 8, delta_bytes = 1 << 20;
    // A flush may be letting go of a delta whose segment is there already.
    ASSERT_LE(bytes, bound + delta_bytes);
    if (bytes > bound) database_->wait_for_background_work();
    ASSERT_LE(table->memory_bytes(), bound);
  }
  expect_rows("d/memory", rows);
  {
    const auto transaction = begin();
    EXPECT_OK(table->check(*transaction, {}));
  }
  std::cout << "values " << value_bytes(rows) << " bytes, table " << table->memory_bytes() << ", at most "
            << greatest << ", full " << full << " times\n";
  table.reset();
  durable.reset();
  reopen();
  expect_rows("d/memory", {});
  expect_rows("d/durable", durable_rows);
}

TEST_F(MemoryTableTest, TurnoversKeepMemoryNearTheLiveBytes) {
  options_.in_memory_size = size_t{256} << 20;
  open();
  const auto table = create_in_memory("d/memory", 0);
  constexpr int64_t count = 10'000;
  Rows rows;
  for (int64_t id = 0; id < count; ++id) rows[id] = random_text(3000);
  put_rows("d/memory", rows);
  uint64_t greatest = 0;
  for (int64_t i = 0; i < 3 * count; ++i) {
    const auto transaction = begin();
    const auto id = static_cast<int64_t>(random_() % count);
    rows[id] = random_text(3000);
    ASSERT_OK(put(*table, *transaction, id, rows[id]));
    ASSERT_OK(commit(*transaction));
    if (i > count) greatest = std::max<uint64_t>(greatest, table->memory_bytes());
    if (i % 1000 == 0) {
      // As every statement of a server asks.
      ASSERT_EQ(table->statistics().rows, static_cast<uint64_t>(count));
    }
  }
  const uint64_t live = value_bytes(rows);
  const double greatest_ratio = static_cast<double>(greatest) / static_cast<double>(live);
  database_->wait_for_background_work();
  const double ratio = static_cast<double>(table->memory_bytes()) / static_cast<double>(live);
  std::cout << "live " << live << " bytes; table " << ratio << " of it, at most " << greatest_ratio << '\n';
  expect_rows("d/memory", rows);
  EXPECT_LT(ratio, 1.25);
  // Nothing that has been replaced is kept.
  EXPECT_EQ(database_->counters().in_memory_used.load(), table->memory_bytes());
}

TEST_F(MemoryTableTest, AWriterWaitsForMemoryThatAReaderStillHolds) {
  options_.in_memory_size = size_t{64} << 20;
  open();
  const auto table = create_in_memory("d/memory", 2 << 20);
  Rows rows;
  for (int64_t id = 0; id < 550; ++id) rows[id] = random_text(3000);
  put_rows("d/memory", rows);
  const auto reading = begin();
  auto scan = std::make_unique<Scan>(table, *reading, ReadLock::None, nullptr, std::vector<uint16_t>{0, 1});
  ASSERT_OK(scan->next());
  // Segments have the rows, and the reader has the delta: they count twice.
  ASSERT_OK(table->flush(true));
  const uint64_t before = table->memory_bytes();
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    scan.reset();
  });
  Rows more;
  for (int64_t id = 1000; id < 1500; ++id) more[id] = random_text(3000);
  put_rows("d/memory", more);
  reader.join();
  EXPECT_LT(table->memory_bytes(), before + value_bytes(more) / 2);
  rows.merge(more);
  expect_rows("d/memory", rows);
}

class MemoryTableConcurrentTest : public MemoryTableTest {};

TEST_F(MemoryTableConcurrentTest, WritersOfATableThatIsNotFullAreNotRefused) {
  // What is live takes two thirds; flushes and readers make some of it count twice for a while.
  constexpr uint64_t most_bytes = 6 << 20;
  constexpr int64_t rows_of_each = 1000, changes_of_each = 12'000;
  constexpr int writers = 2;
  options_.in_memory_size = size_t{64} << 20;
  open();
  const auto table = create_in_memory("d/memory", most_bytes);
  std::atomic<int> working{writers};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer, seed = random_()] {
      std::mt19937_64 random(seed);
      for (int64_t i = 0; i < changes_of_each; ++i) {
        const int64_t id =
            writer + writers * (i < rows_of_each ? i : static_cast<int64_t>(random() % rows_of_each));
        std::string text(2000, '\0');
        for (char& each : text) each = static_cast<char>(' ' + random() % 95);
        const auto transaction = begin();
        Status changed = put(*table, *transaction, id, text);
        if (!changed) {
          ++refused;
          ADD_FAILURE() << changed.error().message();
          break;
        }
        EXPECT_OK(commit(*transaction));
      }
      --working;
    });
  }
  while (working.load() > 0) {
    const auto transaction = begin();
    const auto rows = read_rows(table, *transaction);
    ASSERT_OK(rows);
    EXPECT_LE(rows->size(), static_cast<size_t>(writers * rows_of_each));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(read_table(*database_, "d/memory")->size(), static_cast<size_t>(writers * rows_of_each));
}

}  // namespace
}  // namespace hailstone
