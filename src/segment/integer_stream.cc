#include "segment/integer_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "segment/bit_packing.h"
#include "segment/geometry.h"

namespace hailstone {
namespace {

bool is_member(std::span<const uint64_t> members, uint64_t number) {
  return number / 64 < members.size() && (members[number / 64] >> (number % 64) & 1) != 0;
}

void set_rows(uint64_t* bits, uint32_t first, uint32_t last) {
  for (uint32_t row = first; row < last;) {
    const uint32_t end = std::min(last, (row / 64 + 1) * 64);
    const uint32_t length = end - row;
    bits[row / 64] |= (length == 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1) << (row % 64);
    row = end;
  }
}

}  // namespace

bool PackedNumbers::parse(ByteView bytes, size_t& position, uint32_t count) {
  const size_t units = (count + packing_unit - 1) / packing_unit;
  uint8_t sloped = 0;
  if (count == 0 || position > bytes.size() || !take_at(bytes, position, sloped) || sloped > 1) return false;
  if (bytes.size() - position < units * (sloped != 0 ? 17 : 9)) return false;
  const char* widths = bytes.data() + position;
  const char* bases = widths + units;
  const char* slopes = bases + units * 8;
  position += units * (sloped != 0 ? 17 : 9);
  count_ = count;
  units_.resize(units);
  bool data = false;
  for (size_t i = 0; i < units; ++i) {
    units_[i] = {load<uint64_t>(bases + i * 8), sloped != 0 ? load<int64_t>(slopes + i * 8) : 0, nullptr,
                 static_cast<uint8_t>(widths[i])};
    if (units_[i].width > 64) return false;
    data |= units_[i].width != 0;
  }
  if (!data) return true;
  position = (position + 63) / 64 * 64;
  for (size_t i = 0; i < units; ++i) {
    if (units_[i].width == 0) continue;
    const size_t size = packed_bytes(unit_count(i), units_[i].width);
    if (position > bytes.size() || bytes.size() - position < size) return false;
    units_[i].data = bytes.data() + position;
    position += size;
  }
  return true;
}

uint64_t PackedNumbers::packed(const Unit& unit, uint32_t inside) {
  return packed_number(unit.data, unit.width, inside);
}

template <typename Number>
void PackedNumbers::decode_unit(size_t number, uint32_t first, uint32_t last, Number* to) const {
  const Unit& unit = units_[number];
  if (unit.width == 0) {
    std::fill(to + first, to + last, static_cast<Number>(unit.base));
  } else {
    unpack_unit(unit.data, unit.width, last, unit.base, to);
  }
  if (unit.slope != 0) {
    for (uint32_t i = first; i < last; ++i) to[i] += static_cast<Number>(line(unit.slope, i));
  }
}

template <typename Number>
void PackedNumbers::decode(uint32_t first, uint32_t count, Number* to) const {
  while (count > 0) {
    const size_t unit = first / packing_unit;
    const uint32_t inside = first % packing_unit;
    const uint32_t here = std::min(count, packing_unit - inside);
    if (inside == 0) {
      decode_unit(unit, 0, here, to);
    } else if (here > 16) {
      Number numbers[packing_unit];
      decode_unit(unit, inside, inside + here, numbers);
      std::copy_n(numbers + inside, here, to);
    } else {
      for (uint32_t i = 0; i < here; ++i) to[i] = static_cast<Number>(at(first + i));
    }
    first += here;
    to += here;
    count -= here;
  }
}

namespace {

/// Of a unit's numbers those of the rows. Where few rows are left out, most of them come side by side.
template <typename Number>
void keep_rows(const Number* numbers, std::span<const uint16_t> rows, Number* to) {
  constexpr size_t together = 8;
  size_t i = 0;
  for (; i + together <= rows.size(); i += together) {
    if (rows[i + together - 1] - rows[i] == together - 1) {
      std::memcpy(to + i, numbers + rows[i] % packing_unit, together * sizeof(Number));
    } else {
      for (size_t k = i; k < i + together; ++k) to[k] = numbers[rows[k] % packing_unit];
    }
  }
  for (; i < rows.size(); ++i) to[i] = numbers[rows[i] % packing_unit];
}

}  // namespace

template <typename Number>
void PackedNumbers::gather(std::span<const uint16_t> rows, Number* to) const {
  constexpr size_t few = 48;  // of a unit, so that it is not decoded for them
  for (size_t i = 0; i < rows.size();) {
    const uint32_t unit = rows[i] / packing_unit;
    if (rows.size() - i <= few || rows[i + few] / packing_unit != unit) {
      size_t end = i + 1;
      while (end < rows.size() && rows[end] / packing_unit == unit) ++end;
      for (; i < end; ++i) to[i] = static_cast<Number>(at(rows[i]));
      continue;
    }
    const auto behind = std::lower_bound(rows.begin() + static_cast<ptrdiff_t>(i + few), rows.end(),
                                         (unit + 1) * packing_unit);
    const auto end = static_cast<size_t>(behind - rows.begin());
    Number numbers[packing_unit];
    decode_unit(unit, rows[i] % packing_unit, rows[end - 1] % packing_unit + 1, numbers);
    keep_rows(numbers, rows.subspan(i, end - i), to + i);
    i = end;
  }
}

void PackedNumbers::select(std::span<const IntegerRange> ranges, uint64_t* bits) const {
  constexpr size_t few = 8;
  for (size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    const uint32_t count = unit_count(i);
    uint64_t* to = bits + i * (packing_unit / 64);
    if (unit.slope != 0) {
      uint64_t low = 0, high = 0;
      if (sloped_bounds(i, low, high)) {
        const auto meets =
            std::lower_bound(ranges.begin(), ranges.end(), low,
                             [](const IntegerRange& range, uint64_t least) { return range.high < least; });
        if (meets == ranges.end() || meets->low > high) continue;
        if (meets->low <= low && high <= meets->high) {
          set_rows(to, 0, count);
          continue;
        }
      }
      uint64_t numbers[packing_unit];
      decode_unit(i, 0, count, numbers);
      if (ranges.size() <= few) {
        for (const auto& range : ranges) select_numbers(numbers, count, range.low, range.high, to);
      } else {
        for (uint32_t k = 0; k < count; ++k)
          to[k / 64] |= static_cast<uint64_t>(in_ranges(ranges, numbers[k])) << (k % 64);
      }
      continue;
    }
    const uint64_t mask = unit.width == 64 ? ~uint64_t{0} : (uint64_t{1} << unit.width) - 1;
    // Only the ranges that meet the unit's values matter.
    const uint64_t top = unit.base + mask < unit.base ? ~uint64_t{0} : unit.base + mask;
    const auto begin =
        std::lower_bound(ranges.begin(), ranges.end(), unit.base,
                         [](const IntegerRange& range, uint64_t base) { return range.high < base; });
    auto end = begin;
    while (end != ranges.end() && end->low <= top && static_cast<size_t>(end - begin) <= few) ++end;
    if (static_cast<size_t>(end - begin) > few) {
      uint64_t numbers[packing_unit];
      decode_unit(i, 0, count, numbers);
      for (uint32_t k = 0; k < count; ++k)
        to[k / 64] |= static_cast<uint64_t>(in_ranges(ranges, numbers[k])) << (k % 64);
      continue;
    }
    for (auto range = begin; range != end; ++range) {
      const uint64_t low = range->low > unit.base ? range->low - unit.base : 0;
      const uint64_t high = std::min(mask, range->high - unit.base);
      if (low == 0 && high == mask) {
        set_rows(to, 0, count);
      } else {
        select_packed(unit.data, unit.width, count, low, high, to);
      }
    }
  }
}

bool PackedNumbers::sloped_bounds(size_t number, uint64_t& low, uint64_t& high) const {
  const Unit& unit = units_[number];
  const uint64_t rise = line(unit.slope, unit_count(number) - 1);
  const auto signed_rise = static_cast<int64_t>(rise);
  constexpr uint64_t limit = uint64_t{1} << 62;
  // Only where nothing can wrap around.
  if (unit.width > 60 || unit.base >= limit || signed_rise >= static_cast<int64_t>(limit)) return false;
  if (signed_rise < 0 && unit.base < 0 - rise) return false;
  const uint64_t mask = (uint64_t{1} << unit.width) - 1;
  low = signed_rise < 0 ? unit.base + rise : unit.base;
  high = (signed_rise < 0 ? unit.base : unit.base + rise) + mask;
  return true;
}

void PackedNumbers::select_members(std::span<const uint64_t> members, uint64_t* bits) const {
  uint64_t numbers[packing_unit];
  for (size_t i = 0; i < units_.size(); ++i) {
    const uint32_t count = unit_count(i);
    decode_unit(i, 0, count, numbers);
    uint64_t* to = bits + i * (packing_unit / 64);
    uint64_t least = 0, greatest = 0;
    find_minimum_maximum(numbers, count, least, greatest);
    if (greatest / 64 < members.size()) {
      hailstone::select_members(numbers, count, members.data(), to);
      continue;
    }
    for (uint32_t k = 0; k < count; ++k)
      to[k / 64] |= static_cast<uint64_t>(is_member(members, numbers[k])) << (k % 64);
  }
}

bool PackedNumbers::surely_at_most(uint64_t limit) const {
  return std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    const uint64_t mask = unit.width == 64 ? ~uint64_t{0} : (uint64_t{1} << unit.width) - 1;
    return unit.slope == 0 && mask <= limit && unit.base <= limit - mask;
  });
}

bool IntegerStream::parse(ByteView bytes, size_t& position, uint32_t count) {
  uint8_t form = 0;
  if (count == 0 || count > block_rows || position > bytes.size() || !take_at(bytes, position, form))
    return false;
  form_ = static_cast<IntegerForm>(form);
  count_ = count;
  switch (form_) {
    case IntegerForm::Constant:
      return take_at(bytes, position, common_);
    case IntegerForm::Packed:
      return packed_.parse(bytes, position, count);
    case IntegerForm::Runs: {
      uint32_t runs = 0;
      PackedNumbers ends, values;
      if (!take_at(bytes, position, runs) || runs == 0 || runs > count ||
          !ends.parse(bytes, position, runs) || !values.parse(bytes, position, runs)) {
        return false;
      }
      values_.resize(runs);
      ends.decode(0, runs, values_.data());
      uint64_t previous = 0;
      for (const uint64_t end : values_) {
        if (end <= previous || end > count) return false;
        run_ends_.push_back(static_cast<uint16_t>(end));
        previous = end;
      }
      values.decode(0, runs, values_.data());
      return previous == count;
    }
    case IntegerForm::Dictionary: {
      uint32_t size = 0;
      PackedNumbers values;
      if (!take_at(bytes, position, size) || size == 0 || size > count ||
          !values.parse(bytes, position, size))
        return false;
      values_.resize(size);
      values.decode(0, size, values_.data());
      for (size_t i = 1; i < size; ++i) {
        if (values_[i] <= values_[i - 1]) return false;
      }
      if (!packed_.parse(bytes, position, count)) return false;
      if (packed_.surely_at_most(size - 1)) return true;
      uint64_t codes[packing_unit];
      for (uint32_t first = 0; first < count; first += packing_unit) {
        const uint32_t here = std::min(packing_unit, count - first);
        packed_.decode(first, here, codes);
        if (std::any_of(codes, codes + here, [&](uint64_t code) { return code >= size; })) return false;
      }
      return true;
    }
    case IntegerForm::Sparse: {
      uint32_t size = 0;
      PackedNumbers positions;
      if (!take_at(bytes, position, common_) || !take_at(bytes, position, size) || size == 0 ||
          size > count || !positions.parse(bytes, position, size) || !packed_.parse(bytes, position, size)) {
        return false;
      }
      std::vector<uint64_t> rows(size);
      positions.decode(0, size, rows.data());
      exceptions_ = std::make_unique<Exceptions>();
      exceptions_->present.clear();
      exceptions_->positions.reserve(size);
      for (size_t i = 0; i < size; ++i) {
        if (rows[i] >= count || (i > 0 && rows[i] <= rows[i - 1])) return false;
        exceptions_->positions.push_back(static_cast<uint16_t>(rows[i]));
        exceptions_->present.bits[rows[i] / 64] |= uint64_t{1} << (rows[i] % 64);
      }
      uint16_t before = 0;
      for (size_t word = 0; word < BlockBitmap::words; ++word) {
        exceptions_->before[word] = before;
        before = static_cast<uint16_t>(before + std::popcount(exceptions_->present.bits[word]));
      }
      return true;
    }
  }
  return false;
}

uint64_t IntegerStream::at(uint32_t index) const {
  switch (form_) {
    case IntegerForm::Constant:
      return common_;
    case IntegerForm::Packed:
      return packed_.at(index);
    case IntegerForm::Runs: {
      const auto run = std::upper_bound(run_ends_.begin(), run_ends_.end(), index);
      return values_[static_cast<size_t>(run - run_ends_.begin())];
    }
    case IntegerForm::Dictionary:
      return values_[packed_.at(index)];
    case IntegerForm::Sparse: {
      const uint64_t word = exceptions_->present.bits[index / 64];
      const uint64_t bit = uint64_t{1} << (index % 64);
      if ((word & bit) == 0) return common_;
      return packed_.at(exceptions_->before[index / 64] +
                        static_cast<uint32_t>(std::popcount(word & (bit - 1))));
    }
  }
  return 0;
}

template <typename Number>
void IntegerStream::decode(uint32_t first, uint32_t count, Number* to) const {
  switch (form_) {
    case IntegerForm::Constant:
      std::fill_n(to, count, static_cast<Number>(common_));
      break;
    case IntegerForm::Packed:
      packed_.decode(first, count, to);
      break;
    case IntegerForm::Runs: {
      size_t run = static_cast<size_t>(std::upper_bound(run_ends_.begin(), run_ends_.end(), first) -
                                       run_ends_.begin());
      for (uint32_t row = first; row < first + count; ++run) {
        const uint32_t end = std::min<uint32_t>(run_ends_[run], first + count);
        std::fill(to + (row - first), to + (end - first), static_cast<Number>(values_[run]));
        row = end;
      }
      break;
    }
    case IntegerForm::Dictionary:
      packed_.decode(first, count, to);
      for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<Number>(values_[to[i]]);
      break;
    case IntegerForm::Sparse: {
      std::fill_n(to, count, static_cast<Number>(common_));
      const auto& positions = exceptions_->positions;
      const auto begin = std::lower_bound(positions.begin(), positions.end(), first);
      const auto end = std::lower_bound(begin, positions.end(), first + count);
      const auto number = static_cast<uint32_t>(begin - positions.begin());
      std::vector<Number> values(static_cast<size_t>(end - begin));
      if (!values.empty()) packed_.decode(number, static_cast<uint32_t>(values.size()), values.data());
      for (size_t i = 0; i < values.size(); ++i) to[begin[static_cast<ptrdiff_t>(i)] - first] = values[i];
      break;
    }
  }
}

template <typename Number>
void IntegerStream::gather(std::span<const uint16_t> rows, Number* to) const {
  // Rows side by side, as they are where nothing is left out.
  if (rows.size() > 1 && size_t{rows.back()} - rows.front() + 1 == rows.size())
    return decode(rows.front(), static_cast<uint32_t>(rows.size()), to);
  switch (form_) {
    case IntegerForm::Constant:
      std::fill_n(to, rows.size(), static_cast<Number>(common_));
      break;
    case IntegerForm::Packed:
      packed_.gather(rows, to);
      break;
    case IntegerForm::Runs: {
      if (rows.empty()) break;
      size_t run = static_cast<size_t>(std::upper_bound(run_ends_.begin(), run_ends_.end(), rows[0]) -
                                       run_ends_.begin());
      for (size_t i = 0; i < rows.size(); ++i) {
        while (run_ends_[run] <= rows[i]) ++run;
        to[i] = static_cast<Number>(values_[run]);
      }
      break;
    }
    case IntegerForm::Dictionary:
      packed_.gather(rows, to);
      for (size_t i = 0; i < rows.size(); ++i) to[i] = static_cast<Number>(values_[to[i]]);
      break;
    case IntegerForm::Sparse:
      for (size_t i = 0; i < rows.size(); ++i) to[i] = static_cast<Number>(at(rows[i]));
      break;
  }
}

template void IntegerStream::decode(uint32_t, uint32_t, uint64_t*) const;
template void IntegerStream::decode(uint32_t, uint32_t, uint32_t*) const;
template void IntegerStream::gather(std::span<const uint16_t>, uint64_t*) const;
template void IntegerStream::gather(std::span<const uint16_t>, uint32_t*) const;

void IntegerStream::spread_exceptions(const BlockBitmap& chosen, bool common_chosen,
                                      BlockBitmap& bitmap) const {
  if (common_chosen) {
    for (size_t word = 0; word < BlockBitmap::words; ++word)
      bitmap.bits[word] = ~exceptions_->present.bits[word];
  }
  for (size_t word = 0; word * 64 < exceptions_->positions.size(); ++word) {
    for (uint64_t bits = chosen.bits[word]; bits != 0; bits &= bits - 1) {
      const uint16_t row = exceptions_->positions[word * 64 + static_cast<size_t>(std::countr_zero(bits))];
      bitmap.bits[row / 64] |= uint64_t{1} << (row % 64);
    }
  }
}

void IntegerStream::select(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const {
  bitmap.clear();
  switch (form_) {
    case IntegerForm::Constant:
      if (in_ranges(ranges, common_)) bitmap.set_first(count_);
      break;
    case IntegerForm::Packed:
      packed_.select(ranges, bitmap.bits);
      break;
    case IntegerForm::Runs: {
      uint32_t row = 0;
      for (size_t run = 0; run < values_.size(); row = run_ends_[run++]) {
        if (in_ranges(ranges, values_[run])) set_rows(bitmap.bits, row, run_ends_[run]);
      }
      break;
    }
    case IntegerForm::Dictionary: {
      // Ranges of values become ranges of codes.
      std::vector<IntegerRange> codes;
      for (const auto& range : ranges) {
        const auto low = std::lower_bound(values_.begin(), values_.end(), range.low);
        const auto high = std::upper_bound(low, values_.end(), range.high);
        if (low == high) continue;
        const auto first = static_cast<uint64_t>(low - values_.begin());
        const auto last = static_cast<uint64_t>(high - values_.begin()) - 1;
        if (!codes.empty() && codes.back().high + 1 == first) {
          codes.back().high = last;
        } else {
          codes.push_back({first, last});
        }
      }
      packed_.select(codes, bitmap.bits);
      break;
    }
    case IntegerForm::Sparse: {
      BlockBitmap chosen;
      chosen.clear();
      packed_.select(ranges, chosen.bits);
      spread_exceptions(chosen, in_ranges(ranges, common_), bitmap);
      break;
    }
  }
}

void IntegerStream::select_members(std::span<const uint64_t> members, BlockBitmap& bitmap) const {
  bitmap.clear();
  switch (form_) {
    case IntegerForm::Constant:
      if (is_member(members, common_)) bitmap.set_first(count_);
      break;
    case IntegerForm::Packed:
      packed_.select_members(members, bitmap.bits);
      break;
    case IntegerForm::Runs: {
      uint32_t row = 0;
      for (size_t run = 0; run < values_.size(); row = run_ends_[run++]) {
        if (is_member(members, values_[run])) set_rows(bitmap.bits, row, run_ends_[run]);
      }
      break;
    }
    case IntegerForm::Dictionary: {
      std::vector<uint64_t> codes((values_.size() + 63) / 64);
      for (size_t code = 0; code < values_.size(); ++code) {
        if (is_member(members, values_[code])) codes[code / 64] |= uint64_t{1} << (code % 64);
      }
      packed_.select_members(codes, bitmap.bits);
      break;
    }
    case IntegerForm::Sparse: {
      BlockBitmap chosen;
      chosen.clear();
      packed_.select_members(members, chosen.bits);
      spread_exceptions(chosen, is_member(members, common_), bitmap);
      break;
    }
  }
}

bool IntegerStream::at_most(uint64_t limit) const {
  switch (form_) {
    case IntegerForm::Constant:
      return common_ <= limit;
    case IntegerForm::Runs:
    case IntegerForm::Dictionary:
      return std::all_of(values_.begin(), values_.end(), [&](uint64_t value) { return value <= limit; });
    case IntegerForm::Sparse:
      if (common_ > limit) return false;
      break;
    case IntegerForm::Packed:
      break;
  }
  if (packed_.surely_at_most(limit)) return true;
  uint64_t numbers[packing_unit];
  for (uint32_t first = 0; first < packed_.count(); first += packing_unit) {
    const uint32_t here = std::min(packing_unit, packed_.count() - first);
    packed_.decode(first, here, numbers);
    if (std::any_of(numbers, numbers + here, [&](uint64_t number) { return number > limit; })) return false;
  }
  return true;
}

size_t IntegerStream::memory() const {
  return packed_.memory() + values_.capacity() * 8 + run_ends_.capacity() * 2 +
         (exceptions_ ? sizeof(Exceptions) + exceptions_->positions.capacity() * 2 : 0);
}

}  // namespace hailstone
