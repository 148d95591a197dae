// Columns whose stored bytes the engine may read as their values. Immutable, thread-safe.
#pragma once

#include <optional>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// A field whose stored bytes are its value. What the engine makes of a column by itself (keys, orders,
/// conditions, numbers) takes one. Of a COMPRESSED column there is none: its bytes are packed, and nothing
/// but the server's field, which has them in the record, unpacks them.
class PlainField {
 public:
  /// Nothing: the field's bytes are not its value.
  static std::optional<PlainField> of(const Field& field) {
    return field.compression_method() == nullptr ? std::optional(PlainField(field)) : std::nullopt;
  }
  const Field& operator*() const { return *field_; }
  const Field* operator->() const { return field_; }

 private:
  explicit PlainField(const Field& field) : field_(&field) {}

  const Field* field_;
};

}  // namespace hailstone
