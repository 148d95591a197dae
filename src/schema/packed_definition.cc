#include "schema/packed_definition.h"

#include <string>
#include <utility>
#include <vector>

namespace hailstone {

PackedDefinition::PackedDefinition(const TableDefinition& definition) {
  definition.append_to(bytes_);
  bytes_.shrink_to_fit();
}

namespace {

/// What followed the names of definitions that were parsed lately. In a catalog of very many tables most
/// definitions differ in their names only: such a one is known to be intact without being parsed.
class KnownShapes {
 public:
  /// The size of the known shape that `bytes`, of a definition of this format, begins with; 0: none.
  size_t size_at(uint8_t format, ByteView bytes) {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      if (shapes_[i].format != format || !bytes.starts_with(shapes_[i].bytes)) continue;
      const size_t size = shapes_[i].bytes.size();
      if (i > 0) std::swap(shapes_[i], shapes_[i / 2]);  // those in use move to the front
      return size;
    }
    return 0;
  }
  void add(uint8_t format, ByteView bytes) {
    if (bytes.size() > most_bytes) return;
    if (shapes_.size() == most_shapes) shapes_.pop_back();
    shapes_.push_back({format, std::string(bytes)});
  }

 private:
  static constexpr size_t most_shapes = 64;
  static constexpr size_t most_bytes = 4096;
  struct Shape {
    uint8_t format;
    std::string bytes;
  };
  std::vector<Shape> shapes_;
};

}  // namespace

Result<PackedDefinition> PackedDefinition::take(ByteReader& bytes) {
  thread_local KnownShapes known;
  ByteReader from = bytes, head = bytes;
  uint8_t format = 0;
  ByteView name, rest;
  const bool has_name = head.take(format) && head.take_string(name) && !name.empty();
  ByteReader behind = head;
  // A definition ends where its bytes say, so what begins with a whole one is that one.
  const size_t size =
      has_name && behind.take_bytes(behind.remaining(), rest) ? known.size_at(format, rest) : 0;
  if (size != 0 && head.take_bytes(size, rest)) {
    bytes = head;
  } else {
    HAILSTONE_TRY(TableDefinition::parse(bytes));
    if (has_name) known.add(format, rest.substr(0, head.remaining() - bytes.remaining()));
  }
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

bool PackedDefinition::has_retention() const {
  return !bytes_.empty() && TableDefinition::has_retention(static_cast<uint8_t>(bytes_.front()));
}

std::string_view PackedDefinition::name() const& {
  ByteReader reader(bytes_);
  uint8_t format = 0;
  ByteView name;
  return reader.take(format) && reader.take_string(name) ? name : ByteView();
}

}  // namespace hailstone
