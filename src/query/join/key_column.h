// One column of the key of a join: what makes values of both sides equal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "column/runtime_filter.h"
#include "query/row_batches.h"

namespace hailstone {

/// What one column of a key is on both sides: numbers of the same kind, or texts of one collation.
class KeyColumn {
 public:
  enum class Nulls : uint8_t {
    LeftOut,  // NULL is equal to nothing
    AsZero,   // it has the number, or the text, of nothing; of_presence() tells it from that
  };
  /// `collation`: of texts; null: that of both columns. ErrorCode::InvalidArgument: values of these columns
  /// are not compared here.
  static Result<KeyColumn> make(const ScanColumn& probe, const ScanColumn& build,
                                Nulls nulls = Nulls::LeftOut, const Collation* collation = nullptr);
  /// Whether a value is NULL, as a number: beside the column itself it makes NULL equal to NULL alone.
  static KeyColumn of_presence();

  bool leaves_nulls_out() const { return nulls_ == Nulls::LeftOut; }

  /// Of texts; else null.
  const Collation* collation() const { return collation_; }
  /// Of texts: whether the probe side's column compares them in the same way, so that its scan may look for
  /// those of the build side.
  bool is_of_probe() const { return is_of_probe_; }
  /// Equal numbers for equal values of both sides, of integers only; clears `valid` where there is none, as
  /// for NULL.
  void read(bool of_build, const ColumnVector& vector, uint32_t rows, uint64_t* to, uint8_t* valid) const;
  /// Which values of the probe side's column these numbers are; of integers only.
  std::shared_ptr<const NumberFilter> filter_of_probe(std::span<const uint64_t> numbers) const;
  /// Adds these values to a filter.
  void add_to(NumberFilter& filter, std::span<const uint64_t> numbers) const;
  /// The same column where the build side's values have become such numbers before.
  KeyColumn with_numbers_read() const {
    KeyColumn column = *this;
    column.build_ = {};
    return column;
  }

 private:
  struct Side {
    enum class As : uint8_t { Stored, Real, SignedNative, UnsignedBesideSigned, Presence } as = As::Stored;
    unsigned width = 8;
    Type type = Type::Unsigned;
  };
  KeyColumn() = default;
  /// Calls take(value) for all values of the probe side's column that numbers stand for.
  template <typename Take>
  void each_of_probe(std::span<const uint64_t> numbers, const Take& take) const;
  const Collation* collation_ = nullptr;
  bool is_of_probe_ = true;
  Side probe_, build_;
  Nulls nulls_ = Nulls::LeftOut;
};

}  // namespace hailstone
