#include "collect/config.h"

#include <gtest/gtest.h>

namespace hailstone {
namespace {

const std::string server = "[server]\noption_file = \"c.cnf\"\ndatabase = \"web\"\n";
const std::string spool = "[spool]\ndirectory = \"/var/spool/c\"\n";
const std::string stream =
    "[[stream]]\nname = \"hits\"\ntable = \"hits\"\nfile = \"/var/log/hits.tsv\"\nreject_file = \"r\"\n";

TEST(CollectConfigTest, TakesAllKeys) {
  const auto config =
      CollectConfig::parse(server + "option_group = \"mine\"\n" + spool + "limit = \"1 GiB\"\n" + stream +
                               "header = false\nnull = \"NULL\"\ncolumns = [\"a\", \"-\", \"b\"]\n"
                               "computed = { day = \"DATE(a)\" }\ntime_zone = \"+00:00\"\n"
                               "batch_records = 100\ncharacter_set = \"latin1\"\n"
                               "[[stream]]\nname = \"in\"\ntable = \"t\"\ndirectory = \"/in\"\n"
                               "pattern = \"*.csv\"\ndelimiter = \";\"\nreject_file = \"s\"\n"
                               "[[stream]]\nname = \"std\"\ntable = \"t\"\nstdin = true\nformat = \"jsonl\"\n"
                               "columns = [\"a\"]\nreject_file = \"t\"\n",
                           "c.toml");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server.option_group, "mine");
  EXPECT_EQ(config->spool.limit_bytes, uint64_t{1} << 30);
  ASSERT_EQ(config->streams.size(), 3);
  const StreamConfig& hits = config->streams[0];
  EXPECT_EQ(hits.source, StreamConfig::Source::File);
  EXPECT_EQ(hits.text.format, TextFormat::Tsv);
  EXPECT_FALSE(hits.text.has_header);
  EXPECT_EQ(hits.text.null_text, "NULL");
  EXPECT_EQ(hits.columns, std::vector<std::string>({"a", "-", "b"}));
  ASSERT_EQ(hits.computed.size(), 1);
  EXPECT_EQ(hits.computed[0], std::pair(std::string("day"), std::string("DATE(a)")));
  EXPECT_EQ(hits.time_zone, "+00:00");
  EXPECT_EQ(hits.batch_records, 100);
  EXPECT_EQ(hits.character_set, "latin1");
  EXPECT_EQ(config->streams[1].text.delimiter, ';');
  EXPECT_EQ(config->streams[1].pattern, "*.csv");
  EXPECT_EQ(config->streams[2].source, StreamConfig::Source::StandardInput);
}

struct Wrong {
  std::string text;
  int line;
  std::string words;
};

TEST(CollectConfigTest, AnErrorNamesItsLineAndTheCure) {
  const std::vector<Wrong> all = {
      {"[server\n", 1, "no TOML"},
      {spool + stream, 1, "lacks the section [server]"},
      {"[server]\ndatabase = \"web\"\n" + spool + stream, 1, "lacks the key 'option_file'"},
      {"[server]\noption_file = 3\ndatabase = \"web\"\n" + spool + stream, 2, "must be a text in quotes"},
      {server + "password = \"x\"\n" + spool + stream, 4, "no key 'password'"},
      {server + spool + "limit = \"1 MiB\"\n" + stream, 6, "at least 256 MiB"},
      {server + spool + "limit = \"much\"\n" + stream, 6, "must be a size"},
      {server + spool, 1, "[[stream]]"},
      {server + spool + stream + "header = 1\n", 11, "true or false"},
      {server + spool + stream + "header = false\n", 6, "give columns"},
      {server + spool + stream + "columns = [\"a\", \"a\"]\n", 11, "twice"},
      {server + spool + stream + "columns = [\"-\"]\n", 11, "names no column"},
      {server + spool + stream + "columns = [1]\n", 11, "texts in quotes only"},
      {server + spool + stream + "columns = \"a\"\n", 11, "list of texts"},
      {server + spool + stream + "computed = { a = 1 }\n", 11, "SQL expression"},
      {server + spool + stream + "stdin = true\n", 6, "one source"},
      {server + spool + stream + "pattern = \"*\"\n", 11, "with a directory"},
      {server + spool + stream + "delimiter = \"ab\"\n", 11, "one character"},
      {server + spool + stream + "null = \"\\t\"\n", 11, "cannot stand for NULL"},
      {server + spool + stream + "format = \"xml\"\n", 11, "format must be given"},
      {server + spool + stream + "batch_records = 0\n", 11, "whole number from 1"},
      {server + spool + stream + "character_set = \"a b\"\n", 11, "character_set"},
      {server + spool + stream + "colums = []\n", 11, "no key 'colums'"},
      {server + spool + stream + stream, 11, "two streams have the name"},
      {server + spool + "[[stream]]\nname = \"a b\"\ntable = \"t\"\n", 7, "part of file names"},
      {"x = 1\n" + server + spool + stream, 1, "no key 'x'"},
  };
  for (const Wrong& wrong : all) {
    const auto config = CollectConfig::parse(wrong.text, "c.toml");
    ASSERT_FALSE(config) << wrong.text;
    const std::string& message = config.error().message();
    EXPECT_TRUE(message.starts_with("c.toml:" + std::to_string(wrong.line) + ": ")) << wrong.text << message;
    EXPECT_NE(message.find(wrong.words), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace hailstone
