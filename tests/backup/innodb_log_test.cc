// A copy of InnoDB's log that is not what the server has written is never taken for one.
#include "backup/innodb_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

constexpr size_t header_bytes = 12'288;
constexpr uint32_t form = 0x50687973;
constexpr uint64_t capacity = 100'000;  // of the server's file
constexpr uint64_t first = 5'000;       // log sequence number at its begin
/// Each group of changes is so many bytes; the last one is the mark of the round.
constexpr uint64_t group = 10;

std::string header(uint32_t its_form, uint64_t begin) {
  std::string bytes(header_bytes, '\0');
  for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(its_form >> (8 * (3 - i)));
  for (size_t i = 0; i < 8; ++i) bytes[8 + i] = static_cast<char>(begin >> (8 * (7 - i)));
  return bytes;
}

bool is_mark(uint64_t lsn) { return lsn % group == group - 1; }

/// Nothing of what succeeds.
std::string said(const Status& status) { return status ? std::string() : status.error().message(); }

class InnodbLogTest : public ::testing::Test {
 protected:
  static char change(uint64_t lsn) { return static_cast<char>(2 + lsn * 7 / 3 % 200); }

  /// The server has written up to there.
  void write_log(uint64_t end, uint64_t begin = first, uint32_t its_form = form) {
    std::string ring(capacity, '\0');
    for (uint64_t lsn = end > begin + capacity ? end - capacity : begin; lsn < end; ++lsn) {
      const bool is_even = (lsn - begin) / capacity % 2 == 0;
      ring[(lsn - begin) % capacity] = is_mark(lsn) ? static_cast<char>(is_even) : change(lsn);
    }
    std::ofstream file(path_, std::ios::binary);
    file << header(its_form, begin) << ring;
    now_ = {.current = end, .flushed = end};
  }

  static std::string copy(uint64_t begin, uint64_t end) {
    std::string bytes = header(form, begin);
    for (uint64_t lsn = begin; lsn < end; ++lsn) bytes += is_mark(lsn) ? '\1' : change(lsn);
    return bytes;
  }

  Status compare(const std::string& bytes, size_t at_once = 7'777) {
    CopiedInnodbLog log(path_, [this]() -> Result<InnodbLogPlace> {
      const InnodbLogPlace now = now_;
      if (flushes_) now_.flushed = now_.current;
      return now;
    });
    for (size_t at = 0; at < bytes.size(); at += at_once)
      HAILSTONE_TRY(log.take(std::string_view(bytes).substr(at, at_once)));
    return log.end([] { return false; });
  }

  /// The copy is none, and `words` are in what is said of it.
  void expect_failure(const std::string& bytes, ErrorCode code, const std::string& words = {}) {
    const Status compared = compare(bytes);
    ASSERT_FALSE(compared) << words;
    EXPECT_EQ(compared.error().code(), code);
    EXPECT_NE(compared.error().message().find(words), std::string::npos) << compared.error().message();
  }
  static std::string from(uint64_t lsn) { return fmt::format("from log sequence number {} on", lsn); }

  /// Of a copy from `begin` on that differs at `lsn`.
  void expect_difference(std::string bytes, uint64_t begin, uint64_t lsn, char value) {
    bytes[header_bytes + lsn - begin] = value;
    expect_failure(bytes, ErrorCode::Busy, from(lsn));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/ib_logfile0";
  InnodbLogPlace now_;
  bool flushes_ = false;  // the server, each time it was asked
};

TEST_F(InnodbLogTest, WhatIsTheSame) {
  write_log(60'000);
  EXPECT_EQ(said(compare(copy(first, 60'000))), "");
  EXPECT_EQ(said(compare(copy(20'003, 59'990), 1)), "");
  EXPECT_EQ(said(compare(copy(20'003, 20'003))), "");
}

TEST_F(InnodbLogTest, RoundsOfTheRing) {
  for (const uint64_t end : {140'000U, 250'000U, 1'000'000U}) {
    write_log(end);
    EXPECT_EQ(said(compare(copy(end - 90'000, end))), "");
    EXPECT_EQ(said(compare(copy(end - 90'000, end - 12'345))), "");
  }
}

TEST_F(InnodbLogTest, AChangedByte) {
  for (const uint64_t end : {90'000U, 140'000U, 250'000U}) {
    write_log(end);
    const uint64_t begin = end - 80'000;
    for (const uint64_t lsn : {begin, begin + 12'288, end - 40'001, end - 2})
      if (!is_mark(lsn)) expect_difference(copy(begin, end), begin, lsn, '\1');
  }
}

TEST_F(InnodbLogTest, OnlyTheMarkOfAnOddRoundIsAnother) {
  write_log(140'000);
  // At 105'000 the second round begins.
  expect_difference(copy(50'000, 140'000), 50'000, 100'009, '\0');
  expect_difference(copy(50'000, 140'000), 50'000, 120'009, '\2');
}

TEST_F(InnodbLogTest, ACopyThatGoesOnBehindTheLog) {
  write_log(60'000);
  expect_failure(copy(20'000, 60'100), ErrorCode::Busy, from(60'000));
}

TEST_F(InnodbLogTest, WhatIsFlushedLater) {
  write_log(60'000);
  now_.flushed = 30'000;
  flushes_ = true;
  EXPECT_EQ(said(compare(copy(20'000, 60'000))), "");
}

TEST_F(InnodbLogTest, AnEndOfTheWait) {
  write_log(60'000);
  now_.flushed = 30'000;
  CopiedInnodbLog log(path_, [this] { return Result<InnodbLogPlace>(now_); });
  ASSERT_EQ(said(log.take(copy(20'000, 60'000))), "");
  int asked = 0;
  const Status compared = log.end([&asked] { return ++asked == 3; });
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().code(), ErrorCode::Interrupted);
}

TEST_F(InnodbLogTest, WhatIsWrittenOver) {
  write_log(250'000);
  expect_failure(copy(120'000, 240'000), ErrorCode::Busy, "innodb_log_file_size");
}

TEST_F(InnodbLogTest, TheEndOfTheFileIsComparedBeforeItIsWrittenOver) {
  write_log(140'000);
  now_.flushed = 130'000;
  CopiedInnodbLog log(path_, [this] { return Result<InnodbLogPlace>(now_); });
  EXPECT_EQ(said(log.take(copy(60'000, 140'000))), "");
  EXPECT_EQ(said(log.end_file()), "");
  write_log(220'000);
  EXPECT_EQ(said(log.end([] { return false; })), "");
}

TEST_F(InnodbLogTest, ALogThatWasBegunAnew) {
  write_log(60'000, 40'000);
  expect_failure(copy(20'000, 60'000), ErrorCode::Busy);
}

TEST_F(InnodbLogTest, LargeLogsAreComparedOnTheWay) {
  // Four rounds of a ring that has room for one: all but the last must have been looked at before it came.
  constexpr uint64_t large = 6'000'000;
  std::string bytes = header(form, first);
  CopiedInnodbLog log(path_, [this] { return Result<InnodbLogPlace>(now_); });
  write_log(first);
  ASSERT_EQ(said(log.take(bytes)), "");
  std::ofstream file(path_, std::ios::binary);
  std::string ring(large, '\0');
  for (int round = 0; round < 4; ++round) {
    const uint64_t begin = first + static_cast<uint64_t>(round) * large;
    for (uint64_t i = 0; i < large; ++i)
      ring[i] = is_mark(begin + i) ? static_cast<char>(round % 2 == 0) : change(begin + i);
    file.seekp(0);
    file << header(form, first) << ring << std::flush;
    now_ = {.current = begin + large, .flushed = begin + large};
    ASSERT_EQ(said(log.take(copy(begin, begin + large).substr(header_bytes))), "");
  }
  EXPECT_EQ(said(log.end([] { return false; })), "");
}

TEST_F(InnodbLogTest, FormsThatAreNotKnown) {
  write_log(60'000, first, 0x50485953);
  expect_failure(copy(20'000, 60'000), ErrorCode::Unsupported);
  write_log(60'000);
  std::string bytes = copy(20'000, 60'000);
  bytes[0] = 'x';
  expect_failure(bytes, ErrorCode::Unsupported);
}

TEST_F(InnodbLogTest, NoLogAtAll) {
  write_log(60'000);
  expect_failure("", ErrorCode::Corruption);
  expect_failure(copy(20'000, 60'000).substr(0, 12'000), ErrorCode::Corruption);
  std::filesystem::remove(path_);
  expect_failure(copy(20'000, 60'000), ErrorCode::NotFound);
}

}  // namespace
}  // namespace hailstone
