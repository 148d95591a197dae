#include "table/table_keys.h"

namespace hailstone {

Result<std::shared_ptr<const TableKeys>> TableKeys::make(std::shared_ptr<const TableLayout> layout,
                                                         const CollationResolver& collations) {
  std::shared_ptr<TableKeys> keys(new TableKeys);
  keys->layout_ = std::move(layout);
  for (const Index& index : keys->definition().indexes) {
    HAILSTONE_ASSIGN(KeyCodec codec, KeyCodec::make(keys->definition(), index, collations));
    keys->codecs_.push_back(std::move(codec));
  }
  return keys;
}

Status TableKeys::clustered_key(ByteView row, uint64_t row_id, std::string& to) const {
  to.clear();
  if (hidden_row_id()) {
    append_row_id(row_id, to);
    return {};
  }
  return codecs_[0].append_row(layout_->row_codec(), row, to);
}

Status TableKeys::secondary_keys(ByteView row, ByteView clustered_key, std::vector<std::string>& to) const {
  to.resize(secondary_count());
  for (size_t i = 0; i < to.size(); ++i) {
    to[i].clear();
    HAILSTONE_TRY(secondary(i).append_row(layout_->row_codec(), row, to[i]));
    to[i].append(clustered_key);
  }
  return {};
}

Status TableKeys::secondary_keys_to_read(ByteView row, ByteView clustered_key,
                                         std::vector<std::string>& to) const {
  if (makes_all()) return secondary_keys(row, clustered_key, to);
  to.resize(secondary_count());
  for (size_t i = 0; i < to.size(); ++i) {
    to[i].clear();
    if (makes_secondary(i)) HAILSTONE_TRY(secondary(i).append_row(layout_->row_codec(), row, to[i]));
    to[i].append(clustered_key);
  }
  return {};
}

void append_row_id(uint64_t row_id, std::string& to) {
  char bytes[8];
  store_big_endian(bytes, row_id, 8);
  to.append(bytes, sizeof bytes);
}

}  // namespace hailstone
