#include "log/operation.h"

namespace hailstone {

void append_operation(std::string& to, const Operation& operation) {
  to.push_back(static_cast<char>(operation.kind));
  append_varint(to, operation.table);
  switch (operation.kind) {
    case OperationKind::Put:
      append_varint(to, operation.number);
      append_string(to, operation.bytes);
      break;
    case OperationKind::Delete:
    case OperationKind::CreateTable:
    case OperationKind::RenameTable:
    case OperationKind::ReplaceDefinition:
      append_string(to, operation.bytes);
      break;
    case OperationKind::Publish:
      append_varint(to, operation.files.size());
      for (const LoadedFile& each : operation.files) {
        append_varint(to, each.file);
        append_varint(to, each.rows);
      }
      break;
    case OperationKind::Counter:
      append_varint(to, operation.number);
      break;
    case OperationKind::DropTable:
      break;
  }
}

TakenOperation take_operation(ByteReader& reader, Operation& operation) {
  constexpr auto taken = [](bool whole) { return whole ? TakenOperation::Whole : TakenOperation::Cut; };
  uint8_t kind = 0;
  operation = {};
  if (!reader.take(kind) || !reader.take_varint(operation.table)) return TakenOperation::Cut;
  operation.kind = static_cast<OperationKind>(kind);
  switch (operation.kind) {
    case OperationKind::Put:
      return taken(reader.take_varint(operation.number) && reader.take_string(operation.bytes));
    case OperationKind::Delete:
    case OperationKind::CreateTable:
    case OperationKind::RenameTable:
    case OperationKind::ReplaceDefinition:
      return taken(reader.take_string(operation.bytes));
    case OperationKind::Publish: {
      uint64_t count = 0;
      // Each takes two bytes at least, so that no memory is taken for what is not there.
      if (!reader.take_varint(count) || count > reader.remaining() / 2) return TakenOperation::Cut;
      operation.files.resize(static_cast<size_t>(count));
      for (LoadedFile& each : operation.files) {
        if (!reader.take_varint(each.file) || !reader.take_varint(each.rows)) return TakenOperation::Cut;
      }
      return TakenOperation::Whole;
    }
    case OperationKind::Counter:
      return taken(reader.take_varint(operation.number));
    case OperationKind::DropTable:
      return TakenOperation::Whole;
  }
  return TakenOperation::Unknown;
}

}  // namespace hailstone
