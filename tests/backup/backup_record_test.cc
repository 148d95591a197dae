// backup.json: what is written is what is read; what is damaged is said to be.
#include "backup/backup_record.h"

#include <gtest/gtest.h>

namespace hailstone {
namespace {

BackupRecord some_record() {
  BackupRecord record;
  record.id = "0123456789abcdef";
  record.base = BaseRecord{.id = "fedcba9876543210", .path = "/backup/first \"one\""};
  record.method = "mariadb-backup";
  record.begun = "2026-11-29T14:00:00Z";
  record.cut = "2026-11-29T14:00:01Z";
  record.ended = "2026-11-29T14:00:02Z";
  record.program = "0.1.0";
  record.server_version = "10.11.18-MariaDB";
  record.plugin_version = "0.1.0";
  record.host = "db1";
  record.data_directory = "/var/lib/mysql/";
  record.binary_log = BinaryLogRecord{.file = "master-bin.000003", .position = 343, .gtid = "0-1-11,2-2-7"};
  record.gtid_slave_pos = "5-5-5";
  record.cut_microseconds = 98;
  record.identities = {{.first_file = 1, .database = 0x330f9cc09411a0cc},
                       {.first_file = 9, .database = UINT64_MAX}};
  record.is_checked = true;
  record.server_files = {{.path = "shop/a\nb.frm", .bytes = 0, .checksum = 0}};
  record.database_files = {{.path = "manifest", .bytes = UINT64_MAX, .checksum = 0xf000000000000001}};
  record.base_files = {{.path = "segment-0000000000000001", .bytes = 5, .checksum = 1}};
  return record;
}

void expect_same(const BackupRecord& read, const BackupRecord& written) {
  EXPECT_EQ(to_json(read), to_json(written));
  EXPECT_EQ(read.base, written.base);
  EXPECT_EQ(read.binary_log, written.binary_log);
  EXPECT_EQ(read.identities, written.identities);
  EXPECT_EQ(read.server_files, written.server_files);
  EXPECT_EQ(read.database_files, written.database_files);
  EXPECT_EQ(read.base_files, written.base_files);
}

TEST(BackupRecordTest, IsReadAsItWasWritten) {
  BackupRecord record = some_record();
  auto read = parse_backup_record(to_json(record), "backup.json");
  ASSERT_TRUE(read);
  expect_same(*read, record);
  record.base.reset();
  record.binary_log.reset();
  record.is_checked = false;
  record.server_files.clear();
  read = parse_backup_record(to_json(record), "backup.json");
  ASSERT_TRUE(read);
  expect_same(*read, record);
}

TEST(BackupRecordTest, TellsOfCompressedFiles) {
  BackupRecord record = some_record();
  EXPECT_EQ(format_of(record), 1U);
  record.database_files[0].zstd_bytes = 7;
  EXPECT_EQ(format_of(record), 2U);
  const std::string json = to_json(record);
  EXPECT_TRUE(json.contains("\"format\": 2,")) << json;
  const auto read = parse_backup_record(json, "backup.json");
  ASSERT_TRUE(read);
  expect_same(*read, record);
  std::string wrong = json;
  wrong.replace(wrong.find("\"zstd_bytes\": 7"), 15, "\"zstd_bytes\": -");
  EXPECT_FALSE(parse_backup_record(wrong, "backup.json"));
}

/// As releases have written it.
TEST(BackupRecordTest, BothFormsAreRead) {
  const std::string begin = R"({"format": )";
  const std::string middle = R"(, "id": "0123456789abcdef", "base": null, "method": "alone",
    "begun": "2026-11-29T14:00:00Z", "cut": "2026-11-29T14:00:01Z", "ended": "2026-11-29T14:00:02Z",
    "program": "0.1.0", "server_version": "10.11.18-MariaDB", "plugin_version": "0.1.0", "host": "db1",
    "data_directory": "/var/lib/mysql/", "binary_log": null, "gtid_slave_pos": "", "cut_microseconds": 98,
    "identities": [{"first_file": 1, "database": "330f9cc09411a0cc"}], "checked": true,
    "server_files": [{"path": "mysql.sql", "bytes": 3, "xxh3": "0000000000000001")";
  const std::string end = R"(}], "database_files": [], "base_files": []})";
  auto read = parse_backup_record(begin + "1" + middle + end, "backup.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->server_files,
            (std::vector<StoredFile>{{.path = "mysql.sql", .bytes = 3, .checksum = 1, .zstd_bytes = {}}}));
  read = parse_backup_record(begin + "2" + middle + R"(, "zstd_bytes": 2)" + end, "backup.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->server_files,
            (std::vector<StoredFile>{{.path = "mysql.sql", .bytes = 3, .checksum = 1, .zstd_bytes = 2}}));
}

TEST(BackupRecordTest, OfALaterFormIsRefused) {
  std::string json = to_json(some_record());
  json.replace(json.find("\"format\": 1"), 11, "\"format\": 3");
  const auto read = parse_backup_record(json, "backup.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::Unsupported);
  EXPECT_TRUE(read.error().message().contains("a later release")) << read.error().message();
}

/// Each cut, each key that is missing: an error that names the file, never a record.
TEST(BackupRecordTest, DamageIsTold) {
  const std::string json = to_json(some_record());
  for (size_t end = 0; end + 2 < json.size(); ++end) {
    const auto read = parse_backup_record(json.substr(0, end), "some.json");
    ASSERT_FALSE(read) << end;
    EXPECT_EQ(read.error().code(), ErrorCode::Corruption);
    EXPECT_TRUE(read.error().message().contains("some.json")) << read.error().message();
  }
  for (const char* const key :
       {"id", "method", "cut", "host", "gtid_slave_pos", "cut_microseconds", "checked", "file", "position",
        "gtid", "first_file", "database", "path", "bytes", "xxh3", "server_files", "database_files",
        "base_files", "identities"}) {
    std::string without = json;
    without.replace(without.find(std::string("\"") + key + "\":") + 1, 1, "?");
    const auto read = parse_backup_record(without, "some.json");
    ASSERT_FALSE(read) << key;
    EXPECT_EQ(read.error().code(), ErrorCode::Corruption) << key;
  }
}

TEST(BackupRecordTest, PathsStayBelowTheFolder) {
  for (const char* const path : {"/etc/passwd", "../x", "a/../../x", "a/..", ""}) {
    BackupRecord record = some_record();
    record.database_files[0].path = path;
    const auto read = parse_backup_record(to_json(record), "backup.json");
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code(), ErrorCode::Corruption);
  }
  BackupRecord record = some_record();
  record.database_files[0].path = "a..b/..c";
  ASSERT_TRUE(parse_backup_record(to_json(record), "backup.json"));
}

TEST(BackupRecordTest, TheCopysOwnNumberIsNotTheOriginals) {
  EXPECT_EQ(identities_of_original(some_record()),
            (std::vector<DatabaseIdentity>{{.first_file = 1, .database = 0x330f9cc09411a0cc}}));
}

TEST(BackupRecordTest, LaterGtidOfEachDomain) {
  EXPECT_EQ(later_in_each_domain("", ""), "");
  EXPECT_EQ(later_in_each_domain("0-1-11", ""), "0-1-11");
  EXPECT_EQ(later_in_each_domain("", "0-1-11,7-2-3"), "0-1-11,7-2-3");
  EXPECT_EQ(later_in_each_domain("0-1-9,3-1-5", "0-2-10"), "0-2-10,3-1-5");
  EXPECT_EQ(later_in_each_domain("0-2-10", "0-1-9,3-1-5"), "0-2-10,3-1-5");
}

}  // namespace
}  // namespace hailstone
