#include "query/join/key_column.h"

#include <algorithm>

#include "query/group_numbers.h"
#include "query/value_order.h"

namespace hailstone {

namespace {

bool is_whole(const ScanColumn& column) {
  return column.type == Type::Signed || column.type == Type::Unsigned;
}

}  // namespace

KeyColumn KeyColumn::of_presence() {
  KeyColumn column;
  column.probe_.as = column.build_.as = Side::As::Presence;
  column.nulls_ = Nulls::AsZero;
  return column;
}

Result<KeyColumn> KeyColumn::make(const ScanColumn& probe, const ScanColumn& build, Nulls nulls,
                                  const Collation* collation) {
  KeyColumn column;
  column.nulls_ = nulls;
  const auto refused = [] {
    return fail(ErrorCode::InvalidArgument, "columns of different kinds are not compared in a join");
  };
  if (probe.integer != build.integer) return refused();
  if (!probe.integer) {
    if (collation == nullptr && probe.collation != build.collation) return refused();
    column.collation_ = collation == nullptr ? probe.collation : collation;
    column.is_of_probe_ = column.collation_ == probe.collation;
    return column;
  }
  const auto side = [](const ScanColumn& own, const ScanColumn& other) -> Side {
    if (is_real(own)) return {.as = Side::As::Real, .width = own.width, .type = own.type};
    if (!is_whole(own)) return {};
    if (own.type == Type::Signed) return {.as = Side::As::SignedNative, .width = own.width, .type = own.type};
    const bool beside_signed = other.type == Type::Signed;
    return {.as = beside_signed ? Side::As::UnsignedBesideSigned : Side::As::Stored, .width = own.width};
  };
  if (is_whole(probe) != is_whole(build) || is_real(probe) != is_real(build)) return refused();
  if (!is_whole(probe) && (probe.type != build.type || probe.width != build.width)) return refused();
  column.probe_ = side(probe, build);
  column.build_ = side(build, probe);
  return column;
}

void KeyColumn::read(bool of_build, const ColumnVector& vector, uint32_t rows, uint64_t* to,
                     uint8_t* valid) const {
  const Side& side = of_build ? build_ : probe_;
  const uint64_t* const from = vector.integers.data();
  switch (side.as) {
    case Side::As::Stored:
      std::copy_n(from, rows, to);
      break;
    case Side::As::Real: {
      const Zeros zeros({.type = side.type, .width = side.width});
      for (uint32_t row = 0; row < rows; ++row) to[row] = zeros.one(from[row]);
      break;
    }
    case Side::As::SignedNative:
      for (uint32_t row = 0; row < rows; ++row)
        to[row] = order_signed(native_signed(from[row], side.width), sizeof(int64_t));
      break;
    case Side::As::UnsignedBesideSigned:
      for (uint32_t row = 0; row < rows; ++row) {
        // Beyond the range of signed numbers nothing is equal.
        if (from[row] >> 63 != 0 && !vector.is_null(row)) valid[row] = 0;
        to[row] = from[row] | uint64_t{1} << 63;
      }
      break;
    case Side::As::Presence:
      for (uint32_t row = 0; row < rows; ++row) to[row] = vector.is_null(row) ? 1 : 0;
      return;
  }
  if (!vector.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.nulls[row] == 0) continue;
    if (leaves_nulls_out()) {
      valid[row] = 0;
    } else {
      to[row] = 0;
    }
  }
}

template <typename Take>
void KeyColumn::each_of_probe(std::span<const uint64_t> numbers, const Take& take) const {
  // What read() has added to a value, and the greatest value.
  uint64_t added = 0, greatest = ~uint64_t{0};
  if (probe_.as == Side::As::SignedNative) {
    added = order_signed(0, sizeof(int64_t)) - order_signed(0, probe_.width);
    greatest >>= 64 - 8 * probe_.width;
  } else if (probe_.as == Side::As::UnsignedBesideSigned) {
    added = uint64_t{1} << 63;
    greatest >>= 1;
  }
  const Zeros zeros({.type = probe_.type, .width = probe_.width});
  const bool real = probe_.as == Side::As::Real;
  for (const uint64_t number : numbers) {
    const uint64_t value = number - added;
    if (value > greatest) continue;
    take(value);
    if (real && value == zeros.plus) take(zeros.minus);
  }
}

std::shared_ptr<const NumberFilter> KeyColumn::filter_of_probe(std::span<const uint64_t> numbers) const {
  return std::make_shared<NumberFilter>([&](const auto& take) { each_of_probe(numbers, take); });
}

void KeyColumn::add_to(NumberFilter& filter, std::span<const uint64_t> numbers) const {
  each_of_probe(numbers, [&](uint64_t value) { filter.add(value); });
}

}  // namespace hailstone
