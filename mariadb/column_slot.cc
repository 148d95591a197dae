#include "column_slot.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

/// A DECIMAL as ScanColumns::scaled_position_of() has it.
WideInteger scaled_number(const Value& value) {
  if (value.bytes.empty()) return native_signed(value.integer, sizeof(int64_t));
  return native_number(value.bytes).wide();
}

}  // namespace

ColumnSlot::ColumnSlot(const Field& like, bool scaled) : bytes_(1 + like.pack_length()) {
  constexpr size_t block = 512;  // a field and little more
  init_alloc_root(PSI_INSTRUMENT_MEM, &memory_, block, 0, MYF(0));
  // The server copies fields by their bytes, without a change of the one that is copied.
  field_ = const_cast<Field&>(like).clone(&memory_, nullptr, 0);
  HAILSTONE_CHECK(field_ != nullptr, "no memory for a field");
  field_->reset_fields();  // what it has beyond its bytes is the other one's
  constexpr uchar null_bit = 1;
  field_->move_field(bytes_.data() + 1, bytes_.data(), null_bit);
  format_ = FieldFormat(*field_, bytes_.data());
  if (scaled) scaled_.emplace(decimal_digits(static_cast<const Field_new_decimal&>(like)));
}

ColumnSlot::~ColumnSlot() {
  field_->free();
  free_root(&memory_, MYF(0));
}

void ColumnSlot::write(const Value& value) {
  if (!scaled_ || value.null) {
    format_.write_to(value, bytes_.data());
    return;
  }
  std::array<char, DecimalDigits::most> bytes{};
  scaled_->pack(scaled_number(value), bytes.data());
  const ByteView packed(bytes.data(), scaled_->width());
  format_.write_to(
      scaled_->is_integer() ? Value::of(load_big_endian(packed.data(), scaled_->width())) : Value::of(packed),
      bytes_.data());
}

size_t ColumnSlots::number_of(const Field& like) const {
  const auto found = std::ranges::find(likes_, &like);
  HAILSTONE_CHECK(found != likes_.end(), "an item reads a column that its rows do not have");
  return static_cast<size_t>(found - likes_.begin());
}

void ColumnSlots::clear() {
  for (const auto& slot : slots_) {
    if (slot != nullptr) slot->write({});
  }
}

}  // namespace hailstone
