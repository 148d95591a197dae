// Databases that lie where nothing can be written: what they hold can be read and checked, and nothing of
// them changes.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "database/database_fixture.h"
#include "file/forwarding_filesystem.h"
#include "file/io_error.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

/// As a filesystem that is mounted read-only.
class UnwritableFilesystem final : public ForwardingFilesystem {
 public:
  UnwritableFilesystem() : ForwardingFilesystem(posix_filesystem()) {}
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override {
    return refused(path);
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override { return refused(path); }
  Status rename(const std::string& from, const std::string&) override { return refused(from); }
  Status remove(const std::string& path) override { return refused(path); }
  Status link(const std::string& from, const std::string&) override { return refused(from); }
  Status truncate(const std::string& path, uint64_t) override { return refused(path); }
  Status make_directory(const std::string& path) override { return exists(path) ? Status() : refused(path); }
  Status remove_directory(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    return refused(path);
  }

 private:
  static std::unexpected<Error> refused(const std::string& path) {
    return std::unexpected(io_error("write to", path, EROFS));
  }
};

class ReadOnlyTest : public DatabaseTest {
 protected:
  void SetUp() override {
    open();
    create("d/t");
    create("d/renamed");
    for (int64_t id = 0; id < 2000; ++id) rows_[id] = std::string(50, static_cast<char>('a' + id % 20));
    put_rows("d/t", rows_);
    ASSERT_OK((*database_->table("d/t"))->flush(true));
    ASSERT_OK(database_->checkpoint());
    put_rows("d/t", {{5, "changed"}, {5000, "in the log"}});
    rows_[5] = "changed";
    rows_[5000] = "in the log";
    {
      const auto transaction = begin();
      ASSERT_OK(database_->rename_table(*transaction, "d/renamed", "d/other"));
      ASSERT_OK(commit(*transaction));
    }
    // As a crash would leave it: closing leaves nothing in the log.
    fs::copy(directory_.path(), crashed_.path(), fs::copy_options::recursive);
    std::ofstream(crashed_.file("segment-00000000000000ff")) << "left behind by the crash";
    ASSERT_OK(database_->close());
    database_.reset();
    options_.read_only = true;
  }

  void open_crashed() {
    auto opened = Database::open(filesystem_, crashed_.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    for (const auto& each : fs::directory_iterator(crashed_.path())) {
      std::ifstream file(each.path(), std::ios::binary);
      result[each.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return result;
  }

  UnwritableFilesystem filesystem_;
  TemporaryDirectory crashed_;
  Rows rows_;
};

TEST_F(ReadOnlyTest, HasWhatTheLogHolds) {
  const auto before = files();
  for (int i = 0; i < 2; ++i) {
    open_crashed();
    EXPECT_EQ(database_->table_names(), (std::vector<std::string>{"d/other", "d/t"}));
    expect_rows("d/t", rows_);
    {
      const auto transaction = begin();
      EXPECT_OK((*database_->table("d/t"))->check(*transaction, {}));
    }
    EXPECT_OK(database_->close());
    database_.reset();
    EXPECT_EQ(files(), before);
  }
}

TEST_F(ReadOnlyTest, NeedsNoLockFile) {
  fs::remove(crashed_.file("lock"));
  open_crashed();
  expect_rows("d/t", rows_);
  EXPECT_FALSE(fs::exists(crashed_.file("lock")));
}

TEST_F(ReadOnlyTest, HoldsMoreOfTheLogThanMemoryHasRoomFor) {
  options_.read_only = false;
  open();
  create("d/big");
  Rows rows;
  for (int64_t id = 0; id < 20'000; ++id) rows[id] = std::string(1000, static_cast<char>('a' + id % 20));
  put_rows("d/big", rows);
  const TemporaryDirectory big;
  fs::copy(directory_.path(), big.path(), fs::copy_options::recursive);
  ASSERT_OK(database_->close());
  database_.reset();
  options_.memory_budget = size_t{16} << 20;
  options_.read_only = true;
  auto opened = Database::open(filesystem_, big.path(), options());
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  expect_rows("d/big", rows);
}

TEST_F(ReadOnlyTest, RefusesChanges) {
  open_crashed();
  const auto transaction = begin();
  EXPECT_EQ(code_of(database_->create_table(*transaction, pair_definition("d/new"))), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->drop_table(*transaction, "d/t")), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->rename_table(*transaction, "d/t", "d/u")), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->truncate_table(*transaction, "d/t")), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->checkpoint()), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->backup(directory_.file("backup"))), ErrorCode::Unsupported);
  EXPECT_EQ(code_of(database_->expire_rows()), ErrorCode::Unsupported);
}

TEST_F(ReadOnlyTest, IsRefusedWhileADatabaseIsOpenThere) {
  open_crashed();
  // Others may read it, too.
  EXPECT_OK(Database::open(filesystem_, crashed_.path(), options()));
  database_.reset();
  options_.read_only = false;
  auto writer = Database::open(posix_filesystem(), crashed_.path(), options());
  ASSERT_OK(writer);
  options_.read_only = true;
  EXPECT_EQ(code_of(Database::open(filesystem_, crashed_.path(), options())), ErrorCode::Busy);
}

TEST_F(ReadOnlyTest, MakesNoDatabase) {
  const TemporaryDirectory empty;
  EXPECT_EQ(code_of(Database::open(filesystem_, empty.path(), options())), ErrorCode::NotFound);
  EXPECT_EQ(code_of(Database::open(filesystem_, empty.file("none"), options())), ErrorCode::NotFound);
  EXPECT_TRUE(fs::is_empty(empty.path()));
}

}  // namespace
}  // namespace hailstone
