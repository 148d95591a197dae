#include "database/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

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
    const std::unique_lock guard(catalog_.mutex_);
    for (auto step = before_.rbegin(); step != before_.rend(); ++step) {
      if (step->present) {
        pending_->names[step->name] = step->entry;
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
  if (!overlaid) {
    const auto committed = by_name_.find(name);
    if (committed != by_name_.end()) entry = committed->second;
  }
  if (entry == nullptr) return fail(ErrorCode::NotFound, fmt::format("there is no table '{}'", name));
  return entry;
}

TableDefinition Catalog::seen_definition(const EntryPointer& entry, const Pending& pending) const {
  const auto own = pending.definitions.find(entry);
  return own != pending.definitions.end() ? own->second : entry->definition.unpack();
}

std::shared_ptr<Catalog::Pending> Catalog::pending_of(const Transaction& transaction) {
  std::shared_ptr<Pending>& pending = pending_[transaction.id()];
  if (pending == nullptr) {
    pending = std::make_shared<Pending>();
    pending->owner = transaction.id();
  }
  return pending;
}

void Catalog::forget_if_empty(Pending& pending) {
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
  std::vector<Action::Before> before;
  for (const auto& [name, entry] : changes) {
    const auto own = pending->names.find(name);
    const bool present = own != pending->names.end();
    before.push_back({name, present, present ? own->second : nullptr});
    pending->names[name] = entry;
    reserved_[name] = pending->owner;
  }
  transaction.add_action(std::make_unique<Action>(*this, pending, std::move(before), std::move(take_back)));
}

Result<std::shared_ptr<Table>> Catalog::create(Transaction& transaction, TableId id,
                                               const TableDefinition& definition) {
  const std::string& name = definition.name;
  auto entry = std::make_shared<CatalogEntry>(id);
  TableState state;
  state.id = id;
  entry->definition = definition;
  state.definition = entry->definition;
  HAILSTONE_ASSIGN(auto table, Table::open(host_, state));
  entry->table = table;
  const std::unique_lock guard(mutex_);
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  if (resolve(name, pending.get())) {
    forget_if_empty(*pending);
    return fail(ErrorCode::AlreadyExists, fmt::format("table '{}' exists already", name));
  }
  pending->created.push_back(entry);
  change_names(transaction, pending, {{name, entry}}, [](Pending& steps) { steps.created.pop_back(); });
  return table;
}

Result<EntryPointer> Catalog::drop(Transaction& transaction, const std::string& name) {
  const std::unique_lock guard(mutex_);
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  auto entry = resolve(name, pending.get());
  if (!entry) {
    forget_if_empty(*pending);
    return entry;
  }
  pending->dropped.push_back(*entry);
  change_names(transaction, pending, {{name, nullptr}}, [](Pending& steps) { steps.dropped.pop_back(); });
  return entry;
}

Result<EntryPointer> Catalog::redefine(
    Transaction& transaction, const std::string& name,
    const std::function<Result<TableDefinition>(const TableDefinition&)>& change) {
  const std::unique_lock guard(mutex_);
  HAILSTONE_TRY(reserve(name, transaction.id()));
  const auto pending = pending_of(transaction);
  const auto work = [&]() -> Result<EntryPointer> {
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
    std::optional<TableDefinition> before;
    const auto own = pending->definitions.find(entry);
    if (own != pending->definitions.end()) before = std::move(own->second);
    pending->definitions[entry] = std::move(definition);
    change_names(transaction, pending, changes, [entry, before = std::move(before)](Pending& steps) {
      if (before) {
        steps.definitions[entry] = *before;
      } else {
        steps.definitions.erase(entry);
      }
    });
    return entry;
  };
  auto result = work();
  if (!result) forget_if_empty(*pending);
  return result;
}

void Catalog::commit(Pending& pending, Timestamp timestamp) {
  const std::unique_lock guard(mutex_);
  const auto known = pending_.find(pending.owner);
  if (known == pending_.end() || known->second.get() != &pending) return;  // an earlier step has done it
  for (const EntryPointer& entry : pending.created) {
    entry->definition_timestamp = timestamp;
    entry->made = entry->named = timestamp;
    entry->table->set_ddl_commits(timestamp, timestamp);
    by_id_[entry->id] = entry;
    opened_[entry->id] = entry;
    changed_.push_back(entry);
  }
  for (auto& [entry, definition] : pending.definitions) {
    if (entry->definition.name() != definition.name) entry->named = timestamp;
    entry->definition = definition;
    entry->definition_timestamp = timestamp;
    if (entry->table != nullptr) {
      entry->table->set_ddl_commits(entry->made, entry->named);
      entry->table->replace_definition(std::move(definition));
    }
    changed_.push_back(entry);
  }
  for (const EntryPointer& entry : pending.dropped) {
    entry->dropped = true;
    by_id_.erase(entry->id);
    opened_.erase(entry->id);
    dropped_.push_back({entry, timestamp});
  }
  for (const auto& [name, entry] : pending.names) {
    if (entry != nullptr) {
      by_name_[name] = entry;
      if (ordered_names_) ordered_names_->insert(name);
    } else {
      by_name_.erase(name);
      if (ordered_names_) ordered_names_->erase(name);
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
  const std::shared_lock guard(mutex_);
  return resolve(name, find_pending(transaction));
}

Result<EntryPointer> Catalog::find_last(std::span<const TableId> ids, const Transaction* transaction) const {
  const std::shared_lock guard(mutex_);
  const Pending* const pending = find_pending(transaction);
  for (const TableId id : ids | std::views::reverse) {
    EntryPointer entry;
    if (const auto committed = by_id_.find(id); committed != by_id_.end()) entry = committed->second;
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

Result<TableDefinition> Catalog::definition(const std::string& name, const Transaction* transaction) const {
  const std::shared_lock guard(mutex_);
  const Pending* const pending = find_pending(transaction);
  HAILSTONE_ASSIGN(const EntryPointer entry, resolve(name, pending));
  return pending == nullptr ? entry->definition.unpack() : seen_definition(entry, *pending);
}

EntryPointer Catalog::find(TableId id) const {
  const std::shared_lock guard(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::shared_ptr<Table> Catalog::opened(const EntryPointer& entry) const {
  const std::shared_lock guard(mutex_);
  if (entry->table != nullptr) entry->used.store(true, std::memory_order_relaxed);
  return entry->table;
}

bool Catalog::unused(const EntryPointer& entry, const std::shared_ptr<Table>& table) {
  const std::unique_lock guard(mutex_);
  if (entry->dropped || entry->table != table || table.use_count() != 2) return false;
  entry->used.store(false, std::memory_order_relaxed);
  return true;
}

bool Catalog::close(const EntryPointer& entry, const std::shared_ptr<Table>& table) {
  const std::unique_lock guard(mutex_);
  if (entry->dropped || entry->table != table || table.use_count() != 2 ||
      entry->used.load(std::memory_order_relaxed)) {
    return false;
  }
  entry->table.reset();
  opened_.erase(entry->id);
  return true;
}

std::shared_ptr<Table> Catalog::let_go(const EntryPointer& entry) {
  const std::unique_lock guard(mutex_);
  return std::exchange(entry->table, nullptr);
}

Result<std::shared_ptr<Table>> Catalog::open(const EntryPointer& entry, bool set_aside) {
  if (auto table = opened(entry)) {
    count(host_.counters().table_hits);
    return table;
  }
  const std::lock_guard one_at_a_time(entry->opening);
  TableState state;
  {
    const std::shared_lock guard(mutex_);
    if (entry->table != nullptr) return entry->table;
    if (entry->dropped) {
      return fail(ErrorCode::NotFound, fmt::format("table '{}' has been dropped", entry->definition.name()));
    }
    state.id = entry->id;
    state.definition = entry->definition;
    state.definition_timestamp = entry->definition_timestamp;
  }
  // Not protected here, but constant as long as the table is not open.
  if (entry->recorded) {
    state.segments = entry->recorded->segments;
    state.next_row_id = entry->recorded->next_row_id;
    state.next_auto_increment = entry->recorded->next_auto_increment;
    state.last_publish = entry->recorded->last_publish;
    state.applied_until = entry->recorded->applied_until;
    state.rows = entry->recorded->rows;
  }
  const Timestamp opened_with = state.definition_timestamp;
  HAILSTONE_ASSIGN(auto table, Table::open(host_, state, set_aside));
  if (entry->analyzed != nullptr) table->set_analyzed_counts(std::move(*entry->analyzed));
  entry->analyzed.reset();
  count(host_.counters().table_opens);
  const std::unique_lock guard(mutex_);
  if (entry->definition_timestamp != opened_with) table->replace_definition(entry->definition.unpack());
  table->set_ddl_commits(entry->made, entry->named);
  entry->used.store(true, std::memory_order_relaxed);
  entry->table = table;
  if (!entry->dropped) opened_[entry->id] = entry;
  return table;
}

void Catalog::order_names() const {
  const std::unique_lock guard(mutex_);
  if (ordered_names_) return;
  std::vector<std::string> sorted;
  sorted.reserve(by_name_.size());
  for (const auto& [name, entry] : by_name_) sorted.push_back(name);
  std::ranges::sort(sorted);
  ordered_names_.emplace(std::make_move_iterator(sorted.begin()), std::make_move_iterator(sorted.end()));
}

std::vector<std::string> Catalog::names(const std::string& prefix, const Transaction* transaction) const {
  std::shared_lock guard(mutex_);
  if (!ordered_names_ && names_asked_for_.exchange(true)) {
    guard.unlock();
    order_names();
    guard.lock();
  }
  const Pending* const pending = find_pending(transaction);
  std::vector<std::string> result;
  const auto add = [&](const std::string& name) {
    if (pending == nullptr || !pending->names.contains(name)) result.push_back(name);
  };
  if (ordered_names_) {
    const absl::btree_set<std::string>& names = *ordered_names_;
    for (auto at = names.lower_bound(prefix); at != names.end() && at->starts_with(prefix); ++at) add(*at);
  } else {
    for (const auto& [name, entry] : by_name_) {
      if (name.starts_with(prefix)) add(name);
    }
  }
  if (ordered_names_ && pending == nullptr) return result;
  if (pending != nullptr) {
    for (auto at = pending->names.lower_bound(prefix);
         at != pending->names.end() && at->first.starts_with(prefix); ++at) {
      if (at->second != nullptr) result.push_back(at->first);
    }
  }
  std::ranges::sort(result);
  return result;
}

size_t Catalog::size() const {
  const std::shared_lock guard(mutex_);
  return by_name_.size();
}

size_t Catalog::open_count() const {
  const std::shared_lock guard(mutex_);
  return opened_.size();
}

std::vector<EntryPointer> Catalog::entries() const {
  const std::shared_lock guard(mutex_);
  std::vector<EntryPointer> result;
  result.reserve(by_id_.size());
  for (const auto& [id, entry] : by_id_) result.push_back(entry);
  return result;
}

std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> Catalog::open_tables() const {
  const std::shared_lock guard(mutex_);
  std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> result;
  result.reserve(opened_.size());
  for (const auto& [id, entry] : opened_) result.emplace_back(entry, entry->table);
  return result;
}

std::optional<std::pair<PackedDefinition, Timestamp>> Catalog::committed_definition(
    const EntryPointer& entry) const {
  const std::shared_lock guard(mutex_);
  if (entry->dropped || entry->definition_timestamp == 0) return std::nullopt;
  return std::pair(entry->definition, entry->definition_timestamp);
}

std::vector<Catalog::Dropped> Catalog::take_dropped() {
  const std::unique_lock guard(mutex_);
  return std::exchange(dropped_, {});
}

void Catalog::put_back(std::vector<Dropped> dropped) {
  const std::unique_lock guard(mutex_);
  dropped_.insert(dropped_.begin(), dropped.begin(), dropped.end());
}

bool Catalog::has_dropped() const {
  const std::shared_lock guard(mutex_);
  return !dropped_.empty();
}

std::vector<EntryPointer> Catalog::take_changed() {
  const std::unique_lock guard(mutex_);
  return std::exchange(changed_, {});
}

void Catalog::put_back(const std::vector<EntryPointer>& changed) {
  const std::unique_lock guard(mutex_);
  changed_.insert(changed_.begin(), changed.begin(), changed.end());
}

void Catalog::expect_tables(size_t count) {
  const std::unique_lock guard(mutex_);
  by_id_.reserve(count);
}

EntryPointer Catalog::recover_create(TableId id, PackedDefinition definition, Timestamp timestamp,
                                     bool changed) {
  const std::unique_lock guard(mutex_);
  auto entry = std::make_shared<CatalogEntry>(id);
  entry->definition = std::move(definition);
  entry->definition_timestamp = timestamp;
  by_id_[id] = entry;
  if (changed) changed_.push_back(entry);
  return entry;
}

void Catalog::recover_definition(const EntryPointer& entry, const TableDefinition& definition,
                                 Timestamp timestamp) {
  const std::unique_lock guard(mutex_);
  entry->definition = definition;
  entry->definition_timestamp = timestamp;
  if (entry->table != nullptr) entry->table->replace_definition(definition);
  changed_.push_back(entry);
}

void Catalog::recover_drop(const EntryPointer& entry, Timestamp timestamp) {
  const std::unique_lock guard(mutex_);
  entry->dropped = true;
  by_id_.erase(entry->id);
  opened_.erase(entry->id);
  dropped_.push_back({entry, timestamp});
}

Status Catalog::finish_recovery() {
  const std::unique_lock guard(mutex_);
  by_name_.reserve(by_id_.size());
  for (const auto& [id, entry] : by_id_) {
    const auto [at, added] = by_name_.emplace(entry->definition.name(), entry);
    if (!added) {
      return fail(
          ErrorCode::Corruption,
          fmt::format(
              "tables {} and {} are both called '{}': manifest and log do not belong together; restore "
              "the database from a backup",
              at->second->id, id, at->first));
    }
  }
  return {};
}

}  // namespace hailstone
