// A table definition as the bytes that log and manifest hold: a fraction of the memory that its columns and
// names take unpacked, so that a catalog of very many tables stays small. A value type; intact or empty.
#pragma once

#include <string>
#include <string_view>

#include "schema/table_definition.h"

namespace hailstone {

class PackedDefinition {
 public:
  PackedDefinition() = default;
  PackedDefinition(const TableDefinition& definition);  // NOLINT(google-explicit-constructor): the same thing
  /// Takes a definition from `bytes`. ErrorCode::Corruption when there is none.
  static Result<PackedDefinition> take(ByteReader& bytes);

  /// The empty one gives a definition without name and columns.
  TableDefinition unpack() const;
  /// Valid as long as the definition is.
  std::string_view name() const&;
  std::string_view name() && = delete;
  ByteView bytes() const { return bytes_; }
  /// TableDefinition::retention; read without the rest, so that very many definitions may be asked.
  bool has_retention() const;

  bool operator==(const PackedDefinition&) const = default;

 private:
  std::string bytes_;
};

}  // namespace hailstone
