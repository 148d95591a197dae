// How strings of a column compare. The library brings `binary` (byte order, shorter first), `binary_padded`
// (byte order, the shorter padded with spaces) and `utf8` (the order of code points, shorter first; so that
// of the bytes); an embedding server registers its own. A Collation lives as long as the process and is
// thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace hailstone {

class Collation {
 public:
  virtual ~Collation() = default;
  /// What table definitions store. 0 = binary, 1 = binary padded, 2 = utf8; others belong to the embedding
  /// application.
  virtual uint32_t id() const = 0;
  /// <0, 0, >0. `a` and `b` are whole values.
  virtual int compare(ByteView a, ByteView b) const = 0;
  /// Appends bytes whose memcmp order is the order of compare, equal for equal values. They need not tell
  /// their own end, but of two values none's bytes are a proper prefix of the other's unless it sorts first.
  virtual void append_weights(ByteView value, std::string& to) const = 0;
  /// False: only the number is known, as of the application that made the table. Keys that it has made can be
  /// read, none can be made, and nothing can be compared but by bytes.
  virtual bool has_weights() const { return true; }
  /// Whether what append_weights() appends are padded weights of two bytes each (schema/padding.h).
  virtual bool has_padded_pairs() const { return false; }
  /// Length in bytes of the longest prefix of `value` with at most `characters` characters.
  virtual size_t prefix_bytes(ByteView value, size_t characters) const = 0;

  // Characters, as functions of texts have them. As they stand here: each byte is one, and has no case.
  /// Whether a character may have more than one byte.
  virtual bool has_wide_characters() const { return false; }
  virtual size_t characters(ByteView value) const { return value.size(); }
  virtual void append_upper(ByteView value, std::string& to) const { to.append(value); }
  virtual void append_lower(ByteView value, std::string& to) const { to.append(value); }
  /// The number of the character, from 1 on, at which `part` begins first; 0: nowhere. What is empty is
  /// there.
  virtual uint64_t locate(ByteView value, ByteView part) const { return value.find(part) + 1; }

  /// Whether two texts are equal where spaces at their ends count.
  virtual bool equal_without_padding(ByteView a, ByteView b) const { return a == b; }

  /// What equal values have in common, and no others.
  enum class Equality : uint8_t {
    Bytes,
    BytesBeforeSpaces,  // all bytes but spaces at the end
    Weights,
  };
  virtual Equality equality() const = 0;
  /// True when compare is the order of the bytes (memcmp, shorter first): minimum and maximum by bytes are
  /// exact.
  virtual bool bytes_decide_order() const = 0;
};

constexpr uint32_t binary_collation_id = 0;
constexpr uint32_t binary_padded_collation_id = 1;
constexpr uint32_t utf8_collation_id = 2;
constexpr uint32_t first_application_collation_id = 16;

const Collation& binary_collation();
const Collation& binary_padded_collation();
/// Characters are those of UTF-8; a byte that is none's is one by itself. ASCII, Latin, Greek and Cyrillic
/// have upper and lower case.
const Collation& utf8_collation();

/// Finds collations by id; the embedding application's is set in the database's options. The default one
/// knows the library's three.
class CollationResolver {
 public:
  virtual ~CollationResolver() = default;
  /// ErrorCode::Unsupported when the id is unknown.
  virtual Result<const Collation*> resolve(uint32_t id) const;
};

/// Knows all: the library's three, and of every other one that it has no weights. For databases that are only
/// read. Lives for ever; thread-safe.
const CollationResolver& collations_for_reading();

}  // namespace hailstone
