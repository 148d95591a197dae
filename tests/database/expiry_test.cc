// Rows whose retention is over: which go, which stay, and what others see of it. The clock is the test's.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "database/crash_fixture.h"

namespace hailstone {
namespace {

class SetClock : public RetentionClock {
 public:
  int64_t now() const override { return now_.load(); }
  void set(int64_t second) { now_.store(second); }
  Result<std::optional<ExpiredValues>> expired(const TableDefinition& table, int64_t now) const override {
    auto values = RetentionClock::expired(table, now);
    if (when_asked) when_asked();
    return values;
  }

  std::function<void()> when_asked;  // is called when it is known what expires, and nothing has

 private:
  std::atomic<int64_t> now_{0};
};

constexpr int64_t an_hour = 3600;

/// A row: when it happened, and a value that is unique. Nothing: NULL.
struct Event {
  std::optional<int64_t> at;
  std::optional<int64_t> number;
  bool operator==(const Event&) const = default;
};
using Events = std::map<int64_t, Event>;

void PrintTo(const Event& event, std::ostream* to) {
  *to << "at " << (event.at ? std::to_string(*event.at) : "NULL") << ", number "
      << (event.number ? std::to_string(*event.number) : "NULL");
}

enum class Kind : uint8_t { Durable, InMemory, Temporary };

TableDefinition event_definition(const std::string& name, Kind kind = Kind::Durable) {
  TableDefinition definition;
  definition.name = name;
  definition.in_memory = kind == Kind::InMemory;
  definition.temporary = kind == Kind::Temporary;
  definition.columns.push_back({.name = "id", .type = Type::Signed, .width = 8, .nullable = false});
  definition.columns.push_back({.name = "at", .type = Type::Signed, .width = 8});
  definition.columns.push_back({.name = "number", .type = Type::Signed, .width = 8});
  definition.columns.push_back({.name = "filler", .type = Type::Varchar, .width = 4000});
  definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}});
  definition.indexes.push_back({.name = "number", .unique = true, .parts = {{.column = 2}}});
  definition.indexes.push_back({.name = "at", .unique = false, .parts = {{.column = 1}}});
  definition.has_primary_key = true;
  definition.retention = {.amount = 1,
                          .unit = Retention::Unit::Hour,
                          .column = 1,
                          .scale = static_cast<uint8_t>(TimeScale::Seconds)};
  return definition;
}

Value value_of(const std::optional<int64_t>& number) {
  return number ? Value::of(order_signed(*number, 8)) : Value{};
}

class ExpiryTest : public CrashTest {
 protected:
  void SetUp() override {
    options_.retention_interval = std::chrono::seconds(0);
    options_.retention_clock = &clock_;
    CrashTest::SetUp();
  }
  void create_events(const std::string& name, Kind kind = Kind::Durable) {
    const auto transaction = begin();
    ASSERT_OK(database_->create_table(*transaction, event_definition(name, kind)));
    ASSERT_OK(commit(*transaction));
  }
  Status put_event(Transaction& transaction, const std::string& name, int64_t id, const Event& event,
                   bool replace = false) {
    const auto into = table(name);
    const std::string filler(40, 'f');
    const std::array<Value, 4> values{value_of(id), value_of(event.at), value_of(event.number),
                                      Value::of(ByteView(filler))};
    std::string row;
    HAILSTONE_TRY(into->layout()->row_codec().encode(values, row));
    Duplicate duplicate;
    const auto written = replace ? into->update(transaction, pair_key(*into, id), row, duplicate)
                                 : into->insert(transaction, row, duplicate);
    return written ? Status() : Status(std::unexpected(written.error()));
  }
  void put_events(const std::string& name, const Events& events) {
    const auto transaction = begin();
    for (const auto& [id, event] : events) ASSERT_OK(put_event(*transaction, name, id, event));
    ASSERT_OK(commit(*transaction));
  }
  Result<Events> read_events(const std::shared_ptr<Table>& from, Transaction& transaction) {
    Events events;
    Scan scan(from, transaction, ReadLock::None, nullptr, {0, 1, 2});
    const auto number = [](const Value& value) {
      return value.null ? std::optional<int64_t>() : native_signed(value.integer, 8);
    };
    for (;;) {
      HAILSTONE_ASSIGN(const Batch* batch, scan.next());
      if (batch == nullptr) return events;
      for (uint32_t i = 0; i < batch->rows; ++i) {
        const int64_t id = native_signed(batch->columns[0].value(i).integer, 8);
        const Event event{number(batch->columns[1].value(i)), number(batch->columns[2].value(i))};
        if (!events.emplace(id, event).second)
          return fail(ErrorCode::Corruption, fmt::format("row {} is there twice", id));
      }
    }
  }
  void expect_events(const std::string& name, const Events& events) {
    const auto transaction = begin();
    const auto found = read_events(table(name), *transaction);
    ASSERT_OK(found);
    EXPECT_EQ(*found, events);
    EXPECT_OK(table(name)->check(*transaction, {}));
  }
  Table::Expired expire() {
    Table::Expired all;
    for (;;) {
      const auto expired = database_->expire_rows();
      EXPECT_OK(expired);
      if (!expired) return all;
      all.rows += expired->rows;
      all.segments += expired->segments;
      all.locked = expired->locked;
      if (!expired->again) return all;
    }
  }
  static void drop_old(Events& events, int64_t now, const std::set<int64_t>& kept = {}) {
    std::erase_if(events, [&](const auto& each) {
      return each.second.at && *each.second.at < now - an_hour && !kept.contains(each.first);
    });
  }
  void retain(const std::string& name, uint32_t hours) {
    const auto transaction = begin();
    TableDefinition definition = table(name)->definition();
    definition.retention = {};
    if (hours > 0)
      definition.retention = {hours, Retention::Unit::Hour, 1, static_cast<uint8_t>(TimeScale::Seconds)};
    ASSERT_OK(database_->replace_definition(*transaction, name, definition));
    ASSERT_OK(commit(*transaction));
  }
  void reopen_here() {
    database_.reset();
    open_with_faults();
  }
  size_t segments(const std::string& name) { return table(name)->statistics().segments; }

  SetClock clock_;
};

TEST_F(ExpiryTest, RowsOfDeltasAndSegmentsGoByTheirTime) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {200, 2}}, {3, {std::nullopt, 3}}});
  flush("d/t");
  put_events("d/t", {{4, {100, 4}}, {5, {200, 5}}, {6, {std::nullopt, 6}}});
  clock_.set(100 + an_hour);
  EXPECT_EQ(expire().rows, 0U);
  clock_.set(101 + an_hour);
  EXPECT_EQ(expire().rows, 2U);
  const Events left{{2, {200, 2}}, {3, {std::nullopt, 3}}, {5, {200, 5}}, {6, {std::nullopt, 6}}};
  expect_events("d/t", left);
  EXPECT_EQ(database_->counters().rows_expired.load(), 2U);
  clock_.set(1'000'000);
  EXPECT_EQ(expire().rows, 2U);
  expect_events("d/t", {{3, {std::nullopt, 3}}, {6, {std::nullopt, 6}}});
  EXPECT_EQ(expire().rows, 0U);
}

TEST_F(ExpiryTest, ATableWithoutRetentionKeepsItsRows) {
  create("d/t");
  put_rows("d/t", {{1, "one"}});
  clock_.set(1'000'000);
  EXPECT_EQ(expire().rows, 0U);
  expect_rows("d/t", {{1, "one"}});
}

TEST_F(ExpiryTest, TheBackgroundDoesIt) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {9000, 2}}});
  clock_.set(9000);
  database_->set_retention_interval(std::chrono::seconds(1));
  for (int i = 0; i < 3000 && database_->counters().rows_expired.load() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  expect_events("d/t", {{2, {9000, 2}}});
  EXPECT_NE(database_->last_expiry().at, 0);
}

TEST_F(ExpiryTest, TheFirstLookComesWithTheOpening) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {9000, 2}}});
  clock_.set(9000);
  options_.retention_interval = std::chrono::hours(24 * 365);
  reopen_here();
  for (int i = 0; i < 3000 && database_->counters().rows_expired.load() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  expect_events("d/t", {{2, {9000, 2}}});
}

TEST_F(ExpiryTest, TheLagKeepsRowsLonger) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}});
  clock_.set(101 + an_hour);
  database_->set_retention_lag(std::chrono::seconds(10));
  EXPECT_EQ(expire().rows, 0U);
  clock_.set(111 + an_hour);
  EXPECT_EQ(expire().rows, 1U);
}

TEST_F(ExpiryTest, KeysOfExpiredRowsAreFree) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {100, 2}}});
  flush("d/t");
  put_events("d/t", {{3, {100, 3}}});
  clock_.set(9000);
  expire();
  // Both the clustered and the unique key, each with another one and together.
  const Events again{{1, {9000, 2}}, {7, {9000, 1}}, {3, {9000, 3}}};
  put_events("d/t", again);
  expect_events("d/t", again);
  lose_power(1);
  open_with_faults();
  expect_events("d/t", again);
}

TEST_F(ExpiryTest, SnapshotsGoOnSeeingThem) {
  create_events("d/t");
  Events events;
  for (int64_t id = 0; id < 5000; ++id) events[id] = {100, id};
  put_events("d/t", events);
  flush("d/t");
  put_events("d/t", {{5000, {100, 5000}}});
  events[5000] = {100, 5000};
  const auto reader = begin();
  EXPECT_EQ(*read_events(table("d/t"), *reader), events);
  clock_.set(9000);
  const Table::Expired expired = expire();
  EXPECT_EQ(expired.rows, 5001U);
  EXPECT_EQ(expired.segments, 0U);
  expect_events("d/t", {});
  EXPECT_EQ(*read_events(table("d/t"), *reader), events);
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(*read_events(table("d/t"), *reader), events);
  ASSERT_OK(commit(*reader));
  EXPECT_EQ(expire().segments, 1U);
  EXPECT_EQ(segments("d/t"), 0U);
}

TEST_F(ExpiryTest, WholeSegmentsGoWithTheirFiles) {
  options_.segment_rows_limit = 5000;
  reopen_here();
  create_events("d/t");
  Events events;
  for (int64_t id = 0; id < 30'000; ++id) events[id] = {id, id};
  put_events("d/t", events);
  flush("d/t");
  database_->wait_for_background_work();
  const size_t before = segments("d/t");
  ASSERT_GE(before, 6U);
  clock_.set(22'500 + an_hour);
  const Table::Expired expired = expire();
  EXPECT_EQ(expired.rows, 22'500U);
  EXPECT_EQ(expired.segments, 4U);
  EXPECT_EQ(segments("d/t"), before - 4);
  drop_old(events, clock_.now());
  expect_events("d/t", events);
  EXPECT_EQ(table("d/t")->statistics().rows, events.size());
  lose_power(7);
  open_with_faults();
  expect_events("d/t", events);
  ASSERT_OK(database_->checkpoint());
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
    files += file.path().filename().string().starts_with("segment-") ? 1U : 0U;
  EXPECT_EQ(files, segments("d/t"));
}

TEST_F(ExpiryTest, LockedAndChangedRowsAreLeft) {
  create_events("d/t");
  Events events;
  for (int64_t id = 0; id < 100; ++id) events[id] = {100, id};
  put_events("d/t", events);
  flush("d/t");
  put_events("d/t", {{100, {100, 100}}, {101, {100, 101}}, {102, {100, 102}}});
  const auto writer = begin();
  std::string row;
  // In the segment and in the delta: locked, shared and alone; deleted; changed.
  ASSERT_OK(table("d/t")->find_row(*writer, pair_key(*table("d/t"), 10), ReadLock::Shared, row));
  ASSERT_OK(table("d/t")->find_row(*writer, pair_key(*table("d/t"), 11), ReadLock::Exclusive, row));
  ASSERT_OK(table("d/t")->erase(*writer, pair_key(*table("d/t"), 12)));
  ASSERT_OK(put_event(*writer, "d/t", 13, {9000, 13}, true));
  ASSERT_OK(table("d/t")->find_row(*writer, pair_key(*table("d/t"), 100), ReadLock::Shared, row));
  ASSERT_OK(table("d/t")->erase(*writer, pair_key(*table("d/t"), 101)));
  clock_.set(9000);
  const Table::Expired expired = expire();
  EXPECT_EQ(expired.rows, 97U);
  EXPECT_GE(expired.locked, 2U);
  Events left;
  for (const int64_t id : {10, 11, 12, 13, 100, 101}) left[id] = {100, id};
  {
    const auto reader = begin();
    EXPECT_EQ(*read_events(table("d/t"), *reader), left);
  }
  ASSERT_OK(commit(*writer));
  EXPECT_EQ(expire().rows, 3U);
  expect_events("d/t", {{13, {9000, 13}}});
}

TEST_F(ExpiryTest, ALockedTableIsLeft) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}});
  flush("d/t");
  put_events("d/t", {{2, {100, 2}}});
  clock_.set(9000);
  {
    const auto other = begin();
    ASSERT_OK(database_->locks().lock_table(*other, table("d/t")->id(), TableLockMode::Shared));
    EXPECT_EQ(expire().rows, 0U);
  }
  EXPECT_EQ(expire().rows, 2U);
}

TEST_F(ExpiryTest, APreparedTransactionKeepsItsRows) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {100, 2}}, {3, {100, 3}}});
  flush("d/t");
  auto prepared = begin();
  ASSERT_OK(table("d/t")->erase(*prepared, pair_key(*table("d/t"), 2)));
  ASSERT_OK(database_->transactions().prepare(*prepared, "name"));
  database_->transactions().leave_prepared(std::move(prepared));
  clock_.set(9000);
  EXPECT_EQ(expire().rows, 2U);
  lose_power(3);
  open_with_faults();
  {
    const auto reader = begin();
    EXPECT_EQ(*read_events(table("d/t"), *reader), (Events{{2, {100, 2}}}));
  }
  EXPECT_EQ(expire().rows, 0U);
  auto taken = database_->transactions().take_prepared("name");
  ASSERT_NE(taken, nullptr);
  ASSERT_OK(database_->transactions().roll_back_prepared(*taken));
  expect_events("d/t", {{2, {100, 2}}});
  EXPECT_EQ(expire().rows, 1U);
  expect_events("d/t", {});
}

TEST_F(ExpiryTest, AChangedRetentionCountsAtOnce) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}});
  clock_.set(9000);
  retain("d/t", 0);
  EXPECT_EQ(expire().rows, 0U);
  retain("d/t", 3);
  EXPECT_EQ(expire().rows, 0U);
  lose_power(5);
  open_with_faults();
  EXPECT_EQ(table("d/t")->definition().retention.amount, 3U);
  retain("d/t", 2);
  EXPECT_EQ(expire().rows, 1U);
}

TEST_F(ExpiryTest, AChangedRetentionEndsALookThatBeganBefore) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {8000, 2}}});
  flush("d/t");
  put_events("d/t", {{3, {100, 3}}, {4, {8000, 4}}});
  clock_.set(11'700);
  for (const uint32_t hours : {0U, 3U}) {
    retain("d/t", 1);
    bool changed = false;
    clock_.when_asked = [&] {
      if (!std::exchange(changed, true)) retain("d/t", hours);
    };
    const auto look = database_->expire_rows();
    ASSERT_OK(look);
    EXPECT_TRUE(look->again);
    EXPECT_EQ(look->rows, 0U);
    EXPECT_EQ(expire().rows, hours == 0 ? 0U : 2U);
  }
  expect_events("d/t", {{2, {8000, 2}}, {4, {8000, 4}}});
}

TEST_F(ExpiryTest, AChangeOfTheRetentionWaitsForRowsThatAreJustExpiring) {
  create_events("d/t");
  const auto other = begin();
  ASSERT_OK(database_->locks().lock_table(*other, table("d/t")->id(), TableLockMode::IntentionExclusive));
  TableDefinition definition = table("d/t")->definition();
  const auto change = begin();
  change->set_lock_wait_timeout(std::chrono::milliseconds(10));
  definition.application = "other";
  EXPECT_OK(database_->replace_definition(*change, "d/t", definition));
  definition.retention.amount = 2;
  const Status refused = database_->replace_definition(*change, "d/t", definition);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::LockWaitTimeout);
  ASSERT_OK(commit(*change));
  EXPECT_EQ(table("d/t")->definition().retention.amount, 1U);
  EXPECT_EQ(table("d/t")->definition().application, "other");
}

TEST_F(ExpiryTest, LocksOfYoungRowsKeepNoOldOnes) {
  create_events("d/t");
  Events events;
  for (int64_t id = 0; id < 30'000; ++id) events[id] = {id % 2 == 0 ? 100 : 9000, id};
  put_events("d/t", events);
  flush("d/t");
  const auto reader = begin();
  std::string row;
  for (int64_t id = 1; id < 30'000; id += 2)
    ASSERT_OK(table("d/t")->find_row(*reader, pair_key(*table("d/t"), id), ReadLock::Exclusive, row));
  clock_.set(9000);
  const Table::Expired expired = expire();
  EXPECT_EQ(expired.rows, 15'000U);
  EXPECT_EQ(expired.locked, 0U);
}

TEST_F(ExpiryTest, TablesInMemoryAndTemporaryOnes) {
  for (const Kind kind : {Kind::InMemory, Kind::Temporary}) {
    const std::string name = kind == Kind::InMemory ? "d/memory" : "d/temporary";
    clock_.set(0);
    create_events(name, kind);
    Events events;
    for (int64_t id = 0; id < 3000; ++id) events[id] = {id < 2000 ? 100 : 9000, id};
    put_events(name, events);
    flush(name);
    put_events(name, {{3000, {100, 3000}}, {3001, {9000, 3001}}});
    events[3001] = {9000, 3001};
    clock_.set(9000);
    EXPECT_EQ(expire().rows, 2001U);
    drop_old(events, clock_.now());
    expect_events(name, events);
  }
}

TEST_F(ExpiryTest, DroppedAndTruncatedTablesAreNoTrouble) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}});
  flush("d/t");
  put_events("d/t", {{2, {100, 2}}});
  clock_.set(9000);
  expire();
  {
    const auto transaction = begin();
    ASSERT_OK(database_->truncate_table(*transaction, "d/t"));
    ASSERT_OK(commit(*transaction));
  }
  put_events("d/t", {{1, {100, 1}}, {2, {9000, 2}}});
  expire();
  expect_events("d/t", {{2, {9000, 2}}});
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/t"));
    ASSERT_OK(commit(*transaction));
  }
  EXPECT_EQ(expire().rows, 0U);
  lose_power(11);
  open_with_faults();
  EXPECT_FALSE(database_->has_table("d/t"));
}

TEST_F(ExpiryTest, TheCounterOfATableDoesNotGoBack) {
  create_events("d/t");
  {
    const auto transaction = begin();
    ASSERT_OK(put_event(*transaction, "d/t", 41, {100, 1}));
    ASSERT_OK(table("d/t")->raise_auto_increment(*transaction, 42));
    ASSERT_OK(commit(*transaction));
  }
  flush("d/t");
  clock_.set(9000);
  EXPECT_EQ(expire().segments, 1U);
  EXPECT_EQ(table("d/t")->next_auto_increment(), 42U);
  lose_power(13);
  open_with_faults();
  EXPECT_EQ(table("d/t")->next_auto_increment(), 42U);
}

TEST_F(ExpiryTest, ABackupHasWhatIsLeft) {
  create_events("d/t");
  put_events("d/t", {{1, {100, 1}}, {2, {9000, 2}}});
  flush("d/t");
  clock_.set(9000);
  expire();
  TemporaryDirectory copies;
  ASSERT_OK(database_->backup(copies.file("copy")));
  auto copy = Database::open(posix_filesystem(), copies.file("copy"), options());
  ASSERT_OK(copy);
  const auto transaction = (*copy)->transactions().begin(Isolation::RepeatableRead);
  EXPECT_EQ(*read_events(*(*copy)->table("d/t"), *transaction), (Events{{2, {9000, 2}}}));
}

// Random changes of rows, flushes, merges, checkpoints and looks for expired rows, with snapshots and open
// transactions beside them, and power failures, against a model.
TEST_F(ExpiryTest, RandomChangesKeepToTheModel) {
  const uint64_t seed = test_seed(1);
  for (uint64_t round = 0; round < test_rounds(6); ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    std::mt19937_64 random(seed * 1000 + round);
    const std::string name = fmt::format("d/t{}", round);
    database_.reset();
    options_.segment_rows_limit = 200;
    options_.memory_budget = size_t{16} << 20;
    open_with_faults();
    clock_.set(10'000);
    create_events(name);
    Events events;
    std::vector<std::pair<std::unique_ptr<Transaction>, Events>> snapshots;
    for (int step = 0; step < 400; ++step) {
      const uint64_t choice = random() % 20;
      if (choice < 11) {
        const auto transaction = begin();
        Events after = events;
        for (uint64_t i = 0; i < 1 + random() % 40; ++i) {
          const auto id = static_cast<int64_t>(random() % 3000);
          const auto found = after.find(id);
          if (found != after.end() && random() % 3 == 0) {
            ASSERT_OK(table(name)->erase(*transaction, pair_key(*table(name), id)));
            after.erase(found);
            continue;
          }
          Event event;
          if (random() % 10 != 0) event.at = clock_.now() - static_cast<int64_t>(random() % (2 * an_hour));
          if (random() % 4 != 0) event.number = static_cast<int64_t>(random() % 2000);
          const bool taken = event.number && std::ranges::any_of(after, [&](const auto& each) {
                               return each.first != id && each.second.number == event.number;
                             });
          const Status written = put_event(*transaction, name, id, event, found != after.end());
          EXPECT_EQ(written.has_value(), !taken) << (written ? "" : written.error().message());
          if (written) after[id] = event;
        }
        ASSERT_OK(commit(*transaction));
        events = std::move(after);
      } else if (choice == 11) {
        flush(name);
      } else if (choice == 12) {
        merge(name);
      } else if (choice == 13) {
        ASSERT_OK(database_->checkpoint());
      } else if (choice == 14) {
        auto transaction = begin();
        ASSERT_EQ(*read_events(table(name), *transaction), events);
        snapshots.emplace_back(std::move(transaction), events);
        if (snapshots.size() > 3) snapshots.erase(snapshots.begin());
      } else if (choice == 15) {
        // Rows that somebody has locked or deleted stay.
        const auto other = begin();
        std::set<int64_t> locked;
        for (const auto& [id, event] : events) {
          if (random() % 50 != 0) continue;
          std::string row;
          if (random() % 2 == 0) {
            ASSERT_OK(table(name)->erase(*other, pair_key(*table(name), id)));
          } else {
            ASSERT_OK(table(name)->find_row(*other, pair_key(*table(name), id), ReadLock::Shared, row));
          }
          locked.insert(id);
        }
        expire();
        drop_old(events, clock_.now(), locked);
      } else if (choice == 16) {
        snapshots.clear();
        lose_power(random());
        open_with_faults();
      } else if (choice == 17) {
        clock_.set(clock_.now() + static_cast<int64_t>(random() % an_hour));
      } else {
        expire();
        drop_old(events, clock_.now());
      }
      if (step % 10 == 0) {
        expect_events(name, events);
        for (const auto& [transaction, seen] : snapshots)
          ASSERT_EQ(*read_events(table(name), *transaction), seen);
      }
      if (HasFailure()) return;
    }
    snapshots.clear();
    expect_events(name, events);
  }
}

TEST_F(ExpiryTest, ACrashAtAnyCallLeavesItDoneOrNot) {
  // One look for expired rows, over deltas and segments, with a checkpoint and new rows under the old keys
  // behind it: the power fails at each of its calls in turn.
  options_.segment_rows_limit = 500;
  options_.background_threads = 1;
  Events old, young;
  for (int64_t id = 0; id < 2000; ++id)
    (id % 700 < 600 ? old : young)[id] = {id % 700 < 600 ? 100 : 9000, id};
  Events reborn = young;
  reborn[3] = {9000, 1};
  reborn[1] = {9000, 3};
  bool finished = false;
  for (uint64_t calls = 0; !finished; ++calls) {
    SCOPED_TRACE(fmt::format("power failure at call {}", calls));
    database_.reset();
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    clock_.set(0);
    open_with_faults();
    create_events("d/t");
    Events all = old;
    all.insert(young.begin(), young.end());
    put_events("d/t", all);
    flush("d/t");
    put_events("d/t", {{5000, {100, 5000}}});
    all[5000] = {100, 5000};
    database_->wait_for_background_work();
    clock_.set(9000);
    filesystem_->power_off_after(calls);
    const bool expired = database_->expire_rows().has_value();
    bool written = false;
    if (expired) {
      const auto transaction = begin();
      written = put_event(*transaction, "d/t", 3, {9000, 1}).has_value() &&
                put_event(*transaction, "d/t", 1, {9000, 3}).has_value() && commit(*transaction).has_value();
    }
    const bool checkpointed = written && database_->checkpoint().has_value();
    finished = checkpointed && !filesystem_->powered_off();
    lose_power(calls);
    open_with_faults();
    {
      const auto transaction = begin();
      auto found = read_events(table("d/t"), *transaction);
      ASSERT_OK(found);
      ASSERT_OK(table("d/t")->check(*transaction, {}));
      if (written) {
        EXPECT_EQ(*found, reborn);
      } else {
        // All that is young, and of the others those whose transaction did not come to its end.
        for (const auto& [id, event] : young) EXPECT_EQ((*found)[id], event);
        for (const auto& [id, event] : *found) EXPECT_TRUE(all.contains(id) || reborn.contains(id)) << id;
        if (!expired) {
          for (const auto& [id, event] : *found) EXPECT_EQ(event, all[id]) << id;
        }
      }
    }
    expire();
    {
      const auto transaction = begin();
      const auto found = read_events(table("d/t"), *transaction);
      ASSERT_OK(found);
      EXPECT_TRUE(*found == reborn || (!written && *found == young));
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hailstone
