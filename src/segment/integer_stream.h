// A run of up to block_rows unsigned numbers as stored: the one place where numbers are encoded, be they
// column values, dictionary codes, ends of byte strings or row ordinals. The writer chooses the form by the
// data; docs/formats.md, "Integer stream", has each to the byte. Reading one number never decodes its
// neighbours. An IntegerStream points into the bytes it was parsed from, which must outlive it; it is
// immutable and thread-safe after parse().
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "segment/block.h"

namespace hailstone {

enum class IntegerForm : uint8_t {
  Constant = 0,    // all the same
  Packed = 1,      // per 1024: bit packed difference from a base, or from a sloping line
  Runs = 2,        // value and length of runs
  Dictionary = 3,  // few distinct values, sorted; bit packed codes
  Sparse = 4,      // one common value; the others with their positions
};

struct EncodedForm {
  IntegerForm form = IntegerForm::Constant;
  bool sloped = false;  // some unit is packed against a line: "delta"
};

/// Appends 1..block_rows numbers to `to`, whose start is where the stored block starts (alignment counts from
/// there).
EncodedForm append_integer_stream(std::span<const uint64_t> numbers, PageString& to);

/// Numbers packed per unit against a base or line.
class PackedNumbers {
 public:
  /// Takes `count` >= 1 numbers from `bytes` at `position`, which moves behind them; false when the bytes are
  /// wrong.
  [[nodiscard]] bool parse(ByteView bytes, size_t& position, uint32_t count);

  uint32_t count() const { return count_; }
  uint64_t at(uint32_t index) const {
    const Unit& unit = units_[index / packing_unit_rows];
    const uint32_t inside = index % packing_unit_rows;
    uint64_t number = unit.base;
    if (unit.slope != 0) number += line(unit.slope, inside);
    return unit.width == 0 ? number : number + packed(unit, inside);
  }
  /// `Number`: uint64_t, or uint32_t where no number has more bits.
  template <typename Number>
  void decode(uint32_t first, uint32_t count, Number* to) const;
  template <typename Number>
  void gather(std::span<const uint16_t> rows, Number* to) const;
  /// Sets the bits of numbers in one of the ranges; sorted, disjoint.
  void select(std::span<const IntegerRange> ranges, uint64_t* bits) const;
  /// The same for numbers whose bit is set in `members`; numbers beyond its end are not members.
  void select_members(std::span<const uint64_t> members, uint64_t* bits) const;
  /// False only when some number may exceed `limit`; does not decode.
  bool surely_at_most(uint64_t limit) const;
  size_t memory() const { return units_.capacity() * sizeof(Unit); }

  /// What a line of `slope` (in 1/1024 a step) has risen to after `steps`.
  static uint64_t line(int64_t slope, uint32_t steps) {
    // Multiplied without a sign, so that a damaged slope wraps around in place of overflowing.
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<uint64_t>(slope) * steps) >> 10);
  }

 private:
  static constexpr uint32_t packing_unit_rows = 1024;
  struct Unit {
    uint64_t base;
    int64_t slope;
    const char* data;
    uint8_t width;
  };
  static uint64_t packed(const Unit& unit, uint32_t inside);
  uint32_t unit_count(size_t unit) const {
    return std::min(packing_unit_rows, count_ - static_cast<uint32_t>(unit) * packing_unit_rows);
  }
  /// Bounds of a unit with a slope, when its numbers cannot wrap around.
  bool sloped_bounds(size_t unit, uint64_t& low, uint64_t& high) const;
  /// The numbers [first, last) of a unit; those before may be written, too.
  template <typename Number>
  void decode_unit(size_t unit, uint32_t first, uint32_t last, Number* to) const;

  uint32_t count_ = 0;
  std::vector<Unit> units_;
};

class IntegerStream {
 public:
  /// Takes a stream of `count` numbers (1..block_rows); false when the bytes are wrong.
  [[nodiscard]] bool parse(ByteView bytes, size_t& position, uint32_t count);

  IntegerForm form() const { return form_; }
  uint32_t count() const { return count_; }
  uint64_t at(uint32_t index) const;
  /// `Number`: uint64_t, or uint32_t where no number has more bits.
  template <typename Number>
  void decode(uint32_t first, uint32_t count, Number* to) const;
  /// Rows in ascending order.
  template <typename Number>
  void gather(std::span<const uint16_t> rows, Number* to) const;
  /// Clears the bitmap and sets the bits of numbers in the ranges. Bits from count() on are unspecified.
  void select(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const;
  void select_members(std::span<const uint64_t> members, BlockBitmap& bitmap) const;
  /// Whether no number exceeds `limit`.
  bool at_most(uint64_t limit) const;
  size_t memory() const;

 private:
  struct Exceptions {
    std::vector<uint16_t> positions;
    BlockBitmap present;
    uint16_t before[BlockBitmap::words];  // exceptions in the words before this one
  };
  void spread_exceptions(const BlockBitmap& chosen, bool common_chosen, BlockBitmap& bitmap) const;

  IntegerForm form_ = IntegerForm::Constant;
  uint32_t count_ = 0;
  uint64_t common_ = 0;             // Constant, Sparse
  PackedNumbers packed_;            // Packed: the numbers; Dictionary: the codes; Sparse: the exceptions
  std::vector<uint64_t> values_;    // Runs: their values; Dictionary: the distinct values
  std::vector<uint16_t> run_ends_;  // Runs: the row after each
  std::unique_ptr<Exceptions> exceptions_;
};

}  // namespace hailstone
