#include "table/block_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/processor_turns.h"
#include "table/helpers.h"

namespace hailstone {

BlockScan::BlockScan(Table::State& table, std::shared_ptr<const TableView> view,
                     std::shared_ptr<const Predicate> predicate, Visibility visibility)
    : table_(table),
      view_(std::move(view)),
      predicate_(std::move(predicate)),
      visibility_(std::move(visibility)),
      always_(predicate_->kind() == Predicate::Kind::Always) {
  uint64_t blocks = 0;
  starts_.reserve(view_->segments.size() + 1);
  if (!always_) filters_ = std::make_unique<Filter[]>(view_->segments.size());
  for (size_t i = 0; i < view_->segments.size(); ++i) {
    const uint32_t own = view_->segments[i]->segment->blocks();
    starts_.push_back(blocks);
    if (!always_) filters_[i].blocks_left.store(own, std::memory_order_relaxed);
    blocks += own;
  }
  starts_.push_back(blocks);
}

size_t BlockScan::segment_of(uint64_t number) const {
  return static_cast<size_t>(std::ranges::upper_bound(starts_, number) - starts_.begin()) - 1;
}

Result<BlockScan::Summary> BlockScan::summary_of(uint64_t number) {
  const size_t segment = segment_of(number);
  const auto block = static_cast<uint32_t>(number - starts_[segment]);
  Summary summary{.outcome = BlockOutcome::All, .rows = rows_in_block(segment, block)};
  if (always_) return summary;
  HAILSTONE_ASSIGN(const SegmentFilter* const filter, filter_of(segment));
  const auto& indexed = filters_[segment].indexed;
  if (filter->excludes_segment() || (indexed && indexed->rows_between(block, block + 1) == 0)) {
    summary.outcome = BlockOutcome::None;
  } else {
    summary.outcome = indexed ? BlockOutcome::Some : filter->outcome_of(block);
  }
  return summary;
}

Result<const SegmentFilter*> BlockScan::filter_of(size_t segment) {
  Filter& filter = filters_[segment];
  std::call_once(filter.once, [&] { prepare(segment, filter); });
  if (!*filter.prepared) return std::unexpected(filter.prepared->error());
  return &**filter.prepared;
}

void BlockScan::prepare(size_t segment, Filter& filter) const {
  const TableSegment& place = *view_->segments[segment];
  std::shared_ptr<const Predicate> predicate = predicate_;
  auto indexed = IndexedRows::find(*predicate_, place, *table_.keys);
  if (!indexed) {
    filter.prepared.emplace(std::unexpected(std::move(indexed).error()));
    return;
  }
  filter.indexed = *std::move(indexed);
  if (filter.indexed) predicate = std::make_shared<const Predicate>(filter.indexed->rest());
  filter.prepared.emplace(SegmentFilter::prepare(predicate, place.columns, table_.host.counters()));
}

void BlockScan::finish_blocks(size_t segment, uint32_t block, uint32_t blocks, bool prepared) {
  if (counts_ != nullptr && prepared && filters_[segment].indexed) {
    counts_->add_rows(filters_[segment].indexed->rows_between(block, block + blocks), 0);
  } else if (counts_ != nullptr) {
    const uint64_t rows = view_->segments[segment]->rows();
    const uint64_t first = uint64_t{block} * block_rows, behind = uint64_t{block + blocks} * block_rows;
    counts_->add_rows(std::min(rows, behind) - std::min(rows, first), 0);
  }
  if (always_) return;
  Filter& filter = filters_[segment];
  if (filter.blocks_left.fetch_sub(blocks, std::memory_order_acq_rel) != blocks) return;
  filter.prepared.reset();
  filter.indexed.reset();
}

BlockScan::Worker::Worker(BlockScan& scan, std::function<bool()> stop)
    : scan_(scan), stop_(std::move(stop)) {}

void BlockScan::Worker::enter(uint64_t number) {
  segment_ = scan_.segment_of(number);
  reader_.emplace(segment()->columns);
  filter_ = nullptr;
}

Result<bool> BlockScan::Worker::next(uint64_t& number, uint64_t last) {
  const OperatorWork work(scan_.counts_);
  return look_for_block(number, last);
}

Result<bool> BlockScan::Worker::look_for_block(uint64_t& number, uint64_t last) {
  Counters& counters = scan_.table_.host.counters();
  while (number < last) {
    if (segment_ == ~size_t{0} || number < scan_.starts_[segment_] || number >= scan_.starts_[segment_ + 1])
      enter(number);
    const TableSegment& place = *segment();
    const uint64_t end = std::min(scan_.starts_[segment_ + 1], last);
    const auto left = static_cast<uint32_t>(end - number);
    block_ = static_cast<uint32_t>(number - scan_.starts_[segment_]);
    if (place.columns.begin() < 0 && !scan_.visibility_.candidates &&
        !scan_.visibility_.snapshot.includes(place.shared_begin())) {
      scan_.finish_blocks(segment_, block_, left, false);
      number = end;
      continue;
    }
    if (scan_.bound_ != nullptr && scan_.bound_->excludes(place.columns, block_)) {
      // Before the filter: a segment that the bound leaves nothing of needs none.
      HAILSTONE_TRY(check_stop());
      count(counters.blocks_skipped);
      scan_.finish_blocks(segment_, block_, 1, false);
      ++number;
      continue;
    }
    if (!scan_.always_ && filter_ == nullptr) {
      HAILSTONE_ASSIGN(filter_, scan_.filter_of(segment_));
    }
    if (filter_ != nullptr && filter_->excludes_segment()) {
      for (uint32_t i = 0; counts_met_ && i < left; ++i) {
        HAILSTONE_TRY(check_stop());
        HAILSTONE_TRY(meet_block(block_ + i));
      }
      count(counters.blocks_skipped, left);
      scan_.finish_blocks(segment_, block_, left, true);
      number = end;
      continue;
    }
    ++number;
    HAILSTONE_TRY(check_stop());
    if (counts_met_) HAILSTONE_TRY(meet_block(block_));
    HAILSTONE_ASSIGN(const bool taken, take_block());
    // The filter may be gone from here on.
    scan_.finish_blocks(segment_, block_, 1, filter_ != nullptr);
    if (number == scan_.starts_[segment_ + 1]) filter_ = nullptr;
    if (taken) return true;
  }
  return false;
}

Status BlockScan::Worker::check_stop() const {
  if (!stop_ || !stop_()) return {};
  return scan_.interrupted();
}

std::unexpected<Error> BlockScan::interrupted() const {
  return fail(ErrorCode::Interrupted,
              fmt::format("interrupted while scanning table {}", table_.definition().name));
}

Status BlockScan::Worker::meet_block(uint32_t block) {
  met_before_ += met_.count();
  met_.set_first(rows_in_block(block));
  return mask_rows(*segment(), *scan_.table_.keys, *reader_, block, scan_.visibility_, met_);
}

Result<bool> BlockScan::Worker::take_block() {
  const TableSegment& place = *segment();
  if (scan_.always_) {
    const uint32_t rows = rows_in_block(block_);
    rows_.set_first(rows);
    count(scan_.table_.host.counters().rows_scanned, rows);
  } else {
    const auto& indexed = scan_.filters_[segment_].indexed;
    if (!indexed) {
      rows_.set_first(rows_in_block(block_));
    } else if (indexed->take_block(block_, rows_) == 0) {
      count(scan_.table_.host.counters().blocks_skipped);
      return false;
    }
    if (filter_->excludes_block(block_)) return false;
    HAILSTONE_TRY(filter_->evaluate(*reader_, block_, rows_));
    if (rows_.none()) return false;
  }
  HAILSTONE_TRY(mask_rows(place, *scan_.table_.keys, *reader_, block_, scan_.visibility_, rows_));
  return !rows_.none();
}

namespace {

/// Blocks that a thread takes at a time: enough to make taking them cheap, and more where they have no rows.
constexpr uint32_t blocks_at_once = 4, most_blocks_at_once = 32;
/// Of a lane, so that its last blocks are not one thread's.
constexpr uint64_t part_taken_at_once = 8;
/// For so long the caller's thread works alone: what ends sooner, as most blocks are ruled out, wakes nobody.
constexpr std::chrono::microseconds alone_for{100};
/// Waking a thread pays from about so many blocks for each.
constexpr uint32_t blocks_worth_a_thread = 16;
/// Versions of a delta are as much work as the rows of a block.
constexpr uint32_t versions_like_a_block = 1024;

/// What the threads of one pass share: the blocks of all scans, numbered one after the other.
class SharedWork {
 public:
  SharedWork(std::span<BlockScan* const> scans, unsigned threads, const std::function<bool()>& stop,
             const TakeBlock& take, const TakeRest& rest)
      : scans_(scans),
        stop_(stop),
        take_(take),
        rest_(rest),
        lanes_(scans.front()->has_bound() ? 1 : std::max(1U, threads)) {
    for (const BlockScan* scan : scans) {
      starts_.push_back(blocks_);
      blocks_ += scan->blocks();
    }
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].next.store(blocks_ * i / lanes_.size(), std::memory_order_relaxed);
      lanes_[i].end = blocks_ * (i + 1) / lanes_.size();
    }
  }

  /// For a moment, and until there is a block with rows, on the caller's thread.
  void begin() noexcept {
    const auto end = std::chrono::steady_clock::now() + alone_for;
    const auto goes_on = [end](bool found) { return !found && std::chrono::steady_clock::now() < end; };
    if (Status status = guarded([&] { return take_blocks(0, goes_on); }); !status)
      fail_with(std::move(status).error());
  }
  uint64_t blocks_left() const {
    uint64_t left = 0;
    for (const Lane& lane : lanes_) left += lane.left();
    return left;
  }
  void work(unsigned part) noexcept {
    const std::function<Status()> go_on = [this, part]() -> Status {
      if (stopped_.load(std::memory_order_relaxed) || (part == 0 && stop_ && stop_()))
        return scans_.front()->interrupted();
      return {};
    };
    Status status = guarded([&]() -> Status {
      HAILSTONE_TRY(take_blocks(part, [](bool) { return true; }));
      return rest_(part, go_on);
    });
    if (!status) fail_with(std::move(status).error());
  }
  /// Whether the others are to stop: asked by the thread that waits for them.
  void look() noexcept {
    if (stopped_.load(std::memory_order_relaxed) || !stop_ || !stop_()) return;
    fail_with(guarded([&]() -> Status { return scans_.front()->interrupted(); }).error());
  }
  /// Once no thread works any more.
  Status outcome() {
    const MutexLock guard(mutex_);
    if (failure_) return std::unexpected(std::move(*failure_));
    return {};
  }

 private:
  /// Blocks side by side, of which threads take the next ones.
  struct alignas(64) Lane {
    std::atomic<uint64_t> next{0};
    uint64_t end = 0;

    uint64_t left() const { return end - std::min(end, next.load(std::memory_order_relaxed)); }
  };

  void fail_with(Error&& error) noexcept {
    const MutexLock guard(mutex_);
    if (!failure_) failure_.emplace(std::move(error));
    stopped_.store(true, std::memory_order_relaxed);
  }

  /// `goes_on` is asked before blocks are taken, and told whether those taken last had rows.
  template <class GoesOn>
  Status take_blocks(unsigned part, const GoesOn& goes_on) {
    std::optional<BlockScan::Worker> worker;
    size_t at = scans_.size();  // the worker's scan
    bool found_rows = false;
    const auto take_some = [&](size_t scan, uint64_t number, uint64_t last) -> Status {
      if (at != scan) {
        worker.emplace(*scans_[scan], part == 0 ? stop_ : std::function<bool()>());
        if (OperatorCounts* const counts = scans_[scan]->counts(); counts != nullptr) counts->add_part(part);
      }
      at = scan;
      for (;;) {
        ProcessorTurns::check();
        answer_helpers();
        HAILSTONE_ASSIGN(const bool found, worker->next(number, last));
        if (!found) return {};
        found_rows = true;
        HAILSTONE_TRY(take_(part, scan, *worker));
      }
    };
    uint64_t at_once = blocks_at_once;
    for (size_t lanes = lanes_.size(); lanes > 0 && !stopped_.load(std::memory_order_relaxed);) {
      if (!goes_on(found_rows)) return {};
      Lane& lane = lanes_[(part + lanes) % lanes_.size()];
      const auto wanted = std::clamp<uint64_t>(lane.left() / part_taken_at_once, blocks_at_once, at_once);
      const uint64_t taken = lane.next.fetch_add(wanted, std::memory_order_relaxed);
      if (taken >= lane.end) {
        --lanes;
        continue;
      }
      found_rows = false;
      const uint64_t end = std::min(taken + wanted, lane.end);
      const bool backwards = scans_.front()->goes_backwards();
      uint64_t first = backwards ? blocks_ - end : taken;
      const uint64_t last = backwards ? blocks_ - taken : end;
      const auto behind = std::ranges::upper_bound(starts_, first);
      for (auto scan = static_cast<size_t>(behind - starts_.begin()) - 1; first < last; ++scan) {
        const uint64_t start = starts_[scan], stop = std::min(last, start + scans_[scan]->blocks());
        if (first >= stop) continue;
        HAILSTONE_TRY(scans_[scan]->noted(take_some(scan, first - start, stop - start)));
        first = stop;
      }
      at_once = found_rows ? blocks_at_once : std::min<uint64_t>(2 * at_once, most_blocks_at_once);
    }
    return {};
  }

  const std::span<BlockScan* const> scans_;
  const std::function<bool()>& stop_;
  const TakeBlock& take_;
  const TakeRest& rest_;
  std::vector<uint64_t> starts_;  // number of each scan's first block
  uint64_t blocks_ = 0;
  std::vector<Lane> lanes_;
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  std::optional<Error> failure_ HAILSTONE_GUARDED_BY(mutex_);  // the first
};

unsigned threads_for(uint64_t blocks, uint64_t versions, unsigned most) {
  const uint64_t worthwhile = (blocks + versions / versions_like_a_block) / blocks_worth_a_thread;
  return static_cast<unsigned>(std::clamp<uint64_t>(worthwhile, 1, most));
}

}  // namespace

unsigned worthwhile_threads(std::span<BlockScan* const> scans, uint64_t versions, unsigned threads) {
  uint64_t blocks = 0;
  for (const BlockScan* scan : scans) blocks += scan->blocks();
  return threads_for(blocks, versions, threads);
}

Status for_each_block(TableHost& host, std::span<BlockScan* const> scans, uint64_t versions, unsigned threads,
                      const std::function<bool()>& stop, const TakeBlock& take, const TakeRest& rest) {
  SharedWork shared(scans, threads, stop, take, rest);
  if (threads > 1) {
    shared.begin();
    threads = threads_for(shared.blocks_left(), versions, threads);
  }
  run_with_helpers(
      host, threads, [&](unsigned part) { shared.work(part); }, [&] { shared.look(); });
  return shared.outcome();
}

}  // namespace hailstone
