#include "table/places.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

namespace {

/// A commit gives the latch to others after so many rows: some tens of microseconds.
constexpr size_t rows_stamped_at_once = 4096;

/// Takes the next changes off the list: of `rows_stamped_at_once` rows, or a single one of more.
std::span<const Change> take_next(std::span<const Change>& changes) {
  size_t count = 0, rows = 0;
  while (count < changes.size() && (rows == 0 || rows + changes[count].count <= rows_stamped_at_once))
    rows += changes[count++].count;
  const auto taken = changes.first(count);
  changes = changes.subspan(count);
  return taken;
}

}  // namespace

TableSegment::TableSegment(std::shared_ptr<TableLatch> latch, std::shared_ptr<const TableLayout> layout,
                           std::shared_ptr<Segment> opened, uint64_t file_number, Timestamp begin_of_rows,
                           std::unique_ptr<DeleteVector> delete_vector, uint64_t delete_vector_file)
    : segment(opened),
      columns(std::move(opened), std::move(layout)),
      file(file_number),
      begin(begin_of_rows),
      ends(std::move(delete_vector)),
      ends_file(delete_vector_file),
      ends_written(ends->change_count()),
      latch_(std::move(latch)) {}

void TableSegment::count_ended_in(std::shared_ptr<EndedRows> total) {
  if (total == ended_rows) return;
  if (ended_rows != nullptr) ended_rows->forget(*this);
  ended_rows = std::move(total);
  if (ended_rows != nullptr) ended_rows->note(*this, 0);
}

void TableSegment::set_end(uint32_t ordinal, Timestamp end) {
  const uint64_t before = ends->count();
  if (end == infinity) {
    ends->reset(ordinal);
  } else if (!is_marker(end) && is_marker(ends->end(ordinal))) {
    ends->stamp(ordinal, end);
  } else {
    ends->set(ordinal, end);
  }
  if (ended_rows != nullptr) ended_rows->note(*this, before);
  if (const Forward* const forward = forwards.find(ordinal)) forward->segment->set_end(forward->ordinal, end);
}

void TableSegment::commit(std::span<const Change> changes, Timestamp timestamp) {
  while (!changes.empty()) {
    const auto some = take_next(changes);
    const ExclusiveLock guard(latch());
    for (const Change& change : some) {
      HAILSTONE_CHECK(change.kind == Change::Kind::End);
      for (uint32_t i = 0; i < change.count; ++i) set_end(static_cast<uint32_t>(change.slot) + i, timestamp);
    }
  }
}

void TableSegment::undo(const Change& change) {
  HAILSTONE_CHECK(change.kind == Change::Kind::End);
  const ExclusiveLock guard(latch());
  for (uint32_t i = 0; i < change.count; ++i) set_end(static_cast<uint32_t>(change.slot) + i, infinity);
}

void TableSegment::transaction_ended() noexcept {
  if (!is_mostly_ended.load(std::memory_order_relaxed)) return;
  std::shared_ptr<EndedRows> of_table;
  {
    const SharedLock guard(latch());
    of_table = ended_rows;
  }
  if (of_table != nullptr && of_table->many && !of_table->told.exchange(true)) of_table->many();
}

Result<Timestamp> TableSegment::begin_of(BlockReader& reader, uint32_t ordinal) const {
  if (columns.begin() < 0) return shared_begin();
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned,
                   reader.block(static_cast<size_t>(columns.begin()), ordinal / block_rows));
  return pinned.block->integer(ordinal % block_rows);
}

TableDelta::TableDelta(std::shared_ptr<TableLatch> latch, std::shared_ptr<const TableKeys> table_keys,
                       const DeltaMemory& memory)
    : keys(std::move(table_keys)),
      memory_(memory),
      rows(keys->secondary_count(), memory_.budget, memory_.total.get(), memory_.most_chunk_bytes),
      latch_(std::move(latch)) {}

void TableDelta::end(Version& version, Timestamp end) {
  rows.make_endable(version);
  set_end(version, end);
}

// Not analysed: the latch is held exclusively where there are forwards, which is no contract that the
// analysis has words for.
HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void TableDelta::set_end(Version& version, Timestamp end) {
  // Only one at a time may change an end: the writer under the write mutex, then its transaction.
  const bool was_ended = version.end() != infinity;
  version.set_end(end);
  if (!was_ended && end != infinity) ended_.fetch_add(1, std::memory_order_relaxed);
  if (was_ended && end == infinity) ended_.fetch_sub(1, std::memory_order_relaxed);
  if (forwards.empty()) return;
  if (const auto* const forward = forwards.find(slot_of(&version)))
    forward->segment->set_end(forward->ordinal, end);
}

Version* TableDelta::insert(const Transaction& transaction, ByteView key, ByteView row,
                            std::span<const std::string> secondary_keys) {
  const ExclusiveLock guard(latch());
  Version* const version = rows.insert(key, row, transaction.marker(), secondary_keys);
  version->set_write(transaction.own_writes());
  uncommitted.fetch_add(1, std::memory_order_relaxed);
  return version;
}

size_t TableDelta::row_bytes() const {
  if (!memory_.leaves_memory) return 0;
  const SharedLock guard(latch());
  return rows.bytes();
}

void TableDelta::commit(std::span<const Change> changes, Timestamp timestamp) {
  uint64_t inserted = 0;
  while (!changes.empty()) {
    const auto some = take_next(changes);
    const auto stamp = [&]() HAILSTONE_REQUIRES_SHARED(table_latch) {
      for (const Change& change : some) {
        Version& version = *version_of(change.slot);
        if (change.kind == Change::Kind::Insert) {
          if (inserted == 0) note_commit(timestamp);
          version.stamp_begin(timestamp);
          ++inserted;
        } else {
          set_end(version, timestamp);
        }
      }
    };
    bool flushed = false;
    {
      const SharedLock guard(latch());
      flushed = !forwards.empty();
      if (!flushed) stamp();
    }
    if (flushed) {
      // Ends go to the delete vector of the segment that holds the rows now.
      const ExclusiveLock guard(latch());
      stamp();
    }
  }
  if (inserted > 0) decide(inserted);
}

void TableDelta::undo(const Change& change) {
  Version& version = *version_of(change.slot);
  {
    const ExclusiveLock guard(latch());
    if (change.kind == Change::Kind::End) {
      set_end(version, infinity);
      return;
    }
    rows.remove(&version);
  }
  decide(1);
}

void TableDelta::decide(uint64_t versions) {
  // A flush freezes first and looks for uncommitted versions then: one of the two sees what the other has
  // done, as both are in one order.
  const uint64_t before = uncommitted.fetch_sub(versions, std::memory_order_seq_cst);
  HAILSTONE_CHECK(before >= versions, "{} versions of {} uncommitted ones are decided", versions, before);
  const bool last = before == versions;
  if (last && frozen.load(std::memory_order_seq_cst) && settled) settled();
}

}  // namespace hailstone
