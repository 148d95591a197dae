// Files that lie under another's name are found: segments and delete vectors exchanged between tables,
// between databases, and between a database and its copy. Files of older versions, which carry no identity,
// open, and get one as they are rewritten.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "database/core.h"
#include "database/database_fixture.h"
#include "database/manifest.h"
#include "segment/segment_format.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replace_content(const fs::path& path, const std::string& content) {
  // A new file, as a program would rename it into place.
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

void exchange(const fs::path& one, const fs::path& other) {
  const std::string first = content_of(one), second = content_of(other);
  replace_content(one, second);
  replace_content(other, first);
}

Rows some_rows(const std::string& text) {
  Rows rows;
  for (int64_t id = 0; id < 3000; ++id) rows[id] = text;
  return rows;
}

/// The segment as the program wrote it before files had identities.
void make_old_segment(const fs::path& path) {
  std::string bytes = content_of(path);
  const size_t trailer = bytes.size() - segment_trailer_bytes;
  const auto footer_begin = static_cast<size_t>(load<uint64_t>(bytes.data() + trailer));
  const std::string footer =
      bytes.substr(footer_begin + file_identity_bytes, trailer - footer_begin - file_identity_bytes);
  std::string old(segment_header_1);
  old += bytes.substr(segment_header_bytes, footer_begin - segment_header_bytes);
  old += footer;
  append_number(old, uint64_t{footer_begin});
  append_number(old, uint64_t{footer.size()});
  append_number(old, checksum(footer));
  old += segment_trailer_magic;
  replace_content(path, old);
}

void make_old_delete_vector(const fs::path& path) {
  std::string bytes = content_of(path);
  bytes[8] = 1;
  bytes.erase(12, file_identity_bytes);
  bytes.resize(bytes.size() - 8);
  append_number(bytes, checksum(bytes));
  replace_content(path, bytes);
}

class FileIdentityTest : public DatabaseTest {
 protected:
  void make_table(const std::string& name, const Rows& rows) {
    create(name);
    put_rows(name, rows);
    ASSERT_OK((*database_->table(name))->flush(true));
  }
  /// Ends one row, so that the table has a delete vector when it is checkpointed.
  void erase(const std::string& name, int64_t id) {
    const auto transaction = begin();
    const auto table = database_->table(name);
    ASSERT_OK(table);
    ASSERT_OK((*table)->erase(*transaction, pair_key(**table, id)));
    ASSERT_OK(commit(*transaction));
  }
  void close() {
    ASSERT_OK(database_->close());
    database_.reset();
  }
  static std::vector<fs::path> files_in(const std::string& directory, const std::string& prefix) {
    std::vector<fs::path> result;
    for (const auto& file : fs::directory_iterator(directory)) {
      if (file.path().filename().string().starts_with(prefix)) result.push_back(file.path());
    }
    std::ranges::sort(result);
    return result;
  }
  std::vector<fs::path> files(const std::string& prefix) { return files_in(directory_.path(), prefix); }
  void expect_damaged(const std::string& name, const std::string& part_of_message) {
    const auto rows = read_table(*database_, name);
    ASSERT_FALSE(rows) << name << " can be read";
    EXPECT_EQ(rows.error().code(), ErrorCode::Corruption) << rows.error().message();
    EXPECT_NE(rows.error().message().find(part_of_message), std::string::npos) << rows.error().message();
  }
  Status check(const std::string& name) {
    const auto transaction = begin();
    HAILSTONE_ASSIGN(const auto table, database_->table(name));
    return table->check(*transaction, {});
  }
  /// The newest segment of the copy, which has another d/b, in place of this database's; then the copy goes.
  void expect_newest_segment_exchanged(const std::string& copy) {
    replace_content(files("segment-").back(), content_of(files_in(copy, "segment-").back()));
    open();
    expect_damaged("d/b", "exchanged");
    expect_rows("d/a", some_rows("of both"));
    close();
    fs::remove_all(copy);
  }
  /// Makes the closed database one of the program before files had identities.
  void make_old() {
    for (const fs::path& path : files("segment-")) make_old_segment(path);
    for (const fs::path& path : files("deletes-")) make_old_delete_vector(path);
    auto content = Manifest::load(posix_filesystem(), directory_.path());
    ASSERT_OK(content);
    ManifestRecords records;
    for (const auto& [id, stored] : (*content)->tables) records.add_table((*content)->read(stored));
    records.add_mark((*content)->mark);
    Counters counters;
    ASSERT_OK(Manifest(posix_filesystem(), directory_.path(), counters, 0, true).rewrite(std::move(records)));
  }
};

TEST_F(FileIdentityTest, ExchangedSegmentsAreFound) {
  open();
  make_table("d/a", some_rows("of a"));
  make_table("d/b", some_rows("of b"));
  make_table("d/c", some_rows("of c"));
  close();
  exchange(files("segment-")[0], files("segment-")[1]);
  open();
  expect_damaged("d/a", "exchanged");
  expect_damaged("d/b", "exchanged");
  expect_rows("d/c", some_rows("of c"));
  EXPECT_EQ(code_of(check("d/a")), ErrorCode::Corruption);
  close();
  exchange(files("segment-")[0], files("segment-")[1]);
  open();
  expect_rows("d/a", some_rows("of a"));
  expect_rows("d/b", some_rows("of b"));
}

TEST_F(FileIdentityTest, ExchangedDeleteVectorsAreFound) {
  open();
  make_table("d/a", some_rows("of a"));
  make_table("d/b", some_rows("of b"));
  erase("d/a", 1);
  erase("d/b", 2);
  close();
  ASSERT_EQ(files("deletes-").size(), 2U);
  exchange(files("deletes-")[0], files("deletes-")[1]);
  open();
  expect_damaged("d/a", "exchanged");
  expect_damaged("d/b", "exchanged");
}

TEST_F(FileIdentityTest, FilesOfAnotherDatabaseAreFound) {
  open();
  make_table("d/a", some_rows("of a"));
  erase("d/a", 1);
  close();
  const TemporaryDirectory kept;
  fs::copy(directory_.path(), kept.path());
  for (const auto& each : fs::directory_iterator(directory_.path())) fs::remove(each);
  open();
  make_table("d/a", some_rows("of another"));
  erase("d/a", 2);
  close();
  for (const std::string prefix : {"segment-", "deletes-"}) {
    ASSERT_EQ(files(prefix).size(), 1U);
    const fs::path here = files(prefix)[0], there = files_in(kept.path(), prefix)[0];
    ASSERT_EQ(here.filename(), there.filename());
    exchange(here, there);
    open();
    expect_damaged("d/a", "exchanged");
    close();
    exchange(here, there);
  }
  open();
  EXPECT_OK(check("d/a"));
}

TEST_F(FileIdentityTest, FilesOfTheCopyAreFound) {
  open();
  make_table("d/a", some_rows("of both"));
  const std::string copy = directory_.path() + "-copy";
  ASSERT_OK(database_->backup(copy));
  make_table("d/b", some_rows("of the first"));
  close();
  {
    auto second = Database::open(posix_filesystem(), copy, options());
    ASSERT_OK(second);
    database_ = std::move(*second);
    expect_rows("d/a", some_rows("of both"));
    make_table("d/b", some_rows("of the second"));
    close();
  }
  expect_newest_segment_exchanged(copy);
}

TEST_F(FileIdentityTest, FilesOfARestoredBackupAreFound) {
  open();
  make_table("d/a", some_rows("of both"));
  close();
  const std::string copy = directory_.path() + "-restored";
  ASSERT_OK(restore_database(posix_filesystem(), directory_.path(), copy, {}));
  for (const std::string& place : {directory_.path(), copy}) {
    auto opened = Database::open(posix_filesystem(), place, options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
    make_table("d/b", some_rows(place));
    close();
  }
  expect_newest_segment_exchanged(copy);
}

TEST_F(FileIdentityTest, OldFilesOpenAndGetTheirIdentityWhenRewritten) {
  open();
  make_table("d/a", some_rows("of a"));
  make_table("d/b", some_rows("of b"));
  erase("d/a", 1);
  close();
  make_old();
  open();
  Rows left = some_rows("of a");
  left.erase(1);
  expect_rows("d/a", left);
  EXPECT_OK(check("d/a"));
  ASSERT_OK((*database_->table("d/a"))->optimize({}));
  expect_rows("d/a", left);
  // What a transaction loads before the manifest is written is found again after a crash.
  make_table("d/c", some_rows("of c"));
  close();
  const std::string old = content_of(files("segment-")[0]);
  ASSERT_EQ(old.substr(0, segment_header_bytes), segment_header_1);  // of d/b
  open();
  expect_rows("d/a", left);
  expect_rows("d/b", some_rows("of b"));
  expect_rows("d/c", some_rows("of c"));
  make_table("d/e", some_rows("of e"));
  close();
  // A file that has an identity is not replaced by one without.
  replace_content(files("segment-").back(), old);
  open();
  expect_damaged("d/e", "does not say whose it is");
  expect_rows("d/b", some_rows("of b"));
}

TEST_F(FileIdentityTest, ACrashBeforeTheFirstManifestOfAnOldDatabaseLosesNothing) {
  open();
  make_table("d/a", some_rows("of a"));
  close();
  make_old();
  open();
  // A load is published by the log, and the manifest does not name the database yet.
  {
    const auto transaction = begin();
    const auto table = database_->table("d/a");
    ASSERT_OK(table);
    BulkLoad load(*table, *transaction);
    for (int64_t id = 10'000; id < 40'000; ++id) {
      ASSERT_OK(load.append(pair_values(id, std::string(200, 'l'))));
    }
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  database_->wait_for_background_work();
  const TemporaryDirectory crashed;
  fs::copy(directory_.path(), crashed.path());
  auto again = Database::open(posix_filesystem(), crashed.path(), options());
  ASSERT_OK(again);
  const auto rows = read_table(**again, "d/a");
  ASSERT_OK(rows);
  EXPECT_EQ(rows->size(), 33'000U);
  ASSERT_OK((*again)->close());
}

TEST_F(FileIdentityTest, CheckFindsNoDamageInATableThatIsMergedMeanwhile) {
  open();
  make_table("d/a", some_rows("of a"));
  erase("d/a", 1);
  ASSERT_OK(database_->checkpoint());
  ASSERT_EQ(files("deletes-").size(), 1U);
  const auto table = database_->table("d/a");
  ASSERT_OK(table);
  const auto transaction = begin();
  // The check has begun with the segment, and its delete vector is still to be read.
  Status merged;
  int stops = 0;
  EXPECT_OK((*table)->check(*transaction, [&] {
    if (stops++ == 0) merged = (*table)->optimize({});
    return false;
  }));
  EXPECT_OK(merged);
  EXPECT_GT(stops, 0);
  EXPECT_EQ(files("deletes-").size(), 0U);
  Rows left = some_rows("of a");
  left.erase(1);
  expect_rows("d/a", left);
}

TEST_F(FileIdentityTest, CheckFindsAFileThatWasReplacedWhileTheDatabaseIsOpen) {
  open();
  make_table("d/a", some_rows("of a"));
  make_table("d/b", some_rows("of b"));
  erase("d/a", 1);
  erase("d/b", 1);
  ASSERT_OK(database_->checkpoint());
  EXPECT_OK(check("d/a"));
  EXPECT_OK(check("d/b"));
  exchange(files("segment-")[0], files("segment-")[1]);
  EXPECT_EQ(code_of(check("d/a")), ErrorCode::Corruption);
  exchange(files("deletes-")[0], files("deletes-")[1]);
  exchange(files("segment-")[0], files("segment-")[1]);
  EXPECT_EQ(code_of(check("d/b")), ErrorCode::Corruption);
  exchange(files("deletes-")[0], files("deletes-")[1]);
}

}  // namespace
}  // namespace hailstone
