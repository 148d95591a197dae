#include "delta/delta.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/check.h"

namespace hailstone {

Delta::Delta(size_t secondary_indexes, MemoryBudget* budget, std::atomic<uint64_t>* total,
             size_t most_chunk_bytes)
    : total_(total),
      arena_(budget, most_chunk_bytes),
      nodes_(arena_),
      clustered_(ClusteredTree::allocator_type(nodes_)) {
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
  HAILSTONE_CHECK(secondary_keys.size() == secondary_.size(), "{} keys for {} indexes", secondary_keys.size(),
                  secondary_.size());
  // Rows mostly come in key order: then the place is behind the last entry, and one comparison finds it.
  const TreeKey sought(key);
  auto place = clustered_.end();
  bool exists = false;
  if (!clustered_.empty() && !TreeEntryLess()(*std::prev(place), sought)) {
    place = clustered_.lower_bound(sought);
    exists = place->key() == key;
  }

  // Version, key and row lie side by side: a reader that found the version has the rest in the same or the
  // next cache line. Behind them are the keys of the secondary entries, for remove(): the length of each in 4
  // bytes, then its bytes.
  const size_t key_bytes = exists ? 0 : key.size();
  size_t bytes = sizeof(Version) + key_bytes + row.size();
  size_t room = node_room(clustered_.size());
  for (size_t i = 0; i < secondary_.size(); ++i) {
    bytes += sizeof(uint32_t) + secondary_keys[i].size();
    room += node_room(secondary_[i].size());
  }
  char* const memory = arena_.allocate(bytes);
  // From here on nothing fails.
  arena_.reserve(room);
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
  char* to = own_row + row.size();
  for (const std::string& entry : secondary_keys) {
    store(to, static_cast<uint32_t>(entry.size()));
    to += sizeof(uint32_t);
    to = std::copy(entry.begin(), entry.end(), to);
  }
  for_each_secondary(*version, [&](size_t i, ByteView entry) {
    secondary_[i].emplace_hint(secondary_[i].end(), Entry{entry, version});
  });
  ++version_count_;
  ++change_count_;
  count_bytes();
  return version;
}

size_t Delta::node_room(size_t entries) {
  // While there is one node, it is replaced by one of twice the size. Later a node is split at each level at
  // most, and a root is put on top; nodes have 4 children at least, and mostly many more.
  if (entries < 8) return 64 + entries * 2 * sizeof(Entry);
  const auto levels = static_cast<size_t>(std::bit_width(entries) + 1) / 2;
  return (levels + 1) * NodePool::greatest_node;
}

template <typename Visit>
void Delta::for_each_secondary(const Version& version, const Visit& visit) const {
  const char* at = version.row_data + version.row_size;
  for (size_t i = 0; i < secondary_.size(); ++i) {
    const auto size = load<uint32_t>(at);
    at += sizeof(uint32_t);
    if (size != 0) visit(i, ByteView(at, size));
    at += size;
  }
}

void Delta::remove(Version* version) noexcept {
  const auto place = clustered_.find(TreeKey(version->key()));
  HAILSTONE_CHECK(place != clustered_.end(), "a version is taken out of a delta that has not got it");
  for_each_secondary(*version, [&](size_t i, ByteView entry) { secondary_[i].erase(Entry{entry, version}); });
  if (place->newest != version) {
    Version* newer = place->newest;
    while (newer->older != version) newer = newer->older;
    newer->older = version->older;
  } else if (version->older != nullptr) {
    place->newest = version->older;
  } else {
    clustered_.erase(place);
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
