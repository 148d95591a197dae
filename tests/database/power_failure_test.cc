// A random workload on a filesystem that loses power at a random call: what was acknowledged is there after
// it, transactions are there whole or not at all, and nothing else is there.
#include <fmt/format.h>

#include <atomic>
#include <random>
#include <thread>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

/// All tables by name: what a database holds.
using Tables = std::map<std::string, Rows>;

/// A workload of one thread and what must be there after it.
class Workload {
 public:
  Workload(uint64_t seed, bool with_bulk_loads) : random_(seed), with_bulk_loads_(with_bulk_loads) {}

  /// One transaction, or something between transactions. False when the database refused: the power is off.
  bool step(Database& database) {
    const uint64_t choice = random_() % 40;
    if (choice == 0) return database.checkpoint().has_value();
    if (choice == 1 && !committed_.empty()) {
      const auto table = database.table(any_table());
      return table && (*table)->flush(true).has_value();
    }
    if (choice == 2 && !committed_.empty()) {
      const auto table = database.table(any_table());
      return table && (*table)->merge().has_value();
    }
    const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    Tables after = committed_;
    if (!change(database, *transaction, after)) {
      database.transactions().rollback(*transaction);
      return false;
    }
    if (random_() % 6 == 0) {
      database.transactions().rollback(*transaction);
      return true;
    }
    maybe_ = after;
    const bool acknowledged = database.transactions().commit(*transaction).has_value();
    if (acknowledged) committed_ = std::move(after);
    return acknowledged;
  }

  /// The database holds what was committed, or that and the transaction whose commit was not answered.
  void check(Database& database) {
    Tables found;
    for (const std::string& name : database.table_names()) {
      const auto rows = read_table(database, name);
      ASSERT_OK(rows);
      found[name] = *rows;
    }
    if (found != committed_ && found != maybe_) {
      ADD_FAILURE() << "committed " << describe(committed_) << "\nor " << describe(maybe_) << "\nfound "
                    << describe(found) << '\n'
                    << difference(committed_, found);
    }
    committed_ = maybe_ = found;
  }

 private:
  static std::string describe(const Tables& tables) {
    std::string result;
    for (const auto& [name, rows] : tables) result += fmt::format("{}({} rows) ", name, rows.size());
    return result;
  }
  static std::string difference(const Tables& expected, const Tables& found) {
    std::string result;
    for (const auto& [name, rows] : expected) {
      const auto other = found.find(name);
      if (other == found.end()) continue;
      for (const auto& [id, text] : rows) {
        const auto row = other->second.find(id);
        if (row == other->second.end()) {
          result += fmt::format("{}: row {} is missing\n", name, id);
        } else if (row->second != text) {
          result += fmt::format("{}: row {} is {} bytes '{:.20}', not {} bytes '{:.20}'\n", name, id,
                                row->second.size(), row->second, text.size(), text);
        }
      }
      for (const auto& [id, text] : other->second) {
        if (!rows.contains(id)) result += fmt::format("{}: row {} should not be there\n", name, id);
      }
    }
    return result;
  }

  std::string any_table() {
    auto at = committed_.begin();
    std::advance(at, random_() % committed_.size());
    return at->first;
  }
  std::string any_text() {
    return fmt::format("{}-{}", ++serial_,
                       std::string(random_() % 400, static_cast<char>('a' + random_() % 26)));
  }

  bool change(Database& database, Transaction& transaction, Tables& after) {
    const uint64_t changes = 1 + random_() % 4;
    for (uint64_t i = 0; i < changes; ++i) {
      if (after.empty() || (random_() % 25 == 0 && after.size() < 4)) {
        const std::string name = fmt::format("d/t{}", ++serial_);
        if (!database.create_table(transaction, pair_definition(name))) return false;
        after[name] = {};
        continue;
      }
      auto chosen = after.begin();
      std::advance(chosen, random_() % after.size());
      const std::string name = chosen->first;
      const uint64_t choice = random_() % 60;
      if (choice == 0) {
        if (!database.drop_table(transaction, name)) return false;
        after.erase(chosen);
      } else if (choice == 1) {
        const std::string to = fmt::format("d/r{}", ++serial_);
        if (!database.rename_table(transaction, name, to)) return false;
        after[to] = std::move(chosen->second);
        after.erase(name);
      } else if (choice == 2) {
        if (!database.truncate_table(transaction, name)) return false;
        chosen->second.clear();
      } else if (!change_rows(database, transaction, name, chosen->second)) {
        return false;
      }
    }
    return true;
  }

  bool change_rows(Database& database, Transaction& transaction, const std::string& name, Rows& rows) {
    const auto table = database.table(name, &transaction);
    if (!table) return false;
    if (with_bulk_loads_ && random_() % 30 == 0) return bulk_load(*table, transaction, rows);
    const Savepoint savepoint = transaction.savepoint();
    const Rows before = rows;
    const uint64_t count = random_() % 8 == 0 ? 200 : 5;
    for (uint64_t i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(random_() % 600);
      if (random_() % 3 == 0) {
        const Status erased = (*table)->erase(transaction, pair_key(**table, id));
        if (!erased && erased.error().code() != ErrorCode::NotFound) return false;
        EXPECT_EQ(erased.has_value(), rows.erase(id) == 1);
      } else {
        const std::string text = any_text();
        if (!put(**table, transaction, id, text)) return false;
        rows[id] = text;
      }
    }
    if (random_() % 10 == 0) {
      transaction.roll_back_to(savepoint);
      rows = before;
    }
    return true;
  }

  bool bulk_load(const std::shared_ptr<Table>& table, Transaction& transaction, Rows& rows) {
    BulkLoad load(table, transaction);
    const auto first = static_cast<int64_t>(1'000'000 + ++serial_ * 10'000);
    // More than a mebibyte goes straight to a segment.
    const std::string text = any_text() + std::string(800, 'z');
    for (int64_t id = first; id < first + 1500; ++id) {
      if (!load.append(pair_values(id, text))) return false;
    }
    Duplicate duplicate;
    if (!load.finish(duplicate)) return false;
    for (int64_t id = first; id < first + 1500; ++id) rows[id] = text;
    return true;
  }

  std::mt19937_64 random_;
  const bool with_bulk_loads_;
  uint64_t serial_ = 0;
  Tables committed_;
  Tables maybe_;  // with the last transaction
};

TEST(PowerFailureTest, CommittedTransactionsSurviveAndNothingElse) {
  const uint64_t seed = test_seed(4);
  for (uint64_t round = 0; round < test_rounds(8); ++round) {
    SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={} round {}", seed, round));
    std::mt19937_64 random(seed * 1000 + round);
    TemporaryDirectory directory;
    Workload workload(random(), round % 4 == 3);
    // Several lives of one database, each ended by a power failure; recovery may be hit as well.
    for (int life = 0; life < 4; ++life) {
      FaultFilesystem filesystem(posix_filesystem(), random());
      filesystem.power_off_after(random() % (life == 0 ? 1200 : 600));
      DatabaseOptions options;
      options.memory_budget = size_t{32} << 20;
      options.checkpoint_log_bytes = size_t{256} << 10;
      {
        auto database = Database::open(filesystem, directory.file("database"), options);
        if (database) {
          if (life > 0) {
            // It must hold right after recovery too, unless the power went off already.
            bool readable = true;
            for (const auto& name : (*database)->table_names())
              readable = readable && read_table(**database, name).has_value();
            if (readable && !filesystem.powered_off()) workload.check(**database);
          }
          for (int steps = 0; steps < 400 && workload.step(**database); ++steps) {
          }
        } else {
          EXPECT_TRUE(filesystem.powered_off()) << database.error().message();
        }
        filesystem.power_off();
      }
      ASSERT_OK(filesystem.leave_crash_state(random()));
      auto database = Database::open(posix_filesystem(), directory.file("database"), options);
      ASSERT_OK(database);
      workload.check(**database);
      if (::testing::Test::HasFailure()) return;
      // Half of the time the next life begins with a clean close, else with what another crash leaves.
      if (random() % 2 == 0) ASSERT_OK((*database)->close());
    }
  }
}

TEST(PowerFailureTest, FailedCallsLoseNothing) {
  const uint64_t seed = test_seed(5);
  for (uint64_t round = 0; round < test_rounds(8); ++round) {
    SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={} round {}", seed, round));
    std::mt19937_64 random(seed * 1000 + round);
    TemporaryDirectory directory;
    Workload workload(random(), round % 4 == 3);
    FaultFilesystem filesystem(posix_filesystem(), random());
    DatabaseOptions options;
    options.memory_budget = size_t{32} << 20;
    options.checkpoint_log_bytes = size_t{256} << 10;
    {
      auto database = Database::open(filesystem, directory.file("database"), options);
      ASSERT_OK(database);
      for (int steps = 0; steps < 60; ++steps) ASSERT_TRUE(workload.step(**database));
      // Segments, delete vectors and the manifest fail now and then; the log cannot be written now and then.
      for (const char* part : {"segment-", "deletes-", "manifest"}) {
        filesystem.add_rule(
            {.path_part = part,
             .skip = random() % 30,
             .times = 1 + random() % 5,
             .effect = random() % 2 == 0 ? FaultFilesystem::Effect::Fail : FaultFilesystem::Effect::Tear,
             .error_number = random() % 2 == 0 ? EIO : ENOSPC});
      }
      for (int i = 0; i < 5; ++i) {
        filesystem.add_rule(
            {.call = FaultFilesystem::Call::Append,
             .path_part = "log-",
             .skip = random() % 30,
             .times = 1 + random() % 3,
             .effect = random() % 2 == 0 ? FaultFilesystem::Effect::Fail : FaultFilesystem::Effect::Tear,
             .error_number = random() % 2 == 0 ? EIO : ENOSPC});
      }
      for (int steps = 0; steps < 100; ++steps) static_cast<void>(workload.step(**database));
      filesystem.clear_rules();
      // A damaged read marks a table for good; writes must not.
      ASSERT_OK((*database)->checkpoint());
      workload.check(**database);
    }
    ASSERT_OK(filesystem.leave_crash_state(random()));
    auto database = Database::open(posix_filesystem(), directory.file("database"), options);
    ASSERT_OK(database);
    workload.check(**database);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hailstone
