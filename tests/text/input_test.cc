#include "text/input.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hailstone {
namespace {

/// Gives a text in pieces, as a file that grows does.
class Pieces final : public Input {
 public:
  Pieces(std::vector<std::string> pieces, size_t& taken) : pieces_(std::move(pieces)), taken_(taken) {}
  Result<size_t> read(char* to, size_t) override {
    if (taken_ == pieces_.size()) return 0;
    const std::string& piece = pieces_[taken_++];
    std::ranges::copy(piece, to);
    return piece.size();
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::vector<std::string> pieces_;
  size_t& taken_;
  const std::string name_ = "pieces";
};

/// For CSV and TSV alike.
class TextRowsTest : public testing::TestWithParam<TextFormat> {
 protected:
  Status open(std::vector<std::string> pieces, bool has_header) {
    taken_ = 0;
    HAILSTONE_ASSIGN(rows_,
                     open_rows(std::make_unique<Pieces>(std::move(pieces), taken_),
                               {.format = GetParam(), .has_header = has_header, .null_text = {}}, {"a"}));
    return {};
  }
  /// The next row's only field; nothing behind the last row.
  std::string next() {
    const auto found = rows_->next();
    EXPECT_TRUE(found) << found.error().message();
    return found && *found ? std::string(rows_->fields()[0].text) : "nothing";
  }

  size_t taken_ = 0;  // pieces
  std::unique_ptr<TextRows> rows_;
};

INSTANTIATE_TEST_SUITE_P(Formats, TextRowsTest, testing::Values(TextFormat::Csv, TextFormat::Tsv),
                         [](const auto& format) { return format.param == TextFormat::Csv ? "Csv" : "Tsv"; });

TEST_P(TextRowsTest, ARowIsGivenAsSoonAsItIsThere) {
  ASSERT_TRUE(open({"1\n", "2", "\n", "3\n"}, false));
  EXPECT_EQ(next(), "1");
  EXPECT_EQ(taken_, 1);
  EXPECT_EQ(next(), "2");
  EXPECT_EQ(taken_, 3);
  ASSERT_TRUE(open({"1", "\n", "2\n"}, false));
  EXPECT_EQ(next(), "1");
  EXPECT_EQ(taken_, 2);
  ASSERT_TRUE(open({"h", "\n", "1\n", "2\n"}, true));
  EXPECT_EQ(rows_->names(), std::vector<std::string>({"h"}));
  EXPECT_EQ(taken_, 2);
  EXPECT_EQ(next(), "1");
  EXPECT_EQ(taken_, 3);
}

TEST_P(TextRowsTest, AByteOrderMarkIsPassedOverWhateverThePieces) {
  for (const auto& pieces : std::vector<std::vector<std::string>>{{"\xef\xbb\xbf"
                                                                   "1\n",
                                                                   "2\n"},
                                                                  {"\xef", "\xbb", "\xbf", "1\n", "2\n"},
                                                                  {"\xef\xbb",
                                                                   "\xbf"
                                                                   "1\n",
                                                                   "2\n"}}) {
    ASSERT_TRUE(open(pieces, false));
    EXPECT_EQ(next(), "1");
    EXPECT_EQ(rows_->bytes_passed(), 5);
    EXPECT_EQ(taken_, pieces.size() - 1);
    EXPECT_EQ(next(), "2");
  }
}

TEST_P(TextRowsTest, TheBeginningOfAMarkIsNone) {
  ASSERT_TRUE(open({"\xef", "\xbb", "1\n"}, false));
  EXPECT_EQ(next(),
            "\xef\xbb"
            "1");
  ASSERT_TRUE(open({"\xef", "\n", "2\n"}, false));
  EXPECT_EQ(next(), "\xef");
  EXPECT_EQ(taken_, 2);
  ASSERT_TRUE(open({"\xef\xbb"}, false));
  EXPECT_EQ(next(), "\xef\xbb");
  EXPECT_EQ(next(), "nothing");
  ASSERT_TRUE(open({}, false));
  EXPECT_EQ(next(), "nothing");
}

TEST_P(TextRowsTest, AKindOfFileIsToldWhateverThePieces) {
  for (const auto& [first, second, words] :
       {std::tuple("\x1f", "\x8b\x08\n", "gzip"), std::tuple("\xff", "\xfe\n", "UTF-16")}) {
    const Status opened = open({first, second}, true);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find(words), std::string::npos) << opened.error().message();
  }
}

/// All rows of a text, fields with | between.
std::vector<std::string> rows_of(const std::vector<std::string>& pieces, const TextOptions& options,
                                 const std::vector<std::string>& names = {"a", "b"}) {
  size_t taken = 0;
  auto rows = open_rows(std::make_unique<Pieces>(pieces, taken), options, names);
  EXPECT_TRUE(rows) << rows.error().message();
  std::vector<std::string> all;
  for (;;) {
    const auto found = (*rows)->next();
    if (found && !*found) return all;
    std::string text = found ? "" : "wrong";
    for (size_t i = 0; found && i < (*rows)->fields().size(); ++i) {
      text += (i == 0 ? "" : "|") + std::string((*rows)->fields()[i].text);
    }
    all.push_back(std::to_string((*rows)->line()) + ":" + text);
  }
}

TEST(TsvTest, BackslashesStandBeforeTabsAndLineEndsWhateverThePieces) {
  using Rows = std::vector<std::string>;
  const TextOptions options{.format = TextFormat::Tsv, .has_header = false, .null_text = {}};
  const std::string text = "1\\\t2\t3\\\n4\n5\\\\\t6\\\\\n\\\n\t\\\\\\\t\r\n7\t8";
  const Rows wanted = {"1:1\t2|3\n4", "3:5\\|6\\", "4:\n|\\\t\r", "6:7|8"};
  EXPECT_EQ(rows_of({text}, options), wanted);
  for (size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_EQ(rows_of({text.substr(0, cut), text.substr(cut)}, options), wanted) << cut;
  }
  // A backslash at the very end has nothing to escape.
  EXPECT_EQ(rows_of({"1\t2\\\n"}, options), (Rows{"1:1|2\n"}));
  EXPECT_EQ(rows_of({"1\t2\\"}, options), (Rows{"1:1|2\\"}));
}

/// The first row says whether a carriage return before a line feed is the last field's.
TEST(LineEndTest, IsAsThatOfTheFirstRowWhateverThePieces) {
  using Rows = std::vector<std::string>;
  struct Case {
    TextFormat format;
    bool has_header;
    std::string text;
    Rows wanted;
  };
  const auto csv = TextFormat::Csv, tsv = TextFormat::Tsv;
  for (const auto& [format, has_header, text, wanted] : std::vector<Case>{
           {csv, false, "1\n2\r\n\"3\"\r\n4\n", {"1:1", "2:2\r", "3:3", "4:4"}},
           {csv, false, "1\r\n2\n\"3\"\r\n4\r", {"1:1", "2:2", "3:3", "4:4"}},
           {csv, false, "1\r\n\"2\"\r", {"1:1", "2:2"}},
           {csv, false, "\"1\"\r\n2\r\n", {"1:1", "2:2"}},
           {csv, false, "\"1\n\"\r\n2\r\n", {"1:1\n", "3:2"}},
           {csv, false, "1\r", {"1:1\r"}},
           {csv, true, "a\n1\r\n2\r\n", {"2:1", "3:2"}},
           {csv, true, "a\r\n1\n2\r\n", {"2:1", "3:2\r"}},
           {tsv, false, "1\n2\r\n3\n", {"1:1", "2:2\r", "3:3"}},
           {tsv, false, "1\r\n2\n3\r\n4\r", {"1:1", "2:2", "3:3", "4:4"}},
           {tsv, true, "a\n1\r\n2\r\n", {"2:1", "3:2"}},
           {tsv, true, "a\r\n1\n2\r\n", {"2:1", "3:2\r"}},
           // As INTO OUTFILE writes carriage returns and line feeds where lines end in both.
           {tsv, false, "1\\\r\r\n2\\\r\n3\r\n4\r\n", {"1:1\r", "2:2\r\n3", "4:4"}},
       }) {
    const TextOptions options{.format = format, .has_header = has_header, .null_text = {}};
    EXPECT_EQ(rows_of({text}, options, {"a"}), wanted) << text;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      EXPECT_EQ(rows_of({text.substr(0, cut), text.substr(cut)}, options, {"a"}), wanted) << text << cut;
    }
  }
}

TEST(LineEndTest, IsThatOfTheRowsBeforeARest) {
  using Rows = std::vector<std::string>;
  for (const auto format : {TextFormat::Csv, TextFormat::Tsv}) {
    TextOptions options{
        .format = format, .has_header = false, .is_rest = true, .line_end = LineEnd::Lf, .null_text = {}};
    EXPECT_EQ(rows_of({"1\r\n2\n"}, options, {"a"}), (Rows{"1:1\r", "2:2"}));
    options.line_end = LineEnd::CrLf;
    EXPECT_EQ(rows_of({"1\n2\r\n"}, options, {"a"}), (Rows{"1:1", "2:2"}));
  }
}

TEST(LineEndTest, OfARowThatIsWrongCountsToo) {
  size_t taken = 0;
  for (const auto& [text, wanted] :
       {std::pair<std::string, std::string>{"\"1\"x\r\n2\r\n", "2"}, {"\"1\"x\n2\r\n", "2\r"}}) {
    taken = 0;
    const auto rows = open_rows(std::make_unique<Pieces>(std::vector<std::string>{text}, taken),
                                {.format = TextFormat::Csv, .has_header = false, .null_text = {}}, {"a"});
    ASSERT_TRUE(rows);
    EXPECT_FALSE((*rows)->next());
    ASSERT_TRUE((*rows)->next());
    EXPECT_EQ((*rows)->fields()[0].text, wanted);
  }
}

TEST(JsonLinesTest, AByteOrderMarkIsPassedOver) {
  const TextOptions options{.format = TextFormat::JsonLines, .null_text = {}};
  const std::string text =
      "\xef\xbb\xbf"
      "{\"a\": 1}\n{\"a\": 2}\n";
  for (size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_EQ(rows_of({text.substr(0, cut), text.substr(cut)}, options),
              (std::vector<std::string>{"1:1", "2:2"}))
        << cut;
  }
}

}  // namespace
}  // namespace hailstone
