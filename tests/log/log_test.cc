#include "log/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/failing_allocations.h"
#include "base/guard.h"
#include "base/test_seed.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"
#include "log/log_format.h"

namespace hailstone {
namespace {

struct Seen {
  Lsn begin, end;
  LogRecordType type;
  std::string payload;
  bool operator==(const Seen&) const = default;
};

class LogTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Log>> open(Filesystem& filesystem = posix_filesystem(),
                                    size_t buffer_bytes = 1 << 16) {
    return Log::open(filesystem,
                     {.directory = directory_.path(),
                      .buffer_bytes = buffer_bytes,
                      .write_timeout = write_timeout_,
                      .retry_pause = std::chrono::milliseconds(1)},
                     counters_);
  }
  /// Opens and replays into seen_.
  Result<std::unique_ptr<Log>> reopen(Lsn from = 0, Filesystem& filesystem = posix_filesystem()) {
    seen_.clear();
    HAILSTONE_ASSIGN(auto log, open(filesystem));
    HAILSTONE_TRY(log->replay(from, [this](const LogRecord& record) -> Status {
      seen_.push_back({record.begin, record.end, record.type, std::string(record.payload)});
      return {};
    }));
    return log;
  }
  std::vector<std::string> payloads() const {
    std::vector<std::string> result;
    for (const Seen& seen : seen_) result.push_back(seen.payload);
    return result;
  }
  std::string read(const std::string& path) {
    auto file = posix_filesystem().open(path).value();
    std::string bytes(file->size().value(), '\0');
    EXPECT_TRUE(file->read_at(0, bytes.size(), bytes.data()));
    return bytes;
  }
  void write(const std::string& path, ByteView bytes) {
    auto file = posix_filesystem().create(path).value();
    EXPECT_TRUE(file->append(bytes));
  }
  /// All log files, to put back after a test has damaged them.
  std::map<std::string, std::string> save() {
    std::map<std::string, std::string> files;
    const auto names = posix_filesystem().list(directory_.path()).value();
    for (const auto& name : names) {
      files[directory_.file(name)] = read(directory_.file(name));
    }
    return files;
  }
  void restore(const std::map<std::string, std::string>& files) {
    const auto names = posix_filesystem().list(directory_.path()).value();
    for (const auto& name : names) {
      if (files.contains(directory_.file(name))) continue;
      EXPECT_TRUE(posix_filesystem().remove(directory_.file(name)));
    }
    for (const auto& [path, bytes] : files) write(path, bytes);
  }

  TemporaryDirectory directory_{TemporaryDirectory::Place::Memory};
  Counters counters_;
  std::vector<Seen> seen_;
  std::chrono::milliseconds write_timeout_{0};
};
using LogConcurrentTest = LogTest;

Lsn add(Log& log, ByteView payload) { return log.append(LogRecordType::Commit, payload).value(); }

TEST_F(LogTest, ReplaysWhatWasWritten) {
  std::mt19937_64 random(test_seed(3));
  std::vector<Seen> written;
  for (int round = 0; round < 4; ++round) {
    auto log = reopen();
    ASSERT_TRUE(log) << log.error().message();
    EXPECT_EQ(seen_, written);
    for (int i = 0; i < 200; ++i) {
      const auto type = static_cast<LogRecordType>(1 + random() % 6);
      std::string payload(random() % (i % 50 == 0 ? 300000 : 300), static_cast<char>(random()));
      const Lsn end = (*log)->append(type, payload).value();
      EXPECT_EQ((*log)->end(), end);
      written.push_back({end - payload.size() - log_record_header_size, end, type, payload});
      if (random() % 4 == 0) {
        ASSERT_TRUE((*log)->sync(end));
        EXPECT_EQ((*log)->durable(), end);
      }
      if (random() % 4 == 0) {
        ASSERT_TRUE((*log)->write(end));
      }
      if (random() % 40 == 0) {
        ASSERT_TRUE((*log)->rotate());
      }
    }
    ASSERT_TRUE((*log)->sync((*log)->end()));
  }
  // From every position that append() returned, exactly what comes after it.
  for (size_t i = 0; i < written.size(); i += 37) {
    ASSERT_TRUE(reopen(written[i].end));
    EXPECT_EQ(seen_, std::vector<Seen>(written.begin() + static_cast<std::ptrdiff_t>(i) + 1, written.end()));
  }
}

TEST_F(LogTest, WhatWasNotWrittenIsNotThere) {
  {
    auto log = reopen();
    ASSERT_TRUE((*log)->write(add(**log, "written")));
    add(**log, "only appended");
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(payloads(), std::vector<std::string>{"written"});
}

TEST_F(LogTest, MustBeReplayedFirst) {
  auto log = open();
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->append(LogRecordType::Commit, "x").error().code(), ErrorCode::InvalidArgument);
}

TEST_F(LogTest, OneCommitIsOneWriteAndOneSync) {
  auto log = reopen();
  ASSERT_TRUE((*log)->sync(add(**log, "first, which allocates ahead")));
  const uint64_t writes = counters_.log_writes;
  const uint64_t syncs = counters_.log_fsyncs;
  for (int i = 0; i < 10; ++i) {
    add(**log, "operation");
    const Lsn end = add(**log, "commit");
    ASSERT_TRUE((*log)->sync(end));
    ASSERT_TRUE((*log)->sync(end));
    ASSERT_TRUE((*log)->write(end));
  }
  EXPECT_EQ(counters_.log_writes - writes, 10U);
  EXPECT_EQ(counters_.log_fsyncs - syncs, 10U);
}

TEST_F(LogTest, RotatesAndDrops) {
  Lsn second = 0;
  {
    auto log = reopen();
    add(**log, "a");
    second = (*log)->rotate().value();
    EXPECT_EQ((*log)->rotate().value(), second) << "a file without records is used on";
    add(**log, "b");
    const Lsn third = (*log)->rotate().value();
    add(**log, "c");
    EXPECT_EQ(save().size(), 3U);
    ASSERT_TRUE((*log)->drop_before(second));
    EXPECT_EQ(save().size(), 2U);
    ASSERT_TRUE((*log)->drop_before(third - log_file_header_size - 1));
    EXPECT_EQ(save().size(), 2U);
    ASSERT_TRUE((*log)->sync(third + 1));
  }
  ASSERT_TRUE(reopen(second));
  EXPECT_EQ(payloads(), (std::vector<std::string>{"b", "c"}));
  {
    auto log = reopen(second);
    ASSERT_TRUE((*log)->drop_before((*log)->end()));
    EXPECT_EQ(save().size(), 1U) << "the newest file stays";
  }
  const auto lost = reopen(second);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::Corruption);
}

TEST_F(LogTest, AMissingFileIsCorruption) {
  std::vector<Lsn> begins = {0};
  {
    auto log = reopen();
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE((*log)->sync(add(**log, "record")));
      begins.push_back((*log)->rotate().value() - log_file_header_size);
    }
    ASSERT_TRUE((*log)->sync(add(**log, "last")));
  }
  const auto files = save();
  for (const Lsn begin : begins) {
    const std::string path = directory_.file(log_file_name(begin));
    ASSERT_TRUE(posix_filesystem().remove(path));
    // The last file was durable too, which only who syncs to its beginning knows.
    const auto log = reopen(begin == begins.back() ? begin + log_file_header_size : 0);
    ASSERT_FALSE(log) << begin;
    EXPECT_EQ(log.error().code(), ErrorCode::Corruption);
    EXPECT_NE(log.error().message().find("log-"), std::string::npos);
    restore(files);
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(seen_.size(), 5U);
}

TEST_F(LogTest, EveryCutOfTheLastBatchIsATornTail) {
  {
    FaultFilesystem power(posix_filesystem());
    auto log = reopen(0, power);
    ASSERT_TRUE((*log)->sync(add(**log, "first")));
    add(**log, "second one");
    ASSERT_TRUE((*log)->sync(add(**log, "third one")));
    power.power_off();  // keeps the log from noting at its end how far it is durable
  }
  const std::string path = directory_.file(log_file_name(0));
  std::string whole = read(path);
  whole.resize(whole.find_last_not_of('\0') + 1);
  const size_t last = whole.rfind(log_batch_magic);
  for (size_t cut = last; cut <= whole.size(); ++cut) {
    for (const size_t zeros : std::initializer_list<size_t>{0, 1, 100, 5000}) {
      write(path, whole.substr(0, cut) + std::string(zeros, '\0'));
      FaultFilesystem unsynced(posix_filesystem());
      {
        auto log = reopen(0, unsynced);
        ASSERT_TRUE(log) << log.error().message();
        EXPECT_EQ(seen_.size(), cut == whole.size() ? 3U : 1U) << cut;
        EXPECT_EQ((*log)->end(), cut == whole.size() ? cut : last);
        ASSERT_TRUE((*log)->sync(add(**log, "after")));
      }
      ASSERT_TRUE(reopen());
      EXPECT_EQ(seen_.back().payload, "after");
      EXPECT_EQ(seen_.size(), cut == whole.size() ? 4U : 2U);
    }
  }
}

TEST_F(LogTest, EveryFlippedBitIsFound) {
  {
    auto log = reopen();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*log)->sync(add(**log, "record " + std::to_string(i))));
    ASSERT_TRUE((*log)->sync((*log)->rotate().value()));
    for (int i = 3; i < 6; ++i) ASSERT_TRUE((*log)->sync(add(**log, "record " + std::to_string(i))));
  }
  ASSERT_TRUE(reopen());
  const std::vector<Seen> all = seen_;
  ASSERT_EQ(all.size(), 6U);
  const auto files = save();
  for (const auto& [path, bytes] : files) {
    // The last file ends with the empty batch that the log notes its durable end in.
    const size_t records_end =
        path == files.rbegin()->first ? bytes.size() - log_batch_header_size : bytes.size();
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      write(path, damaged);
      FaultFilesystem unsynced(posix_filesystem());
      const auto log = reopen(0, unsynced);
      if (at < records_end) {
        ASSERT_FALSE(log) << path << " at " << at;
        EXPECT_EQ(log.error().code(), ErrorCode::Corruption);
        EXPECT_NE(log.error().message().find(path), std::string::npos) << log.error().message();
      } else {
        ASSERT_TRUE(log) << log.error().message();
        EXPECT_EQ(seen_, all);
      }
      restore(files);
    }
  }
}

TEST_F(LogTest, DamageBeforeASyncedBatchIsCorruptionEvenWhenThatOneIsTornToo) {
  {
    FaultFilesystem power(posix_filesystem());
    auto log = reopen(0, power);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*log)->sync(add(**log, "record " + std::to_string(i))));
    power.power_off();
  }
  const std::string path = directory_.file(log_file_name(0));
  std::string bytes = read(path);
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  bytes[log_file_header_size + log_batch_header_size] ^= 1;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(path, bytes);
  const auto log = reopen();
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), ErrorCode::Corruption);
}

TEST_F(LogTest, ANewerFormatIsRefusedAndLeftAlone) {
  const std::string header =
      encode(LogFileHeader{.version = log_format_version + 1, .begin = 0, .durable = 0});
  write(directory_.file(log_file_name(0)), header);
  EXPECT_EQ(reopen().error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(read(directory_.file(log_file_name(0))), header);
}

TEST_F(LogTest, OtherFilesInTheDirectoryAreLeftAlone) {
  for (const char* name :
       {"log-1", "log-00000000000000zz", "manifest", "log-000000000000000A", "log-+00000000000000f"}) {
    write(directory_.file(name), "x");
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(save().size(), 6U);
}

TEST_F(LogTest, AFailureSticks) {
  using Call = FaultFilesystem::Call;
  for (const Call call : {Call::Append, Call::Sync}) {
    FaultFilesystem faults(posix_filesystem());
    auto log = reopen(0, faults);
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_TRUE((*log)->sync(add(**log, "good")));
    faults.add_rule(
        {.call = call, .times = 1, .effect = FaultFilesystem::Effect::Tear, .error_number = ENOSPC});
    const Lsn end = add(**log, "bad");
    const Status status = (*log)->sync(end);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::DiskFull);
    EXPECT_EQ((*log)->sync(end).error().message(), status.error().message());
    const auto appended = (*log)->append(LogRecordType::Commit, "x");
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code(), ErrorCode::ReadOnly);
    EXPECT_EQ(appended.error().message(), status.error().message());
    EXPECT_EQ((*log)->rotate().error().message(), status.error().message());
    EXPECT_TRUE((*log)->sync((*log)->durable())) << "what was durable before stays so";
  }
}

TEST_F(LogTest, APassingFailureToWriteIsWaitedOut) {
  using Call = FaultFilesystem::Call;
  using Effect = FaultFilesystem::Effect;
  write_timeout_ = std::chrono::minutes(10);
  std::vector<std::string> written;
  {
    FaultFilesystem faults(posix_filesystem(), test_seed(7));
    auto log = reopen(0, faults);
    ASSERT_TRUE(log) << log.error().message();
    for (int round = 0; round < 30; ++round) {
      faults.add_rule({.call = Call::Append,
                       .times = 1 + static_cast<uint64_t>(round % 3),
                       .effect = round % 2 == 0 ? Effect::Tear : Effect::Fail,
                       .error_number = round % 5 == 0 ? EIO : ENOSPC});
      written.push_back("round " + std::to_string(round) + std::string(static_cast<size_t>(round) * 37, 'x'));
      const Lsn end = add(**log, written.back());
      const Status status = round % 4 == 0 ? (*log)->write(end) : (*log)->sync(end);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_FALSE((*log)->stall());
      if (round % 7 == 0) {
        ASSERT_TRUE((*log)->rotate());
      }
    }
    EXPECT_EQ(counters_.log_stalls.load(), 30U);
    ASSERT_TRUE((*log)->sync((*log)->end()));
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(payloads(), written);
}

TEST_F(LogTest, WhoWaitsForAFullDiskCanBeInterrupted) {
  write_timeout_ = std::chrono::minutes(10);
  FaultFilesystem faults(posix_filesystem());
  {
    auto log = open(faults, 1000);
    ASSERT_TRUE((*log)->replay(0, [](const LogRecord&) -> Status { return {}; }));
    faults.add_rule({.call = FaultFilesystem::Call::Append, .error_number = ENOSPC});
    const Lsn end = add(**log, "waits");
    int asked = 0;
    const Status interrupted = (*log)->sync(end, [&] { return ++asked == 3; });
    ASSERT_FALSE(interrupted);
    EXPECT_EQ(interrupted.error().code(), ErrorCode::Interrupted);
    EXPECT_EQ(asked, 3);
    ASSERT_TRUE((*log)->stall());
    EXPECT_EQ((*log)->stall()->code(), ErrorCode::DiskFull);
    // Appending goes on, as callers hold mutexes; waiting for room is for those that hold none.
    for (int i = 0; i < 3; ++i) add(**log, std::string(900, 'x'));
    EXPECT_EQ((*log)->wait_for_room([] { return true; }).error().code(), ErrorCode::DiskFull);
    // Nobody who takes a checkpoint waits either.
    EXPECT_EQ((*log)->rotate().error().code(), ErrorCode::DiskFull);
    faults.clear_rules();
    ASSERT_TRUE((*log)->wait_for_room({}));
    ASSERT_TRUE((*log)->rotate());
    ASSERT_TRUE((*log)->sync(add(**log, "in the next file")));
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(seen_.size(), 5U);
}

TEST_F(LogTest, WaitingForTheDiskEnds) {
  using Call = FaultFilesystem::Call;
  // By the timeout, a cut that fails, or a sync that fails.
  for (const Call call : {Call::Append, Call::Truncate, Call::Sync}) {
    write_timeout_ = call == Call::Append ? std::chrono::milliseconds(20) : std::chrono::minutes(10);
    FaultFilesystem faults(posix_filesystem());
    auto log = reopen(0, faults);
    ASSERT_TRUE(log) << log.error().message();
    faults.add_rule({.call = call, .error_number = EIO});
    if (call != Call::Sync) faults.add_rule({.call = Call::Append, .error_number = ENOSPC});
    const Lsn end = add(**log, "never written");
    ASSERT_FALSE((*log)->sync(end));
    EXPECT_FALSE((*log)->stall());
    faults.clear_rules();
    EXPECT_FALSE((*log)->sync(end));
    EXPECT_EQ((*log)->append(LogRecordType::Commit, "x").error().code(), ErrorCode::ReadOnly);
  }
}

TEST_F(LogTest, AFileThatCannotBeMadeChangesNothing) {
  using Call = FaultFilesystem::Call;
  using Effect = FaultFilesystem::Effect;
  FaultFilesystem faults(posix_filesystem());
  {
    auto log = reopen(0, faults);
    ASSERT_TRUE((*log)->sync(add(**log, "one")));
    faults.add_rule({.call = Call::Create, .times = 1, .error_number = EMFILE});
    EXPECT_FALSE((*log)->rotate());
    // The header cannot be written: the file goes again.
    faults.add_rule({.call = Call::Append, .times = 1, .effect = Effect::Tear, .error_number = ENOSPC});
    EXPECT_FALSE((*log)->rotate());
    EXPECT_EQ(posix_filesystem().list(directory_.path())->size(), 1U);
    ASSERT_TRUE((*log)->sync(add(**log, "two")));
    ASSERT_TRUE((*log)->rotate());
    ASSERT_TRUE((*log)->sync(add(**log, "three")));
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(LogTest, OpensOrDoesNotWithoutMemory) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  for (uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    FailingAllocations::arm(n, 1);
    const Status opened = FailingAllocations::call([&] {
      return guarded([&]() -> Status {
        HAILSTONE_ASSIGN(const auto log, reopen());
        HAILSTONE_ASSIGN(const Lsn end, log->append(LogRecordType::Commit, "x"));
        return log->sync(end);
      });
    });
    const uint64_t failed = FailingAllocations::disarm();
    if (failed == 0) break;
    if (!opened) {
      ASSERT_EQ(opened.error().code(), ErrorCode::OutOfMemory);
    }
  }
  ASSERT_TRUE(reopen());
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(seen_.back().payload, "x");
}

TEST_F(LogTest, AFailureToWriteAheadIsNoFailure) {
  FaultFilesystem faults(posix_filesystem());
  faults.add_rule({.call = FaultFilesystem::Call::Preallocate,
                   .effect = FaultFilesystem::Effect::Tear,
                   .error_number = ENOSPC});
  {
    auto log = reopen(0, faults);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE((*log)->sync(add(**log, "record")));
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(seen_.size(), 20U);
}

TEST_F(LogTest, AFullDiskLosesNothingThatWasSynced) {
  FaultFilesystem faults(posix_filesystem());
  size_t synced = 0;
  {
    auto log = reopen(0, faults);
    faults.set_free_bytes(200000);
    for (;;) {
      const auto end = (*log)->append(LogRecordType::Commit, std::string(1000, 'x'));
      if (!end || !(*log)->sync(*end)) break;
      ++synced;
    }
  }
  EXPECT_GT(synced, 100U);
  ASSERT_TRUE(reopen());
  EXPECT_EQ(seen_.size(), synced);
}

// Appends, writes, syncs, rotates and drops at random until the power goes at some call; then everything
// synced must be there, in order, and what else is there must be the beginning of what was appended after it.
TEST_F(LogTest, PowerFailuresLoseNothingThatWasSynced) {
  const uint64_t seed = test_seed(4);
  write_timeout_ = std::chrono::minutes(10);
  for (uint64_t run = 0; run < 1000; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    std::mt19937_64 random(seed * 1000003 + run);
    restore({});
    std::vector<std::string> appended;
    size_t first = 0;   // of `appended`, that a replay from `from` gives
    size_t synced = 0;  // so many are durable
    Lsn from = 0;
    for (int life = 0; life < 4; ++life) {
      FaultFilesystem power(posix_filesystem(), random());
      power.power_off_after(random() % 60);
      // The disk is full now and then.
      for (uint64_t i = random() % 3; i > 0; --i) {
        power.add_rule(
            {.call = FaultFilesystem::Call::Append,
             .skip = random() % 20,
             .times = 1 + random() % 2,
             .effect = random() % 2 == 0 ? FaultFilesystem::Effect::Tear : FaultFilesystem::Effect::Fail,
             .error_number = ENOSPC});
      }
      size_t next_first = first;
      Lsn next_from = from;
      // Until the power goes, the process may be killed and started again any number of times.
      while (!power.powered_off()) {
        auto log = reopen(from, power);
        if (log) {
          const auto now = payloads();
          ASSERT_GE(first + now.size(), synced);
          ASSERT_LE(first + now.size(), appended.size());
          for (size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], appended[first + i]);
          appended.resize(first + now.size());
          synced = appended.size();  // replay makes durable what it found
        } else {
          ASSERT_TRUE(power.powered_off() || log.error().code() == ErrorCode::DiskFull)
              << log.error().message();
        }
        for (bool alive = log.has_value(); alive && random() % 20 != 0;) {
          const uint64_t choice = random() % 10;
          if (choice < 5) {
            std::string payload = std::to_string(appended.size()) +
                                  std::string(random() % (random() % 10 == 0 ? 9000 : 90), 'p');
            const auto end = (*log)->append(LogRecordType::Operations, payload);
            alive = end.has_value();
            if (alive) appended.push_back(payload);
          } else if (choice < 6) {
            alive = (*log)->write((*log)->end()).has_value();
          } else if (choice < 8) {
            alive = (*log)->sync((*log)->end()).has_value();
            if (alive) synced = appended.size();
          } else if (choice < 9) {
            const auto position = (*log)->rotate();
            alive = position || !power.powered_off();
            if (position) {
              next_from = *position;
              next_first = appended.size();
            }
          } else if (next_from != from) {
            // As a checkpoint does: the position becomes durable, then older files go.
            alive = (*log)->sync(next_from).has_value();
            if (!alive) break;
            synced = std::max(synced, next_first);
            from = next_from;
            first = next_first;
            alive = (*log)->drop_before(from).has_value();
          }
        }
      }
      const Status left = power.leave_crash_state(random());
      ASSERT_TRUE(left) << left.error().message();
    }
    auto log = reopen(from);
    ASSERT_TRUE(log) << log.error().message();
    const auto now = payloads();
    ASSERT_GE(first + now.size(), synced);
    ASSERT_LE(first + now.size(), appended.size());
    for (size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], appended[first + i]);
  }
}

TEST_F(LogConcurrentTest, ThreadsShareSyncsAndLoseNothing) {
  constexpr int threads = 8;
  constexpr int records = 150;
  {
    auto log = open(posix_filesystem(), 5000);
    ASSERT_TRUE((*log)->replay(0, [](const LogRecord&) -> Status { return {}; }));
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        for (int i = 0; i < records; ++i) {
          const std::string payload =
              std::to_string(t) + " " + std::to_string(i) + " " + std::string(random() % 2000, 'x');
          const auto end = (*log)->append(LogRecordType::Commit, payload);
          ASSERT_TRUE(end);
          if (i % 3 != 0) {
            ASSERT_TRUE((*log)->sync(*end));
            EXPECT_GE((*log)->durable(), *end);
          }
        }
      });
    }
    workers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto position = (*log)->rotate();
        ASSERT_TRUE(position);
        std::this_thread::yield();
      }
    });
    for (auto& worker : workers) worker.join();
    ASSERT_TRUE((*log)->sync((*log)->end()));
  }
  ASSERT_TRUE(reopen());
  EXPECT_EQ(seen_.size(), static_cast<size_t>(threads * records));
  std::vector<int> next(threads, 0);
  Lsn position = 0;
  for (const Seen& seen : seen_) {
    EXPECT_GE(seen.begin, position);
    position = seen.end;
    const int thread = std::stoi(seen.payload);
    EXPECT_EQ(std::stoi(seen.payload.substr(2)), next[static_cast<size_t>(thread)]++);
  }
}

TEST_F(LogConcurrentTest, AFailedSyncReachesEveryWaiter) {
  FaultFilesystem faults(posix_filesystem());
  auto log = reopen(0, faults);
  faults.add_rule(
      {.call = FaultFilesystem::Call::Sync, .skip = 20, .effect = FaultFilesystem::Effect::ForgetUnsynced});
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::vector<std::string> promised;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const std::string payload = std::to_string(t) + " " + std::to_string(i);
        const auto end = (*log)->append(LogRecordType::Commit, payload);
        if (!end || !(*log)->sync(*end)) return;
        const std::lock_guard lock(mutex);
        promised.push_back(payload);
      }
    });
  }
  for (auto& worker : workers) worker.join();
  log->reset();
  ASSERT_TRUE(faults.leave_crash_state(5));
  ASSERT_TRUE(reopen());
  auto found = payloads();
  std::ranges::sort(found);
  std::ranges::sort(promised);
  EXPECT_EQ(found, promised) << "exactly what was promised is there, as the failed sync forgot the rest";
}

}  // namespace
}  // namespace hailstone
