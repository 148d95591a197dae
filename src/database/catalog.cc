#include "database/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/check.h"

namespace hailstone {

/// One DDL step of a transaction.
class Catalog::Action final : public TransactionAction {
 public:
  struct Before {
    std::string name;
    bool present = false;  // in the overlay
    EntryPointer entry;
  };
  Action(Catalog& catalog, std::shared_ptr<Pending> pending, std::vector<Before> before,
         std::function<void(Pending&)> take_back)
      : catalog_(catalog),
        pending_(std::move(pending)),
        before_(std::move(before)),
        take_back_(std::move(take_back)) {}

  // The first step of the transaction commits all of them: nobody may see half of the DDL of a transaction.
  void commit(Timestamp timestamp) override { catalog_.commit(*pending_, timestamp); }

  void undo() override {
    const ExclusiveLock guard(catalog_.mutex());
    take_back();
  }

  bool can_be_prepared() const override { return false; }

  void take_back() noexcept HAILSTONE_REQUIRES(catalog_mutex) {
    for (auto step = before_.rbegin(); step != before_.rend(); ++step) {
      if (step->present) {
        pending_->names.find(step->name)->second = step->entry;
      } else {
        pending_->names.erase(step->name);
        catalog_.reserved_.erase(step->name);
      }
    }
    take_back_(*pending_);
    catalog_.forget_if_empty(*pending_);
  }

 private:
  Catalog& catalog_;
  const std::shared_ptr<Pending> pending_;
  const std::vector<Before> before_;
  const std::function<void(Pending&)> take_back_;
};

Result<EntryPointer> Catalog::resolve(const std::string& name, const Pending* pending) const {
  EntryPointer entry;
  bool overlaid = false;
  if (pending != nullptr) {
    const auto own = pending->names.find(name);
    if (own != pending->names.end()) {
      overlaid = true;
      entry = own->second;
    }
  }
  if (!overlaid) entry = committed_.find(name);
  if (entry == nullptr) return fail(ErrorCode::NotFound, fmt::format("there is no table '{}'", name));
  return entry;
}

TableDefinition Catalog::seen_definition(const EntryPointer& entry, const Pending& pending) const {
  const auto own = pending.definitions.find(entry);
  return own != pending.definitions.end() ? own->second.definition : entry->definition.unpack();
}

std::shared_ptr<Catalog::Pending> Catalog::pending_of(const Transaction& transaction) {
  const auto own = pending_.find(transaction.id());
  if (own != pending_.end()) return own->second;
  auto pending = std::make_shared<Pending>();
  pending->owner = transaction.id();
  pending_.emplace(transaction.id(), pending);
  return pending;
}

void Catalog::reserve_for_commit(size_t opened) {
  size_t created = 0, changed = 0, dropped = 0;
  for (const auto& [owner, pending] : pending_) {
    created += pending->created.size();
    changed += pending->created.size() + pending->definitions.size();
    dropped += pending->dropped.size();
  }
  const auto grow = [](auto& list, size_t by) {
    const size_t wanted = list.size() + by;
    if (wanted > list.capacity()) list.reserve(std::max(wanted, 2 * list.capacity()));
  };
  committed_.reserve(committed_.size() + created);
  opened_.reserve(opened_.size() + created + opened);
  grow(changed_, changed);
  grow(dropped_, dropped);
}

void Catalog::forget_if_empty(Pending& pending) noexcept {
  if (pending.names.empty()) pending_.erase(pending.owner);
}

Status Catalog::reserve(const std::string& name, TransactionId owner) const {
  const auto holder = reserved_.find(name);
  if (holder == reserved_.end() || holder->second == owner) return {};
  return fail(
      ErrorCode::Busy,
      fmt::format(
          "another transaction is creating, dropping or changing table '{}'; try again when it has ended",
          name));
}

void Catalog::change_names(Transaction& transaction, const std::shared_ptr<Pending>& pending,
                           const std::vector<std::pair<std::string, EntryPointer>>& changes,
                           std::function<void(Pending&)> take_back) {
  std::unique_ptr<Action> action;
  try {
    std::vector<Action::Before> before;
    for (const auto& [name, entry] : changes) {
      const auto own = pending->names.find(name);
      const bool present = own != pending->names.end();
      before.push_back({name, present, present ? own->second : nullptr});
    }
    action = std::make_unique<Action>(*this, pending, std::move(before), std::move(take_back));
    for (const auto& [name, entry] : changes) {
      pending->names[name] = entry;
      reserved_[name] = pending->owner;
    }
    reserve_for_commit();
  } catch (const std::bad_alloc&) {
    if (action != nullptr) {
      action->take_back();
    } else {
      take_back(*pending);
    }
    throw;
  }
  transaction.add_action(std::move(action));
}

Result<std::shared_ptr<Table>> Catalog::create(Transaction& transaction, TableId id,
                                               const TableDefinition& definition) {
  const std::string& name = definition.name;
  auto entry = std::make_shared<CatalogEntry>(id, definition.temporary);
  TableRecord record;
  record.id = id;
  record.definition = definition;
  HAILSTONE_ASSIGN(auto table, open_table(record, definition, /*set_aside=*/false));
  const ExclusiveLock guard(mutex());
  entry->definition = record.definition;
  entry->table = table;
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  const ForgottenIfEmpty forgotten{*this, *pending};
  if (resolve(name, pending.get())) {
    return fail(ErrorCode::AlreadyExists, fmt::format("table '{}' exists already", name));
  }
  const std::vector<std::pair<std::string, EntryPointer>> changes{{name, entry}};
  pending->created.push_back(entry);
  change_names(transaction, pending, changes, [](Pending& steps) { steps.created.pop_back(); });
  return table;
}

Result<std::shared_ptr<Table>> Catalog::open_table(const TableRecord& record,
                                                   const TableDefinition& definition, bool set_aside) {
  TableHost& host = definition.in_memory   ? hosts_.in_memory
                    : definition.temporary ? hosts_.temporary
                                           : hosts_.durable;
  return Table::open(host, record, set_aside);
}

Result<EntryPointer> Catalog::drop(Transaction& transaction, const std::string& name) {
  const ExclusiveLock guard(mutex());
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  const ForgottenIfEmpty forgotten{*this, *pending};
  auto entry = resolve(name, pending.get());
  if (!entry) return entry;
  const std::vector<std::pair<std::string, EntryPointer>> changes{{name, nullptr}};
  pending->dropped.push_back(*entry);
  change_names(transaction, pending, changes, [](Pending& steps) { steps.dropped.pop_back(); });
  return entry;
}

Result<EntryPointer> Catalog::redefine(
    Transaction& transaction, const std::string& name,
    const std::function<Result<TableDefinition>(const TableDefinition&)>& change) {
  const ExclusiveLock guard(mutex());
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  const ForgottenIfEmpty forgotten{*this, *pending};
  HAILSTONE_ASSIGN(EntryPointer entry, resolve(name, pending.get()));
  HAILSTONE_ASSIGN(TableDefinition definition, change(seen_definition(entry, *pending)));
  std::vector<std::pair<std::string, EntryPointer>> changes;
  if (definition.name != name) {
    HAILSTONE_TRY(reserve(definition.name, transaction.id()));
    if (resolve(definition.name, pending.get())) {
      return fail(ErrorCode::AlreadyExists, fmt::format("table '{}' exists already", definition.name));
    }
    changes.emplace_back(name, nullptr);
  }
  changes.emplace_back(definition.name, entry);
  Pending::Redefinition made;
  made.packed = definition;
  made.of_table = std::make_unique<Table::ReplacedDefinition>(definition);
  made.definition = std::move(definition);
  const bool is_first = !pending->definitions.contains(entry);
  const auto before = std::make_shared<Pending::Redefinition>();
  std::function<void(Pending&)> take_back = [entry, before, is_first](Pending& steps) {
    const auto redefined = steps.definitions.find(entry);
    if (is_first) {
      steps.definitions.erase(redefined);
    } else {
      redefined->second = std::move(*before);
    }
  };
  *before = std::exchange(pending->definitions[entry], std::move(made));
  change_names(transaction, pending, changes, std::move(take_back));
  return entry;
}

void Catalog::commit(Pending& pending, Timestamp timestamp) noexcept {
  const ExclusiveLock guard(mutex());
  const auto known = pending_.find(pending.owner);
  if (known == pending_.end() || known->second.get() != &pending) return;  // an earlier step has done it
  for (const auto& [name, entry] : pending.names) committed_.remove_name(name);
  for (const EntryPointer& entry : pending.created) {
    entry->definition_timestamp = timestamp;
    entry->made = entry->named = timestamp;
    entry->table->set_ddl_commits(timestamp, timestamp);
    committed_.add(entry);
    opened_[entry->id] = entry;
    changed_.push_back(entry);
  }
  for (auto& [entry, redefined] : pending.definitions) {
    if (entry->definition.name() != redefined.definition.name) entry->named = timestamp;
    entry->definition = std::move(redefined.packed);
    entry->definition_timestamp = timestamp;
    if (entry->table != nullptr) {
      entry->table->set_ddl_commits(entry->made, entry->named);
      entry->table->replace_definition(std::move(redefined.of_table));
    }
    changed_.push_back(entry);
  }
  for (const EntryPointer& entry : pending.dropped) {
    entry->dropped = true;
    committed_.remove(*entry);
    opened_.erase(entry->id);
    dropped_.push_back({entry, timestamp});
  }
  for (const auto& [name, entry] : pending.names) {
    if (entry != nullptr) {
      const CatalogEntry* const other = committed_.add_name(*entry);
      HAILSTONE_CHECK(other == nullptr, "two tables are called '{}'", name);
    }
    reserved_.erase(name);
  }
  pending_.erase(known);
}

const Catalog::Pending* Catalog::find_pending(const Transaction* transaction) const {
  if (transaction == nullptr || pending_.empty()) return nullptr;
  const auto own = pending_.find(transaction->id());
  return own == pending_.end() ? nullptr : own->second.get();
}

Result<EntryPointer> Catalog::find(const std::string& name, const Transaction* transaction) const {
  const SharedLock guard(mutex());
  return resolve(name, find_pending(transaction));
}

Result<EntryPointer> Catalog::resolve_last(std::span<const TableId> ids, const Pending* pending) const {
  for (const TableId id : ids | std::views::reverse) {
    EntryPointer entry = committed_.find(id);
    if (pending != nullptr) {
      for (const EntryPointer& created : pending->created) {
        if (created->id == id) entry = created;
      }
      if (std::ranges::find(pending->dropped, entry) != pending->dropped.end()) entry = nullptr;
    }
    if (entry != nullptr) return entry;
  }
  return fail(ErrorCode::NotFound, fmt::format("there is no table of id {}", fmt::join(ids, ", ")));
}

Result<EntryPointer> Catalog::find_last(std::span<const TableId> ids, const Transaction* transaction) const {
  const SharedLock guard(mutex());
  return resolve_last(ids, find_pending(transaction));
}

Result<std::string> Catalog::name(TableId id, const Transaction* transaction) const {
  const SharedLock guard(mutex());
  const Pending* const pending = find_pending(transaction);
  HAILSTONE_ASSIGN(const EntryPointer entry, resolve_last({&id, 1}, pending));
  if (pending != nullptr) {
    const auto own = pending->definitions.find(entry);
    if (own != pending->definitions.end()) return own->second.definition.name;
  }
  return std::string(entry->definition.name());
}

Result<TableDefinition> Catalog::definition(const std::string& name, const Transaction* transaction) const {
  const SharedLock guard(mutex());
  const Pending* const pending = find_pending(transaction);
  HAILSTONE_ASSIGN(const EntryPointer entry, resolve(name, pending));
  return pending == nullptr ? entry->definition.unpack() : seen_definition(entry, *pending);
}

EntryPointer Catalog::find(TableId id) const {
  const SharedLock guard(mutex());
  return committed_.find(id);
}

std::shared_ptr<Table> Catalog::opened(const EntryPointer& entry) const {
  const SharedLock guard(mutex());
  if (entry->table != nullptr) entry->used.store(true, std::memory_order_relaxed);
  return entry->table;
}

bool Catalog::unused(const EntryPointer& entry, const std::shared_ptr<Table>& table) {
  const ExclusiveLock guard(mutex());
  if (entry->dropped || entry->table != table || table.use_count() != 2) return false;
  entry->used.store(false, std::memory_order_relaxed);
  return true;
}

bool Catalog::close(const EntryPointer& entry, const std::shared_ptr<Table>& table) {
  const ExclusiveLock guard(mutex());
  if (entry->dropped || entry->table != table || table.use_count() != 2 ||
      entry->used.load(std::memory_order_relaxed)) {
    return false;
  }
  entry->table.reset();
  opened_.erase(entry->id);
  return true;
}

std::shared_ptr<Table> Catalog::let_go(const EntryPointer& entry) {
  const ExclusiveLock guard(mutex());
  return std::exchange(entry->table, nullptr);
}

Result<std::shared_ptr<Table>> Catalog::open(const EntryPointer& entry, bool set_aside) {
  if (auto table = opened(entry)) {
    count(hosts_.durable.counters().table_hits);
    return table;
  }
  const MutexLock one_at_a_time(entry->opening);
  TableRecord record;
  {
    const SharedLock guard(mutex());
    if (entry->table != nullptr) return entry->table;
    if (entry->dropped) {
      return fail(ErrorCode::NotFound, fmt::format("table '{}' has been dropped", entry->definition.name()));
    }
    record.id = entry->id;
    record.definition = entry->definition;
    record.definition_timestamp = entry->definition_timestamp;
  }
  if (entry->recorded) static_cast<TableContents&>(record) = *entry->recorded;
  const Timestamp opened_with = record.definition_timestamp;
  HAILSTONE_ASSIGN(auto table, open_table(record, record.definition.unpack(), set_aside));
  if (entry->analyzed != nullptr) table->set_analyzed_counts(std::move(*entry->analyzed));
  entry->analyzed.reset();
  count(hosts_.durable.counters().table_opens);
  const ExclusiveLock guard(mutex());
  reserve_for_commit(1);
  if (entry->definition_timestamp != opened_with) {
    table->replace_definition(std::make_unique<Table::ReplacedDefinition>(entry->definition.unpack()));
  }
  table->set_ddl_commits(entry->made, entry->named);
  entry->used.store(true, std::memory_order_relaxed);
  entry->table = table;
  if (!entry->dropped) opened_[entry->id] = entry;
  return table;
}

std::vector<std::string> Catalog::names(const std::string& prefix, const Transaction* transaction) const {
  bool is_to_order = false;
  {
    // A server asks once when it starts, for the few tables that it has left over; that is not worth an
    // order.
    const SharedLock guard(mutex());
    is_to_order = !committed_.names_are_ordered() && names_asked_for_.exchange(true);
  }
  if (is_to_order) {
    const ExclusiveLock guard(mutex());
    committed_.order_names();
  }
  const SharedLock guard(mutex());
  const Pending* const pending = find_pending(transaction);
  std::vector<std::string> result;
  for (const std::string_view name : committed_.names(prefix)) {
    if (pending == nullptr || !pending->names.contains(name)) result.emplace_back(name);
  }
  const bool is_ordered = pending == nullptr && committed_.names_are_ordered();
  if (pending != nullptr) {
    for (auto at = pending->names.lower_bound(prefix);
         at != pending->names.end() && at->first.starts_with(prefix); ++at) {
      if (at->second != nullptr) result.push_back(at->first);
    }
  }
  if (!is_ordered) std::ranges::sort(result);
  return result;
}

size_t Catalog::size() const {
  const SharedLock guard(mutex());
  return committed_.size();
}

size_t Catalog::open_count() const {
  const SharedLock guard(mutex());
  return opened_.size();
}

std::vector<std::pair<std::string, Timestamp>> Catalog::committed_names() const {
  const SharedLock guard(mutex());
  std::vector<std::pair<std::string, Timestamp>> result;
  result.reserve(committed_.size());
  for (const EntryPointer& entry : committed_.entries()) {
    if (entry->dropped || entry->definition_timestamp == 0) continue;
    result.emplace_back(entry->definition.name(), entry->definition_timestamp);
  }
  return result;
}

std::vector<EntryPointer> Catalog::entries() const {
  const SharedLock guard(mutex());
  return committed_.entries();
}

std::vector<EntryPointer> Catalog::with_retention() const {
  const SharedLock guard(mutex());
  std::vector<EntryPointer> result;
  for (const EntryPointer& entry : committed_.entries()) {
    if (entry->definition.has_retention()) result.push_back(entry);
  }
  return result;
}

std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> Catalog::open_tables() const {
  const SharedLock guard(mutex());
  std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> result;
  result.reserve(opened_.size());
  opened_.for_each([&](TableId, const EntryPointer& entry) HAILSTONE_REQUIRES_SHARED(catalog_mutex) {
    result.emplace_back(entry, entry->table);
  });
  return result;
}

PackedDefinition Catalog::last_definition(const EntryPointer& entry) const {
  const SharedLock guard(mutex());
  return entry->definition;
}

std::optional<std::pair<PackedDefinition, Timestamp>> Catalog::committed_definition(
    const EntryPointer& entry) const {
  const SharedLock guard(mutex());
  if (entry->dropped || entry->definition_timestamp == 0) return std::nullopt;
  return std::pair(entry->definition, entry->definition_timestamp);
}

std::vector<Catalog::Dropped> Catalog::dropped() const {
  const SharedLock guard(mutex());
  return dropped_;
}

void Catalog::forget_dropped(size_t count) noexcept {
  const ExclusiveLock guard(mutex());
  dropped_.erase(dropped_.begin(), dropped_.begin() + static_cast<std::ptrdiff_t>(count));
}

bool Catalog::has_dropped() const {
  const SharedLock guard(mutex());
  return !dropped_.empty();
}

std::vector<EntryPointer> Catalog::changed() const {
  const SharedLock guard(mutex());
  return changed_;
}

void Catalog::forget_changed(size_t count) noexcept {
  const ExclusiveLock guard(mutex());
  changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Catalog::expect_tables(size_t count) {
  const ExclusiveLock guard(mutex());
  committed_.reserve(count);
}

EntryPointer Catalog::recover_create(TableId id, PackedDefinition definition, Timestamp timestamp,
                                     bool changed) {
  const ExclusiveLock guard(mutex());
  auto entry = std::make_shared<CatalogEntry>(id);
  entry->definition = std::move(definition);
  entry->definition_timestamp = timestamp;
  committed_.add(entry);
  if (changed) changed_.push_back(entry);
  return entry;
}

void Catalog::recover_definition(const EntryPointer& entry, const TableDefinition& definition,
                                 Timestamp timestamp) {
  const ExclusiveLock guard(mutex());
  entry->definition = definition;
  entry->definition_timestamp = timestamp;
  if (entry->table != nullptr) {
    entry->table->replace_definition(std::make_unique<Table::ReplacedDefinition>(definition));
  }
  changed_.push_back(entry);
}

void Catalog::recover_drop(const EntryPointer& entry, Timestamp timestamp) {
  const ExclusiveLock guard(mutex());
  entry->dropped = true;
  committed_.remove(*entry);
  opened_.erase(entry->id);
  dropped_.push_back({entry, timestamp});
}

Status Catalog::finish_recovery() {
  const ExclusiveLock guard(mutex());
  for (const EntryPointer& entry : committed_.entries()) {
    if (const CatalogEntry* const other = committed_.add_name(*entry)) {
      return fail(
          ErrorCode::Corruption,
          fmt::format("tables {} and {} are both called '{}': manifest and log do not belong together; "
                      "restore the database from a backup",
                      other->id, entry->id, entry->definition.name()));
    }
  }
  return {};
}

}  // namespace hailstone
