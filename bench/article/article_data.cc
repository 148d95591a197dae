#include "article/article_data.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "article/article_names.h"
#include "article/random_stream.h"

namespace hailstone {
namespace {

// Ranks whose share by Zipf's law comes near the article's counts: 1,334 of 301,036 and 315,857 of
// 10,000,000.
constexpr size_t kSmallRank = 23;
constexpr size_t kBigRank = 2;

constexpr uint64_t kFullSmallManufacturer = 1334;
constexpr uint64_t kFullBigManufacturer = 315'857;
constexpr uint64_t kFullJoined = 112;

constexpr uint64_t kZipfScale = 1'000'000'000'000;
constexpr uint64_t kListedArticles = 420'000;
constexpr uint64_t kFewestArticles = 6;
constexpr unsigned kGuideBits = 14;

// Which numbers a RandomStream makes.
constexpr uint64_t kSmallRowDomain = 1;
constexpr uint64_t kBigRowDomain = 2;
constexpr uint64_t kPriceDomain = 3;
constexpr uint64_t kPermutationDomain = 4;
// Articles without a PZN are numbered from here.
constexpr uint64_t kUnlisted = uint64_t{1} << 32U;

uint64_t scaled(uint64_t count, uint64_t rows, uint64_t full_rows) {
  return (count * rows + full_rows / 2) / full_rows;
}

uint64_t zipf_weight(size_t rank) { return kZipfScale / (rank + 1); }

/// A permutation of [0, size) without a table: a Feistel network over the next even number of bits, walked
/// until the value falls into the range.
uint64_t permute(uint64_t value, uint64_t size, uint64_t key) {
  const unsigned half = std::max(1U, (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2);
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = RandomStream::mix(right + (key << 8U) + (round << 40U) + 1) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    value = (left << half) | right;
  } while (value >= size);
  return value;
}

template <size_t Digits>
void append_digits(uint64_t number, std::string& to) {
  std::array<char, Digits> digits;
  for (size_t i = Digits; i-- > 0; number /= 10) digits[i] = static_cast<char>('0' + number % 10);
  to.append(digits.data(), Digits);
}

/// Six digits with the check digit after them, or 0 when the number has none.
uint32_t drug_number(uint32_t number) {
  uint32_t sum = 0;
  uint32_t factor = 7;
  for (uint32_t rest = number; factor >= 2; rest /= 10, --factor) sum += rest % 10 * factor;
  const uint32_t check = sum % 11;
  return check == 10 ? 0 : number * 10 + check;
}

/// Retail price in cents: most articles between 3 and 40 Euro, few cost thousands.
uint64_t base_price(RandomStream& random) {
  struct Range {
    uint64_t percent, from, to;
  };
  static constexpr std::array<Range, 10> kRanges{{{7, 95, 250},
                                                  {15, 250, 500},
                                                  {18, 500, 800},
                                                  {17, 800, 1200},
                                                  {14, 1200, 1800},
                                                  {11, 1800, 2700},
                                                  {8, 2700, 4500},
                                                  {6, 4500, 9000},
                                                  {3, 9000, 40000},
                                                  {1, 40000, 450000}}};
  uint64_t draw = random.below(100);
  size_t range = 0;
  while (draw >= kRanges[range].percent) draw -= kRanges[range++].percent;
  return kRanges[range].from + random.below(kRanges[range].to - kRanges[range].from);
}

/// Shops like prices that end with 5, 8 or 9.
uint64_t usual_ending(uint64_t price, uint64_t draw) {
  static constexpr std::array<uint64_t, 8> kEndings{5, 5, 5, 9, 9, 8, 0, 0};
  return draw < kEndings.size() ? price - price % 10 + kEndings[draw] : price;
}

}  // namespace

struct ArticleData::Row {
  uint64_t domain;  // of this row's RandomStream
  size_t manufacturer;
  bool listed;         // has a PZN
  uint64_t listed_as;  // article, when it is a given one; only with `listed`
  bool given;
};

ArticleData::Draw::Draw(size_t left_out) : upper_(kManufacturers), guide_(size_t{1} << kGuideBits) {
  uint64_t sum = 0;
  for (size_t rank = 0; rank < kManufacturers; ++rank) {
    if (rank != left_out) sum += zipf_weight(rank);
    upper_[rank] = sum;
  }
  size_t rank = 0;
  for (size_t lead = 0; lead < guide_.size(); ++lead) {
    const auto least = (static_cast<WideProduct>(lead) * sum) >> kGuideBits;
    while (upper_[rank] <= least) ++rank;
    guide_[lead] = static_cast<uint16_t>(rank);
  }
}

size_t ArticleData::Draw::operator()(uint64_t random) const {
  const auto point = scale_random(random, upper_.back());
  size_t rank = guide_[random >> (64 - kGuideBits)];
  while (upper_[rank] <= point) ++rank;
  return rank;
}

ArticleData::ArticleData(ArticleRows rows)
    : rows_(rows), counts_{}, manufacturers_(kManufacturers), small_draw_(kSmallRank), big_draw_(kBigRank) {
  counts_.small_manufacturer = scaled(kFullSmallManufacturer, rows.small, ArticleRows::kFullSmall);
  counts_.big_manufacturer = scaled(kFullBigManufacturer, rows.big, ArticleRows::kFullBig);
  if (counts_.small_manufacturer > 0) {
    counts_.joined =
        std::clamp<uint64_t>(scaled(kFullJoined, rows.big, ArticleRows::kFullBig),
                             std::min<uint64_t>(1, counts_.big_manufacturer), counts_.big_manufacturer);
  }

  uint64_t weights = 0;
  for (size_t rank = 0; rank < kManufacturers; ++rank) weights += zipf_weight(rank);
  uint32_t first_article = 0;
  uint64_t candidate = 0;
  for (size_t rank = 0; rank < kManufacturers; ++rank) {
    Manufacturer& manufacturer = manufacturers_[rank];
    manufacturer.first_article = first_article;
    manufacturer.articles =
        static_cast<uint32_t>(kFewestArticles + kListedArticles * zipf_weight(rank) / weights);
    first_article += manufacturer.articles;
    // Five digits each, in no order that has to do with the rank.
    std::string code;
    if (rank == kSmallRank) code = kSmallManufacturer;
    if (rank == kBigRank) code = kBigManufacturer;
    while (code.empty() || (rank != kSmallRank && code == kSmallManufacturer) ||
           (rank != kBigRank && code == kBigManufacturer) || code == "36441") {
      code.clear();
      append_digits<5>(permute(candidate++, 100'000, kPermutationDomain), code);
    }
    std::copy_n(code.data(), manufacturer.code.size(), manufacturer.code.data());
  }

  std::vector<uint32_t> valid;
  valid.reserve(1'000'000);
  for (uint32_t number = 10'000; number < 1'000'000; ++number) {
    if (const uint32_t drug = drug_number(number); drug != 0) valid.push_back(drug);
  }
  drug_numbers_.resize(first_article);
  for (uint32_t article = 0; article < first_article; ++article) {
    drug_numbers_[article] = valid[permute(article, valid.size(), kPermutationDomain + 1)];
  }
}

void ArticleData::append_small_row(uint64_t number, std::string& to) const {
  RandomStream random(kSmallRowDomain, number);
  Row row{kSmallRowDomain, kSmallRank, true, 0, false};
  const uint64_t place = permute(number, rows_.small, kSmallRowDomain);
  if (place < counts_.small_manufacturer) {
    // Each of these has a PZN of its own, so that a row of Big joins with at most one of them.
    row.given = true;
    row.listed_as = manufacturers_[kSmallRank].first_article + place;
  } else {
    row.manufacturer = small_draw_(random.next());
    row.listed = random.chance(40);
  }
  append_row(number, row, to);
}

void ArticleData::append_big_row(uint64_t number, std::string& to) const {
  RandomStream random(kBigRowDomain, number);
  Row row{kBigRowDomain, kBigRank, true, 0, false};
  const uint64_t place = permute(number, rows_.big, kBigRowDomain);
  if (place < counts_.joined) {
    // A PZN that belongs to the other manufacturer: no other row of this manufacturer has one of those.
    row.given = true;
    row.listed_as = manufacturers_[kSmallRank].first_article + place % counts_.small_manufacturer;
  } else {
    if (place >= counts_.big_manufacturer) row.manufacturer = big_draw_(random.next());
    row.listed = random.chance(40);
  }
  append_row(number, row, to);
}

void ArticleData::append_row(uint64_t number, const Row& row, std::string& to) const {
  RandomStream random(row.domain + 16, number);
  const Manufacturer& manufacturer = manufacturers_[row.manufacturer];

  uint64_t article = row.listed_as;
  if (!row.given) {
    // The square of an even draw: some articles are much more frequent than others.
    const uint64_t draw = random.below(uint64_t{1} << 32U);
    const uint64_t skewed = (draw * draw) >> 32U;
    const uint64_t choice = row.listed ? manufacturer.articles : 2 * uint64_t{manufacturer.articles};
    article = (choice * skewed) >> 32U;
    article += row.listed ? manufacturer.first_article : kUnlisted + 2 * uint64_t{manufacturer.first_article};
  }

  RandomStream price_random(kPriceDomain, article);
  uint64_t retail = base_price(price_random);
  const uint64_t ending = price_random.below(11);
  const uint64_t wholesale_share = 450 + price_random.below(310);
  if (random.chance(45)) retail = retail * (940 + random.below(121)) / 1000;  // an older or a newer price
  retail = usual_ending(retail, ending);
  uint64_t wholesale = retail * wholesale_share / 1000;
  if (random.chance(10)) wholesale = wholesale * (970 + random.below(61)) / 1000;

  append_digits<8>(number + 1, to);
  to += '\t';
  if (row.listed) {
    append_digits<7>(drug_numbers_[article], to);
  } else {
    to += "999999";
  }
  to += '\t';
  append_digits<8>(retail, to);
  to += '\t';
  append_digits<8>(wholesale, to);
  to += '\t';
  append_article_name(article, row.manufacturer, to);
  to += '\t';
  to.append(manufacturer.code.data(), manufacturer.code.size());
  to += '\n';
}

}  // namespace hailstone
