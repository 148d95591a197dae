#include "table/cursor_source.h"

#include <algorithm>
#include <utility>

namespace hailstone {

namespace {

constexpr size_t first_delta_entries = 4;
constexpr size_t most_delta_entries = 256;

class DeltaSource : public CursorSource {
 public:
  DeltaSource(DeltaReader reader, const Projection& projection)
      : reader_(std::move(reader)), projection_(projection) {}

  Status seek(Direction direction, const SeekBound& bound) override {
    direction_ = direction;
    wanted_ = first_delta_entries;
    in_run = false;
    has_run_ = bound.prefix;
    has_rival_ = false;
    run_end_ = 0;
    has_prefix_ = bound.prefix;
    if (has_prefix_) prefix_ = bound.key;
    fill(bound);
    return {};
  }

  Status step() override {
    if (++next_ < entries_.size()) [[likely]] {
      stand();
    } else if (entries_.size() < wanted_) {
      valid = false;
    } else {
      wanted_ = std::min(wanted_ * 4, most_delta_entries);
      fill({.key = key, .after = true});
    }
    return {};
  }

  RowPlace place() const override {
    return {.delta = reader_.delta(),
            .version = const_cast<Version*>(entries_[next_].version),
            .segment = nullptr,
            .ordinal = 0,
            .begin = 0};
  }

  Status load(std::span<Value> values) override {
    const Version& version = *entries_[next_].version;
    projection_.decode(version.row(), row_id_of(version.key()), values);
    return {};
  }

  Status load_row(std::string& to) override {
    to.assign(entries_[next_].version->row());
    return {};
  }

  Status begin_run(const ByteView* rival) override {
    has_run_ = true;
    has_rival_ = rival != nullptr;
    if (has_rival_) rival_ = *rival;
    find_run_end();
    in_run = next_ < run_end_;
    return {};
  }
  Status end_run() override {
    in_run = has_run_ = false;
    run_end_ = 0;
    return {};
  }
  Status make_key() override { return {}; }

 private:
  void find_run_end() {
    const auto before_rival = [&](const DeltaReader::Entry& entry) {
      return direction_ == Direction::Forward ? entry.key < rival_ : rival_ < entry.key;
    };
    run_end_ =
        !has_rival_ || entries_.empty() || before_rival(entries_.back())
            ? entries_.size()
            : static_cast<size_t>(std::ranges::partition_point(entries_, before_rival) - entries_.begin());
  }

  void fill(const SeekBound& bound) {
    // Keys stay where they are as long as the delta: `bound` may be one of the entries that are replaced.
    if (direction_ == Direction::Forward) {
      reader_.forward(bound.key, bound.after, wanted_, entries_);
    } else {
      reader_.backward(bound.key, bound.unbounded, wanted_, entries_);
    }
    if (has_prefix_) {
      // Fewer than were wanted: the last ones.
      const auto begins = [&](const DeltaReader::Entry& entry) { return entry.key.starts_with(prefix_); };
      entries_.erase(std::ranges::partition_point(entries_, begins), entries_.end());
    }
    next_ = 0;
    if (has_run_) find_run_end();
    valid = !entries_.empty();
    if (valid) stand();
  }
  void stand() {
    key = entries_[next_].key;
    clustered_size = entries_[next_].version->key().size();
    in_run = next_ < run_end_;
  }

  const DeltaReader reader_;
  const Projection& projection_;
  Direction direction_ = Direction::Forward;
  std::vector<DeltaReader::Entry> entries_;
  size_t wanted_ = first_delta_entries;
  size_t next_ = 0;

  bool has_run_ = false, has_rival_ = false;
  std::string rival_;
  size_t run_end_ = 0;  // of entries_: those before the rival; 0 without a run
  bool has_prefix_ = false;
  std::string prefix_;
};

class SegmentSource : public CursorSource {
 public:
  SegmentSource(std::shared_ptr<TableSegment> segment, const Table::State& table, size_t secondary,
                const Visibility& visibility, const Projection& projection)
      : segment_(std::move(segment)),
        secondary_(secondary),
        visibility_(visibility),
        projection_(projection),
        layout_(*table.layout),
        keys_(*segment_, *table.keys, secondary),
        reader_(segment_->columns),
        window_(projection) {
    excluded_ = !visibility.candidates && segment_->columns.begin() < 0 &&
                !visibility.snapshot.includes(segment_->shared_begin());
  }

  Status seek(Direction direction, const SeekBound& bound) override {
    direction_ = direction;
    valid = in_run = false;
    run_first_ = run_last_ = 0;
    limit_ = keys_.entries();
    likely_rows_ = std::exchange(rows_loaded_, 0);
    if (!bound.prefix) likely_rows_ = 0;
    if (excluded_ || keys_.entries() == 0) return {};
    if (direction == Direction::Backward) {
      uint32_t limit = keys_.entries();
      if (!bound.unbounded) {
        HAILSTONE_ASSIGN(limit, keys_.lower_bound(bound.key));
      }
      if (limit == 0) return {};
      position_ = limit - 1;
      return stand();
    }
    if (bound.key.empty()) {
      position_ = 0;
    } else if (!bound.after) {
      HAILSTONE_ASSIGN(position_, keys_.lower_bound(bound.key));
      if (bound.prefix) {
        // They are the last ones, and need no keys where no other source has some of the prefix.
        HAILSTONE_ASSIGN(limit_, keys_.end_of_prefix(position_, bound.key));
        run_first_ = position_;
        run_last_ = limit_;
      }
    } else {
      // The first key behind the bound is the first that is not less than the bound with a zero byte behind
      // it.
      std::string behind(bound.key);
      behind.push_back('\0');
      HAILSTONE_ASSIGN(position_, keys_.lower_bound(behind));
    }
    return stand();
  }

  Status end_run() override {
    run_first_ = run_last_ = 0;
    if (!std::exchange(in_run, false)) return {};
    return make_key();
  }

  Status step() override {
    if (direction_ == Direction::Forward) {
      ++position_;
    } else if (position_ == 0) {
      valid = false;
      return {};
    } else {
      --position_;
    }
    return stand();
  }

  RowPlace place() const override {
    return {.delta = nullptr, .version = nullptr, .segment = segment_, .ordinal = ordinal_, .begin = 0};
  }

  Status load(std::span<Value> values) override;
  Status load_row(std::string& to) override;
  void forget() override { masked_block_ = no_block; }

  Status begin_run(const ByteView* rival) override {
    run_first_ = 0;
    run_last_ = keys_.entries();
    if (rival != nullptr) HAILSTONE_TRY(end_run_before(*rival));
    in_run = is_in_run();
    return {};
  }

  Status make_key() override {
    HAILSTONE_TRY(keys_.key(position_, key_));
    key = key_;
    clustered_size = secondary_ == SegmentKeys::clustered ? key_.size() : keys_.clustered_size();
    return {};
  }

 private:
  Status end_run_before(ByteView rival) {
    const bool forward = direction_ == Direction::Forward;
    if (secondary_ != SegmentKeys::clustered) {
      // The rows of neighbours lie anywhere, so a search would cost more than a run that may be too short.
      (forward ? run_last_ : run_first_) = forward ? keys_.known_before(rival) : keys_.known_behind(rival);
    } else if (forward) {
      HAILSTONE_ASSIGN(run_last_, keys_.lower_bound(rival));
    } else {
      HAILSTONE_ASSIGN(run_first_, keys_.lower_bound(std::string(rival) + '\0'));
    }
    return {};
  }

  bool is_in_run() const { return position_ >= run_first_ && position_ < run_last_; }

  /// Goes on in the direction to the first entry that is taken, and makes its key unless it is in a run.
  Status stand() {
    valid = false;
    for (;;) {
      if (position_ >= limit_) return {};
      HAILSTONE_ASSIGN(ordinal_, keys_.ordinal(position_));
      HAILSTONE_ASSIGN(const bool is_taken, taken());
      if (is_taken) break;
      if (direction_ == Direction::Forward) {
        ++position_;
      } else if (position_-- == 0) {
        return {};
      }
    }
    in_run = is_in_run();
    if (!in_run) HAILSTONE_TRY(make_key());
    valid = true;
    return {};
  }

  Result<bool> taken() {
    if (secondary_ != SegmentKeys::clustered) {
      Timestamp begin = 0;
      if (!visibility_.candidates) {
        HAILSTONE_ASSIGN(begin, begin_here());
      }
      if (visibility_.superseded != nullptr && begin != visibility_.snapshot.own) {
        HAILSTONE_TRY(keys_.clustered_key(ordinal_, key_));
        if (visibility_.is_superseded(key_)) return false;
      }
      if (visibility_.is_own_and_new(*segment_, ordinal_)) return false;
      const SharedLock guard(segment_->latch());
      return visibility_.takes(begin, segment_->ends->end(ordinal_));
    }
    const uint32_t block = ordinal_ / block_rows;
    if (block != masked_block_) {
      masked_block_ = no_block;
      bitmap_.set_first(std::min(block_rows, segment_->rows() - block * block_rows));
      HAILSTONE_TRY(mask_versions(*segment_, reader_, block, visibility_, bitmap_));
      masked_block_ = block;
    }
    if (!bitmap_.test(ordinal_ % block_rows)) return false;
    if (visibility_.superseded == nullptr || segment_->shared_begin() == visibility_.snapshot.own)
      return true;
    HAILSTONE_TRY(keys_.key(position_, key_));
    return !visibility_.is_superseded(key_);
  }

  /// The row's begin, or a later one that the snapshot sees too: then the row's need not be read.
  Result<Timestamp> begin_here() {
    if (segment_->columns.begin() < 0) return segment_->shared_begin();
    const auto column = static_cast<size_t>(segment_->columns.begin());
    const Timestamp newest = segment_->segment->summary(column, ordinal_ / block_rows).high;
    if (newest <= visibility_.snapshot.read) return newest;
    return segment_->begin_of(reader_, ordinal_);
  }

  static constexpr uint32_t no_block = ~uint32_t{0};

  const std::shared_ptr<TableSegment> segment_;
  const size_t secondary_;
  const Visibility visibility_;
  const Projection& projection_;
  const TableLayout& layout_;
  SegmentKeys keys_;
  BlockReader reader_;  // of the values
  bool excluded_ = false;
  Direction direction_ = Direction::Forward;
  uint32_t position_ = 0;
  uint32_t ordinal_ = 0;
  uint32_t limit_ = 0;                     // of positions that are wanted
  uint32_t run_first_ = 0, run_last_ = 0;  // positions of the run: [first, last)
  std::string key_;
  BlockBitmap bitmap_;  // rows taken of masked_block_
  uint32_t masked_block_ = no_block;

  // Values of the entries around the one asked for last: [window_first_, window_first_ + window_rows_).
  RowWindow window_;
  uint32_t window_first_ = 0, window_rows_ = 0;
  uint32_t window_size_ = 1;
  uint32_t rows_loaded_ = 0;               // since the last search
  uint32_t likely_rows_ = 0;               // as many as the search before this one has led to; 0: unknown
  uint32_t next_position_ = ~uint32_t{0};  // behind the window, in the direction
  std::vector<uint32_t> window_ordinals_;
  Batch single_;
  std::vector<Value> row_values_;
};

Status SegmentSource::load_row(std::string& to) {
  row_values_.resize(projection_.columns().size());
  HAILSTONE_TRY(load(row_values_));
  return layout_.row_codec().encode(row_values_, to);
}

Status SegmentSource::load(std::span<Value> values) {
  ++rows_loaded_;
  if (position_ - window_first_ >= window_rows_) {
    // A window grows while reading goes on where the last one ended, and begins small after a jump.
    const bool goes_on = position_ == next_position_;
    window_size_ = goes_on ? window_size_ * 8 : std::max(1U, likely_rows_);
    window_size_ = std::min(window_size_, RowWindow::good_rows(*segment_->segment));
    uint32_t first = position_, last = position_ + 1;
    if (direction_ == Direction::Forward) {
      last = position_ + std::min(window_size_, limit_ - position_);
      // Rows in their own order are read a block at a time.
      if (secondary_ == SegmentKeys::clustered)
        last = std::min(last, position_ + block_rows - position_ % block_rows);
    } else {
      first = last - std::min(last, window_size_);
      if (secondary_ == SegmentKeys::clustered) first = std::max(first, position_ - position_ % block_rows);
    }
    next_position_ = direction_ == Direction::Forward ? last : first - 1;
    window_rows_ = 0;
    if (last - first == 1) {
      single_.clear();
      return projection_.read_row(reader_, ordinal_, single_, values);
    }
    window_ordinals_.resize(last - first);
    HAILSTONE_TRY(keys_.ordinals(first, last - first, window_ordinals_.data()));
    HAILSTONE_TRY(window_.read(reader_, window_ordinals_));
    window_first_ = first;
    window_rows_ = last - first;
  }
  window_.values(position_ - window_first_, values);
  return {};
}

}  // namespace

std::unique_ptr<CursorSource> make_delta_source(const std::shared_ptr<TableDelta>& delta, size_t secondary,
                                                const Visibility& visibility, const Projection& projection) {
  return std::make_unique<DeltaSource>(DeltaReader(delta, secondary, visibility), projection);
}

std::unique_ptr<CursorSource> make_segment_source(const std::shared_ptr<TableSegment>& segment,
                                                  const Table::State& table, size_t secondary,
                                                  const Visibility& visibility,
                                                  const Projection& projection) {
  return std::make_unique<SegmentSource>(segment, table, secondary, visibility, projection);
}

}  // namespace hailstone
