#include "text/pattern_lines.h"

#include <gtest/gtest.h>

#include <map>

namespace hailstone {
namespace {

/// Gives a text at once.
class Text final : public Input {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  Result<size_t> read(char* to, size_t size) override { return std::exchange(text_, "").copy(to, size); }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  std::string text_;
  const std::string name_ = "text";
};

std::unique_ptr<TextRows> rows_of(const std::string& text, const TextOptions& options) {
  auto rows = open_rows(std::make_unique<Text>(text), options, {});
  EXPECT_TRUE(rows) << rows.error().message();
  return std::move(*rows);
}

/// The next row's fields by their names; NULL is "NULL".
std::map<std::string, std::string> next(TextRows& rows) {
  std::map<std::string, std::string> fields;
  const auto found = rows.next();
  EXPECT_TRUE(found && *found) << (found ? "the end" : found.error().message());
  if (!found || !*found) return fields;
  for (size_t i = 0; i < rows.names().size(); ++i) {
    const Field& field = rows.fields()[i];
    fields[rows.names()[i]] = field.kind == Field::Kind::Null ? "NULL" : std::string(field.text);
  }
  return fields;
}

const std::string nginx =
    R"(203.0.113.9 - - [24/Nov/2026:10:00:01 +0100] "GET /a%20b?c=d HTTP/1.1" 200 1234 "https://x.example/" "Agent (a; b) \x22q\x22")";

TEST(PatternLinesTest, LinesEndAsTheFirstOne) {
  const TextOptions options{.format = TextFormat::Regex, .null_text = {}, .pattern = "(?<text>[\\w\\W]*)"};
  for (const auto& [text, second] :
       {std::pair<std::string, std::string>{"a\nb\r\nc\n", "b\r"}, {"a\r\nb\r\nc\n", "b"}}) {
    const auto rows = rows_of(text, options);
    EXPECT_EQ(next(*rows)["text"], "a");
    EXPECT_EQ(next(*rows)["text"], second);
    EXPECT_EQ(next(*rows)["text"], "c");
  }
}

TEST(PatternLinesTest, AnAccessLog) {
  const auto rows = rows_of(
      "\xef\xbb\xbf" + nginx + "\r\n\n" +
          R"(::1 - ann b [24/Nov/2026:10:00:02 +0100] "POST /say\"so\" HTTP/2.0" 304 - "-" "-" "1.2.3.4" 0.001)" +
          "\n" + R"(h - - [x] "\x16\x03\x01" 400 150)" + "\n" +
          R"(h - - [x] "GET /with space HTTP/1.0" 404 5 "" "")" + "\n",
      {.format = TextFormat::Combined, .null_text = {}});
  std::map<std::string, std::string> wanted = {{"host", "203.0.113.9"},
                                               {"user", "NULL"},
                                               {"at", "24/Nov/2026:10:00:01 +0100"},
                                               {"request", "GET /a%20b?c=d HTTP/1.1"},
                                               {"method", "GET"},
                                               {"path", "/a%20b?c=d"},
                                               {"protocol", "HTTP/1.1"},
                                               {"status", "200"},
                                               {"bytes", "1234"},
                                               {"referer", "https://x.example/"},
                                               {"agent", R"(Agent (a; b) \x22q\x22)"}};
  EXPECT_EQ(next(*rows), wanted);
  EXPECT_EQ(rows->line(), 1);
  auto row = next(*rows);
  EXPECT_EQ(rows->line(), 3);
  EXPECT_EQ(row["user"], "ann b");
  EXPECT_EQ(row["path"], R"(/say\"so\")");
  EXPECT_EQ(row["bytes"], "NULL");
  EXPECT_EQ(row["agent"], "NULL");
  row = next(*rows);  // what no HTTP client sends, in the format without referer and agent
  EXPECT_EQ(row["request"], R"(\x16\x03\x01)");
  EXPECT_EQ(row["method"], "NULL");
  EXPECT_EQ(row["status"], "400");
  EXPECT_EQ(row["referer"], "NULL");
  row = next(*rows);
  EXPECT_EQ(row["request"], "GET /with space HTTP/1.0");
  EXPECT_EQ(row["path"], "NULL");
  EXPECT_EQ(row["agent"], "");
}

TEST(PatternLinesTest, ALineThatDoesNotMatchIsWrongAndTheNextOneIsRead) {
  const auto rows =
      rows_of("no log\n" + nginx + " \n" + nginx, {.format = TextFormat::Combined, .null_text = {}});
  const auto found = rows->next();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(rows->wrong_row(), "no log");
  EXPECT_EQ(next(*rows)["status"], "200");
  EXPECT_EQ(next(*rows)["status"], "200");
  EXPECT_EQ(rows->row_text(), nginx);
  const auto end = rows->next();
  EXPECT_TRUE(end && !*end);
}

TEST(PatternLinesTest, NamedGroupsAreFields) {
  TextOptions options{.format = TextFormat::Regex, .null_text = {}};
  options.pattern = R"((?<level>[A-Z]+)(?: \[(?P<thread>\d*)\])?: (?<text>.*))";
  const auto rows = rows_of("INFO [7]: a b\nWARN: \nnothing\nERROR []: x\n", options);
  EXPECT_EQ(rows->names(), (std::vector<std::string>{"level", "thread", "text"}));
  EXPECT_EQ(next(*rows),
            (std::map<std::string, std::string>{{"level", "INFO"}, {"thread", "7"}, {"text", "a b"}}));
  EXPECT_EQ(next(*rows),
            (std::map<std::string, std::string>{{"level", "WARN"}, {"thread", "NULL"}, {"text", ""}}));
  EXPECT_FALSE(rows->next());
  EXPECT_EQ(next(*rows)["thread"], "");
}

TEST(PatternLinesTest, APatternThatTriesWithoutEndIsGivenUp) {
  TextOptions options{.format = TextFormat::Regex, .null_text = {}};
  options.pattern = "(?<a>(x+x+)+[yz])";
  const auto rows = rows_of(std::string(5000, 'x') + "\nxxy\n", options);
  const auto found = rows->next();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message().find("given up"), std::string::npos) << found.error().message();
  EXPECT_EQ(next(*rows)["a"], "xxy");
}

TEST(PatternLinesTest, WhatIsWrongWithAPattern) {
  const auto unclosed = names_of_pattern("(?<a>x");
  ASSERT_FALSE(unclosed);
  EXPECT_NE(unclosed.error().message().find("not valid at its character 7"), std::string::npos)
      << unclosed.error().message();
  const auto nameless = names_of_pattern("(x)");
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message().find("names no field"), std::string::npos);
}

}  // namespace
}  // namespace hailstone
