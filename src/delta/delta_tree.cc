#include "delta/delta_tree.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/check.h"

namespace hailstone {

namespace {
/// Of one node, unless it has children.
constexpr size_t node_entries = 24;
}  // namespace

uint32_t DeltaTree::head_at(ByteView key, size_t first) {
  constexpr size_t most = sizeof(uint32_t);
  const size_t size = std::min(key.size() - first, most);
  if (size == most) return static_cast<uint32_t>(load_big_endian(key.data() + first, most));
  uint32_t head = 0;
  for (size_t i = 0; i < most; ++i)
    head = head << 8 | (i < size ? static_cast<unsigned char>(key[first + i]) : 0U);
  return head;
}

DeltaTree::Sought DeltaTree::sought(ByteView key) const {
  const size_t first = prefix_.size();
  if (first == 0) return {key, head_at(key, 0)};
  const int order = key.substr(0, first).compare(prefix_);
  // Before or behind all entries. The same head as that of some is no matter: then the keys decide.
  if (order != 0) return {key, order < 0 ? 0 : ~uint32_t{0}};
  return {key, head_at(key, first)};
}

DeltaTree::Iterator DeltaTree::place_of(ByteView key) const {
  const Sought of_key = sought(key);
  if (entries_.empty() || Less{order_}(*std::prev(entries_.end()), of_key)) return end();
  return {entries_.lower_bound(of_key), order_};
}

void DeltaTree::share_prefix(ByteView key) {
  if (entries_.empty()) {
    prefix_ = key.substr(0, key.size() - std::min(key.size(), sizeof(uint32_t)));
    cuts_ = 0;
    return;
  }
  if (key.starts_with(prefix_)) return;
  const auto differ = std::ranges::mismatch(key, prefix_).in2;
  const auto common = static_cast<size_t>(differ - prefix_.begin());
  prefix_ = prefix_.substr(0, ++cuts_ < most_cuts ? common : 0);
  for (const Entry& entry : entries_)
    entry.set_head(head_at(key_of(*entry.version(), order_), prefix_.size()));
}

void DeltaTree::insert(Iterator place, const Version& version) {
  const ByteView key = key_of(version, order_);
  share_prefix(key);
  const size_t before = entries_.size();
  entries_.insert(place.at_, Entry(head_at(key, prefix_.size()), &version));
  HAILSTONE_CHECK(entries_.size() == before + 1, "an entry is in the tree already");
}

void DeltaTree::erase(const Version& version) {
  const auto place = entries_.find(Entry(head_at(key_of(version, order_), prefix_.size()), &version));
  HAILSTONE_CHECK(place != entries_.end(), "a version is taken out of an order that has not got it");
  entries_.erase(place);
}

size_t DeltaTree::node_room() const {
  // While there is one node, it is replaced by one of twice the size. Later a node is split at each level at
  // most, and a root is put on top; nodes have 4 children at least, and mostly many more.
  const size_t entries = entries_.size();
  if (entries < node_entries) return 64 + entries * 2 * entry_bytes;
  const auto levels = static_cast<size_t>(std::bit_width(entries) + 1) / 2;
  return (levels + 1) * NodePool::greatest_node;
}

}  // namespace hailstone
