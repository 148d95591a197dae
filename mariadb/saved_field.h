// A field of a record that is written to for a moment. Belongs to the connection's thread.
#pragma once

#include <cstring>
#include <string>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Puts back, when destroyed, what a field of record[0] held when this was made; until then it is not NULL.
class SavedField {
 public:
  explicit SavedField(Field& field)
      : field_(field),
        bytes_(reinterpret_cast<const char*>(field.ptr), field.pack_length()),
        null_(field.is_null()) {
    field.set_notnull();
  }
  SavedField(const SavedField&) = delete;
  SavedField& operator=(const SavedField&) = delete;
  ~SavedField() {
    std::memcpy(field_.ptr, bytes_.data(), bytes_.size());
    if (null_) field_.set_null();
  }

 private:
  Field& field_;
  const std::string bytes_;
  const bool null_;
};

}  // namespace hailstone
