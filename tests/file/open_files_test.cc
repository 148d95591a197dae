// More files than descriptors: those that nobody reads are closed, and opened again when they are read.
#include "file/open_files.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/test_seed.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

constexpr size_t file_count = 20;

class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < file_count; ++i) {
      const auto file = posix_filesystem().create(path(i));
      ASSERT_TRUE(file);
      ASSERT_TRUE((*file)->append(content(i)));
    }
  }
  std::string path(size_t i) const { return directory_.file("file" + std::to_string(i)); }
  static std::string content(size_t i) { return "content of file number " + std::to_string(i); }
  static Status expect_content(const RandomAccessFile& file, size_t i) {
    HAILSTONE_ASSIGN(const uint64_t size, file.size());
    EXPECT_EQ(size, content(i).size());
    std::string bytes(content(i).size(), '\0');
    HAILSTONE_TRY(file.read_at(0, bytes.size(), bytes.data()));
    EXPECT_EQ(bytes, content(i));
    return {};
  }

  TemporaryDirectory directory_{TemporaryDirectory::Place::Memory};
  FaultFilesystem faults_{posix_filesystem()};
};
using OpenFilesConcurrentTest = OpenFilesTest;

TEST_F(OpenFilesTest, KeepsToItsLimit) {
  OpenFiles files(faults_, 4);
  std::vector<std::unique_ptr<RandomAccessFile>> open;
  for (size_t i = 0; i < file_count; ++i) {
    auto file = files.open(path(i));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ((*file)->path(), path(i));
    open.push_back(std::move(*file));
    EXPECT_LE(files.open_count(), 4U);
  }
  std::mt19937_64 random(test_seed(1));
  for (int i = 0; i < 1000; ++i) {
    const size_t number = random() % file_count;
    ASSERT_TRUE(expect_content(*open[number], number));
    EXPECT_LE(files.open_count(), 4U);
    if (i == 500) files.set_limit(2);
    EXPECT_LE(files.open_count(), i > 500 ? 2U : 4U);
  }
  open.clear();
  EXPECT_EQ(files.open_count(), 0U);
}

TEST_F(OpenFilesTest, GivesDescriptorsBackWhenThereAreNone) {
  OpenFiles files(faults_, 100);
  std::vector<std::unique_ptr<RandomAccessFile>> open;
  for (size_t i = 0; i < 10; ++i) open.push_back(std::move(*files.open(path(i))));
  using Call = FaultFilesystem::Call;
  const auto once = [&](Call call) { faults_.add_rule({.call = call, .times = 1, .error_number = EMFILE}); };
  once(Call::Open);
  EXPECT_TRUE(files.open(path(10)));
  EXPECT_LE(files.open_count(), 6U);
  once(Call::Create);
  EXPECT_TRUE(files.create(path(11)));
  once(Call::AppendTo);
  EXPECT_TRUE(files.append_to(path(12)));
  // Other failures are not tried again, and neither is this one when nothing can be given back.
  faults_.add_rule({.call = Call::Open, .times = 1, .error_number = EIO});
  EXPECT_EQ(files.open(path(13)).error().system_error(), EIO);
  open.clear();
  once(Call::Open);
  EXPECT_EQ(files.open(path(13)).error().system_error(), EMFILE);
  EXPECT_TRUE(files.open(path(13)));
}

TEST_F(OpenFilesTest, AFileThatCannotBeOpenedAgainFailsThatReadOnly) {
  OpenFiles files(faults_, 1);
  const auto first = files.open(path(0));
  const auto second = files.open(path(1));
  ASSERT_TRUE(first && second);
  faults_.add_rule({.call = FaultFilesystem::Call::Open, .times = 1, .error_number = EIO});
  EXPECT_EQ(expect_content(**first, 0).error().system_error(), EIO);
  EXPECT_TRUE(expect_content(**first, 0));
}

TEST_F(OpenFilesConcurrentTest, ThreadsShareFewDescriptors) {
  OpenFiles files(posix_filesystem(), 3);
  std::vector<std::unique_ptr<RandomAccessFile>> shared;
  for (size_t i = 0; i < file_count; ++i) shared.push_back(std::move(*files.open(path(i))));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(test_seed(t));
      for (int i = 0; i < 2000; ++i) {
        const size_t number = random() % file_count;
        EXPECT_TRUE(expect_content(*shared[number], number));
        if (i % 50 != 0) continue;
        const auto own = files.open(path(number));
        EXPECT_TRUE(own && expect_content(**own, number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.clear();
  EXPECT_EQ(files.open_count(), 0U);
}

}  // namespace
}  // namespace hailstone
