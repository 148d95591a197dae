// Spill files that a crash has left.
#include <filesystem>
#include <fstream>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

TEST(SpillLeftoversTest, AreRemovedWhenTheDatabaseIsOpened) {
  TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  FaultFilesystem filesystem(posix_filesystem());
  const std::string path = directory.file("database");
  std::vector<std::string> messages;
  const DatabaseOptions options{
      .logger = [&](DatabaseOptions::Severity, const std::string& message) { messages.push_back(message); }};
  ASSERT_OK(Database::open(filesystem, path, options));
  const std::string leftover = path + "/spill-00000000000000af", other = path + "/spill-of-somebody";
  for (const std::string& name : {leftover, other}) std::ofstream(name) << "bytes";
  // One that cannot be removed hinders nothing.
  filesystem.add_rule({.call = FaultFilesystem::Call::Remove, .path_part = "spill-"});
  ASSERT_OK(Database::open(filesystem, path, options));
  EXPECT_TRUE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::ranges::any_of(messages, [&](const std::string& message) {
    return message.find("could not be removed") != std::string::npos &&
           message.find(leftover) != std::string::npos;
  }));
  filesystem.clear_rules();
  ASSERT_OK(Database::open(filesystem, path, options));
  EXPECT_FALSE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace hailstone
