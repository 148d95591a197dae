// The generated tables match exactly as many rows as they say, whatever the scale, and never change.
#include "article/article_data.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "article/article_names.h"
#include "article/generate.h"

namespace hailstone {
namespace {

struct Row {
  std::string id, drug_number, retail, wholesale, name, text, manufacturer;
};

Row split(const std::string& line) {
  Row row;
  std::istringstream fields(line);
  for (std::string* field : {&row.id, &row.drug_number, &row.retail, &row.wholesale, &row.name, &row.text}) {
    std::getline(fields, *field, '\t');
  }
  std::getline(fields, row.manufacturer, '\n');
  return row;
}

using AppendRow = void (ArticleData::*)(uint64_t, std::string&) const;

std::vector<Row> all_rows(const ArticleData& data, AppendRow append_row, uint64_t rows) {
  std::vector<Row> result;
  std::string line;
  for (uint64_t number = 0; number < rows; ++number) {
    line.clear();
    (data.*append_row)(number, line);
    EXPECT_EQ(line.back(), '\n');
    result.push_back(split(line));
  }
  return result;
}

ArticleCounts count(const std::vector<Row>& small, const std::vector<Row>& big) {
  ArticleCounts counts{};
  std::map<std::string, uint64_t> wanted;
  for (const Row& row : small) {
    if (row.manufacturer != kSmallManufacturer) continue;
    ++counts.small_manufacturer;
    ++wanted[row.drug_number];
  }
  for (const Row& row : big) {
    EXPECT_NE(row.manufacturer, kAbsentManufacturer);
    EXPECT_NE(row.manufacturer, "36441");
    if (row.manufacturer != kBigManufacturer) continue;
    ++counts.big_manufacturer;
    if (const auto match = wanted.find(row.drug_number); match != wanted.end())
      counts.joined += match->second;
  }
  return counts;
}

TEST(ArticleDataTest, FullScaleHasTheCountsOfTheArticle) {
  const ArticleData data(ArticleRows{});
  EXPECT_EQ(data.rows().small, 301'036U);
  EXPECT_EQ(data.rows().big, 10'000'000U);
  EXPECT_EQ(data.counts().small_manufacturer, 1334U);
  EXPECT_EQ(data.counts().big_manufacturer, 315'857U);
  EXPECT_EQ(data.counts().joined, 112U);
}

TEST(ArticleDataTest, CountsHoldAtEveryScale) {
  for (const ArticleRows rows :
       {ArticleRows{301'036, 200'000}, ArticleRows{20'000, 100'000}, ArticleRows{1000, 10}, ArticleRows{1, 1},
        ArticleRows{500, 3}, ArticleRows{0, 5000}}) {
    const ArticleData data(rows);
    const auto small = all_rows(data, &ArticleData::append_small_row, rows.small);
    const auto big = all_rows(data, &ArticleData::append_big_row, rows.big);
    const ArticleCounts counted = count(small, big);
    EXPECT_EQ(counted.small_manufacturer, data.counts().small_manufacturer) << rows.small << ' ' << rows.big;
    EXPECT_EQ(counted.big_manufacturer, data.counts().big_manufacturer) << rows.small << ' ' << rows.big;
    EXPECT_EQ(counted.joined, data.counts().joined) << rows.small << ' ' << rows.big;
  }
}

TEST(ArticleDataTest, RowsFitTheColumnsAndLookLikeAPriceList) {
  const ArticleData data(ArticleRows{});
  std::set<std::string> names;
  std::set<std::string> manufacturers;
  uint64_t without_number = 0;
  uint64_t bytes = 0;
  constexpr uint64_t kSample = 100'000;
  std::string line;
  for (uint64_t number = 0; number < kSample; ++number) {
    line.clear();
    data.append_big_row(number, line);
    bytes += line.size();
    const Row row = split(line);
    ASSERT_EQ(row.id.size(), 8U);
    ASSERT_TRUE(row.drug_number.size() == 7 || row.drug_number == "999999");
    ASSERT_EQ(row.retail.size(), 8U);
    ASSERT_EQ(row.wholesale.size(), 8U);
    ASSERT_LT(row.wholesale, row.retail);
    ASSERT_FALSE(row.name.empty());
    ASSERT_LE(row.name.size(), kArticleNameLimit);
    ASSERT_NE(row.name.back(), ' ');
    ASSERT_FALSE(row.text.empty());
    ASSERT_LE(row.text.size(), kArticleTextLimit);
    ASSERT_NE(row.text.back(), ' ');
    ASSERT_EQ(row.manufacturer.size(), 5U);
    names.insert(row.name);
    manufacturers.insert(row.manufacturer);
    if (row.drug_number == "999999") ++without_number;
  }
  EXPECT_GT(without_number, kSample / 2);
  EXPECT_GT(names.size(), kSample / 3);
  EXPECT_GT(manufacturers.size(), 4000U);
  EXPECT_LE(manufacturers.size(), 7000U);
  EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>(kSample), 79.9, 1.0);
}

TEST(ArticleDataTest, BytesNeverChange) {
  const ArticleData data(ArticleRows{20'000, 50'000});
  std::string bytes;
  for (uint64_t number = 0; number < 20'000; ++number) data.append_small_row(number, bytes);
  for (uint64_t number = 0; number < 50'000; ++number) data.append_big_row(number, bytes);
  EXPECT_EQ(XXH3_64bits(bytes.data(), bytes.size()), 9399311429740110319U)
      << "figures that people published would no longer compare";
}

TEST(GenerateTest, FilesAreTheSameWithAnyNumberOfThreads) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("hailstone-article-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string first;
  for (const unsigned threads : {1U, 3U}) {
    GenerateOptions options;
    options.rows = {1000, 130'000};
    options.directory = folder / std::to_string(threads);
    options.counts_file = folder / "counts.json";
    options.threads = threads;
    const Status status = generate(options);
    ASSERT_TRUE(status) << status.error().message();
    const std::string big = read(std::filesystem::path(options.directory) / "big.tsv");
    EXPECT_EQ(std::count(big.begin(), big.end(), '\n'), 130'000);
    if (first.empty()) first = big;
    EXPECT_TRUE(first == big);
  }
  EXPECT_EQ(read(folder / "counts.json"), counts_as_json(ArticleData(ArticleRows{1000, 130'000})));
  std::filesystem::remove_all(folder);
}

TEST(GenerateTest, AFolderThatCannotBeMadeIsAnError) {
  GenerateOptions options;
  options.rows = {10, 10};
  options.directory = "/proc/no/such/folder";
  const Status status = generate(options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("/proc/no/such/folder"), std::string::npos)
      << status.error().message();
}

}  // namespace
}  // namespace hailstone
