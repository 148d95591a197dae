// A file of a backup may stand for that of a later one only if it can be no other.
#include "backup/lasting_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

class LastingFilesTest : public DatabaseTest {
 protected:
  void load(int64_t first) {
    const auto transaction = begin();
    const auto table = database_->table("a/rows");
    ASSERT_OK(table);
    BulkLoad loading(*table, *transaction);
    for (int64_t id = first; id < first + 2000; ++id)
      ASSERT_OK(loading.append(pair_values(id, std::string(500, 'x'))));
    Duplicate duplicate;
    ASSERT_OK(loading.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  std::set<std::string> lasting() {
    auto names = lasting_files(posix_filesystem(), directory_.path());
    EXPECT_OK(names);
    return names ? *names : std::set<std::string>();
  }
  /// Names of files with this beginning.
  std::set<std::string> present(const std::string& prefix) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with(prefix))
        names.insert(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(LastingFilesTest, AreThoseOfTheLastCheckpoint) {
  open();
  create("a/rows");
  load(0);
  ASSERT_OK(database_->checkpoint());
  const auto first = present("segment-");
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(lasting(), first);
  // A load that the log alone names, or the manifest since the checkpoint.
  load(10'000);
  EXPECT_EQ(lasting(), first);
  ASSERT_OK((*database_->table("a/rows"))->optimize({}));
  for (const std::string& name : lasting()) EXPECT_TRUE(first.contains(name)) << name;
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(lasting(), present("segment-"));
}

/// Of a merge or a load at work: there, and with a number from before the checkpoint, but not whole.
TEST_F(LastingFilesTest, AreNamedByTheManifest) {
  open();
  create("a/rows");
  load(0);
  ASSERT_OK(database_->checkpoint());
  const auto first = present("segment-");
  std::ofstream(directory_.file("segment-0000000000000000")) << "half";
  EXPECT_EQ(lasting(), first);
  EXPECT_EQ(code_of(lasting_files(posix_filesystem(), directory_.file("none"))), ErrorCode::NotFound);
}

TEST_F(LastingFilesTest, HaveDeleteVectors) {
  open();
  create("a/rows");
  load(0);
  ASSERT_OK(database_->checkpoint());
  {
    const auto transaction = begin();
    const auto table = database_->table("a/rows");
    ASSERT_OK(table);
    ASSERT_OK((*table)->erase(*transaction, pair_key(**table, 1)));
    ASSERT_OK(commit(*transaction));
  }
  reopen();
  auto all = present("segment-");
  const auto deletes = present("deletes-");
  EXPECT_FALSE(deletes.empty());
  all.insert(deletes.begin(), deletes.end());
  EXPECT_EQ(lasting(), all);
}

}  // namespace
}  // namespace hailstone
