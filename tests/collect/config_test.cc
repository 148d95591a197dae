#include "collect/config.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hailstone {
namespace {

const std::string server = "[server]\noption_file = \"c.cnf\"\ndatabase = \"web\"\n";
const std::string spool = "[spool]\ndirectory = \"/var/spool/c\"\n";
const std::string stream =
    "[[stream]]\nname = \"hits\"\ntable = \"hits\"\nfile = \"/var/log/hits.tsv\"\nreject_file = \"r\"\n";

const std::string daily =
    "[[stream]]\nname = \"hits\"\ntable = \"hits_{day}\"\nfile = \"/h.tsv\"\nreject_file = \"r\"\n";

const std::string timed = stream + "time_column = \"at\"\n";
const std::string summary =
    "[[summary]]\nname = \"m\"\nstream = \"hits\"\ntable = \"m\"\nevery = \"1 month\"\n"
    "select = \"SELECT {begin}, {end} FROM {table}\"\n";

TEST(CollectConfigTest, TakesSummaries) {
  const auto config = CollectConfig::parse(
      server + spool + timed + summary + "[[summary]]\nname = \"d\"\nstream = \"hits\"\ntable = \"d\"\n" +
          "every = \"2 hours\"\ndelay = \"3 hours\"\nfor_each = \"site\"\npartition = \"1 month\"\n"
          "time_column = \"day\"\nselect = \"{begin}{end}{table}{value}\"\n",
      "c.toml");
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->summaries.size(), 2);
  const SummaryConfig& daily_sums = config->summaries[1];
  EXPECT_EQ(daily_sums.every, *parse_time_step("2 hours"));
  EXPECT_EQ(daily_sums.delay, *parse_time_step("3 hours"));
  EXPECT_EQ(daily_sums.for_each, "site");
  EXPECT_EQ(daily_sums.table.partition, parse_time_step("1 month"));
  EXPECT_EQ(config->stream_of(daily_sums).name, "hits");
  const auto computed = CollectConfig::parse(server + spool + timed +
                                                 "computed = { AT = \"NOW()\", site = \"LOWER(name)\" }\n" +
                                                 "[[summary]]\nname = \"d\"\nstream = \"hits\"\ntable = "
                                                 "\"d\"\nevery = \"1 day\"\nfor_each = \"site\"\n"
                                                 "select = \"{begin}{end}{table}{value}\"\n",
                                             "c.toml");
  ASSERT_TRUE(computed) << computed.error().message();
  EXPECT_TRUE(computed->streams[0].is_computed("at"));
  EXPECT_FALSE(computed->streams[0].is_computed("name"));
}

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

std::string timed_summary_of(const std::string& name) {
  return "[[summary]]\nname = \"m\"\nstream = \"" + name +
         "\"\ntable = \"m\"\nevery = \"1 month\"\nselect = \"{begin}{end}{table}\"\n";
}

struct Wrong {
  std::string text;
  int line;
  std::string words;
};

TEST(CollectConfigTest, TakesWhatATableIsMadeOf) {
  const auto config = CollectConfig::parse(
      server + spool + stream +
          "create = \"(at DATETIME)\"\ntime_column = \"at\"\npartition = \"2 hours\"\nkeep = \"90 days\"\n"
          "ahead = \"1 day\"\nrepeatable = true\n"
          "[[stream]]\nname = \"d\"\ntable = \"d_{day}\"\ncreate = \"(at DATE)\"\ntime_column = \"at\"\n"
          "file = \"/f.csv\"\nreject_file = \"s\"\n",
      "c.toml");
  ASSERT_TRUE(config) << config.error().message();
  const TableConfig& hits = config->streams[0].table;
  EXPECT_EQ(hits.definition, "(at DATETIME)");
  EXPECT_EQ(hits.time_column, "at");
  EXPECT_EQ(hits.partition, parse_time_step("2 hours"));
  EXPECT_EQ(hits.keep, parse_time_step("90 days"));
  EXPECT_EQ(hits.ahead, *parse_time_step("1 day"));
  EXPECT_FALSE(hits.is_daily());
  EXPECT_TRUE(config->streams[0].is_repeatable);
  const TableConfig& days = config->streams[1].table;
  EXPECT_TRUE(days.is_daily());
  EXPECT_EQ(days.name_of(*parse_wall_time("2026-11-24 23:59:59")), "d_20261124");
}

const std::string access =
    "[[stream]]\nname = \"hits\"\ntable = \"hits\"\nfile = \"/var/log/access.log\"\nreject_file = \"r\"\n"
    "format = \"combined\"\n";
const std::string pattern =
    "[[stream]]\nname = \"hits\"\ntable = \"hits\"\nfile = \"/x.log\"\nreject_file = \"r\"\nformat = "
    "\"regex\"\n";

TEST(CollectConfigTest, TakesLogsOfWebServers) {
  const auto config = CollectConfig::parse(
      server + spool + access + "time_zone = \"+00:00\"\n" + "[[stream]]\nname = \"r\"\ntable = \"r\"\n" +
          "file = \"/x.log\"\nreject_file = \"s\"\nformat = \"regex\"\nregex = '(?<t>\\d+) (?<u>\\d+) "
          "(?<v>.*)'\n"
          "time_column = \"t\"\ntime_format = { t = \"unix_ms\", u = \"unix\" }\ntime_zone = \"+00:00\"\n",
      "c.toml");
  ASSERT_TRUE(config) << config.error().message();
  const auto renamed = CollectConfig::parse(
      server + spool + access +
          "time_zone = \"+00:00\"\ncolumns = [\"host AS client\", \"at as time\", \"path\"]\n",
      "c.toml");
  ASSERT_TRUE(renamed) << renamed.error().message();
  EXPECT_EQ(renamed->streams[0].columns, (std::vector<std::string>{"client", "time", "path"}));
  EXPECT_EQ(renamed->streams[0].field_of(0), "host");
  EXPECT_EQ(renamed->streams[0].time_format("time"), "time_local");
  EXPECT_EQ(config->streams[0].text.format, TextFormat::Combined);
  EXPECT_EQ(config->streams[0].columns.size(), 11);
  EXPECT_EQ(config->streams[0].time_format("AT"), "time_local");
  EXPECT_EQ(config->streams[0].time_format("host"), "");
  EXPECT_EQ(config->streams[1].columns, (std::vector<std::string>{"t", "u", "v"}));
  EXPECT_EQ(config->streams[1].time_format("t"), "unix_ms");
  EXPECT_EQ(config->streams[1].time_format("u"), "unix");
}

TEST(CollectConfigTest, ShortPeriodsWaitShortly) {
  std::string minutes = summary;
  minutes.replace(minutes.find("1 month"), 7, "5 minutes");
  const auto config = CollectConfig::parse(server + spool + timed + minutes, "c.toml");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->summaries[0].every, *parse_time_step("5 minutes"));
  EXPECT_EQ(config->summaries[0].delay, *parse_time_step("1 minute"));
}

TEST(CollectConfigTest, AnErrorNamesItsLineAndTheCure) {
  const std::vector<Wrong> all = {
      {"[server\n", 1, "not valid TOML"},
      {spool + stream, 1, "lacks the section [server]"},
      {"[server]\ndatabase = \"web\"\n" + spool + stream, 1, "lacks the key 'option_file'"},
      {server + spool + access, 6, "say a moment; in which time zone"},
      {server + spool + access + "time_zone = \"+00:00\"\ncolumns = [\"at\", \"url\"]\n", 13,
       "does not name; it names host"},
      {server + spool + access + "time_zone = \"Nowhere\"\n", 6, "not a time zone"},
      {server + spool + access + "time_zone = \"+00:00\"\ncolumns = [\"at\", \"host AS at\"]\n", 13,
       "has the name 'at' twice"},
      {server + spool + access + "time_zone = \"+00:00\"\ncolumns = [\"url AS path\"]\n", 13,
       "'columns' has 'url'"},
      {server + spool + access + "time_zone = \"+00:00\"\nregex = \"x\"\n", 13, "for a stream with format"},
      {server + spool + pattern, 6, "lacks the key 'regex'"},
      {server + spool + pattern + "regex = \"(?<a>\"\n", 12, "not valid at its character 6"},
      {server + spool + pattern + "regex = \"(x)\"\n", 12, "names no field"},
      {server + spool + stream + "columns = [\"a\"]\nheader = false\ntime_format = \"unix\"\n", 13,
       "give that, or a table"},
      {server + spool + timed + "time_format = 3\n", 12, "must be a format"},
      {server + spool + timed + "time_format = \"%H:%M\"\n", 12, "does not say a day"},
      {server + spool + timed + "partition = \"10 minutes\"\n", 12, "hours that divide a day"},
      {"[server]\noption_file = 3\ndatabase = \"web\"\n" + spool + stream, 2, "must be a text in quotes"},
      {server + "password = \"x\"\n" + spool + stream, 4, "no key 'password'"},
      {server + spool + "limit = \"1 MiB\"\n" + stream, 6, "at least 256 MiB"},
      {server + spool + "limit = \"much\"\n" + stream, 6, "must be a size"},
      {server + spool, 1, "[[stream]]"},
      {server + spool + stream + "header = 1\n", 11, "'header' is 1; it must be true or false"},
      {server + spool + stream + "time_column = \"a\"\npartition = \"2 days\"\n", 12,
       "hours that divide a day"},
      {server + spool + stream + "time_column = \"a\"\npartition = \"daily\"\n", 12, "must be a time as"},
      {server + spool + stream + "partition = \"1 day\"\n", 11, "give time_column"},
      {server + spool + stream + "\nkeep = \"1 day\"\n", 12, "needs partition = "},
      {server + spool + stream + "ahead = \"1 day\"\n", 11, "needs partition = "},
      {server + spool + stream + "create = \"TABLE t (a INT)\"\n", 11, "must begin with the parenthesis"},
      {server + spool + daily, 8, "needs create = "},
      {server + spool + stream + summary, 13, "needs time_column"},
      {server + spool + timed + summary + "for_each = \"a\"\n", 17, "must have {value}"},
      {server + spool + timed + summary + "every = \"1 day\"\n", 18, "not valid TOML"},
      {server + spool + timed + summary + "delay = \"1 minut\"\n", 18, "must be a time as"},
      {server + spool + timed + summary + "colour = \"red\"\n", 18, "no key 'colour'"},
      {server + spool + timed + summary + summary, 18, "two summaries have the name 'm'"},
      {server + spool + timed + "[[summary]]\nname = \"m\"\n", 12, "lacks the key 'stream'"},
      {server + spool + daily + "create = \"(a DATE)\"\n", 8, "give time_column"},
      {server + spool + daily + "create = \"(a DATE)\"\ntime_column = \"a\"\npartition = \"1 day\"\n", 13,
       "must be of hours"},
      {server + spool + daily + "create = \"(a DATE)\"\ntime_column = \"a\"\ncomputed = { A = \"1\" }\n", 8,
       "cannot be computed"},
      {server + spool + stream + "header = false\n", 6, "give columns"},
      {server + spool + stream + "columns = [\"a\", \"a\"]\n", 11, "twice"},
      {server + spool + stream + "columns = [\"-\"]\n", 11, "names no column"},
      {server + spool + stream + "columns = [1]\n", 11, "texts in quotes only"},
      {server + spool + stream + "columns = \"a\"\n", 11, "list of texts"},
      {server + spool + stream + "computed = { a = 1 }\n", 11, "SQL expression"},
      {server + spool + stream + "stdin = true\n", 6, "one source"},
      {server + spool + stream + "pattern = \"*\"\n", 11, "goes with 'directory'"},
      {server + spool + stream + "delimiter = \"ab\"\n", 11,
       "'delimiter' is \"ab\"; the delimiter is one character"},
      {server + spool + stream + "null = \"\\t\"\n", 11, "cannot stand for NULL"},
      {server + spool + stream + "format = \"xml\"\n", 11,
       "'format' is \"xml\"; it must be \"csv\", \"tsv\", \"jsonl\", \"combined\" or \"regex\""},
      {server + spool + stream + "format = \"\"\n", 11, "'format' is \"\"; it must be \"csv\""},
      {server + spool + "[[stream]]\nname = \"a\"\ntable = \"t\"\nfile = \"a.log\"\nreject_file = \"r\"\n", 6,
       "the format must be given, as the name 'a.log' does not say it: format = \"csv\", \"tsv\", \"jsonl\", "
       "\"combined\" or \"regex\""},
      {server + spool + "[[stream]]\nname = \"a\"\ntable = \"t\"\nstdin = true\nreject_file = \"r\"\n", 6,
       "the format must be given: format = \"csv\""},
      {server + spool +
           "[[stream]]\nname = \"a\"\ntable = \"t\"\nfile = \"a.csv\"\nreject_file = \"./x/../a.csv\"\n",
       10, "is among what the stream reads"},
      {server + spool +
           "[[stream]]\nname = \"a\"\ntable = \"t\"\ndirectory = \"in/\"\nformat = \"csv\"\nreject_file = "
           "\"in/rejects\"\n",
       11, "is among what the stream reads"},
      {server + spool + stream +
           "[[stream]]\nname = \"b\"\ntable = \"hits\"\nfile = \"/var/log/hits.tsv\"\nreject_file = \"s\"\n",
       11, "streams 'hits' and 'b' both read '/var/log/hits.tsv' into table 'hits'"},
      {server + spool + stream + "batch_records = 0\n", 11, "whole number from 1"},
      {server + spool + stream + "character_set = \"a b\"\n", 11,
       "'character_set' is \"a b\"; it must be one of the server's"},
      {server + spool + stream + "colums = []\n", 11, "no key 'colums'"},
      {server + spool + stream + stream, 11, "two streams have the name"},
      {server + spool + stream + timed_summary_of("hit"), 13, "there is no stream 'hit', only: hits"},
      {server + spool + "[[stream]]\nname = \"a b\"\ntable = \"t\"\nfile = \"a.csv\"\nreject_file = \"r\"\n",
       7, "'name' is \"a b\"; it must be 1 to 64 letters, digits, _ or -: it is part of file names"},
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

TEST(CollectConfigTest, TwoStreamsMayReadTheSameFile) {
  const std::string other = "[[stream]]\nname = \"b\"\nfile = \"/var/log/hits.tsv\"\nreject_file = \"s\"\n";
  EXPECT_TRUE(CollectConfig::parse(server + spool + stream + other + "table = \"other\"\n", "c"));
  EXPECT_TRUE(CollectConfig::parse(
      server + spool + stream + other + "table = \"hits\"\nformat = \"regex\"\nregex = \"(?<a>x)\"\n", "c"));
  // What the pattern leaves out is not read.
  EXPECT_TRUE(
      CollectConfig::parse(server + spool +
                               "[[stream]]\nname = \"a\"\ntable = \"t\"\ndirectory = \"in\"\npattern = "
                               "\"*.csv\"\nreject_file = \"in/rejects\"\n",
                           "c"));
}

TEST(CollectConfigTest, AllMistakesAreTold) {
  const auto errors_of = [](const std::string& text) {
    const auto config = CollectConfig::parse(text, "c");
    return config ? "" : config.error().message();
  };
  // A misspelt key beside the one that it should be.
  EXPECT_EQ(
      errors_of("[server]\noption_fil = \"c.cnf\"\ndatabase = \"web\"\n" + spool +
                "[[stream]]\nname = \"a\"\ntable = \"t\"\nfil = \"a.csv\"\nrejects = \"r\"\nheader = 1\n"),
      "c:1: [server] lacks the key 'option_file'; give it a text in quotes: option_file = \"…\"\n"
      "c:2: [server] has no key 'option_fil'; it knows: database, option_file, option_group\n"
      "c:6: stream 'a' needs one source: stdin = true, file = \"…\" or directory = \"…\"\n"
      "c:6: [[stream]] lacks the key 'reject_file'; give it a text in quotes: reject_file = \"…\"\n"
      "c:9: [[stream]] has no key 'fil'; it knows: ahead, batch_records, character_set, columns, computed, "
      "create, delimiter, directory, file, follow_symlinks, format, header, keep, name, null, partition, "
      "pattern, regex, reject_file, repeatable, stdin, table, time_column, time_format, time_zone\n"
      "c:10: [[stream]] has no key 'rejects'; it knows: ahead, batch_records, character_set, columns, "
      "computed, create, delimiter, directory, file, follow_symlinks, format, header, keep, name, null, "
      "partition, pattern, regex, reject_file, repeatable, stdin, table, time_column, time_format, "
      "time_zone\n"
      "c:11: 'header' is 1; it must be true or false");
  // Nothing that only follows from another mistake.
  EXPECT_EQ(errors_of("[sever]\noption_file = \"c.cnf\"\ndatabase = \"web\"\n" + spool + stream),
            "c:1: the file lacks the section [server]\n"
            "c:1: the file has no key 'sever'; it knows: server, spool, stream, summary");
  EXPECT_EQ(
      errors_of(server + spool + stream + "partition = 1\nkeep = \"1 day\"\n"),
      "c:11: 'partition' is 1; it must be a time as \"5 minutes\", \"2 hours\", \"90 days\" or \"1 month\"");
  EXPECT_EQ(errors_of(server + spool + stream + "header = false\ncolumns = [\"a\", 2.5]\n"),
            "c:12: 'columns' holds 2.5; it must hold texts in quotes only");
  const std::string nameless = "[[stream]]\ntable = \"t\"\nfile = [true]\n";
  const std::string errors = errors_of(server + spool + nameless + nameless);
  EXPECT_EQ(std::ranges::count(errors, '\n'), 5) << errors;
  EXPECT_NE(errors.find("c:11: 'file' is a list; it must be a text in quotes"), std::string::npos) << errors;
}

}  // namespace
}  // namespace hailstone
