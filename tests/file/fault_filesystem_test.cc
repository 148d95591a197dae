#include "file/fault_filesystem.h"

#include <gtest/gtest.h>

#include <set>

#include "base/test_seed.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

using Call = FaultFilesystem::Call;
using Effect = FaultFilesystem::Effect;

class FaultFilesystemTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.file(name); }
  /// What the file holds in the filesystem below; "(none)" when it is not there.
  std::string content(const std::string& name) const {
    if (!posix_filesystem().exists(path(name))) return "(none)";
    const auto file = posix_filesystem().open(path(name)).value();
    std::string bytes(file->size().value(), '\0');
    EXPECT_TRUE(file->read_at(0, bytes.size(), bytes.data()));
    return bytes;
  }
  void put(const std::string& name, ByteView bytes) const {
    EXPECT_TRUE(posix_filesystem().create(path(name)).value()->append(bytes));
  }
  void clear() const {
    const auto names = posix_filesystem().list(directory_.path()).value();
    for (const auto& name : names) EXPECT_TRUE(posix_filesystem().remove(path(name)));
  }
  /// The states of `name` that power failures leave after `work`, over many seeds.
  template <typename Work>
  std::set<std::string> states(const std::string& name, Work&& work) const {
    std::set<std::string> result;
    const uint64_t seed = test_seed(7);
    for (uint64_t i = 0; i < 200; ++i) {
      clear();
      FaultFilesystem filesystem(posix_filesystem());
      work(filesystem);
      EXPECT_TRUE(filesystem.leave_crash_state(seed + i));
      result.insert(content(name));
    }
    return result;
  }

  TemporaryDirectory directory_{TemporaryDirectory::Place::Memory};
};

TEST_F(FaultFilesystemTest, WithoutRulesItIsTheFilesystemBelow) {
  FaultFilesystem filesystem(posix_filesystem());
  {
    auto file = filesystem.create(path("a")).value();
    EXPECT_TRUE(file->append("hello"));
    EXPECT_TRUE(file->preallocate(100));
    EXPECT_TRUE(file->append(" world"));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(file->close());
  }
  EXPECT_TRUE(filesystem.rename(path("a"), path("b")));
  EXPECT_TRUE(filesystem.truncate(path("b"), 8));
  EXPECT_EQ(content("b"), "hello wo");
  EXPECT_EQ(filesystem.file_size(path("b")).value(), 8U);
  EXPECT_TRUE(filesystem.remove(path("b")));
  EXPECT_FALSE(filesystem.exists(path("b")));
  EXPECT_TRUE(filesystem.list(directory_.path()).value().empty());
}

TEST_F(FaultFilesystemTest, LinksAreThereWhenTheyAreAllowedAndLastOnceSynced) {
  const auto work = [&](FaultFilesystem& filesystem, bool sync) {
    put("a", "text");
    EXPECT_EQ(filesystem.link(path("a"), path("b")).error().code(), ErrorCode::Unsupported);
    filesystem.allow_links();
    filesystem.add_rule({.call = Call::Link, .times = 1});
    EXPECT_EQ(filesystem.link(path("a"), path("b")).error().code(), ErrorCode::Io);
    EXPECT_EQ(content("b"), "(none)");
    EXPECT_TRUE(filesystem.link(path("a"), path("b")));
    if (sync) {
      EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
    }
    EXPECT_EQ(content("b"), "text");
  };
  EXPECT_EQ(states("b", [&](FaultFilesystem& filesystem) { work(filesystem, true); }),
            (std::set<std::string>{"text"}));
  EXPECT_EQ(states("b", [&](FaultFilesystem& filesystem) { work(filesystem, false); }),
            (std::set<std::string>{"text", "(none)"}));
  EXPECT_EQ(states("a", [&](FaultFilesystem& filesystem) { work(filesystem, false); }),
            (std::set<std::string>{"text"}));
}

TEST_F(FaultFilesystemTest, FailsTheCallsOfLocksAndPaths) {
  FaultFilesystem filesystem(posix_filesystem());
  put("lock", "");
  EXPECT_TRUE(filesystem.lock_directory_to_read(directory_.path()));
  EXPECT_TRUE(filesystem.canonical_path(directory_.path()));
  EXPECT_TRUE(filesystem.is_writable(directory_.path()));
  filesystem.add_rule({.call = Call::LockDirectoryToRead});
  filesystem.add_rule({.call = Call::CanonicalPath});
  filesystem.add_rule({.call = Call::Open});
  EXPECT_FALSE(filesystem.lock_directory_to_read(directory_.path()));
  EXPECT_FALSE(filesystem.canonical_path(directory_.path()));
  EXPECT_FALSE(filesystem.open_plain(path("lock")));
}

TEST_F(FaultFilesystemTest, FailsTheCallsThatARuleNames) {
  FaultFilesystem filesystem(posix_filesystem());
  filesystem.add_rule(
      {.call = Call::Append, .path_part = "victim", .skip = 1, .times = 2, .error_number = ENOSPC});
  auto other = filesystem.create(path("other")).value();
  auto victim = filesystem.create(path("victim")).value();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(other->append("x"));
  EXPECT_TRUE(victim->append("1"));
  for (int i = 0; i < 2; ++i) {
    const Status status = victim->append("2");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::DiskFull);
    EXPECT_NE(status.error().message().find("victim"), std::string::npos);
  }
  EXPECT_TRUE(victim->append("3"));
  EXPECT_EQ(content("victim"), "13");
  filesystem.add_rule({.call = Call::Rename, .path_part = "other2"});
  EXPECT_FALSE(filesystem.rename(path("other"), path("other2")));
  filesystem.clear_rules();
  EXPECT_TRUE(filesystem.rename(path("other"), path("other2")));
}

TEST_F(FaultFilesystemTest, TearsAnAppend) {
  std::set<size_t> sizes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultFilesystem filesystem(posix_filesystem(), seed);
    filesystem.add_rule({.call = Call::Append, .effect = Effect::Tear});
    const auto file = filesystem.create(path("a")).value();
    EXPECT_FALSE(file->append("0123456789"));
    EXPECT_EQ(file->size(), 0U);
    EXPECT_TRUE(ByteView("0123456789").starts_with(content("a")));
    sizes.insert(content("a").size());
    filesystem.clear_rules();
    if (seed % 2 == 0) {
      EXPECT_TRUE(file->cut());
      EXPECT_EQ(content("a"), "");
    }
    EXPECT_TRUE(file->append("abc"));
    EXPECT_EQ(content("a"), "abc");
  }
  EXPECT_GT(sizes.size(), 5U);
  EXPECT_LT(*sizes.rbegin(), 10U);
}

TEST_F(FaultFilesystemTest, FlipsOneBitOfARead) {
  put("a", std::string(100, '\0'));
  FaultFilesystem filesystem(posix_filesystem());
  filesystem.add_rule({.call = Call::Read, .times = 1, .effect = Effect::FlipBit});
  auto file = filesystem.open(path("a")).value();
  std::string bytes(100, 'x');
  ASSERT_TRUE(file->read_at(0, 100, bytes.data()));
  int bits = 0;
  for (const char byte : bytes) bits += std::popcount(static_cast<unsigned char>(byte));
  EXPECT_EQ(bits, 1);
  ASSERT_TRUE(file->read_at(0, 100, bytes.data()));
  EXPECT_EQ(bytes, std::string(100, '\0'));
}

TEST_F(FaultFilesystemTest, TheDiskFillsUp) {
  FaultFilesystem filesystem(posix_filesystem());
  filesystem.set_free_bytes(10);
  auto file = filesystem.create(path("a")).value();
  EXPECT_TRUE(file->append("123456"));
  EXPECT_EQ(file->append("789012").error().code(), ErrorCode::DiskFull);
  EXPECT_EQ(content("a"), "1234567890");
  EXPECT_EQ(file->size(), 6U);
  EXPECT_EQ(file->preallocate(1).error().code(), ErrorCode::DiskFull);
  filesystem.set_free_bytes(5);
  EXPECT_TRUE(file->preallocate(5));
  EXPECT_TRUE(file->append("abcde")) << "zeros written ahead are room";
  EXPECT_FALSE(file->append("f"));
}

TEST_F(FaultFilesystemTest, UnsyncedWritesMayBeLostKeptOrTorn) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    auto file = filesystem.create(path("a")).value();
    EXPECT_TRUE(file->append("synced."));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
    EXPECT_TRUE(file->append("one"));
    EXPECT_TRUE(file->append("two"));
  });
  for (const std::string& state : found) EXPECT_TRUE(state.starts_with("synced.")) << state;
  EXPECT_TRUE(found.contains("synced."));
  EXPECT_TRUE(found.contains("synced.onetwo"));
  EXPECT_TRUE(found.contains("synced.o"));
  EXPECT_TRUE(found.contains(std::string("synced.\0\0\0two", 13))) << "the later write alone";
}

TEST_F(FaultFilesystemTest, WritesOverZerosWrittenAheadMayBeLost) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    auto file = filesystem.create(path("a")).value();
    EXPECT_TRUE(file->preallocate(4));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
    EXPECT_TRUE(file->append("ab"));
    filesystem.power_off();  // or closing cuts the zeros
  });
  EXPECT_EQ(found, (std::set<std::string>{std::string(4, '\0'), std::string("a\0\0\0", 4),
                                          std::string("ab\0\0", 4)}));
}

TEST_F(FaultFilesystemTest, NamesAreDurableOnceTheirDirectoryIsSynced) {
  const auto created = [&](bool sync) {
    return states("a", [&, sync](FaultFilesystem& filesystem) {
      auto file = filesystem.create(path("a")).value();
      EXPECT_TRUE(file->append("x"));
      EXPECT_TRUE(file->sync());
      if (sync) {
        EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
      }
    });
  };
  EXPECT_EQ(created(false), (std::set<std::string>{"(none)", "x"}));
  EXPECT_EQ(created(true), (std::set<std::string>{"x"}));
}

TEST_F(FaultFilesystemTest, ARenameLeavesTheOldFileOrTheNew) {
  const auto replace = [&](FaultFilesystem& filesystem) {
    put("a", "old");
    {
      auto file = filesystem.create(path("a.new")).value();
      EXPECT_TRUE(file->append("new"));
      EXPECT_TRUE(file->sync());
    }
    EXPECT_TRUE(filesystem.rename(path("a.new"), path("a")));
    EXPECT_EQ(content("a"), "new");
  };
  EXPECT_EQ(states("a", replace), (std::set<std::string>{"old", "new"}));
  EXPECT_EQ(states("a.new", replace), (std::set<std::string>{"(none)", "new"}));
  EXPECT_EQ(states("a",
                   [&](FaultFilesystem& filesystem) {
                     replace(filesystem);
                     EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
                   }),
            (std::set<std::string>{"new"}));
}

TEST_F(FaultFilesystemTest, ARemovedFileMayComeBack) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    put("a", "content");
    EXPECT_TRUE(filesystem.remove(path("a")));
  });
  EXPECT_EQ(found, (std::set<std::string>{"(none)", "content"}));
}

TEST_F(FaultFilesystemTest, CreatingOverAFileMayLeaveTheOldContent) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    put("a", "content");
    ASSERT_TRUE(filesystem.create(path("a")));
  });
  EXPECT_EQ(found, (std::set<std::string>{"", "content"}));
}

TEST_F(FaultFilesystemTest, ATruncationIsDurable) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    put("a", "content");
    EXPECT_TRUE(filesystem.truncate(path("a"), 3));
  });
  EXPECT_EQ(found, (std::set<std::string>{"con"}));
}

TEST_F(FaultFilesystemTest, WhatAFailedSyncForgotStaysForgotten) {
  const auto found = states("a", [&](FaultFilesystem& filesystem) {
    auto file = filesystem.create(path("a")).value();
    EXPECT_TRUE(file->append("before."));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
    filesystem.add_rule({.call = Call::Sync, .times = 1, .effect = Effect::ForgetUnsynced});
    EXPECT_TRUE(file->append("lost"));
    EXPECT_FALSE(file->sync());
    EXPECT_EQ(content("a"), "before.lost") << "reads still show it";
    EXPECT_TRUE(file->append("after"));
    EXPECT_TRUE(file->sync()) << "the next one succeeds, as on Linux";
  });
  EXPECT_EQ(found, (std::set<std::string>{std::string("before.\0\0\0\0after", 16)}));
}

TEST_F(FaultFilesystemTest, PowerGoesOffAtEveryChange) {
  const auto work = [&](FaultFilesystem& filesystem) -> Status {
    HAILSTONE_ASSIGN(auto file, filesystem.create(path("a")));
    HAILSTONE_TRY(file->append("x"));
    HAILSTONE_TRY(file->sync());
    HAILSTONE_TRY(file->close());
    return filesystem.sync_directory(directory_.path());
  };
  FaultFilesystem counting(posix_filesystem());
  ASSERT_TRUE(work(counting));
  ASSERT_EQ(counting.changes(), 5U);
  for (uint64_t at = 0; at < 5; ++at) {
    clear();
    FaultFilesystem filesystem(posix_filesystem());
    filesystem.power_off_after(at);
    EXPECT_FALSE(work(filesystem));
    EXPECT_TRUE(filesystem.powered_off());
    EXPECT_FALSE(filesystem.create(path("b")));
    EXPECT_FALSE(filesystem.list(directory_.path()));
  }
}

TEST_F(FaultFilesystemTest, FilesStillOpenDoNoHarmToTheCrashState) {
  FaultFilesystem filesystem(posix_filesystem());
  auto file = filesystem.create(path("a")).value();
  EXPECT_TRUE(file->append("abc"));
  EXPECT_TRUE(file->preallocate(10));
  EXPECT_TRUE(file->sync());
  EXPECT_TRUE(filesystem.sync_directory(directory_.path()));
  ASSERT_TRUE(filesystem.leave_crash_state(1));
  file.reset();
  EXPECT_EQ(content("a"), std::string("abc") + std::string(10, '\0'));
}

TEST_F(FaultFilesystemTest, TheSameSeedLeavesTheSameState) {
  const auto state = [&](uint64_t seed) {
    clear();
    FaultFilesystem filesystem(posix_filesystem());
    {
      std::vector<std::unique_ptr<WritableFile>> files;
      for (int i = 0; i < 10; ++i) files.push_back(filesystem.create(path(std::to_string(i))).value());
      for (const auto& file : files) EXPECT_TRUE(file->append(std::string(3000, 'x')));
    }
    EXPECT_TRUE(filesystem.leave_crash_state(seed));
    std::string all;
    for (int i = 0; i < 10; ++i) all += content(std::to_string(i)) + "\n";
    return all;
  };
  EXPECT_EQ(state(11), state(11));
  EXPECT_NE(state(11), state(12));
}

}  // namespace
}  // namespace hailstone
