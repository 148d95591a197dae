// The ordered, versioned, row-wise store in memory that takes a table's single-row writes.
//
// Entries are ordered by clustered key; each holds a chain of versions, newest first. Each secondary index has its own order over (index key + clustered key).
// Latching is the table's: insert() and remove() need its latch exclusively, everything else shared. begin and end are atomic, since commit stamps them under the shared latch.
// Versions, rows and keys live in the delta's arena and stay valid as long as the delta, also after remove().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  Version* older = nullptr;   // of the same key
  const char* key_data = nullptr;
  const char* row_data = nullptr;
  uint32_t key_size = 0;
  uint32_t row_size = 0;
  uint32_t ordinal = 0;       // in the segment, once the delta is flushed; no_ordinal when it was dead and left behind
  static constexpr uint32_t no_ordinal = ~uint32_t{0};

  ByteView key() const { return {key_data, key_size}; }
  ByteView row() const { return {row_data, row_size}; }
};

class Delta {
 public:
  Delta(size_t secondary_indexes, MemoryBudget* budget);

  /// Adds the newest version of `key`. `secondary_keys[i]`: index key + clustered key of secondary index i; empty string: not in that index.
  Version* insert(ByteView key, ByteView row, Timestamp begin, std::span<const std::string> secondary_keys);
  /// Takes a version out that was inserted and rolled back; it must be the newest of its key or be found in its chain.
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
  using ClusteredTree = absl::btree_map<ByteView, Version*>;
  using SecondaryTree = absl::btree_set<Entry, EntryLess>;
  const ClusteredTree& clustered() const { return clustered_; }
  const SecondaryTree& secondary(size_t index) const { return secondary_[index]; }
  /// Rises with every insert and remove: an iterator taken at another count is void (seek again by key).
  uint64_t change_count() const { return change_count_; }

  /// Memory held: rows, keys and trees.
  size_t bytes() const;
  size_t version_count() const { return version_count_; }

 private:
  Arena arena_;
  ClusteredTree clustered_;
  std::vector<SecondaryTree> secondary_;
  size_t version_count_ = 0;
  size_t tree_bytes_ = 0;
  uint64_t change_count_ = 0;
  MemoryBudget* budget_;
};

}  // namespace hailstone
