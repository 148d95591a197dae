// Redo operations on rows: what a transaction's redo is made of (with the catalog operations of
// src/database/). docs/formats.md, "Operations". Each: u8 kind, varint table id, then by kind:
//
//   Put                varint row id (0 for a table with a primary key), string row: an insert, or the new
//                      version of an update (a Delete of the old key goes before when the key changes)
//   Delete             string clustered key
//   Publish            varint n, n × (varint segment file number, varint rows): bulk-loaded segments
//   Counter            varint next auto-increment value
//   CreateTable        string definition
//   ReplaceDefinition  string definition
//   RenameTable        string new name
//   DropTable          nothing
//
// Every operation can be passed over without knowing its table, which may have been dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "transaction/lock_manager.h"

namespace hailstone {

enum class OperationKind : uint8_t {
  Put = 1,
  Delete = 2,
  Publish = 3,
  Counter = 4,
  // Of src/database/:
  CreateTable = 16,
  DropTable = 17,
  RenameTable = 18,
  ReplaceDefinition = 19,
};

/// Appends kind and table id.
inline void append_operation_head(std::string& to, OperationKind kind, TableId table) {
  to.push_back(static_cast<char>(kind));
  append_varint(to, table);
}

}  // namespace hailstone
