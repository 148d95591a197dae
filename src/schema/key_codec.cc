#include "schema/key_codec.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/key_escape.h"

namespace hailstone {
namespace {

constexpr char null_mark = 0x00;
constexpr char value_mark = 0x01;

}  // namespace

Result<KeyCodec> KeyCodec::make(const TableDefinition& table, const Index& index,
                                const CollationResolver& collations) {
  KeyCodec codec;
  codec.index_name_ = index.name;
  for (const IndexPart& from : index.parts) {
    if (from.column >= table.columns.size()) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("index '{}' of table '{}' names column number {} of {}", index.name, table.name,
                              from.column, table.columns.size()));
    }
    const Column& column = table.columns[from.column];
    Part part;
    part.nullable = column.nullable;
    part.descending = from.descending;
    part.integer = column.is_integer();
    if (column.type == Type::Float) part.negative_zero = order_float(-0.0F);
    if (column.type == Type::Double) part.negative_zero = order_double(-0.0);
    part.variable = column.type > Type::OrderedBytes;
    if (part.variable) {
      part.prefix = from.prefix;
      const auto collation = collations.resolve(column.collation);
      if (!collation) {
        return fail(collation.error().code(), fmt::format("column '{}' of table '{}': {}", column.name,
                                                          table.name, collation.error().message()));
      }
      part.collation = *collation;
      codec.makes_keys_ = codec.makes_keys_ && part.collation->has_weights();
      if (from.prefix != 0) codec.whole_values_ = false;
    } else {
      part.width = column.width;
      if (from.prefix != 0 && from.prefix < column.width && column.type == Type::OrderedBytes) {
        part.width = from.prefix;
        part.dropped = part.integer ? column.width - from.prefix : 0;
        codec.whole_values_ = false;
      }
    }
    codec.parts_.push_back(part);
    codec.columns_.push_back(from.column);
  }
  return codec;
}

unsigned KeyCodec::integer_width() const {
  if (parts_.size() != 1) return 0;
  const Part& part = parts_.front();
  const bool is_number = part.integer && part.negative_zero == 0;
  return is_number && !part.nullable && !part.descending && part.dropped == 0 ? part.width : 0;
}

Status KeyCodec::append_part(const Part& part, const Value& value, std::string& to) const {
  if (value.null) {
    if (!part.nullable) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("NULL was given for a column of index '{}' that cannot be NULL", index_name_));
    }
    to.push_back(null_mark);
    return {};
  }
  if (part.nullable) to.push_back(value_mark);
  if (part.integer) {
    // The two zeros are one key.
    const bool is_negative_zero = part.negative_zero != 0 && value.integer == part.negative_zero;
    const uint64_t number = is_negative_zero ? value.integer + 1 : value.integer;
    char bytes[8];
    store_big_endian(bytes, number >> (8 * part.dropped), part.width);
    to.append(bytes, part.width);
  } else if (!part.variable) {
    if (value.bytes.size() < part.width) {
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("a value of {} bytes was given for a column of index '{}' that is {} bytes wide",
                      value.bytes.size(), index_name_, part.width));
    }
    to.append(value.bytes.substr(0, part.width));
  } else {
    if (!makes_keys_ && !part.collation->has_weights()) {
      return fail(
          ErrorCode::Unsupported,
          fmt::format("keys of index '{}' can be made only by the program that made the table, such as a "
                      "MariaDB server: no other knows its collation number {}",
                      index_name_, part.collation->id()));
    }
    const size_t from = to.size();
    const size_t taken =
        part.prefix == 0 ? value.bytes.size() : part.collation->prefix_bytes(value.bytes, part.prefix);
    part.collation->append_weights(value.bytes.substr(0, taken), to);
    escape_and_end(to, from);
  }
  return {};
}

Status KeyCodec::append_bounded(const Part& part, const Value& value, size_t key_begin, std::string& to,
                                size_t most_bytes) const {
  const size_t begin = to.size();
  Status appended = append_part(part, value, to);
  if (appended && to.size() - key_begin > most_bytes) {
    appended =
        fail(ErrorCode::RowTooLarge,
             fmt::format("a key of index '{}' has more than {} bytes; index a prefix of its long columns",
                         index_name_, most_bytes));
  }
  if (!appended) {
    to.resize(key_begin);
    return appended;
  }
  if (part.descending) {
    for (size_t i = begin; i < to.size(); ++i) to[i] = static_cast<char>(~static_cast<unsigned char>(to[i]));
  }
  return {};
}

Status KeyCodec::append(std::span<const Value> values, std::string& to, size_t most_bytes) const {
  if (values.size() > parts_.size()) {
    return fail(ErrorCode::InvalidArgument, fmt::format("{} values were given for index '{}' of {} columns",
                                                        values.size(), index_name_, parts_.size()));
  }
  const size_t begin = to.size();
  for (size_t i = 0; i < values.size(); ++i) {
    HAILSTONE_TRY(append_bounded(parts_[i], values[i], begin, to, most_bytes));
  }
  return {};
}

Status KeyCodec::append_row(const RowCodec& codec, ByteView row, std::string& to) const {
  const size_t begin = to.size();
  for (size_t i = 0; i < parts_.size(); ++i) {
    HAILSTONE_TRY(append_bounded(parts_[i], codec.value(row, columns_[i]), begin, to));
  }
  return {};
}

Result<int> KeyCodec::compare_part(size_t number, const Value& value, ByteView& rest) const {
  const Part& part = parts_[number];
  const bool is_plain = part.integer && !part.nullable && !part.descending && part.negative_zero == 0;
  if (is_plain && rest.size() >= part.width) {
    const uint64_t own = value.integer >> (8 * part.dropped);
    const uint64_t other = load_big_endian(rest.data(), part.width);
    if (own != other) return own < other ? -1 : 1;
    rest.remove_prefix(part.width);
    return 0;
  }
  std::string own;
  HAILSTONE_TRY(append_bounded(part, value, 0, own));
  const int order = ByteView(own).compare(rest.substr(0, own.size()));
  if (order == 0) rest.remove_prefix(own.size());
  return order;
}

bool KeyCodec::has_null(const RowCodec& codec, ByteView row) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].nullable && codec.value(row, columns_[i]).null) return true;
  }
  return false;
}

Result<bool> KeyCodec::agrees(std::span<const Value> values, ByteView& rest) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const Part& part = parts_[i];
    if (!part.variable || part.collation->has_weights()) {
      HAILSTONE_ASSIGN(const int order, compare_part(i, values[i], rest));
      if (order != 0) return false;
      continue;
    }
    const unsigned char inverted = part.descending ? 0xff : 0;
    const auto byte = [&](size_t position) {
      return static_cast<char>(static_cast<unsigned char>(rest[position]) ^ inverted);
    };
    size_t at = 0;
    if (part.nullable) {
      if (rest.empty() || byte(at++) != (values[i].null ? null_mark : value_mark)) return false;
    } else if (values[i].null) {
      return false;
    }
    if (!values[i].null) {
      // Up to the zero that another zero byte's escape does not follow.
      for (;; ++at) {
        if (at + 1 >= rest.size()) return false;
        if (byte(at) != 0) continue;
        const auto behind = static_cast<unsigned char>(byte(++at));
        if (behind == 1) break;
        if (behind != 0xff) return false;
      }
      ++at;
    }
    rest.remove_prefix(at);
  }
  return true;
}

size_t KeyCodec::prefix_size(ByteView key, size_t parts) const {
  size_t at = 0;
  for (size_t i = 0; i < parts && at < key.size(); ++i) {
    const Part& part = parts_[i];
    const unsigned char inverted = part.descending ? 0xff : 0;
    const auto byte = [&](size_t position) {
      return static_cast<unsigned char>(static_cast<unsigned char>(key[position]) ^ inverted);
    };
    if (part.nullable && byte(at++) == 0) continue;
    if (!part.variable) {
      at += part.width;
      continue;
    }
    // Up to the zero that another zero byte's escape does not follow.
    while (at + 1 < key.size() && !(byte(at) == 0 && byte(at + 1) == 1))
      at += byte(at) == 0 ? size_t{2} : size_t{1};
    at += 2;
  }
  return at < key.size() ? at : key.size();
}

std::string key_after_prefix(ByteView prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.remove_suffix(1);
  std::string after(prefix);
  if (!after.empty()) after.back() = static_cast<char>(static_cast<unsigned char>(after.back()) + 1);
  return after;
}

}  // namespace hailstone
