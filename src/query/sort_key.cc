#include "query/sort_key.h"

#include "schema/key_escape.h"
#include "schema/padding.h"

namespace hailstone::sort_key {

void flip(std::string& to, size_t begin) {
  for (size_t i = begin; i < to.size(); ++i) to[i] = flip(to[i]);
}

void append_text(const Collation& collation, const Value& value, bool nullable, size_t most_weights,
                 std::string& to) {
  if (nullable) to.push_back(value.null ? null_mark : value_mark);
  if (value.null) return;
  const size_t weights = to.size();
  collation.append_weights(value.bytes, to);
  if (to.size() - weights > most_weights) to.resize(weights + most_weights);
  if (collation.has_padded_pairs()) shorten_padded_pairs(to, weights);
  escape_and_end(to, weights);
}

void append_number(uint64_t number, unsigned width, std::string& to) {
  to.resize(to.size() + width);
  store_big_endian(to.data() + to.size() - width, number, width);
}

}  // namespace hailstone::sort_key
