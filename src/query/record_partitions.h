// Records of groups, or rows, that a table had no room for, in partitions: those of one partition have the
// same next bits of their hashes, so that what must come together does. They stay in memory as long as the
// query's share grants it; then a large partition goes to a spill file, again and again: the shorter memory,
// the shorter its pieces. RecordPartitions belong to one thread; the runs of records that they leave may go
// to others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "file/spill_file.h"
#include "query/hashed_records.h"
#include "query/record_memory.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// Records in no order, in memory and in spill files, piece by piece; none lies in two pieces.
class RecordRun {
 public:
  bool empty() const { return pieces_.empty() && spilled_.empty(); }
  void append(RecordRun&& other);
  /// Of the records, unpacked.
  size_t bytes() const { return extent().bytes; }
  /// Whether all of it is in memory.
  bool is_in_memory() const { return spilled_.empty(); }

  /// What a piece has.
  struct Extent {
    size_t bytes = 0, records = 0;
  };
  /// Of each piece, in an order in which a reader knows them by their numbers.
  std::vector<Extent> extents() const;
  /// Of all pieces.
  Extent extent() const;
  /// Gives each piece to take(RecordKind, ByteView), which returns a Status, and lets go of it: at first of
  /// those in memory. After an error the rest goes with the run.
  template <typename Take>
  Status consume(Take&& take);
  /// Reads pieces, in any order and as often as is wanted; belongs to one thread.
  class Reader {
   public:
    /// The records of a piece, valid until the next call, as long as the run does not change.
    Result<ByteView> read(const RecordRun& run, size_t piece);

   private:
    std::string scratch_, unpacked_;
  };
  /// Puts what is in memory aside in `file`, which is created where it is null.
  Status spill(std::shared_ptr<SpillFile>& file, const GoOn& go_on);

 private:
  friend class RecordPartitions;
  /// In memory.
  struct Piece {
    Piece(RecordMemory& taken_from, RecordMemory::Chunk taken, RecordKind of)
        : memory(&taken_from), chunk(taken), kind(of) {}
    Piece(Piece&& other) noexcept;
    Piece& operator=(Piece&&) = delete;
    ~Piece();

    RecordMemory* memory;  // null: nothing is taken
    RecordMemory::Chunk chunk;
    size_t size = 0;  // of the records in it
    size_t records = 0;
    RecordKind kind;
  };
  struct Spilled {
    struct Frame {
      SpilledFrame frame;
      size_t records;
      RecordKind kind;
    };
    std::shared_ptr<SpillFile> file;
    std::vector<Frame> frames;
  };
  std::vector<Piece> pieces_;
  std::vector<Spilled> spilled_;
};

class RecordPartitions {
 public:
  /// Hashes have so many bits to divide by.
  static constexpr unsigned hash_bits = 60;
  /// How many of them are used at a time, but for the first time.
  static constexpr unsigned later_bits = 5;

  /// `used`: the first bits of the hashes, by which the records have been divided before.
  RecordPartitions(RecordMemory& memory, unsigned used)
      : memory_(memory),
        bits_(used == 0 ? memory.first_bits() : later_bits),
        shift_(64 - used - bits_),
        partitions_(size_t{1} << bits_) {}

  Status append(const HashedRecords& records, const GoOn& go_on);
  /// Ends what append() began. Where memory is short, nothing of it stays there.
  Status finish(const GoOn& go_on);
  /// After finish().
  std::vector<RecordRun> take_runs();
  unsigned bits() const { return bits_; }

 private:
  /// A piece that is being filled.
  struct Open {
    char* next = nullptr;
    size_t room = 0;
    size_t records = 0;
    size_t number = 0;  // of the piece
  };
  struct Partition {
    std::array<Open, record_kinds> open;  // by RecordKind
    RecordRun run;
    size_t in_memory = 0;  // bytes of its pieces
  };
  Status add_piece(Partition& partition, RecordKind kind, size_t least, const GoOn& go_on);
  void close_piece(Partition& partition, Open& open);
  void close_pieces(Partition& partition);
  /// One of the largest. False: none has anything in memory.
  Result<bool> spill_large_one(const GoOn& go_on);

  RecordMemory& memory_;
  const unsigned bits_, shift_;
  std::vector<Partition> partitions_;
  size_t in_memory_ = 0;  // of all partitions
  std::shared_ptr<SpillFile> file_;
};

template <typename Take>
Status RecordRun::consume(Take&& take) {
  while (!pieces_.empty()) {
    const Piece piece = std::move(pieces_.back());
    pieces_.pop_back();
    HAILSTONE_TRY(take(piece.kind, ByteView(piece.chunk.bytes, piece.size)));
  }
  std::string scratch, unpacked;
  while (!spilled_.empty()) {
    const Spilled spilled = std::move(spilled_.back());
    spilled_.pop_back();
    for (const Spilled::Frame& frame : spilled.frames) {
      HAILSTONE_TRY(spilled.file->read(frame.frame, scratch, unpacked));
      HAILSTONE_TRY(take(frame.kind, ByteView(unpacked)));
    }
  }
  return {};
}

}  // namespace hailstone
