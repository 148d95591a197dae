#include "schema/row_codec.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"

namespace hailstone {
namespace {

constexpr uint32_t header_bytes = 2;

bool is_null(const char* row, size_t column) {
  return (static_cast<unsigned char>(row[header_bytes + column / 8]) >> (column % 8) & 1) != 0;
}

// Widths 4 and 8 are by far the most common; the rest goes through a copy of that many bytes.
uint64_t load_little_endian(const char* from, unsigned width) {
  if (width == 8) return load<uint64_t>(from);
  if (width == 4) return load<uint32_t>(from);
  uint64_t value = 0;
  std::memcpy(&value, from, width);
  return value;
}

bool all_zero(const char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

std::unexpected<Error> damaged(size_t column, std::string_view what) {
  return fail(ErrorCode::Corruption, fmt::format("a row is damaged: column number {} {}", column, what));
}

}  // namespace

uint64_t order_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x8000'0000u;
}

float native_float(uint64_t ordered) {
  const auto bits = static_cast<uint32_t>(ordered);
  return std::bit_cast<float>((bits >> 31) != 0 ? bits & 0x7fff'ffffu : ~bits);
}

uint64_t order_double(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits >> 63) != 0 ? ~bits : bits | sign_of_width(8);
}

double native_double(uint64_t ordered) {
  return std::bit_cast<double>((ordered >> 63) != 0 ? ordered & ~sign_of_width(8) : ~ordered);
}

RowCodec::RowCodec(std::span<const Column> columns) {
  HAILSTONE_CHECK(columns.size() <= max_columns, "{} columns", columns.size());
  slots_.reserve(columns.size());
  uint32_t offset = header_bytes + bitmap_bytes(columns.size());
  int32_t previous_variable = -1;
  for (const Column& column : columns) {
    const bool integer = column.is_integer();
    const bool variable = !integer && column.type != Type::OrderedBytes;
    const uint32_t width = variable ? uint32_t{sizeof(uint32_t)} : column.width;
    const uint32_t limit = column.type == Type::Blob ? std::numeric_limits<uint32_t>::max() : column.width;
    slots_.push_back({offset, width, limit, integer, variable, previous_variable});
    if (variable) previous_variable = static_cast<int32_t>(slots_.size() - 1);
    offset += width;
  }
  variable_part_ = offset;
}

Result<size_t> RowCodec::row_bytes(std::span<const Value> values) const {
  if (values.size() != slots_.size()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("a row of {} values was given for {} columns", values.size(), slots_.size()));
  }
  size_t total = variable_part_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Value& value = values[i];
    if (value.null) continue;
    if (slot.integer) {
      if ((value.integer & ~bits_of_width(slot.width)) != 0) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("the ordered value {} of column number {} does not fit its {} bytes",
                                value.integer, i, slot.width));
      }
    } else if (slot.variable) {
      if (value.bytes.size() > slot.limit) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a value of {} bytes is too long for column number {}, which takes {}",
                                value.bytes.size(), i, slot.limit));
      }
      total += value.bytes.size();
    } else if (value.bytes.size() != slot.width) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("a value of {} bytes was given for column number {}, which is {} bytes wide",
                              value.bytes.size(), i, slot.width));
    }
    if (total > max_row_bytes) {
      return fail(
          ErrorCode::RowTooLarge,
          fmt::format("the row has more than {} bytes; store long values in several rows", max_row_bytes));
    }
  }
  return total;
}

Status RowCodec::encode(std::span<const Value> values, std::string& to) const {
  HAILSTONE_ASSIGN(const size_t total, row_bytes(values));
  to.resize(total);
  char* const row = to.data();
  std::memset(row, 0, header_bytes + bitmap_bytes(slots_.size()));
  store(row, static_cast<uint16_t>(slots_.size()));
  uint32_t end = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Value& value = values[i];
    char* const at = row + slot.offset;
    if (value.null) {
      row[header_bytes + i / 8] =
          static_cast<char>(static_cast<unsigned char>(row[header_bytes + i / 8]) | 1u << (i % 8));
      if (slot.variable) {
        store(at, end);
      } else {
        std::memset(at, 0, slot.width);
      }
    } else if (slot.integer) {
      std::memcpy(at, &value.integer, slot.width);
    } else if (slot.variable) {
      if (!value.bytes.empty())
        std::memcpy(row + variable_part_ + end, value.bytes.data(), value.bytes.size());
      end += static_cast<uint32_t>(value.bytes.size());
      store(at, end);
    } else {
      std::memcpy(at, value.bytes.data(), slot.width);
    }
  }
  return {};
}

Value RowCodec::value(ByteView row, size_t column) const {
  const size_t present = load<uint16_t>(row.data());
  if (column >= present || is_null(row.data(), column)) return {};
  const Slot& slot = slots_[column];
  const uint32_t moved = shift(present);
  const char* const at = row.data() + (slot.offset - moved);
  if (slot.integer) return Value::of(load_little_endian(at, slot.width));
  if (!slot.variable) return Value::of(ByteView(at, slot.width));
  const uint32_t begin =
      slot.previous_variable < 0
          ? 0
          : load<uint32_t>(row.data() + (slots_[static_cast<size_t>(slot.previous_variable)].offset - moved));
  return Value::of(ByteView(row.data() + variable_part(present) + begin, load<uint32_t>(at) - begin));
}

void RowCodec::decode(ByteView row, std::span<Value> values) const {
  const size_t present = load<uint16_t>(row.data());
  const size_t wanted = std::min(values.size(), slots_.size());
  const uint32_t moved = shift(present);
  const char* const variable = row.data() + variable_part(present);
  uint32_t begin = 0;
  for (size_t i = 0; i < std::min(wanted, present); ++i) {
    const Slot& slot = slots_[i];
    const char* const at = row.data() + (slot.offset - moved);
    const bool null = is_null(row.data(), i);
    if (slot.integer) {
      values[i] = null ? Value{} : Value::of(load_little_endian(at, slot.width));
    } else if (slot.variable) {
      const auto end = load<uint32_t>(at);
      values[i] = null ? Value{} : Value::of(ByteView(variable + begin, end - begin));
      begin = end;
    } else {
      values[i] = null ? Value{} : Value::of(ByteView(at, slot.width));
    }
  }
  for (size_t i = present; i < wanted; ++i) values[i] = {};
}

template <typename Take>
bool RowCodec::each_present(std::span<const ByteView> rows, size_t column, uint8_t* nulls,
                            const Take& take) const {
  uint8_t any = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const char* const row = rows[i].data();
    const size_t present = load<uint16_t>(row);
    const bool null = column >= present || is_null(row, column);
    any |= nulls[i] = null ? 1 : 0;
    if (!null) take(i, row, present == slots_.size() ? 0 : shift(present));
  }
  return any != 0;
}

bool RowCodec::integers(std::span<const ByteView> rows, size_t column, uint64_t* to, uint8_t* nulls) const {
  const Slot& slot = slots_[column];
  std::fill_n(to, rows.size(), 0);
  const auto load_all = [&](auto&& load_one) {
    return each_present(rows, column, nulls, [&](size_t i, const char* row, uint32_t moved) {
      to[i] = load_one(row + (slot.offset - moved));
    });
  };
  switch (slot.width) {
    case 1:
      return load_all([](const char* at) { return uint64_t{load<uint8_t>(at)}; });
    case 2:
      return load_all([](const char* at) { return uint64_t{load<uint16_t>(at)}; });
    case 4:
      return load_all([](const char* at) { return uint64_t{load<uint32_t>(at)}; });
    case 8:
      return load_all([](const char* at) { return load<uint64_t>(at); });
    default:
      return load_all([&](const char* at) { return load_little_endian(at, slot.width); });
  }
}

bool RowCodec::bytes(std::span<const ByteView> rows, size_t column, ByteView* to, uint8_t* nulls) const {
  const Slot& slot = slots_[column];
  std::fill_n(to, rows.size(), ByteView());
  if (!slot.variable) {
    return each_present(rows, column, nulls, [&](size_t i, const char* row, uint32_t moved) {
      to[i] = ByteView(row + (slot.offset - moved), slot.width);
    });
  }
  const bool first = slot.previous_variable < 0;
  const uint32_t before = first ? 0 : slots_[static_cast<size_t>(slot.previous_variable)].offset;
  return each_present(rows, column, nulls, [&](size_t i, const char* row, uint32_t moved) {
    const uint32_t begin = first ? 0 : load<uint32_t>(row + (before - moved));
    to[i] = ByteView(row + variable_part(load<uint16_t>(row)) + begin,
                     load<uint32_t>(row + (slot.offset - moved)) - begin);
  });
}

Status RowCodec::check(ByteView row) const {
  if (row.size() < header_bytes)
    return fail(ErrorCode::Corruption, fmt::format("a row is damaged: it has {} bytes", row.size()));
  const size_t present = load<uint16_t>(row.data());
  if (present > slots_.size()) {
    return fail(ErrorCode::Corruption,
                fmt::format("a row is damaged: it has {} columns, its table {}", present, slots_.size()));
  }
  const size_t variable = variable_part(present);
  if (row.size() < variable || row.size() > max_row_bytes) {
    return fail(ErrorCode::Corruption,
                fmt::format("a row of {} columns is damaged: it has {} bytes", present, row.size()));
  }
  if (present % 8 != 0 && static_cast<unsigned char>(row[header_bytes + present / 8]) >> (present % 8) != 0) {
    return damaged(present, "is NULL, but not there");
  }
  const size_t available = row.size() - variable;
  const uint32_t moved = shift(present);
  uint32_t end = 0;
  for (size_t i = 0; i < present; ++i) {
    const Slot& slot = slots_[i];
    const bool null = is_null(row.data(), i);
    const char* const at = row.data() + (slot.offset - moved);
    if (slot.variable) {
      const auto next = load<uint32_t>(at);
      if (next < end || next > available) return damaged(i, "ends outside of the row");
      if (null && next != end) return damaged(i, "is NULL, but has bytes");
      if (next - end > slot.limit) return damaged(i, "is longer than its limit");
      end = next;
    } else if (null && !all_zero(at, slot.width)) {
      return damaged(i, "is NULL, but has bytes");
    }
  }
  if (end != available) {
    return fail(ErrorCode::Corruption,
                fmt::format("a row is damaged: {} bytes belong to no column", available - end));
  }
  return {};
}

}  // namespace hailstone
