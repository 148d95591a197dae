#include "table/key_search.h"

#include <algorithm>
#include <ranges>

#include "base/hash.h"

namespace hailstone {

namespace {

std::vector<uint16_t> key_columns(const KeyCodec& codec, bool hidden_row_id) {
  if (hidden_row_id) return {StoredColumn::row_id};
  return {codec.columns().begin(), codec.columns().end()};
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

RowReader::RowReader(const TableSegment& segment, const std::vector<uint16_t>& columns) : segment_(segment) {
  sources_.reserve(columns.size());
  for (const uint16_t column : columns) {
    Source source;
    source.column = column;
    source.location = segment.columns.location(column);
    source.integer = segment.columns.layout().is_integer(column);
    grouped_ = grouped_ || source.location.kind == SegmentColumns::Location::Kind::Grouped;
    sources_.push_back(std::move(source));
  }
  values_.resize(columns.size());
}

Status RowReader::load_bytes(size_t position, uint32_t block, Source& source) const {
  HAILSTONE_ASSIGN(source.block, segment_.segment->block(position, block));
  if (source.block->has_codes()) {
    HAILSTONE_ASSIGN(source.dictionary, segment_.segment->dictionary(position));
  }
  return {};
}

Status RowReader::load(uint32_t block) {
  block_ = no_block;
  for (Source& source : sources_) {
    if (source.location.kind != SegmentColumns::Location::Kind::Stored) continue;
    HAILSTONE_TRY(load_bytes(source.location.position, block, source));
  }
  if (grouped_) {
    HAILSTONE_TRY(load_bytes(static_cast<size_t>(segment_.columns.row_group()), block, group_));
  }
  block_ = block;
  return {};
}

Status RowReader::read(uint32_t ordinal) {
  const uint32_t block = ordinal / block_rows;
  const auto row = static_cast<uint16_t>(ordinal % block_rows);
  if (block != block_) HAILSTONE_TRY(load(block));
  if (scratch_.bytes() != 0) scratch_.clear();
  ByteView group;
  if (grouped_) {
    HAILSTONE_TRY(group_.block->gather_bytes({&row, 1}, group_.dictionary.get(), scratch_, &group));
    HAILSTONE_TRY(segment_.columns.check_group(block, row, group));
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    switch (source.location.kind) {
      case SegmentColumns::Location::Kind::Stored:
        if (source.block->has_nulls() && source.block->null(row)) {
          values_[i] = {};
        } else if (source.integer) {
          values_[i] = Value::of(source.block->integer(row));
        } else {
          ByteView bytes;
          HAILSTONE_TRY(source.block->gather_bytes({&row, 1}, source.dictionary.get(), scratch_, &bytes));
          values_[i] = Value::of(bytes);
        }
        break;
      case SegmentColumns::Location::Kind::Grouped:
        values_[i] = segment_.columns.layout().group_codec().value(group, source.location.position);
        break;
      case SegmentColumns::Location::Kind::Absent:
        values_[i] = {};
        break;
    }
  }
  return {};
}

SegmentKeys::SegmentKeys(const TableSegment& segment, const TableKeys& keys, size_t secondary)
    : segment_(segment),
      keys_(keys),
      secondary_(secondary),
      entries_(secondary == clustered ? segment.rows() : segment.segment->index_entries(secondary)),
      integer_width_(secondary == clustered ? keys.clustered_integer_width() : 0),
      clustered_reader_(segment, key_columns(keys.clustered(), keys.hidden_row_id())),
      secondary_reader_(segment, secondary == clustered ? std::vector<uint16_t>()
                                                        : key_columns(keys.secondary(secondary), false)) {}

Result<uint32_t> SegmentKeys::ordinal(uint32_t position) {
  if (secondary_ == clustered) return position;
  if (position < ordinals_first_ || position >= ordinals_first_ + ordinals_count_) {
    ordinals_count_ = 0;
    const uint32_t first = position - position % key_sample_stride;
    const uint32_t count = std::min(key_sample_stride, entries_ - first);
    HAILSTONE_TRY(segment_.segment->index_ordinals(secondary_, first, count, ordinals_.data()));
    ordinals_first_ = first;
    ordinals_count_ = count;
  }
  return ordinals_[position - ordinals_first_];
}

Status SegmentKeys::clustered_key(uint32_t ordinal, std::string& to) {
  to.clear();
  HAILSTONE_TRY(clustered_reader_.read(ordinal));
  const auto values = clustered_reader_.values();
  if (keys_.hidden_row_id()) {
    append_row_id(values[0].integer, to);
    return {};
  }
  return keys_.clustered().append(values, to);
}

Status SegmentKeys::key(uint32_t position, std::string& to) {
  if (secondary_ == clustered) {
    if (position % key_sample_stride != 0) return clustered_key(position, to);
    to = sample(position / key_sample_stride);
    return {};
  }
  HAILSTONE_ASSIGN(const uint32_t row, ordinal(position));
  to.clear();
  HAILSTONE_TRY(secondary_reader_.read(row));
  HAILSTONE_TRY(keys_.secondary(secondary_).append(secondary_reader_.values(), to));
  HAILSTONE_TRY(clustered_reader_.read(row));
  if (keys_.hidden_row_id()) {
    append_row_id(clustered_reader_.values()[0].integer, to);
    clustered_size_ = sizeof(uint64_t);
    return {};
  }
  // Apart, as the limit on the size of a key counts from where append() begins.
  clustered_part_.clear();
  HAILSTONE_TRY(keys_.clustered().append(clustered_reader_.values(), clustered_part_));
  to.append(clustered_part_);
  clustered_size_ = clustered_part_.size();
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
  if (integer_width_ == 0 || bound.size() != integer_width_) {
    HAILSTONE_TRY(key(position, probe_));
    return ByteView(probe_).compare(bound);
  }
  HAILSTONE_TRY(clustered_reader_.read(position));
  const uint64_t number = clustered_reader_.values()[0].integer;
  const uint64_t sought = load_big_endian(bound.data(), integer_width_);
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
  if (keys.clustered_integer_width() != 0 && key.size() == keys.clustered_integer_width()) {
    const auto location = segment.columns.location(keys.hidden_row_id() ? StoredColumn::row_id
                                                                        : keys.clustered().columns().front());
    if (location.kind == SegmentColumns::Location::Kind::Stored) {
      return find_integer(segment, location.position, key);
    }
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
