// Row locks of transactions that hold many, by the places where the rows are: a bit or two bytes for each,
// where a Lock takes two hundred. Only the lock manager uses them, under its mutex.
//
// Whoever holds a row by its place holds it alone, or with others in modes that go together: nobody waits.
// When somebody has to wait, the row's holders move to a Lock (lock_queue.h), which then is all there is of
// the row.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/number_map.h"
#include "transaction/lock_memory.h"
#include "transaction/lock_queue.h"
#include "transaction/slot_set.h"
#include "transaction/transaction.h"

namespace hailstone::locking {

/// What one transaction has locked of the rows of one store.
struct PlaceLocks {
  PlaceLocks(Owner& its_owner, TableId its_table, std::shared_ptr<VersionStore> its_store)
      : owner(its_owner), table(its_table), store(std::move(its_store)) {}

  Modes modes(uint64_t slot) const {
    if (exclusive_rows.contains(slot)) return exclusive;
    return shared_rows.contains(slot) ? shared : Modes{0};
  }
  size_t rows() const { return shared_rows.size() + exclusive_rows.size(); }

  Owner& owner;
  const TableId table;
  const std::shared_ptr<VersionStore> store;
  SlotSet shared_rows, exclusive_rows;  // a row is in one of them
  SlotSet again;                        // of these, those that were granted more than once
  size_t charged = 0;                   // bytes of the budget
  /// Those of a chain, one after the other.
  static void free_all(std::unique_ptr<PlaceLocks> chain) noexcept {
    while (chain != nullptr) chain = std::move(chain->next);
  }
  std::unique_ptr<PlaceLocks> next;  // in a chain of those that are to be freed
};

class PlaceLockTable {
 public:
  explicit PlaceLockTable(LockMemory& memory) : memory_(memory) {}

  /// Whether any row of the table is held by its place.
  bool has_table(TableId table) const { return tables_.contains(table); }
  /// In which modes it holds the row; none: 0.
  Modes modes_of(const Owner& owner, const VersionPlace& place) const;
  Modes modes_of_others(const Owner& owner, const VersionPlace& place) const;
  /// In which modes it holds rows of the table.
  Modes modes_of(const Owner& owner, TableId table) const;

  /// Of the rows in this store, of which somebody has locked some; null: nobody has.
  const TableId* table_of(const VersionStore& store) const;
  /// Nothing: the owner holds no row of such a store.
  std::optional<VersionPlace> place_of(const Owner& owner, const VersionStore& store, uint64_t slot) const;

  /// Nobody else may hold the row in a mode that conflicts. True: the owner did not hold it.
  bool grant(Owner& owner, TableId table, const VersionPlace& place, TableLockMode mode);
  /// Takes a grant back. False: the owner does not hold the row by its place, or was granted it again and
  /// keeps it until its end.
  bool give_back(const Owner& owner, const VersionPlace& place) noexcept;

  /// Calls holder(owner, modes, whether it was granted more than once).
  void for_each_holder(const VersionPlace& place,
                       const std::function<void(Owner& owner, Modes modes, bool again)>& holder) const;
  /// Nobody holds the row by its place any more. How many did.
  size_t let_go(const VersionPlace& place) noexcept;

  // What an owner, or a store, had is for the caller to free, without the mutex.

  std::unique_ptr<PlaceLocks> release(Owner& owner) noexcept;
  /// Of one table.
  std::unique_ptr<PlaceLocks> release(Owner& owner, TableId table) noexcept;
  /// Who has locked a row of the store has locked it where it goes, too; null: nowhere. How many rows more
  /// are held.
  size_t follow(const VersionStore& store, const std::function<VersionPlace(uint64_t slot)>& moved);
  std::unique_ptr<PlaceLocks> forget(const VersionStore& store) noexcept;

 private:
  using OfStore = std::vector<std::unique_ptr<PlaceLocks>>;
  static uint64_t key_of(const VersionStore& store) { return reinterpret_cast<uint64_t>(&store); }
  PlaceLocks* find(const Owner& owner, const VersionStore& store) const;
  PlaceLocks& make(Owner& owner, TableId table, const std::shared_ptr<VersionStore>& store);
  void charge(PlaceLocks& locks);
  template <typename Chosen>
  std::unique_ptr<PlaceLocks> release_if(Owner& owner, const Chosen& chosen) noexcept;
  /// It is in no list any more.
  void take_out(std::unique_ptr<PlaceLocks> locks, std::unique_ptr<PlaceLocks>& chain) noexcept;

  LockMemory& memory_;
  NumberMap<OfStore> stores_;  // by address
  NumberMap<size_t> tables_;   // how many there are of each
};

}  // namespace hailstone::locking
