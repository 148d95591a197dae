// Between the server's record buffer and the library's values. Where each field lies, and how its bytes are
// read, is worked out once when a table is opened.
//
// The mapping (docs/architecture.md, "Values"): integers are Signed or Unsigned; FLOAT and DOUBLE themselves;
// DATE, YEAR, ENUM and SET Unsigned; DECIMAL, TIME, DATETIME, TIMESTAMP, BIT, INET and UUID OrderedBytes;
// CHAR without its trailing spaces and BINARY whole Char; VARCHAR and VARBINARY Varchar; TEXT, BLOB, JSON and
// GEOMETRY Blob. Virtual columns are stored only when an index has them. Immutable after construction,
// thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "schema/row_codec.h"
#include "schema/table_definition.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// How the bytes of one field are read and written.
struct FieldFormat {
  enum class Kind : uint8_t {
    Signed,
    Unsigned,
    Float,
    Double,
    BigEndian,  // up to 8 bytes, most significant first
    Fixed,      // more than 8 bytes whose memcmp order counts
    Char,       // padded with spaces
    Binary,     // all bytes count
    Varchar,
    Blob,
  };
  Kind kind = Kind::Signed;
  uint8_t length_bytes = 0;         // Varchar, Blob: of the length before the bytes
  uint8_t null_bit = 0;             // 0: never NULL
  uint32_t offset = 0;              // of the field in the record
  uint32_t null_offset = 0;         // of the byte with its null bit
  uint32_t width = 0;               // bytes of the value (without the length)
  CHARSET_INFO* charset = nullptr;  // Char
  /// Of a field of a table's own record: what its bytes are while it is NULL. The server compares these, too,
  /// when it looks whether an UPDATE changes a row.
  std::string null_bytes;

  FieldFormat() = default;
  /// `field` belongs to a table; `record` is that table's record[0].
  FieldFormat(const Field& field, const uchar* record);

  /// The value whose bytes begin at `from`; not NULL. Its bytes lie there (blobs: where the pointer there
  /// says).
  Value read(const uchar* from) const;
  /// Writes a value that is not NULL; `to` of a blob gets a pointer to the value's bytes.
  void write(const Value& value, uchar* to) const;
  /// The value of a part of a key as the server passes it, without its null byte. `length`: bytes of the part
  /// without length bytes.
  Value read_key(const uchar* from, uint32_t length) const;

  bool null_in(const uchar* record) const { return null_bit != 0 && (record[null_offset] & null_bit) != 0; }
  Value value_in(const uchar* record) const { return null_in(record) ? Value{} : read(record + offset); }
  void write_to(const Value& value, uchar* record) const {
    if (value.null) {
      record[null_offset] |= null_bit;
      std::memcpy(record + offset, null_bytes.data(), null_bytes.size());
      return;
    }
    if (null_bit != 0) record[null_offset] &= static_cast<uchar>(~null_bit);
    write(value, record + offset);
  }
};

/// The value that a field holds now, as the library would store it.
Value field_value(Field& field);

/// The type, width and collation of the column for a field. ErrorCode::Unsupported for a type of ancient
/// tables.
Result<Column> column_for(const Field& field);
/// None of more digits than the library makes numbers of.
DecimalDigits decimal_digits(const Field_new_decimal& field);

/// The fields of a table that are stored, in the order of the definition's columns.
class RecordFormat {
 public:
  static constexpr uint16_t not_stored = 0xffff;
  explicit RecordFormat(const TABLE& table);

  static bool is_stored(const TABLE& table, const Field& field);
  size_t column_count() const { return formats_.size(); }
  const FieldFormat& column(size_t number) const { return formats_[number]; }
  uint field_of_column(size_t number) const { return fields_[number]; }
  /// Column of a field by its index in TABLE::field; `not_stored` for virtual ones.
  uint16_t column_of_field(uint field_index) const { return columns_[field_index]; }

  /// The values of a record; their bytes lie in it.
  void read(const uchar* record, std::vector<Value>& values) const;
  /// Encodes a record. `values` is scratch space.
  Status encode(const uchar* record, const RowCodec& codec, std::vector<Value>& values,
                std::string& row) const;
  /// Decodes a whole row; blobs point into `row`.
  void decode(ByteView row, const RowCodec& codec, uchar* record) const;

 private:
  std::vector<FieldFormat> formats_;
  std::vector<uint> fields_;
  std::vector<uint16_t> columns_;
};

}  // namespace hailstone
