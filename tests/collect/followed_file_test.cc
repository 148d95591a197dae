#include "collect/followed_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

/// A file that has been renamed.
class FollowedFileTest : public testing::Test {
 protected:
  FollowedFileTest() : directory_(TemporaryDirectory::Place::Memory), stop_(std::move(*Stop::make())) {}

  void write(const std::string& text) { std::ofstream(directory_.file("old"), std::ios::app) << text; }

  /// All that is read of it until it ends; each wait calls `meanwhile`.
  std::string read(uint64_t offset, std::optional<FollowedFile::Quiet> quiet,
                   const std::function<void()>& meanwhile) {
    auto file = FollowedFile::open(directory_.file("old"), {.offset = offset,
                                                            .end = FollowedFile::End::Renamed,
                                                            .stop = stop_.get(),
                                                            .before_wait =
                                                                [&] {
                                                                  ++waits_;
                                                                  meanwhile();
                                                                  return Status();
                                                                },
                                                            .quiet = quiet});
    EXPECT_TRUE(file);
    std::string all;
    char piece[16];
    for (;;) {
      const auto size = (*file)->read(piece, sizeof piece);
      EXPECT_TRUE(size);
      if (!size || *size == 0) return all;
      all.append(piece, *size);
    }
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Stop> stop_;
  int waits_ = 0;
};

const FollowedFile::Clock::duration hour = std::chrono::hours(1);

TEST_F(FollowedFileTest, ARenamedFileIsWaitedForUntilItDidNotGrowForSomeTime) {
  write("first line of the file\n");
  EXPECT_EQ(read(6, {},
                 [this] {
                   if (waits_ == 2) write("late\n");
                 }),
            "line of the file\nlate\n");
  EXPECT_GT(waits_, 10);
}

TEST_F(FollowedFileTest, ARenamedFileThatWasQuietIsNotWaitedFor) {
  write("first line of the file\n");
  const FollowedFile::Quiet quiet{.bytes = 23, .since = FollowedFile::Clock::now() - hour};
  EXPECT_EQ(read(0, quiet, [] {}), "first line of the file\n");
  EXPECT_EQ(waits_, 0);
}

TEST_F(FollowedFileTest, ARenamedFileThatHasGrownSinceItWasSeenIsWaitedFor) {
  write("first line of the file\n");
  const FollowedFile::Quiet quiet{.bytes = 22, .since = FollowedFile::Clock::now() - hour};
  EXPECT_EQ(read(0, quiet,
                 [this] {
                   if (waits_ == 2) write("late\n");
                 }),
            "first line of the file\nlate\n");
}

TEST_F(FollowedFileTest, WhatComesDuringALongWaitIsRead) {
  write("first\n");
  // As while the spool is full.
  const auto wait_long = [this] {
    if (waits_ > 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    write("late\n");
  };
  EXPECT_EQ(read(0, {}, wait_long), "first\nlate\n");
}

}  // namespace
}  // namespace hailstone
