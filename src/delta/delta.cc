#include "delta/delta.h"

#include <cassert>
#include <new>

namespace hailstone {

Delta::Delta(size_t secondary_indexes, MemoryBudget* budget, std::atomic<uint64_t>* total)
    : total_(total), arena_(budget), nodes_(arena_), clustered_(ClusteredTree::allocator_type(nodes_)) {
  secondary_.reserve(secondary_indexes);
  for (size_t i = 0; i < secondary_indexes; ++i) {
    secondary_.emplace_back(EntryLess(), SecondaryTree::allocator_type(nodes_));
  }
}

Delta::~Delta() {
  if (total_ != nullptr) total_->fetch_sub(counted_bytes_, std::memory_order_relaxed);
}

void Delta::count_bytes() {
  const size_t now = bytes();
  if (total_ == nullptr || now == counted_bytes_) return;
  total_->fetch_add(now - counted_bytes_, std::memory_order_relaxed);
  counted_bytes_ = now;
}

Version* Delta::insert(ByteView key, ByteView row, Timestamp begin,
                       std::span<const std::string> secondary_keys) {
  assert(secondary_keys.size() == secondary_.size());
  // Rows mostly come in key order: then the place is behind the last entry, and one comparison finds it.
  const TreeKey sought(key);
  auto place = clustered_.end();
  bool exists = false;
  if (!clustered_.empty() && !TreeEntryLess()(*std::prev(place), sought)) {
    place = clustered_.lower_bound(sought);
    exists = place->key() == key;
  }

  // Version, key and row lie side by side: a reader that found the version has the rest in the same or the
  // next cache line.
  const size_t key_bytes = exists ? 0 : key.size();
  char* const memory = arena_.allocate(sizeof(Version) + key_bytes + row.size());
  auto* const version = new (memory) Version;
  char* const own_key = memory + sizeof(Version);
  char* const own_row = own_key + key_bytes;
  if (key_bytes != 0) std::memcpy(own_key, key.data(), key_bytes);
  if (!row.empty()) std::memcpy(own_row, row.data(), row.size());
  version->begin.store(begin, std::memory_order_relaxed);
  version->key_data = exists ? place->key().data() : own_key;
  version->key_size = static_cast<uint32_t>(key.size());
  version->row_data = own_row;
  version->row_size = static_cast<uint32_t>(row.size());
  version->ordinal = Version::no_ordinal;

  if (exists) {
    version->older = place->newest;
    place->newest = version;
  } else {
    clustered_.insert(place, TreeEntry{sought.head, version});
  }
  for (size_t i = 0; i < secondary_.size(); ++i) {
    if (secondary_keys[i].empty()) continue;
    secondary_[i].emplace_hint(secondary_[i].end(), Entry{arena_.copy(secondary_keys[i]), version});
  }
  ++version_count_;
  ++change_count_;
  count_bytes();
  return version;
}

void Delta::remove(Version* version, std::span<const std::string> secondary_keys) {
  assert(secondary_keys.size() == secondary_.size());
  const auto place = clustered_.find(TreeKey(version->key()));
  assert(place != clustered_.end());
  if (place->newest != version) {
    Version* newer = place->newest;
    while (newer->older != version) newer = newer->older;
    newer->older = version->older;
  } else if (version->older != nullptr) {
    place->newest = version->older;
  } else {
    clustered_.erase(place);
  }
  for (size_t i = 0; i < secondary_.size(); ++i) {
    if (!secondary_keys[i].empty()) secondary_[i].erase(Entry{secondary_keys[i], version});
  }
  --version_count_;
  ++change_count_;
  count_bytes();
}

Version* Delta::find(ByteView key) const {
  const auto place = clustered_.find(TreeKey(key));
  return place == clustered_.end() ? nullptr : place->newest;
}

}  // namespace hailstone
