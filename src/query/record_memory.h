// What records of groups, or rows, may take of the memory budget, and where those beyond that go. Shared by
// the threads of a query, and thread-safe; outlives the records.
//
// Records lie in chunks. Chunks of up to chunk_bytes() are powers of two, cut from slabs, which are huge
// pages where many are needed: many small pages would take longer than the records. Chunks that come back are
// given out again, and with the last one the slabs go.
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

class RecordMemory {
 public:
  static constexpr size_t least_chunk = size_t{4} << 10, most_chunk = size_t{64} << 10;

  struct Chunk {
    char* bytes = nullptr;  // null: there is none
    size_t size = 0;
  };

  /// `most`: bytes; `counts`: of the operator; may be null.
  RecordMemory(MemoryBudget& budget, SpillSpace& space, size_t most, const RecordDivision& division,
               OperatorCounts* counts);
  RecordMemory(const RecordMemory&) = delete;
  RecordMemory& operator=(const RecordMemory&) = delete;

  /// Of `wanted` bytes, or, where that is too much, of `least`. None: memory is used up.
  Chunk try_take(size_t wanted, size_t least);
  /// What cannot be done without.
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
    /// False: there is no memory, unless it is taken `whatever` comes.
    bool map(size_t size, bool whatever);
    char* begin() const { return bytes_.get(); }
    /// They do not go any more.
    Chunk take();

   private:
    RecordMemory& memory_;
    size_t size_ = 0;
    PageBytes bytes_;
  };
  static constexpr size_t classes = std::countr_zero(most_chunk / least_chunk) + 1;
  static size_t class_of(size_t size);

  bool reserve(size_t size, bool whatever);
  void release(size_t size);
  Chunk take_alone(size_t size, bool whatever);
  /// The next slab is to have room for `size` bytes.
  bool add_slab(size_t size, bool whatever) HAILSTONE_REQUIRES(mutex_);
  Chunk take_free(size_t number) HAILSTONE_REQUIRES(mutex_);
  Chunk cut(size_t size) HAILSTONE_REQUIRES(mutex_);
  void put_free(Chunk chunk) HAILSTONE_REQUIRES(mutex_);

  const size_t chunk_bytes_;
  const unsigned first_bits_;
  MemoryBudget& budget_;
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
};

}  // namespace hailstone
