#include "table/key_search.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "base/hash.h"

namespace hailstone {

namespace {

constexpr uint32_t steps_before_reading_ahead = 4;
constexpr uint32_t first_read_ahead = 32;

std::vector<uint16_t> key_columns(const KeyCodec& codec, bool hidden_row_id) {
  if (hidden_row_id) return {StoredColumn::row_id};
  return {codec.columns().begin(), codec.columns().end()};
}

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
  if (secondary != clustered) columns_ = key_columns(keys.secondary(secondary), false);
  const std::vector<uint16_t> of_clustered = key_columns(keys.clustered(), keys.hidden_row_id());
  columns_.insert(columns_.end(), of_clustered.begin(), of_clustered.end());
  clustered_columns_ = of_clustered.size();
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
    HAILSTONE_ASSIGN(const auto* const pinned, reader_.block(*integer_column_, (first + done) / block_rows));
    pinned->block->integers(row, rows, integers_.data() + done);
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
  window_ordinals_.resize(count);
  HAILSTONE_TRY(ordinals(first, count, window_ordinals_.data()));
  if (window_ == nullptr) window_ = std::make_unique<RowWindow>(keys_.layout(), columns_);
  HAILSTONE_TRY(window_->read(reader_, window_ordinals_));
  for (uint32_t i = 0; i < count; ++i) {
    window_->values(i, values_);
    probe_.clear();
    HAILSTONE_TRY(append_key(values_, probe_));
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
  const unsigned width = keys_.clustered_integer_width();
  if (!integer_column_ || bound.size() != width) {
    HAILSTONE_TRY(key(position, probe_));
    return ByteView(probe_).compare(bound);
  }
  HAILSTONE_TRY(Projection::read_values(reader_, columns_, position, scratch_, values_));
  const uint64_t number = values_[0].integer;
  const uint64_t sought = load_big_endian(bound.data(), width);
  return number < sought ? -1 : number > sought ? 1 : 0;
}

Result<uint32_t> SegmentKeys::lower_bound(ByteView bound) {
  if (entries_ == 0) return 0U;
  if (last_key() < bound) return entries_;
  const size_t low = first_sample(sample_count(), bound, [&](size_t number) { return sample(number); });
  if (low == 0) return 0U;
  auto first = static_cast<uint32_t>((low - 1) * key_sample_stride + 1);
  auto last = static_cast<uint32_t>(std::min<size_t>(low * key_sample_stride, entries_));
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

namespace {

/// The same as find_clustered() for keys that are one integer, in place of which its column is searched.
Result<OrdinalRange> find_integer(const TableSegment& segment, size_t column, ByteView key) {
  const Segment& file = *segment.segment;
  const uint64_t number = load_big_endian(key.data(), static_cast<unsigned>(key.size()));
  const size_t sample =
      first_sample(file.key_sample_count(), key, [&](size_t position) { return file.key_sample(position); });
  // Between two samples, and so within one block.
  const auto first = sample == 0 ? 0U : static_cast<uint32_t>((sample - 1) * key_sample_stride + 1);
  const auto last = static_cast<uint32_t>(std::min<size_t>(sample * key_sample_stride, segment.rows()));
  uint32_t block_number = first / block_rows;
  HAILSTONE_ASSIGN(auto block, file.block(column, block_number));
  const uint32_t before = block_number * block_rows;
  const uint32_t found = before + block->lower_bound(first - before, last - before, number);
  OrdinalRange range{found, found};
  for (; range.last < segment.rows(); ++range.last) {
    if (range.last / block_rows != block_number) {
      block_number = range.last / block_rows;
      HAILSTONE_ASSIGN(block, file.block(column, block_number));
    }
    if (block->integer(range.last % block_rows) != number) break;
  }
  return range;
}

}  // namespace

Result<OrdinalRange> find_clustered(const TableSegment& segment, const TableKeys& keys, ByteView key,
                                    Counters& counters) {
  if (segment.rows() == 0 || key < segment.segment->first_key() || segment.segment->last_key() < key) {
    return OrdinalRange{};
  }
  if (!keys.hidden_row_id()) {
    HAILSTONE_ASSIGN(const bool may_contain, segment.segment->may_contain_key(hash_bytes(key)));
    if (!may_contain) {
      count(counters.bloom_filter_skips);
      return OrdinalRange{};
    }
  }
  if (const auto column = integer_column(segment, keys);
      column && key.size() == keys.clustered_integer_width()) {
    return find_integer(segment, *column, key);
  }
  SegmentKeys rows(segment, keys, SegmentKeys::clustered);
  HAILSTONE_ASSIGN(const uint32_t first, rows.lower_bound(key));
  OrdinalRange range{first, first};
  while (range.last < segment.rows()) {
    HAILSTONE_ASSIGN(const int order, rows.compare(range.last, key));
    if (order != 0) break;
    ++range.last;
  }
  return range;
}

}  // namespace hailstone
