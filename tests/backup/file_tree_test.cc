// Files of a server: found, copied, compared.
#include "backup/file_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

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
  FolderTarget target(to_);
  ASSERT_TRUE(copy_files(from_, target, "", *files, 1, [&](uint64_t bytes) {
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
  EXPECT_FALSE(copy_files(from_, target, "", *files, 4, {}));
  ASSERT_TRUE(remove_tree(to_));
  EXPECT_FALSE(std::filesystem::exists(to_));
}

TEST_F(FileTreeTest, LinksAreRefused) {
  std::filesystem::create_symlink("/etc/passwd", from_ + "/link");
  const auto files = files_below(from_);
  ASSERT_FALSE(files);
  EXPECT_TRUE(files.error().message().contains("/link")) << files.error().message();
  std::vector<StoredFile> link{{.path = "link", .bytes = 0, .checksum = 0}};
  FolderTarget target(to_);
  EXPECT_FALSE(copy_files(from_, target, "", link, 1, {}));
}

TEST_F(FileTreeTest, AnErrorOfAnyThreadIsTheResult) {
  std::vector<StoredFile> files = *files_below(from_);
  files.push_back({.path = "gone", .bytes = 0, .checksum = 0});
  const Status read = read_checksums(from_, files, 4, {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::NotFound);
  files.pop_back();
  const Status stopped = read_checksums(from_, files, 1, [](uint64_t) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::Interrupted);
}

/// Bytes that no compression makes less of.
std::string noise(size_t bytes) {
  std::mt19937_64 random(5);
  std::string text;
  while (text.size() < bytes) text.push_back(static_cast<char>(random()));
  return text;
}

class CompressedFilesTest : public FileTreeTest {
 protected:
  void SetUp() override {
    FileTreeTest::SetUp();
    ASSERT_TRUE(write_text(from_ + "/noise", noise(2'500'000)));
    ASSERT_TRUE(write_text(from_ + "/shop/plain", large_));
    ASSERT_TRUE(write_text(from_ + "/shop/always", "1"));
    files_ = *files_below(from_);
    ASSERT_TRUE(read_checksums(from_, files_, 1, {}));
    compressed_ = files_;
    FolderTarget target(to_, 3, [](const std::string& path) {
      return path.ends_with("plain")    ? StoredForm::AsItIs
             : path.ends_with("always") ? StoredForm::Compressed
                                        : StoredForm::Smaller;
    });
    ASSERT_TRUE(copy_files(from_, target, "", compressed_, 4, {}));
  }
  const StoredFile& compressed(const std::string& path) const {
    return *std::ranges::find(compressed_, path, &StoredFile::path);
  }
  std::vector<StoredFile> files_, compressed_;
};

TEST_F(CompressedFilesTest, AreStoredByWhatIsSaved) {
  for (size_t i = 0; i < files_.size(); ++i) EXPECT_TRUE(has_same_bytes(files_[i], compressed_[i]));
  const auto stored = files_below(to_);
  ASSERT_TRUE(stored);
  std::vector<std::string> names;
  for (const StoredFile& file : *stored) names.push_back(file.path);
  EXPECT_EQ(names, (std::vector<std::string>{"noise", "one", "shop/always.zst", "shop/deep/large.zst",
                                             "shop/empty", "shop/plain"}));
  EXPECT_EQ(compressed("noise").zstd_bytes, std::nullopt);
  EXPECT_LT(compressed("shop/deep/large").zstd_bytes, 1000U);
  EXPECT_EQ(compressed("shop/deep/large").zstd_bytes,
            std::filesystem::file_size(to_ + "/shop/deep/large.zst"));
}

TEST_F(CompressedFilesTest, AreReadAsTheyWere) {
  auto read = compressed_;
  ASSERT_TRUE(read_checksums(to_, read, 4, {}));
  EXPECT_EQ(read, compressed_);
  const std::string restored = directory_.file("restored");
  FolderTarget target(restored);
  ASSERT_TRUE(copy_files(to_, target, "", read, 4, {}));
  EXPECT_EQ(read, files_);
  auto there = *files_below(restored);
  ASSERT_TRUE(read_checksums(restored, there, 1, {}));
  EXPECT_EQ(there, files_);
}

/// Each byte of a compressed file that is another one, each end: an error, or the bytes are the same.
TEST_F(CompressedFilesTest, DamageIsFound) {
  const StoredFile& file = compressed("shop/deep/large");
  const std::string path = to_ + "/" + stored_path(file);
  const std::string whole = *read_text(path);
  const auto expect_found = [&](const std::string& bytes) {
    ASSERT_TRUE(write_text(path, bytes));
    std::vector<StoredFile> read{file};
    const Status status = read_checksums(to_, read, 1, {});
    if (!status) {
      EXPECT_EQ(status.error().code(), ErrorCode::Corruption) << status.error().message();
    }
    EXPECT_TRUE(!status || !has_same_bytes(read[0], file) || bytes.size() == whole.size());
  };
  size_t found = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    expect_found(bytes);
    std::vector<StoredFile> read{file};
    if (!read_checksums(to_, read, 1, {}) || !has_same_bytes(read[0], file)) ++found;
    expect_found(whole.substr(0, i));
  }
  EXPECT_GT(found, whole.size() * 9 / 10);  // some bits of a frame's head mean nothing
  expect_found(whole + "x");
  expect_found(whole + whole);
}

}  // namespace
}  // namespace hailstone
