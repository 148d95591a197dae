#include "column/runtime_filter.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "segment/bit_packing.h"

namespace hailstone {

namespace {

/// A bit for each number of the range may take so many bits for each that is there, and more within the
/// second limit, or so many in any case: neighbours lie together, and nothing is let through that is not
/// there.
constexpr uint64_t most_bits_a_number = 64;
constexpr uint64_t more_bits_a_number = 256, bits_of_more = uint64_t{1} << 27;
constexpr uint64_t bits_anyway = uint64_t{1} << 22;
constexpr uint64_t hashed_bits_a_number = 12;
constexpr double bits_set_a_number = 4;
/// Of the bits of a Bloom filter whose numbers have been added one by one. With less than the first share it
/// is halved. With more than the second one, it would let two thirds of the rows through.
constexpr double few_bits_set = 0.125, most_bits_set = 0.9;

// What a look costs pays where about a quarter of the rows need not be read and looked up any more.
constexpr uint64_t rows_to_judge = uint64_t{1} << 16;
constexpr uint64_t rows_remembered = uint64_t{1} << 20;
constexpr uint32_t blocks_between_trials = 16;

}  // namespace

void NumberFilter::sort_list() {
  std::ranges::sort(listed_);
  const auto repeated = std::ranges::unique(listed_);
  listed_.erase(repeated.begin(), repeated.end());
}

std::span<const uint64_t> NumberFilter::listed_between(uint64_t low, uint64_t high) const {
  const auto first = std::ranges::lower_bound(listed_, low);
  return {first, std::ranges::upper_bound(first, listed_.end(), high)};
}

void NumberFilter::make_room(uint64_t count) {
  const uint64_t span = range_.high - range_.low;
  is_exact_ = span < std::max({bits_anyway, count * most_bits_a_number,
                               std::min(count * more_bits_a_number, bits_of_more)});
  if (is_exact_) {
    // One bit more, which stays clear, is for what lies outside of the range.
    words_.resize((span + 1) / 64 + 1);
    return;
  }
  make_words(std::bit_ceil(count * hashed_bits_a_number / 64 + 2));
  density_ = std::min(1.0, static_cast<double>(count) / static_cast<double>(span));
}

/// A power of two, from 2 on.
void NumberFilter::make_words(uint64_t words) {
  words_.resize(words);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(words));
}

NumberFilter::NumberFilter(size_t bytes) : is_exact_(false) {
  make_words(std::bit_floor(std::max<uint64_t>(bytes / sizeof(uint64_t), 2)));
}

uint64_t NumberFilter::bits_set() const {
  return std::transform_reduce(words_.begin(), words_.end(), uint64_t{0}, std::plus(),
                               [](uint64_t word) { return static_cast<uint64_t>(std::popcount(word)); });
}

void NumberFilter::end_adding() {
  const auto share_set = [this] {
    return static_cast<double>(bits_set()) / static_cast<double>(words_.size() * 64);
  };
  double set = share_set();
  if (is_empty() || set > most_bits_set) {
    PageVector<uint64_t>().swap(words_);
    return;
  }
  while (set < few_bits_set && words_.size() > 2) {
    // Neighbours are told by the last of the bits that choose the word.
    PageVector<uint64_t> halves(words_.size() / 2);
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = words_[2 * i] | words_[2 * i + 1];
    words_ = std::move(halves);
    ++shift_;
    set = share_set();
  }
  // What is met twice sets no further bits. Where many are set, some numbers share theirs.
  const double numbers = static_cast<double>(bits_set()) / bits_set_a_number;
  density_ = std::min(1.0, numbers / (static_cast<double>(range_.high - range_.low) + 1));
}

void NumberFilter::forget_full_range() {
  const uint64_t members = bits_set();
  const uint64_t span = range_.high - range_.low;
  density_ = static_cast<double>(members) / (static_cast<double>(span) + 1);
  if (members == span + 1) PageVector<uint64_t>().swap(words_);
}

void NumberFilter::select(uint64_t* numbers, uint32_t count, uint64_t* bits) const {
  const uint64_t low = range_.low, span = range_.high - low;
  uint64_t found[packing_unit / 64] = {};
  if (words_.empty()) {
    select_numbers(numbers, count, low, range_.high, found);
  } else if (is_exact_) {
    for (uint32_t i = 0; i < count; ++i) numbers[i] = std::min(numbers[i] - low, span + 1);
    select_members(numbers, count, words_.data(), found);
  } else {
    for (uint32_t i = 0; i < count; ++i)
      found[i / 64] |= uint64_t{numbers[i] - low <= span && has_hash(mix_bits(numbers[i]))} << (i % 64);
  }
  for (uint32_t word = 0; word * 64 < count; ++word) bits[word] &= found[word];
}

bool NumberFilter::pays_for(uint32_t block) const {
  const uint64_t looked_at = looked_at_.load(std::memory_order_relaxed);
  if (looked_at < rows_to_judge || block % blocks_between_trials == 0) return true;
  return let_through_.load(std::memory_order_relaxed) < looked_at / 4 * 3;
}

void NumberFilter::note(uint64_t looked_at, uint64_t let_through) const {
  const uint64_t before = looked_at_.fetch_add(looked_at, std::memory_order_relaxed);
  let_through_.fetch_add(let_through, std::memory_order_relaxed);
  if (before < rows_remembered) return;
  // What was long ago counts half. Threads that do so at once forget more.
  looked_at_.store(before / 2, std::memory_order_relaxed);
  let_through_.store(let_through_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
}

Predicate RuntimeFilter::predicate(uint16_t column) const {
  if (texts != nullptr) return Predicate::bytes(column, texts);
  if (numbers->is_empty()) return Predicate::never();
  if (numbers->has_whole_range()) return Predicate::integer(column, {numbers->range()});
  return Predicate::numbers(column, numbers);
}

}  // namespace hailstone
