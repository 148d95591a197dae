#include "database/table_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "file/fault_filesystem.h"
#include "file/memory_filesystem.h"

namespace hailstone {
namespace {

using Call = FaultFilesystem::Call;
using Names = std::vector<std::string>;

const std::string path = "/shop/hailstone.opt";

class TableListTest : public ::testing::Test {
 protected:
  TableListTest() { EXPECT_TRUE(base_.make_directory("/shop")); }

  void put(const std::string& text) {
    const auto file = base_.create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->append(text));
    ASSERT_TRUE((*file)->close());
  }
  std::string content() {
    const auto file = base_.open(path);
    if (!file) return {};
    std::string text(static_cast<size_t>(*(*file)->size()), '\0');
    EXPECT_TRUE((*file)->read_at(0, text.size(), text.data()));
    return text;
  }
  TableList stored() {
    const auto list = read_table_list(base_, path);
    EXPECT_TRUE(list && *list) << (list ? "no file" : list.error().message());
    return list && *list ? **list : TableList{};
  }
  Result<Names> update(Timestamp defined, const Names& present) {
    return update_table_list(faulty_, path, engine_, defined, present);
  }

  MemoryFilesystem base_;
  FaultFilesystem faulty_{base_};
  TablesInEngine engine_{.databases = {7}, .last_committed = 100};
};

TEST_F(TableListTest, EveryNameSurvives) {
  Names all{"orders",  "caf\xc3\xa9", "two\nlines",   "back\\slash",         "'\"`",
            "table x", " ",           "\x01\x7f\xff", std::string("a\0b", 3)};
  std::ranges::sort(all);
  const TableList list{.database = ~uint64_t{0}, .defined = infinity, .missing = {"\n"}, .tables = all};
  const std::string text = to_text(list);
  EXPECT_TRUE(text.starts_with("# Tables of the engine HAILSTONE"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 4 + 1 + static_cast<long>(all.size()) + 1);
  const auto parsed = parse_table_list(text, path);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, list);
}

TEST_F(TableListTest, EveryDamageIsTold) {
  const std::string text = to_text({.database = 7, .defined = 3, .missing = {"a"}, .tables = {"b", "c"}});
  const size_t behind_heading = text.find('\n') + 1;
  const auto expect_damage = [&](const std::string& damaged) {
    const auto parsed = parse_table_list(damaged, path);
    ASSERT_FALSE(parsed) << damaged;
    EXPECT_NE(parsed.error().message().find(path), std::string::npos);
  };
  for (size_t size = 0; size < text.size(); ++size) expect_damage(text.substr(0, size));
  for (size_t i = behind_heading; i < text.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      expect_damage(damaged);
    }
  }
  expect_damage(text + "\n");
  expect_damage(text + text);
  EXPECT_TRUE(parse_table_list(text, path));
}

TEST_F(TableListTest, ALaterFormatIsNamedAndLeftAlone) {
  const std::string text = "# words of its own\nhailstone-tables 10500\nand lines that nobody knows";
  put(text);
  const auto read = read_table_list(base_, path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(read.error().message().find("Hailstone 1.5.0 or later"), std::string::npos);
  const auto updated = update(5, {"a"});
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(content(), text);
}

TEST_F(TableListTest, TellsWhatTheEngineLacks) {
  const TableList list{.database = 7, .defined = 50, .missing = {"gone"}, .tables = {"a", "b", "c"}};
  const Names present{"b", "d"};
  EXPECT_EQ(origin_of(list, engine_), ListOrigin::Same);
  EXPECT_EQ(origin_of(list, {.databases = {7, 9}, .last_committed = 50}), ListOrigin::Same);  // a copy
  EXPECT_EQ(origin_of(list, {.databases = {7}, .last_committed = 49}), ListOrigin::Later);
  EXPECT_EQ(origin_of(list, {.databases = {8}, .last_committed = 100}), ListOrigin::Foreign);
  EXPECT_EQ(missing_tables(list, ListOrigin::Same, present), (Names{"gone"}));
  EXPECT_EQ(missing_tables(list, ListOrigin::Later, present), (Names{"a", "c", "gone"}));
  EXPECT_EQ(missing_tables(list, ListOrigin::Foreign, present), (Names{"a", "c", "gone"}));
  EXPECT_EQ(missing_tables(list, ListOrigin::Foreign, Names{"a", "b", "c", "gone"}), Names{});
}

TEST_F(TableListTest, FollowsTheTablesAndGoesWithTheLast) {
  EXPECT_EQ(*update(1, {"a", "b"}), Names{});
  EXPECT_EQ(stored(), (TableList{.database = 7, .defined = 1, .missing = {}, .tables = {"a", "b"}}));
  // Nothing is written where nothing is new.
  const uint64_t changes = faulty_.changes();
  EXPECT_EQ(*update(1, {"a", "b"}), Names{});
  EXPECT_EQ(faulty_.changes(), changes);
  EXPECT_EQ(*update(2, {"b"}), Names{});
  EXPECT_EQ(stored().tables, Names{"b"});
  EXPECT_EQ(*update(0, {}), Names{});
  EXPECT_FALSE(base_.exists(path));
  EXPECT_EQ(*update(0, {}), Names{});
  EXPECT_EQ(base_.list("/shop")->size(), 0);
}

TEST_F(TableListTest, WhatIsMissingStaysUntilItIsMadeAgainOrTheFileGoes) {
  put(to_text({.database = 1, .defined = 50, .missing = {}, .tables = {"a", "b"}}));
  EXPECT_EQ(*update(0, {}), (Names{"a", "b"}));
  EXPECT_EQ(stored(), (TableList{.database = 7, .defined = 0, .missing = {"a", "b"}, .tables = {}}));
  EXPECT_EQ(*update(60, {"b", "new"}), Names{"a"});
  EXPECT_EQ(stored(), (TableList{.database = 7, .defined = 60, .missing = {"a"}, .tables = {"b", "new"}}));
  EXPECT_EQ(*update(60, {"b"}), Names{"a"});  // "new" was dropped
  ASSERT_TRUE(base_.remove(path));
  EXPECT_EQ(*update(60, {"b"}), Names{});
  EXPECT_EQ(stored().missing, Names{});
}

TEST_F(TableListTest, TheEnginesFolderMayComeBack) {
  put(to_text({.database = 7, .defined = 50, .missing = {}, .tables = {"a", "b"}}));
  engine_ = {.databases = {8}, .last_committed = 3};  // without it
  EXPECT_EQ(*update(2, {"new"}), (Names{"a", "b"}));
  engine_ = {.databases = {7, 9}, .last_committed = 100};  // from a backup
  EXPECT_EQ(*update(50, {"a", "b"}), Names{"new"});
  EXPECT_EQ(stored(), (TableList{.database = 9, .defined = 50, .missing = {"new"}, .tables = {"a", "b"}}));
}

TEST_F(TableListTest, AnEarlierStateLacksWhatWasMadeSince) {
  EXPECT_EQ(*update(90, {"a", "b"}), Names{});
  engine_.last_committed = 40;
  EXPECT_EQ(*update(30, {"a"}), Names{"b"});
  engine_.last_committed = 500;  // in the meantime
  EXPECT_EQ(*update(450, {"a", "c"}), Names{"b"});
}

TEST_F(TableListTest, ADamagedFileIsReplacedOrStays) {
  put("damaged");
  const auto nothing = update(0, {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::Corruption);
  EXPECT_EQ(content(), "damaged");
  EXPECT_EQ(*update(1, {"a"}), Names{});
  EXPECT_EQ(stored().tables, Names{"a"});
}

TEST_F(TableListTest, AFailureIsToldAndLeavesTheFileAsItWas) {
  ASSERT_TRUE(update(1, {"a"}));
  const std::string before = content();
  for (const Call call :
       {Call::Open, Call::Read, Call::Create, Call::Append, Call::Sync, Call::Close, Call::Rename}) {
    for (const auto effect : {FaultFilesystem::Effect::Fail, FaultFilesystem::Effect::Tear}) {
      faulty_.add_rule({.call = call, .times = 1, .effect = effect});
      const auto failed = update(2, {"a", "b"});
      faulty_.clear_rules();
      ASSERT_FALSE(failed) << static_cast<int>(call);
      EXPECT_NE(failed.error().message().find("/shop/hailstone."), std::string::npos)
          << failed.error().message();
      EXPECT_EQ(content(), before) << static_cast<int>(call);
      EXPECT_EQ(base_.list("/shop")->size(), 1) << static_cast<int>(call);  // no left-over
    }
  }
  faulty_.add_rule({.call = Call::Remove, .times = 1});
  EXPECT_FALSE(update(0, {}));
  EXPECT_EQ(content(), before);
  EXPECT_EQ(*update(2, {"a", "b"}), Names{});
  EXPECT_EQ(stored().tables, (Names{"a", "b"}));
}

TEST_F(TableListTest, APowerFailureLeavesOneListOrTheOther) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    MemoryFilesystem disk;
    FaultFilesystem filesystem(disk, seed);
    ASSERT_TRUE(disk.make_directory("/shop"));
    ASSERT_TRUE(update_table_list(filesystem, path, engine_, 1, {"a"}));
    ASSERT_TRUE(filesystem.sync_directory("/shop"));
    filesystem.power_off_after(seed % 6);  // it makes five changes
    EXPECT_EQ(update_table_list(filesystem, path, engine_, 2, {"a", "b"}).has_value(), seed % 6 == 5);
    ASSERT_TRUE(filesystem.leave_crash_state(seed));
    const auto list = read_table_list(disk, path);
    ASSERT_TRUE(list) << list.error().message();
    ASSERT_TRUE(*list);
    EXPECT_TRUE((*list)->tables == Names{"a"} || (*list)->tables == (Names{"a", "b"}));
  }
}

}  // namespace
}  // namespace hailstone
