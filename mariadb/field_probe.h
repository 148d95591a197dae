// The values that a column can hold, numbered in their order, and a way to put one of them into the record so
// that the server's own comparisons can be asked about it. Belongs to the connection's thread. While it
// lives, the field in record[0] changes; the destructor puts back what was there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "column/predicate.h"
#include "plain_field.h"
#include "record.h"
#include "saved_field.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Numbers the values of a column in their order; wide enough for all DECIMALs that are numbered at all.
__extension__ typedef __int128 Rank;

/// A closed range of ranks.
struct RankRange {
  Rank low = 0, high = 0;
};

class FieldProbe {
 public:
  enum class Kind : uint8_t { Integer, Real, Decimal, Date, DateTime, Time, TimeStamp, Enumerated };

  /// Nothing for columns whose values are not numbered here: strings, large sets, old formats, types of
  /// plugins.
  static std::optional<Kind> kind_of(PlainField field);
  /// `kind` is kind_of(field).
  FieldProbe(TABLE& table, Field& field, Kind kind);
  FieldProbe(const FieldProbe&) = delete;
  FieldProbe& operator=(const FieldProbe&) = delete;

  Kind kind() const { return kind_; }
  Rank least() const { return least_; }
  Rank greatest() const { return greatest_; }
  /// At most this many values, so that all of them can be tried.
  static constexpr int few_values = 4096;
  bool has_few_values() const { return greatest_ - least_ < few_values; }
  void put(Rank rank);
  /// Of a column of whole numbers, where the constant's number is among them: empty (high = low - 1) where it
  /// is less or greater than all of them.
  RankRange place_of_whole_number(Item& constant) const;
  /// The first rank for which `holds` is true, when it is false below and true above; greatest() + 1 when
  /// there is none.
  Rank first_where(const std::function<bool(Rank)>& holds) const;
  /// Rows whose value is in one of the ranges (ascending, disjoint).
  Predicate predicate(uint16_t column, const std::vector<RankRange>& ranges);
  /// Ranks for the ranges widened by a day on both sides; TimeStamp only.
  std::vector<RankRange> widened_by_a_day(std::vector<RankRange> ranges) const;

 private:
  uint64_t ordered(Rank rank) const;
  void put_decimal(Rank rank);

  Field& field_;
  const Kind kind_;
  const FieldFormat format_;
  const uint digits_;  // of the fraction
  Rank least_ = 0, greatest_ = 0;
  const SavedField saved_;
};

}  // namespace hailstone
