// Redo operations: what a transaction has done to rows and to the catalog, as log records hold it one behind
// the other. docs/formats.md, "Operations". This is the only place that knows their bytes. Every operation
// can be passed over without knowing its table, which may have been dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace hailstone {

enum class OperationKind : uint8_t {
  // On rows.
  Put = 1,     // an insert, or the new version of an update: a Delete of the old key goes before when the key
               // changes
  Delete = 2,  // of a row
  Publish = 3,  // of segments that were loaded in bulk
  Counter = 4,  // the next auto-increment value
  // On the catalog.
  CreateTable = 16,
  DropTable = 17,
  RenameTable = 18,
  ReplaceDefinition = 19,
};
constexpr bool is_of_catalog(OperationKind kind) { return kind >= OperationKind::CreateTable; }

/// A segment that a bulk load has written.
struct LoadedFile {
  uint64_t file = 0;  // number
  uint64_t rows = 0;
  bool operator==(const LoadedFile&) const = default;
};

struct Operation {
  OperationKind kind{};
  uint64_t table = 0;
  uint64_t number = 0;  // Put: the row id, 0 for a table with a primary key; Counter: the next value
  /// Put: the row; Delete: its clustered key; CreateTable, ReplaceDefinition: the definition; RenameTable:
  /// the new name.
  ByteView bytes{};
  std::vector<LoadedFile> files{};  // Publish
  bool operator==(const Operation&) const = default;
};

void append_operation(std::string& to, const Operation& operation);

enum class TakenOperation : uint8_t {
  Whole,
  Cut,      // the bytes end within it
  Unknown,  // of a kind that this program does not know: `kind` has it
};
/// The next operation; its bytes are views into those of the reader.
[[nodiscard]] TakenOperation take_operation(ByteReader& reader, Operation& operation);

}  // namespace hailstone
