#include "schema/packed_definition.h"

namespace hailstone {

PackedDefinition::PackedDefinition(const TableDefinition& definition) {
  definition.append_to(bytes_);
  bytes_.shrink_to_fit();
}

Result<PackedDefinition> PackedDefinition::take(ByteReader& bytes) {
  ByteReader from = bytes;
  HAILSTONE_TRY(TableDefinition::parse(bytes));
  PackedDefinition result;
  ByteView taken;
  if (from.take_bytes(from.remaining() - bytes.remaining(), taken)) result.bytes_ = taken;
  return result;
}

TableDefinition PackedDefinition::unpack() const {
  ByteReader reader(bytes_);
  auto definition = TableDefinition::parse(reader);
  return definition ? std::move(*definition) : TableDefinition();
}

std::string PackedDefinition::name() const {
  ByteReader reader(bytes_);
  uint8_t format = 0;
  ByteView name;
  return reader.take(format) && reader.take_string(name) ? std::string(name) : std::string();
}

}  // namespace hailstone
