#include "query/row_records.h"

#include <fmt/format.h>

#include <utility>

#include "file/spill_file.h"
#include "query/sort_key.h"
#include "query/sort_record.h"

namespace hailstone {

namespace {

constexpr size_t bits_of_byte = 8;

void append_text(const RowRecords::Key& key, const Value& value, std::string& to) {
  const size_t begin = to.size();
  sort_key::append_text(*key.column.collation, value, key.by.nullable, key.by.most_weights, to);
  if (key.by.descending) sort_key::flip(to, begin);
}

}  // namespace

RowRecords::RowRecords(std::vector<Key> keys, std::vector<Wanted> values)
    : keys_(std::move(keys)), wanted_(std::move(values)) {
  for (const Key& key : keys_) {
    if (key.column.integer) fixed_key_bytes_ += (key.by.nullable ? 1 : 0) + key.column.width;
  }
  null_bytes_ = (wanted_.size() + bits_of_byte - 1) / bits_of_byte;
  for (Wanted& wanted : wanted_) {
    wanted.offset = number_bytes_;
    number_bytes_ += wanted.is_wide() ? sizeof(uint64_t) : sizeof(uint32_t);
  }
  fixed_bytes_ = sort_record::header_bytes + fixed_key_bytes_ + null_bytes_ + number_bytes_;
}

void RowRecords::Writer::make_texts(const Key& key, const ColumnVector& vector, uint32_t rows,
                                    Texts& texts) const {
  texts.pieces.resize(rows);
  const auto make = [&](const Value& value) -> Texts::Piece {
    const size_t begin = texts.bytes.size();
    append_text(key, value, texts.bytes);
    return {.offset = begin, .size = static_cast<uint32_t>(texts.bytes.size() - begin)};
  };
  if (vector.dictionary == nullptr) {
    texts.bytes.clear();
    texts.dictionary = nullptr;
    for (uint32_t row = 0; row < rows; ++row) texts.pieces[row] = make(vector.value(row));
    return;
  }
  if (texts.dictionary != vector.dictionary) {
    texts.bytes.clear();
    texts.dictionary = vector.dictionary;
    // Behind those of the codes: that of NULL.
    texts.of_code.assign(vector.dictionary->size() + 1, {});
  }
  for (uint32_t row = 0; row < rows; ++row) {
    Texts::Piece& piece = vector.is_null(row) ? texts.of_code.back() : texts.of_code[vector.codes[row]];
    if (piece.size == 0) piece = make(vector.value(row));
    texts.pieces[row] = piece;
  }
}

Result<size_t> RowRecords::Writer::measure(const RowBatch& batch) {
  sizes_.assign(batch.rows, records_.fixed_bytes_);
  key_sizes_.assign(batch.rows, static_cast<uint32_t>(records_.fixed_key_bytes_));
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Key& key = records_.keys_[i];
    if (key.column.integer) continue;
    make_texts(key, *batch.columns[key.by.position], batch.rows, texts_[i]);
    for (uint32_t row = 0; row < batch.rows; ++row) {
      sizes_[row] += texts_[i].pieces[row].size;
      key_sizes_[row] += texts_[i].pieces[row].size;
    }
  }
  for (const Wanted& wanted : records_.wanted_) {
    if (wanted.column.integer) continue;
    const ColumnVector& vector = *batch.columns[wanted.position];
    for (uint32_t row = 0; row < batch.rows; ++row) sizes_[row] += vector.value(row).bytes.size();
  }
  size_t all = 0;
  for (const uint64_t size : sizes_) {
    if (size > SpillFile::most_frame_bytes) {
      return fail(
          ErrorCode::RowTooLarge,
          fmt::format("a row that is sorted, or joined by way of files, takes {} bytes; no more than {} "
                      "are possible. Sort by shorter texts, or select fewer columns",
                      size, SpillFile::most_frame_bytes));
    }
    all += size;
  }
  return all;
}

void RowRecords::Writer::write(const RowBatch& batch, char* to) {
  begins_.resize(batch.rows);
  positions_.resize(batch.rows);
  for (uint32_t row = 0; row < batch.rows; ++row) {
    begins_[row] = to;
    positions_[row] = sort_record::begin(to, sizes_[row], key_sizes_[row]);
    to += sizes_[row];
  }
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Key& key = records_.keys_[i];
    if (!key.column.integer) {
      for (uint32_t row = 0; row < batch.rows; ++row) {
        const Texts::Piece& piece = texts_[i].pieces[row];
        std::memcpy(positions_[row], texts_[i].bytes.data() + piece.offset, piece.size);
        positions_[row] += piece.size;
      }
      continue;
    }
    const ColumnVector& vector = *batch.columns[key.by.position];
    const Zeros zeros(key.column);
    const unsigned width = key.column.width;
    const uint64_t flipped = key.by.descending ? ~uint64_t{0} : 0;
    for (uint32_t row = 0; row < batch.rows; ++row) {
      const bool null = vector.is_null(row);
      char*& position = positions_[row];
      if (key.by.nullable)
        *position++ = static_cast<char>((null ? sort_key::null_mark : sort_key::value_mark) ^ flipped);
      store_big_endian(position, (null ? 0 : zeros.one(vector.integers[row])) ^ flipped, width);
      position += width;
    }
  }
  for (char*& position : positions_) {
    std::memset(position, 0, records_.null_bytes_);
    position += records_.null_bytes_;
  }
  for (size_t i = 0; i < records_.wanted_.size(); ++i) {
    const Wanted& wanted = records_.wanted_[i];
    const ColumnVector& vector = *batch.columns[wanted.position];
    for (uint32_t row = 0; row < batch.rows; ++row) {
      const Value value = vector.value(row);
      const uint64_t number = wanted.column.integer ? value.integer : value.bytes.size();
      char* const numbers = positions_[row];
      if (wanted.is_wide()) {
        store(numbers + wanted.offset, number);
      } else {
        store(numbers + wanted.offset, static_cast<uint32_t>(number));
      }
      if (value.null) {
        char& nulls = (numbers - records_.null_bytes_)[i / bits_of_byte];
        nulls = static_cast<char>(static_cast<unsigned char>(nulls) | 1U << i % bits_of_byte);
      }
    }
  }
  for (char*& position : positions_) position += records_.number_bytes_;
  for (const Wanted& wanted : records_.wanted_) {
    if (wanted.column.integer) continue;
    const ColumnVector& vector = *batch.columns[wanted.position];
    for (uint32_t row = 0; row < batch.rows; ++row) {
      const ByteView bytes = vector.value(row).bytes;
      // Of no bytes there may be no address.
      if (!bytes.empty()) std::memcpy(positions_[row], bytes.data(), bytes.size());
      positions_[row] += bytes.size();
    }
  }
}

Status RowRecords::Writer::write(const RowBatch& batch, HashedRecords& to) {
  HAILSTONE_ASSIGN(const size_t size, measure(batch));
  to.bytes.resize(size);
  write(batch, to.bytes.data());
  to.places.resize(batch.rows);
  for (uint32_t row = 0; row < batch.rows; ++row)
    to.places[row] = static_cast<size_t>(begins_[row] - to.bytes.data());
  return {};
}

void RowRecords::read(const char* record, std::span<Value> values) const {
  const char* const nulls = sort_record::rest(record);
  const char* const numbers = nulls + null_bytes_;
  const char* bytes = numbers + number_bytes_;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Wanted& wanted = wanted_[i];
    const unsigned bits = static_cast<unsigned char>(nulls[i / bits_of_byte]);
    const bool null = (bits >> i % bits_of_byte & 1U) != 0;
    const uint64_t number =
        wanted.is_wide() ? load<uint64_t>(numbers + wanted.offset) : load<uint32_t>(numbers + wanted.offset);
    if (wanted.column.integer) {
      values[i] = {.null = null, .integer = number, .bytes = {}};
    } else {
      values[i] = {.null = null, .integer = 0, .bytes = {bytes, number}};
      bytes += number;
    }
  }
}

void RowRecords::read(std::span<const char* const> records, std::span<ColumnVector> vectors) const {
  std::vector<const char*> numbers(records.size()), bytes(records.size());
  for (size_t row = 0; row < records.size(); ++row) {
    numbers[row] = sort_record::rest(records[row]) + null_bytes_;
    bytes[row] = numbers[row] + number_bytes_;
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Wanted& wanted = wanted_[i];
    ColumnVector& to = vectors[i];
    to.nulls.resize(records.size());
    to.any_nulls = false;
    for (size_t row = 0; row < records.size(); ++row) {
      const unsigned bits = static_cast<unsigned char>((numbers[row] - null_bytes_)[i / bits_of_byte]);
      to.nulls[row] = static_cast<uint8_t>(bits >> i % bits_of_byte & 1U);
      to.any_nulls |= to.nulls[row] != 0;
    }
    if (wanted.column.integer) {
      to.integers.resize(records.size());
      for (size_t row = 0; row < records.size(); ++row) {
        const char* const from = numbers[row] + wanted.offset;
        to.integers[row] = wanted.is_wide() ? load<uint64_t>(from) : load<uint32_t>(from);
      }
      continue;
    }
    to.bytes.resize(records.size());
    for (size_t row = 0; row < records.size(); ++row) {
      const size_t size = load<uint32_t>(numbers[row] + wanted.offset);
      to.bytes[row] = {bytes[row], size};
      bytes[row] += size;
    }
  }
}

}  // namespace hailstone
