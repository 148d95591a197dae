// What a table is: columns, indexes, and how they are stored. A value type; immutable once a Table holds it.
// Serialised into the log and the manifest (docs/formats.md):
//
//   u8 format (4 of a table whose rows expire; 3 of one in memory; else 2, or 1 where no column is of
//   decimals), string name, u8 flags (1: has a primary key, 2: in memory), string application, of a table in
//   memory varint most bytes, in format 4 a retention, varint number of columns, each:
//     string name, u8 type, varint width, varint collation, u8 flags (1: nullable, 2: columnar,
//     4: decimals), of decimals u8 precision and u8 scale, string application
//   varint number of indexes, each:
//     string name, u8 flags (1: unique), varint number of parts, each:
//       varint column, varint prefix, u8 flags (1: descending)
//
// A retention is varint amount (not 0), u8 unit, varint column, u8 scale.
// A string is a varint length and its bytes. Unknown flags are damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "schema/collation.h"
#include "schema/decimal_format.h"

namespace hailstone {

/// How the bytes of a value are read. All but the last three are Integer in the sense of docs/architecture.md
/// when `width` <= 8.
enum class Type : uint8_t {
  Signed = 1,    // two's complement, width 1, 2, 3, 4 or 8
  Unsigned = 2,  // width 1..8
  Float = 3,     // IEEE single, width 4
  Double = 4,    // IEEE double, width 8
  /// `width` bytes whose memcmp order is the order of values (DECIMAL, DATETIME, BIT, UUID …).
  OrderedBytes = 5,
  Char = 6,     // a string; trailing pad characters are not stored; width = limit in bytes
  Varchar = 7,  // a string, width = limit in bytes
  Blob = 8,     // a string or bytes without limit below 4 GiB
};

struct Column {
  std::string name;
  Type type = Type::Signed;
  uint32_t width = 0;                        // bytes; limit for Char and Varchar, 0 for Blob
  uint32_t collation = binary_collation_id;  // Char, Varchar, Blob
  bool nullable = true;
  bool columnar = true;          // stored column by column; else in the row group
  std::string application = {};  // what the embedding application keeps about the column; not interpreted
  /// Of OrderedBytes that are packed decimals: new segments hold them as scaled numbers.
  DecimalDigits decimal = {};

  /// Held as an ordered uint64_t.
  bool is_integer() const { return type <= Type::Double || (type == Type::OrderedBytes && width <= 8); }
  bool operator==(const Column&) const = default;
};

struct IndexPart {
  uint16_t column = 0;
  /// Only so many characters (bytes for binary) are in the key; 0: the whole value.
  uint32_t prefix = 0;
  bool descending = false;
  bool operator==(const IndexPart&) const = default;
};

struct Index {
  std::string name;
  bool unique = false;
  std::vector<IndexPart> parts;
  bool operator==(const Index&) const = default;
};

/// How long rows stay: one whose time, the value of `column`, is further back than `amount` units expires. A
/// NULL never does. schema/retention.h has the times.
struct Retention {
  enum class Unit : uint8_t { Hour = 1, Day = 2, Week = 3, Month = 4, Year = 5 };
  uint32_t amount = 0;  // 0: rows stay
  Unit unit = Unit::Day;
  uint16_t column = 0;  // is_integer(), and no floating-point number
  uint8_t scale = 0;    // what the values count: a TimeScale, or what the application means by it

  bool any() const { return amount != 0; }
  bool operator==(const Retention&) const = default;
};
constexpr uint32_t most_retention_units = 1'000'000;

struct TableDefinition {
  std::string name;  // "database/table"
  std::vector<Column> columns;
  std::vector<Index> indexes;    // indexes[0] is the clustered one when `has_primary_key`
  bool has_primary_key = false;  // else rows are clustered on the hidden row id
  std::string application;       // what the embedding application keeps about the table
  /// Rows are in memory only: they are gone when the database is closed, the definition stays.
  bool in_memory = false;
  /// Nothing of the table outlives the process, not even the definition: log and manifest know nothing of it.
  bool temporary = false;
  /// Bytes that the rows of a table in memory may take; 0: what the database has for such tables.
  uint64_t most_bytes = 0;
  Retention retention = {};

  bool operator==(const TableDefinition&) const = default;

  void append_to(std::string& bytes) const;
  /// ErrorCode::Corruption when the bytes are not a definition.
  static Result<TableDefinition> parse(ByteReader& bytes);
  /// Whether a definition whose first byte is `format` has a retention.
  static bool has_retention(uint8_t format);
  /// ErrorCode::InvalidArgument names the first thing that is wrong (widths, duplicate names, key columns …).
  Status validate() const;
};

// Limits, checked by validate() and by the codecs.
constexpr size_t max_columns = 4096;
constexpr size_t max_key_bytes = size_t{16} << 10;  // of one encoded key
constexpr size_t max_row_bytes = size_t{1} << 30;   // of one encoded row

}  // namespace hailstone
