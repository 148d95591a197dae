#include "file/memory_filesystem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "base/test_seed.h"

namespace hailstone {
namespace {

std::string content(Filesystem& filesystem, const std::string& path) {
  const auto file = filesystem.open(path);
  EXPECT_TRUE(file);
  const uint64_t size = (*file)->size().value();
  std::string bytes(static_cast<size_t>(size), '\0');
  EXPECT_TRUE((*file)->read_at(0, bytes.size(), bytes.data()));
  return bytes;
}

TEST(MemoryFilesystemTest, FilesHoldWhatWasWrittenWhateverThePieces) {
  const uint64_t seed = test_seed(std::random_device{}());
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  MemoryBudget budget(size_t{1} << 20);
  {
    MemoryFilesystem filesystem(&budget);
    std::map<std::string, std::string> model;
    for (int round = 0; round < 2000; ++round) {
      const std::string path = "d/" + std::to_string(random() % 4);
      const auto known = model.find(path);
      const auto append = [&](WritableFile& file) {
        const std::string bytes(static_cast<size_t>(random() % (random() % 8 == 0 ? 3'000'000 : 9000)),
                                static_cast<char>('a' + random() % 26));
        EXPECT_TRUE(file.append(bytes));
        model[path] += bytes;
        EXPECT_EQ(file.size(), model[path].size());
        if (random() % 2 == 0) {
          EXPECT_TRUE(file.close());
        }
      };
      switch (random() % 8) {
        case 0: {
          const auto file = filesystem.create(path);
          ASSERT_TRUE(file);
          model[path].clear();
          append(**file);
          break;
        }
        case 1: {
          EXPECT_EQ(filesystem.remove(path).has_value(), model.erase(path) == 1);
          break;
        }
        case 2: {
          const std::string to = "d/" + std::to_string(random() % 4);
          const bool there = known != model.end();
          EXPECT_EQ(filesystem.rename(path, to).has_value(), there);
          if (there && to != path) {
            model[to] = known->second;
            model.erase(path);
          }
          break;
        }
        case 3: {
          if (known == model.end()) break;
          const size_t size = static_cast<size_t>(random() % (known->second.size() + 1));
          EXPECT_TRUE(filesystem.truncate(path, size));
          known->second.resize(size);
          break;
        }
        case 4: {
          if (known == model.end() || known->second.empty()) break;
          const auto file = filesystem.open(path);
          ASSERT_TRUE(file);
          const size_t offset = static_cast<size_t>(random() % known->second.size());
          const size_t size = static_cast<size_t>(random() % (known->second.size() - offset + 1));
          std::string bytes(size, '\0');
          ASSERT_TRUE((*file)->read_at(offset, size, bytes.data()));
          ASSERT_EQ(bytes, known->second.substr(offset, size));
          if (const char* const lent = (*file)->lent(offset, size)) {
            ASSERT_EQ(std::string_view(lent, size), bytes);
          }
          const size_t beyond = known->second.size() - offset + 1;
          bytes.resize(beyond);
          EXPECT_EQ((*file)->read_at(offset, beyond, bytes.data()).error().code(), ErrorCode::Corruption);
          EXPECT_EQ((*file)->lent(offset, beyond), nullptr);
          break;
        }
        default: {
          const auto file = filesystem.append_to(path);
          ASSERT_EQ(file.has_value(), known != model.end());
          if (file) append(**file);
        }
      }
      ASSERT_EQ(filesystem.exists(path), model.contains(path));
      if (model.contains(path)) {
        ASSERT_EQ(filesystem.file_size(path).value(), model[path].size());
      }
    }
    size_t bytes = 0;
    for (const auto& [path, expected] : model) {
      EXPECT_EQ(content(filesystem, path), expected);
      EXPECT_TRUE((*filesystem.append_to(path))->close());
      bytes += expected.size();
    }
    // Closed files take what they hold.
    EXPECT_EQ(budget.used(), bytes);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryFilesystemTest, ARemovedFileGivesItsMemoryBackWithItsLastReader) {
  MemoryBudget budget(1000);
  MemoryFilesystem filesystem(&budget);
  auto writer = filesystem.create("a");
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append(std::string(100'000, 'x')));
  ASSERT_TRUE((*writer)->close());
  writer->reset();
  auto reader = filesystem.open("a");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(filesystem.remove("a"));
  EXPECT_EQ(filesystem.open("a").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(budget.used(), 100'000U);
  char last = 0;
  EXPECT_TRUE((*reader)->read_at(99'999, 1, &last));
  EXPECT_EQ(last, 'x');
  const char* const lent = (*reader)->lent(99'999, 1);
  ASSERT_NE(lent, nullptr);
  EXPECT_EQ(*lent, 'x');
  reader->reset();
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryFilesystemTest, BytesAreLentThatStayWhereTheyAre) {
  MemoryFilesystem filesystem;
  auto writer = filesystem.create("a");
  ASSERT_TRUE(writer);
  constexpr uint64_t size = 50'000'000;
  ASSERT_TRUE((*writer)->append(std::string(size, 'x')));
  const auto reader = filesystem.open("a");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->lent(0, 1), nullptr);  // closing moves the last piece
  ASSERT_TRUE((*writer)->close());
  writer->reset();
  constexpr uint64_t piece = uint64_t{32} << 20;
  EXPECT_NE((*reader)->lent(0, piece), nullptr);
  EXPECT_NE((*reader)->lent(piece, size - piece), nullptr);
  EXPECT_EQ((*reader)->lent(piece - 1, 2), nullptr);
  EXPECT_EQ((*reader)->lent(size - 1, 2), nullptr);
}

TEST(MemoryFilesystemTest, DirectoriesListTheirOwnFilesAndAreLockedOnce) {
  MemoryFilesystem filesystem;
  EXPECT_EQ(filesystem.list("d").error().code(), ErrorCode::NotFound);
  ASSERT_TRUE(filesystem.make_directory("d"));
  ASSERT_TRUE(filesystem.create("d/a"));
  ASSERT_TRUE(filesystem.create("d/b/c"));
  ASSERT_TRUE(filesystem.create("da"));
  ASSERT_TRUE(filesystem.link("d/a", "d/z"));
  EXPECT_EQ(filesystem.link("d/a", "d/z").error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(*filesystem.list("d"), (std::vector<std::string>{"a", "z"}));
  EXPECT_FALSE(filesystem.remove_directory("d"));
  auto lock = filesystem.lock_directory("d");
  ASSERT_TRUE(lock);
  EXPECT_EQ(filesystem.lock_directory("d").error().code(), ErrorCode::Busy);
  EXPECT_EQ(filesystem.lock_directory_to_read("d").error().code(), ErrorCode::Busy);
  lock->reset();
  EXPECT_TRUE(filesystem.lock_directory("d"));
  auto reader = filesystem.lock_directory_to_read("d"), other = filesystem.lock_directory_to_read("d");
  ASSERT_TRUE(reader && other);
  reader->reset();
  EXPECT_EQ(filesystem.lock_directory("d").error().code(), ErrorCode::Busy);
  other->reset();
  EXPECT_TRUE(filesystem.lock_directory("d"));
  EXPECT_TRUE(filesystem.is_writable("d"));
  EXPECT_FALSE(filesystem.is_writable("e"));
  EXPECT_EQ(*filesystem.canonical_path("d/../e/./f"), "/e/f");
}

}  // namespace
}  // namespace hailstone
