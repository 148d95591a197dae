#include "table/segment_builder.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace hailstone {

uint64_t key_head(ByteView key) {
  if (key.size() >= 8) return load_big_endian(key.data(), 8);
  return key.empty()
             ? 0
             : load_big_endian(key.data(), static_cast<unsigned>(key.size())) << (64 - 8 * key.size());
}

namespace {

/// Numbers of the keys in their order; equal ones as they were. Of those in `kept` only, unless it is empty:
/// then the result is empty when all are in order already.
std::vector<uint32_t> sorted_order(const KeyList& keys, const std::vector<uint32_t>& kept) {
  if (kept.empty()) {
    bool sorted = true;
    for (size_t i = 1; i < keys.size() && sorted; ++i) sorted = keys[i - 1] <= keys[i];
    if (sorted) return {};
  }
  struct Item {
    uint64_t head;
    uint32_t number;
  };
  std::vector<Item> items(kept.empty() ? keys.size() : kept.size());
  for (uint32_t i = 0; i < items.size(); ++i) {
    const uint32_t number = kept.empty() ? i : kept[i];
    items[i] = {key_head(keys[number]), number};
  }
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    if (a.head != b.head) return a.head < b.head;
    const int order = keys[a.number].compare(keys[b.number]);
    return order != 0 ? order < 0 : a.number < b.number;
  });
  std::vector<uint32_t> order(items.size());
  for (size_t i = 0; i < items.size(); ++i) order[i] = items[i].number;
  return order;
}

size_t common_prefix(ByteView a, ByteView b) {
  const size_t size = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < size && a[i] == b[i]) ++i;
  return i;
}

/// Counts distinct values of the first 1, 2 … parts while keys pass in order.
class PrefixCounter {
 public:
  explicit PrefixCounter(const KeyCodec& codec) : codec_(codec), counts_(codec.part_count()) {}
  void next(ByteView previous, ByteView key, bool first) {
    const size_t common = first ? 0 : common_prefix(previous, key);
    for (size_t parts = 1; parts <= counts_.size(); ++parts) {
      if (first || codec_.prefix_size(key, parts) > common) ++counts_[parts - 1];
    }
  }
  std::vector<uint64_t> counts() && { return std::move(counts_); }

 private:
  const KeyCodec& codec_;
  std::vector<uint64_t> counts_;
};

}  // namespace

SegmentBuilder::SegmentBuilder(const Table::State& table, bool with_begin)
    : table_(table), keys_(*table.keys), clustered_(table.host.budget()), key_memory_(table.host.budget()) {
  positions_.assign(table.layout->definition().columns.size(), -1);
  for (const StoredColumn& column : table.layout->stored_columns()) {
    const auto position = static_cast<int>(columns_.size());
    if (column.id == StoredColumn::row_group) {
      group_ = position;
    } else if (column.id == StoredColumn::row_id) {
      row_id_ = position;
    } else {
      positions_[column.id] = position;
    }
    columns_.emplace_back(column, table.host.budget());
  }
  if (with_begin) {
    begin_ = static_cast<int>(columns_.size());
    columns_.emplace_back(
        StoredColumn{.id = StoredColumn::begin, .integer = true, .width = 8, .nullable = false},
        table.host.budget());
  }
  group_values_.resize(table.layout->group_columns().size());
}

void SegmentBuilder::append(std::span<const Value> values, uint64_t row_id, Timestamp begin) {
  for (size_t column = 0; column < positions_.size(); ++column) {
    if (positions_[column] < 0) continue;
    ColumnBuffer& buffer = columns_[static_cast<size_t>(positions_[column])];
    const Value& value = values[column];
    if (value.null) {
      buffer.append_null();
    } else if (buffer.column().integer) {
      buffer.append_integer(value.integer);
    } else {
      buffer.append_bytes(value.bytes);
    }
  }
  if (group_ >= 0) {
    const auto group_columns = table_.layout->group_columns();
    for (size_t i = 0; i < group_columns.size(); ++i) group_values_[i] = values[group_columns[i]];
    // Cannot be too large: it is a part of a row that is not.
    if (table_.layout->group_codec().encode(group_values_, group_row_)) {
      columns_[static_cast<size_t>(group_)].append_bytes(group_row_);
    }
  }
  if (row_id_ >= 0) columns_[static_cast<size_t>(row_id_)].append_integer(row_id);
  if (begin_ >= 0) columns_[static_cast<size_t>(begin_)].append_integer(begin);
  ++rows_;
}

void SegmentBuilder::append(ByteView row, uint64_t row_id, Timestamp begin) {
  row_values_.resize(positions_.size());
  table_.layout->row_codec().decode(row, row_values_);
  append(row_values_, row_id, begin);
}

size_t SegmentBuilder::bytes() const {
  size_t bytes = 0;
  for (const ColumnBuffer& column : columns_) bytes += column.bytes();
  return bytes;
}

size_t SegmentBuilder::key_bytes() const {
  if (rows_ == 0) return 0;
  std::vector<Value> values;
  const auto in_list = [&](const KeyCodec& codec) {
    key_values(codec, rows_ - 1, values);
    std::string key;
    // One that is too long ends write() with an error of its own.
    return codec.append(values, key) ? key.size() + sizeof(size_t) : 0;
  };
  const size_t clustered = row_id_ >= 0 ? 0 : in_list(keys_.clustered());
  size_t largest = 0;  // of the indexes: write() makes one at a time
  for (size_t i = 0; i < keys_.secondary_count(); ++i)
    largest = std::max(largest, 2 * in_list(keys_.secondary(i)) + clustered);
  return rows_ * (clustered + largest);
}

double SegmentBuilder::times(size_t bytes) const {
  // Later rows may be somewhat longer.
  constexpr double reserve = 1.02;
  return static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(this->bytes(), 1)) * reserve;
}

size_t SegmentBuilder::missing_key_bytes(double times) const {
  const auto wanted = static_cast<size_t>(static_cast<double>(key_bytes()) * times);
  return std::max(wanted, key_memory_.bytes()) - key_memory_.bytes();
}

size_t SegmentBuilder::missing_for(size_t bytes) const {
  const double times = this->times(bytes);
  size_t missing = missing_key_bytes(times);
  for (const ColumnBuffer& column : columns_) missing += column.missing_for(times);
  return missing;
}

size_t SegmentBuilder::room_for(size_t most, size_t least) const {
  size_t bytes = std::max(most, least);
  while (bytes > least && !table_.host.budget().make_room(missing_for(bytes)))
    bytes = std::max(bytes / 2, least);
  return bytes;
}

void SegmentBuilder::reserve(size_t bytes) {
  const double times = this->times(bytes);
  for (ColumnBuffer& column : columns_) column.reserve_times(times);
  key_memory_.grow(missing_key_bytes(times));
}

void SegmentBuilder::remove(uint32_t row) {
  if (removed_.size() <= row) removed_.resize(row + 1);
  if (removed_[row]) return;
  removed_[row] = true;
  ++removed_count_;
}

std::vector<uint32_t> SegmentBuilder::kept() const {
  std::vector<uint32_t> kept;
  if (removed_count_ == 0) return kept;
  kept.reserve(rows_kept());
  for (uint32_t row = 0; row < rows_; ++row) {
    if (row >= removed_.size() || !removed_[row]) kept.push_back(row);
  }
  return kept;
}

void SegmentBuilder::clear() {
  for (ColumnBuffer& column : columns_) column.clear();
  clustered_.clear();
  key_memory_.clear();
  removed_.clear();
  rows_ = removed_count_ = 0;
}

Value SegmentBuilder::value(uint32_t row, uint16_t column) const {
  const int position = positions_[column];
  if (position < 0) {
    const auto in_group = static_cast<size_t>(table_.layout->group_position(column));
    return table_.layout->group_codec().value(columns_[static_cast<size_t>(group_)].bytes(row), in_group);
  }
  const ColumnBuffer& buffer = columns_[static_cast<size_t>(position)];
  if (buffer.null(row)) return {};
  return buffer.column().integer ? Value::of(buffer.integer(row)) : Value::of(buffer.bytes(row));
}

Status SegmentBuilder::row(uint32_t number, std::string& to) const {
  std::vector<Value> values(positions_.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = value(number, static_cast<uint16_t>(i));
  return table_.layout->row_codec().encode(values, to);
}

bool SegmentBuilder::key_values(const KeyCodec& codec, uint32_t row, std::vector<Value>& values) const {
  bool has_null = false;
  values.clear();
  for (const auto column : codec.columns()) {
    values.push_back(value(row, column));
    has_null = has_null || values.back().null;
  }
  return has_null;
}

Status SegmentBuilder::make_keys(const KeyCodec& codec, KeyList& keys, std::vector<bool>* nulls) {
  std::vector<Value> values;
  std::string key;
  keys.reserve(rows_);
  for (uint32_t row = 0; row < rows_; ++row) {
    const bool has_null = key_values(codec, row, values);
    key.clear();
    HAILSTONE_TRY(codec.append(values, key));
    if (nulls != nullptr) nulls->push_back(has_null);
    keys.push_back(key);
  }
  return {};
}

Status SegmentBuilder::make_index(size_t secondary, const std::vector<uint32_t>& order, bool unique,
                                  IndexRun& run, std::optional<DuplicateRows>& duplicate) {
  const KeyCodec& codec = keys_.secondary(secondary);
  const bool is_unique = keys_.secondary_unique(secondary);
  KeyList index_keys(table_.host.budget());
  std::vector<bool> nulls;
  HAILSTONE_TRY(make_keys(codec, index_keys, is_unique ? &nulls : nullptr));
  KeyList entries(table_.host.budget());
  entries.reserve(rows_);
  std::string entry;
  for (uint32_t row = 0; row < rows_; ++row) {
    entry.assign(index_keys[row]);
    if (row_id_ >= 0) {
      append_row_id(columns_[static_cast<size_t>(row_id_)].integer(row), entry);
    } else {
      entry.append(clustered_[row]);
    }
    entries.push_back(entry);
  }
  // Ordinals of rows by their order of append.
  std::vector<uint32_t> ordinals(rows_);
  const uint32_t rows = rows_kept();
  for (uint32_t i = 0; i < rows; ++i) ordinals[order.empty() ? i : order[i]] = i;
  std::vector<uint32_t> entry_order = sorted_order(entries, kept());
  if (entry_order.empty()) {
    entry_order.resize(rows);
    std::iota(entry_order.begin(), entry_order.end(), 0U);
  }
  PrefixCounter prefixes(codec);
  run.ordinals.resize(rows);
  if (is_unique) run.key_hashes.resize(rows);
  for (uint32_t i = 0; i < rows; ++i) {
    const uint32_t row = entry_order[i];
    run.ordinals[i] = ordinals[row];
    if (i % key_sample_stride == 0) run.samples.emplace_back(entries[row]);
    if (is_unique) run.key_hashes[i] = hash_bytes(index_keys[row]);
    const ByteView previous = i == 0 ? ByteView() : index_keys[entry_order[i - 1]];
    prefixes.next(previous, index_keys[row], i == 0);
    if (unique && is_unique && i > 0 && !nulls[row] && previous == index_keys[row] && !duplicate) {
      duplicate = DuplicateRows{secondary + keys_.first_secondary(), std::max(row, entry_order[i - 1])};
    }
  }
  run.last_key = entries[entry_order.back()];
  run.distinct_prefixes = std::move(prefixes).counts();
  return {};
}

Result<SegmentBuilder::Written> SegmentBuilder::write(const FileIdentity& file, bool unique,
                                                      const std::function<bool()>& stop) {
  Written written;
  SegmentInput input;
  input.identity = file;
  const uint32_t rows = input.rows = rows_kept();
  clustered_.clear();
  key_memory_.clear();
  std::vector<uint32_t>& order = written.order;
  if (row_id_ >= 0) {
    // Row ids mostly come in order; a merge may bring them otherwise.
    const ColumnBuffer& ids = columns_[static_cast<size_t>(row_id_)];
    const auto less = [&](uint32_t a, uint32_t b) { return ids.integer(a) < ids.integer(b); };
    std::vector<uint32_t> all = kept();
    if (all.empty()) {
      all.resize(rows);
      std::iota(all.begin(), all.end(), 0U);
    }
    const bool sorted = std::is_sorted(all.begin(), all.end(), less);
    if (!sorted) std::stable_sort(all.begin(), all.end(), less);
    if (!sorted || removed_count_ != 0) order = std::move(all);
    const auto key = [&](uint32_t ordinal) {
      std::string bytes;
      append_row_id(ids.integer(order.empty() ? ordinal : order[ordinal]), bytes);
      return bytes;
    };
    for (uint32_t i = 0; i < rows; i += key_sample_stride) input.key_samples.push_back(key(i));
    input.last_key = key(rows - 1);
  } else {
    HAILSTONE_TRY(make_keys(keys_.clustered(), clustered_, nullptr));
    order = sorted_order(clustered_, kept());
    PrefixCounter prefixes(keys_.clustered());
    input.key_hashes.resize(rows);
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t row = order.empty() ? i : order[i];
      const ByteView key = clustered_[row];
      if (i % key_sample_stride == 0) input.key_samples.emplace_back(key);
      input.key_hashes[i] = hash_bytes(key);
      const uint32_t previous_row = i == 0 ? 0 : order.empty() ? i - 1 : order[i - 1];
      const ByteView previous = i == 0 ? ByteView() : clustered_[previous_row];
      prefixes.next(previous, key, i == 0);
      if (unique && i > 0 && previous == key && !written.duplicate) {
        written.duplicate = DuplicateRows{0, std::max(row, previous_row)};
      }
    }
    input.last_key = clustered_[order.empty() ? rows - 1 : order.back()];
    input.distinct_prefixes = std::move(prefixes).counts();
  }
  input.indexes.resize(keys_.secondary_count());
  for (size_t i = 0; i < input.indexes.size(); ++i) {
    HAILSTONE_TRY(make_index(i, order, unique, input.indexes[i], written.duplicate));
  }
  if (written.duplicate) return written;
  clustered_.clear();
  std::vector<const ColumnBuffer*> columns;
  columns.reserve(columns_.size());
  for (const ColumnBuffer& column : columns_) columns.push_back(&column);
  input.columns = columns;
  input.order = order;
  HAILSTONE_TRY(write_segment(table_.host.filesystem(), table_.host.segment_path(file.file), input,
                              table_.host.counters(), stop));
  return written;
}

}  // namespace hailstone
