#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "file/filesystem.h"
#include "file/io_error.h"
#include "file/method_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

std::string read_all(Filesystem& filesystem, const std::string& path) {
  auto file = filesystem.open(path);
  EXPECT_TRUE(file);
  if (!file) return {};
  std::string bytes(static_cast<size_t>((*file)->size().value()), '\0');
  EXPECT_TRUE((*file)->read_at(0, bytes.size(), bytes.data()));
  return bytes;
}

TEST(PosixFilesystemTest, WritesAppendsAndReads) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  const std::string path = directory.file("a");
  {
    auto file = filesystem.create(path);
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->append("hello "));
    EXPECT_TRUE((*file)->append(""));
    EXPECT_TRUE((*file)->append("world"));
    EXPECT_EQ((*file)->size(), 11U);
    EXPECT_TRUE((*file)->sync());
    EXPECT_TRUE((*file)->close());
  }
  EXPECT_TRUE(filesystem.sync_directory(directory.path()));
  {
    auto file = filesystem.append_to(path);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->size(), 11U);
    EXPECT_TRUE((*file)->append("!"));
  }
  EXPECT_EQ(read_all(filesystem, path), "hello world!");
  EXPECT_EQ(filesystem.file_size(path).value(), 12U);
  EXPECT_TRUE(filesystem.truncate(path, 5));
  EXPECT_EQ(read_all(filesystem, path), "hello");
  {
    auto file = filesystem.create(path);
    ASSERT_TRUE(file);
  }
  EXPECT_EQ(filesystem.file_size(path).value(), 0U);
}

TEST(PosixFilesystemTest, PreallocatedZerosAreOverwrittenAndCut) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  const std::string path = directory.file("a");
  auto file = filesystem.create(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->append("abc"));
  EXPECT_TRUE((*file)->preallocate(100000));
  EXPECT_EQ((*file)->size(), 3U);
  EXPECT_EQ(filesystem.file_size(path).value(), 100003U);
  EXPECT_TRUE((*file)->append("def"));
  EXPECT_EQ((*file)->size(), 6U);
  EXPECT_EQ(filesystem.file_size(path).value(), 100003U);
  EXPECT_EQ(read_all(filesystem, path).substr(0, 8), std::string("abcdef\0\0", 8));
  EXPECT_TRUE((*file)->close());
  EXPECT_EQ(read_all(filesystem, path), "abcdef");
}

TEST(PosixFilesystemTest, ReadingBeyondTheEndIsCorruptionThatNamesTheFile) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  ASSERT_TRUE(filesystem.create(directory.file("short")).value()->append("12345"));
  auto file = filesystem.open(directory.file("short"));
  ASSERT_TRUE(file);
  char to[8];
  const Status status = (*file)->read_at(2, 4, to);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::Corruption);
  EXPECT_NE(status.error().message().find(directory.file("short")), std::string::npos);
}

TEST(PosixFilesystemTest, DirectoriesListsRenamesAndRemoves) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  const std::string inner = directory.file("inner");
  EXPECT_TRUE(filesystem.make_directory(inner));
  EXPECT_TRUE(filesystem.make_directory(inner));
  EXPECT_TRUE(filesystem.list(inner).value().empty());
  ASSERT_TRUE(filesystem.create(inner + "/b"));
  ASSERT_TRUE(filesystem.create(inner + "/a"));
  EXPECT_TRUE(filesystem.rename(inner + "/b", inner + "/c"));
  EXPECT_TRUE(filesystem.sync_directory(inner));
  auto names = filesystem.list(inner).value();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "c"}));
  EXPECT_TRUE(filesystem.exists(inner + "/a"));
  EXPECT_TRUE(filesystem.remove(inner + "/a"));
  EXPECT_FALSE(filesystem.exists(inner + "/a"));
  EXPECT_EQ(filesystem.make_directory(inner + "/c").error().code(), ErrorCode::AlreadyExists);
}

TEST(PosixFilesystemTest, MissingFilesAreNotFound) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  const std::string path = directory.file("none");
  EXPECT_EQ(filesystem.open(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.append_to(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.remove(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.rename(path, path + "2").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.truncate(path, 0).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.file_size(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.list(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.sync_directory(path).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.create(path + "/x").error().code(), ErrorCode::NotFound);
}

TEST(PosixFilesystemTest, ADirectoryIsLockedOnce) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  auto lock = filesystem.lock_directory(directory.path());
  ASSERT_TRUE(lock);
  EXPECT_EQ(filesystem.lock_directory(directory.path()).error().code(), ErrorCode::Busy);
  // A lock of another process is met as well.
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = posix_filesystem().lock_directory(directory.path());
    ::_exit(!second && second.error().code() == ErrorCode::Busy ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  lock->reset();
  EXPECT_TRUE(filesystem.lock_directory(directory.path()));
}

TEST(PosixFilesystemTest, AChildKeepsNoLockOfItsParent) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  auto lock = filesystem.lock_directory(directory.path());
  ASSERT_TRUE(lock);
  int released[2], done[2];
  ASSERT_EQ(::pipe(released), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // What another descriptor of the child lets go of stays its parent's. Then it lives until the parent is
    // done, with the lock file open.
    ::close(done[1]);
    const bool held = !filesystem.lock_directory(directory.path());
    char byte = 0;
    const bool told = ::write(released[1], "x", 1) == 1;
    const bool ended = ::read(done[0], &byte, 1) == 0;
    ::_exit(held && told && ended ? 0 : 1);
  }
  ::close(done[0]);
  char byte = 0;
  ASSERT_EQ(::read(released[0], &byte, 1), 1);
  lock->reset();
  EXPECT_TRUE(filesystem.lock_directory(directory.path()));
  ::close(done[1]);
  ::close(released[0]);
  ::close(released[1]);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

TEST(PosixFilesystemTest, WhatCannotBeFoundOutMayBeThere) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  const std::string path = directory.file("link");
  EXPECT_FALSE(filesystem.exists(path));
  ASSERT_TRUE(filesystem.create(directory.file("file")));
  EXPECT_FALSE(filesystem.exists(directory.file("file") + "/below"));
  ASSERT_EQ(::symlink("link", path.c_str()), 0);
  EXPECT_TRUE(filesystem.exists(path));
  EXPECT_EQ(filesystem.open(path).error().code(), ErrorCode::Io);
  const Status made = filesystem.make_directory(directory.file("file"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::AlreadyExists);
  EXPECT_NE(made.error().message().find("is not a directory"), std::string::npos);
}

TEST(PosixFilesystemTest, APipeIsNotWaitedFor) {
  const TemporaryDirectory directory;
  const std::string pipe = directory.file("pipe"), link = directory.file("link");
  ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
  std::filesystem::create_symlink(pipe, link);
  Filesystem& filesystem = posix_filesystem();
  MethodFilesystem by_method({.method = IoMethod::Buffered}, {});
  for (const std::string& path : {pipe, link}) {
    const auto opened = filesystem.open(path);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::Io);
    EXPECT_NE(opened.error().message().find(path), std::string::npos) << opened.error().message();
    EXPECT_FALSE(filesystem.append_to(path));
    EXPECT_FALSE(filesystem.create(path));
    EXPECT_FALSE(filesystem.truncate(path, 0));
    EXPECT_FALSE(by_method.open(path));
    EXPECT_FALSE(by_method.open_sequential(path));
  }
  EXPECT_FALSE(filesystem.open("/dev/zero"));
}

TEST(PosixFilesystemTest, AFailedWriteIsAnErrorAndKeepsTheSize) {
  TemporaryDirectory directory;
  // In a child, as the limit on file sizes holds for a whole process.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto file = posix_filesystem().create(directory.file("a"));
    if (!file || !(*file)->append(std::string(600, 'x'))) ::_exit(1);
    // The system writes 400 of these 600 bytes and refuses the rest.
    const Status status = (*file)->append(std::string(600, 'y'));
    if (status || status.error().code() != ErrorCode::DiskFull || (*file)->size() != 600) ::_exit(2);
    if (!(*file)->append(std::string(400, 'z'))) ::_exit(3);
    ::_exit((*file)->close() ? 0 : 4);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
  EXPECT_EQ(read_all(posix_filesystem(), directory.file("a")), std::string(600, 'x') + std::string(400, 'z'));
}

TEST(PosixFilesystemTest, PathsAreFreedOfLinks) {
  TemporaryDirectory directory;
  Filesystem& filesystem = posix_filesystem();
  ASSERT_TRUE(filesystem.make_directory(directory.file("there")));
  ASSERT_EQ(::symlink("there", directory.file("link").c_str()), 0);
  const std::string there = *filesystem.canonical_path(directory.file("there"));
  EXPECT_EQ(*filesystem.canonical_path(directory.file("link")), there);
  EXPECT_EQ(*filesystem.canonical_path(directory.file("link/../link/new/one")), there + "/new/one");
  EXPECT_TRUE(filesystem.is_writable(directory.path()));
  EXPECT_FALSE(filesystem.is_writable(directory.file("none")));
  ASSERT_EQ(::symlink("round", directory.file("round").c_str()), 0);
  EXPECT_FALSE(filesystem.canonical_path(directory.file("round")));
}

TEST(IoErrorTest, NamesCallPathReasonAndCure) {
  const Error full = io_error("write to", "/data/file", ENOSPC);
  EXPECT_EQ(full.code(), ErrorCode::DiskFull);
  for (const char* part : {"write to", "/data/file", "No space", "free space"}) {
    EXPECT_NE(full.message().find(part), std::string::npos) << full.message();
  }
  EXPECT_EQ(io_error("write to", "f", EDQUOT).code(), ErrorCode::DiskFull);
  EXPECT_EQ(io_error("read", "f", EIO).code(), ErrorCode::Io);
}

}  // namespace
}  // namespace hailstone
