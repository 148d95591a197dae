#include "collect/spool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "base/hash.h"
#include "base/test_seed.h"
#include "collect/source_position.h"
#include "collect/spool_reader.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

constexpr auto in_memory = TemporaryDirectory::Place::Memory;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message();
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

SpoolOptions options_for(const TemporaryDirectory& directory, uint64_t file_bytes = 1000) {
  return {.directory = directory.file("spool"), .limit_bytes = file_bytes * 1000, .file_bytes = file_bytes};
}

std::unique_ptr<Spool> open_spool(const TemporaryDirectory& directory, uint64_t file_bytes = 1000) {
  auto spool = must(Spool::open(posix_filesystem(), options_for(directory, file_bytes)));
  must(spool->sync());
  return spool;
}

/// Appends one frame of records.
Status append(Spool& spool, const std::vector<std::string>& records, const std::string& position = {}) {
  SpoolFrame frame;
  for (const std::string& record : records) frame.add(record);
  if (!position.empty()) frame.set_position("file", position);
  return spool.append(frame);
}

/// All records from `sequence` on that are acknowledged.
Result<std::vector<std::string>> read(const Spool& spool, uint64_t sequence) {
  SpoolReader reader(spool, sequence);
  std::vector<std::string> records;
  ByteView record;
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, reader.next(record));
    if (!found) return records;
    records.emplace_back(record);
  }
}

std::string position_of(const Spool& spool) {
  const auto found = spool.positions().find("file");
  return found == spool.positions().end() ? "" : found->second;
}

size_t files_in(const TemporaryDirectory& directory) {
  size_t files = 0;
  for (const std::string& name : must(posix_filesystem().list(directory.file("spool")))) {
    if (parse_spool_file_name(name)) ++files;
  }
  return files;
}

using Records = std::vector<std::string>;

TEST(SpoolTest, GivesWhatWasAcknowledged) {
  const TemporaryDirectory directory(in_memory);
  const auto spool = open_spool(directory);
  EXPECT_EQ(must(read(*spool, 0)), Records());
  must(append(*spool, {"one", "two"}, "2"));
  EXPECT_EQ(must(read(*spool, 0)), Records()) << "it was not synced";
  must(spool->sync());
  must(append(*spool, {"three", ""}));
  EXPECT_EQ(must(read(*spool, 0)), Records({"one", "two"}));
  must(spool->sync());
  EXPECT_EQ(must(read(*spool, 1)), Records({"two", "three", ""}));
  EXPECT_EQ(must(read(*spool, 4)), Records());
  EXPECT_EQ(position_of(*spool), "2");
}

TEST(SpoolTest, AReaderGoesOnWhereRecordsFollow) {
  const TemporaryDirectory directory(in_memory);
  const auto spool = open_spool(directory, 300);
  SpoolReader reader(*spool, 0);
  ByteView record;
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_FALSE(must(reader.next(record)));
    must(append(*spool, {fmt::format("record {}", i), std::string(i, 'x')}));
    must(spool->sync());
    ASSERT_TRUE(must(reader.next(record)));
    EXPECT_EQ(record, fmt::format("record {}", i));
    ASSERT_TRUE(must(reader.next(record)));
    EXPECT_EQ(record.size(), i);
    EXPECT_EQ(reader.sequence(), 2 * i + 2);
    must(spool->release(reader.sequence()));
  }
  EXPECT_LE(files_in(directory), 2);
}

TEST(SpoolTest, GoesOnAfterItsEnd) {
  const TemporaryDirectory directory(in_memory);
  SpoolId id{};
  for (unsigned life = 0; life < 20; ++life) {
    const auto spool = open_spool(directory);
    if (life == 0) id = spool->id();
    EXPECT_EQ(spool->id(), id);
    EXPECT_EQ(spool->state().end, life);
    EXPECT_EQ(position_of(*spool), life == 0 ? "" : std::to_string(life));
    must(append(*spool, {std::to_string(life)}, std::to_string(life + 1)));
    must(spool->sync());
    if (life % 2 == 0) must(spool->close());
  }
  const auto spool = open_spool(directory);
  const auto records = must(read(*spool, 0));
  ASSERT_EQ(records.size(), 20);
  for (unsigned life = 0; life < 20; ++life) EXPECT_EQ(records[life], std::to_string(life));
}

TEST(SpoolTest, ForgetsAPosition) {
  const TemporaryDirectory directory(in_memory);
  {
    const auto spool = open_spool(directory);
    SpoolFrame frame;
    frame.set_position("a", "1");
    frame.set_position("b", "2");
    must(spool->append(frame));
    frame.set_position("a", "");
    must(spool->append(frame));
    must(spool->sync());
  }
  EXPECT_EQ(open_spool(directory)->positions(), (SourcePositions{{"b", "2"}}));
}

TEST(SpoolTest, AReaderKnowsThePositionsOfItsRecords) {
  const TemporaryDirectory directory(in_memory);
  const auto spool = open_spool(directory, 300);
  SpoolFrame frame;
  for (int i = 0; i < 20; ++i) {
    frame.add(std::to_string(i));
    if (i == 3) frame.set_position("layout", "a, b");
    frame.set_position("file", std::to_string(i));
    must(spool->append(frame));
  }
  must(spool->sync());
  ASSERT_GT(files_in(directory), 2);
  for (uint64_t i = 0; i < 20; ++i) {
    SpoolReader reader(*spool, i);
    ByteView record;
    ASSERT_TRUE(must(reader.next(record)));
    EXPECT_EQ(record, std::to_string(i));
    EXPECT_EQ(reader.positions().at("file"), record);
    EXPECT_EQ(reader.positions().contains("layout"), i >= 3) << i;
    EXPECT_EQ(reader.frame_positions().contains("layout"), i == 3) << i;
  }
}

TEST(SpoolTest, IsOneProcess) {
  const TemporaryDirectory directory(in_memory);
  const auto spool = open_spool(directory);
  const auto second = Spool::open(posix_filesystem(), options_for(directory));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::Busy);
}

TEST(SpoolTest, SaysThatItIsFullUntilRecordsAreReleased) {
  const TemporaryDirectory directory(in_memory);
  const auto spool = must(Spool::open(
      posix_filesystem(), {.directory = directory.file("spool"), .limit_bytes = 2000, .file_bytes = 500}));
  uint64_t taken = 0;
  Status status;
  while ((status = append(*spool, {std::string(100, 'x')}))) ++taken;
  EXPECT_EQ(status.error().code(), ErrorCode::Busy);
  EXPECT_GT(taken, 5);
  EXPECT_LE(spool->state().bytes, 2000);
  must(spool->sync());
  must(spool->release(taken));
  EXPECT_EQ(files_in(directory), 1);
  must(append(*spool, {std::string(100, 'x')}));
  const Status too_large = append(*spool, {std::string(501, 'x')});
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), ErrorCode::InvalidArgument);
  const auto released = read(*spool, 0);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code(), ErrorCode::NotFound);
}

TEST(SpoolTest, AFullDiskLosesNothingAndCanBeWaitedOut) {
  const TemporaryDirectory directory(in_memory);
  FaultFilesystem filesystem(posix_filesystem(), 1);
  const auto spool = must(Spool::open(filesystem, options_for(directory, 400)));
  uint64_t taken = 0;
  for (uint64_t room = 0; room < 300; room += 7) {
    filesystem.set_free_bytes(room);
    Status status;
    while ((status = append(*spool, {std::to_string(taken), "filler"}))) ++taken;
    EXPECT_EQ(status.error().code(), ErrorCode::DiskFull) << status.error().message();
  }
  filesystem.set_free_bytes(1'000'000);
  must(append(*spool, {std::to_string(taken++), "filler"}));
  must(spool->close());
  const auto records = must(read(*spool, 0));
  ASSERT_EQ(records.size(), 2 * taken);
  for (uint64_t i = 0; i < taken; ++i) EXPECT_EQ(records[2 * i], std::to_string(i));
}

TEST(SpoolTest, ADiskThatIsFullFromTheStartGivesWhatIsDurable) {
  const TemporaryDirectory directory(in_memory);
  {
    const auto spool = open_spool(directory, 400);
    for (int i = 0; i < 20; ++i) {
      must(append(*spool, {std::to_string(i)}, std::to_string(i)));
      must(spool->sync());
    }
    // It ends without close(), as by a kill.
  }
  const size_t files = files_in(directory);
  ASSERT_GT(files, 3);
  FaultFilesystem filesystem(posix_filesystem(), 1);
  filesystem.set_free_bytes(0);
  auto spool = must(Spool::open(filesystem, options_for(directory, 400)));
  EXPECT_EQ(position_of(*spool), "19");
  EXPECT_FALSE(spool->state().is_recovered);
  EXPECT_EQ(spool->state().end, 19) << "but the last one";
  EXPECT_EQ(must(read(*spool, 0)).size(), 19);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(spool->sync().error().code(), ErrorCode::DiskFull);
    EXPECT_EQ(append(*spool, {"more"}).error().code(), ErrorCode::DiskFull);
    EXPECT_EQ(spool->close().error().code(), ErrorCode::DiskFull);
  }
  must(spool->release(19));
  EXPECT_EQ(files_in(directory), 1) << "which makes room";
  filesystem.set_free_bytes(1'000'000);
  must(spool->sync());
  EXPECT_TRUE(spool->state().is_recovered);
  EXPECT_EQ(must(read(*spool, 19)), Records({"19"}));
  must(append(*spool, {"more"}));
  must(spool->close());
  spool.reset();
  EXPECT_EQ(must(read(*open_spool(directory, 400), 19)), Records({"19", "more"}));
}

TEST(SpoolTest, NothingIsAcknowledgedAfterASyncThatFailed) {
  const TemporaryDirectory directory(in_memory);
  {
    FaultFilesystem filesystem(posix_filesystem(), 1);
    const auto spool = must(Spool::open(filesystem, options_for(directory)));
    must(append(*spool, {"one"}));
    must(spool->sync());
    must(append(*spool, {"two"}));
    filesystem.add_rule(
        {.call = FaultFilesystem::Call::Sync, .times = 1, .effect = FaultFilesystem::Effect::ForgetUnsynced});
    const Status failed = spool->sync();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), ErrorCode::ReadOnly);
    EXPECT_EQ(append(*spool, {"three"}).error().code(), ErrorCode::ReadOnly);
    EXPECT_EQ(must(read(*spool, 0)), Records({"one"}));
    // Opened by another process, which sees what never gets to the disk.
  }
  FaultFilesystem filesystem(posix_filesystem(), 2);
  {
    const auto spool = must(Spool::open(filesystem, options_for(directory)));
    EXPECT_EQ(must(read(*spool, 0)), Records({"one"})) << "nothing proves yet that two is durable";
    must(spool->sync());
    EXPECT_EQ(must(read(*spool, 0)), Records({"one", "two"}));
  }
  must(filesystem.leave_crash_state(3));
  EXPECT_EQ(must(read(*open_spool(directory), 0)), Records({"one", "two"})) << "what was given out must stay";
}

/// Work on a spool beside a model of it: what was appended, what of it was acknowledged and released.
class SpoolModel {
 public:
  explicit SpoolModel(uint64_t seed) : random_(seed) {}

  /// Random steps until the power fails or enough were done.
  void work(FaultFilesystem& filesystem, const SpoolOptions& options) {
    const auto opened = Spool::open(filesystem, options);
    if (!opened) {
      ASSERT_TRUE(filesystem.powered_off()) << opened.error().message();
      return;
    }
    Spool& spool = **opened;
    const auto proven = read(spool, spool.state().begin);
    ASSERT_TRUE(proven) << proven.error().message();
    if (!spool.sync()) {
      ASSERT_TRUE(filesystem.powered_off());
      return;
    }
    const auto all = read(spool, spool.state().begin);
    ASSERT_TRUE(all) << all.error().message();
    ASSERT_TRUE(all->size() >= proven->size() && std::equal(proven->begin(), proven->end(), all->begin()));
    verify(spool);
    for (int step = 0; step < 30 && !filesystem.powered_off(); ++step) {
      const auto choice = random_() % 8;
      if (choice < 4) {
        append(spool);
      } else if (choice < 7) {
        if (spool.sync()) acknowledged_ = taken_;
      } else if (acknowledged_ > released_) {
        released_ += random_() % (acknowledged_ - released_) + 1;
        static_cast<void>(spool.release(released_));
      }
    }
    if (random_() % 2 == 0 && spool.close()) acknowledged_ = taken_;
  }

  /// The spool holds all that was acknowledged, and nothing but what was appended; what it has is
  /// acknowledged now.
  void verify(const Spool& spool) {
    const uint64_t end = spool.state().end;
    ASSERT_LE(acknowledged_, end);
    ASSERT_LE(end, appended_.size());
    ASSERT_LE(spool.state().begin, released_);
    const auto records = read(spool, released_);
    ASSERT_TRUE(records) << records.error().message();
    ASSERT_EQ(*records, Records(appended_.begin() + static_cast<ptrdiff_t>(released_),
                                appended_.begin() + static_cast<ptrdiff_t>(end)));
    ASSERT_EQ(position_of(spool), end == 0 ? "" : std::to_string(end));
    appended_.resize(end);
    acknowledged_ = taken_ = end;
  }

 private:
  void append(Spool& spool) {
    SpoolFrame frame;
    const uint64_t count = random_() % 5 + 1;
    std::vector<std::string> records;
    for (uint64_t i = 0; i < count; ++i) {
      records.push_back(fmt::format("{} {}", appended_.size() + i, std::string(random_() % 60, 'x')));
      frame.add(records.back());
    }
    frame.set_position("file", std::to_string(appended_.size() + count));
    // An append that failed may be there after a power failure all the same.
    const Status status = spool.append(frame);
    appended_.insert(appended_.end(), records.begin(), records.end());
    if (status) taken_ = appended_.size();
  }

  std::mt19937_64 random_;
  std::vector<std::string> appended_;
  uint64_t taken_ = 0;  // of these, by calls that succeeded
  uint64_t acknowledged_ = 0;
  uint64_t released_ = 0;
};

TEST(SpoolTest, APowerFailureAtAnyInstantLosesNothingAcknowledged) {
  const uint64_t seed = test_seed(1);
  for (uint64_t run = 0; run < 300; ++run) {
    SCOPED_TRACE(fmt::format("run {}", run));
    const TemporaryDirectory directory(in_memory);
    SpoolModel model(seed * 1000 + run);
    std::mt19937_64 random(seed + run);
    for (int life = 0; life < 6; ++life) {
      FaultFilesystem filesystem(posix_filesystem(), random());
      filesystem.power_off_after(random() % 40);
      model.work(filesystem, options_for(directory, 600));
      must(filesystem.leave_crash_state(random()));
      if (::testing::Test::HasFatalFailure()) return;
    }
    model.verify(*open_spool(directory, 600));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(SpoolTest, AChangedByteIsFound) {
  const TemporaryDirectory directory(in_memory);
  Records all;
  {
    const auto spool = open_spool(directory, 300);
    for (int i = 0; i < 12; ++i) {
      all.push_back(fmt::format("record {}", i));
      must(append(*spool, {all.back()}, std::to_string(i + 1)));
      must(spool->sync());
    }
    must(spool->close());
  }
  size_t refused = 0, bytes_in_all = 0;
  for (const std::string& name : must(posix_filesystem().list(directory.file("spool")))) {
    if (!parse_spool_file_name(name)) continue;
    const std::string path = directory.file("spool/" + name);
    std::string bytes;
    {
      const auto file = must(posix_filesystem().open(path));
      bytes.resize(must(file->size()));
      must(file->read_at(0, bytes.size(), bytes.data()));
    }
    const auto write = [&path](const std::string& content) {
      const auto file = must(posix_filesystem().create(path));
      must(file->append(content));
    };
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      write(changed);
      ++bytes_in_all;
      auto spool = Spool::open(posix_filesystem(), options_for(directory, 300));
      if (spool) must((*spool)->sync());
      const auto records = spool ? read(**spool, 0) : std::unexpected(spool.error());
      if (records) {
        // But the end mark, which is written again.
        EXPECT_EQ(*records, all) << name << " offset " << at;
        EXPECT_EQ(position_of(**spool), "12");
      } else {
        ++refused;
        EXPECT_EQ(records.error().code(), ErrorCode::Corruption) << records.error().message();
        EXPECT_NE(records.error().message().find(name), std::string::npos) << records.error().message();
      }
      spool = std::unexpected(Error(ErrorCode::NotFound, ""));
      write(bytes);
    }
  }
  EXPECT_EQ(refused, bytes_in_all - spool_frame_header_size);
}

TEST(SpoolTest, AMissingFileIsFound) {
  const TemporaryDirectory directory(in_memory);
  {
    const auto spool = open_spool(directory, 300);
    for (int i = 0; i < 12; ++i) must(append(*spool, {std::string(100, 'x')}));
    must(spool->close());
  }
  must(posix_filesystem().remove(directory.file("spool/" + spool_file_name(2))));
  const auto spool = Spool::open(posix_filesystem(), options_for(directory, 300));
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code(), ErrorCode::Corruption);
  EXPECT_NE(spool.error().message().find(spool_file_name(2)), std::string::npos) << spool.error().message();
}

/// tests/fixtures/RELEASE/spool-FORMAT is a spool that a collector of three lines left behind.
TEST(SpoolTest, OfEachReleasedFormatGoesOn) {
  size_t found = 0;
  for (const auto& release : std::filesystem::directory_iterator(HAILSTONE_FIXTURES)) {
    for (const auto& fixture : std::filesystem::directory_iterator(release.path())) {
      if (!fixture.path().filename().string().starts_with("spool-")) continue;
      SCOPED_TRACE(fixture.path());
      ++found;
      const TemporaryDirectory directory(in_memory);
      std::filesystem::copy(fixture.path(), directory.file("spool"));
      auto spool = open_spool(directory);
      const auto records = must(read(*spool, 0));
      ASSERT_EQ(records.size(), 3U);
      EXPECT_EQ(records[1], ByteView("\2"
                                     "2\ttwo"));
      const auto kept = spool->positions().find("in.tsv");
      ASSERT_NE(kept, spool->positions().end());
      const auto position = decode_source_position(kept->second);
      ASSERT_TRUE(position);
      EXPECT_EQ(position->offset, 20U);
      EXPECT_EQ(position->line, 3U);
      EXPECT_EQ(position->fingerprint.head.bytes, 20U);
      must(append(*spool, {"more"}, "there"));
      must(spool->sync());
      spool.reset();
      EXPECT_EQ(must(read(*open_spool(directory), 3)), std::vector<std::string>{"more"});
    }
  }
  EXPECT_EQ(found, 2U);
}

TEST(SpoolTest, OfALaterFormatNamesItsReleaseAndIsLeftAlone) {
  const TemporaryDirectory directory(in_memory);
  std::filesystem::create_directory(directory.file("spool"));
  std::string header = encode(SpoolFileHeader{.number = 1});
  constexpr uint32_t later = 312;
  store(header.data() + 8, later);
  store(header.data() + spool_file_header_size - 8,
        checksum(ByteView(header).substr(0, spool_file_header_size - 8)));
  const std::string path = directory.file("spool/") + spool_file_name(1);
  std::ofstream(path, std::ios::binary) << header;
  const auto opened = Spool::open(posix_filesystem(), options_for(directory));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(opened.error().message().find("Hailstone 0.3.12 or later"), std::string::npos)
      << opened.error().message();
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), header);
}

}  // namespace
}  // namespace hailstone
