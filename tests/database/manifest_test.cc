#include "database/manifest.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

TableRecord make_record(TableId id, const std::string& name, size_t segments) {
  TableRecord record;
  record.id = id;
  record.definition_timestamp = id * 3;
  TableDefinition definition;
  definition.name = name;
  definition.columns.push_back({.name = "a", .type = Type::Signed, .width = 8});
  record.definition = definition;
  for (size_t i = 0; i < segments; ++i)
    record.segments.push_back({id * 100 + i, i % 2 == 0 ? 0 : id * 1000 + i, i});
  record.next_row_id = id * 7;
  record.next_auto_increment = id * 11;
  record.last_publish = id * 13;
  if (segments > 0) record.applied_until = id * 17;
  if (id % 2 == 0) record.rows = "rows of " + name;
  return record;
}

void expect_same(const TableRecord& a, const TableRecord& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.definition_timestamp, b.definition_timestamp);
  EXPECT_EQ(a.definition, b.definition);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.next_row_id, b.next_row_id);
  EXPECT_EQ(a.applied_until, b.applied_until);
  EXPECT_EQ(a.next_auto_increment, b.next_auto_increment);
  EXPECT_EQ(a.last_publish, b.last_publish);
  EXPECT_EQ(a.rows, b.rows);
}

ManifestRecords some_records() {
  ManifestRecords records;
  records.add_table(make_record(1, "d/one", 3));
  records.add_table(make_record(2, "d/two", 0));
  records.add_mark({.log_start = 5, .carried = 6, .committed = 7, .next_table = 8, .next_file = 9});
  return records;
}

TableRecord table_of(const ManifestContent& content, TableId id) {
  const auto stored = content.tables.find(id);
  return stored == content.tables.end() ? TableRecord() : content.read(stored->second);
}

std::string content_of(const std::string& path) {
  auto file = posix_filesystem().open(path);
  EXPECT_TRUE(file);
  std::string bytes(static_cast<size_t>(*(*file)->size()), '\0');
  EXPECT_TRUE((*file)->read_at(0, bytes.size(), bytes.data()));
  return bytes;
}

TEST(ManifestTest, GivesBackWhatWasWritten) {
  TemporaryDirectory directory;
  Counters counters;
  EXPECT_FALSE(Manifest::load(posix_filesystem(), directory.path())->has_value());
  Manifest manifest(posix_filesystem(), directory.path(), counters, 0, true);
  ASSERT_TRUE(manifest.rewrite(some_records()));
  ManifestRecords more;
  more.add_table(make_record(2, "d/renamed", 2));
  more.add_table(make_record(3, "d/three", 1));
  more.add_dropped(1, 100);
  ASSERT_TRUE(manifest.append(std::move(more)));

  const auto content = Manifest::load(posix_filesystem(), directory.path());
  ASSERT_TRUE(content && content->has_value());
  EXPECT_FALSE((*content)->torn);
  EXPECT_EQ((*content)->tables.size(), 2U);
  expect_same(table_of(**content, 2), make_record(2, "d/renamed", 2));
  expect_same(table_of(**content, 3), make_record(3, "d/three", 1));
  EXPECT_EQ((*content)->dropped.at(1), 100U);
  EXPECT_EQ((*content)->mark.log_start, 5U);
  EXPECT_EQ((*content)->mark.carried, 6U);
  EXPECT_EQ((*content)->mark.committed, 7U);
  EXPECT_EQ((*content)->mark.next_table, 8U);
  EXPECT_EQ((*content)->mark.next_file, 9U);

  // A later mark makes the drop known everywhere.
  ManifestRecords mark;
  mark.add_mark({.committed = 100});
  ASSERT_TRUE(manifest.append(std::move(mark)));
  EXPECT_TRUE((*Manifest::load(posix_filesystem(), directory.path()))->dropped.empty());
}

TEST(ManifestTest, CutsTornTailsAndReportsDamage) {
  TemporaryDirectory directory;
  Counters counters;
  Manifest manifest(posix_filesystem(), directory.path(), counters, 0, true);
  ASSERT_TRUE(manifest.rewrite(some_records()));
  const size_t sealed = content_of(directory.file("manifest")).size();
  ManifestRecords more;
  more.add_table(make_record(3, "d/three", 1));
  ASSERT_TRUE(manifest.append(std::move(more)));
  const std::string bytes = content_of(directory.file("manifest"));

  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto content = parse_manifest(ByteView(bytes).substr(0, size), "the file");
    if (size < 20) {
      ASSERT_FALSE(content) << size;
      continue;
    }
    // What is cut off cannot be told from a torn tail here: the log's own positions tell.
    ASSERT_TRUE(content) << size << content.error().message();
    if (size >= sealed) {
      EXPECT_GE(content->tables.size(), 2U);
    }
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto content = parse_manifest(flipped, "the file");
    const size_t seal = bytes.size() - 21;
    if (bit / 8 < seal) {
      ASSERT_FALSE(content) << bit;
      EXPECT_NE(content.error().message().find("the file"), std::string::npos);
    } else {
      ASSERT_TRUE(content) << bit;
      EXPECT_TRUE(content->torn);
      EXPECT_EQ(content->tables.size(), 3U);
    }
  }
}

TEST(ManifestTest, SurvivesPowerFailureAtEveryCall) {
  const uint64_t seed = test_seed(11);
  bool finished = false;
  for (uint64_t calls = 0; !finished; ++calls) {
    TemporaryDirectory directory;
    FaultFilesystem filesystem(posix_filesystem(), seed + calls);
    Counters counters;
    filesystem.power_off_after(calls);
    Manifest manifest(filesystem, directory.path(), counters, 0, true);
    size_t durable = 0;
    finished = true;
    for (TableId id = 1; id <= 8 && finished; ++id) {
      ManifestRecords records;
      if (manifest.must_be_rewritten() || id == 5) {
        for (TableId all = 1; all <= id; ++all)
          records.add_table(make_record(all, "d/" + std::to_string(all), 1));
        finished = manifest.rewrite(std::move(records)).has_value();
      } else {
        records.add_table(make_record(id, "d/" + std::to_string(id), 1));
        finished = manifest.append(std::move(records)).has_value();
      }
      if (finished) durable = id;
    }
    ASSERT_TRUE(filesystem.leave_crash_state(seed + calls));
    const auto content = Manifest::load(posix_filesystem(), directory.path());
    ASSERT_TRUE(content) << content.error().message();
    if (durable == 0 && !content->has_value()) continue;
    ASSERT_TRUE(content->has_value());
    EXPECT_GE((*content)->tables.size(), durable) << "calls " << calls;
    EXPECT_LE((*content)->tables.size(), durable + 1) << "calls " << calls;
  }
}

TEST(ManifestTest, ReadsHostileBytesWithoutHarm) {
  const uint64_t seed = test_seed(12);
  TemporaryDirectory directory;
  Counters counters;
  Manifest manifest(posix_filesystem(), directory.path(), counters, 0, true);
  ASSERT_TRUE(manifest.rewrite(some_records()));
  const std::string bytes = content_of(directory.file("manifest"));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string hostile = bytes.substr(0, 20 + random() % (bytes.size() - 20));
    for (int changes = 0; changes < 3; ++changes)
      hostile[20 + random() % (hostile.size() - 19) - 1] = static_cast<char>(random());
    static_cast<void>(parse_manifest(hostile, "hostile"));
  }
}

}  // namespace
}  // namespace hailstone
