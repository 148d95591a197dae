#include "delta/delta.h"

#include "base/check.h"

namespace hailstone {

Delta::Delta(size_t secondary_indexes, MemoryBudget* budget, std::atomic<uint64_t>* total,
             size_t most_chunk_bytes)
    : total_(total),
      arena_(budget, most_chunk_bytes),
      nodes_(arena_),
      clustered_(nodes_, DeltaTree::clustered) {
  secondary_.reserve(secondary_indexes);
  for (size_t i = 0; i < secondary_indexes; ++i) {
    secondary_.emplace_back(nodes_, i);
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
  const DeltaTree::Iterator place = clustered_.place_of(key);
  const bool exists = place != clustered_.end() && place.key() == key;
  Version* const older = exists ? place.version() : nullptr;
  size_t room = clustered_.node_room();
  for (const DeltaTree& tree : secondary_) room += tree.node_room();
  char* const memory = arena_.allocate(Version::bytes_of(key, row, older, secondary_keys));
  // From here on nothing fails.
  arena_.reserve(room);
  Version* const version = Version::create(memory, key, row, begin, older, secondary_keys);
  if (exists) {
    clustered_.replace(place, *version);
  } else {
    clustered_.insert(place, *version);
  }
  for (size_t i = 0; i < secondary_.size(); ++i) {
    if (!secondary_keys[i].empty()) secondary_[i].insert(secondary_[i].end(), *version);
  }
  ++version_count_;
  ++change_count_;
  count_bytes();
  return version;
}

void Delta::make_endable(Version& version) {
  if (version.has_life()) return;
  version.give_life(arena_.allocate(sizeof(Version::Life)));
  count_bytes();
}

void Delta::remove(Version* version) noexcept {
  const DeltaTree::Iterator place = clustered_.lower_bound(version->key());
  HAILSTONE_CHECK(place != clustered_.end() && place.key() == version->key(),
                  "a version is taken out of a delta that has not got it");
  for (size_t i = 0; i < secondary_.size(); ++i) {
    if (!version->secondary_key(i).empty()) secondary_[i].erase(*version);
  }
  Version* const older = version->older();
  if (place.version() != version) {
    Version* newer = place.version();
    while (newer->older() != version) newer = newer->older();
    newer->set_older(older);
  } else if (older != nullptr) {
    clustered_.replace(place, *older);
  } else {
    clustered_.erase(place);
  }
  --version_count_;
  ++change_count_;
  count_bytes();
}

Version* Delta::find(ByteView key) const {
  const DeltaTree::Iterator place = clustered_.lower_bound(key);
  return place == clustered_.end() || place.key() != key ? nullptr : place.version();
}

}  // namespace hailstone
