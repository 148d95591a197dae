#include "file/spill_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/test_seed.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

class SpillFileTest : public testing::Test {
 protected:
  std::unique_ptr<SpillFile> create() {
    auto file = space_.create();
    EXPECT_TRUE(file);
    return std::move(*file);
  }

  TemporaryDirectory directory_{TemporaryDirectory::Place::Memory};
  FaultFilesystem filesystem_{posix_filesystem()};
  Counters counters_;
  SpillSpace space_{filesystem_, directory_.path(), counters_, 0};
};

TEST_F(SpillFileTest, GivesBackWhatItGot) {
  std::mt19937_64 random(test_seed(3));
  auto file = create();
  std::vector<std::pair<SpilledFrame, std::string>> frames;
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % (i % 10 == 0 ? 300'000 : 3000), '\0');
    // Some can be made smaller, some cannot.
    const uint64_t values = random() % 2 == 0 ? 3 : 256;
    for (char& byte : bytes) byte = static_cast<char>(random() % values);
    const auto frame = file->append(bytes);
    ASSERT_TRUE(frame);
    frames.emplace_back(*frame, std::move(bytes));
  }
  ASSERT_TRUE(file->finish());
  EXPECT_TRUE(SpillSpace::is_spill_name(std::filesystem::path(file->path()).filename().string()));
  EXPECT_EQ(std::filesystem::file_size(file->path()), space_.bytes());
  EXPECT_EQ(counters_.spill_write_bytes.load(), space_.bytes());
  EXPECT_EQ(counters_.spill_bytes.load(), space_.bytes());
  std::ranges::shuffle(frames, random);
  std::string scratch, read;
  for (const auto& [frame, bytes] : frames) {
    ASSERT_TRUE(file->read(frame, scratch, read));
    ASSERT_EQ(read, bytes);
  }
  const std::string path = file->path();
  file.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(space_.bytes(), 0);
  EXPECT_EQ(counters_.spill_bytes.load(), 0);
}

TEST_F(SpillFileTest, TellsEachWrongByte) {
  auto file = create();
  ASSERT_TRUE(file->append("in front"));
  const auto frame = file->append(std::string(200, 'x') + "some bytes");
  ASSERT_TRUE(file->finish());
  std::string scratch, read;
  const auto expect_damage = [&] {
    const Status status = file->read(*frame, scratch, read);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::Io);
    EXPECT_NE(status.error().message().find(file->path()), std::string::npos);
    EXPECT_NE(status.error().message().find("offset " + std::to_string(frame->offset)), std::string::npos);
  };
  for (int i = 0; i < 300; ++i) {
    filesystem_.add_rule({.call = FaultFilesystem::Call::Read, .effect = FaultFilesystem::Effect::FlipBit});
    expect_damage();
    filesystem_.clear_rules();
  }
  ASSERT_TRUE(file->read(*frame, scratch, read));
  std::filesystem::resize_file(file->path(), frame->offset + 10);
  expect_damage();
}

TEST_F(SpillFileTest, StaysWithinTheLimit) {
  space_.set_limit(200'000);
  std::mt19937_64 random(test_seed(4));
  const auto noise = [&] {
    std::string bytes(90'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  auto file = create();
  ASSERT_TRUE(file->append(noise()));
  auto other = create();
  ASSERT_TRUE(other->append(noise()));
  const auto refused = other->append(noise());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::DiskFull);
  EXPECT_NE(refused.error().message().find("spill_limit"), std::string::npos);
  EXPECT_NE(refused.error().message().find(other->path()), std::string::npos);
  // The end of one makes room for others.
  file.reset();
  auto third = create();
  EXPECT_TRUE(third->append(noise()));
  EXPECT_LE(space_.bytes(), 200'000);
}

TEST_F(SpillFileTest, LeavesNothingWhereItFails) {
  filesystem_.add_rule({.call = FaultFilesystem::Call::Create});
  EXPECT_FALSE(space_.create());
  filesystem_.clear_rules();
  for (const auto call :
       {FaultFilesystem::Call::Append, FaultFilesystem::Call::Close, FaultFilesystem::Call::Open}) {
    filesystem_.add_rule({.call = call, .effect = FaultFilesystem::Effect::Tear});
    auto file = create();
    EXPECT_TRUE(file->append("a few bytes"));
    EXPECT_FALSE(file->finish());
    file.reset();
    filesystem_.clear_rules();
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
    EXPECT_EQ(space_.bytes(), 0);
  }
}

TEST_F(SpillFileTest, KnowsItsNames) {
  EXPECT_TRUE(SpillSpace::is_spill_name("spill-00000000000000af"));
  for (const char* other : {"spill-", "spill-1", "spill-00000000000000aF", "spill-00000000000000af1",
                            "segment-00000000000000af", "log-0000000000000000", "manifest"}) {
    EXPECT_FALSE(SpillSpace::is_spill_name(other)) << other;
  }
}

}  // namespace
}  // namespace hailstone
