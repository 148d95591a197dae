// Groups that memory has no room for, against a plain map that is filled from the same rows one by one; and
// what happens when the files that they go to cannot be written or read.
#include <gtest/gtest.h>

#include <filesystem>

#include "query/group_fixture.h"
#include "query/query_memory.h"

namespace hailstone {
namespace {

using Kind = Aggregate::Kind;
using Call = FaultFilesystem::Call;
using Effect = FaultFilesystem::Effect;

class GroupSpillTest : public GroupFixture {
 protected:
  GroupSpillTest() : GroupFixture(31) {}
  static constexpr std::array<uint16_t, 1> keys_that_spill{number};
  static constexpr std::array<Aggregate, 3> wanted_that_spills{
      Aggregate{Kind::Rows}, Aggregate{Kind::Maximum, text}, Aggregate{Kind::Values, key, true}};
  /// Groups and pairs that spill, also sorted.
  std::unique_ptr<Groups> spilling(unsigned threads, bool sorted);
};

TEST_F(GroupSpillTest, AnyGroupsWithAnyMemory) {
  load(30'000, 9'000);
  for (int round = 0; round < 6; ++round) {
    std::vector<uint16_t> keys;
    for (size_t i = below(4); i > 0; --i)
      keys.push_back(std::array<uint16_t, 5>{key, real, word, text, bits}[below(5)]);
    const std::vector<Aggregate> wanted = any_aggregates(5, /*with_distinct=*/true);
    const Expected groups = expected(keys, wanted);
    for (const size_t limit : {size_t{1}, size_t{6} << 20, size_t{1} << 30}) {
      for (const unsigned threads : {1U, 3U}) {
        host_.budget().set_limit(limit);
        quick_units_ = below(2) == 0 ? LookUps::quick_units : 1 + below(5'000);
        auto grouping = group(keys, wanted, threads);
        ASSERT_EQ(check(*grouping, keys, wanted, groups), groups.size())
            << "round " << round << ", " << threads << " threads, " << limit << " bytes, " << quick_units_
            << " quick units";
        EXPECT_FALSE(*grouping->next());
      }
    }
    host_.budget().set_limit(size_t{1} << 30);
  }
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  EXPECT_GT(host_.counters().spill_read_bytes.load(), 0);
  expect_nothing_left(host_.budget().used());
}

TEST_F(GroupSpillTest, DividesAgainAndAgain) {
  constexpr int32_t rows = 500'000;
  const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
  Duplicate duplicate;
  BulkLoad load(table_, *transaction);
  std::array<Value, column_count> values{};
  for (int32_t row = 0; row < rows; ++row) {
    values[number] = Value::of(order_signed(row, 4));
    values[bits] = Value::of(uint64_t{below(1000)});
    ASSERT_TRUE(load.append(values));
  }
  ASSERT_TRUE(load.finish(duplicate));
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  host_.budget().set_limit(1);
  const std::array<uint16_t, 1> by_number{number};
  const std::array<Aggregate, 4> wanted{Aggregate{Kind::Rows}, Aggregate{Kind::Sum, number},
                                        Aggregate{Kind::Values, bits, true},
                                        Aggregate{Kind::Values, summand}};
  auto grouping = group(by_number, wanted, 2);
  std::vector<bool> met(rows);
  size_t found = 0;
  while (*grouping->next()) {
    const int64_t here = native_signed(grouping->keys()[0].integer, 4);
    ASSERT_FALSE(met[static_cast<size_t>(here)]);
    met[static_cast<size_t>(here)] = true;
    ++found;
    ASSERT_EQ(grouping->result(0).count, 1);
    ASSERT_EQ(static_cast<int64_t>(grouping->result(1).integer_sum), here);
    ASSERT_EQ(grouping->result(2).count, 1);
    ASSERT_EQ(grouping->result(3).count, here % 5 == 0 ? 0 : 1);  // `huge` is NULL
  }
  EXPECT_EQ(found, rows);

  // Of one group with very many values, the pairs are divided.
  const Aggregate distinct{Kind::Sum, number, true};
  auto whole = group({}, {&distinct, 1}, 2);
  ASSERT_TRUE(*whole->next());
  EXPECT_EQ(whole->result(0).count, rows);
  EXPECT_EQ(static_cast<int64_t>(whole->result(0).integer_sum), int64_t{rows} * (rows - 1) / 2);
  EXPECT_FALSE(*whole->next());

  SortedGroups first(group(by_number, wanted, 2), {{.number = 0, .descending = true}}, 3);
  for (int32_t row = rows; row > rows - 3; --row) {
    ASSERT_TRUE(*first.next());
    EXPECT_EQ(native_signed(first.keys()[0].integer, 4), row - 1);
  }
  EXPECT_FALSE(*first.next());
  host_.budget().set_limit(size_t{1} << 30);
}

/// What the order has of each group, one after the other.
std::vector<std::string> order_of(SortedGroups& groups, std::span<const GroupOrder> order,
                                  const GroupingPlan& plan) {
  std::vector<std::string> all;
  for (;;) {
    const auto found = groups.next();
    EXPECT_TRUE(found) << found.error().message();
    if (!found || !*found) return all;
    std::string here;
    for (const GroupOrder& by : order) {
      const auto append = [&](const ScanColumn& column, const Value& value) {
        if (value.null) {
          here += "NULL ";
        } else if (column.integer) {
          here += std::to_string(Zeros(column).one(value.integer)) + ' ';
        } else {
          column.collation->append_weights(value.bytes, here);
        }
      };
      if (by.by == GroupOrder::By::Key) {
        append(plan.keys[by.number].column, groups.keys()[by.number]);
        continue;
      }
      const GroupingPlan::Item& item = plan.aggregates[by.number];
      const AggregateResult result = groups.result(by.number);
      if (item.wanted.kind == Kind::Minimum || item.wanted.kind == Kind::Maximum) {
        const Value best =
            item.column.integer ? Value::of(result.integer) : Value::of(ByteView(result.bytes));
        append(item.column, result.count == 0 ? Value{} : best);
      } else if (item.wanted.kind == Kind::Rows || item.wanted.kind == Kind::Values) {
        here += std::to_string(result.count) + ' ';
      } else {
        append_result(by, item, result, here);
      }
    }
    all.push_back(std::move(here));
  }
}

TEST_F(GroupSpillTest, AllInAnOrderWithAnyMemory) {
  load(20'000, 6'000);
  const std::array<uint16_t, 3> keys{real, text, bits};
  for (int round = 0; round < 4; ++round) {
    const std::array<Aggregate, 9> wanted{
        Aggregate{Kind::Rows},          Aggregate{Kind::Values, word},   Aggregate{Kind::Minimum, text},
        Aggregate{Kind::Maximum, real}, Aggregate{Kind::Sum, key},       Aggregate{Kind::Sum, real},
        Aggregate{Kind::Sum, huge},     Aggregate{Kind::Spread, number}, Aggregate{Kind::BitXor, bits}};
    std::vector<GroupOrder> order;
    for (size_t i = 1 + below(3); i > 0; --i) {
      GroupOrder by{.by = below(2) == 0 ? GroupOrder::By::Key : GroupOrder::By::Aggregate};
      by.number = below(by.by == GroupOrder::By::Key ? keys.size() : wanted.size());
      by.descending = below(2) == 0;
      const bool is_mean = by.by == GroupOrder::By::Aggregate && (by.number == 4 || by.number == 5);
      if (is_mean && below(2) == 0)
        by.mean = {.digits = static_cast<unsigned>(below(5)), .is_cut = below(2) == 0};
      order.push_back(by);
    }
    const Expected groups = expected(keys, wanted);
    host_.budget().set_limit(size_t{1} << 30);
    auto in_memory = group(keys, wanted, 2);
    const GroupingPlan plan = in_memory->plan();
    SortedGroups sorted(std::move(in_memory), order);
    const std::vector<std::string> right = order_of(sorted, order, plan);
    ASSERT_EQ(right.size(), groups.size());
    for (const size_t limit : {size_t{1}, size_t{6} << 20}) {
      host_.budget().set_limit(limit);
      const auto spilled = host_.counters().spill_write_bytes.load();
      SortedGroups again(group(keys, wanted, 2), order);
      const std::vector<std::string> found = order_of(again, order, plan);
      const auto [one, other] = std::ranges::mismatch(found, right);
      EXPECT_TRUE(found == right) << "round " << round << ", " << limit << " bytes, number "
                                  << one - found.begin() << ": " << (one == found.end() ? "none" : *one)
                                  << " instead of " << (other == right.end() ? "none" : *other);
      EXPECT_GT(host_.counters().spill_write_bytes.load(), limit == 1 ? spilled : 0);
      SortedGroups whole(group(keys, wanted, 2), order);
      EXPECT_EQ(check(whole, keys, wanted, groups), groups.size());
    }
    host_.budget().set_limit(size_t{1} << 30);
  }
}

std::unique_ptr<Groups> GroupSpillTest::spilling(unsigned threads, bool sorted) {
  auto groups = group(keys_that_spill, wanted_that_spills, threads);
  if (!sorted) return groups;
  return std::make_unique<SortedGroups>(
      std::move(groups), std::vector<GroupOrder>{{.by = GroupOrder::By::Aggregate, .number = 1},
                                                 {.number = 0, .descending = true}});
}

TEST_F(GroupSpillTest, EndsWithAnErrorWhereFilesFail) {
  load(25'000, 9'000);
  const Expected groups = expected(keys_that_spill, wanted_that_spills);
  const size_t memory_before = host_.budget().used();
  host_.budget().set_limit(1);
  const std::array faults{
      SpillFault{Call::Create, Effect::Fail, EACCES}, SpillFault{Call::Append, Effect::Fail, ENOSPC},
      SpillFault{Call::Append, Effect::Tear, EIO},    SpillFault{Call::Close, Effect::Fail, EIO},
      SpillFault{Call::Open, Effect::Fail, EMFILE},   SpillFault{Call::Read, Effect::Fail, EIO},
      SpillFault{Call::Read, Effect::FlipBit},        SpillFault{Call::Remove, Effect::Fail, EIO}};
  for (size_t turn = 0; turn < 2 * faults.size(); ++turn) {
    const SpillFault& fault = faults[turn / 2];
    const bool sorted = turn % 2 == 1;
    size_t failed = 0;
    for (uint64_t skip = 0;; skip += 1 + skip / 2) {
      const unsigned threads = skip % 2 == 0 ? 1 : 2;
      quick_units_ = skip % 3 == 0 ? 100 : LookUps::quick_units;
      add_spill_fault(fault, skip);
      std::unique_ptr<Groups> grouping = spilling(threads, sorted);
      std::optional<Error> error;
      size_t met = 0;
      for (;; ++met) {
        const auto found = grouping->next();
        if (!found) error = found.error();
        if (!found || !*found) break;
      }
      host_.filesystem().clear_rules();
      if (!error) {
        EXPECT_EQ(met, groups.size());
        if (fault.call == Call::Remove) {
          // Nobody is told; the file is removed when the database is opened.
          const std::string directory = std::filesystem::path(host_.segment_path(1)).parent_path();
          grouping.reset();
          for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            if (SpillSpace::is_spill_name(entry.path().filename().string()))
              std::filesystem::remove(entry.path());
          }
        }
        break;
      }
      ++failed;
      expect_error_of(fault, *error);
      if (fault.error_number == ENOSPC) {
        EXPECT_NE(error->message().find("make room on its disk"), std::string::npos) << error->message();
      }
      if (fault.effect == Effect::FlipBit) {
        EXPECT_NE(error->message().find("at offset"), std::string::npos) << error->message();
      }
      grouping.reset();
      expect_nothing_left(memory_before);
    }
    EXPECT_TRUE(failed > 0 || fault.call == Call::Remove) << "a fault was never met";
  }
  // Nothing but those statements has ended.
  auto grouping = group(keys_that_spill, wanted_that_spills, 2);
  EXPECT_EQ(check(*grouping, keys_that_spill, wanted_that_spills, groups), groups.size());
  EXPECT_TRUE(table_->usable());
  grouping.reset();
  expect_nothing_left(memory_before);
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, EndsAtTheLimit) {
  load(25'000, 9'000);
  host_.budget().set_limit(1);
  host_.spill_space().set_limit(100'000);
  {
    auto grouping = group(keys_that_spill, wanted_that_spills, 2);
    const auto found = grouping->next();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::DiskFull);
    EXPECT_NE(found.error().message().find("spill_limit"), std::string::npos) << found.error().message();
    EXPECT_NE(found.error().message().find("spill-"), std::string::npos) << found.error().message();
  }
  EXPECT_EQ(host_.spill_space().bytes(), 0);
  EXPECT_EQ(host_.counters().spill_bytes.load(), 0);
  host_.spill_space().set_limit(0);
  EXPECT_TRUE(*group(keys_that_spill, wanted_that_spills, 2)->next());
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, EndsWhenItIsInterrupted) {
  load(25'000, 9'000);
  const size_t memory_before = host_.budget().used();
  host_.budget().set_limit(1);
  for (const unsigned threads : {1U, 2U, 3U}) {
    quick_units_ = threads == 2 ? 100 : LookUps::quick_units;
    for (uint64_t asks = 0;; asks += 1 + asks / 3) {
      uint64_t asked = 0;
      reader_->set_interruption_check([&] { return asked++ >= asks; });
      std::unique_ptr<Groups> grouping = spilling(threads, threads == 3);
      auto found = grouping->next();
      while (found && *found) found = grouping->next();
      reader_->set_interruption_check({});
      if (found) break;
      ASSERT_EQ(found.error().code(), ErrorCode::Interrupted) << found.error().message();
      grouping.reset();
      expect_nothing_left(memory_before);
    }
  }
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, PutsPartitionsTogetherInOneTable) {
  load(60'000, 50'000);
  // Few quick units have the rows divided, and memory has room for all groups in one table.
  quick_units_ = 100;
  const std::vector<Aggregate> wanted{{Kind::Maximum, text}, {Kind::Rows}};
  for (const std::vector<uint16_t>& keys : {std::vector<uint16_t>{text}, std::vector<uint16_t>{word, key}}) {
    const Expected groups = expected(keys, wanted);
    auto grouping = group(keys, wanted, 2);
    ASSERT_TRUE(*grouping->next());
    EXPECT_TRUE(grouping->divided());
    EXPECT_LE(grouping->tables(), 2U);
    grouping = group(keys, wanted, 2);
    EXPECT_EQ(check(*grouping, keys, wanted, groups), groups.size());
  }
  // Exact sums of floating-point numbers may take much more than their records: a partition a table.
  auto grouping = group(std::vector<uint16_t>{text}, std::vector<Aggregate>{{Kind::Sum, real}}, 2);
  ASSERT_TRUE(*grouping->next());
  EXPECT_GT(grouping->tables(), 2U);
}

TEST_F(GroupSpillTest, MovesOutOnlyTheRunThatHasNoRoom) {
  const GroupingPlan plan{.keys = {{.position = 0,
                                    .column = {.integer = false,
                                               .type = Type::Varchar,
                                               .width = 200,
                                               .collation = &collation_of(text)}}},
                          .aggregates = {{.wanted = {Kind::Rows, 0}, .column = {}}}};
  MemoryBudget budget(size_t{64} << 20);
  RecordMemory memory(budget, host_.spill_space(), size_t{16} << 20,
                      {.chunk = size_t{64} << 10, .first_bits = 5}, {}, nullptr);
  const GoOn go_on = [] { return Status(); };
  /// One run of so many groups, each with one row.
  const auto run_of = [&](size_t first, size_t groups) {
    GroupTable table(plan);
    ColumnVector vector;
    std::vector<std::string> texts;
    for (size_t i = first; i < first + groups; ++i) texts.push_back("text " + std::to_string(i));
    vector.bytes.assign(texts.begin(), texts.end());
    const std::array<const ColumnVector*, 1> columns{&vector};
    table.add({.rows = static_cast<uint32_t>(groups), .columns = columns}, {});
    RecordPartitions partitions(memory, 0);
    HashedRecords scratch;
    EXPECT_TRUE(table.write_groups(
        true, scratch, [&](const HashedRecords& records) { return partitions.append(records, go_on); }));
    EXPECT_TRUE(partitions.finish(go_on));
    RecordRun all;
    for (RecordRun& run : partitions.take_runs()) all.append(std::move(run));
    return all;
  };
  constexpr size_t least = size_t{1} << 20;
  GroupCollector groups(plan, {std::make_unique<MemoryBudget>(budget, least), nullptr}, memory,
                        GroupCollector::Source::Groups, {.most = size_t{32} << 20, .least = least});
  ASSERT_TRUE(groups.add(run_of(0, 1'000), 5, go_on));
  EXPECT_FALSE(groups.has_moved());
  RecordRun second = run_of(1'000, 40'000);
  EXPECT_TRUE(groups.has_room_for_run(second.bytes()));
  // Others take what is left of the budget.
  Reservation others(budget);
  others.grow(size_t{64} << 20);
  ASSERT_TRUE(groups.add(std::move(second), 5, go_on));
  EXPECT_TRUE(groups.has_moved());
  ASSERT_TRUE(groups.move_out(go_on));
  ASSERT_TRUE(groups.has_table());
  std::set<std::string> kept;
  for (uint32_t group = 1; group < groups.table().end(); ++group)
    kept.emplace(groups.table().key(group, 0).bytes);
  EXPECT_EQ(kept.size(), 1'000U);
  EXPECT_TRUE(kept.contains("text 0"));
  EXPECT_TRUE(kept.contains("text 999"));
  // What has moved comes back whole, also to the same table.
  others.clear();
  RecordRun moved;
  for (RecordRun& run : groups.groups()->take_runs()) moved.append(std::move(run));
  ASSERT_TRUE(groups.add(std::move(moved), 10, go_on));
  EXPECT_FALSE(groups.has_moved());
  EXPECT_EQ(groups.table().end(), 41'001U);
  for (uint32_t group = 1; group < groups.table().end(); ++group) {
    EXPECT_EQ(groups.table().count(group, 0), 1U);
    kept.emplace(groups.table().key(group, 0).bytes);
  }
  EXPECT_EQ(kept.size(), 41'000U);
}

TEST_F(GroupSpillTest, TakesNoMoreThanItsShare) {
  load(60'000, 50'000);
  const size_t before = host_.budget().used();
  constexpr size_t limit = size_t{24} << 20;
  host_.budget().set_limit(before + limit);
  size_t most = 0;
  reader_->set_interruption_check([&] {
    most = std::max(most, host_.budget().used());
    return false;
  });
  const std::array<uint16_t, 2> keys{number, text};
  const std::array<Aggregate, 2> wanted{Aggregate{Kind::Maximum, text}, Aggregate{Kind::Values, bits, true}};
  auto grouping = group(keys, wanted, 2);
  size_t groups = 0;
  for (; *grouping->next(); ++groups) most = std::max(most, host_.budget().used());
  EXPECT_EQ(groups, 60'000);
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  // A quarter for tables, a quarter for records, and what the last step of each may be too long.
  EXPECT_LE(most, std::max(before, before + (before + limit) / 2) + (size_t{6} << 20));
  reader_->set_interruption_check({});
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, TakesItsFloorOnlyWhereOthersHaveTheRest) {
  load(60'000, 50'000);
  MemoryBudget& whole = host_.budget();
  whole.set_limit(size_t{48} << 20);
  // Blocks that it reads are in the cache.
  for (auto grouping = group(std::vector<uint16_t>{number}, std::vector<Aggregate>{{Kind::Maximum, text}}, 1);
       *grouping->next();) {
  }
  const auto query = std::make_shared<MemoryBudget>(whole, floor_of_query(whole));
  Reservation others(whole);
  others.grow(whole.limit() - whole.used());
  // The scan pins some that it works on, whatever there is.
  constexpr size_t blocks_at_hand = size_t{256} << 10;
  size_t most = 0, most_of_query = 0;
  const auto look = [&] {
    most = std::max(most, whole.used());
    most_of_query = std::max(most_of_query, query->used());
    return false;
  };
  reader_->set_interruption_check(look);
  const std::vector<std::vector<Aggregate>> all_wanted{
      {{Kind::Maximum, text}, {Kind::Values, bits, true}}, {{Kind::Sum, key}}, {{Kind::Values, text, true}}};
  for (const std::vector<Aggregate>& wanted : all_wanted) {
    for (const bool sorted : {false, true}) {
      SCOPED_TRACE(fmt::format("{} aggregates, sorted: {}", wanted.size(), sorted));
      const std::array<uint16_t, 2> keys{number, text};
      Scans scans(scan(true));
      scans.take_memory_from(query);
      std::unique_ptr<Groups> groups = *Grouping::make(
          std::make_unique<ComputedRows>(std::move(scans), column_count, Computation{}), keys, wanted, 2);
      if (sorted) {
        std::unique_ptr<Grouping> grouping(static_cast<Grouping*>(groups.release()));
        groups = std::make_unique<SortedGroups>(
            std::move(grouping), std::vector<GroupOrder>{{.by = GroupOrder::By::Key, .number = 1}});
      }
      size_t found = 0;
      for (; *groups->next(); ++found) look();
      EXPECT_EQ(found, 60'000);
      EXPECT_LE(most_of_query, query->floor());
      EXPECT_LE(most, whole.limit() + blocks_at_hand);
    }
  }
  reader_->set_interruption_check({});
  EXPECT_EQ(query->used(), 0U);
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  others.clear();
  whole.set_limit(size_t{1} << 30);
}

}  // namespace
}  // namespace hailstone
