#include "database/server_folder.h"

#include <gtest/gtest.h>

#include "file/memory_filesystem.h"

namespace hailstone {
namespace {

class ServerFolderTest : public ::testing::Test {
 protected:
  void make(const std::string& directory) {
    ASSERT_TRUE(filesystem_.make_directory(directory));
    ASSERT_TRUE(filesystem_.create(directory + "/manifest"));
  }

  MemoryFilesystem filesystem_;
};

TEST_F(ServerFolderTest, IsTheOneThatHoldsADatabase) {
  ASSERT_TRUE(filesystem_.make_directory("/d"));
  EXPECT_EQ(*find_server_folder(filesystem_, "/d"), "/d/#hailstone");
  ASSERT_TRUE(filesystem_.make_directory("/d/hailstone"));  // a database of the server's
  EXPECT_EQ(*find_server_folder(filesystem_, "/d"), "/d/#hailstone");
  make("/d/hailstone");
  EXPECT_EQ(*find_server_folder(filesystem_, "/d"), "/d/hailstone");
  make("/d/#hailstone");
  const auto both = find_server_folder(filesystem_, "/d");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code(), ErrorCode::InvalidArgument);
}

TEST_F(ServerFolderTest, ADatabaseIsItselfAndElseTheServers) {
  ASSERT_TRUE(filesystem_.make_directory("/d"));
  EXPECT_EQ(*find_database(filesystem_, "/d"), "/d");
  make("/d/#hailstone");
  EXPECT_EQ(*find_database(filesystem_, "/d"), "/d/#hailstone");
  EXPECT_EQ(*find_database(filesystem_, "/d//"), "/d/#hailstone");
  EXPECT_EQ(*find_database(filesystem_, "/d/#hailstone"), "/d/#hailstone");
  make("/d/hailstone");
  const auto both = find_database(filesystem_, "/d");
  ASSERT_FALSE(both);
  for (const char* named : {"'/d/#hailstone'", "'/d/hailstone'"})
    EXPECT_TRUE(both.error().message().contains(named)) << both.error().message();
  EXPECT_EQ(*find_database(filesystem_, "/d/hailstone"), "/d/hailstone");
  make("/d");
  EXPECT_EQ(*find_database(filesystem_, "/d"), "/d");
}

}  // namespace
}  // namespace hailstone
