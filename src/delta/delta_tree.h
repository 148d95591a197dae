// One order of a delta's versions: by the clustered key, each entry being the newest version of its key; or
// by a secondary index, each entry being one version, behind the others of the same entry key by its address.
//
// An entry takes 10 bytes: the address of the version, and 4 bytes of its key, the *head*, which decide most
// comparisons without a look at the version. The head begins behind a prefix that all keys of the tree share,
// so that the high bytes of numbers and the beginnings of paths are not compared again and again. A key
// without the prefix shortens it, and all heads are made anew; that happens `most_cuts` times at most, then
// heads are of the first bytes.
//
// Latching is the table's. insert() allocates nothing but nodes; all else allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/container/btree_set.h"
#include "base/bytes.h"
#include "delta/node_pool.h"
#include "delta/version.h"

namespace hailstone {

class DeltaTree {
 private:
  /// Of the version's address; no system that is served has addresses of more bytes.
  static constexpr unsigned address_bits = 48;

  class Entry {
   public:
    Entry(uint32_t head, const Version* version) {
      set_head(head);
      set_version(version);
    }
    uint32_t head() const { return load<uint32_t>(bytes_); }
    Version* version() const {
      const auto last = load<uint64_t>(bytes_ + sizeof(bytes_) - sizeof(uint64_t));
      // An entry has no room for a pointer: it keeps the bits of the address that can differ, a number.
      return reinterpret_cast<Version*>(last >> (64 - address_bits));  // NOLINT(performance-no-int-to-ptr)
    }
    /// Neither changes the order: of all keys the same bytes are cut off, and another version has the same
    /// key.
    void set_head(uint32_t head) const { store(bytes_, head); }
    void set_version(const Version* version) const {
      const auto address = reinterpret_cast<uint64_t>(version);
      std::memcpy(bytes_ + sizeof(uint32_t), &address, address_bits / 8);
    }

   private:
    mutable char bytes_[sizeof(uint32_t) + address_bits / 8];
  };
  static_assert(sizeof(Entry) == 10);

 public:
  static constexpr size_t entry_bytes = sizeof(Entry);
  static constexpr size_t clustered = ~size_t{0};

  /// `order`: number of the secondary index, or `clustered`.
  DeltaTree(NodePool& nodes, size_t order)
      : entries_(Less{order}, Entries::allocator_type(nodes)), order_(order) {}

 private:
  struct Sought {
    ByteView key;
    uint32_t head;
  };
  static ByteView key_of(const Version& version, size_t order) {
    return order == clustered ? version.key() : version.secondary_key(order);
  }
  struct Less {
    using is_transparent = void;
    size_t order;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.head() != b.head()) return a.head() < b.head();
      const Version *const left = a.version(), *const right = b.version();
      const int compared = key_of(*left, order).compare(key_of(*right, order));
      return compared != 0 ? compared < 0 : left < right;
    }
    bool operator()(const Entry& a, const Sought& b) const {
      return a.head() != b.head ? a.head() < b.head : key_of(*a.version(), order) < b.key;
    }
    bool operator()(const Sought& a, const Entry& b) const {
      return a.head != b.head() ? a.head < b.head() : a.key < key_of(*b.version(), order);
    }
  };
  using Entries = absl::btree_set<Entry, Less, TreeAllocator<Entry>>;

 public:
  class Iterator {
   public:
    Iterator() = default;
    Version* version() const { return at_->version(); }
    ByteView key() const { return key_of(*version(), order_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator& operator--() {
      --at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    friend class DeltaTree;
    Iterator(Entries::const_iterator at, size_t order) : at_(at), order_(order) {}
    Entries::const_iterator at_;
    size_t order_ = clustered;
  };

  Iterator begin() const { return {entries_.begin(), order_}; }
  Iterator end() const { return {entries_.end(), order_}; }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// The first entry whose key is not less than `key`.
  Iterator lower_bound(ByteView key) const { return {entries_.lower_bound(sought(key)), order_}; }
  /// The first entry whose key is greater than `key`.
  Iterator upper_bound(ByteView key) const { return {entries_.upper_bound(sought(key)), order_}; }
  /// Where an entry of the key belongs; the same as lower_bound(), but keys behind all others are found soon.
  Iterator place_of(ByteView key) const;

  /// Adds an entry; `place`: a guess. Needs node_room() in the pool at most.
  void insert(Iterator place, const Version& version);
  /// Puts another version with the same key in the entry's place; of the clustered order.
  void replace(Iterator place, const Version& version) { place.at_->set_version(&version); }
  void erase(Iterator place) { entries_.erase(place.at_); }
  /// Erases the entry of a version, of a secondary order.
  void erase(const Version& version);
  /// Memory that insert() may need.
  size_t node_room() const;

 private:
  static constexpr unsigned most_cuts = 16;

  static uint32_t head_at(ByteView key, size_t first);
  Sought sought(ByteView key) const;
  /// Makes the prefix one of `key`, too.
  void share_prefix(ByteView key);

  Entries entries_;
  const size_t order_;
  ByteView prefix_;  // of all keys; of a version that was added
  unsigned cuts_ = 0;
};

}  // namespace hailstone
