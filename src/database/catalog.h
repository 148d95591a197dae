// The tables of a database by name and by id, and DDL as part of transactions.
//
// DDL changes an overlay of names that belongs to its transaction; the commit puts the overlay over the
// committed names in one step, a rollback takes it back. A name in some overlay is reserved: DDL of other
// transactions on it is ErrorCode::Busy. Table objects are opened at first use; those that nobody uses are
// closed again when there are many (StateRecorder::close_idle).
//
// Thread-safe. The catalog's mutex is taken with the commit mutex held, never the other way round, and
// nothing is read or written under it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/number_map.h"
#include "database/committed_tables.h"
#include "table/table.h"
#include "transaction/transaction.h"

namespace hailstone {

class Catalog {
 public:
  /// What tables of each kind see of the database; outlive the catalog.
  struct Hosts {
    TableHost& durable;
    TableHost& in_memory;
    TableHost& temporary;
  };
  explicit Catalog(const Hosts& hosts) : hosts_(hosts) {}

  // --- DDL. `transaction` gets an action; the redo is the caller's.

  /// A new table, seen by the transaction from now on. ErrorCode::AlreadyExists, Busy.
  Result<std::shared_ptr<Table>> create(Transaction& transaction, TableId id,
                                        const TableDefinition& definition);
  Result<EntryPointer> drop(Transaction& transaction, const std::string& name);
  /// The table's new definition; `change` is given the present one, as the transaction sees it, and may give
  /// it another name.
  Result<EntryPointer> redefine(Transaction& transaction, const std::string& name,
                                const std::function<Result<TableDefinition>(const TableDefinition&)>& change);

  /// Null `transaction`: as committed. ErrorCode::NotFound.
  Result<EntryPointer> find(const std::string& name, const Transaction* transaction) const;
  /// The definition of a table as the transaction sees it; null: as committed. ErrorCode::NotFound.
  Result<TableDefinition> definition(const std::string& name, const Transaction* transaction) const;
  /// The last of these ids that there is, as the transaction sees it; null `transaction`: as committed.
  /// ErrorCode::NotFound.
  Result<EntryPointer> find_last(std::span<const TableId> ids, const Transaction* transaction) const;
  /// The name of a table as the transaction sees it, null: as committed. ErrorCode::NotFound.
  Result<std::string> name(TableId id, const Transaction* transaction) const;
  /// Null when there is no committed table of this id.
  EntryPointer find(TableId id) const;
  /// The table of an entry, opened if need be. `set_aside`: as Table::open() has it.
  Result<std::shared_ptr<Table>> open(const EntryPointer& entry, bool set_aside = false);
  /// Lets the table of an entry go when the caller, with `table`, is its only user and nobody has asked for
  /// it since `used` was cleared. False: it stays.
  bool close(const EntryPointer& entry, const std::shared_ptr<Table>& table);
  /// Whether `table` is held by the entry and the caller only; clears `used`.
  bool unused(const EntryPointer& entry, const std::shared_ptr<Table>& table);
  /// The table of an entry when it is open, else null.
  std::shared_ptr<Table> opened(const EntryPointer& entry) const;
  /// The same for a dropped table, which the entry does not hold on to any more.
  std::shared_ptr<Table> let_go(const EntryPointer& entry);
  /// In byte order; with a transaction as that sees them.
  std::vector<std::string> names(const std::string& prefix, const Transaction* transaction) const;
  /// Each committed name and the commit that made or last redefined its table, in no order.
  std::vector<std::pair<std::string, Timestamp>> committed_names() const;
  size_t size() const;
  size_t open_count() const;
  std::vector<EntryPointer> entries() const;
  /// Those whose rows expire.
  std::vector<EntryPointer> with_retention() const;
  std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> open_tables() const;
  /// Also of an entry that has been dropped.
  PackedDefinition last_definition(const EntryPointer& entry) const;
  /// Name and definition of an entry and the commit that set them; nothing when it has been dropped.
  std::optional<std::pair<PackedDefinition, Timestamp>> committed_definition(const EntryPointer& entry) const;

  /// Tables dropped by transactions that committed, whose files may go once the log holds the commits
  /// durably.
  struct Dropped {
    EntryPointer entry;
    Timestamp timestamp = 0;
  };
  std::vector<Dropped> dropped() const;
  /// The first `count` of them have been dealt with.
  void forget_dropped(size_t count) noexcept;
  bool has_dropped() const;
  /// Tables created or redefined that the manifest does not know so yet.
  std::vector<EntryPointer> changed() const;
  void forget_changed(size_t count) noexcept;

  // --- recovery, before any other thread has the database. Names are not known until finish_recovery().

  /// Makes room for so many tables.
  void expect_tables(size_t count);
  EntryPointer recover_create(TableId id, PackedDefinition definition, Timestamp timestamp, bool changed);
  void recover_definition(const EntryPointer& entry, const TableDefinition& definition, Timestamp timestamp);
  void recover_drop(const EntryPointer& entry, Timestamp timestamp);
  /// ErrorCode::Corruption when two tables have one name.
  Status finish_recovery();

 private:
  class Action;
  /// What a transaction has changed. `reserve_for_commit()` has made room for it, as its commit must not need
  /// memory.
  struct Pending {
    TransactionId owner = 0;
    std::map<std::string, EntryPointer, std::less<>> names;  // null: dropped or renamed
    std::vector<EntryPointer> created;
    std::vector<EntryPointer> dropped;
    struct Redefinition {
      TableDefinition definition;
      PackedDefinition packed;
      std::unique_ptr<Table::ReplacedDefinition> of_table;  // for the table, when it is open
    };
    std::map<EntryPointer, Redefinition> definitions;
  };

  struct ForgottenIfEmpty {
    Catalog& catalog;
    Pending& pending;
    ~ForgottenIfEmpty() HAILSTONE_REQUIRES(catalog_mutex) { catalog.forget_if_empty(pending); }
  };

  const Pending* find_pending(const Transaction* transaction) const HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  Result<EntryPointer> resolve_last(std::span<const TableId> ids, const Pending* pending) const
      HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  Result<EntryPointer> resolve(const std::string& name, const Pending* pending) const
      HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  TableDefinition seen_definition(const EntryPointer& entry, const Pending& pending) const
      HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  std::shared_ptr<Pending> pending_of(const Transaction& transaction) HAILSTONE_REQUIRES(catalog_mutex);
  void forget_if_empty(Pending& pending) noexcept HAILSTONE_REQUIRES(catalog_mutex);
  Status reserve(const std::string& name, TransactionId owner) const HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  /// Puts `entry` over `name` in the overlay, and gives the transaction the action that takes this and
  /// `take_back` back.
  void change_names(Transaction& transaction, const std::shared_ptr<Pending>& pending,
                    const std::vector<std::pair<std::string, EntryPointer>>& changes,
                    std::function<void(Pending&)> take_back) HAILSTONE_REQUIRES(catalog_mutex);
  void commit(Pending& pending, Timestamp timestamp) noexcept;
  /// Room for all that the commits of pending changes put into the lists, beside `opened` tables more.
  void reserve_for_commit(size_t opened = 0) HAILSTONE_REQUIRES(catalog_mutex);
  SharedMutex& mutex() const HAILSTONE_RETURN_CAPABILITY(catalog_mutex) { return mutex_; }

  Result<std::shared_ptr<Table>> open_table(const TableRecord& record, const TableDefinition& definition,
                                            bool set_aside);

  const Hosts hosts_;
  mutable SharedMutex mutex_;
  mutable CommittedTables committed_ HAILSTONE_GUARDED_BY(catalog_mutex);
  mutable std::atomic<bool> names_asked_for_{false};
  NumberMap<EntryPointer> opened_ HAILSTONE_GUARDED_BY(catalog_mutex);  // those whose table is open
  std::unordered_map<std::string, TransactionId> reserved_ HAILSTONE_GUARDED_BY(catalog_mutex);
  std::map<TransactionId, std::shared_ptr<Pending>> pending_ HAILSTONE_GUARDED_BY(catalog_mutex);
  std::vector<Dropped> dropped_ HAILSTONE_GUARDED_BY(catalog_mutex);
  std::vector<EntryPointer> changed_ HAILSTONE_GUARDED_BY(catalog_mutex);
};

}  // namespace hailstone
