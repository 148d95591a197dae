#include "collect/table_upkeep.h"

#include <gtest/gtest.h>

#include "collect/load_text.h"

namespace hailstone {
namespace {

std::vector<std::string> ends(std::optional<std::string_view> last, std::string_view now,
                              std::string_view until, std::string_view step) {
  std::vector<std::string> texts;
  const auto from = last ? parse_wall_time(*last) : std::nullopt;
  for (const WallTime end :
       missing_ends(from, *parse_wall_time(now), *parse_wall_time(until), *parse_time_step(step))) {
    texts.push_back(to_text(end));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(TableUpkeepTest, PartitionsGoOnFromTheLastOne) {
  EXPECT_EQ(ends("2026-11-25", "2026-11-24 10:00:00", "2026-11-26 10:00:00", "1 day"),
            Texts({"2026-11-26 00:00:00", "2026-11-27 00:00:00"}));
  EXPECT_EQ(ends("2026-11-27", "2026-11-24 10:00:00", "2026-11-26 10:00:00", "1 day"), Texts());
  // The last moment has a place, too.
  EXPECT_EQ(ends("2026-11-26", "2026-11-24", "2026-11-26", "1 day"), Texts({"2026-11-27 00:00:00"}));
}

TEST(TableUpkeepTest, TheFirstPartitionHasNow) {
  EXPECT_EQ(ends(std::nullopt, "2026-11-24 23:59:59", "2026-11-24 23:59:59", "1 day"),
            Texts({"2026-11-25 00:00:00"}));
  EXPECT_EQ(ends(std::nullopt, "2026-12-31 23:00:00", "2027-02-01", "1 month"),
            Texts({"2027-01-01 00:00:00", "2027-02-01 00:00:00", "2027-03-01 00:00:00"}));
}

TEST(TableUpkeepTest, AnotherStepBeginsBehindTheLastPartition) {
  EXPECT_EQ(ends("2026-11-25", "2026-11-24", "2026-11-25 03:00:00", "2 hours"),
            Texts({"2026-11-25 02:00:00", "2026-11-25 04:00:00"}));
  EXPECT_EQ(ends("2026-11-25 04:00:00", "2026-11-24", "2026-11-25 05:00:00", "1 day"),
            Texts({"2026-11-26 00:00:00"}));
}

TEST(TableUpkeepTest, WhatIsKeptIsAnHourMore) {
  EXPECT_EQ(to_text(kept_from(*parse_wall_time("2026-11-24 00:30:00"), *parse_time_step("1 day"))),
            "2026-11-22 23:30:00");
}

TEST(LoadTextTest, FieldsComeBackAsTheyWere) {
  const std::vector<std::string> texts = {"", "a\tb\\\n", std::string("\0x", 2), "\\N", "\\"};
  std::string record;
  for (const std::string& text : texts) {
    append_load_field(record, {.kind = Field::Kind::Text, .text = text});
    record += '\t';
  }
  append_load_field(record, {});
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(load_field(record, i), texts[i]) << i;
  EXPECT_EQ(load_field(record, texts.size()), std::nullopt);
  EXPECT_EQ(load_field(record, texts.size() + 1), std::nullopt);
}

}  // namespace
}  // namespace hailstone
