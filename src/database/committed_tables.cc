#include "database/committed_tables.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

EntryPointer CommittedTables::find(TableId id) const {
  const uint32_t* const place = places_.find(id);
  return place == nullptr ? nullptr : entries_[*place];
}

EntryPointer CommittedTables::find(std::string_view name) const {
  CatalogEntry* const* const first = by_name_.find(hash_(name));
  CatalogEntry* const entry = first == nullptr ? nullptr : find_in_list(*first, name);
  return entry == nullptr ? nullptr : find(entry->id);
}

CatalogEntry* CommittedTables::find_in_list(CatalogEntry* first, std::string_view name) const {
  CatalogEntry* entry = first;
  while (entry != nullptr && entry->definition.name() != name) entry = entry->next_of_hash;
  return entry;
}

void CommittedTables::reserve(size_t tables) {
  if (tables > entries_.capacity()) entries_.reserve(std::max(tables, 2 * entries_.capacity()));
  places_.reserve(tables);
  by_name_.reserve(tables);
}

void CommittedTables::add(EntryPointer entry) {
  const TableId id = entry->id;
  reserve(size() + 1);
  const bool is_new = places_.emplace(id, static_cast<uint32_t>(entries_.size())).second;
  HAILSTONE_CHECK(is_new, "table {} is committed twice", id);
  entries_.push_back(std::move(entry));
}

void CommittedTables::remove(const CatalogEntry& entry) noexcept {
  const uint32_t* const found = places_.find(entry.id);
  HAILSTONE_CHECK(found != nullptr, "table {} is not committed", entry.id);
  HAILSTONE_CHECK(find(entry.definition.name()).get() != &entry, "table {} goes and keeps its name",
                  entry.id);
  const uint32_t place = *found;
  places_.erase(entry.id);
  if (place + 1 != entries_.size()) {
    *places_.find(entries_.back()->id) = place;
    entries_[place] = std::move(entries_.back());
  }
  entries_.pop_back();
}

const CatalogEntry* CommittedTables::add_name(CatalogEntry& entry) {
  const std::string_view name = entry.definition.name();
  const auto [first, is_new] = by_name_.emplace(hash_(name), &entry);
  if (!is_new) {
    if (const CatalogEntry* const other = find_in_list(*first, name)) return other;
    entry.next_of_hash = std::exchange(*first, &entry);
  }
  if (!ordered_) return nullptr;
  try {
    ordered_->insert(&entry);
  } catch (const std::bad_alloc&) {
    ordered_.reset();  // it is made anew when it is asked for
  }
  return nullptr;
}

void CommittedTables::remove_name(std::string_view name) noexcept {
  const uint64_t hash = hash_(name);
  CatalogEntry** const first = by_name_.find(hash);
  CatalogEntry** at = first;
  while (at != nullptr && *at != nullptr && (*at)->definition.name() != name) at = &(*at)->next_of_hash;
  if (at == nullptr || *at == nullptr) return;
  if (ordered_) ordered_->erase(*at);
  *at = std::exchange((*at)->next_of_hash, nullptr);
  if (*first == nullptr) by_name_.erase(hash);
}

void CommittedTables::order_names() {
  if (ordered_) return;
  std::vector<CatalogEntry*> sorted;
  sorted.reserve(entries_.size());
  for (const EntryPointer& entry : entries_) sorted.push_back(entry.get());
  std::ranges::sort(sorted, ByName());
  ordered_.emplace(sorted.begin(), sorted.end());
}

std::vector<std::string_view> CommittedTables::names(std::string_view prefix) const {
  std::vector<std::string_view> result;
  if (ordered_) {
    for (auto at = ordered_->lower_bound(prefix); at != ordered_->end(); ++at) {
      const std::string_view name = ByName::name(*at);
      if (!name.starts_with(prefix)) break;
      result.push_back(name);
    }
  } else {
    for (const EntryPointer& entry : entries_) {
      const std::string_view name = ByName::name(entry.get());
      if (name.starts_with(prefix)) result.push_back(name);
    }
  }
  return result;
}

}  // namespace hailstone
