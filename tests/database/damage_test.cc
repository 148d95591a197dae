// Damaged and missing files, full and failing disks: a clear error, nothing committed lost, other tables
// usable.
#include <filesystem>
#include <fstream>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

Rows many_rows(int64_t count, char letter) {
  Rows rows;
  for (int64_t id = 0; id < count; ++id) rows[id] = std::string(100, letter);
  return rows;
}

void flip_byte(const fs::path& path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x10));
}

class DamageTest : public DatabaseTest {
 protected:
  /// Two tables, each with a segment.
  void make_tables() {
    open();
    create("d/a");
    create("d/b");
    put_rows("d/a", many_rows(2000, 'a'));
    // Its segment is the first one.
    ASSERT_OK((*database_->table("d/a"))->flush(true));
    put_rows("d/b", many_rows(2000, 'b'));
    ASSERT_OK(database_->checkpoint());
  }
  void close() {
    ASSERT_OK(database_->close());
    database_.reset();
  }
  std::vector<fs::path> files(const std::string& prefix) {
    std::vector<fs::path> result;
    for (const auto& file : fs::directory_iterator(directory_.path())) {
      if (file.path().filename().string().starts_with(prefix)) result.push_back(file.path());
    }
    std::ranges::sort(result);
    return result;
  }
  /// What opening says; it must fail.
  std::string refusal() {
    auto opened = Database::open(posix_filesystem(), directory_.path(), options());
    EXPECT_FALSE(opened);
    if (opened) return {};
    EXPECT_EQ(opened.error().code(), ErrorCode::Corruption) << opened.error().message();
    return opened.error().message();
  }
};

TEST_F(DamageTest, MissingSegmentConcernsItsTableOnly) {
  make_tables();
  close();
  const fs::path lost = files("segment-").front();
  fs::rename(lost, directory_.file("elsewhere"));
  open();
  expect_rows("d/b", many_rows(2000, 'b'));
  const auto rows = read_table(*database_, "d/a");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), ErrorCode::Corruption);
  EXPECT_NE(rows.error().message().find(lost.filename().string()), std::string::npos)
      << rows.error().message();
  EXPECT_EQ(database_->counters().tables_corrupt.load(), 1U);
  put_rows("d/b", {{9999, "more"}});
  ASSERT_OK(database_->checkpoint());
  close();
  // The file is back: so are the rows.
  fs::rename(directory_.file("elsewhere"), lost);
  open();
  expect_rows("d/a", many_rows(2000, 'a'));
}

TEST_F(DamageTest, CorruptTableCanBeDropped) {
  make_tables();
  close();
  flip_byte(files("segment-").front(), fs::file_size(files("segment-").front()) - 100);
  open();
  EXPECT_FALSE(read_table(*database_, "d/a"));
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/a"));
    ASSERT_OK(database_->create_table(*transaction, pair_definition("d/a")));
    ASSERT_OK(commit(*transaction));
  }
  expect_rows("d/a", {});
  reopen();
  expect_rows("d/a", {});
  expect_rows("d/b", many_rows(2000, 'b'));
}

TEST_F(DamageTest, DamagedManifestIsNamed) {
  make_tables();
  close();
  const fs::path manifest = directory_.file("manifest");
  flip_byte(manifest, fs::file_size(manifest) / 2);
  EXPECT_NE(refusal().find("manifest"), std::string::npos);
  flip_byte(manifest, fs::file_size(manifest) / 2);
  fs::rename(manifest, directory_.file("elsewhere"));
  EXPECT_NE(refusal().find("manifest"), std::string::npos);
  fs::rename(directory_.file("elsewhere"), manifest);
  open();
  expect_rows("d/a", many_rows(2000, 'a'));
}

TEST_F(DamageTest, DamagedLogIsNamed) {
  make_tables();
  put_rows("d/a", {{5000, "in the log"}});
  put_rows("d/a", {{5001, "in the log too"}});
  // As a crash would leave it: closing leaves nothing in the log.
  const TemporaryDirectory before;
  fs::copy(directory_.path(), before.path(), fs::copy_options::recursive);
  close();
  for (const auto& each : fs::directory_iterator(directory_.path())) fs::remove_all(each);
  fs::copy(before.path(), directory_.path(), fs::copy_options::recursive);
  const auto logs = files("log-");
  ASSERT_FALSE(logs.empty());
  flip_byte(logs.back(), 90);
  EXPECT_NE(refusal().find("log-"), std::string::npos);
  flip_byte(logs.back(), 90);
  fs::create_directory(directory_.file("elsewhere"));
  for (const auto& log : logs) fs::rename(log, directory_.file("elsewhere") + "/" + log.filename().string());
  EXPECT_NE(refusal().find("log"), std::string::npos);
}

TEST_F(DamageTest, TornTailOfTheManifestIsCut) {
  make_tables();
  close();
  std::ofstream(directory_.file("manifest"), std::ios::app | std::ios::binary) << "half of a record";
  open();
  expect_rows("d/a", many_rows(2000, 'a'));
  reopen();
  expect_rows("d/b", many_rows(2000, 'b'));
}

TEST_F(DamageTest, OrphansAreRemoved) {
  make_tables();
  close();
  const size_t before = files("segment-").size();
  std::ofstream(directory_.file("segment-00000000000000ff")) << "left behind by a crash";
  std::ofstream(directory_.file("deletes-00000000000000fe")) << "left behind by a crash";
  open();
  EXPECT_EQ(files("segment-").size(), before);
  EXPECT_TRUE(files("deletes-").empty());
  expect_rows("d/a", many_rows(2000, 'a'));
}

TEST(FullDiskTest, WorksAgainWhenThereIsSpace) {
  TemporaryDirectory directory;
  FaultFilesystem filesystem(posix_filesystem(), 1);
  Rows rows;
  {
    DatabaseOptions options;
    options.log_write_timeout = std::chrono::milliseconds(0);
    auto database = Database::open(filesystem, directory.file("database"), options);
    ASSERT_OK(database);
    const auto creation = (*database)->transactions().begin(Isolation::RepeatableRead);
    const auto table = (*database)->create_table(*creation, pair_definition("d/t"));
    ASSERT_OK(table);
    ASSERT_OK((*database)->transactions().commit(*creation));
    for (int64_t id = 0; id < 3000; ++id) rows[id] = std::string(100, 'f');
    const auto transaction = (*database)->transactions().begin(Isolation::RepeatableRead);
    for (const auto& [id, text] : rows) ASSERT_OK(put(**table, *transaction, id, text));
    ASSERT_OK((*database)->transactions().commit(*transaction));

    // No room for a segment: the log stays, and so do the rows.
    filesystem.add_rule(
        {.call = FaultFilesystem::Call::Append, .path_part = "segment-", .error_number = ENOSPC});
    const Status full = (*database)->checkpoint();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), ErrorCode::DiskFull);
    EXPECT_NE(full.error().message().find("segment-"), std::string::npos);
    EXPECT_EQ(*read_table(**database, "d/t"), rows);
    filesystem.clear_rules();
    ASSERT_OK((*database)->checkpoint());
    EXPECT_EQ(*read_table(**database, "d/t"), rows);

    // No room for the log: the commit fails, and what was there can be read.
    filesystem.add_rule({.call = FaultFilesystem::Call::Append, .path_part = "log-", .error_number = ENOSPC});
    const auto refused = (*database)->transactions().begin(Isolation::RepeatableRead);
    ASSERT_OK(put(**table, *refused, -1, "refused"));
    const Status committed = (*database)->transactions().commit(*refused);
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code(), ErrorCode::DiskFull);
    EXPECT_TRUE(read_table(**database, "d/t"));
    EXPECT_FALSE((*database)->checkpoint());
    filesystem.clear_rules();
  }
  auto database = Database::open(filesystem, directory.file("database"), {});
  ASSERT_OK(database);
  auto found = read_table(**database, "d/t");
  ASSERT_OK(found);
  found->erase(-1);  // its commit was not answered: it may be there
  EXPECT_EQ(*found, rows);
  ASSERT_OK((*database)->close());
}

}  // namespace
}  // namespace hailstone
