// Files of a server: found, copied, compared.
#include "backup/file_tree.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/hash.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

class FileTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(from_ + "/shop/deep");
    ASSERT_TRUE(write_text(from_ + "/one", "1"));
    ASSERT_TRUE(write_text(from_ + "/shop/empty", ""));
    ASSERT_TRUE(write_text(from_ + "/shop/deep/large", large_));
  }
  TemporaryDirectory directory_;
  const std::string from_ = directory_.file("from"), to_ = directory_.file("to");
  const std::string large_ = std::string(3'000'000, 'x');
};

TEST_F(FileTreeTest, CopiesAreWhatWasRead) {
  auto files = files_below(from_);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 3U);
  EXPECT_EQ((*files)[0].path, "one");
  EXPECT_EQ((*files)[1].path, "shop/deep/large");
  EXPECT_EQ((*files)[1].bytes, large_.size());
  uint64_t told = 0;
  ASSERT_TRUE(copy_files(from_, to_, *files, 1, [&](uint64_t bytes) {
    told += bytes;
    return true;
  }));
  EXPECT_EQ(told, large_.size() + 1);
  EXPECT_EQ((*files)[1].checksum, checksum(large_));
  auto copies = files_below(to_);
  ASSERT_TRUE(copies);
  ASSERT_TRUE(read_checksums(to_, *copies, 4, {}));
  EXPECT_EQ(*copies, *files);
  ASSERT_TRUE(sync_folders(to_));
  // A copy never goes over what is there.
  EXPECT_FALSE(copy_files(from_, to_, *files, 4, {}));
  ASSERT_TRUE(remove_tree(to_));
  EXPECT_FALSE(std::filesystem::exists(to_));
}

TEST_F(FileTreeTest, LinksAreRefused) {
  std::filesystem::create_symlink("/etc/passwd", from_ + "/link");
  const auto files = files_below(from_);
  ASSERT_FALSE(files);
  EXPECT_TRUE(files.error().message().contains("/link")) << files.error().message();
  std::vector<FileFacts> link{{.path = "link", .bytes = 0, .checksum = 0}};
  EXPECT_FALSE(copy_files(from_, to_, link, 1, {}));
}

TEST_F(FileTreeTest, AnErrorOfAnyThreadIsTheResult) {
  std::vector<FileFacts> files = *files_below(from_);
  files.push_back({.path = "gone", .bytes = 0, .checksum = 0});
  const Status read = read_checksums(from_, files, 4, {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::NotFound);
  files.pop_back();
  const Status stopped = read_checksums(from_, files, 1, [](uint64_t) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::Interrupted);
}

}  // namespace
}  // namespace hailstone
