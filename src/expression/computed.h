// What a register of a program has of the rows of a batch: values, which of them are NULL, and which have
// failed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "base/wide_integer.h"

namespace hailstone {

/// Why a row's value in a register is not the whole answer.
using Failure = uint8_t;
/// So many divisions by zero, or other reasons for a value to be NULL, of which the embedding application is
/// to warn.
constexpr Failure most_warnings = 0x7f;
/// The value is not known here: the embedding application is to be asked.
constexpr Failure unknown_value = 0x80;
/// Of what is made of two values.
constexpr Failure both_failures(Failure one, Failure other) {
  if (((one | other) & unknown_value) != 0) return std::max(one, other);
  return static_cast<Failure>(std::min<unsigned>(one + other, most_warnings));
}

/// Which of its arrays has a register's values. Truth is Integer: 0, 1 or NULL.
enum class ValueKind : uint8_t { Integer, Real, Text };

struct Computed {
  ValueKind kind = ValueKind::Integer;
  PageVector<int64_t> integers;
  /// All Integer values, once one of them has more than 64 bits (`any_huge`). `integers` has 0 in place of
  /// the long ones then.
  PageVector<HugeInteger> huge;
  bool any_huge = false;
  PageVector<double> reals;
  PageVector<ByteView> texts;
  // What stands there for a NULL is any value; of texts, one that may be read.
  PageVector<uint8_t> nulls;     // 1: NULL; one a row
  bool any_nulls = false;        // false: `nulls` need not be looked at (and may be stale)
  PageVector<Failure> failures;  // one a row
  bool any_failures = false;     // false: the same of these

  bool is_null(uint32_t row) const { return any_nulls && nulls[row] != 0; }
  Failure failure(uint32_t row) const { return any_failures ? failures[row] : Failure{0}; }
  /// Of Integer.
  HugeInteger number(uint32_t row) const { return any_huge ? huge[row] : HugeInteger::of(integers[row]); }
  bool is_huge(uint32_t row) const { return any_huge && !huge[row].has_64_bits(); }

  /// Room for so many rows.
  void resize(size_t rows);
  void copy_nulls(const uint8_t* from, bool any, uint32_t rows);
  void copy_failures(const Computed& from, uint32_t rows);
  void copy_marks(const Computed& from, uint32_t rows) {
    copy_nulls(from.nulls.data(), from.any_nulls, rows);
    copy_failures(from, rows);
  }
  /// Of what is made of two values.
  void unite_nulls(const Computed& left, const Computed& right, uint32_t rows);
  void unite_failures(const Computed& left, const Computed& right, uint32_t rows);
  /// Both, where the second value is not looked at behind a first NULL.
  void unite_in_order(const Computed& first, const Computed& second, uint32_t rows);
  void set_null(uint32_t row, uint32_t rows);
  /// One more, of a row whose value is not NULL.
  void add_failure(uint32_t row, uint32_t rows, Failure failure);
  /// Of each row what `failure` says.
  template <typename Of>
  void make_failures(uint32_t rows, Of&& failure) {
    any_failures = true;
    for (uint32_t row = 0; row < rows; ++row) failures[row] = failure(row);
  }
  /// Makes the value of each row what `number` says, of an Integer; a NULL's is not asked for. Nulls are
  /// known before.
  template <typename Of>
  void make_numbers(uint32_t rows, Of&& number) {
    huge.resize(integers.size());
    any_huge = false;
    for (uint32_t row = 0; row < rows; ++row) {
      const HugeInteger value = is_null(row) ? HugeInteger() : number(row);
      const bool is_narrow = value.has_64_bits();
      any_huge |= !is_narrow;
      integers[row] = is_narrow ? value.narrow() : 0;
      huge[row] = value;
    }
  }
  /// value, NULL and failure of one row from another register's.
  void copy_row(uint32_t row, const Computed& from, uint32_t from_row);
};

/// Calls `work` with the array of values of each argument, which are registers of one kind, and have no
/// number of more than 64 bits.
template <typename Work, typename... Registers>
void with_values(ValueKind kind, Work&& work, Registers&... registers) {
  switch (kind) {
    case ValueKind::Integer:
      return work(registers.integers.data()...);
    case ValueKind::Real:
      return work(registers.reals.data()...);
    case ValueKind::Text:
      return work(registers.texts.data()...);
  }
}

}  // namespace hailstone
