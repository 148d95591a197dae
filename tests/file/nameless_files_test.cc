#include "file/nameless_files.h"

#include <gtest/gtest.h>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

TEST(NamelessFilesTest, HaveNoNameAndAreThereUntilTheyAreRemoved) {
  const TemporaryDirectory directory;
  NamelessFiles files;
  const std::string one = directory.path() + "/one", other = directory.path() + "/other";
  for (const std::string& path : {one, other}) {
    const auto writer = files.create(path);
    ASSERT_TRUE(writer) << writer.error().message();
    ASSERT_TRUE((*writer)->append("the bytes of " + path));
    ASSERT_TRUE((*writer)->append("!"));
    ASSERT_TRUE((*writer)->close());
  }
  EXPECT_EQ(files.list(directory.path()).value(), std::vector<std::string>());
  const auto reader = files.open(other);
  ASSERT_TRUE(reader) << reader.error().message();
  const std::string wanted = "the bytes of " + other + "!";
  EXPECT_EQ((*reader)->size().value(), wanted.size());
  ASSERT_TRUE(files.remove(other));
  EXPECT_EQ(files.open(other).error().code(), ErrorCode::NotFound);
  // An open one goes on being read.
  std::string bytes(wanted.size(), '\0');
  ASSERT_TRUE((*reader)->read_at(0, bytes.size(), bytes.data()));
  EXPECT_EQ(bytes, wanted);
  EXPECT_TRUE(files.open(one));
}

TEST(NamelessFilesTest, AFolderThatIsNotThereIsNamed) {
  NamelessFiles files;
  const auto made = files.create("/nowhere/at/all/file");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("/nowhere/at/all"), std::string::npos) << made.error().message();
}

}  // namespace
}  // namespace hailstone
