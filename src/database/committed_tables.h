// The committed tables of a catalog: by id, by name, and in the order of their names.
//
// A table's name is nowhere but in its packed definition, and what the catalog keeps of it lies in the order
// in which the tables came: a catalog of a million tables is read within a second. Names are found by their
// hashes; entries whose names have one hash form a list.
//
// Under the catalog's mutex, all of it. Insertions that room was made for need no memory.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/number_map.h"
#include "database/catalog_entry.h"

namespace hailstone {

class CommittedTables {
 public:
  using Hash = uint64_t (*)(ByteView name);
  /// `hash`: for tests, which make names meet.
  explicit CommittedTables(Hash hash = hash_bytes) : hash_(hash) {}

  size_t size() const HAILSTONE_REQUIRES_SHARED(catalog_mutex) { return entries_.size(); }
  /// Null when there is none.
  EntryPointer find(TableId id) const HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  EntryPointer find(std::string_view name) const HAILSTONE_REQUIRES_SHARED(catalog_mutex);
  /// In the order in which they were added, but that the last one takes the place of one that goes.
  const std::vector<EntryPointer>& entries() const HAILSTONE_REQUIRES_SHARED(catalog_mutex) {
    return entries_;
  }

  /// Makes room for so many tables in all, with names.
  void reserve(size_t tables) HAILSTONE_REQUIRES(catalog_mutex);
  /// A table that is found by its id only until it is named.
  void add(EntryPointer entry) HAILSTONE_REQUIRES(catalog_mutex);
  /// One without a name.
  void remove(const CatalogEntry& entry) noexcept HAILSTONE_REQUIRES(catalog_mutex);
  /// Finds the entry by the name in its definition from now on. The definition must stay until remove_name().
  /// Null, or nothing is done and the entry that has the name already.
  const CatalogEntry* add_name(CatalogEntry& entry) HAILSTONE_REQUIRES(catalog_mutex);
  /// Nothing happens when no table has the name.
  void remove_name(std::string_view name) noexcept HAILSTONE_REQUIRES(catalog_mutex);

  /// Puts the names into order, which is kept from then on, while there is memory for it: sorting very many
  /// would make a database slow to open.
  void order_names() HAILSTONE_REQUIRES(catalog_mutex);
  bool names_are_ordered() const HAILSTONE_REQUIRES_SHARED(catalog_mutex) { return ordered_.has_value(); }
  /// Those that begin with `prefix`; in byte order once order_names() was called.
  std::vector<std::string_view> names(std::string_view prefix) const HAILSTONE_REQUIRES_SHARED(catalog_mutex);

 private:
  CatalogEntry* find_in_list(CatalogEntry* first, std::string_view name) const
      HAILSTONE_REQUIRES_SHARED(catalog_mutex);

  /// Not analysed: runs within calls that hold the catalog's mutex.
  struct ByName {
    using is_transparent = void;
    HAILSTONE_NO_THREAD_SAFETY_ANALYSIS static std::string_view name(const CatalogEntry* entry) {
      return entry->definition.name();
    }
    static std::string_view name(std::string_view name) { return name; }
    bool operator()(const auto& a, const auto& b) const { return name(a) < name(b); }
  };

  const Hash hash_;
  std::vector<EntryPointer> entries_;
  NumberMap<uint32_t> places_;        // in entries_, by id
  NumberMap<CatalogEntry*> by_name_;  // the first of each hash
  std::optional<std::set<CatalogEntry*, ByName>> ordered_;
};

}  // namespace hailstone
