// The ordered, versioned, row-wise store in memory that takes a table's single-row writes.
//
// Entries are ordered by clustered key; each holds a chain of versions, newest first. Each secondary index
// has its own order over (index key + clustered key). Latching is the table's: insert() and remove() need its
// latch exclusively, everything else shared. begin and end are atomic, since commit stamps them under the
// shared latch. Versions, rows and keys live in the delta's arena and stay valid as long as the delta, also
// after remove().
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/timestamp.h"

namespace hailstone {

struct Version {
  std::atomic<Timestamp> begin{0};
  std::atomic<Timestamp> end{infinity};
  Version* older = nullptr;  // of the same key
  const char* key_data = nullptr;
  const char* row_data = nullptr;
  uint32_t key_size = 0;
  uint32_t row_size = 0;
  /// In the segment, once the delta is flushed; no_ordinal when it was dead and left behind.
  uint32_t ordinal = 0;
  uint32_t sequence = 0;  // of its insertion in the table's delta: a statement tells what it wrote itself
  static constexpr uint32_t no_ordinal = ~uint32_t{0};

  ByteView key() const { return {key_data, key_size}; }
  ByteView row() const { return {row_data, row_size}; }
};

/// Memory of the trees of one delta: counted, and reserved from the budget node by node.
struct TreeMemory {
  MemoryBudget* budget = nullptr;
  size_t bytes = 0;
};

/// Gives tree nodes their memory and counts it in a TreeMemory, which outlives the tree.
template <typename T>
class TreeAllocator {
 public:
  using value_type = T;
  explicit TreeAllocator(TreeMemory& memory) : memory_(&memory) {}
  template <typename U>
  TreeAllocator(const TreeAllocator<U>& other)
      : memory_(&other.memory()) {}  // NOLINT(google-explicit-constructor): containers convert

  T* allocate(size_t count) {
    T* const allocated = std::allocator<T>().allocate(count);
    memory_->bytes += count * sizeof(T);
    if (memory_->budget != nullptr) memory_->budget->reserve(count * sizeof(T));
    return allocated;
  }
  void deallocate(T* at, size_t count) {
    std::allocator<T>().deallocate(at, count);
    memory_->bytes -= count * sizeof(T);
    if (memory_->budget != nullptr) memory_->budget->release(count * sizeof(T));
  }
  TreeMemory& memory() const { return *memory_; }
  template <typename U>
  bool operator==(const TreeAllocator<U>& other) const {
    return memory_ == &other.memory();
  }

 private:
  TreeMemory* memory_;
};

/// A key in the tree, with its first 8 bytes as a number beside it: most comparisons are decided without a
/// look at the key's own memory.
struct TreeKey : ByteView {
  template <std::convertible_to<ByteView> Bytes>
  TreeKey(const Bytes& bytes)
      : ByteView(bytes), head(head_of(*this)) {}  // NOLINT(google-explicit-constructor): a key is its bytes

  uint64_t head;  // big-endian, filled up with zeros: heads that differ are ordered as the keys are

 private:
  static uint64_t head_of(ByteView bytes) {
    if (bytes.size() >= 8) return load_big_endian(bytes.data(), 8);
    return bytes.empty() ? 0
                         : load_big_endian(bytes.data(), static_cast<unsigned>(bytes.size()))
                               << (64 - 8 * bytes.size());
  }
};

struct TreeKeyLess {
  bool operator()(const TreeKey& a, const TreeKey& b) const {
    return a.head != b.head ? a.head < b.head : static_cast<ByteView>(a) < static_cast<ByteView>(b);
  }
};

class Delta {
 public:
  /// `budget`, when given, is charged for all memory and outlives the delta.
  Delta(size_t secondary_indexes, MemoryBudget* budget);
  Delta(const Delta&) = delete;
  Delta& operator=(const Delta&) = delete;

  /// Adds the newest version of `key`. `secondary_keys[i]`: index key + clustered key of secondary index i;
  /// empty string: not in that index.
  Version* insert(ByteView key, ByteView row, Timestamp begin, std::span<const std::string> secondary_keys);
  /// Takes a version of this delta out that was inserted and rolled back. `secondary_keys`: as they were
  /// given to insert().
  void remove(Version* version, std::span<const std::string> secondary_keys);

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
  using ClusteredTree =
      absl::btree_map<TreeKey, Version*, TreeKeyLess, TreeAllocator<std::pair<const TreeKey, Version*>>>;
  using SecondaryTree = absl::btree_set<Entry, EntryLess, TreeAllocator<Entry>>;
  const ClusteredTree& clustered() const { return clustered_; }
  const SecondaryTree& secondary(size_t index) const { return secondary_[index]; }
  /// Rises with every insert and remove: an iterator taken at another count is void (seek again by key).
  uint64_t change_count() const { return change_count_; }

  /// Memory held: rows, keys and trees.
  size_t bytes() const;
  size_t version_count() const { return version_count_; }

 private:
  Arena arena_;
  TreeMemory tree_memory_;
  ClusteredTree clustered_;
  std::vector<SecondaryTree> secondary_;
  size_t version_count_ = 0;
  uint64_t change_count_ = 0;
};

}  // namespace hailstone
