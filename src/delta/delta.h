// The ordered, versioned, row-wise store in memory that takes a table's single-row writes.
//
// Entries are ordered by clustered key; each holds a chain of versions, newest first. Each secondary index
// has its own order over (index key + clustered key). Latching is the table's: insert() and remove() need its
// latch exclusively, everything else shared. begin and end are atomic, since commit stamps them under the
// shared latch. Versions, rows and keys live in the delta's arena and stay valid as long as the delta, also
// after remove().
//
// insert() does all or, when there is no memory (std::bad_alloc), nothing. remove() needs no memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/timestamp.h"

namespace hailstone {

/// What contracts call the latch of the table that a delta belongs to. Never defined: see
/// table/table_locks.h.
extern SharedMutex table_latch;

struct Version {
  std::atomic<Timestamp> begin{0};
  std::atomic<Timestamp> end{infinity};
  Version* older = nullptr;  // of the same key
  const char* key_data = nullptr;
  const char* row_data = nullptr;
  uint32_t key_size = 0;
  uint32_t row_size = 0;
  /// Among the rows that the delta's flush wrote; no_ordinal when it was dead and left behind.
  uint32_t ordinal = 0;
  uint32_t write = 0;  // number of the write within its transaction: readers of that tell by it what is new
  static constexpr uint32_t no_ordinal = ~uint32_t{0};

  ByteView key() const { return {key_data, key_size}; }
  ByteView row() const { return {row_data, row_size}; }
};

/// Memory of the nodes of a delta's trees, out of its arena. What a tree gives back is used for the next
/// nodes of the same size, of which there are few.
class NodePool {
 public:
  /// No node is greater, with some room to spare: the trees make nodes of about 256 bytes, and add the
  /// addresses of their children.
  static constexpr size_t greatest_node = 448;

  explicit NodePool(Arena& arena) : arena_(arena) {}
  void* allocate(size_t bytes) {
    HAILSTONE_CHECK(bytes <= greatest_node, "a node of {} bytes", bytes);
    Free*& list = list_of(bytes);
    if (list == nullptr) return arena_.allocate(bytes);
    return std::exchange(list, list->next);
  }
  void deallocate(void* node, size_t bytes) {
    Free*& list = list_of(bytes);
    list = new (node) Free{list};
  }

 private:
  struct Free {
    Free* next;
  };
  Free*& list_of(size_t bytes) {
    for (auto& [size, list] : lists_) {
      if (size == bytes) return list;
    }
    return lists_.emplace_back(bytes, nullptr).second;
  }

  Arena& arena_;
  absl::InlinedVector<std::pair<size_t, Free*>, 16> lists_;  // all sizes that there are
};

/// Gives tree nodes their memory; the pool outlives the tree.
template <typename T>
class TreeAllocator {
 public:
  using value_type = T;
  explicit TreeAllocator(NodePool& pool) : pool_(&pool) {}
  template <typename U>
  TreeAllocator(const TreeAllocator<U>& other)
      : pool_(&other.pool()) {}  // NOLINT(google-explicit-constructor): containers convert

  T* allocate(size_t count) { return static_cast<T*>(pool_->allocate(count * sizeof(T))); }
  void deallocate(T* at, size_t count) { pool_->deallocate(at, count * sizeof(T)); }
  NodePool& pool() const { return *pool_; }
  template <typename U>
  bool operator==(const TreeAllocator<U>& other) const {
    return pool_ == &other.pool();
  }

 private:
  NodePool* pool_;
};

/// A key that is sought in the tree, with its first 8 bytes as a number: most comparisons are decided by
/// those.
struct TreeKey {
  explicit TreeKey(ByteView key) : bytes(key), head(head_of(key)) {}

  ByteView bytes;
  uint64_t head;  // big-endian, filled up with zeros: heads that differ are ordered as the keys are

 private:
  static uint64_t head_of(ByteView bytes) {
    if (bytes.size() >= 8) return load_big_endian(bytes.data(), 8);
    return bytes.empty() ? 0
                         : load_big_endian(bytes.data(), static_cast<unsigned>(bytes.size()))
                               << (64 - 8 * bytes.size());
  }
};

/// A row of the tree: its versions from the newest on, which share the key. Small, so that a search meets few
/// cache lines.
struct TreeEntry {
  uint64_t head;            // of the key
  mutable Version* newest;  // another version of the same key keeps the order

  ByteView key() const { return newest->key(); }
};

struct TreeEntryLess {
  using is_transparent = void;
  bool operator()(const TreeEntry& a, const TreeEntry& b) const {
    return a.head != b.head ? a.head < b.head : a.key() < b.key();
  }
  bool operator()(const TreeEntry& a, const TreeKey& b) const {
    return a.head != b.head ? a.head < b.head : a.key() < b.bytes;
  }
  bool operator()(const TreeKey& a, const TreeEntry& b) const {
    return a.head != b.head ? a.head < b.head : a.bytes < b.key();
  }
};

class Delta {
 public:
  /// `budget`, when given, is charged for all memory, and `total` holds the bytes() of this delta among
  /// others'; both outlive the delta. `most_chunk_bytes`: as Arena has it.
  Delta(size_t secondary_indexes, MemoryBudget* budget, std::atomic<uint64_t>* total = nullptr,
        size_t most_chunk_bytes = 0);
  ~Delta();
  Delta(const Delta&) = delete;
  Delta& operator=(const Delta&) = delete;

  /// Adds the newest version of `key`. `secondary_keys[i]`: index key + clustered key of secondary index i;
  /// empty string: not in that index.
  Version* insert(ByteView key, ByteView row, Timestamp begin, std::span<const std::string> secondary_keys)
      HAILSTONE_REQUIRES(table_latch);
  /// Takes a version of this delta out that was inserted and rolled back.
  void remove(Version* version) noexcept HAILSTONE_REQUIRES(table_latch);

  /// The newest version of the key, or null.
  Version* find(ByteView key) const;

  struct Entry {
    ByteView key;      // clustered key, or index key + clustered key
    Version* version;  // newest of the clustered key; for a secondary index the one version the entry is for
  };
  struct EntryLess {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const {
      const int order = a.key.compare(b.key);
      return order != 0 ? order < 0 : a.version < b.version;
    }
    bool operator()(const Entry& a, ByteView b) const { return a.key < b; }
    bool operator()(ByteView a, const Entry& b) const { return a < b.key; }
  };
  using ClusteredTree = absl::btree_set<TreeEntry, TreeEntryLess, TreeAllocator<TreeEntry>>;
  using SecondaryTree = absl::btree_set<Entry, EntryLess, TreeAllocator<Entry>>;
  const ClusteredTree& clustered() const { return clustered_; }
  const SecondaryTree& secondary(size_t index) const { return secondary_[index]; }
  /// Rises with every insert and remove: an iterator taken at another count is void (seek again by key).
  uint64_t change_count() const { return change_count_; }

  /// Memory held: rows, keys and trees.
  size_t bytes() const { return arena_.bytes(); }
  size_t version_count() const { return version_count_; }
  /// Whether remove() has left memory behind.
  bool has_removed() const { return change_count_ != version_count_; }

 private:
  void count_bytes();
  /// Memory that an insert into a tree of `entries` entries may need for nodes.
  static size_t node_room(size_t entries);
  /// Calls `visit` with the index and the key of each secondary entry of a version.
  template <typename Visit>
  void for_each_secondary(const Version& version, const Visit& visit) const;

  std::atomic<uint64_t>* const total_;
  size_t counted_bytes_ = 0;  // in *total_
  Arena arena_;
  NodePool nodes_;  // in arena_
  ClusteredTree clustered_;
  std::vector<SecondaryTree> secondary_;
  size_t version_count_ = 0;
  uint64_t change_count_ = 0;
};

}  // namespace hailstone
