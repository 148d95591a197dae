#include "table/key_search.h"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace hailstone {

namespace {

constexpr uint32_t steps_before_reading_ahead = 4;
constexpr uint32_t first_read_ahead = 32;

/// The segment's column of clustered keys that are one integer.
std::optional<size_t> integer_column(const TableSegment& segment, const TableKeys& keys) {
  if (keys.clustered_integer_width() == 0) return std::nullopt;
  const auto location = segment.columns.location(keys.hidden_row_id() ? StoredColumn::row_id
                                                                      : keys.clustered().columns().front());
  if (location.kind != SegmentColumns::Location::Kind::Stored) return std::nullopt;
  return location.position;
}

/// The first sample that is >= bound, which lies behind the one before it.
template <typename Samples>
size_t first_sample(size_t count, ByteView bound, Samples&& sample) {
  const auto numbers = std::views::iota(size_t{0}, count);
  const auto found =
      std::ranges::partition_point(numbers, [&](size_t number) { return sample(number) < bound; });
  return static_cast<size_t>(found - numbers.begin());
}

}  // namespace

SegmentKeys::SegmentKeys(const TableSegment& segment, const TableKeys& keys, size_t secondary, CacheUse use)
    : segment_(segment),
      keys_(keys),
      secondary_(secondary),
      entries_(secondary == clustered ? segment.rows() : segment.segment->index_entries(secondary)),
      integer_column_(secondary == clustered ? integer_column(segment, keys) : std::nullopt),
      reader_(segment.columns, use) {
  const auto append = [&](std::span<const uint16_t> columns) {
    columns_.insert(columns_.end(), columns.begin(), columns.end());
  };
  if (secondary != clustered) append(keys.secondary(secondary).columns());
  const size_t own = columns_.size();
  if (keys.hidden_row_id()) {
    columns_.push_back(StoredColumn::row_id);
  } else {
    append(keys.clustered().columns());
  }
  clustered_columns_ = columns_.size() - own;
  values_.resize(columns_.size());
}

Result<uint32_t> SegmentKeys::ordinal(uint32_t position) {
  if (secondary_ == clustered) return position;
  if (position < ordinals_first_ || position >= ordinals_first_ + ordinals_count_) {
    ordinals_count_ = 0;
    const uint32_t first = position - position % key_sample_stride;
    const uint32_t count = std::min(key_sample_stride, entries_ - first);
    HAILSTONE_TRY(reader_.index_ordinals(secondary_, first, count, ordinals_.data()));
    ordinals_first_ = first;
    ordinals_count_ = count;
  }
  return ordinals_[position - ordinals_first_];
}

Status SegmentKeys::ordinals(uint32_t first, uint32_t count, uint32_t* to) {
  if (secondary_ != clustered) return reader_.index_ordinals(secondary_, first, count, to);
  std::iota(to, to + count, first);
  return {};
}

Status SegmentKeys::append_key(std::span<const Value> values, std::string& to) {
  const std::span<const Value> of_clustered = values.last(clustered_columns_);
  if (secondary_ != clustered) {
    HAILSTONE_TRY(keys_.secondary(secondary_).append(values.first(values.size() - clustered_columns_), to));
  }
  if (keys_.hidden_row_id()) {
    append_row_id(of_clustered[0].integer, to);
    clustered_size_ = sizeof(uint64_t);
    return {};
  }
  if (to.empty()) {
    HAILSTONE_TRY(keys_.clustered().append(of_clustered, to));
    clustered_size_ = to.size();
    return {};
  }
  // Apart, as the limit on the size of a key counts from where append() begins.
  clustered_part_.clear();
  HAILSTONE_TRY(keys_.clustered().append(of_clustered, clustered_part_));
  to.append(clustered_part_);
  clustered_size_ = clustered_part_.size();
  return {};
}

Status SegmentKeys::clustered_key(uint32_t ordinal, std::string& to) {
  to.clear();
  if (scratch_.bytes() != 0) scratch_.clear();
  const size_t before = columns_.size() - clustered_columns_;
  const std::span<Value> values = std::span(values_).subspan(before);
  HAILSTONE_TRY(
      Projection::read_values(reader_, std::span(columns_).subspan(before), ordinal, scratch_, values));
  if (keys_.hidden_row_id()) {
    append_row_id(values[0].integer, to);
    return {};
  }
  return keys_.clustered().append(values, to);
}

Status SegmentKeys::key(uint32_t position, std::string& to) {
  if (secondary_ == clustered && position % key_sample_stride == 0) {
    to = sample(position / key_sample_stride);
    return {};
  }
  HAILSTONE_ASSIGN(const bool is_ahead, read_ahead(position));
  if (is_ahead) {
    to = ahead_[position - ahead_first_];
    clustered_size_ = ahead_.clustered_size(position - ahead_first_);
    return {};
  }
  HAILSTONE_ASSIGN(const uint32_t row, ordinal(position));
  to.clear();
  if (scratch_.bytes() != 0) scratch_.clear();
  HAILSTONE_TRY(Projection::read_values(reader_, columns_, row, scratch_, values_));
  return append_key(values_, to);
}

uint32_t EntryKeys::count_before(ByteView bound) const {
  const auto numbers = std::views::iota(0U, size());
  return static_cast<uint32_t>(
      std::ranges::partition_point(numbers, [&](uint32_t i) { return (*this)[i] < bound; }) -
      numbers.begin());
}

Result<bool> SegmentKeys::read_ahead(uint32_t position) {
  if (position - ahead_first_ < ahead_.size()) {
    last_position_ = position;
    return true;
  }
  // Every key_sample_stride-th key of the clustered order is not read but known.
  const uint32_t up = position - last_position_, down = last_position_ - position;
  // And not all that were read ahead need have been asked for.
  const bool at_end = ahead_.size() != 0 && position == ahead_first_ + ahead_.size();
  const bool at_start = ahead_.size() != 0 && position + 1 == ahead_first_;
  steps_up_ = up == 1 || up == 2 || at_end ? steps_up_ + 1 : 0;
  steps_down_ = down == 1 || down == 2 || at_start ? steps_down_ + 1 : 0;
  last_position_ = position;
  const uint32_t steps = std::max(steps_up_, steps_down_);
  if (steps == 0) ahead_.clear();
  if (steps < steps_before_reading_ahead) return false;
  const uint32_t wanted = std::min(std::max(ahead_.size() * 4, first_read_ahead), batch_rows);
  const bool upwards = steps_up_ != 0;
  const uint32_t first = upwards ? position : position + 1 - std::min(position + 1, wanted);
  const uint32_t count = upwards ? std::min(wanted, entries_ - position) : position + 1 - first;
  HAILSTONE_TRY(keys(first, count, ahead_));
  ahead_first_ = first;
  return true;
}

Status SegmentKeys::integer_keys(uint32_t first, uint32_t count, EntryKeys& to) {
  const unsigned width = keys_.clustered_integer_width();
  integers_.resize(count);
  for (uint32_t done = 0; done < count;) {
    const uint32_t row = (first + done) % block_rows;
    const uint32_t rows = std::min(count - done, block_rows - row);
    HAILSTONE_ASSIGN(const BlockReader::Pinned pinned,
                     reader_.block(*integer_column_, (first + done) / block_rows));
    pinned.block->integers(row, rows, integers_.data() + done);
    done += rows;
  }
  to.bytes_.resize(size_t{count} * width);
  to.clustered_sizes_.assign(count, width);
  to.ends_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    store_big_endian(to.bytes_.data() + size_t{i} * width, integers_[i], width);
    to.ends_[i] = (i + 1) * width;
  }
  clustered_size_ = width;
  return {};
}

Status SegmentKeys::keys(uint32_t first, uint32_t count, EntryKeys& to) {
  if (integer_column_) return integer_keys(first, count, to);
  to.clear();
  to.ends_.reserve(count);
  to.clustered_sizes_.reserve(count);
  window_ordinals_.resize(count);
  HAILSTONE_TRY(ordinals(first, count, window_ordinals_.data()));
  if (window_ == nullptr)
    window_ =
        std::make_unique<RowWindow>(keys_.layout(), std::vector<uint16_t>(columns_.begin(), columns_.end()));
  HAILSTONE_TRY(window_->read(reader_, window_ordinals_));
  for (uint32_t i = 0; i < count; ++i) {
    window_->values(i, {values_.data(), values_.size()});
    probe_.clear();
    HAILSTONE_TRY(append_key({values_.data(), values_.size()}, probe_));
    if (i == 0) to.bytes_.reserve(count * probe_.size());
    to.bytes_.append(probe_);
    to.ends_.push_back(static_cast<uint32_t>(to.bytes_.size()));
    to.clustered_sizes_.push_back(static_cast<uint32_t>(clustered_size_));
  }
  return {};
}

size_t SegmentKeys::sample_count() const {
  return secondary_ == clustered ? segment_.segment->key_sample_count()
                                 : segment_.segment->index_sample_count(secondary_);
}

ByteView SegmentKeys::sample(size_t number) const {
  return secondary_ == clustered ? segment_.segment->key_sample(number)
                                 : segment_.segment->index_sample(secondary_, number);
}

ByteView SegmentKeys::last_key() const {
  return secondary_ == clustered ? segment_.segment->last_key()
                                 : segment_.segment->index_last_key(secondary_);
}

Result<int> SegmentKeys::compare(uint32_t position, ByteView bound) {
  if (const unsigned width = keys_.clustered_integer_width(); integer_column_ && bound.size() == width) {
    HAILSTONE_ASSIGN(const BlockReader::Pinned pinned,
                     reader_.block(*integer_column_, position / block_rows));
    const uint64_t number = pinned.block->integer(position % block_rows);
    const uint64_t sought = load_big_endian(bound.data(), width);
    return number < sought ? -1 : number > sought ? 1 : 0;
  }
  HAILSTONE_ASSIGN(const uint32_t row, ordinal(position));
  // Most keys differ from the bound in their first parts: the others' columns are not read.
  const size_t own = columns_.size() - clustered_columns_;
  if (scratch_.bytes() != 0) scratch_.clear();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (bound.empty()) return 1;
    HAILSTONE_TRY(Projection::read_values(reader_, {&columns_[i], 1}, row, scratch_, {&values_[i], 1}));
    int order = 0;
    if (keys_.hidden_row_id() && i == own) {
      probe_.clear();
      append_row_id(values_[i].integer, probe_);
      order = ByteView(probe_).compare(bound.substr(0, probe_.size()));
      if (order == 0) bound.remove_prefix(probe_.size());
    } else {
      const KeyCodec& codec = i < own ? keys_.secondary(secondary_) : keys_.clustered();
      HAILSTONE_ASSIGN(order, codec.compare_part(i < own ? i : i - own, values_[i], bound));
    }
    if (order != 0) return order;
  }
  return bound.empty() ? 0 : -1;
}

Result<uint32_t> SegmentKeys::search(uint32_t first, uint32_t last, ByteView bound) {
  const unsigned width = keys_.clustered_integer_width();
  const uint32_t block = first / block_rows;
  if (integer_column_ && bound.size() == width && first < last && (last - 1) / block_rows == block) {
    HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader_.block(*integer_column_, block));
    const uint32_t before = block * block_rows;
    return before +
           pinned.block->lower_bound(first - before, last - before, load_big_endian(bound.data(), width));
  }
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    HAILSTONE_ASSIGN(const int order, compare(middle, bound));
    if (order < 0) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

Result<uint32_t> SegmentKeys::lower_bound(ByteView bound) {
  if (entries_ == 0) return 0U;
  if (last_key() < bound) return entries_;
  const size_t low = first_sample(sample_count(), bound, [&](size_t number) { return sample(number); });
  if (low == 0) return 0U;
  const auto first = static_cast<uint32_t>((low - 1) * key_sample_stride + 1);
  return search(first, static_cast<uint32_t>(std::min<size_t>(low * key_sample_stride, entries_)), bound);
}

Result<uint32_t> SegmentKeys::end_of_prefix(uint32_t first, ByteView prefix) {
  const std::string after = key_after_prefix(prefix);
  if (after.empty() || first >= entries_) return entries_;
  const size_t next_sample = first / key_sample_stride + 1;
  if (next_sample < sample_count() && sample(next_sample) < after) return lower_bound(after);
  const auto limit = static_cast<uint32_t>(std::min<size_t>(next_sample * key_sample_stride, entries_));
  // All before `low` come before `after`.
  uint32_t low = first;
  for (uint32_t step = 1; limit - low >= step; step *= 2) {
    const uint32_t probe = low + step - 1;
    HAILSTONE_ASSIGN(const int order, compare(probe, after));
    if (order >= 0) return search(low, probe, after);
    low = probe + 1;
  }
  return search(low, limit, after);
}

uint32_t SegmentKeys::known_before(ByteView bound) const {
  if (entries_ == 0 || last_key() < bound) return entries_;
  const size_t samples = first_sample(sample_count(), bound, [&](size_t number) { return sample(number); });
  const uint32_t ahead = ahead_.count_before(bound);
  return std::max(samples == 0 ? 0 : static_cast<uint32_t>((samples - 1) * key_sample_stride + 1),
                  ahead == 0 ? 0 : ahead_first_ + ahead);
}

uint32_t SegmentKeys::known_behind(ByteView bound) const {
  const std::string behind = std::string(bound) + '\0';
  const size_t samples = first_sample(sample_count(), behind, [&](size_t number) { return sample(number); });
  const uint32_t ahead = ahead_.count_before(behind);
  return std::min(samples == sample_count() ? entries_ : static_cast<uint32_t>(samples * key_sample_stride),
                  ahead == ahead_.size() ? entries_ : ahead_first_ + ahead);
}

}  // namespace hailstone
