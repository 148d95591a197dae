// Fuzz entry: arbitrary bytes as a stored table definition and as a row of it. First byte string: the
// definition; the rest: the row.
#include <cstdlib>
#include <string>

#include "schema/key_codec.h"
#include "schema/row_codec.h"
#include "schema/table_definition.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  ByteReader bytes(ByteView(reinterpret_cast<const char*>(data), size));
  const auto table = TableDefinition::parse(bytes);
  if (!table) return 0;

  // What parses must be written and parsed to the same again.
  std::string written;
  table->append_to(written);
  ByteReader again_bytes(written);
  const auto again = TableDefinition::parse(again_bytes);
  if (!again || *again != *table || !again_bytes.empty()) std::abort();

  const RowCodec codec(table->columns);
  ByteView row;
  if (!bytes.take_bytes(bytes.remaining(), row) || !codec.check(row)) return 0;
  std::vector<Value> values;
  for (size_t i = 0; i < table->columns.size(); ++i) {
    values.push_back(codec.value(row, i));
    const ByteView value = values.back().bytes;
    if (!value.empty() &&
        (value.data() < row.data() || value.data() + value.size() > row.data() + row.size()))
      std::abort();
  }
  // What passed the check is a row: encoding its values gives its bytes, unless columns were added since it
  // was written.
  std::string encoded;
  if (!codec.encode(values, encoded) || !codec.check(encoded)) std::abort();
  if (load<uint16_t>(row.data()) == table->columns.size() && encoded != row) std::abort();

  const CollationResolver collations;
  for (const Index& index : table->indexes) {
    const auto keys = KeyCodec::make(*table, index, collations);
    if (!keys) continue;
    std::string key;
    std::string other;
    const bool first = keys->append_row(codec, row, key).has_value();
    if (first != keys->append_row(codec, encoded, other).has_value() || key != other) std::abort();
  }
  return 0;
}
