// Sums of floating-point numbers without rounding until the end: the same whatever the order in which the
// numbers come, and however they are divided among threads. One sum a group.
//
// A sum is a 128-bit whole number in units of a power of two, chosen by its first number so that others of up
// to 2^32 times less and 2^37 times more magnitude are whole numbers of that unit, too. A sum that outgrows
// this gets an array of all bits that numbers of eight bytes and their squares may have (Neal, "Fast exact
// summation using small and large superaccumulators", 2015).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "query/whole_number.h"
#include "table/scan.h"

namespace hailstone {

class ExactSums {
 public:
  /// number * 2^unit.
  struct Parts {
    int64_t number = 0;
    int32_t unit = 0;
  };
  /// Of a finite number.
  static Parts parts_of(double number);

  /// One more sum, of 0.
  void push_back() { sums_.emplace_back(); }
  /// So many sums, at least as many as there are; others are 0.
  void resize(size_t sums) { sums_.resize(sums); }
  void reserve(size_t sums) { sums_.reserve(sums); }
  void clear() {
    sums_.clear();
    wide_.clear();
  }
  void add(uint32_t sum, double number);
  /// `parts`: of a number of eight bytes, or half the digits of the square of one.
  void add(uint32_t sum, Parts parts);
  /// The sum as bytes, as it is, without rounding; add_from() adds them to another one. Neither changes what
  /// result() will say of what both hold. False: the bytes are none.
  void append_to(std::string& to, uint32_t sum) const;
  [[nodiscard]] bool add_from(ByteReader& reader, uint32_t sum);
  /// The nearest number to the sum, of two equally near ones the even one.
  double result(uint32_t sum) const;
  /// The sum itself: a whole number, times 2^unit. Only where all that was added is finite.
  struct Exact {
    WholeNumber number = {};
    int32_t unit = 0;
  };
  Exact exact(uint32_t sum) const;
  /// What has been added that is no finite number, added up; else 0.
  double special(uint32_t sum) const {
    return sums_[sum].wide == nobody ? 0 : wide_[sums_[sum].wide].special;
  }
  size_t memory() const;
  bool empty() const { return sums_.empty(); }

 private:
  struct Sum {
    WideInteger number = 0;
    int32_t unit = unset;    // the exponent of two of its unit; `unset`: nothing but zeros was added
    uint32_t wide = nobody;  // in wide_
  };
  static constexpr int32_t unset = INT32_MAX;
  static constexpr uint32_t nobody = ~uint32_t{0};

  /// All bits from 2^-2148 on, 32 a digit; digits may be greater, or negative, until they are settled.
  struct WideSum {
    static constexpr size_t digits = 134;
    std::array<int64_t, digits> digit{};
    uint32_t added = 0;  // since they were settled
    double special = 0;  // what is no finite number
    void add(WideInteger number, int32_t unit);
    void add(const WideSum& other);
    void settle();
    WholeNumber number() const;
  };
  WideSum& widen(Sum& sum);

  PageVector<Sum> sums_;
  std::vector<WideSum> wide_;
};

}  // namespace hailstone
