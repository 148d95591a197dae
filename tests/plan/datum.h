// A value as the reference interpreter has it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/wide_integer.h"
#include "plan/plan.h"

namespace hailstone::plan {

struct Datum {
  enum class Kind : uint8_t { Null, Number, Real, Text };
  Kind kind = Kind::Null;
  WideInteger number = 0;  // also truth; of a DECIMAL: of its last digit
  double real = 0;
  std::string text = {};

  bool is_null() const { return kind == Kind::Null; }
  bool is_true() const { return kind == Kind::Number && number != 0; }
  bool is_false() const { return kind == Kind::Number && number == 0; }

  static Datum of(WideInteger number) { return {.kind = Kind::Number, .number = number}; }
  static Datum of(bool truth) { return of(WideInteger{truth ? 1 : 0}); }
  static Datum of(double real) { return {.kind = Kind::Real, .real = real}; }
  static Datum of(std::string text) { return {.kind = Kind::Text, .text = std::move(text)}; }

  /// NULL first. Of values of one kind.
  std::weak_ordering operator<=>(const Datum& other) const {
    if (kind != other.kind) return kind <=> other.kind;
    switch (kind) {
      case Kind::Null:
        return std::weak_ordering::equivalent;
      case Kind::Number:
        return number <=> other.number;
      case Kind::Real:
        return real < other.real   ? std::weak_ordering::less
               : other.real < real ? std::weak_ordering::greater
                                   : std::weak_ordering::equivalent;
      case Kind::Text:
        return text <=> other.text;
    }
    return std::weak_ordering::equivalent;
  }
  bool operator==(const Datum& other) const { return (*this <=> other) == 0; }
};

/// The value that a column of a batch has.
Datum datum_of(const Value& value, const ScanColumn& stored);
std::string to_string(const Datum& datum);

using DatumRow = std::vector<Datum>;

/// Rows, and which column stands where.
struct Relation {
  std::vector<ColumnId> columns;
  std::vector<DatumRow> rows;
};

}  // namespace hailstone::plan
