#include "record.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collation.h"
#include "saved_field.h"

namespace hailstone {

namespace {

uint64_t load_little_endian(const uchar* from, uint32_t width) {
  uint64_t value = 0;
  std::memcpy(&value, from, width);
  return value;
}

void store_little_endian(uchar* to, uint64_t value, uint32_t width) { std::memcpy(to, &value, width); }

int64_t sign_extended(uint64_t value, uint32_t width) {
  const unsigned shift = 64 - 8 * width;
  return static_cast<int64_t>(value << shift) >> shift;
}

ByteView view(const uchar* from, size_t size) { return {reinterpret_cast<const char*>(from), size}; }

/// INET and UUID columns say they are strings, but their bytes are fixed and ordered.
bool is_plain_string(const Field& field) { return field.type_handler() == &type_handler_string; }

/// Temporal values of tables made with mysql56_temporal_format=OFF: with a fraction they are big-endian,
/// without it little-endian numbers.
bool is_old_temporal(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TIMESTAMP:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIME:
      return field.decimals() == 0;
    default:
      return false;
  }
}

}  // namespace

DecimalDigits decimal_digits(const Field_new_decimal& field) {
  if (field.precision > DecimalDigits::most) return {};
  return {.precision = static_cast<uint8_t>(field.precision),
          .scale = static_cast<uint8_t>(field.decimals())};
}

Result<Column> column_for(const Field& field) {
  Column column;
  column.name.assign(field.field_name.str, field.field_name.length);
  column.nullable = field.null_ptr != nullptr;
  column.width = field.pack_length();
  const auto set_string = [&](Type type, uint32_t width) {
    column.type = type;
    column.width = width;
    column.collation = collation_id(*field.charset(), type == Type::Char ? field.char_length() : 0);
  };
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      column.type = field.is_unsigned() ? Type::Unsigned : Type::Signed;
      break;
    case MYSQL_TYPE_FLOAT:
      column.type = Type::Float;
      break;
    case MYSQL_TYPE_DOUBLE:
      column.type = Type::Double;
      break;
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
      column.type = Type::Unsigned;
      break;
    case MYSQL_TYPE_TIMESTAMP:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIME:
      column.type = !is_old_temporal(field)                ? Type::OrderedBytes
                    : field.real_type() == MYSQL_TYPE_TIME ? Type::Signed
                                                           : Type::Unsigned;
      break;
    case MYSQL_TYPE_NEWDECIMAL:
      column.type = Type::OrderedBytes;
      column.decimal = decimal_digits(static_cast<const Field_new_decimal&>(field));
      break;
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_BIT:
      column.type = Type::OrderedBytes;
      break;
    case MYSQL_TYPE_STRING:
      if (!is_plain_string(field)) {
        column.type = Type::OrderedBytes;
      } else {
        set_string(Type::Char, field.pack_length());
      }
      break;
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VAR_STRING:
      set_string(Type::Varchar, field.field_length);
      break;
    case MYSQL_TYPE_VARCHAR_COMPRESSED:
      // The server hands out compressed bytes, which compare as bytes only.
      column.type = Type::Varchar;
      column.width = field.field_length;
      break;
    case MYSQL_TYPE_BLOB:
      set_string(Type::Blob, 0);
      break;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
      set_string(Type::Blob, 0);
      break;
    case MYSQL_TYPE_BLOB_COMPRESSED:
    case MYSQL_TYPE_GEOMETRY:
      column.type = Type::Blob;
      column.width = 0;
      break;
    default:
      return fail(
          ErrorCode::Unsupported,
          "column '" + column.name +
              "' has a type of very old tables; dump the table and load it again with a current type");
  }
  return column;
}

FieldFormat::FieldFormat(const Field& field, const uchar* record)
    : null_bit(field.null_ptr != nullptr ? field.null_bit : uint8_t{0}),
      offset(static_cast<uint32_t>(field.ptr - record)),
      null_offset(field.null_ptr != nullptr ? static_cast<uint32_t>(field.null_ptr - record) : 0),
      width(field.pack_length()) {
  const auto column = column_for(field);
  if (!column) return;  // the table's definition was refused before
  switch (column->type) {
    case Type::Signed:
      kind = Kind::Signed;
      break;
    case Type::Unsigned:
      kind = Kind::Unsigned;
      break;
    case Type::Float:
    case Type::Double:
      kind = column->type == Type::Float ? Kind::Float : Kind::Double;
      break;
    case Type::OrderedBytes:
      kind = column->is_integer() ? Kind::BigEndian : Kind::Fixed;
      break;
    case Type::Char:
      kind = field.charset() == &my_charset_bin ? Kind::Binary : Kind::Char;
      charset = field.charset();
      break;
    case Type::Varchar:
      kind = Kind::Varchar;
      length_bytes = static_cast<const Field_varstring&>(field).length_bytes == 1 ? 1 : 2;
      width = field.pack_length() - length_bytes;
      break;
    case Type::Blob:
      kind = Kind::Blob;
      length_bytes = static_cast<uint8_t>(field.pack_length() - portable_sizeof_char_ptr);
      width = 0;
      break;
  }
}

Value FieldFormat::read(const uchar* from) const {
  switch (kind) {
    case Kind::Signed:
      return Value::of(order_signed(sign_extended(load_little_endian(from, width), width), width));
    case Kind::Unsigned:
      return Value::of(load_little_endian(from, width));
    case Kind::Float:
      return Value::of(order_float(load<float>(from)));
    case Kind::Double:
      return Value::of(order_double(load<double>(from)));
    case Kind::BigEndian:
      return Value::of(load_big_endian(from, width));
    case Kind::Fixed:
    case Kind::Binary:
      return Value::of(view(from, width));
    case Kind::Char:
      return Value::of(view(from, charset->lengthsp(reinterpret_cast<const char*>(from), width)));
    case Kind::Varchar:
      return Value::of(view(from + length_bytes, load_little_endian(from, length_bytes)));
    case Kind::Blob: {
      const auto size = load_little_endian(from, length_bytes);
      return Value::of(size == 0 ? ByteView{"", 0} : view(load<const uchar*>(from + length_bytes), size));
    }
  }
  return {};
}

Value FieldFormat::read_key(const uchar* from, uint32_t length) const {
  switch (kind) {
    case Kind::Varchar:
    case Kind::Blob:
      return Value::of(view(from + 2, std::min<size_t>(load<uint16_t>(from), length)));
    case Kind::Char:
      return Value::of(view(from, charset->lengthsp(reinterpret_cast<const char*>(from), length)));
    case Kind::Binary:
      return Value::of(view(from, length));
    default:
      return read(from);
  }
}

void FieldFormat::write(const Value& value, uchar* to) const {
  switch (kind) {
    case Kind::Signed:
      store_little_endian(to, static_cast<uint64_t>(native_signed(value.integer, width)), width);
      break;
    case Kind::Unsigned:
      store_little_endian(to, value.integer, width);
      break;
    case Kind::Float:
      store(to, native_float(value.integer));
      break;
    case Kind::Double:
      store(to, native_double(value.integer));
      break;
    case Kind::BigEndian:
      store_big_endian(to, value.integer, width);
      break;
    case Kind::Fixed:
    case Kind::Binary:
    case Kind::Char: {
      const size_t size = std::min<size_t>(value.bytes.size(), width);
      std::memcpy(to, value.bytes.data(), size);
      if (size == width) break;
      if (kind == Kind::Char) {
        charset->fill(reinterpret_cast<char*>(to + size), width - size, ' ');
      } else {
        std::memset(to + size, 0, width - size);
      }
      break;
    }
    case Kind::Varchar: {
      const size_t size = std::min<size_t>(value.bytes.size(), width);
      store_little_endian(to, size, length_bytes);
      std::memcpy(to + length_bytes, value.bytes.data(), size);
      break;
    }
    case Kind::Blob:
      store_little_endian(to, value.bytes.size(), length_bytes);
      store(to + length_bytes, value.bytes.data());
      break;
  }
}

Value field_value(Field& field) {
  if (field.is_null()) return {};
  return FieldFormat(field, field.ptr).read(field.ptr);
}

namespace {

/// As the server leaves a field that it sets to NULL. The rest of a VARCHAR counts for nothing.
std::string null_bytes_of(Field& field, const FieldFormat& format) {
  const SavedField saved(field);
  field.reset();
  const size_t bytes =
      format.kind == FieldFormat::Kind::Varchar ? format.length_bytes : size_t{field.pack_length()};
  return {reinterpret_cast<const char*>(field.ptr), bytes};
}

/// The field that is stored, although virtual, where no other one is: a table of the library has columns. Not
/// a BLOB, as the server need not have computed its value, and the pointer may lead anywhere then. Null: none
/// is needed, or fit.
const Field* stand_in(const TABLE& table) {
  if (table.s->keys != 0) return nullptr;
  const Field* found = nullptr;
  for (uint i = 0; i < table.s->fields; ++i) {
    const Field* const field = table.field[i];
    if (field->stored_in_db()) return nullptr;
    if (found == nullptr && (field->flags & BLOB_FLAG) == 0) found = field;
  }
  return found;
}

}  // namespace

bool RecordFormat::is_stored(const TABLE& table, const Field& field) {
  if (field.stored_in_db()) return true;
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    for (uint part = 0; part < key.user_defined_key_parts; ++part) {
      if (key.key_part[part].fieldnr == field.field_index + 1U) return true;
    }
  }
  return &field == stand_in(table);
}

RecordFormat::RecordFormat(const TABLE& table) : columns_(table.s->fields, not_stored) {
  for (uint i = 0; i < table.s->fields; ++i) {
    const Field& field = *table.field[i];
    if (!is_stored(table, field)) continue;
    columns_[i] = static_cast<uint16_t>(formats_.size());
    formats_.emplace_back(field, table.record[0]);
    FieldFormat& format = formats_.back();
    if (format.null_bit != 0) format.null_bytes = null_bytes_of(*table.field[i], format);
    fields_.push_back(i);
  }
}

void RecordFormat::read(const uchar* record, std::vector<Value>& values) const {
  values.resize(formats_.size());
  for (size_t i = 0; i < formats_.size(); ++i) values[i] = formats_[i].value_in(record);
}

Status RecordFormat::encode(const uchar* record, const RowCodec& codec, std::vector<Value>& values,
                            std::string& row) const {
  read(record, values);
  return codec.encode(values, row);
}

void RecordFormat::decode(ByteView row, const RowCodec& codec, uchar* record) const {
  for (size_t i = 0; i < formats_.size(); ++i) formats_[i].write_to(codec.value(row, i), record);
}

}  // namespace hailstone
