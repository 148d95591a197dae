// How far numbers lie from their mean: the sum of the squares of the differences, which variances and
// standard deviations are made of. One a group.
//
// The sums of the numbers and of their squares are kept without rounding. n times the one less the square of
// the other is n times the result, whatever digits the numbers have in common: the result is rounded once,
// is never below 0, and is 0 where all numbers are equal. It is the same in whatever order the numbers come,
// and however they are divided among threads.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "query/exact_sum.h"

namespace hailstone {

class ExactSpreads {
 public:
  /// One more of no numbers yet; it gets either whole numbers or floating-point ones.
  void push_back(bool real);
  /// So many, at least as many as there are.
  void resize(size_t spreads, bool real);
  void reserve(size_t spreads, bool real);
  void clear();
  /// At most 2^94, without its sign.
  void add(uint32_t spread, WideInteger number);
  void add(uint32_t spread, double number);
  /// As those of ExactSums.
  void append_to(std::string& to, uint32_t spread) const;
  [[nodiscard]] bool add_from(ByteReader& reader, uint32_t spread);
  /// `count`: how many numbers have been added, at least 1.
  double result(uint32_t spread, uint64_t count) const;
  size_t memory() const;
  bool empty() const { return wholes_.empty() && sums_.empty(); }

 private:
  struct Whole {
    WideInteger sum = 0;
    HugeInteger squares;
  };
  PageVector<Whole> wholes_;
  // Of floating-point numbers: of them, and of the upper and the lower halves of their squares.
  ExactSums sums_, upper_squares_, lower_squares_;
};

}  // namespace hailstone
