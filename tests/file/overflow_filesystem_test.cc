#include "file/overflow_filesystem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

class OverflowFilesystemTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& bytes) {
    auto file = filesystem_.create_whole(path);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE((*file)->append(bytes));
    ASSERT_TRUE((*file)->sync());
    ASSERT_TRUE((*file)->close());
  }
  std::string read(const std::string& path) {
    const auto file = filesystem_.open(path);
    if (!file) return "-";
    std::string bytes(static_cast<size_t>((*file)->size().value()), '\0');
    EXPECT_TRUE((*file)->read_at(0, bytes.size(), bytes.data()));
    return bytes;
  }
  bool on_disk(const std::string& path) { return std::filesystem::exists(path); }

  const TemporaryDirectory directory_;
  MemoryBudget budget_{10'000};
  OverflowFilesystem filesystem_{posix_filesystem(), budget_};
  const std::string first_ = directory_.file("first"), second_ = directory_.file("second"),
                    third_ = directory_.file("third");
};

TEST_F(OverflowFilesystemTest, FilesGoToTheDiskWhenMemoryIsFullAndComeBackWhenItIsNot) {
  const std::string much(20'000, 'm');
  write(first_, much);  // begun while there was room
  write(second_, "little");
  EXPECT_FALSE(on_disk(first_));
  EXPECT_TRUE(on_disk(second_));
  EXPECT_EQ(read(first_), much);
  EXPECT_EQ(read(second_), "little");
  EXPECT_EQ(filesystem_.file_size(first_).value(), much.size());
  EXPECT_EQ(filesystem_.file_size(second_).value(), 6u);
  EXPECT_GE(budget_.used(), much.size());
  const auto reader = filesystem_.open(first_);
  ASSERT_TRUE(filesystem_.remove(first_));
  EXPECT_FALSE(filesystem_.exists(first_));
  EXPECT_GT(budget_.used(), 0u);  // a reader holds it
  write(third_, "on the disk, too");
  EXPECT_TRUE(on_disk(third_));
}

TEST_F(OverflowFilesystemTest, WhatIsRemovedMakesRoom) {
  write(first_, std::string(20'000, 'm'));
  ASSERT_TRUE(filesystem_.remove(first_));
  EXPECT_EQ(budget_.used(), 0u);
  write(second_, "in memory");
  EXPECT_FALSE(on_disk(second_));
  ASSERT_TRUE(filesystem_.rename(second_, third_));
  EXPECT_EQ(read(third_), "in memory");
  EXPECT_EQ(read(second_), "-");
  budget_.set_limit(0);
  write(second_, "on the disk");
  EXPECT_TRUE(on_disk(second_));
  ASSERT_TRUE(filesystem_.remove(second_));
  EXPECT_FALSE(on_disk(second_));
  EXPECT_FALSE(filesystem_.remove(second_));
}

TEST_F(OverflowFilesystemTest, NothingIsSynced) {
  FaultFilesystem faults(posix_filesystem());
  OverflowFilesystem filesystem(faults, budget_);
  budget_.set_limit(0);
  const auto file = filesystem.create(first_);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->append("bytes"));
  faults.add_rule({});
  EXPECT_TRUE((*file)->sync());
  EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
  EXPECT_FALSE(filesystem.create(second_));
}

}  // namespace
}  // namespace hailstone
