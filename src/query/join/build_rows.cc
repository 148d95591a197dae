#include "query/join/build_rows.h"

#include <algorithm>

namespace hailstone {

namespace {

/// What a table takes of a row besides its columns, at most: its key in one number, twice the room for the
/// place of its chain, rounded up to a power of two, and the row behind it in there.
constexpr size_t index_bytes_of_row = sizeof(uint64_t) + 5 * sizeof(uint32_t);
/// What a distinct text takes in a ValueSet besides its bytes: a view, its hash, and up to four slots.
constexpr size_t set_bytes_of_text = sizeof(ByteView) + 5 * sizeof(uint64_t);

/// Room for one more batch, by doubling.
template <typename T>
void append(PageVector<T>& to, std::span<const uint16_t> rows, const T* from) {
  const size_t before = to.size();
  to.resize(before + rows.size());
  for (size_t i = 0; i < rows.size(); ++i) to[before + i] = from[rows[i]];
}

}  // namespace

BuildColumns BuildColumns::of_read_rows() const {
  BuildColumns columns;
  uint16_t position = 0;
  for (const Key& key : keys)
    columns.keys.push_back({.position = position++, .column = key.column.with_numbers_read()});
  for (const Kept& column : kept) columns.kept.push_back({.position = position++, .type = column.type});
  columns.range = range;
  columns.range_end = range_end;
  return columns;
}

size_t BuildColumns::table_bytes(const RecordRun::Extent& records) const {
  size_t of_row = index_bytes_of_row;
  size_t copies = 0;  // of the texts
  for (const Key& key : keys) {
    const bool text = key.column.collation() != nullptr;
    of_row += sizeof(uint64_t) + (text ? set_bytes_of_text : 0);
    if (text) copies = 2;
  }
  for (const Kept& column : kept) {
    of_row += (column.type.integer ? sizeof(uint64_t) : sizeof(ByteView)) + sizeof(uint8_t);
    if (!column.type.integer) copies = std::max<size_t>(copies, 1);
  }
  return records.records * of_row + records.bytes * copies;
}

BuildRows::BuildRows(const BuildColumns& columns)
    : columns_(&columns),
      kept_(columns.kept.size()),
      numbers_(columns.keys.size()),
      texts_(columns.keys.size()),
      of_batch_(columns.keys.size()) {}

ByteView BuildRows::keep(const ColumnVector& vector, size_t row) {
  if (vector.dictionary == nullptr) return bytes_->copy(vector.bytes[row]);
  return vector.dictionary->value(vector.codes[row]);
}

/// The views of its values need the dictionary.
void BuildRows::keep_dictionary(const ColumnVector& vector) {
  if (vector.dictionary == nullptr ||
      std::ranges::find(dictionaries_, vector.dictionary) != dictionaries_.end())
    return;
  dictionaries_.push_back(vector.dictionary);
  dictionary_values_ += vector.dictionary->size();
}

void BuildRows::add(const RowBatch& batch) {
  valid_.assign(batch.rows, 1);
  const std::vector<BuildColumns::Key>& keys = columns_->keys;
  for (const BuildColumns::Key& key : keys) {
    const ColumnVector& vector = *batch.columns[key.position];
    if (key.column.collation() == nullptr || !vector.any_nulls || !key.column.leaves_nulls_out()) continue;
    for (uint32_t row = 0; row < batch.rows; ++row) {
      if (vector.nulls[row] != 0) valid_[row] = 0;
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].column.collation() != nullptr) continue;
    of_batch_[i].resize(batch.rows);
    keys[i].column.read(/*of_build=*/true, *batch.columns[keys[i].position], batch.rows, of_batch_[i].data(),
                        valid_.data());
  }
  chosen_.clear();
  for (uint32_t row = 0; row < batch.rows; ++row) {
    if (valid_[row] != 0) chosen_.push_back(static_cast<uint16_t>(row));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].column.collation() == nullptr) {
      append(numbers_[i], chosen_, of_batch_[i].data());
      continue;
    }
    const ColumnVector& vector = *batch.columns[keys[i].position];
    keep_dictionary(vector);
    if (vector.dictionary == nullptr) copied_texts_ += chosen_.size();
    for (const uint16_t row : chosen_)
      texts_[i].push_back(vector.is_null(row) ? ByteView() : keep(vector, row));
  }
  for (size_t i = 0; i < kept_.size(); ++i) {
    const ColumnVector& vector = *batch.columns[columns_->kept[i].position];
    Column& column = kept_[i];
    if (vector.any_nulls || !column.nulls.empty()) {
      column.nulls.resize(rows_, 0);
      for (const uint16_t row : chosen_) column.nulls.push_back(vector.is_null(row) ? 1 : 0);
    }
    if (columns_->kept[i].type.integer) {
      append(column.integers, chosen_, vector.integers.data());
      continue;
    }
    keep_dictionary(vector);
    for (const uint16_t row : chosen_)
      column.bytes.push_back(vector.is_null(row) ? ByteView() : keep(vector, row));
  }
  rows_ += chosen_.size();
}

void BuildRows::reserve(size_t rows) {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (columns_->kept[i].type.integer) {
      kept_[i].integers.reserve(rows);
    } else {
      kept_[i].bytes.reserve(rows);
    }
  }
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (columns_->keys[i].column.collation() == nullptr) {
      numbers_[i].reserve(rows);
    } else {
      texts_[i].reserve(rows);
    }
  }
}

size_t BuildRows::table_memory() const {
  size_t bytes = bytes_->bytes() + rows_ * index_bytes_of_row;
  for (const Column& column : kept_)
    bytes += bytes_of(column.integers) + bytes_of(column.bytes) + bytes_of(column.nulls);
  for (const auto& numbers : numbers_) bytes += bytes_of(numbers);
  bool any_texts = false;
  for (const auto& texts : texts_) {
    bytes += bytes_of(texts);
    any_texts |= !texts.empty();
  }
  // Those of dictionaries are the cache's until they are numbered.
  if (any_texts) bytes += bytes_->bytes() + (copied_texts_ + dictionary_values_) * set_bytes_of_text;
  return bytes;
}

RowBatch BuildRows::slice(size_t first, size_t rows) {
  vectors_.resize(numbers_.size() + kept_.size());
  const auto copy = [&](const auto& from, auto& to) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(rows));
  };
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (columns_->keys[i].column.collation() == nullptr) {
      copy(numbers_[i], vectors_[i].integers);
    } else {
      copy(texts_[i], vectors_[i].bytes);
    }
  }
  for (size_t i = 0; i < kept_.size(); ++i) {
    ColumnVector& vector = vectors_[numbers_.size() + i];
    if (columns_->kept[i].type.integer) {
      copy(kept_[i].integers, vector.integers);
    } else {
      copy(kept_[i].bytes, vector.bytes);
    }
    vector.any_nulls = !kept_[i].nulls.empty();
    if (vector.any_nulls) copy(kept_[i].nulls, vector.nulls);
  }
  vector_places_.clear();
  for (const ColumnVector& vector : vectors_) vector_places_.push_back(&vector);
  return {.rows = static_cast<uint32_t>(rows), .columns = vector_places_};
}

/// Gives back what long arrays take, and keeps short ones for the next rows.
void BuildRows::clear() {
  constexpr size_t kept_bytes = size_t{64} << 10;
  const auto clear_one = [](auto& array) {
    if (array.capacity() * sizeof(array[0]) > kept_bytes) std::remove_cvref_t<decltype(array)>().swap(array);
    array.clear();
  };
  for (Column& column : kept_) {
    clear_one(column.integers);
    clear_one(column.bytes);
    clear_one(column.nulls);
  }
  for (auto& numbers : numbers_) clear_one(numbers);
  for (auto& texts : texts_) clear_one(texts);
  bytes_->clear();
  dictionaries_.clear();
  dictionary_values_ = copied_texts_ = 0;
  rows_ = 0;
}

}  // namespace hailstone
