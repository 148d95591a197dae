// Index keys as byte strings whose memcmp order is the order of the index. For each part, in turn:
//   nullable columns    0x00 for NULL (and nothing more), 0x01 before a value
//   Integer             the ordered value big-endian in `width` bytes; of -0.0 that of 0.0
//   fixed bytes         the bytes
//   Char/Varchar/Blob   weights of the collation (of the prefix, for a prefix part), 0x00 escaped as
//                       0x00 0xFF, ended by 0x00 0x01
//   descending parts    all of the above with every bit flipped
//
// A secondary index's entries are its key followed by the clustered key. A clustered key on the hidden row id
// is 8 bytes big-endian. So a key of the first k parts is a byte prefix of every key that begins with the
// same k values, and no key is a prefix of a different key of as many parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "schema/collation.h"
#include "schema/row_codec.h"
#include "schema/table_definition.h"

namespace hailstone {

/// Encodes the keys of one index. Immutable, thread-safe.
class KeyCodec {
 public:
  static Result<KeyCodec> make(const TableDefinition& table, const Index& index,
                               const CollationResolver& collations);
  /// For the hidden row id: no parts.
  KeyCodec() = default;

  size_t part_count() const { return parts_.size(); }
  /// Table columns of the parts, in order.
  std::span<const uint16_t> columns() const { return columns_; }
  /// Appends the key of the first `values.size()` parts. ErrorCode::Unsupported for a value whose collation
  /// has no weights here, RowTooLarge beyond `most_bytes` (rows
  /// have no longer keys than by default, but one may be sought), InvalidArgument for NULL in a column that
  /// cannot be NULL; `to` is then as before.
  Status append(std::span<const Value> values, std::string& to, size_t most_bytes = max_key_bytes) const;
  /// Appends the whole key of a table row.
  Status append_row(const RowCodec& codec, ByteView row, std::string& to) const;
  /// Order of the bytes that the value has as part number `part` of a key, and those that `rest` begins with.
  /// 0: it begins with them, and is moved behind them; positive, too, when `rest` ends within them.
  Result<int> compare_part(size_t part, const Value& value, ByteView& rest) const;
  /// True when some part of the row is NULL (a unique index then admits duplicates).
  bool has_null(const RowCodec& codec, ByteView row) const;
  /// Bytes that the first `parts` parts take of a key of this index.
  size_t prefix_size(ByteView key, size_t parts) const;
  /// False when a part is of a collation that has no weights here: keys can be read and not made.
  bool makes_keys() const { return makes_keys_; }
  /// Whether `rest` begins with a key of these values, one a part, as far as that can be told: of a part
  /// without weights its form and whether it is NULL. It is moved behind the key then.
  Result<bool> agrees(std::span<const Value> values, ByteView& rest) const;
  /// True when values read back through the index's columns are all that the key is made of, i.e. no prefix
  /// parts.
  bool whole_values() const { return whole_values_; }
  /// Bytes of a key that is nothing but one ascending integer, big-endian; 0: it is something else.
  unsigned integer_width() const;

 private:
  struct Part {
    bool nullable = false, integer = false, variable = false, descending = false;
    uint32_t width = 0;    // bytes in the key of an integer or fixed part
    uint32_t dropped = 0;  // low bytes of an integer that a prefix leaves out
    uint32_t prefix = 0;   // characters of a variable part; 0: all
    const Collation* collation = nullptr;
    uint64_t negative_zero =
        0;  // of a Float or Double part: the ordered value of -0.0, just below that of 0.0
  };
  Status append_part(const Part& part, const Value& value, std::string& to) const;
  /// append_part for the key that starts at `key_begin`: inverts descending parts, takes the key back on an
  /// error.
  Status append_bounded(const Part& part, const Value& value, size_t key_begin, std::string& to,
                        size_t most_bytes = max_key_bytes) const;
  std::vector<Part> parts_;
  std::vector<uint16_t> columns_;
  std::string index_name_;
  bool whole_values_ = true;
  bool makes_keys_ = true;
};

/// The smallest byte string greater than every string that begins with `prefix`; empty when there is none.
std::string key_after_prefix(ByteView prefix);

}  // namespace hailstone
