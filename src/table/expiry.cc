// Rows whose retention is over end here (docs/retention.md): those in deltas one by one, as any statement
// would delete them; those in segments by their ordinals, many under one hold of the write mutex. The log has
// a Delete operation for each row, as replay must not depend on where a row lives.
#include <algorithm>

#include "base/scheduler.h"
#include "column/segment_filter.h"
#include "log/operation.h"
#include "table/key_search.h"
#include "table/segment_builder.h"
#include "table/segment_merge.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

/// Rows of a segment that one transaction ends: writers wait for a few milliseconds.
constexpr uint32_t most_segment_rows = 1U << 15;
constexpr size_t most_runs = 1U << 14;
/// Rows of deltas that one transaction ends.
constexpr size_t most_delta_rows = 1000;
/// Versions of a delta that are looked at under the latch.
constexpr size_t most_versions = 4096;

/// Rows of a segment, by ordinal.
struct RowRun {
  uint32_t first = 0, count = 0;
};

class Expiry {
 public:
  Expiry(Table& table, Table::State& state, const Retention& retention, const ExpiredValues& values,
         const StopToken& stop)
      : table_(table),
        state_(state),
        retention_(retention),
        stop_(stop),
        predicate_(std::make_shared<const Predicate>(
            Predicate::integer(retention.column, {IntegerRange{values.low, values.high}}))) {}

  const Table::Expired& done() const { return done_; }

  Status run() {
    // What a flush takes from the deltas meanwhile is met in segments.
    HAILSTONE_TRY(expire_deltas());
    HAILSTONE_TRY(expire_segments());
    done_.again = done_.again || outdated_;
    if (view_changed_) HAILSTONE_TRY(state_.host.record(table_));
    if (state_.merge_due()) state_.host.request_merge(table_.shared_from_this());
    return {};
  }

 private:
  std::unique_ptr<Transaction> begin() {
    auto transaction = state_.host.transactions().begin(Isolation::ReadCommitted);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds::zero());
    transaction->set_interruption_check([stop = stop_] { return stop.stop_requested(); });
    return transaction;
  }

  /// False: a transaction has locked the whole table, or its rows expire otherwise by now.
  Result<bool> lock_table(Transaction& transaction) {
    const Status locked =
        state_.host.locks().lock_table(transaction, state_.id, TableLockMode::IntentionExclusive);
    if (locked) {
      outdated_ = state_.definition().retention != retention_;
      return !outdated_;
    }
    if (gives_way(locked.error())) return false;
    return std::unexpected(locked.error());
  }

  static bool gives_way(const Error& error) {
    return error.code() == ErrorCode::LockWaitTimeout || error.code() == ErrorCode::Deadlock;
  }

  /// Between two steps, without any mutex.
  Status check_stop() const {
    Scheduler::yield();
    if (!stop_.stop_requested()) return {};
    return fail(ErrorCode::Interrupted,
                "looking for expired rows of table " + state_.definition().name + " was interrupted");
  }

  // --- deltas

  Status expire_deltas() {
    const auto view = state_.current_view();
    std::vector<std::string> keys;
    for (const auto& delta : view->deltas) {
      std::string last;
      for (bool more = true; more && !outdated_;) {
        HAILSTONE_TRY(check_stop());
        more = collect(*delta, last, keys);
        if (keys.size() < most_delta_rows && more) continue;
        HAILSTONE_TRY(erase(keys));
        keys.clear();
      }
    }
    return {};
  }

  /// Appends the keys of committed live rows behind `last` that have expired. False: there are no more.
  bool collect(const TableDelta& delta, std::string& last, std::vector<std::string>& keys) const {
    const RowCodec& codec = state_.layout->row_codec();
    const SharedLock guard(state_.latch());
    const auto& tree = delta.rows.clustered();
    auto entry = last.empty() ? tree.begin() : tree.upper_bound(last);
    for (size_t looked_at = 0; entry != tree.end(); ++entry) {
      const Version& newest = *entry.version();
      if (looked_at++ == most_versions) return true;
      last = newest.key();
      const auto [begin, end] = newest.span();
      if (is_marker(begin) || end != infinity) continue;
      if (predicate_->matches(codec, newest.row())) keys.emplace_back(newest.key());
    }
    return false;
  }

  Status erase(std::span<const std::string> keys) {
    for (size_t first = 0; first < keys.size(); first += most_delta_rows) {
      HAILSTONE_TRY(check_stop());
      HAILSTONE_TRY(erase_at_once(keys.subspan(first, std::min(most_delta_rows, keys.size() - first))));
    }
    return {};
  }

  Status erase_at_once(std::span<const std::string> keys) {
    const auto transaction = begin();
    HAILSTONE_ASSIGN(const bool locked, lock_table(*transaction));
    if (!locked) {
      done_.locked += keys.size();
      return {};
    }
    uint64_t erased = 0;
    for (const std::string& key : keys) {
      HAILSTONE_ASSIGN(const RowPlace place,
                       state_.lock_newest(*transaction, key, ReadLock::ExclusiveSkippingLocked));
      if (!place.found()) {
        ++done_.locked;
        continue;
      }
      // It may have another value since, or be in a segment.
      const bool expired =
          place.version != nullptr && predicate_->matches(state_.layout->row_codec(), place.version->row());
      if (!expired) {
        table_.unlock_row(*transaction, key);
        continue;
      }
      const Status status = table_.erase(*transaction, key);
      if (status) {
        ++erased;
      } else if (gives_way(status.error())) {
        ++done_.locked;
      } else {
        return status;
      }
    }
    HAILSTONE_TRY(state_.host.transactions().commit(*transaction));
    done_.rows += erased;
    return {};
  }

  // --- segments

  Status expire_segments() {
    const auto view = state_.current_view();
    for (const auto& segment : view->segments) {
      if (outdated_) break;
      HAILSTONE_TRY(check_stop());
      if (is_marker(segment->shared_begin())) continue;  // of an open transaction
      HAILSTONE_ASSIGN(
          const SegmentFilter filter,
          state_.noted(SegmentFilter::prepare(predicate_, segment->columns, state_.host.counters())));
      if (filter.excludes_segment()) continue;
      const auto claim = state_.claims.claim([&](const auto& claimed) -> TableSegments {
        if (claimed.contains(segment.get()) || !is_in_table(segment)) return {};
        return {segment};
      });
      if (!claim) {
        done_.again = true;
        continue;
      }
      HAILSTONE_TRY(expire_segment(segment, filter));
      if (!is_dead(*segment, state_.host.transactions().snapshots_in_use())) continue;
      HAILSTONE_TRY(state_.noted(merge_segments(state_, claim->segments(), stop_)));
      view_changed_ = true;
      ++done_.segments;
    }
    return {};
  }

  bool is_in_table(const std::shared_ptr<TableSegment>& segment) const {
    return state_.current_view()->contains(*segment);
  }

  Status expire_segment(const std::shared_ptr<TableSegment>& segment, const SegmentFilter& filter) {
    BlockReader reader(segment->columns);
    std::vector<RowRun> runs;
    size_t rows = 0;
    UnclearedVector<uint16_t> scratch;
    const uint32_t blocks = segment->columns.segment().blocks();
    for (uint32_t block = 0; block < blocks && !outdated_; ++block) {
      if (filter.excludes_block(block)) continue;
      HAILSTONE_TRY(check_stop());
      BlockBitmap expired;
      expired.set_first(std::min(block_rows, segment->rows() - block * block_rows));
      {
        const SharedLock guard(state_.latch());
        segment->ends->mask(block, {.read = infinity - 1}, expired);
      }
      if (expired.none()) continue;
      HAILSTONE_TRY(state_.noted(filter.evaluate(reader, block, expired)));
      const std::span<const uint16_t> in_block = expired.rows(scratch);
      for (const uint16_t row : in_block) add_row(block * block_rows + row, runs);
      rows += in_block.size();
      if (rows < most_segment_rows && runs.size() < most_runs) continue;
      HAILSTONE_TRY(end_rows(segment, runs));
      runs.clear();
      rows = 0;
    }
    return end_rows(segment, runs);
  }

  static void add_row(uint32_t ordinal, std::vector<RowRun>& runs) {
    if (!runs.empty() && runs.back().first + runs.back().count == ordinal) {
      ++runs.back().count;
    } else {
      runs.push_back({ordinal, 1});
    }
  }

  /// Ends the rows in one transaction, but for those that others have locked or ended meanwhile.
  Status end_rows(const std::shared_ptr<TableSegment>& segment, std::span<const RowRun> runs) {
    if (runs.empty()) return {};
    HAILSTONE_ASSIGN(const KeyList keys, keys_of(segment, runs));
    const auto transaction = begin();
    HAILSTONE_ASSIGN(const bool locked, lock_table(*transaction));
    if (!locked) {
      done_.locked += keys.size();
      return {};
    }
    HAILSTONE_ASSIGN(const uint64_t ended, end_unlocked(*transaction, segment, runs, keys));
    done_.locked += keys.size() - ended;
    if (ended == 0) return {};
    HAILSTONE_TRY(state_.host.transactions().commit(*transaction));
    done_.rows += ended;
    return {};
  }

  Result<KeyList> keys_of(const std::shared_ptr<TableSegment>& segment, std::span<const RowRun> runs) const {
    KeyList keys(state_.host.budget());
    SegmentKeys reader(*segment, *state_.keys, SegmentKeys::clustered);
    std::string key;
    for (const RowRun& run : runs) {
      for (uint32_t ordinal = run.first; ordinal < run.first + run.count; ++ordinal) {
        HAILSTONE_TRY(state_.noted(reader.clustered_key(ordinal, key)));
        keys.push_back(key);
      }
    }
    return keys;
  }

  /// Returns how many rows it has ended. Row locks are made under the write mutex, so no other comes between.
  Result<uint64_t> end_unlocked(Transaction& transaction, const std::shared_ptr<TableSegment>& segment,
                                std::span<const RowRun> runs, const KeyList& keys) {
    const MutexLock guard(state_.write_mutex());
    std::vector<RowRun> ended;
    uint64_t rows = 0;
    std::string redo;
    size_t number = 0;
    for (const RowRun& run : runs) {
      for (uint32_t ordinal = run.first; ordinal < run.first + run.count; ++ordinal, ++number) {
        if (has_ended(*segment, ordinal)) continue;
        const ByteView key = keys[number];
        const VersionPlace place{.store = segment, .slot = ordinal};
        if (state_.host.locks().row_locked_by_other(transaction, state_.id, key, RowLockMode::Exclusive,
                                                    &place))
          continue;
        add_row(ordinal, ended);
        ++rows;
        if (state_.is_durable())
          append_operation(redo, {.kind = OperationKind::Delete, .table = state_.id, .bytes = key});
      }
    }
    if (rows == 0) return rows;
    Write write(transaction);
    // A change is of rows in a row, of some ten thousand at most.
    constexpr uint64_t rows_of_change = 1U << 15;
    HAILSTONE_TRY(write.prepare(ended.size() + static_cast<size_t>(rows / rows_of_change) + 1));
    write.redo().append(redo);
    for (const RowRun& run : ended) {
      const ExclusiveLock latched(state_.latch());
      for (uint32_t ordinal = run.first; ordinal < run.first + run.count; ++ordinal) {
        segment->set_end(ordinal, transaction.marker());
        transaction.add_change(segment, ordinal, Change::Kind::End);
      }
    }
    write.keep();
    return rows;
  }

  /// Also by a transaction that has not committed yet.
  bool has_ended(const TableSegment& segment, uint32_t ordinal) const {
    const SharedLock latched(state_.latch());
    return segment.ends->end(ordinal) != infinity;
  }

  Table& table_;
  Table::State& state_;
  const Retention retention_;
  const StopToken& stop_;
  const std::shared_ptr<const Predicate> predicate_;
  Table::Expired done_;
  bool view_changed_ = false;
  bool outdated_ = false;
};

}  // namespace

Result<Table::Expired> Table::expire(const Retention& retention, const ExpiredValues& values,
                                     const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  Expiry expiry(*this, state, retention, values, stop);
  const Status status = expiry.run();
  const Expired& done = expiry.done();
  Counters& counters = state.host.counters();
  count(counters.rows_expired, done.rows);
  count(counters.rows_expired_locked, done.locked);
  count(counters.segments_expired, done.segments);
  if (!status) return std::unexpected(status.error());
  return done;
}

}  // namespace hailstone
