#include "file/overlay_filesystem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "base/test_seed.h"

namespace hailstone {
namespace {

using Files = std::map<std::string, std::string>;

std::string content(Filesystem& filesystem, const std::string& path) {
  const auto file = filesystem.open(path);
  EXPECT_TRUE(file) << path;
  if (!file) return {};
  const uint64_t size = (*file)->size().value();
  EXPECT_EQ(filesystem.file_size(path), size);
  std::string bytes(static_cast<size_t>(size), '\0');
  EXPECT_TRUE((*file)->read_at(0, bytes.size(), bytes.data()));
  EXPECT_FALSE((*file)->read_at(size, 1, bytes.data()));
  return bytes;
}

Files contents(Filesystem& filesystem) {
  Files files;
  const auto names = filesystem.list("d");
  EXPECT_TRUE(names);
  for (const std::string& name : *names) {
    EXPECT_TRUE(filesystem.exists("d/" + name));
    EXPECT_TRUE(files.emplace("d/" + name, content(filesystem, "d/" + name)).second) << name;
  }
  return files;
}

TEST(OverlayFilesystemTest, ShowsChangesAndLeavesWhatIsBelow) {
  const uint64_t seed = test_seed(std::random_device{}());
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto random_bytes = [&] {
    return std::string(static_cast<size_t>(random() % 9000), static_cast<char>('a' + random() % 26));
  };
  MemoryFilesystem below;
  ASSERT_TRUE(below.make_directory("d"));
  Files before;
  for (int i = 0; i < 3; ++i) {
    const std::string path = "d/" + std::to_string(i);
    before[path] = random_bytes();
    const auto file = below.create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->append(before[path]));
    ASSERT_TRUE((*file)->close());
  }
  for (int pass = 0; pass < 20; ++pass) {
    OverlayFilesystem overlay(below);
    Files model = before;
    for (int round = 0; round < 100; ++round) {
      const std::string path = "d/" + std::to_string(random() % 5);
      const std::string other = "d/" + std::to_string(random() % 5);
      const bool there = model.contains(path);
      switch (random() % 6) {
        case 0: {
          const auto file = overlay.create(path);
          ASSERT_TRUE(file);
          model[path] = random_bytes();
          ASSERT_TRUE((*file)->append(model[path]));
          break;
        }
        case 1: {
          const auto file = overlay.append_to(path);
          ASSERT_EQ(file.has_value(), there);
          if (!there) break;
          const std::string bytes = random_bytes();
          ASSERT_TRUE((*file)->preallocate(1000));
          ASSERT_TRUE((*file)->append(bytes));
          ASSERT_TRUE((*file)->sync());
          model[path] += bytes;
          EXPECT_EQ((*file)->size(), model[path].size());
          break;
        }
        case 2: {
          const uint64_t size = there ? random() % (model[path].size() + 1) : 0;
          ASSERT_EQ(overlay.truncate(path, size).has_value(), there);
          if (there) model[path].resize(size);
          break;
        }
        case 3:
          ASSERT_EQ(overlay.rename(path, other).has_value(), there);
          if (!there || path == other) break;
          model[other] = model[path];
          model.erase(path);
          break;
        case 4:
          ASSERT_EQ(overlay.remove(path).has_value(), model.erase(path) == 1);
          break;
        default:
          ASSERT_EQ(contents(overlay), model);
          ASSERT_EQ(overlay.exists(path), there);
          ASSERT_EQ(overlay.open_plain(path).has_value(), there);
          break;
      }
    }
    EXPECT_EQ(contents(overlay), model);
    EXPECT_EQ(contents(below), before);
  }
}

TEST(OverlayFilesystemTest, MakesNoDirectories) {
  MemoryFilesystem below;
  ASSERT_TRUE(below.make_directory("d"));
  OverlayFilesystem overlay(below);
  EXPECT_TRUE(overlay.make_directory("d"));
  EXPECT_FALSE(overlay.make_directory("e"));
  EXPECT_FALSE(overlay.remove_directory("d"));
  EXPECT_FALSE(below.exists("e"));
}

}  // namespace
}  // namespace hailstone
