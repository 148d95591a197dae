// The ordered, versioned, row-wise store in memory that takes a table's single-row writes.
//
// Entries are ordered by clustered key; each holds a chain of versions, newest first. Each secondary index
// has its own order over (index key + clustered key). Latching is the table's: insert(), make_endable() and
// remove() need its latch exclusively, everything else shared. Begin and end of a version are atomic, since
// commit stamps them under the shared latch. Versions, rows and keys live in the delta's arena and stay valid
// as long as the delta, also after remove().
//
// insert() and make_endable() do all or, when there is no memory (std::bad_alloc), nothing. remove() needs no
// memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/timestamp.h"
#include "delta/delta_tree.h"
#include "delta/node_pool.h"
#include "delta/version.h"

namespace hailstone {

/// What contracts call the latch of the table that a delta belongs to. Never defined: see
/// table/table_locks.h.
extern SharedMutex table_latch;

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
  /// Makes it possible to end a version: Version::set_end().
  void make_endable(Version& version) HAILSTONE_REQUIRES(table_latch);
  /// Takes a version of this delta out that was inserted and rolled back.
  void remove(Version* version) noexcept HAILSTONE_REQUIRES(table_latch);

  /// The newest version of the key, or null.
  Version* find(ByteView key) const;

  const DeltaTree& clustered() const { return clustered_; }
  const DeltaTree& secondary(size_t index) const { return secondary_[index]; }
  /// Rises with every insert and remove: an iterator taken at another count is void (seek again by key).
  uint64_t change_count() const { return change_count_; }

  /// Memory held: rows, keys and trees.
  size_t bytes() const { return arena_.bytes(); }
  size_t version_count() const { return version_count_; }
  /// Versions that remove() has taken out; it has left their memory behind.
  uint64_t removed_count() const { return (change_count_ - version_count_) / 2; }

 private:
  void count_bytes();

  std::atomic<uint64_t>* const total_;
  size_t counted_bytes_ = 0;  // in *total_
  Arena arena_;
  NodePool nodes_;  // in arena_
  DeltaTree clustered_;
  std::vector<DeltaTree> secondary_;
  size_t version_count_ = 0;
  uint64_t change_count_ = 0;
};

}  // namespace hailstone
