// Runs ExactSums by a list of operations that any bytes are, beside sums that are whole numbers of the least
// unit there is: both must be the same after each operation. For random bytes of a unit test, and for a
// fuzzer's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "query/exact_sum.h"

namespace hailstone {

class ExactSumCheck {
 public:
  /// What is wrong; null: nothing. Operations: which one, a byte; between which sums, a byte; what it takes.
  const char* run(ByteView operations) {
    for (size_t i = 0; i < sums; ++i) exact_.push_back();
    ByteReader reader(operations);
    uint8_t operation = 0, at = 0;
    while (reader.take(operation) && reader.take(at)) {
      const uint32_t to = at % sums, from = at / sums % sums;
      const char* wrong = nullptr;
      bool goes_on = false;
      switch (operation % 4) {
        case 0:
          goes_on = add_number(reader, to);
          break;
        case 1:
          goes_on = add_parts(reader, to);
          break;
        case 2:
          goes_on = merge(exact_, from, of_[from], to, wrong);
          break;
        default:
          goes_on = add_bytes(reader, operation / 4 * size_t{24}, to, wrong);
      }
      if (wrong != nullptr) return wrong;
      if (!goes_on) return nullptr;
      if (!is_right(to)) return "a sum is not what has been added to it";
    }
    return nullptr;
  }

 private:
  static constexpr size_t sums = 4;
  static constexpr int32_t least_unit = -2148, greatest_unit = 1995;
  /// Sums beyond this are refused.
  static constexpr unsigned greatest_bit = 2140;

  struct Model {
    WholeNumber number = {};  // of units of 2^least_unit
    bool special = false;     // something that is no finite number has been added
  };

  static WholeNumber in_least_units(const WholeNumber& number, int32_t unit) {
    return number.shifted(static_cast<unsigned>(unit - least_unit));
  }

  bool add_number(ByteReader& reader, uint32_t to) {
    double number = 0;
    if (!reader.take(number)) return false;
    exact_.add(to, number);
    Model& model = of_[to];
    if (std::isfinite(number)) {
      const auto [mantissa, unit] = ExactSums::parts_of(number);
      model.number = model.number + in_least_units(WholeNumber(WideInteger{mantissa}), unit);
    } else {
      model.special = true;
    }
    return true;
  }

  /// Of at most 53 bits, as halves of squares are.
  bool add_parts(ByteReader& reader, uint32_t to) {
    int64_t number = 0;
    int16_t unit = 0;
    if (!reader.take(number) || !reader.take(unit)) return false;
    const ExactSums::Parts parts{.number = number >> 11,
                                 .unit = std::clamp<int32_t>(unit, least_unit, greatest_unit)};
    exact_.add(to, parts);
    of_[to].number = of_[to].number + in_least_units(WholeNumber(WideInteger{parts.number}), parts.unit);
    return true;
  }

  /// Bytes that are a sum at best are taken by a sum of their own first, and are what it then says.
  bool add_bytes(ByteReader& reader, size_t most, uint32_t to, const char*& wrong) {
    ByteView bytes;
    if (!reader.take_bytes(std::min(most, reader.remaining()), bytes)) return false;
    ExactSums stranger;
    stranger.push_back();
    ByteReader of_bytes(bytes);
    if (!stranger.add_from(of_bytes, 0)) return true;
    const auto exact = stranger.exact(0);
    const Model model{.number = in_least_units(exact.number, exact.unit),
                      .special = stranger.special(0) != 0};
    return merge(stranger, 0, model, to, wrong);
  }

  bool merge(const ExactSums& of, uint32_t from, const Model& model, uint32_t to, const char*& wrong) {
    std::string bytes;
    of.append_to(bytes, from);
    for (size_t size = 0; size < bytes.size(); size += 1 + size / 4) {
      ByteReader cut(ByteView(bytes).substr(0, size));
      ExactSums none;
      none.push_back();
      if (none.add_from(cut, 0)) wrong = "a part of a sum's bytes is taken for a sum";
    }
    ByteReader reader(bytes);
    const bool taken = exact_.add_from(reader, to);
    const WholeNumber both = of_[to].number + model.number;
    if (!taken) {
      if (!is_out_of_range(both) && !is_out_of_range(model.number)) wrong = "a sum's bytes are not taken";
      return false;
    }
    if (!reader.empty()) wrong = "a sum has bytes that it does not need";
    of_[to].number = both;
    of_[to].special = of_[to].special || model.special;
    return true;
  }

  static bool is_out_of_range(const WholeNumber& number) {
    const WholeNumber limit = in_least_units(WholeNumber(WideInteger{1}), greatest_bit - 1);
    return !(number + limit).is_negative() == !(number - limit).is_negative();
  }

  bool is_right(uint32_t at) const {
    if (of_[at].special) return !std::isfinite(exact_.result(at));
    const auto exact = exact_.exact(at);
    return (in_least_units(exact.number, exact.unit) - of_[at].number).is_zero() &&
           exact_.result(at) == of_[at].number.rounded(least_unit);
  }

  ExactSums exact_;
  std::array<Model, sums> of_;
};

}  // namespace hailstone
