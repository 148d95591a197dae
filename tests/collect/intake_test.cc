#include "collect/intake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collect/spool_reader.h"
#include "file/fault_filesystem.h"
#include "file/forwarding_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

/// Each append takes a while.
class SlowFilesystem final : public ForwardingFilesystem {
 public:
  using ForwardingFilesystem::ForwardingFilesystem;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    HAILSTONE_ASSIGN(auto file, below().create(path));
    return std::make_unique<Slow>(std::move(file), appends_);
  }
  uint64_t appends() const { return appends_; }

 private:
  class Slow final : public WritableFile {
   public:
    Slow(std::unique_ptr<WritableFile> file, std::atomic<uint64_t>& appends)
        : file_(std::move(file)), appends_(appends) {}
    Status append(ByteView bytes) override {
      ++appends_;
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return file_->append(bytes);
    }
    Status preallocate(uint64_t bytes) override { return file_->preallocate(bytes); }
    Status cut() override { return file_->cut(); }
    Status sync() override { return file_->sync(); }
    Status close() override { return file_->close(); }
    uint64_t size() const override { return file_->size(); }
    const std::string& path() const override { return file_->path(); }

   private:
    const std::unique_ptr<WritableFile> file_;
    std::atomic<uint64_t>& appends_;
  };
  std::atomic<uint64_t> appends_{0};
};

/// A stream of a folder of its own, whose intake runs once or beside the test.
class IntakeTest : public testing::Test {
 protected:
  IntakeTest() : directory_(TemporaryDirectory::Place::Memory) {
    config_.name = "test";
    config_.source = StreamConfig::Source::File;
    config_.path = directory_.file("in.tsv");
    config_.text.format = TextFormat::Tsv;
    config_.text.has_header = false;
    config_.text.longest_row = 1000;
    config_.columns = {"a", "b"};
    config_.reject_file = directory_.file("rejects");
  }

  void write(const std::string& name, const std::string& text, bool append = true) {
    std::ofstream file(directory_.file(name), append ? std::ios::app : std::ios::trunc);
    file << text;
  }

  /// Reads what is there, as one life of the process does.
  Status run_once() {
    const auto stop = Stop::make();
    auto spool = Spool::open(posix_filesystem(), {.directory = directory_.file("spool")});
    if (!spool) return std::unexpected(spool.error());
    RejectFile rejects(posix_filesystem(), config_.reject_file);
    return Intake(config_, **spool, rejects, **stop, true).run();
  }

  /// All records of the spool: "line: text".
  std::vector<std::string> records(const Spool& spool) {
    SpoolReader reader(spool, 0);
    std::vector<std::string> all;
    ByteView record;
    for (;;) {
      const auto found = reader.next(record);
      if (!found) ADD_FAILURE() << found.error().message();
      if (!found || !*found) return all;
      ByteReader bytes(record);
      uint64_t line = 0;
      EXPECT_TRUE(bytes.take_varint(line));
      ByteView text;
      EXPECT_TRUE(bytes.take_bytes(bytes.remaining(), text));
      all.push_back(std::to_string(line) + ": " + std::string(text));
    }
  }
  std::vector<std::string> records() {
    const auto spool = Spool::open(posix_filesystem(), {.directory = directory_.file("spool")});
    if (spool) return records(**spool);
    ADD_FAILURE() << spool.error().message();
    return {};
  }

  std::string rejects() {
    std::ifstream file(config_.reject_file);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// A life of the process beside the test.
  class Following {
   public:
    Following(IntakeTest& test, Filesystem& filesystem, Filesystem& of_rejects = posix_filesystem())
        : stop_(std::move(*Stop::make())),
          spool_(std::move(*Spool::open(filesystem, {.directory = test.directory_.file("spool")}))),
          rejects_(of_rejects, test.config_.reject_file),
          intake_(test.config_, *spool_, rejects_, *stop_, false),
          thread_([this] { ended_ = intake_.run(); }) {}
    ~Following() { stop(); }
    void wait_for(uint64_t records) const {
      while (spool_->state().end < records) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    uint64_t rejected() const { return rejects_.count(); }
    void stop() {
      if (!thread_.joinable()) return;
      stop_->request();
      thread_.join();
      EXPECT_TRUE(ended_) << ended_.error().message();
      spool_.reset();
    }

   private:
    const std::unique_ptr<Stop> stop_;
    std::unique_ptr<Spool> spool_;
    RejectFile rejects_;
    Intake intake_;
    Status ended_;
    std::thread thread_;
  };

  TemporaryDirectory directory_;
  StreamConfig config_;
};

using Records = std::vector<std::string>;

TEST_F(IntakeTest, GoesOnWhereItStopped) {
  write("in.tsv", "1\tone\n2\tt");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone"})) << "the last line is not whole";
  write("in.tsv", "wo\n\n3\t\\N\n");
  ASSERT_TRUE(run_once());
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo", "4: 3\t\\N"}));
}

TEST_F(IntakeTest, LinesEndAsTheFirstRowAlsoAfterARestart) {
  struct Case {
    TextFormat format;
    std::vector<std::string> pieces;  // a life of the process each
    Records wanted;
  };
  const auto tsv = TextFormat::Tsv, csv = TextFormat::Csv;
  for (const auto& [format, pieces, wanted] : std::vector<Case>{
           {tsv, {"1\tone\n", "2\ttwo\r\n"}, {"1: 1\tone", "2: 2\ttwo\r"}},
           {tsv, {"1\tone\r\n", "2\ttwo\n", "3\tx\r\n"}, {"1: 1\tone", "2: 2\ttwo", "3: 3\tx"}},
           {tsv, {"wrong\r\n", "2\ttwo\r\n"}, {"2: 2\ttwo"}},
           {tsv, {"wrong\n", "2\ttwo\r\n"}, {"2: 2\ttwo\r"}},
           {tsv, {std::string(5000, '\0') + "1\tone\n", "2\ttwo\r\n"}, {"1: 1\tone", "2: 2\ttwo\r"}},
           {tsv,
            {std::string(5000, '\0'), "1\tone\r\n", "2\ttwo\n3\tx\r\n"},
            {"1: 1\tone", "2: 2\ttwo", "3: 3\tx"}},
           {csv, {"a,b\r\n", "1,one\n", "2,two\r\n"}, {"2: 1\tone", "3: 2\ttwo\r"}},
           {csv, {"a,b\n", "1,one\r\n", "2,two\r\n"}, {"2: 1\tone", "3: 2\ttwo"}},
           {csv, {"a,\"b\"\n1,\"o\n\"\r\n", "2,two\r\n"}, {"2: 1\to\\n", "4: 2\ttwo"}},
       }) {
    for (const auto source : {StreamConfig::Source::File, StreamConfig::Source::Directory}) {
      const bool is_directory = source == StreamConfig::Source::Directory;
      // The end of a growing file's NULs is waited for; in a directory they are bytes like others.
      if (is_directory && pieces[0].starts_with('\0')) continue;
      std::filesystem::remove_all(directory_.file("spool"));
      std::filesystem::remove_all(directory_.file("in"));
      std::filesystem::create_directory(directory_.file("in"));
      config_.source = source;
      config_.path = directory_.file(is_directory ? "in" : "in/in.tsv");
      config_.text.format = format;
      config_.text.has_header = format == csv;
      for (const std::string& piece : pieces) {
        write("in/in.tsv", piece);
        ASSERT_TRUE(run_once());
      }
      EXPECT_EQ(records(), wanted) << pieces[0] << pieces[1] << is_directory;
    }
  }
}

TEST_F(IntakeTest, ReadsARenamedFileToItsEnd) {
  write("in.tsv", "1\tone\n");
  ASSERT_TRUE(run_once());
  write("in.tsv", "2\ttwo\n3\tno line end");
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in.tsv.1"));
  write("in.tsv", "4\tfour\n");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo", "3: 3\tno line end", "1: 4\tfour"}));
}

TEST_F(IntakeTest, BeginsATruncatedFileAgain) {
  write("in.tsv", "1\tone\n2\ttwo\n");
  ASSERT_TRUE(run_once());
  write("in.tsv", "3\tx\n", false);
  ASSERT_TRUE(run_once());
  // As long as before, but other bytes.
  write("in.tsv", "4\tfour\n5\tfive\n", false);
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo", "1: 3\tx", "1: 4\tfour", "2: 5\tfive"}));
}

TEST_F(IntakeTest, RejectsWhatIsNoRow) {
  write("in.tsv", "1\tone\n2\n3\tthree\tmore\n" + std::string(2000, 'x') + "\n5\tfive\n");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone", "5: 5\tfive"}));
  const std::string said = rejects();
  EXPECT_NE(said.find("\t2\t\tthe line has 1 fields where 2 were expected\t2\n"), std::string::npos) << said;
  EXPECT_NE(said.find("\t3\t\tthe line has 3 fields where 2 were expected\t3\\tthree\\tmore\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("longer than 1000 bytes"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 3);
}

TEST_F(IntakeTest, GoesOnBehindAnOpenQuote) {
  config_.text.format = TextFormat::Csv;
  write("in.tsv", "1,\"one\"\n2,\"two\"x\n3,\"th\nree\"\n4,\"four\n");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tone", "3: 3\tth\\nree"}));
  EXPECT_EQ(std::ranges::count(rejects(), '\n'), 2) << rejects();
}

TEST_F(IntakeTest, KeepsTheHeaderOfAFileThatGrows) {
  config_.text.format = TextFormat::Csv;
  config_.text.has_header = true;
  config_.columns.clear();
  write("in.tsv", "b,a\n1,2\n");
  ASSERT_TRUE(run_once());
  write("in.tsv", "3,4\n");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"2: 1\t2", "3: 3\t4"}));
  const auto spool = Spool::open(posix_filesystem(), {.directory = directory_.file("spool")});
  RecordLayout layout;
  ASSERT_TRUE(decode_layout((*spool)->positions().at(std::string(layout_key)), layout));
  EXPECT_EQ(layout, RecordLayout({"b", "a"}));
}

TEST_F(IntakeTest, ReadsEachFileOfADirectoryOnce) {
  config_.source = StreamConfig::Source::Directory;
  config_.pattern = "*.jsonl";
  config_.text.format = TextFormat::JsonLines;
  std::filesystem::create_directory(directory_.file("in"));
  config_.path = directory_.file("in");
  write("in/2.jsonl", "{\"b\": true, \"a\": \"x\\ty\"}\n{\"c\": 1}\n");
  write("in/1.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 1\n");
  write("in/3.tmp", "{\"a\": 3}\n");
  ASSERT_TRUE(run_once());
  ASSERT_TRUE(run_once());
  write("in/4.jsonl", "{\"a\": 4}");
  std::filesystem::remove(directory_.file("in/1.jsonl"));
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\t2", "1: x\\ty\t1", "2: \\N\t\\N", "1: 4\t\\N"}));
  EXPECT_NE(rejects().find("\t2\t\tthe line ends within a JSON object"), std::string::npos) << rejects();
  const auto spool = Spool::open(posix_filesystem(), {.directory = directory_.file("spool")});
  EXPECT_FALSE((*spool)->positions().contains(directory_.file("in/1.jsonl")));
}

TEST_F(IntakeTest, ALongRunOfRejectedRecordsHoldsNothingBackAndCanBeStopped) {
  constexpr uint64_t bad = 500'000;  // half a minute, as the reject file is slow
  std::string lines = "1\tgood\n";
  for (uint64_t i = 0; i < bad; ++i) lines += "bad\n";
  write("in.tsv", lines);
  SlowFilesystem slow(posix_filesystem());
  uint64_t rejected = 0;
  {
    Following following(*this, posix_filesystem(), slow);
    following.wait_for(1);
    following.stop();
    rejected = following.rejected();
  }
  EXPECT_GT(slow.appends(), 0);
  ASSERT_LT(rejected, bad);
  EXPECT_EQ(records(), Records({"1: 1\tgood"}));
  // What comes then is behind them.
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"1: 1\tgood"}));
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(rejects(), '\n')), bad);
}

TEST_F(IntakeTest, WaitsWhileTheDiskIsFull) {
  std::string lines;
  Records all;
  for (int i = 1; i <= 100; ++i) {
    lines += std::to_string(i) + "\tx\n";
    all.push_back(std::to_string(i) + ": " + std::to_string(i) + "\tx");
  }
  write("in.tsv", lines);
  const auto stop = Stop::make();
  FaultFilesystem filesystem(posix_filesystem(), 1);
  filesystem.set_free_bytes(500);
  auto spool = Spool::open(filesystem, {.directory = directory_.file("spool")});
  ASSERT_TRUE(spool);
  RejectFile rejects(posix_filesystem(), config_.reject_file);
  Intake intake(config_, **spool, rejects, **stop, true);
  Status ended;
  std::thread thread([&] { ended = intake.run(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ((*spool)->state().end, 0);
  filesystem.set_free_bytes(1'000'000);
  thread.join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(records(**spool), all);
}

TEST_F(IntakeTest, FollowsAFileAcrossRotation) {
  Following following(*this, posix_filesystem());
  write("in.tsv", "1\tone\n2\ttw");
  following.wait_for(1);
  write("in.tsv", "o\n");
  following.wait_for(2);
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in.old"));
  write("in.tsv", "4\tfour\n");
  write("in.old", "3\tthree\n");
  // Renamed again before the file before it is over.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in.newer"));
  write("in.newer", "5\tfive\n");
  write("in.tsv", "6\tsix\n");
  following.wait_for(6);
  following.stop();
  EXPECT_EQ(records(),
            Records({"1: 1\tone", "2: 2\ttwo", "3: 3\tthree", "1: 4\tfour", "2: 5\tfive", "1: 6\tsix"}));
}

TEST_F(IntakeTest, FindsARenamedFileThatWasSeenEmpty) {
  for (const bool has_header : {false, true}) {
    config_.text.has_header = has_header;
    const std::string header = has_header ? "a\tb\n" : "";
    std::filesystem::remove_all(directory_.file("spool"));
    write("in.tsv", "", false);
    {
      const Following following(*this, posix_filesystem());
      // Longer than between looks.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    write("in.tsv", header + "1\tone\n");
    std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in.old"));
    write("in.tsv", header + "2\ttwo\n");
    ASSERT_TRUE(run_once());
    const std::string line = has_header ? "2: " : "1: ";
    EXPECT_EQ(records(), Records({line + "1\tone", line + "2\ttwo"}));
  }
}

TEST_F(IntakeTest, PassesOverARenamedFileThatStayedEmpty) {
  config_.text.has_header = true;
  write("in.tsv", "");
  ASSERT_TRUE(run_once());
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in.old"));
  write("in.tsv", "a\tb\n1\tone\n");
  ASSERT_TRUE(run_once());
  EXPECT_EQ(records(), Records({"2: 1\tone"}));
}

TEST_F(IntakeTest, ARenamedFileOfAnotherFolderIsReadToItsEnd) {
  std::filesystem::create_directory(directory_.file("archive"));
  std::vector<std::string> events;
  set_event_sink([&](std::string_view, std::string_view message) { events.emplace_back(message); });
  Following following(*this, posix_filesystem());
  write("in.tsv", "1\tone\n");
  following.wait_for(1);
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("archive/in.tsv"));
  write("in.tsv", "3\tthree\n");
  write("archive/in.tsv", "2\ttwo");
  following.wait_for(3);
  following.stop();
  set_event_sink({});
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo", "1: 3\tthree"}));
  // Nothing of it is lost, so nothing is told but that there was no file at the start.
  for (const std::string& event : events) EXPECT_EQ(event.find("is lost"), std::string::npos) << event;
}

TEST_F(IntakeTest, AFileThatWasAwayGoesOnWhereItStopped) {
  std::filesystem::create_directory(directory_.file("elsewhere"));
  Following following(*this, posix_filesystem());
  write("in.tsv", "1\tone\n");
  following.wait_for(1);
  std::filesystem::rename(directory_.file("in.tsv"), directory_.file("elsewhere/in.tsv"));
  // Longer than a file that has been replaced is waited for.
  std::this_thread::sleep_for(std::chrono::milliseconds(3800));
  std::filesystem::rename(directory_.file("elsewhere/in.tsv"), directory_.file("in.tsv"));
  write("in.tsv", "2\ttwo\n");
  following.wait_for(2);
  following.stop();
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo"}));
}

TEST_F(IntakeTest, RenamedFilesAreWaitedForTogether) {
  write("in.tsv", "0\tzero\n");
  uint64_t rotations = 0;
  {
    Following following(*this, posix_filesystem());
    following.wait_for(1);
    while (rotations < 4) {
      std::filesystem::rename(directory_.file("in.tsv"), directory_.file("in." + std::to_string(rotations)));
      write("in.tsv", std::to_string(++rotations) + "\tmore\n");
      // Longer than between looks; together shorter than the wait for the first of them.
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }
  // No time but what waiting for two files one after the other takes.
  std::atomic<bool> two_are_over{false};
  write("other", "1");
  std::thread two([&] {
    const auto stop = Stop::make();
    for (int i = 0; i < 2; ++i) {
      const auto file = FollowedFile::open(
          directory_.file("other"),
          {.offset = 1, .end = FollowedFile::End::Renamed, .stop = stop->get(), .before_wait = [] {
             return Status();
           }});
      EXPECT_FALSE(*(*file)->wait_for_bytes());
    }
    two_are_over = true;
  });
  Following following(*this, posix_filesystem());
  following.wait_for(1 + rotations);
  EXPECT_FALSE(two_are_over);
  two.join();
}

TEST_F(IntakeTest, MissesNoRotationWhileTheDiskIsFull) {
  FaultFilesystem filesystem(posix_filesystem(), 1);
  Following following(*this, filesystem);
  write("in.tsv", "1\tone\n");
  following.wait_for(1);
  filesystem.set_free_bytes(0);
  write("in.tsv", "2\ttwo\n");
  for (const std::string name : {"in.1", "in.2", "in.3"}) {
    // Longer than between looks.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::filesystem::rename(directory_.file("in.tsv"), directory_.file(name));
    write("in.tsv", "9\t" + name + "\n");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  filesystem.set_free_bytes(1'000'000);
  following.wait_for(5);
  following.stop();
  EXPECT_EQ(records(), Records({"1: 1\tone", "2: 2\ttwo", "1: 9\tin.1", "1: 9\tin.2", "1: 9\tin.3"}));
}

}  // namespace
}  // namespace hailstone
