// What SQL says of a value: the type that a column of it would have. Beside it a ValueType says what is in a
// register: a quotient has more digits there than show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/collation.h"

namespace hailstone {

struct SqlType {
  enum class Kind : uint8_t {
    Unknown,  // of what the embedding application types by itself
    Null,     // of the literal
    Integer,  // also truth, YEAR and BIT
    Decimal,
    Float,
    Double,
    Text,  // also bytes, ENUM and SET
    Date,
    DateTime,
    Instant,  // TIMESTAMP
    Time,
  };
  /// The scale of a DOUBLE or FLOAT that has as many digits behind the point as it needs.
  static constexpr unsigned any_scale = 31;
  static constexpr unsigned most_digits = 65, most_scale = 38;  // of DECIMAL

  Kind kind = Kind::Unknown;
  bool is_unsigned = false;  // Integer, Decimal
  bool is_nullable = true;
  /// A text whose collation gives way to another one's, as a literal's does.
  bool gives_way = false;
  unsigned digits = 0;  // Integer and Decimal: in all
  /// Decimal: digits behind the point, of `digits`. Float and Double: the same, or any_scale. DateTime,
  /// Instant and Time: of the seconds' fraction.
  unsigned scale = 0;
  uint64_t characters = 0;               // Text: at most
  const Collation* collation = nullptr;  // Text

  static SqlType null() { return {.kind = Kind::Null}; }
  static SqlType integer(unsigned digits, bool is_unsigned = false) {
    return {.kind = Kind::Integer, .is_unsigned = is_unsigned, .digits = digits};
  }
  static SqlType truth() { return integer(1); }
  /// What is beyond the limits of DECIMAL is cut.
  static SqlType decimal(unsigned digits, unsigned scale, bool is_unsigned = false);
  static SqlType real(unsigned scale = any_scale) { return {.kind = Kind::Double, .scale = scale}; }
  static SqlType text(uint64_t characters, const Collation& collation) {
    return {.kind = Kind::Text, .characters = characters, .collation = &collation};
  }
  static SqlType moment(Kind kind, unsigned scale = 0) { return {.kind = kind, .scale = scale}; }

  bool is_exact() const { return kind == Kind::Integer || kind == Kind::Decimal; }
  bool is_real() const { return kind == Kind::Float || kind == Kind::Double; }
  bool is_number() const { return is_exact() || is_real(); }
  bool is_moment() const { return kind == Kind::Date || kind == Kind::DateTime || kind == Kind::Instant; }
  unsigned whole_digits() const { return digits - scale; }  // of exact numbers

  bool operator==(const SqlType&) const = default;
};

/// As a table definition has it: DECIMAL(10,2), BIGINT UNSIGNED, VARCHAR(20).
std::string to_text(const SqlType& type);

}  // namespace hailstone
