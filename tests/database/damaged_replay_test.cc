// Changes of a damaged table that are in the log only: they are kept until its files are whole again.
#include <filesystem>

#include "database/crash_fixture.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

class DamagedReplayTest : public CrashTest {
 protected:
  /// Two tables: segments of a checkpoint, and changes since then in the log.
  void make_tables() {
    for (const char* name : {"d/a", "d/b"}) {
      create(name);
      for (int64_t id = 0; id < 50; ++id) write(name, id, "old");
      load(name, {{100, "loaded"}});
    }
    ASSERT_OK(database_->checkpoint());
    change_tables(1);
  }
  void change_tables(int64_t first) {
    for (const char* name : {"d/a", "d/b"}) {
      write(name, first, "new");
      erase(name, first + 1);
      erase(name, 100);
      load(name, {{100, "loaded anew " + std::to_string(first)}});
      write(name, 60 + first, "new");
    }
  }
  std::vector<fs::path> files(const std::string& prefix) {
    std::vector<fs::path> result;
    for (const auto& file : fs::directory_iterator(directory_.path())) {
      if (file.path().filename().string().starts_with(prefix)) result.push_back(file.path());
    }
    std::ranges::sort(result);
    return result;
  }
  uint64_t log_bytes() {
    uint64_t bytes = 0;
    for (const auto& file : files("log-")) bytes += fs::file_size(file);
    return bytes;
  }
  std::string oldest_log() { return files("log-").front().string(); }
  /// Takes the oldest segment, which is of d/a, away.
  void damage() {
    lost_ = files("segment-").front();
    fs::rename(lost_, directory_.file("elsewhere"));
  }
  void repair() { fs::rename(directory_.file("elsewhere"), lost_); }
  void expect_damage() {
    const auto rows = read_table(*database_, "d/a");
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code(), ErrorCode::Corruption);
  }
  bool said(const std::string& what) {
    const std::lock_guard guard(messages_mutex_);
    return std::ranges::any_of(messages_, [&](const std::string& message) {
      return message.find("d/a") != std::string::npos && message.find(what) != std::string::npos;
    });
  }

  fs::path lost_;
};

TEST_F(DamagedReplayTest, ChangesAreThereWhenTheFileIsBack) {
  make_tables();
  const std::string kept = oldest_log();
  lose_power(1);
  damage();
  open_with_faults();
  expect_damage();
  expect_model("d/b");
  EXPECT_TRUE(said("log is kept"));
  // The other table goes on, through checkpoints, restarts and crashes.
  write("d/b", 2, "again");
  erase("d/b", 100);
  load("d/b", {{100, "loaded a third time"}});
  ASSERT_OK(database_->checkpoint());
  create("d/c");
  write("d/c", 1, "of a new table");
  ASSERT_OK(database_->checkpoint());
  merge("d/b");
  ASSERT_OK(database_->close());
  database_.reset();
  open_with_faults();
  expect_damage();
  expect_model("d/b");
  expect_model("d/c");
  lose_power(2);
  repair();
  open_with_faults();
  for (const char* name : {"d/a", "d/b", "d/c"}) expect_model(name);
  EXPECT_EQ(oldest_log(), kept);
  ASSERT_OK(database_->checkpoint());
  EXPECT_NE(oldest_log(), kept);
  lose_power(3);
  open_with_faults();
  for (const char* name : {"d/a", "d/b", "d/c"}) expect_model(name);
}

TEST_F(DamagedReplayTest, DroppingTheTableEndsIt) {
  make_tables();
  lose_power(1);
  damage();
  open_with_faults();
  expect_damage();
  const std::string kept = oldest_log();
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(oldest_log(), kept);
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/a"));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());
  EXPECT_NE(oldest_log(), kept);
  lose_power(2);
  open_with_faults();
  EXPECT_EQ(database_->table_names(), std::vector<std::string>{"d/b"});
  expect_model("d/b");
}

TEST_F(DamagedReplayTest, TruncatingTheTableEndsIt) {
  make_tables();
  lose_power(1);
  damage();
  open_with_faults();
  const std::string kept = oldest_log();
  {
    const auto transaction = begin();
    ASSERT_OK(database_->truncate_table(*transaction, "d/a"));
    ASSERT_OK(commit(*transaction));
  }
  model_["d/a"] = {};
  ASSERT_OK(database_->checkpoint());
  EXPECT_NE(oldest_log(), kept);
  write("d/a", 7, "of the empty table");
  lose_power(2);
  open_with_faults();
  for (const char* name : {"d/a", "d/b"}) expect_model(name);
}

TEST_F(DamagedReplayTest, TheLogDoesNotGrowForEver) {
  options_.checkpoint_log_bytes = size_t{64} << 10;
  make_tables();
  lose_power(1);
  damage();
  open_with_faults();
  for (int i = 0; i < 1000 && !said("given up"); ++i) {
    write("d/b", i % 50, std::string(4000, static_cast<char>('a' + i % 26)));
    if (i % 20 == 0) ASSERT_OK(database_->checkpoint());
    ASSERT_LT(log_bytes(), size_t{2} << 20);
  }
  EXPECT_TRUE(said("given up"));
  ASSERT_OK(database_->checkpoint());
  EXPECT_LT(log_bytes(), size_t{256} << 10);
  lose_power(2);
  open_with_faults();
  expect_model("d/b");
  expect_damage();
}

TEST_F(DamagedReplayTest, ChangesSurviveDamageFoundLater) {
  make_tables();
  lose_power(1);
  open_with_faults();
  change_tables(5);
  filesystem_->add_rule({.call = FaultFilesystem::Call::Read,
                         .path_part = "segment-",
                         .effect = FaultFilesystem::Effect::FlipBit});
  EXPECT_FALSE(read_table(*database_, "d/a"));
  filesystem_->clear_rules();
  expect_damage();
  ASSERT_OK(database_->checkpoint());
  EXPECT_TRUE(said("log is kept"));
  expect_model("d/b");
  lose_power(2);
  open_with_faults();
  for (const char* name : {"d/a", "d/b"}) expect_model(name);
}

}  // namespace
}  // namespace hailstone
