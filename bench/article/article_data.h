// The two tables of the article that measured a column store inside MySQL: Small and Big, rows of
//   Id char(8), PZN char(7), EVP char(8), HAP char(8), ArtikelBez varchar(40), ArtikelText varchar(26),
//   Hersteller char(5)
// (PZN: German drug number, EVP and HAP: retail and wholesale price in cents, Hersteller: manufacturer). The
// article does not give its data, only how many rows its conditions match; these rows are made so that the
// counts are exactly those.
//
// A row is a pure function of its number, so rows can be made in any order, by any number of threads, on any
// machine, and the bytes are the same. An ArticleData is immutable after construction.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hailstone {

/// Manufacturers that the article's queries name. No row has kAbsentManufacturer, nor '36441', which lies
/// within the values that do occur.
constexpr const char* kSmallManufacturer = "08650";
constexpr const char* kBigManufacturer = "36440";
constexpr const char* kAbsentManufacturer = "ABCDEF";

/// At full scale 301,036 and 10,000,000.
struct ArticleRows {
  static constexpr uint64_t kFullSmall = 301'036;
  static constexpr uint64_t kFullBig = 10'000'000;
  static constexpr uint64_t kLimitBig = 99'999'999;  // Id has eight digits
  uint64_t small = kFullSmall;
  uint64_t big = kFullBig;
};

/// What the queries must find: exact, by construction.
struct ArticleCounts {
  uint64_t small_manufacturer;  // rows of Small with Hersteller = '08650'
  uint64_t big_manufacturer;    // rows of Big with Hersteller = '36440'
  uint64_t joined;              // Small A join Big B on A.PZN = B.PZN where both of the above hold
};

class ArticleData {
 public:
  /// `rows.small` at most ArticleRows::kFullSmall, `rows.big` at most kLimitBig.
  explicit ArticleData(ArticleRows rows);

  const ArticleRows& rows() const { return rows_; }
  const ArticleCounts& counts() const { return counts_; }

  /// Appends row `number` (from 0) as tab-separated values with a newline.
  void append_small_row(uint64_t number, std::string& to) const;
  void append_big_row(uint64_t number, std::string& to) const;

 private:
  static constexpr size_t kManufacturers = 7000;

  struct Manufacturer {
    std::array<char, 5> code;
    uint32_t first_article;  // its articles that have a PZN: [first_article, first_article + articles)
    uint32_t articles;
  };

  /// Draws manufacturers by Zipf's law, leaving one out.
  class Draw {
   public:
    explicit Draw(size_t left_out);
    size_t operator()(uint64_t random) const;

   private:
    std::vector<uint64_t> upper_;  // running sum of the weights
    std::vector<uint16_t> guide_;  // first candidate for the leading bits of a draw
  };

  struct Row;
  void append_row(uint64_t number, const Row& row, std::string& to) const;

  ArticleRows rows_;
  ArticleCounts counts_;
  std::vector<Manufacturer> manufacturers_;  // by rank
  std::vector<uint32_t> drug_numbers_;       // PZN by article
  Draw small_draw_;
  Draw big_draw_;
};

}  // namespace hailstone
