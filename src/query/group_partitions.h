// Records of groups that a GroupTable had no room for, in partitions: those of one partition have the same
// next bits of their hashes, so that what must come together does. They stay in memory as long as the query's
// share grants it; then the largest partition goes to a spill file, again and again.
//
// RecordMemory is shared by the threads of a query, and thread-safe. GroupPartitions belong to one thread;
// the runs of records that they leave may go to others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/operator_counts.h"
#include "base/page_allocator.h"
#include "base/status.h"
#include "file/spill_file.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// What the records of a query may take of the budget, and where those beyond that go. Outlives them.
class RecordMemory {
 public:
  /// `most`: bytes; `piece`: how long a run's pieces become; `counts`: of the operator; may be null.
  RecordMemory(MemoryBudget& budget, SpillSpace& space, size_t most, size_t piece, OperatorCounts* counts)
      : piece_bytes_(piece), budget_(budget), space_(space), most_(most), counts_(counts) {}

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

 private:
  const size_t piece_bytes_;
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
  static constexpr unsigned bits = 5;
  static constexpr size_t partitions = size_t{1} << bits;
  /// Hashes have bits for so many levels.
  static constexpr unsigned levels = 64 / bits;

  /// `level`: how often the records have been divided before.
  GroupPartitions(RecordMemory& memory, unsigned level) : memory_(memory), shift_(64 - bits * (level + 1)) {}

  Status append(uint64_t hash, ByteView record, const GoOn& go_on) {
    Partition& partition = partitions_[hash >> shift_ & (partitions - 1)];
    if (partition.room < record.size()) [[unlikely]]
      HAILSTONE_TRY(add_piece(partition, record.size(), go_on));
    std::memcpy(partition.next, record.data(), record.size());
    partition.next += record.size();
    partition.room -= record.size();
    return {};
  }
  /// Ends what append() began.
  Status finish();
  /// After finish().
  std::array<RecordRun, partitions> take_runs();

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

  RecordMemory& memory_;
  const unsigned shift_;
  std::array<Partition, partitions> partitions_;
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
