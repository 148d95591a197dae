// What mariadb-binlog prints, in short; which files a replay begins with.
#include "backup/binary_log.h"

#include <gtest/gtest.h>

#include <sstream>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

/// As the program of 10.11 prints it, with fewer headers.
constexpr const char* printed = R"(DELIMITER /*!*/;
# at 343
#261129  9:05:07 server id 1  end_log_pos 3615700 CRC32 0x6b1cb9d7 	GTID 0-1-16 trans
/*M!100001 SET @@session.gtid_seq_no=16*//*!*/;
START TRANSACTION
/*!*/;
#261129  9:05:07 server id 1  end_log_pos 3615773 CRC32 0x740c4f1f 	Annotate_rows:
#Q> delete from h where a between 50 and 90
#261129  9:05:07 server id 1  end_log_pos 3615820 CRC32 0x7729e362 	Table_map: `shop`.`h` mapped to number 26
#261129  9:05:07 server id 1  end_log_pos 3616181 CRC32 0xb92941b4 	Delete_rows: table id 26 flags: STMT_END_F
# Number of rows: 41
#261129  9:05:07 server id 1  end_log_pos 3616181 CRC32 0xb92941b4 	Write_rows: table id 26
# Number of rows: 7
#261129  9:05:07 server id 1  end_log_pos 3616181 CRC32 0xb92941b4 	Write_rows: table id 26 flags: STMT_END_F
# Number of rows: 5
#261129  9:05:07 server id 1  end_log_pos 3616212 CRC32 0x5c0b056f 	Xid = 217
COMMIT/*!*/;
#261129 15:14:14 server id 1  end_log_pos 3616254 CRC32 0x4ba9b8a0 	GTID 0-1-17 trans
START TRANSACTION
/*!*/;
#261129 15:14:14 server id 1  end_log_pos 3616371 CRC32 0x4014bcde 	Query	thread_id=17	exec_time=0	error_code=0	xid=0
SET TIMESTAMP=1795965254/*!*/;
insert into i select seq,seq from seq_4000_to_5000
/*!*/;
#261129 15:14:14 server id 1  end_log_pos 3616402 CRC32 0xd635d205 	Xid = 218
COMMIT/*!*/;
#261129 15:20:09 server id 1  end_log_pos 3616764 CRC32 0xfc2f5eea 	GTID 0-1-20 ddl
#261129 15:20:09 server id 1  end_log_pos 3616910 CRC32 0x3ae784a0 	Query	thread_id=24	exec_time=0	error_code=0	xid=0
SET TIMESTAMP=1795965609/*!*/;
SET @@session.pseudo_thread_id=24/*!*/;
CREATE DEFINER=`root`@`localhost` PROCEDURE `shop`.`pr`()
select 42
/*!*/;
DELIMITER ;
# End of log file
ROLLBACK /* added by mysqlbinlog */;
)";

TEST(BinaryLogTest, SaysWhatIsInIt) {
  std::istringstream text(printed);
  const LogSummary summary = summary_of_log(text);
  EXPECT_EQ(summary.transactions, 3U);
  EXPECT_EQ(summary.first.gtid, "0-1-16");
  EXPECT_EQ(summary.first.time, "2026-11-29 09:05:07");
  EXPECT_EQ(summary.last.gtid, "0-1-20");
  EXPECT_EQ(summary.last.time, "2026-11-29 15:20:09");
  ASSERT_EQ(summary.tables.size(), 1U);
  const auto& [table, rows] = *summary.tables.begin();
  EXPECT_EQ(table, "`shop`.`h`");
  EXPECT_EQ(rows.inserted, 12U);
  EXPECT_EQ(rows.updated, 0U);
  EXPECT_EQ(rows.deleted, 41U);
  EXPECT_EQ(summary.statements, 1U);
  ASSERT_EQ(summary.definitions.size(), 1U);
  EXPECT_EQ(summary.definitions[0].time, "2026-11-29 15:20:09");
  EXPECT_EQ(summary.definitions[0].text,
            "CREATE DEFINER=`root`@`localhost` PROCEDURE `shop`.`pr`() select 42");
}

TEST(BinaryLogTest, OfNothingAndOfRubbish) {
  for (const std::string& text : {std::string(), std::string("#261129"), std::string(50, '#'),
                                  std::string("# Number of rows: x\n# at\n"),
                                  std::string("#2 server id \tGTID \n#1111111111111111111111 server id "
                                              "\tTable_map: \n# Number of rows: 5\n")}) {
    std::istringstream printed_text(text);
    const LogSummary summary = summary_of_log(printed_text);
    EXPECT_TRUE(summary.tables.empty()) << text;
  }
}

class LogFilesTest : public testing::Test {
 protected:
  void write(const std::string& name) { ASSERT_TRUE(write_text(directory_.file(name), "")); }
  Result<LogPart> from(const std::string& file) {
    return logs_from({.file = file, .position = 343, .gtid = ""}, {directory_.path()});
  }
  TemporaryDirectory directory_;
};

TEST_F(LogFilesTest, AreTakenInOrderFromTheFirstOn) {
  for (const char* const name : {"master-bin.000009", "master-bin.000010", "master-bin.000008",
                                 "master-bin.index", "other-bin.000009", "master-bin.000011.idx"})
    write(name);
  const auto part = from("master-bin.000009");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->files, (std::vector<std::string>{directory_.file("master-bin.000009"),
                                                   directory_.file("master-bin.000010")}));
  EXPECT_EQ(part->position, 343U);
}

TEST_F(LogFilesTest, NoneMayBeMissing) {
  write("master-bin.000009");
  write("master-bin.000011");
  const auto gap = from("master-bin.000009");
  ASSERT_FALSE(gap);
  EXPECT_TRUE(gap.error().message().contains("master-bin.000010")) << gap.error().message();
  const auto first = from("master-bin.000008");
  ASSERT_FALSE(first);
  EXPECT_TRUE(first.error().message().contains("master-bin.000008")) << first.error().message();
  const auto none = from("master-bin.000012");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(logs_from({.file = "master-bin.000009", .position = 4, .gtid = ""}, {directory_.file("no")}));
}

}  // namespace
}  // namespace hailstone
