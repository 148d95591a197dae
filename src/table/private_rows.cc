#include "table/private_rows.h"

#include <algorithm>

#include "base/check.h"
#include "base/guard.h"
#include "table/delta_writer.h"

namespace hailstone {

namespace {

/// A transaction is large when its operations, or its rows of temporary tables, take this part of the memory
/// that one delta may. What it has written until then stays in memory to its end.
constexpr size_t large_share = 4;

/// The end of a row that its transaction has taken back: before all snapshots.
constexpr Timestamp taken_back = 0;

/// Not analysed: the segment is in no view, so nobody else knows it.
HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void make_room_for_ends(TableSegment& segment) {
  segment.ends->make_room();
}

}  // namespace

TablePrivateRows* TablePrivateRows::of(Table& table, Table::State& state, Transaction& transaction) {
  // The disk has no part in what a transaction writes to a table in memory.
  if (state.is_in_memory()) return nullptr;
  if (PrivateRows* const rows = transaction.private_rows(state.id))
    return static_cast<TablePrivateRows*>(rows);
  const uint64_t written = state.is_durable() ? transaction.redo_bytes() : transaction.unlogged_bytes();
  if (written < state.host.delta_limit_bytes() / large_share) return nullptr;
  return make(table, state, transaction);
}

TablePrivateRows* TablePrivateRows::make(Table& table, Table::State& state, Transaction& transaction) {
  auto made = std::make_unique<TablePrivateRows>(table.shared_from_this(), state, transaction);
  TablePrivateRows* const rows = made.get();
  transaction.add_private_rows(state.id, std::move(made));
  return rows;
}

TablePrivateRows::~TablePrivateRows() {
  // Segments may have become so many that they are to be merged.
  if (spilled_.empty()) return;
  try_to([&] { state_.host.request_merge(table_); });
}

bool TablePrivateRows::has_delta() const {
  return delta_ != nullptr && delta_->uncommitted.load(std::memory_order_acquire) != 0;
}

TablePrivateRows::Inserted TablePrivateRows::insert(ByteView key, ByteView row,
                                                    std::span<const std::string> secondary_keys) {
  const bool is_new = !has_delta();
  const std::shared_ptr<TableDelta> delta = is_new ? state_.new_delta(*table_) : delta_;
  Version* const version = delta->insert(transaction_, key, row, secondary_keys);
  if (is_new) {
    delta->frozen.store(true, std::memory_order_release);
    auto next = std::make_shared<TableView>(*state_.current_view());
    next->deltas.insert(next->deltas.begin() + 1, delta);
    state_.set_deltas(std::move(next));
    delta_ = delta;
  }
  return {delta, version};
}

size_t TablePrivateRows::bytes_in_memory() const { return has_delta() ? delta_->settled_rows().bytes() : 0; }

Status TablePrivateRows::spill() {
  if (!has_delta()) return {};
  HAILSTONE_ASSIGN(const DeltaWriter::Written written,
                   DeltaWriter(state_, *delta_, transaction_.marker()).write());
  const size_t before = spilled_.size();
  const Status moved = guarded([&]() -> Status {
    make_ready(written.segments);
    state_.replace_delta(delta_, written.segments, written.is_row);
    return {};
  });
  if (!moved) {
    spilled_.resize(before);
    for (const auto& segment : written.segments) segment->segment->remove_when_unused();
    return moved;
  }
  // From here on nothing fails.
  move_changes();
  delta_.reset();
  count(state_.host.counters().spills);
  return {};
}

void TablePrivateRows::make_ready(const TableSegments& segments) {
  std::vector<std::vector<uint32_t>> numbers;
  for (const auto& segment : segments) numbers.emplace_back().reserve(segment->rows());
  size_t at = 0;
  for_each_version(delta_->settled_rows(), [&](const Version& version) {
    while (numbers[at].size() == segments[at]->rows()) ++at;
    numbers[at].push_back(version.write());
  });
  for (size_t i = 0; i < segments.size(); ++i) {
    TableSegment& segment = *segments[i];
    segment.writes = std::make_unique<const WriteNumbers>(numbers[i], state_.host.budget());
    make_room_for_ends(segment);
    spilled_.push_back(segments[i]);
  }
  withdrawn_.reserve(spilled_.size());
  if (spare_view_ != nullptr) return;
  const MutexLock guard(state_.write_mutex());
  spare_view_ = state_.make_spare_view();
}

void TablePrivateRows::move_changes() noexcept {
  // Ends that the transaction has given rows of this delta: all are uncommitted.
  transaction_.forget_store(delta_.get(), [&](uint64_t slot) -> std::pair<VersionStore*, uint64_t> {
    const SharedLock guard(delta_->latch());
    const auto* const forward = delta_->forwards.find(slot);
    HAILSTONE_CHECK(forward != nullptr, "a row with an uncommitted end is in no segment");
    return {forward->segment.get(), forward->ordinal};
  });
}

void TablePrivateRows::commit(Timestamp timestamp) noexcept {
  if (spilled_.empty()) return;
  const ExclusiveLock guard(state_.latch());
  for (const auto& segment : spilled_) {
    segment->begin.store(timestamp, std::memory_order_release);
    segment->writes.reset();
    segment->ends->give_back_room();
  }
  state_.generation.fetch_add(1, std::memory_order_release);
}

void TablePrivateRows::take_back(uint64_t from) noexcept {
  const auto has_later = [&](const auto& segment) { return segment->writes->greatest() >= from; };
  if (std::ranges::none_of(spilled_, has_later)) return;
  const MutexLock write_guard(state_.write_mutex());
  const ExclusiveLock guard(state_.latch());
  withdrawn_.clear();
  for (const auto& segment : spilled_) {
    if (spare_view_ != nullptr && segment->writes->least() >= from) {
      withdrawn_.push_back(segment);
    } else if (has_later(segment)) {
      end_rows(*segment, from);
    }
  }
  if (!withdrawn_.empty()) withdraw();
}

/// Gives rows an end before all snapshots. A segment that is the transaction's no more becomes one of dead
/// rows, which a merge drops.
void TablePrivateRows::end_rows(TableSegment& segment, uint64_t from) noexcept {
  for (uint32_t ordinal = 0; ordinal < segment.rows(); ++ordinal) {
    if (segment.writes->of(ordinal) >= from) segment.set_end(ordinal, taken_back);
  }
  if (from != 0) return;
  segment.begin.store(taken_back, std::memory_order_release);
  state_.generation.fetch_add(1, std::memory_order_release);
}

void TablePrivateRows::withdraw() noexcept {
  for (const auto& segment : withdrawn_) segment->segment->remove_when_unused();
  state_.withdraw(withdrawn_, std::move(spare_view_));
  state_.host.counters().segments.fetch_sub(withdrawn_.size(), std::memory_order_relaxed);
  // These are in the order of the others.
  auto next = withdrawn_.begin();
  std::erase_if(spilled_, [&](const auto& each) {
    if (next == withdrawn_.end() || *next != each) return false;
    ++next;
    return true;
  });
  withdrawn_.clear();
  // For the next rollback. Without it that one gives the rows an end.
  if (!spilled_.empty())
    try_to([&]() HAILSTONE_REQUIRES(table_write_mutex) { spare_view_ = state_.make_spare_view(); });
}

}  // namespace hailstone
