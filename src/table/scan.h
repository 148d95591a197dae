// All rows of a table that match a predicate, in no promised order, a batch at a time. Belongs to one thread
// and one transaction. Segments are filtered block by block on encoded data; then the deltas row by row. With
// a ReadLock each returned row has been locked and is the newest version, matching. Scans (scans.h) go
// through all rows at once, by several threads. `as_codes` is Projection's.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/operator_counts.h"
#include "base/wide_integer.h"
#include "table/table.h"

namespace hailstone {

/// A number over rows.
struct Aggregate {
  enum class Kind : uint8_t {
    Rows,
    Values,  // those that are not NULL
    Minimum,
    Maximum,
    Sum,
    Spread,  // of values around their mean: the squares of the differences, added up; only for groups
    // Of Unsigned columns, and of Signed ones of 8 bytes; only for groups.
    BitAnd,
    BitOr,
    BitXor,
  };
  Kind kind = Kind::Rows;
  uint16_t position = 0;  // of the column among those of the scan; not for Rows
  bool distinct = false;  // of equal values one only: for Values and Sum of groups
};
struct AggregateResult {
  uint64_t count = 0;    // Rows: rows; else values that are not NULL. 0: there is no minimum, maximum or sum
  uint64_t integer = 0;  // minimum or maximum of an Integer column, ordered; BitAnd and its like, native
  std::string bytes;     // of a Bytes column; the first one met where several are equal
  WideInteger integer_sum = 0;  // of Signed and Unsigned columns, and of groups' numbers of 16 bytes: exact
  HugeInteger huge_sum = {};    // of groups' numbers of 32 bytes
  double real_sum = 0;  // of Float and Double columns: of groups exact but for the last bit, else rounded in
                        // no promised order
  double spread = 0;    // of all columns that have sums
};

/// Adds the halves of the numbers by themselves, several at a time; at most 2^32 numbers.
WideInteger sum_of(std::span<const uint64_t> numbers);

/// What the values of a column of a scan are.
struct ScanColumn {
  bool integer = true;  // ordered numbers; else bytes
  Type type = Type::Unsigned;
  unsigned width = 8;
  const Collation* collation = nullptr;  // of bytes
  /// Of a computed column of Signed numbers of 8 bytes: a batch in which a number has more bits has `bytes`
  /// besides, which are those of such numbers (order_huge()), and none of others. Only sums take them.
  bool may_be_huge = false;

  bool operator==(const ScanColumn&) const = default;
};

class Scan {
 public:
  Scan(std::shared_ptr<Table> table, Transaction& transaction, ReadLock lock,
       std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns,
       std::vector<bool> as_codes = {});
  ~Scan();

  /// Call it before next(): then each row has a number(), which costs a look at what the predicate leaves
  /// out. Not for READ UNCOMMITTED without locks. A scan that locks comes by all versions of a row that may
  /// be the newest, and counts each.
  void number_rows();
  /// Call it before next(): what the scan has gone by is added to `counts`, which outlive it.
  void count_in(OperatorCounts& counts);
  /// The next batch, valid until the next call; null at the end.
  Result<const Batch*> next();
  /// Clustered key of a row of the current batch; valid until next(). Costs a key encoding.
  Result<ByteView> clustered_key(uint32_t row);
  /// Number of a row of the current batch, from 1, among all rows that the scan comes by: those that do not
  /// match count, too. After number_rows() only.
  uint64_t number(uint32_t row) const;
  /// How many there were, once next() gave null. After number_rows() only.
  uint64_t rows_met() const;
  /// Number of matching rows from here to the end, without reading any column but the predicate's. `threads`:
  /// how many may work at it, the caller's included; others are background threads that are free.
  Result<uint64_t> count_rest(unsigned threads = 1);

 private:
  friend class Scans;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
