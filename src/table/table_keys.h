// How the rows of a table become keys: the clustered one, and the entry keys of its secondary indexes.
// Immutable, thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "column/segment_columns.h"
#include "schema/key_codec.h"

namespace hailstone {

class TableKeys {
 public:
  static Result<std::shared_ptr<const TableKeys>> make(std::shared_ptr<const TableLayout> layout,
                                                       const CollationResolver& collations);

  const std::shared_ptr<const TableLayout>& layout() const { return layout_; }
  const TableDefinition& definition() const { return layout_->definition(); }
  /// Clustered on the hidden row id.
  bool hidden_row_id() const { return !definition().has_primary_key; }
  /// Of indexes[index].
  const KeyCodec& codec(size_t index) const { return codecs_[index]; }
  /// Of the clustered key; without parts for the hidden row id.
  const KeyCodec& clustered() const { return hidden_row_id() ? no_parts_ : codecs_[0]; }

  /// When each clustered key is one integer, big-endian: its bytes; else 0.
  unsigned clustered_integer_width() const {
    return hidden_row_id() ? sizeof(uint64_t) : clustered().integer_width();
  }

  // Secondary indexes are numbered from 0 here and in deltas and segments: all of the definition's indexes
  // but the clustered one.
  size_t secondary_count() const { return codecs_.size() - first_secondary(); }
  size_t first_secondary() const { return hidden_row_id() ? 0 : 1; }
  const KeyCodec& secondary(size_t number) const { return codecs_[number + first_secondary()]; }
  bool secondary_unique(size_t number) const {
    return definition().indexes[number + first_secondary()].unique;
  }

  /// Whether the clustered keys, and with them those of an index, can be made here and not only read.
  bool makes_clustered() const { return hidden_row_id() || codecs_[0].makes_keys(); }
  bool makes_secondary(size_t number) const { return makes_clustered() && secondary(number).makes_keys(); }
  bool makes_all() const { return std::ranges::all_of(codecs_, &KeyCodec::makes_keys); }

  Status clustered_key(ByteView row, uint64_t row_id, std::string& to) const;
  /// Entry keys (index key + clustered key) of all secondary indexes.
  Status secondary_keys(ByteView row, ByteView clustered_key, std::vector<std::string>& to) const;
  /// The same for rows that are only read: of an index whose keys cannot be made, whose order nothing may ask
  /// for, the clustered key stands in.
  Status secondary_keys_to_read(ByteView row, ByteView clustered_key, std::vector<std::string>& to) const;

 private:
  TableKeys() = default;
  std::shared_ptr<const TableLayout> layout_;
  std::vector<KeyCodec> codecs_;
  KeyCodec no_parts_;
};

void append_row_id(uint64_t row_id, std::string& to);
/// The row id of a hidden clustered key; 0 when the key is none.
inline uint64_t row_id_of(ByteView key) { return key.size() == 8 ? load_big_endian(key.data(), 8) : 0; }

}  // namespace hailstone
