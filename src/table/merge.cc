// Merging segments: fewer places to look for a key in, and no room for dead rows.
//
// Which: a segment of which a good part is dead; many small ones; or those that meet at the key where most
// segments overlap, the widest of them first, so that rows are written again only once for each doubling or
// so of the table (tiers). Segments that overlap no other are left alone.
#include <algorithm>
#include <limits>
#include <map>

#include "base/scheduler.h"
#include "table/delete_vector_file.h"
#include "table/segment_builder.h"

namespace hailstone {

namespace {

constexpr size_t most_overlapping = 8;
constexpr size_t most_small = 32;
constexpr uint64_t small_share = 8;  // a small segment is less than this part of a full one
constexpr uint64_t most_dead_percent = 30;
constexpr uint32_t unmapped = ~uint32_t{0};
constexpr uint32_t steps_between_yields = 4096;

ByteView first_key(const TableSegment& segment) { return segment.segment->first_key(); }
ByteView last_key(const TableSegment& segment) { return segment.segment->last_key(); }
bool overlap(const TableSegment& a, const TableSegment& b) {
  return first_key(a) <= last_key(b) && first_key(b) <= last_key(a);
}

Segments mergeable_segments(const Table::State& state, const SegmentClaims::IsClaimed& is_claimed) {
  Segments result;
  for (const auto& segment : state.current_view()->segments) {
    if (!is_marker(segment->shared_begin()) && !is_claimed(*segment)) result.push_back(segment);
  }
  return result;
}

/// Segments that meet at the key where most do.
Segments deepest(Segments segments) {
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return first_key(*a) < first_key(*b); });
  Segments open, best;
  for (const auto& segment : segments) {
    std::erase_if(open, [&](const auto& other) { return last_key(*other) < first_key(*segment); });
    open.push_back(segment);
    if (open.size() > best.size()) best = open;
  }
  return best;
}

/// The rows of one segment that is merged, in key order.
struct MergeInput {
  MergeInput(std::shared_ptr<TableSegment> merged, const TableKeys& table_keys, MemoryBudget& budget)
      : segment(std::move(merged)),
        keys(*segment, table_keys, SegmentKeys::clustered),
        memory(budget),
        positions(segment->rows(), unmapped) {
    memory.grow(positions.size() * sizeof(uint32_t));
  }
  Status read() {
    if (ordinal >= segment->rows()) return {};
    HAILSTONE_TRY(keys.key(ordinal, key));
    HAILSTONE_ASSIGN(begin, segment->begin_of(ordinal));
    return {};
  }
  bool at_end() const { return ordinal >= segment->rows(); }

  std::shared_ptr<TableSegment> segment;
  SegmentKeys keys;
  Reservation memory;
  std::vector<uint32_t> positions;  // of each row in the output; `unmapped`: left out
  uint32_t ordinal = 0;
  std::string key;
  Timestamp begin = 0;
};

/// One merge: reads the inputs, writes the outputs, publishes them in place of the inputs.
class Merge {
 public:
  /// `segments` are claimed by the caller.
  Merge(Table::State& state, const Segments& segments, const StopToken& stop)
      : state_(state),
        stop_(stop),
        snapshots_(state.host.transactions().snapshots_in_use()),
        forgotten_(state.forgettable_begin(snapshots_.oldest())) {
    for (const auto& segment : segments) {
      inputs_.push_back(std::make_unique<MergeInput>(segment, *state.keys, state.host.budget()));
    }
    state.host.merges().fetch_add(1, std::memory_order_relaxed);
  }
  ~Merge() { state_.host.merges().fetch_sub(1, std::memory_order_relaxed); }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  Status run() {
    const Status merged = merge();
    if (merged) {
      publish();
    } else {
      for (const Output& output : outputs_) output.segment->segment->remove_when_unused();
    }
    return merged;
  }

 private:
  struct Output {
    std::shared_ptr<TableSegment> segment;
    uint32_t first = 0;  // position of its first row
  };

  Status merge() {
    for (const auto& input : inputs_) {
      HAILSTONE_TRY(input->read());
      // A segment's own begin is the newest of its rows', also when they have each their own.
      with_begin_ = with_begin_ || input->segment->shared_begin() > forgotten_;
    }
    Batch scratch;
    std::string row;
    for (uint32_t steps = 0;; ++steps) {
      if (steps % steps_between_yields == 0 && yield_or_stop())
        return fail(ErrorCode::Interrupted, "a merge was interrupted");
      MergeInput* next = nullptr;
      for (const auto& input : inputs_) {
        if (input->at_end()) continue;
        if (next == nullptr) {
          next = input.get();
          continue;
        }
        const int order = input->key.compare(next->key);
        if (order < 0 || (order == 0 && input->begin > next->begin)) next = input.get();
      }
      if (next == nullptr) break;
      Timestamp end = infinity;
      {
        const std::shared_lock guard(*state_.latch);
        end = next->segment->ends->end(next->ordinal);
      }
      if (snapshots_.may_see(next->begin, end)) {
        scratch.clear();
        HAILSTONE_TRY(Projection::read_encoded(next->segment->columns, next->ordinal, scratch, row));
        HAILSTONE_TRY(append(*next, row));
      }
      ++next->ordinal;
      HAILSTONE_TRY(next->read());
    }
    HAILSTONE_TRY(write_output());
    return state_.host.sync_files();
  }

  /// Between two steps: work that is more urgent goes first.
  bool yield_or_stop() const {
    Scheduler::yield();
    return stop_.stop_requested();
  }

  size_t buffer_bytes() const {
    return state_.host.segment_buffer_bytes() / std::max<size_t>(1, state_.host.merges());
  }

  Status append(MergeInput& input, ByteView row) {
    if (builder_ != nullptr) {
      // Versions of one key stay together where they can, so that segments of one merge do not overlap.
      const bool full = builder_->rows() >= state_.host.segment_rows_limit();
      if (full || (builder_->bytes() >= buffer_bytes() && input.key != last_key_))
        HAILSTONE_TRY(write_output());
    }
    if (builder_ == nullptr) builder_ = std::make_unique<SegmentBuilder>(state_, with_begin_);
    input.positions[input.ordinal] = position_++;
    builder_->append(row, row_id_of(input.key), input.begin);
    last_key_ = input.key;
    output_begin_ = std::max(output_begin_, input.begin);
    return {};
  }

  Status write_output() {
    if (builder_ == nullptr) return {};
    const FileIdentity file = state_.host.new_file(state_.id);
    const uint32_t rows = builder_->rows();
    HAILSTONE_TRY(builder_->write(file, false, [this] { return yield_or_stop(); }));
    builder_.reset();
    HAILSTONE_ASSIGN(auto segment, open_written_segment(state_, file.file, with_begin_ ? output_begin_ : 0));
    outputs_.push_back({std::move(segment), position_ - rows});
    output_begin_ = 0;
    return {};
  }

  void publish() {
    {
      const std::lock_guard write_guard(state_.write_mutex);
      const std::unique_lock guard(*state_.latch);
      auto next = std::make_shared<TableView>(*state_.current_view());
      for (const auto& input : inputs_) {
        TableSegment& old = *input->segment;
        old.ends->for_each([&](uint32_t ordinal, Timestamp end) {
          const uint32_t position = input->positions[ordinal];
          if (position == unmapped) return;
          const auto after =
              std::upper_bound(outputs_.begin(), outputs_.end(), position,
                               [](uint32_t at, const Output& output) { return at < output.first; });
          const Output& output = *std::prev(after);
          output.segment->ends->set(position - output.first, end);
          if (is_marker(end)) old.forwards[ordinal] = {output.segment, position - output.first};
        });
        std::erase(next->segments, input->segment);
      }
      for (const Output& output : outputs_) next->segments.push_back(output.segment);
      state_.generation.fetch_add(1, std::memory_order_release);
      state_.set_view(std::move(next));
    }
    const std::lock_guard files_guard(state_.files_mutex);
    for (const auto& input : inputs_) {
      state_.obsolete.push_back({state_.generation.load(), input->segment->ends_file, input->segment});
    }
    state_.host.counters().segments.fetch_add(outputs_.size() - inputs_.size(), std::memory_order_relaxed);
    count(state_.host.counters().merges);
  }

  Table::State& state_;
  const StopToken& stop_;
  const SnapshotsInUse snapshots_;
  const Timestamp forgotten_;  // begins up to here are not kept
  std::vector<std::unique_ptr<MergeInput>> inputs_;
  bool with_begin_ = false;
  std::unique_ptr<SegmentBuilder> builder_;
  std::string last_key_;
  Timestamp output_begin_ = 0;
  uint32_t position_ = 0;
  std::vector<Output> outputs_;
};

/// No row of the ordinal's block began before this.
Timestamp least_begin(const TableSegment& segment, uint32_t ordinal) {
  if (segment.columns.begin() < 0) return 0;
  return segment.segment->summary(static_cast<size_t>(segment.columns.begin()), ordinal / block_rows).low;
}

/// What to merge now of what is not claimed; empty: nothing.
Segments choose(const Table::State& state, const SegmentClaims::IsClaimed& is_claimed) {
  const Segments all = mergeable_segments(state, is_claimed);
  {
    const std::shared_lock guard(*state.latch);
    for (const auto& segment : all) {
      if (uint64_t{segment->ends->count()} * 100 <= uint64_t{segment->rows()} * most_dead_percent) continue;
      // Ends that a snapshot in use still needs, or that are not committed, free nothing.
      const SnapshotsInUse snapshots = state.host.transactions().snapshots_in_use();
      uint64_t dead = 0;
      segment->ends->for_each([&](uint32_t ordinal, Timestamp end) {
        if (!snapshots.may_see(least_begin(*segment, ordinal), end)) ++dead;
      });
      if (dead * 100 > uint64_t{segment->rows()} * most_dead_percent) return {segment};
    }
  }
  const uint64_t small_bytes = state.host.segment_buffer_bytes() / small_share;
  Segments small;
  for (const auto& segment : all) {
    if (segment->segment->unpacked_bytes() < small_bytes) small.push_back(segment);
  }
  if (small.size() > most_small) {
    std::sort(small.begin(), small.end(),
              [](const auto& a, const auto& b) { return first_key(*a) < first_key(*b); });
    small.resize(most_small);
    return small;
  }
  Segments meeting = deepest(all);
  if (meeting.size() <= most_overlapping) return {};
  std::map<const TableSegment*, size_t> neighbours;
  for (const auto& segment : meeting) {
    for (const auto& other : all)
      if (overlap(*segment, *other)) ++neighbours[segment.get()];
  }
  std::stable_sort(meeting.begin(), meeting.end(),
                   [&](const auto& a, const auto& b) { return neighbours[a.get()] > neighbours[b.get()]; });
  meeting.resize(most_overlapping);
  return meeting;
}

}  // namespace

bool Table::State::merge_due() const {
  return !claims.look([this](const auto& is_claimed) { return choose(*this, is_claimed); }).empty();
}

Result<bool> Table::merge(const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  {
    const auto claim = state.claims.claim([&](const auto& is_claimed) { return choose(state, is_claimed); });
    if (!claim) return false;
    HAILSTONE_TRY(state.noted(Merge(state, claim->segments(), stop).run()));
  }
  HAILSTONE_TRY(state.host.record_state(*this));
  return state.merge_due();
}

Status Table::optimize(const StopToken& stop) {
  HAILSTONE_TRY(flush(true));
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  {
    const auto all = [&](const auto& is_claimed) { return mergeable_segments(state, is_claimed); };
    HAILSTONE_ASSIGN(const auto claim, state.claims.claim_all(all, stop));
    const Segments& segments = claim.segments();
    if (segments.empty()) return {};
    bool useful = segments.size() > 1;
    {
      const std::shared_lock guard(*state.latch);
      useful = useful || !segments.front()->ends->empty() || segments.front()->columns.begin() >= 0;
    }
    if (!useful) return {};
    HAILSTONE_TRY(state.noted(Merge(state, segments, stop).run()));
  }
  return state.host.record_state(*this);
}

}  // namespace hailstone
