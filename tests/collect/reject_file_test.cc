#include "collect/reject_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

TEST(RejectFileTest, OfSeveralAllAreThereOrNone) {
  const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  FaultFilesystem filesystem(posix_filesystem(), 1);
  RejectFile file(filesystem, directory.file("rejects"));
  const Rejection one{.source = "a", .line = 1, .column = "c", .reason = "r", .record = "x"};
  const Rejection other{
      .source = "a", .line = 2, .column = "c", .reason = "r", .record = std::string(50, 'y')};
  const Rejection* const both[] = {&one, &other};
  // A delivery that finds the disk full comes again with all of them.
  for (uint64_t room = 0; room < 100; room += 9) {
    filesystem.set_free_bytes(room);
    const Status added = file.add(both);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code(), ErrorCode::DiskFull) << added.error().message();
  }
  EXPECT_EQ(file.count(), 0);
  filesystem.set_free_bytes(1'000'000);
  ASSERT_TRUE(file.add(both));
  ASSERT_TRUE(file.sync());
  EXPECT_EQ(file.count(), 2);
  std::ifstream written(directory.file("rejects"));
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
}

}  // namespace
}  // namespace hailstone
