// The unique keys of rows that a bulk load has taken and that are in no place of the table yet. The load
// finds its own duplicates by them, as each row comes; writers of other transactions find that a key is
// taken, and wait for the end of the load's transaction.
//
// Only hashes of the keys are kept, with the row's number: who finds a hash that is there looks at the row
// itself, or waits for nothing in one of 2^64 cases. Keys of rows that were handed off stay until their
// segment is in the table's view, where all look for them as for any other key. So memory is bounded by the
// rows that are on their way.
//
// Changed under the table's write mutex by the loading thread, which may read without it: so the functions
// that change something, and those for other threads, require it, and nothing is guarded by it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/memory_budget.h"
#include "base/number_map.h"
#include "base/timestamp.h"
#include "table/table_locks.h"

namespace hailstone {

/// Of rows on their way to one segment: the number of the row that has a key.
class LoadKeys {
 public:
  explicit LoadKeys(MemoryBudget& budget) : memory_(budget) {}

  /// `index`: position in TableDefinition::indexes.
  static uint64_t hash(size_t index, ByteView key) {
    return hash_bytes(key) + index * uint64_t{0x9E3779B97F4A7C15};
  }
  /// Room for so many more: add() needs no memory for them.
  void make_room(size_t keys) HAILSTONE_REQUIRES(table_write_mutex) {
    rows_.reserve(rows_.size() + keys);
    if (bytes() > memory_.bytes()) memory_.grow(bytes() - memory_.bytes());
  }
  void add(uint64_t hash, uint32_t row) HAILSTONE_REQUIRES(table_write_mutex) {
    rows_.emplace(hash, uint32_t{row});
  }
  void remove(uint64_t hash) HAILSTONE_REQUIRES(table_write_mutex) { rows_.erase(hash); }
  bool contains(uint64_t hash) const { return rows_.contains(hash); }
  std::optional<uint32_t> row_of(uint64_t hash) const {
    const uint32_t* const found = rows_.find(hash);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  size_t bytes() const { return rows_.bytes(); }

 private:
  NumberMap<uint32_t> rows_;
  Reservation memory_;
};

/// Of one load: those of the rows that are being filled in, and of each set of rows that is being encoded.
class PendingKeys {
 public:
  PendingKeys(TransactionId loader, MemoryBudget& budget)
      : transaction(loader), budget_(budget), filling_(std::make_shared<LoadKeys>(budget)) {}

  const TransactionId transaction;

  LoadKeys& filling() { return *filling_; }
  /// The rows being filled in are handed off; gives their keys, to name them to drop() later.
  std::shared_ptr<const LoadKeys> hand_off() HAILSTONE_REQUIRES(table_write_mutex) {
    auto next = std::make_shared<LoadKeys>(budget_);
    handed_off_.push_back(filling_);
    filling_ = std::move(next);
    return handed_off_.back();
  }
  /// The rows with these keys are in the table's view.
  void drop(const std::shared_ptr<const LoadKeys>& keys) HAILSTONE_REQUIRES(table_write_mutex) {
    std::erase(handed_off_, keys);
  }
  bool handed_off(uint64_t hash) const {
    for (const auto& keys : handed_off_) {
      if (keys->contains(hash)) return true;
    }
    return false;
  }
  /// For any thread.
  bool contains(uint64_t hash) const HAILSTONE_REQUIRES(table_write_mutex) {
    return filling_->contains(hash) || handed_off(hash);
  }

 private:
  MemoryBudget& budget_;
  std::shared_ptr<LoadKeys> filling_;
  std::vector<std::shared_ptr<const LoadKeys>> handed_off_;
};

}  // namespace hailstone
