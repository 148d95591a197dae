// Every method of reading and writing: the same bytes, and the same errors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "file/method_filesystem.h"
#include "file/temporary_directory.h"
#include "file/write_stream.h"

namespace hailstone {
namespace {

std::string random_bytes(std::mt19937_64& random, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(random());
  return bytes;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, ByteView bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read_at(const RandomAccessFile& file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const Status status = file.read_at(offset, size, bytes.data());
  EXPECT_TRUE(status) << status.error().message();
  return bytes;
}

/// Makes calls fail or fall short on demand, the kernel's requests of io_uring alike.
class FaultyCalls final : public SystemCalls {
 public:
  bool falls_short = false;        // every other transfer does a part only
  bool interrupts = false;         // every third call is interrupted
  std::atomic<int> read_error{0};  // of all reads
  std::atomic<int> write_error{0};
  std::atomic<int> writes_before_error{0};
  int sync_error = 0;
  int set_up_error = 0;
  int copy_error = 0;

 protected:
  ssize_t do_read(int file, char* to, size_t size, off_t offset) override {
    if (interrupted()) return -1;
    if (read_error != 0) return failed(read_error);
    return SystemCalls::do_read(file, to, part(size), offset);
  }
  ssize_t do_write(int file, const char* from, size_t size, off_t offset) override {
    if (interrupted()) return -1;
    if (write_fails()) return failed(write_error);
    return SystemCalls::do_write(file, from, part(size), offset);
  }
  int do_sync(int file, bool with_attributes) override {
    if (interrupted()) return -1;
    if (sync_error != 0) return static_cast<int>(failed(sync_error));
    return SystemCalls::do_sync(file, with_attributes);
  }
  int do_allocate(int file, off_t offset, off_t size) override {
    if (interrupted()) return -1;
    // Not the attempt to find out whether the filesystem can do it.
    if (offset > 0 || size > static_cast<off_t>(io_alignment)) {
      if (write_fails()) return static_cast<int>(failed(write_error));
    }
    return SystemCalls::do_allocate(file, offset, size);
  }
  ssize_t do_copy(char* to, const char* from, size_t size) override {
    if (interrupted()) return -1;
    if (copy_error != 0) return failed(copy_error);
    if (read_error != 0 && size > 1) return failed(EFAULT);
    return SystemCalls::do_copy(to, from, part(size));
  }
  int do_ring_set_up(unsigned entries, io_uring* ring) override {
    return set_up_error != 0 ? -set_up_error : SystemCalls::do_ring_set_up(entries, ring);
  }
  int do_ring_enter(io_uring* ring, unsigned wait_for) override {
    if (interrupted()) return -EINTR;
    return SystemCalls::do_ring_enter(ring, wait_for);
  }
  int do_ring_result(int result, bool is_write) override {
    if (interrupted()) return -EINTR;
    if (is_write ? write_fails() : read_error != 0) return is_write ? -write_error : -read_error;
    // What lies behind is done again.
    if (falls_short && result > static_cast<int>(2 * io_alignment) && ++transfers_ % 2 == 0)
      return result / 2 / static_cast<int>(io_alignment) * static_cast<int>(io_alignment);
    return result;
  }

 private:
  static ssize_t failed(int number) {
    errno = number;
    return -1;
  }
  bool interrupted() {
    if (!interrupts || ++calls_made_ % 3 != 0) return false;
    errno = EINTR;
    return true;
  }
  bool write_fails() { return write_error != 0 && writes_before_error-- <= 0; }
  size_t part(size_t size) { return falls_short && size > 1 && ++transfers_ % 2 == 0 ? size / 2 : size; }

  std::atomic<uint64_t> calls_made_{0}, transfers_{0};
};

class IoMethodTest : public testing::TestWithParam<IoMethod> {
 protected:
  IoSettings settings(size_t window_bytes = 8192) const {
    return {.method = GetParam(), .window_bytes = window_bytes, .queue_depth = 4};
  }
  /// The sandbox of whoever runs the tests may refuse a method; there is nothing to test then.
  void SetUp() override {
    MethodFilesystem filesystem(settings());
    if (filesystem.method_in_use() != GetParam())
      GTEST_SKIP() << "this system refuses the method " << to_string(GetParam());
  }
  void write_and_read(MethodFilesystem& filesystem, const std::string& path, std::mt19937_64& random);

  TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(All, IoMethodTest,
                         testing::Values(IoMethod::Sync, IoMethod::Buffered, IoMethod::Async, IoMethod::Mmap,
                                         IoMethod::Direct),
                         [](const auto& method) { return std::string(to_string(method.param)); });

/// Writes a file in pieces of any size and reads it in every way.
void IoMethodTest::write_and_read(MethodFilesystem& filesystem, const std::string& path,
                                  std::mt19937_64& random) {
  std::string content;
  {
    auto file = filesystem.create_whole(path);
    ASSERT_TRUE(file) << file.error().message();
    const uint64_t pieces = random() % 400;
    for (uint64_t i = 0; i < pieces; ++i) {
      const std::string piece = random_bytes(random, random() % (random() % 20 == 0 ? 40000 : 300));
      const Status status = (*file)->append(piece);
      ASSERT_TRUE(status) << status.error().message();
      content += piece;
      ASSERT_EQ((*file)->size(), content.size());
      if (random() % 50 != 0) continue;
      const Status synced = (*file)->sync();
      ASSERT_TRUE(synced) << synced.error().message();
      ASSERT_EQ(content_of(path), content);
    }
    const Status closed = (*file)->close();
    ASSERT_TRUE(closed) << closed.error().message();
  }
  ASSERT_TRUE(content_of(path) == content);

  auto file = filesystem.open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ((*file)->size().value(), content.size());
  uint64_t offset = 0;
  for (int i = 0; i < 300 && !content.empty(); ++i) {
    // Now elsewhere, now on, now a little back.
    const uint64_t chance = random() % 10;
    if (chance == 0) offset = random() % content.size();
    if (chance == 1) offset -= std::min(offset, random() % 5000);
    const auto size = static_cast<size_t>(
        std::min(random() % (random() % 10 == 0 ? 60000 : 3000), content.size() - offset));
    ASSERT_TRUE(read_at(**file, offset, size) == content.substr(offset, size)) << offset << " " << size;
    offset += size;
    if (offset == content.size()) offset = 0;
  }
  char beyond[2];
  const Status outside = (*file)->read_at(content.size(), 2, beyond);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code(), ErrorCode::Corruption);

  auto in_order = filesystem.open_sequential(path);
  ASSERT_TRUE(in_order) << in_order.error().message();
  EXPECT_EQ((*in_order)->size(), content.size());
  std::string read;
  while (read.size() < content.size()) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(random() % 20000, content.size() - read.size()));
    std::string piece(size, '\0');
    const Status status = (*in_order)->read(size, piece.data());
    ASSERT_TRUE(status) << status.error().message();
    read += piece;
  }
  EXPECT_TRUE(read == content);
  EXPECT_EQ((*in_order)->read(1, beyond).error().code(), ErrorCode::Corruption);
}

TEST_P(IoMethodTest, WritesAndReadsTheSameBytes) {
  std::mt19937_64 random(test_seed(7));
  for (const size_t window : {4096U, 8192U, 12288U, 131072U}) {
    MethodFilesystem filesystem(settings(window), [](const std::string& warning) { FAIL() << warning; });
    write_and_read(filesystem, directory_.file("a"), random);
  }
}

TEST_P(IoMethodTest, GoesOnAfterShortTransfersAndInterruptions) {
  std::mt19937_64 random(test_seed(7));
  FaultyCalls calls;
  calls.falls_short = calls.interrupts = true;
  MethodFilesystem filesystem(settings(32768), {}, &calls);
  for (int round = 0; round < 3; ++round) write_and_read(filesystem, directory_.file("a"), random);
}

TEST_P(IoMethodTest, AFullDiskIsAnErrorThatStays) {
  FaultyCalls calls;
  MethodFilesystem filesystem(settings(), {}, &calls);
  calls.writes_before_error = 2;
  calls.write_error = ENOSPC;
  auto file = filesystem.create_whole(directory_.file("a"));
  ASSERT_TRUE(file) << file.error().message();
  Status status;
  const std::string piece(3000, 'x');
  for (int i = 0; i < 10000 && status; ++i) status = (*file)->append(piece);
  if (status) status = (*file)->sync();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::DiskFull) << status.error().message();
  EXPECT_NE(status.error().message().find(directory_.file("a")), std::string::npos);
  if (GetParam() == IoMethod::Sync) return;  // it has written nothing beyond
  calls.write_error = 0;
  EXPECT_FALSE((*file)->append(piece));
  EXPECT_FALSE((*file)->sync());
  EXPECT_FALSE((*file)->close());
}

TEST_P(IoMethodTest, ARealLimitIsMet) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 98'304, .rlim_max = 98'304};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    MethodFilesystem filesystem(settings());
    auto file = filesystem.create_whole(directory_.file("a"));
    Status status;
    const std::string piece(3000, 'x');
    for (int i = 0; i < 100 && status; ++i) status = (*file)->append(piece);
    if (status) status = (*file)->sync();
    ::_exit(!status && status.error().code() == ErrorCode::DiskFull ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
}

TEST_P(IoMethodTest, AFailedSyncIsAnError) {
  FaultyCalls calls;
  MethodFilesystem filesystem(settings(), {}, &calls);
  auto file = filesystem.create_whole(directory_.file("a"));
  ASSERT_TRUE(file && (*file)->append("abc"));
  calls.sync_error = EIO;
  const Status status = (*file)->sync();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::Io);
}

TEST_P(IoMethodTest, AFailedReadIsAnErrorAndTheNextMaySucceed) {
  std::mt19937_64 random(test_seed(7));
  const std::string path = directory_.file("a");
  const std::string content = random_bytes(random, 300'000);
  put(path, content);
  FaultyCalls calls;
  MethodFilesystem filesystem(settings(), {}, &calls);
  for (int round = 0; round < 2; ++round) {
    auto file = filesystem.open(path);
    auto in_order = filesystem.open_sequential(path);
    ASSERT_TRUE(file && in_order);
    calls.read_error = EIO;
    char to[1000];
    for (const uint64_t offset : {0U, 1000U, 2000U, 3000U, 100'000U}) {
      const Status status = (*file)->read_at(offset, sizeof to, to);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(), ErrorCode::Io) << status.error().message();
      EXPECT_NE(status.error().message().find(path), std::string::npos);
      EXPECT_NE(status.error().message().find("check the disk"), std::string::npos);
    }
    EXPECT_FALSE((*in_order)->read(sizeof to, to));
    calls.read_error = 0;
    for (const uint64_t offset : {0U, 1000U, 2000U, 3000U, 100'000U, 101'000U, 102'000U})
      EXPECT_TRUE(read_at(**file, offset, 1000) == content.substr(offset, 1000)) << offset;
  }
}

TEST_P(IoMethodTest, AFileThatWasCutIsCorruption) {
  std::mt19937_64 random(test_seed(7));
  const std::string path = directory_.file("a");
  for (const off_t cut : {0, 4096, 5000, 290'000}) {
    const std::string content = random_bytes(random, 300'000);
    put(path, content);
    MethodFilesystem filesystem(settings(4096));
    auto file = filesystem.open(path);
    auto in_order = filesystem.open_sequential(path);
    ASSERT_TRUE(file && in_order);
    EXPECT_TRUE(read_at(**file, 0, 1000) == content.substr(0, 1000));
    ASSERT_EQ(::truncate(path.c_str(), cut), 0);
    char to[2000];
    const Status status = (*file)->read_at(298'000, sizeof to, to);
    ASSERT_FALSE(status) << cut;
    EXPECT_EQ(status.error().code(), ErrorCode::Corruption) << status.error().message();
    EXPECT_NE(status.error().message().find("cut"), std::string::npos);
    Status last;
    for (int i = 0; i < 150 && last; ++i) last = (*in_order)->read(sizeof to, to);
    ASSERT_FALSE(last) << cut;
    EXPECT_EQ(last.error().code(), ErrorCode::Corruption) << last.error().message();
  }
}

TEST_P(IoMethodTest, AFileThatGrewIsReadToItsEnd) {
  const std::string path = directory_.file("a");
  put(path, std::string(5000, 'a'));
  MethodFilesystem filesystem(settings());
  auto file = filesystem.open(path);
  ASSERT_TRUE(file);
  put(path, std::string(20'000, 'b'));
  EXPECT_EQ(read_at(**file, 15'000, 5000), std::string(5000, 'b'));
  EXPECT_EQ((*file)->size().value(), 20'000U);
}

TEST_P(IoMethodTest, OtherFilesAreWrittenAtOnce) {
  MethodFilesystem filesystem(settings());
  const std::string path = directory_.file("a");
  auto file = filesystem.create(path);
  ASSERT_TRUE(file && (*file)->append("abc"));
  EXPECT_EQ(content_of(path), "abc");
  ASSERT_TRUE((*file)->preallocate(1000) && (*file)->append("def") && (*file)->close());
  file = filesystem.append_to(path);
  ASSERT_TRUE(file && (*file)->append("ghi"));
  EXPECT_EQ(content_of(path), "abcdefghi");
}

TEST_P(IoMethodTest, MissingFilesAreNotFound) {
  MethodFilesystem filesystem(settings());
  EXPECT_EQ(filesystem.open(directory_.file("none")).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.open_sequential(directory_.file("none")).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(filesystem.create_whole(directory_.file("none/a")).error().code(), ErrorCode::NotFound);
  put(directory_.file("empty"), "");
  auto file = filesystem.open(directory_.file("empty"));
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size().value(), 0U);
  EXPECT_TRUE((*file)->read_at(0, 0, nullptr));
}

TEST_P(IoMethodTest, TheMethodCanChangeWhileFilesAreOpen) {
  std::mt19937_64 random(test_seed(7));
  const std::string path = directory_.file("a");
  const std::string content = random_bytes(random, 100'000);
  put(path, content);
  MethodFilesystem filesystem(settings());
  auto before = filesystem.open(path);
  ASSERT_TRUE(before);
  EXPECT_EQ(read_at(**before, 0, 10'000), content.substr(0, 10'000));
  filesystem.set_method(IoMethod::Sync);
  EXPECT_EQ(filesystem.method(), IoMethod::Sync);
  EXPECT_EQ(read_at(**before, 10'000, 10'000), content.substr(10'000, 10'000));
  auto after = filesystem.open(path);
  ASSERT_TRUE(after);
  EXPECT_EQ(read_at(**after, 10'000, 10'000), content.substr(10'000, 10'000));
}

class IoMethodConcurrentTest : public IoMethodTest {};
INSTANTIATE_TEST_SUITE_P(All, IoMethodConcurrentTest,
                         testing::Values(IoMethod::Sync, IoMethod::Buffered, IoMethod::Async, IoMethod::Mmap,
                                         IoMethod::Direct),
                         [](const auto& method) { return std::string(to_string(method.param)); });

TEST_P(IoMethodConcurrentTest, ManyThreadsReadManyFiles) {
  const uint64_t seed = test_seed(7);
  std::mt19937_64 random(seed);
  constexpr size_t file_count = 24, file_bytes = 200'000, block = 1700;
  const std::string content = random_bytes(random, file_bytes);
  for (size_t i = 0; i < file_count; ++i) put(directory_.file(std::to_string(i)), content);
  MethodFilesystem filesystem(settings());
  std::vector<std::unique_ptr<RandomAccessFile>> files;
  for (size_t i = 0; i < file_count; ++i) {
    auto file = filesystem.open(directory_.file(std::to_string(i)));
    ASSERT_TRUE(file);
    files.push_back(std::move(*file));
  }
  std::atomic<uint64_t> next{0};
  const auto work = [&](uint64_t number) {
    std::mt19937_64 chance(seed + number);
    std::string to(block, '\0');
    for (int i = 0; i < 1500; ++i) {
      // Blocks of the first files in turns, as threads do that share a scan, and any block of the others.
      const uint64_t turn = next.fetch_add(1);
      const bool shared = chance() % 3 != 0;
      const uint64_t place = shared ? turn / 2 : chance();
      const uint64_t offset = place % (file_bytes / block) * block;
      const RandomAccessFile& file = *files[shared ? turn % 2 : chance() % file_count];
      ASSERT_TRUE(file.read_at(offset, block, to.data()));
      ASSERT_TRUE(to == content.substr(offset, block));
      if (chance() % 50 == 0) {
        auto again = filesystem.open(file.path());
        ASSERT_TRUE(again);
        ASSERT_TRUE((*again)->read_at(0, block, to.data()) && (*again)->read_at(block, block, to.data()));
        ASSERT_TRUE(to == content.substr(block, block));
      }
    }
  };
  std::vector<std::jthread> threads;
  for (uint64_t i = 0; i < 6; ++i) threads.emplace_back(work, i);
}

TEST(MethodFilesystemTest, BufferedWhereIoUringIsRefused) {
  TemporaryDirectory directory;
  FaultyCalls calls;
  calls.set_up_error = EPERM;
  std::vector<std::string> warnings;
  MethodFilesystem filesystem(
      {.method = IoMethod::Direct}, [&](const std::string& warning) { warnings.push_back(warning); }, &calls);
  for (int i = 0; i < 3; ++i) {
    auto file = filesystem.create_whole(directory.file("a"));
    ASSERT_TRUE(file && (*file)->append("abc") && (*file)->close());
    EXPECT_EQ(read_at(*filesystem.open(directory.file("a")).value(), 1, 2), "bc");
    EXPECT_TRUE(filesystem.open_sequential(directory.file("a")));
  }
  EXPECT_EQ(filesystem.method(), IoMethod::Direct);
  EXPECT_EQ(filesystem.method_in_use(), IoMethod::Buffered);
  ASSERT_EQ(warnings.size(), 1U);
  for (const char* word : {"buffered", "direct", "io_uring", "seccomp"})
    EXPECT_NE(warnings[0].find(word), std::string::npos) << warnings[0];
  filesystem.set_method(IoMethod::Async);
  EXPECT_EQ(filesystem.method_in_use(), IoMethod::Buffered);
  EXPECT_EQ(warnings.size(), 2U);
  calls.set_up_error = 0;
  filesystem.set_method(IoMethod::Mmap);
  calls.copy_error = EPERM;
  EXPECT_EQ(filesystem.method_in_use(), IoMethod::Buffered);
  EXPECT_EQ(warnings.size(), 3U);
}

TEST(MethodFilesystemTest, BufferedUnderSeccomp) {
  TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {.len = static_cast<unsigned short>(std::size(program)), .filter = program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      ::_exit(0);  // nothing to see here
    int warnings = 0;
    MethodFilesystem filesystem({.method = IoMethod::Async}, [&](const std::string&) { ++warnings; });
    auto file = filesystem.create_whole(directory.file("a"));
    const bool written = file && (*file)->append("abc") && (*file)->sync();
    ::_exit(written && warnings == 1 && content_of(directory.file("a")) == "abc" ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
}

TEST(MethodFilesystemTest, AMappedFileThatIsCutWhileItIsWritten) {
  TemporaryDirectory directory;
  MethodFilesystem filesystem({.method = IoMethod::Mmap, .window_bytes = 8192});
  if (filesystem.method_in_use() != IoMethod::Mmap) GTEST_SKIP() << "this system refuses the method mmap";
  const std::string path = directory.file("a");
  auto file = filesystem.create_whole(path);
  ASSERT_TRUE(file && (*file)->append(std::string(20'000, 'x')));
  ASSERT_EQ(::truncate(path.c_str(), 1000), 0);
  const Status status = (*file)->append(std::string(20'000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::Io);
  EXPECT_NE(status.error().message().find("another program"), std::string::npos);
}

TEST(MethodFilesystemTest, TheNumberOfWritesFollowsFromTheBuffer) {
  TemporaryDirectory directory;
  constexpr uint64_t rows = 20'000, row_bytes = 103;
  for (const size_t buffer : {128U, 512U, 4096U, 131072U}) {
    MethodFilesystem filesystem({.method = IoMethod::Buffered, .window_bytes = buffer});
    auto file = filesystem.create_whole(directory.file("a"));
    ASSERT_TRUE(file);
    for (uint64_t i = 0; i < rows; ++i) ASSERT_TRUE((*file)->append(std::string(row_bytes, 'x')));
    const IoCounts before_the_last = filesystem.counts();
    EXPECT_EQ(before_the_last.writes, rows * row_bytes / buffer);
    ASSERT_TRUE((*file)->close());
    EXPECT_EQ(filesystem.counts().writes, rows * row_bytes / buffer + 1);
    EXPECT_EQ(filesystem.counts().write_bytes, rows * row_bytes);
  }
}

TEST(MethodFilesystemTest, TheFirstWriteEndsOnABlockBoundary) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a");
  put(path, std::string(1000, 'a'));
  SystemCalls calls;
  auto descriptor = open_file("open", path, O_WRONLY);
  ASSERT_TRUE(descriptor);
  auto file =
      WriteStream::make({.calls = calls, .descriptor = std::move(*descriptor), .path = path, .size = 1000},
                        {.method = IoMethod::Buffered, .window_bytes = 16384});
  ASSERT_TRUE(file);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*file)->append(std::string(20, 'b')));
  EXPECT_EQ(calls.counts().writes, 1U);
  EXPECT_EQ((calls.counts().write_bytes + 1000) % io_alignment, 0U);
  ASSERT_TRUE((*file)->close());
  EXPECT_EQ(content_of(path), std::string(1000, 'a') + std::string(20'000, 'b'));
}

TEST(MethodFilesystemTest, MethodsHaveNames) {
  for (const std::string_view name : io_method_names)
    EXPECT_EQ(to_string(parse_io_method(name).value()), name);
  EXPECT_FALSE(parse_io_method("psync"));
}

}  // namespace
}  // namespace hailstone
