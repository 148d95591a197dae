// A condition on the columns of one table, in negation normal form: NOT has been pushed into the leaves by
// who built it, so each node need only say for which rows it is TRUE (FALSE and NULL are alike), and AND/OR
// are intersections and unions. Immutable, shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "schema/row_codec.h"
#include "segment/block.h"

namespace hailstone {

/// Decides a Bytes value. Thread-safe, without side effects; called once per distinct value where a
/// dictionary is at hand.
class BytesTest {
 public:
  virtual ~BytesTest() = default;
  virtual bool matches(ByteView value) const = 0;
  /// Limits outside of which nothing matches, by memcmp order (shorter first): lets blocks be skipped. Only
  /// where the collation's order is the order of bytes.
  struct Limits {
    std::string low;
    std::optional<std::string> high;  // inclusive; none: no upper limit
  };
  virtual std::optional<Limits> limits() const { return std::nullopt; }
  /// Limits outside of which everything matches: lets blocks be taken whole.
  virtual std::optional<Limits> limits_of_others() const { return std::nullopt; }
  /// Where it depends on a value's place in an order whether it matches: that order, and the number of the
  /// region of it where a value lies. Regions follow each other; all of one match, or none. Null: it depends
  /// on other things.
  virtual const Collation* order() const { return nullptr; }
  virtual size_t region(ByteView) const { return 0; }
  /// By memcmp order, what matches is what lies in these (sorted, disjoint); none: it is not to be told so.
  virtual std::span<const BytesRange> ranges() const { return {}; }
  /// Whether it is only worth its while where a dictionary has few values for many rows: others then match.
  virtual bool is_for_dictionaries() const { return false; }
  /// Where few values match: some of which each value that matches is equal to one, as the column's collation
  /// has it. Such a test may be left out where the rows that have them are found otherwise. Nothing: they are
  /// not told.
  virtual std::optional<std::span<const ByteView>> listed() const { return std::nullopt; }
};

class NumberFilter;

class Predicate {
 public:
  enum class Kind : uint8_t { Always, Never, And, Or, Integer, Numbers, Bytes, IsNull, IsNotNull };

  static Predicate always() { return Predicate(Kind::Always); }
  static Predicate never() { return Predicate(Kind::Never); }
  /// Simplifies: an empty AND is Always, an empty OR is Never, single and nested ones are unwrapped, ranges
  /// of one column are joined.
  static Predicate all_of(std::vector<Predicate> parts);
  static Predicate any_of(std::vector<Predicate> parts);
  /// TRUE when the value is not NULL and in one of the ranges (any order, may overlap; normalised here).
  static Predicate integer(uint16_t column, std::vector<IntegerRange> ranges);
  /// TRUE when the value is not NULL and the filter has it; it may be TRUE for other rows, too, from one time
  /// to the next (RuntimeFilter).
  static Predicate numbers(uint16_t column, std::shared_ptr<const NumberFilter> filter);
  static Predicate bytes(uint16_t column, std::shared_ptr<const BytesTest> test);
  static Predicate is_null(uint16_t column);
  static Predicate is_not_null(uint16_t column);

  Kind kind() const { return kind_; }
  uint16_t column() const { return column_; }
  std::span<const Predicate> parts() const { return parts_; }
  /// Of an Integer leaf: sorted, disjoint, at least one.
  std::span<const IntegerRange> ranges() const { return ranges_; }
  const NumberFilter& filter() const { return *filter_; }
  const BytesTest& test() const { return *test_; }
  /// Table columns that it reads, ascending, each once.
  std::vector<uint16_t> columns() const;
  /// Row by row, for deltas and row groups: `value(column)` gives the row's values.
  bool matches(const std::function<Value(uint16_t)>& value) const;
  /// The same for a row encoded by the codec of all columns of the table.
  bool matches(const RowCodec& codec, ByteView row) const;
  /// The same for many rows, leaf by leaf: of `chosen`, ascending numbers of rows, those that match stay.
  void select(const RowCodec& codec, std::span<const ByteView> rows, std::vector<uint16_t>& chosen) const;

 private:
  explicit Predicate(Kind kind) : kind_(kind) {}
  static Predicate combine(Kind kind, std::vector<Predicate> parts);
  Kind kind_;
  uint16_t column_ = 0;
  std::vector<Predicate> parts_;
  std::vector<IntegerRange> ranges_;
  std::shared_ptr<const NumberFilter> filter_;
  std::shared_ptr<const BytesTest> test_;
};

}  // namespace hailstone
