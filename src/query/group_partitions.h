// Records of groups that a GroupTable had no room for, in partitions: those of one partition have the same
// next bits of their hashes, so that what must come together does. They stay in memory as long as the query's
// share grants it; then the largest partition goes to a spill file, again and again.
//
// RecordMemory is shared by the threads of a query, and thread-safe. GroupPartitions belong to one thread;
// the runs of records that they leave may go to others.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/operator_counts.h"
#include "base/page_allocator.h"
#include "base/status.h"
#include "file/spill_file.h"
#include "query/group_table.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// What the records of a query may take of the budget, and where those beyond that go. Outlives them.
class RecordMemory {
 public:
  /// `most`: bytes; `piece`: how long a run's pieces become; `counts`: of the operator; may be null.
  /// `first_bits`: of the hashes, by which rows are divided at first.
  RecordMemory(MemoryBudget& budget, SpillSpace& space, size_t most, size_t piece, unsigned first_bits,
               OperatorCounts* counts)
      : piece_bytes_(piece),
        first_bits_(first_bits),
        budget_(budget),
        space_(space),
        most_(most),
        counts_(counts) {}

  [[nodiscard]] bool try_take(size_t bytes);
  /// What cannot be done without.
  void take(size_t bytes);
  void give_back(size_t bytes);
  /// So many bytes have gone to a spill file.
  void note_spilled(size_t bytes) {
    if (counts_ != nullptr) counts_->spilled.fetch_add(bytes, std::memory_order_relaxed);
  }

  SpillSpace& space() const { return space_; }
  size_t piece_bytes() const { return piece_bytes_; }
  unsigned first_bits() const { return first_bits_; }
  /// Whether half of it is free.
  bool is_ample() const { return used_.load(std::memory_order_relaxed) < most_ / 2; }

 private:
  const size_t piece_bytes_;
  const unsigned first_bits_;
  MemoryBudget& budget_;
  SpillSpace& space_;
  const size_t most_;
  OperatorCounts* const counts_;
  std::atomic<size_t> used_{0};
};

/// Records in no order, in memory and in spill files, piece by piece; none lies in two pieces.
class RecordRun {
 public:
  bool empty() const { return pieces_.empty() && spilled_.empty(); }
  void append(RecordRun&& other);
  /// Gives each piece to `take`, which returns a Status, and lets go of it: at first of those in memory.
  /// After an error the rest goes with the run.
  template <typename Take>
  Status consume(Take&& take);

 private:
  friend class GroupPartitions;
  /// In memory.
  struct Piece {
    Piece(RecordMemory& taken_from, size_t bytes_taken) : memory(&taken_from), capacity(bytes_taken) {}
    Piece(Piece&& other) noexcept;
    Piece& operator=(Piece&&) = delete;
    ~Piece();

    RecordMemory* memory;  // null: nothing is taken
    PageBytes bytes;
    size_t size = 0, capacity;
  };
  struct Spilled {
    std::shared_ptr<SpillFile> file;
    std::vector<SpilledFrame> frames;
  };
  std::vector<Piece> pieces_;
  std::vector<Spilled> spilled_;
};

class GroupPartitions {
 public:
  /// Hashes have so many bits to divide by.
  static constexpr unsigned hash_bits = 60;

  /// `used`: the first bits of the hashes, by which the records have been divided before.
  GroupPartitions(RecordMemory& memory, unsigned used)
      : memory_(memory),
        bits_(used == 0 ? memory.first_bits() : later_bits),
        shift_(64 - used - bits_),
        partitions_(size_t{1} << bits_) {}

  Status append(const GroupRecords& records, const GoOn& go_on);
  /// Ends what append() began.
  Status finish();
  /// After finish().
  std::vector<RecordRun> take_runs();
  unsigned bits() const { return bits_; }

 private:
  struct Partition {
    char* next = nullptr;  // in its last piece
    size_t room = 0;
    RecordRun run;
    size_t in_memory = 0;  // bytes of its pieces
  };
  Status add_piece(Partition& partition, size_t least, const GoOn& go_on);
  void close_piece(Partition& partition);
  /// False: none has enough in memory.
  Result<bool> spill_largest(const GoOn& go_on);

  static constexpr unsigned later_bits = 5;

  RecordMemory& memory_;
  const unsigned bits_, shift_;
  std::vector<Partition> partitions_;
  std::shared_ptr<SpillFile> file_;
};

template <typename Take>
Status RecordRun::consume(Take&& take) {
  while (!pieces_.empty()) {
    const Piece piece = std::move(pieces_.back());
    pieces_.pop_back();
    HAILSTONE_TRY(take(ByteView(piece.bytes.get(), piece.size)));
  }
  std::string scratch, unpacked;
  while (!spilled_.empty()) {
    const Spilled spilled = std::move(spilled_.back());
    spilled_.pop_back();
    for (const SpilledFrame& frame : spilled.frames) {
      HAILSTONE_TRY(spilled.file->read(frame, scratch, unpacked));
      HAILSTONE_TRY(take(ByteView(unpacked)));
    }
  }
  return {};
}

}  // namespace hailstone
