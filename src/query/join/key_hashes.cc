#include "query/join/key_hashes.h"

#include <utility>

#include "base/hash.h"

namespace hailstone {

KeyHashes::KeyHashes(const BuildColumns& columns, Side side, std::vector<uint16_t> keys)
    : columns_(columns), side_(side), keys_(std::move(keys)), texts_(columns.keys.size()) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (const Collation* const collation = columns.keys[i].column.collation(); collation != nullptr)
      texts_[i].hasher.emplace(*collation);
  }
}

void KeyHashes::read_texts(size_t key, const ColumnVector& vector, uint32_t rows) {
  Text& text = texts_[key];
  const bool leaves_nulls_out = columns_.keys[key].column.leaves_nulls_out();
  if (vector.dictionary != nullptr && text.dictionary != vector.dictionary) {
    text.dictionary = vector.dictionary;
    text.hashes.resize(vector.dictionary->size());
    text.known.assign(vector.dictionary->size(), 0);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.is_null(row)) {
      if (leaves_nulls_out) valid_[row] = 0;
      values_[row] = leaves_nulls_out ? 0 : text.hasher->hash(ByteView());
    } else if (vector.dictionary == nullptr) {
      values_[row] = text.hasher->hash(vector.bytes[row]);
    } else {
      const uint32_t code = vector.codes[row];
      if (std::exchange(text.known[code], uint8_t{1}) == 0)
        text.hashes[code] = text.hasher->hash(vector.dictionary->value(code));
      values_[row] = text.hashes[code];
    }
  }
}

std::span<const uint64_t> KeyHashes::hash(const RowBatch& batch) {
  // Not as the table has them, whose places in memory are the first bits of its own.
  constexpr uint64_t seed = 0x9e3779b97f4a7c15;
  hashes_.assign(batch.rows, seed);
  valid_.assign(batch.rows, 1);
  values_.resize(batch.rows);
  for (size_t i = 0; i < keys_.size(); ++i) {
    const ColumnVector& vector = *batch.columns[keys_[i]];
    if (texts_[i].hasher) {
      read_texts(i, vector, batch.rows);
    } else {
      columns_.keys[i].column.read(side_ == Side::Build, vector, batch.rows, values_.data(), valid_.data());
    }
    for (uint32_t row = 0; row < batch.rows; ++row) hashes_[row] = mix_bits(hashes_[row] ^ values_[row]);
  }
  return hashes_;
}

}  // namespace hailstone
