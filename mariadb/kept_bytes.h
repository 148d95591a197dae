// What a record has of a TEXT or BLOB is a pointer. The bytes behind it are kept here as long as the record
// has them, whatever becomes of the value that they come from. Belongs to the connection's thread.
#pragma once

#include <string>

#include "record.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class KeptBytes {
 public:
  /// The value, with bytes that stay until the next call. `format`: of the field that it is written to.
  Value keep(const FieldFormat& format, const Value& value) {
    if (value.null || format.kind != FieldFormat::Kind::Blob) return value;
    bytes_.assign(value.bytes);
    return Value::of(ByteView(bytes_));
  }

 private:
  std::string bytes_;
};

/// A field that the engine stores values in, outside of the record of a table that it reads. The values may
/// go before the field is read.
class KeptField {
 public:
  KeptField() = default;
  explicit KeptField(const Field& field) : format_(field, field.ptr), to_(field.ptr) {}

  const FieldFormat& format() const { return format_; }
  void write(const Value& value) { format_.write(kept_.keep(format_, value), to_); }

 private:
  FieldFormat format_;  // from the field's first byte on
  uchar* to_ = nullptr;
  KeptBytes kept_;
};

}  // namespace hailstone
