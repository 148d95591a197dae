#include "table/segment_merge.h"

#include <algorithm>
#include <list>
#include <optional>

#include "base/guard.h"
#include "base/scheduler.h"
#include "table/delete_vector_file.h"
#include "table/key_search.h"
#include "table/row_map.h"
#include "table/segment_builder.h"

namespace hailstone {

namespace {

/// The keys of one segment that is merged, in order, some at a time.
class KeyInput {
 public:
  KeyInput(const TableSegment& segment, const TableKeys& keys)
      : segment_(segment),
        keys_(segment, keys, SegmentKeys::clustered, CacheUse::PassBy),
        reader_(segment.columns, CacheUse::PassBy) {}

  bool at_end() const { return row_ >= segment_.rows(); }
  uint32_t row() const { return row_; }
  ByteView key() const { return window_[row_ - first_]; }
  uint64_t head() const { return heads_[row_ - first_]; }
  Timestamp begin() const { return begins_.empty() ? segment_.shared_begin() : begins_[row_ - first_]; }
  Timestamp end() const { return ends_.empty() ? infinity : ends_[row_ - first_]; }

  Status start() { return fill(); }
  Status next() {
    if (++row_ - first_ < window_.size() || at_end()) [[likely]]
      return {};
    return fill();
  }

 private:
  Status fill() {
    first_ = row_;
    const uint32_t in_block = row_ % block_rows;
    const uint32_t count = std::min({batch_rows, block_rows - in_block, segment_.rows() - row_});
    HAILSTONE_TRY(keys_.keys(row_, count, window_));
    heads_.resize(count);
    for (uint32_t i = 0; i < count; ++i) heads_[i] = key_head(window_[i]);
    begins_.clear();
    if (segment_.columns.begin() >= 0) {
      HAILSTONE_ASSIGN(const BlockReader::Pinned pinned,
                       reader_.block(static_cast<size_t>(segment_.columns.begin()), row_ / block_rows));
      begins_.resize(count);
      pinned.block->integers(in_block, count, begins_.data());
    }
    ends_.clear();
    const SharedLock guard(segment_.latch());
    if (segment_.ends->empty()) return {};
    ends_.resize(count);
    for (uint32_t i = 0; i < count; ++i) ends_[i] = segment_.ends->end(row_ + i);
    return {};
  }

  const TableSegment& segment_;
  SegmentKeys keys_;
  BlockReader reader_;  // of the begin column
  uint32_t row_ = 0;
  uint32_t first_ = 0;  // of the window
  EntryKeys window_;
  std::vector<uint64_t> heads_;
  std::vector<Timestamp> begins_, ends_;  // empty: shared by all; live
};

struct Input {
  Input(std::shared_ptr<TableSegment> merged, MemoryBudget& budget)
      : segment(std::move(merged)),
        map(budget),
        row_bytes(std::max<uint64_t>(1, segment->segment->unpacked_bytes() / segment->rows())) {}

  const std::shared_ptr<TableSegment> segment;
  std::unique_ptr<KeyInput> keys;  // while its turn lasts
  RowMap map;
  const uint64_t row_bytes;      // on average
  std::vector<uint32_t> chosen;  // rows for the present part of the output
};

/// The chosen rows' values of one column of one input, decoded some at a time.
class ColumnInput {
 public:
  ColumnInput(const Input& input, size_t position, bool integer)
      : rows_(input.chosen),
        position_(position),
        integer_(integer),
        at_once_(integer ? batch_rows : RowWindow::good_rows(*input.segment->segment)),
        reader_(input.segment->columns, CacheUse::PassBy) {}

  /// Appends the next row's value to `to`.
  Status move_next(ColumnBuffer& to) {
    if (next_ == count_) HAILSTONE_TRY(fill());
    const uint32_t i = next_++;
    if (has_nulls_ && block_->null(in_block_[i])) {
      to.append_null();
    } else if (integer_) {
      to.append_integer(integers_[i]);
    } else {
      to.append_bytes(bytes_[i]);
    }
    return {};
  }

 private:
  Status fill() {
    const uint32_t block = rows_[taken_] / block_rows;
    in_block_.clear();
    while (taken_ < rows_.size() && in_block_.size() < at_once_ && rows_[taken_] / block_rows == block) {
      in_block_.push_back(static_cast<uint16_t>(rows_[taken_++] % block_rows));
    }
    HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader_.block(position_, block));
    block_ = pinned.block.get();
    has_nulls_ = block_->has_nulls();
    next_ = 0;
    count_ = static_cast<uint32_t>(in_block_.size());
    if (integer_) {
      integers_.resize(count_);
      block_->gather_integers(in_block_, integers_.data());
      return {};
    }
    scratch_.clear();
    bytes_.resize(count_);
    return block_->gather_bytes(in_block_, pinned.dictionary.get(), scratch_, bytes_.data());
  }

  const std::vector<uint32_t>& rows_;
  const size_t position_;
  const bool integer_;
  const uint32_t at_once_;
  BlockReader reader_;
  size_t taken_ = 0;  // of rows_
  const Block* block_ = nullptr;
  bool has_nulls_ = false;
  uint32_t next_ = 0, count_ = 0;
  std::vector<uint16_t> in_block_;
  std::vector<uint64_t> integers_;
  std::vector<ByteView> bytes_;
  Arena scratch_;
};

class Merge {
 public:
  Merge(Table::State& state, const TableSegments& segments, const StopToken& stop)
      : state_(state),
        stop_(stop),
        snapshots_(state.host.transactions().snapshots_in_use()),
        forgotten_(state.forgettable_begin(snapshots_.oldest())),
        chosen_memory_(state.host.budget()) {
    for (const auto& segment : segments) {
      if (is_dead(*segment, snapshots_)) {
        dead_.push_back(segment);
        continue;
      }
      inputs_.push_back(std::make_unique<Input>(segment, state.host.budget()));
      // A segment's own begin is the newest of its rows', also when they have each their own.
      with_begin_ = with_begin_ || segment->shared_begin() > forgotten_;
    }
    std::ranges::sort(inputs_, [](const auto& a, const auto& b) {
      return a->segment->segment->first_key() < b->segment->segment->first_key();
    });
    state.host.merges().fetch_add(1, std::memory_order_relaxed);
  }
  ~Merge() { state_.host.merges().fetch_sub(1, std::memory_order_relaxed); }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  Status run() {
    const Status merged = guarded([&]() -> Status {
      HAILSTONE_TRY(merge());
      publish();
      return {};
    });
    if (!merged) {
      for (const Output& output : outputs_) output.segment->segment->remove_when_unused();
    }
    return merged;
  }

 private:
  struct Output {
    std::shared_ptr<TableSegment> segment;
    uint64_t first = 0;  // position of its first row
  };

  /// Between two steps: work that is more urgent goes first.
  bool yield_or_stop() const {
    Scheduler::yield();
    return stop_.stop_requested();
  }
  Status check_stop() const {
    if (!yield_or_stop()) return {};
    return fail(ErrorCode::Interrupted,
                "merging segments of table " + state_.definition().name + " was interrupted");
  }

  Status merge() {
    size_t wanted = 0;  // bytes of the rows of an output
    for (bool more = true; more;) {
      const size_t filled = builder_ == nullptr ? 0 : builder_->bytes();
      if (filled == 0)
        wanted = state_.host.segment_buffer_bytes() / std::max<size_t>(1, state_.host.merges().load());
      // The sizes of rows are known on average only: the first part of an output tells about the others.
      const size_t missing = wanted - std::min(filled, wanted);
      HAILSTONE_ASSIGN(more,
                       choose_rows(filled == 0 ? wanted / first_part : std::max(missing / 2, wanted / 8)));
      HAILSTONE_TRY(move_columns());
      if (builder_ != nullptr && (builder_->bytes() >= wanted - wanted / 16 ||
                                  builder_->rows() >= state_.host.segment_rows_limit())) {
        HAILSTONE_TRY(write_output());
      } else if (builder_ != nullptr && more && filled == 0) {
        wanted = builder_->room_for(wanted, wanted / least_part);
        builder_->reserve(wanted);
      }
    }
    HAILSTONE_TRY(write_output());
    for (const auto& input : inputs_) input->map.finish();
    return state_.host.sync_files();
  }

  /// Whether the row of `a` comes before that of `b`.
  static bool before(const KeyInput& a, const KeyInput& b) {
    if (a.head() != b.head()) return a.head() < b.head();
    const int order = a.key().compare(b.key());
    return order != 0 ? order < 0 : a.begin() > b.begin();
  }

  /// Opens the inputs whose turn has come: those that may hold the next key.
  Status open_inputs() {
    while (unopened_ < inputs_.size() &&
           (open_.empty() ||
            inputs_[unopened_]->segment->segment->first_key() <= inputs_[open_.front()]->keys->key())) {
      Input& input = *inputs_[unopened_];
      input.keys = std::make_unique<KeyInput>(*input.segment, *state_.keys);
      HAILSTONE_TRY(input.keys->start());
      open_.push_back(static_cast<uint32_t>(unopened_++));
      sift_up();
    }
    return {};
  }

  // `open_` is a heap: the input with the next row is in front.
  bool earlier(size_t a, size_t b) const {
    return before(*inputs_[open_[a]]->keys, *inputs_[open_[b]]->keys);
  }
  void sift_up() {
    for (size_t at = open_.size() - 1; at > 0 && earlier(at, (at - 1) / 2); at = (at - 1) / 2)
      std::swap(open_[at], open_[(at - 1) / 2]);
  }
  void sift_down() {
    for (size_t at = 0;;) {
      size_t least = at;
      for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < open_.size(); ++child) {
        if (earlier(child, least)) least = child;
      }
      if (least == at) return;
      std::swap(open_[at], open_[least]);
      at = least;
    }
  }

  /// Chooses the next rows, up to about `bytes` of them. False: there are no more.
  Result<bool> choose_rows(size_t bytes) {
    order_.clear();
    begins_.clear();
    for (const auto& input : inputs_) input->chosen.clear();
    uint64_t chosen_bytes = 0;
    const uint32_t room = state_.host.segment_rows_limit() - (builder_ == nullptr ? 0 : builder_->rows());
    const uint32_t most_rows = std::min(room, most_rows_chosen);
    for (uint32_t steps = 0;; ++steps) {
      if (steps % rows_between_stops == 0) HAILSTONE_TRY(check_stop());
      HAILSTONE_TRY(open_inputs());
      if (open_.empty()) return false;
      const uint32_t number = open_.front();
      Input& input = *inputs_[number];
      KeyInput& keys = *input.keys;
      // Versions of one key stay together where they can, so that segments of one merge do not overlap.
      const bool full = chosen_bytes >= bytes || order_.size() >= most_rows;
      if (order_.size() >= room || (full && keys.key() != last_key_)) return true;
      const Timestamp end = keys.end();
      if (snapshots_.may_see(keys.begin(), end)) {
        if (chosen_bytes + input.row_bytes >= bytes || order_.size() + 1 >= most_rows) last_key_ = keys.key();
        input.map.append(position_++);
        input.chosen.push_back(keys.row());
        order_.push_back(number);
        if (with_begin_) begins_.push_back(keys.begin());
        output_begin_ = std::max(output_begin_, keys.begin());
        chosen_bytes += input.row_bytes;
      } else {
        input.map.append_left_out();
      }
      HAILSTONE_TRY(keys.next());
      if (keys.at_end()) {
        input.keys.reset();
        open_.front() = open_.back();
        open_.pop_back();
      }
      sift_down();
    }
  }

  Status move_columns() {
    if (order_.empty()) return {};
    if (builder_ == nullptr) builder_ = std::make_unique<SegmentBuilder>(state_, with_begin_);
    chosen_memory_.clear();
    chosen_memory_.grow(order_.size() * (sizeof order_[0] + sizeof(uint32_t) + sizeof(Timestamp)));
    for (ColumnBuffer& column : builder_->columns()) {
      HAILSTONE_TRY(move_column(column));
    }
    builder_->add_rows(static_cast<uint32_t>(order_.size()));
    return {};
  }

  Status move_column(ColumnBuffer& to) {
    const StoredColumn& column = to.column();
    if (column.id == StoredColumn::begin) {
      for (const Timestamp begin : begins_) to.append_integer(begin);
      return {};
    }
    std::vector<std::unique_ptr<ColumnInput>> from(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = *inputs_[i];
      if (input.chosen.empty()) continue;
      // Of an input that was written before the column was added there is none.
      if (const auto position = input.segment->segment->find_column(column.id))
        from[i] = std::make_unique<ColumnInput>(input, *position, column.integer);
    }
    uint32_t moved = 0;
    for (const uint32_t input : order_) {
      if (++moved % rows_between_stops == 0) HAILSTONE_TRY(check_stop());
      if (from[input] != nullptr) [[likely]] {
        HAILSTONE_TRY(from[input]->move_next(to));
      } else if (column.id == StoredColumn::row_group) {
        to.append_bytes(empty_group());
      } else {
        to.append_null();
      }
    }
    return {};
  }

  /// A row group of NULLs.
  ByteView empty_group() {
    if (empty_group_.empty()) {
      const std::vector<Value> values(state_.layout->group_columns().size());
      // NULLs fit into any row.
      static_cast<void>(state_.layout->group_codec().encode(values, empty_group_));
    }
    return empty_group_;
  }

  Status write_output() {
    if (builder_ == nullptr || builder_->rows() == 0) return {};
    // First, as a file that is there must not be forgotten.
    outputs_.reserve(outputs_.size() + 1);
    const FileIdentity file = state_.host.new_file(state_.id);
    const uint32_t rows = builder_->rows();
    HAILSTONE_TRY(builder_->write(file, false, [this] { return yield_or_stop(); }));
    builder_->clear();
    HAILSTONE_ASSIGN(auto segment, open_written_segment(state_, file.file, with_begin_ ? output_begin_ : 0));
    outputs_.push_back({std::move(segment), position_ - rows});
    output_begin_ = 0;
    return {};
  }

  void publish() {
    std::list<Table::State::Obsolete> obsolete;
    for (const auto& input : inputs_) obsolete.push_back({0, 0, input->segment});
    for (const auto& segment : dead_) obsolete.push_back({0, 0, segment});
    for (const auto& file : obsolete) gone_.push_back(file.segment);
    for (const Output& output : outputs_) added_.push_back(output.segment);
    {
      const MutexLock write_guard(state_.write_mutex());
      const ExclusiveLock guard(state_.latch());
      try {
        replace_inputs();
      } catch (const std::bad_alloc&) {
        for (const auto& input : inputs_) input->segment->forwards.clear();
        throw;
      }
    }
    const MutexLock files_guard(state_.files_mutex);
    for (auto& file : obsolete) {
      file.generation = state_.generation.load();
      const SharedLock guard(file.segment->latch());
      file.delete_vector = file.segment->ends_file;
    }
    state_.obsolete.splice(state_.obsolete.end(), obsolete);
    state_.host.counters().segments.fetch_add(outputs_.size() - inputs_.size() - dead_.size(),
                                              std::memory_order_relaxed);
    count(state_.host.counters().merges);
  }

  /// In the table's view.
  void replace_inputs() HAILSTONE_REQUIRES(table_write_mutex, table_latch) {
    auto next = std::make_shared<TableView>(*state_.current_view());
    LockManager& locks = state_.host.locks();
    for (const auto& input : inputs_) {
      TableSegment& old = *input->segment;
      old.ends->for_each([&](uint32_t ordinal, Timestamp end) HAILSTONE_REQUIRES(table_latch) {
        const auto [segment, row] = moved(*input, ordinal);
        if (segment == nullptr) return;
        segment->ends->set(row, end);
        if (is_marker(end)) old.forwards[ordinal] = {segment, row};
      });
      locks.follow_rows(old, [&](uint64_t slot) -> VersionPlace {
        const auto [segment, row] = moved(*input, static_cast<uint32_t>(slot));
        return {.store = segment, .slot = row};
      });
    }
    state_.generation.fetch_add(1, std::memory_order_release);
    state_.set_view(std::move(next), gone_, added_);
    for (const auto& input : inputs_) locks.forget_rows(*input->segment);
    for (const auto& segment : dead_) locks.forget_rows(*segment);
  }

  /// Where a row of an input is now; null: it was left out.
  TableSegment::Forward moved(const Input& input, uint32_t ordinal) const {
    const std::optional<uint64_t> position = input.map.position(ordinal);
    if (!position) return {};
    const auto after = std::upper_bound(outputs_.begin(), outputs_.end(), *position,
                                        [](uint64_t at, const Output& output) { return at < output.first; });
    const Output& output = *std::prev(after);
    return {output.segment, static_cast<uint32_t>(*position - output.first)};
  }

  /// What is chosen first for an output is this part of it.
  static constexpr size_t first_part = 8;
  /// With little memory an output is at least this part of what it would be, more than segments that are
  /// merged as they are small.
  static constexpr size_t least_part = 4;
  static constexpr uint32_t most_rows_chosen = 1 << 20;
  static constexpr uint32_t rows_between_stops = 4096;

  Table::State& state_;
  const StopToken& stop_;
  const SnapshotsInUse snapshots_;
  const Timestamp forgotten_;                   // begins up to here are not kept
  std::vector<std::unique_ptr<Input>> inputs_;  // by first key
  TableSegments dead_;                          // further inputs, of which nothing stays
  TableSegments gone_, added_;                  // all inputs; the outputs
  size_t unopened_ = 0;                         // the first input that was not opened
  std::vector<uint32_t> open_;                  // inputs that were opened and have rows left
  bool with_begin_ = false;

  // The rows chosen last: the input of each, in their order.
  std::vector<uint32_t> order_;
  std::vector<Timestamp> begins_;
  std::string last_key_;
  Reservation chosen_memory_;

  std::unique_ptr<SegmentBuilder> builder_;
  std::string empty_group_;
  Timestamp output_begin_ = 0;
  uint64_t position_ = 0;
  std::vector<Output> outputs_;
};

}  // namespace

bool is_dead(const TableSegment& segment, const SnapshotsInUse& snapshots) {
  const SharedLock guard(segment.latch());
  if (segment.ends->count() != segment.rows()) return false;
  bool seen = false;
  // Whatever their begins are.
  segment.ends->for_each([&](uint32_t, Timestamp end) { seen = seen || snapshots.may_see(0, end); });
  return !seen;
}

Status merge_segments(Table::State& state, const TableSegments& inputs, const StopToken& stop) {
  return Merge(state, inputs, stop).run();
}

}  // namespace hailstone
