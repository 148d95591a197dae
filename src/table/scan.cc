#include "table/scan.h"

#include <algorithm>

#include "base/check.h"
#include "table/scan_state.h"

namespace hailstone {

namespace {

constexpr uint32_t most_rows_locked_ahead = 64;
constexpr uint32_t rows_between_interruption_checks = 1024;

}  // namespace

Scan::Scan(std::shared_ptr<Table> table, Transaction& transaction, ReadLock lock,
           std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns,
           std::vector<bool> as_codes)
    : state_(std::make_unique<State>(std::move(table), transaction, lock, std::move(predicate),
                                     std::move(columns), std::move(as_codes))) {}

Scan::~Scan() = default;

Result<const Batch*> Scan::next() {
  State& state = *state_;
  HAILSTONE_TRY(state.inside.usable());
  HAILSTONE_TRY(state.start());
  auto result = state.inside.noted(state.lock == ReadLock::None ? state.next_plain() : state.next_locking());
  HAILSTONE_TRY(state.visibility.check());
  if (result && *result != nullptr) count(state.inside.host.counters().rows_returned, (*result)->rows);
  return result;
}

Result<const Batch*> Scan::State::next_plain() {
  if (selected_next == selected.size()) HAILSTONE_TRY(select_block());
  const OperatorWork reading(counts);
  if (!selected.empty()) {
    batch_first = selected_next;
    const size_t rows = std::min<size_t>(batch_rows, selected.size() - selected_next);
    const std::span<const uint16_t> chosen(selected.data() + selected_next, rows);
    selected_next += rows;
    HAILSTONE_TRY(projection.read(worker->reader(), worker->block(), chosen, batch));
    batch_of = BatchOf::Segment;
    return &batch;
  }
  if (dirty) return next_changed();
  HAILSTONE_ASSIGN(const bool found, next_delta_rows(batch_rows));
  if (!found) return nullptr;
  read_delta_rows(delta_rows, batch);
  batch_of = BatchOf::Delta;
  return &batch;
}

Result<bool> Scan::State::next_candidate(std::string& candidate_key, RowPlace& place) {
  if (selected_next == selected.size()) HAILSTONE_TRY(select_block());
  if (!selected.empty()) {
    if (numbers_rows) candidate_number = number_of_selected(selected_next);
    const uint32_t ordinal = worker->block() * block_rows + selected[selected_next++];
    HAILSTONE_TRY(keys_here().clustered_key(ordinal, candidate_key));
    place = {
        .delta = nullptr, .version = nullptr, .segment = worker->segment(), .ordinal = ordinal, .begin = 0};
    return true;
  }
  if (delta_rows_next == delta_rows.entries.size()) {
    delta_rows_next = 0;
    HAILSTONE_ASSIGN(const bool found, next_delta_rows(most_rows_locked_ahead));
    if (!found) return false;
  }
  if (numbers_rows) candidate_number = delta_numbers[delta_rows_next];
  const auto& entry = delta_rows.entries[delta_rows_next++];
  candidate_key = entry.key;
  place = {.delta = view->deltas[delta_rows.delta],
           .version = const_cast<Version*>(entry.version),
           .segment = nullptr,
           .ordinal = 0,
           .begin = 0};
  return true;
}

Status Scan::State::add_locked(const std::string& candidate_key, const RowPlace& candidate) {
  RowPlace newest = candidate;
  if (!inside.try_lock_met(transaction, *view, candidate, candidate_key, lock)) {
    HAILSTONE_ASSIGN(newest, inside.lock_newest(transaction, candidate_key, lock));
  }
  if (!newest.found()) return {};
  if (visibility.is_own_and_new(newest)) return {};
  values.resize(projection.columns().size());
  std::string row;
  if (newest == candidate && candidate.segment != nullptr) {
    HAILSTONE_TRY(read_candidate(values));
  } else {
    HAILSTONE_TRY(read_row(newest, row));
    if (!(newest == candidate) && !always && !predicate->matches(inside.layout->row_codec(), row)) return {};
    projection.decode(row, row_id_of(candidate_key), values);
  }
  // A version that was live when the scan began, committed or the transaction's own, is the only one of its
  // row that the scan can meet.
  Timestamp begin = newest.begin;
  if (newest.segment != nullptr) {
    HAILSTONE_TRY(read_segment(*newest.segment, [&](BlockReader& reader) -> Status {
      HAILSTONE_ASSIGN(begin, newest.segment->begin_of(reader, newest.ordinal));
      return {};
    }));
  }
  const bool was_live = begin <= visibility.snapshot.read || begin == visibility.snapshot.own;
  if (!was_live && !returned.insert(candidate_key).second) return {};
  projection.append(values, batch);
  locked_keys.push_back(candidate_key);
  if (numbers_rows) locked_numbers.push_back(candidate_number);
  return {};
}

Status Scan::State::read_candidate(std::span<Value> to) {
  const size_t at = selected_next - 1;
  if (at - window_first >= window_rows) {
    const size_t rows = std::min<size_t>(window_size, selected.size() - at);
    window_size = std::min(window_size * 2, most_rows_locked_ahead);
    window_ordinals.clear();
    for (size_t i = at; i < at + rows; ++i)
      window_ordinals.push_back(worker->block() * block_rows + selected[i]);
    window_rows = 0;
    HAILSTONE_TRY(window.read(worker->reader(), window_ordinals));
    window_first = at;
    window_rows = rows;
  }
  window.values(at - window_first, to);
  return {};
}

Status Scan::State::read_row(const RowPlace& place, std::string& row) {
  if (place.version != nullptr) {
    row = place.version->row();
    return {};
  }
  return read_segment(*place.segment, [&](BlockReader& reader) {
    return Projection::read_encoded(reader, place.ordinal, row);
  });
}

Status Scan::State::add_latest(const std::string& latest_key, const RowPlace* unchanged, bool seen) {
  RowPlace latest;
  std::string row;
  if (unchanged != nullptr) {
    latest = *unchanged;
  } else {
    if (!seen) {
      // A row that the snapshot has is met where that has it, if it matches there.
      HAILSTONE_ASSIGN(const RowPlace before,
                       inside.find_visible(*view, latest_key, visibility.snapshot, transaction));
      if (before.found()) {
        HAILSTONE_TRY(read_row(before, row));
        if (always || predicate->matches(inside.layout->row_codec(), row)) return {};
      }
    }
    HAILSTONE_ASSIGN(latest, inside.find_latest(latest_key));
    if (!latest.found()) return {};
    if (visibility.is_own_and_new(latest)) return {};
  }
  HAILSTONE_TRY(read_row(latest, row));
  if (!always && !predicate->matches(inside.layout->row_codec(), row)) return {};
  // What the snapshot has not may have been written several times.
  if (!seen && !returned.insert(latest_key).second) return {};
  projection.append(batch.scratch.copy(row), row_id_of(latest_key), batch);
  locked_keys.push_back(latest_key);
  return {};
}

Result<const Batch*> Scan::State::next_changed() {
  batch.clear();
  locked_keys.clear();
  batch_of = BatchOf::Locked;
  while (batch.rows < batch_rows) {
    if (changed_next < changed_keys.size()) {
      if (changed_next % rows_between_interruption_checks == 0) HAILSTONE_TRY(check_interruption());
      const auto& [changed_key, seen] = changed_keys[changed_next++];
      HAILSTONE_TRY(add_latest(changed_key, nullptr, seen));
      continue;
    }
    if (delta_rows_next == delta_rows.entries.size()) {
      delta_rows_next = 0;
      HAILSTONE_ASSIGN(const bool found, next_delta_rows(batch_rows));
      if (!found) break;
    }
    const auto& entry = delta_rows.entries[delta_rows_next++];
    key = entry.key;
    const RowPlace place{.delta = view->deltas[delta_rows.delta],
                         .version = const_cast<Version*>(entry.version),
                         .segment = nullptr};
    bool seen = false, unchanged = false;
    {
      // The entry stands for all versions of the row in this delta.
      const SharedLock guard(inside.latch());
      for (const Version* each = entry.version; each != nullptr && !seen; each = each->older()) {
        seen = visibility.takes(*each);
        unchanged = seen && each == entry.version && each->end() == infinity;
      }
    }
    HAILSTONE_TRY(add_latest(key, unchanged ? &place : nullptr, seen));
  }
  return batch.rows == 0 ? nullptr : &batch;
}

Result<const Batch*> Scan::State::next_locking() {
  batch.clear();
  locked_keys.clear();
  locked_numbers.clear();
  batch_of = BatchOf::Locked;
  RowPlace place;
  uint32_t looked_at = 0;
  while (batch.rows < lock_batch) {
    if (++looked_at % rows_between_interruption_checks == 0) HAILSTONE_TRY(check_interruption());
    HAILSTONE_ASSIGN(const bool found, next_candidate(key, place));
    if (!found) break;
    HAILSTONE_TRY(add_locked(key, place));
  }
  // Rows locked ahead would be missing for others who skip them, and nobody may ever ask for them here.
  if (!skips_locked(lock)) lock_batch = std::min(lock_batch * 2, most_rows_locked_ahead);
  return batch.rows == 0 ? nullptr : &batch;
}

Result<ByteView> Scan::clustered_key(uint32_t row) {
  State& state = *state_;
  switch (state.batch_of) {
    case State::BatchOf::Delta:
      return state.delta_rows.entries[row].key;
    case State::BatchOf::Locked:
      return ByteView(state.locked_keys[row]);
    case State::BatchOf::Segment:
      break;
  }
  const uint32_t ordinal = state.worker->block() * block_rows + state.selected[state.batch_first + row];
  HAILSTONE_TRY(state.inside.noted(state.keys_here().clustered_key(ordinal, state.key)));
  return ByteView(state.key);
}

void Scan::number_rows() {
  HAILSTONE_CHECK(state_->view == nullptr, "a scan was told to number its rows after it had begun");
  state_->numbers_rows = true;
}

void Scan::count_in(OperatorCounts& counts) {
  HAILSTONE_CHECK(state_->view == nullptr, "a scan was told where to count its rows after it had begun");
  state_->counts = &counts;
}

uint64_t Scan::number(uint32_t row) const {
  const State& state = *state_;
  switch (state.batch_of) {
    case State::BatchOf::Delta:
      return state.delta_numbers[row];
    case State::BatchOf::Locked:
      return state.locked_numbers[row];
    case State::BatchOf::Segment:
      break;
  }
  return state.number_of_selected(state.batch_first + row);
}

uint64_t Scan::rows_met() const { return state_->worker->met_in_all() + state_->met_in_deltas; }

Result<uint64_t> Scan::count_rest(unsigned threads) {
  State& state = *state_;
  HAILSTONE_TRY(state.inside.usable());
  HAILSTONE_TRY(state.start());
  uint64_t rows = 0;
  if (state.lock != ReadLock::None || state.dirty) {
    for (;;) {
      HAILSTONE_ASSIGN(const Batch* const batch, next());
      if (batch == nullptr) return rows;
      rows += batch->rows;
    }
  }
  rows += state.selected.size() - state.selected_next;
  state.selected.clear();
  state.selected_next = 0;
  if (state.next_number == 0) {
    struct alignas(64) Part {
      uint64_t rows = 0;
    };
    const std::array<BlockScan*, 1> all{&*state.blocks};
    const uint64_t versions = state.deltas->versions();
    threads = worthwhile_threads(all, versions, threads);
    std::vector<Part> parts(threads);
    state.next_number = state.blocks->blocks();
    const auto count_deltas = [&](unsigned part, const std::function<Status()>& go_on) -> Status {
      for (DeltaRows delta_rows;;) {
        HAILSTONE_ASSIGN(const bool found, state.next_delta_rows(batch_rows, delta_rows, go_on));
        if (!found) return {};
        parts[part].rows += delta_rows.entries.size();
      }
    };
    HAILSTONE_TRY(for_each_block(
        state.inside.host, all, versions, threads, [&] { return state.interrupted(); },
        [&](unsigned part, size_t, BlockScan::Worker& worker) {
          parts[part].rows += worker.rows().count();
          return Status();
        },
        count_deltas));
    for (const Part& part : parts) rows += part.rows;
  }
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, state.inside.noted(state.next_block()));
    if (!found) break;
    rows += state.worker->rows().count();
  }
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, state.next_delta_rows(batch_rows));
    if (!found) break;
    rows += state.delta_rows.entries.size();
  }
  HAILSTONE_TRY(state.visibility.check());
  count(state.inside.host.counters().rows_returned, rows);
  return rows;
}

}  // namespace hailstone
