#include "table/load_check.h"

#include <fmt/format.h>

namespace hailstone {

LoadCheck::LoadCheck(Table::State& state, Transaction& transaction)
    : state_(state),
      transaction_(transaction),
      keys_(transaction.id(), state.host.budget()),
      readers_(state.keys) {
  const MutexLock guard(state_.write_mutex());
  state_.pending_keys.push_back(&keys_);
}

LoadCheck::~LoadCheck() {
  const MutexLock guard(state_.write_mutex());
  std::erase(state_.pending_keys, &keys_);
}

std::shared_ptr<const LoadKeys> LoadCheck::hand_off() {
  const MutexLock guard(state_.write_mutex());
  return keys_.hand_off();
}

Status LoadCheck::add_key(size_t index, ByteView row) {
  const KeyCodec& codec = state_.keys->codec(index);
  const RowCodec& rows = state_.layout->row_codec();
  // A key with NULL in it may be there any number of times.
  if (codec.has_null(rows, row)) return {};
  if (unique_count_ == unique_.size()) unique_.emplace_back();
  UniqueKey& key = unique_[unique_count_];
  key.index = index;
  key.key.clear();
  HAILSTONE_TRY(codec.append_row(rows, row, key.key));
  key.hash = LoadKeys::hash(index, key.key);
  ++unique_count_;
  return {};
}

Status LoadCheck::make_keys(ByteView row) {
  unique_count_ = 0;
  const auto& indexes = state_.layout->definition().indexes;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (indexes[i].unique) HAILSTONE_TRY(add_key(i, row));
  }
  return {};
}

Result<bool> LoadCheck::has_key(const SegmentBuilder& filling, uint32_t row, const UniqueKey& key) {
  HAILSTONE_TRY(filling.row(row, other_row_));
  other_key_.clear();
  HAILSTONE_TRY(state_.keys->codec(key.index).append_row(state_.layout->row_codec(), other_row_, other_key_));
  return other_key_ == key.key;
}

Status LoadCheck::match(const TableView& places, UniqueKey& key) {
  if (clustered(key)) {
    HAILSTONE_ASSIGN(key.rows, state_.noted(state_.match_key(places, key.key, nullptr, &readers_)));
    return {};
  }
  const size_t secondary = key.index - state_.keys->first_secondary();
  HAILSTONE_ASSIGN(key.entries, state_.noted(state_.match_unique(places, secondary, key.key, &readers_)));
  return {};
}

LoadCheck::Look LoadCheck::look(const TableView& places, const UniqueKey& key, Conflict& conflict,
                                Timestamp& ended) const {
  Look look{.holder = state_.load_with_key(transaction_, key.index, key.key)};
  if (look.holder != 0) return look;
  const Timestamp own = transaction_.marker();
  if (clustered(key)) {
    const NewestRow newest = state_.find_newest(places, key.rows, key.key, own);
    look.holder = newest.blocker;
    if (look.holder != 0) return look;
    const bool there = newest.place.found();
    // Where others have only shared locks the row stays; one that has it alone may delete it.
    look.row_lock = state_.is_locked_by_other(transaction_, key.key, newest.place,
                                              there ? RowLockMode::Shared : RowLockMode::Exclusive);
    look.found = there && !look.row_lock;
    ended = newest.ended;
    if (look.found) conflict = {.index = key.index, .row = {}, .clustered_key = key.key};
    return look;
  }
  const size_t secondary = key.index - state_.keys->first_secondary();
  auto entry = state_.find_unique(places, key.entries, secondary, key.key, {}, own);
  look.holder = entry.blocker;
  look.found = entry.blocker == 0 && entry.found;
  if (look.found) {
    conflict = {.index = key.index, .row = {}, .clustered_key = std::move(entry.clustered_key)};
  }
  return look;
}

Status LoadCheck::wait(const Look& look, ByteView key) {
  LockManager& locks = state_.host.locks();
  const Status waited = look.row_lock ? locks.lock_row(transaction_, state_.id, key, RowLockMode::Exclusive)
                                      : locks.wait_for_end(transaction_, look.holder);
  if (waited) return {};
  return fail(waited.error().code(),
              fmt::format("table {}: {}", state_.definition().name, waited.error().message()));
}

Result<LoadCheck::Verdict> LoadCheck::admit(ByteView row, const SegmentBuilder& filling, Conflict& conflict) {
  HAILSTONE_TRY(make_keys(row));
  const std::span<UniqueKey> keys(unique_.data(), unique_count_);
  // The first index that another row of the load refuses.
  size_t own = keys.size();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys_.handed_off(keys[i].hash)) return Verdict::Undecided;
    const auto other = own == keys.size() ? keys_.filling().row_of(keys[i].hash) : std::nullopt;
    if (!other) continue;
    HAILSTONE_ASSIGN(const bool same, has_key(filling, *other, keys[i]));
    // Two keys with one hash: there is no place for the second one.
    if (!same) return Verdict::Undecided;
    own = i;
    conflict = {.index = keys[i].index, .row = other, .clustered_key = {}};
  }
  for (;;) {
    Look found;
    size_t at = 0;
    const auto looked_at = state_.current_view();
    for (size_t i = 0; i < own; ++i) HAILSTONE_TRY(match(*looked_at, keys[i]));
    {
      const MutexLock guard(state_.write_mutex());
      const auto places = state_.current_view();
      if (places->orders != looked_at->orders) continue;  // other segments: look again
      Timestamp ended = 0;
      for (; at < own; ++at) {
        found = look(*places, keys[at], conflict, ended);
        if (found.found) return Verdict::Refused;
        if (found.holder != 0 || found.row_lock) break;
      }
      if (at == own) {
        if (own < keys.size()) return Verdict::Refused;
        // A row of the key that ended after the snapshot would be seen beside this one.
        keys_.filling().make_room(keys.size());
        if (transaction_.is_behind(ended)) transaction_.supersede(state_.id, keys.front().key);
        for (const UniqueKey& key : keys) keys_.filling().add(key.hash, filling.rows());
        return Verdict::Admitted;
      }
    }
    HAILSTONE_TRY(wait(found, keys[at].key));
  }
}

Status LoadCheck::forget(ByteView row) {
  HAILSTONE_TRY(make_keys(row));
  const MutexLock guard(state_.write_mutex());
  for (size_t i = 0; i < unique_count_; ++i) keys_.filling().remove(unique_[i].hash);
  return {};
}

}  // namespace hailstone
