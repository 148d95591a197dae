// What records of groups, or rows, may take of the memory budget, and where those beyond that go. Shared by
// the threads of a query, and thread-safe; outlives the records.
//
// A chunk is *given* where the budget has room for it, or *needed*: each RecordPartitions may always have
// share() bytes, which are reserved as long as this is there. Chunks that come back are given out again as
// what they have been: needed ones do not become what somebody else may have beyond its share.
//
// Records lie in chunks. Chunks of up to chunk_bytes() are powers of two, cut from slabs, which are huge
// pages where many are needed: many small pages would take longer than the records. With the last chunk that
// comes back the slabs go.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/operator_counts.h"
#include "base/page_allocator.h"
#include "file/spill_file.h"

namespace hailstone {

/// How rows are divided where each thread may have so many bytes of their records.
struct RecordDivision {
  size_t chunk = 0;         // how long chunks become
  unsigned first_bits = 0;  // of the hashes, by which rows are divided at first
  static RecordDivision of(size_t most_of_thread);
};

/// What may be taken whatever others take.
struct RecordFloor {
  size_t bytes = 0;       // of all together
  size_t partitions = 1;  // how many RecordPartitions are filled at a time
};

class RecordMemory {
 public:
  static constexpr size_t least_chunk = size_t{4} << 10, most_chunk = size_t{64} << 10;

  struct Chunk {
    char* bytes = nullptr;  // null: there is none
    size_t size = 0;
    bool needed = false;  // of one that is longer than most_chunk
  };

  /// `most`: bytes, beside the floor; `counts`: of the operator; may be null.
  RecordMemory(MemoryBudget& budget, SpillSpace& space, size_t most, const RecordDivision& division,
               const RecordFloor& floor, OperatorCounts* counts);
  RecordMemory(const RecordMemory&) = delete;
  RecordMemory& operator=(const RecordMemory&) = delete;

  /// Of `wanted` bytes, or, where that is too much, of `least`. None: the budget gives none.
  Chunk try_take(size_t wanted, size_t least);
  /// What cannot be done without: of somebody who has less than share(), or nothing to give back.
  Chunk take(size_t least);
  void give_back(Chunk chunk);
  /// So many bytes have gone to a spill file.
  void note_spilled(size_t bytes) {
    if (counts_ != nullptr) counts_->spilled.fetch_add(bytes, std::memory_order_relaxed);
  }

  SpillSpace& space() const { return space_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  unsigned first_bits() const { return first_bits_; }
  /// Whether any chunk has room in it. Otherwise all goes to files.
  bool has_chunks() const { return most_ >= least_chunk; }
  /// Bytes that each RecordPartitions may have, however short memory is.
  size_t share() const { return share_; }
  /// Whether more is taken than was given. What nobody fills any more goes to files then.
  bool is_short() const {
    return given_out_bytes_.load(std::memory_order_relaxed) > given_.load(std::memory_order_relaxed);
  }
  /// Whether half of it is free.
  bool is_ample() const { return used_.load(std::memory_order_relaxed) < most_ / 2; }

 private:
  /// Pages and their reservation, which go together.
  class Pages {
   public:
    explicit Pages(RecordMemory& memory) : memory_(memory) {}
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();
    /// False: there is no memory, unless it is needed `whatever` comes.
    bool map(size_t size, bool whatever);
    char* begin() const { return bytes_.get(); }
    /// They do not go any more.
    Chunk take();

   private:
    RecordMemory& memory_;
    size_t size_ = 0;
    bool needed_ = false;
    PageBytes bytes_;
  };
  static constexpr size_t classes = std::countr_zero(most_chunk / least_chunk) + 1;
  static size_t class_of(size_t size);

  bool reserve(size_t size, bool whatever);
  void release(size_t size, bool needed);
  Chunk take_alone(size_t size, bool whatever);
  /// The next slab is to have room for `size` bytes.
  bool add_slab(size_t size, bool whatever) HAILSTONE_REQUIRES(mutex_);
  /// Of the sizes from this one on; none of more than `most` bytes.
  Chunk take_free(size_t number, size_t most) HAILSTONE_REQUIRES(mutex_);
  Chunk cut(size_t size) HAILSTONE_REQUIRES(mutex_);
  void put_free(Chunk chunk) HAILSTONE_REQUIRES(mutex_);
  Chunk note_given_out(Chunk chunk) HAILSTONE_REQUIRES(mutex_);

  const size_t chunk_bytes_;
  const unsigned first_bits_;
  const size_t share_;
  MemoryBudget given_of_;  // without a floor
  MemoryBudget needed_of_;
  SpillSpace& space_;
  const size_t most_;
  OperatorCounts* const counts_;
  std::atomic<size_t> used_{0};
  Mutex mutex_;
  std::vector<std::unique_ptr<Pages>> slabs_ HAILSTONE_GUARDED_BY(mutex_);
  size_t slab_bytes_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  char* next_ HAILSTONE_GUARDED_BY(mutex_) = nullptr;  // in the last slab
  size_t room_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  /// Chunks that have come back, by size; each begins with the address of the next one.
  std::array<char*, classes> free_ HAILSTONE_GUARDED_BY(mutex_){};
  size_t given_out_ HAILSTONE_GUARDED_BY(mutex_) = 0;  // cut from slabs
  // Of slabs, changed with the mutex: bytes of the chunks that are given out, and of the slabs that the
  // budget gave.
  std::atomic<size_t> given_out_bytes_{0}, given_{0};
};

}  // namespace hailstone
