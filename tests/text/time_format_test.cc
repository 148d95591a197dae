#include "text/time_format.h"

#include <gtest/gtest.h>

namespace hailstone {
namespace {

/// The time that is made; "wrong" for a text that is not one.
std::string made(const std::string& format, const std::string& text, const std::string& zone = "+00:00") {
  auto reader = TimeReader::make(format, zone);
  EXPECT_TRUE(reader) << reader.error().message();
  std::string time;
  if (!reader || !reader->append(text, time)) return "wrong";
  // The same once more, as it keeps the last one.
  std::string again;
  EXPECT_TRUE(reader->append(text, again));
  EXPECT_EQ(time, again);
  return time;
}

TEST(TimeFormatTest, TimesOfNginx) {
  EXPECT_EQ(made("time_local", "24/Nov/2026:10:00:01 +0100"), "2026-11-24 09:00:01");
  EXPECT_EQ(made("time_local", "31/Dec/2026:23:30:00 -0100"), "2027-01-01 00:30:00");
  EXPECT_EQ(made("time_iso8601", "2026-11-24T10:00:01+01:00"), "2026-11-24 09:00:01");
  EXPECT_EQ(made("time_iso8601", "2026-11-24T10:00:01Z"), "2026-11-24 10:00:01");
  EXPECT_EQ(made("time_iso8601", "2026-11-24T10:00:01.25+0000"), "2026-11-24 10:00:01.250000");
  EXPECT_EQ(made("unix", "1795514401.123"), "2026-11-24 10:00:01.123000");
}

TEST(TimeFormatTest, SecondsAndMillisecondsSince1970) {
  EXPECT_EQ(made("unix", "0"), "1970-01-01 00:00:00");
  EXPECT_EQ(made("unix", "1795514401"), "2026-11-24 10:00:01");
  EXPECT_EQ(made("unix_ms", "1795514401007"), "2026-11-24 10:00:01.007000");
  for (const std::string text :
       {"", "-1", "1.", "1.2.3", "1e9", "0x10", " 1", "1 ", "1.1234567890", "99999999999999"}) {
    EXPECT_TRUE(made("unix", text) == "wrong" || text == "1.") << text;
    EXPECT_EQ(made("unix_ms", text.find('9') == std::string::npos ? text : "99999999999999999"), "wrong")
        << text;
  }
}

TEST(TimeFormatTest, LettersOfStrptime) {
  EXPECT_EQ(made("%d.%m.%Y %H:%M", "24.11.2026 10:05"), "2026-11-24 10:05:00");
  EXPECT_EQ(made("%b %d %Y %T", "Nov  4 2026 10:05:06.5"), "2026-11-04 10:05:06.500000");
  EXPECT_EQ(made("%Y%m%d", "20261124"), "2026-11-24 00:00:00");
  EXPECT_EQ(made("%s", "1795514401", "+01:00"), "2026-11-24 11:00:01");
  EXPECT_EQ(made("%d.%m.%Y %H:%M", "24.11.2026"), "wrong");
  EXPECT_EQ(made("%d.%m.%Y", "31.02.2026"), "wrong");
  EXPECT_EQ(made("%d.%m.%Y", "24.11.2026 "), "wrong");
}

TEST(TimeFormatTest, AWallClockHasNoZone) {
  EXPECT_FALSE(TimeReader::is_moment("%d.%m.%Y %H:%M"));
  EXPECT_FALSE(TimeReader::is_moment("%d %%z"));
  EXPECT_TRUE(TimeReader::is_moment("%d %z"));
  EXPECT_TRUE(TimeReader::is_moment("time_local"));
  EXPECT_EQ(made("%d.%m.%Y %H:%M", "24.11.2026 10:05", "Europe/Berlin"), "2026-11-24 10:05:00");
}

TEST(TimeFormatTest, TheTableHasTimesOfItsZone) {
  EXPECT_EQ(made("time_iso8601", "2026-07-01T10:00:00Z", "+05:30"), "2026-07-01 15:30:00");
  EXPECT_EQ(made("unix", "1795514401", "-08:00"), "2026-11-24 02:00:01");
  // Names need the package tzdata.
  if (TimeReader::make("unix", "Europe/Berlin")) {
    EXPECT_EQ(made("time_iso8601", "2026-07-01T10:00:00Z", "Europe/Berlin"), "2026-07-01 12:00:00");
    EXPECT_EQ(made("time_iso8601", "2026-12-01T10:00:00Z", "Europe/Berlin"), "2026-12-01 11:00:00");
  }
}

TEST(TimeFormatTest, WhatIsWrongWithAFormat) {
  const std::pair<std::string, std::string> all[] = {
      {"%H:%M", "+00:00"}, {"%b %d %T", "+00:00"}, {"", "+00:00"},     {"iso", "+00:00"},
      {"unix", ""},        {"unix", "Nowhere"},    {"unix", "/etc/x"}, {"unix", "+99:00"}};
  for (const auto& [format, zone] : all) {
    EXPECT_FALSE(TimeReader::make(format, zone)) << format << ' ' << zone;
  }
}

}  // namespace
}  // namespace hailstone
