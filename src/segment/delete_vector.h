// Ends of the rows of one segment: ordinal → timestamp or marker. Rows without one are live. Latched by the
// table: set() and reset() need the latch exclusively, all else shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/timestamp.h"
#include "segment/block.h"
#include "segment/file_identity.h"

namespace hailstone {

class DeleteVector {
 public:
  DeleteVector(uint32_t rows, MemoryBudget& budget);
  ~DeleteVector();

  bool empty() const;
  Timestamp end(uint32_t ordinal) const;      // infinity when live
  void set(uint32_t ordinal, Timestamp end);  // also replaces
  /// The transaction whose marker the row has commits: the marker becomes `end`, perhaps at once in all rows
  /// of the block that have it. Needs no memory.
  void stamp(uint32_t ordinal, Timestamp end);
  void reset(uint32_t ordinal);  // live again
  /// From now on no row needs memory to end, as long as two different ends are enough for a block.
  void make_room();
  /// What make_room() took and nothing needs goes.
  void give_back_room() noexcept;
  /// Rows whose end is not infinity.
  uint32_t count() const;
  /// Clears the bits of rows of the block that `snapshot` no longer sees (their end is included in it).
  void mask(uint32_t block, const Snapshot& snapshot, BlockBitmap& bitmap) const;
  /// Some blocks hold so many different ends that each of their rows takes 8 bytes.
  bool is_wide() const;
  /// Replaces ends of such blocks, but for markers, by `same(end)`: an earlier one that no snapshot in use
  /// can tell from it. Few are left then. Needs the latch exclusively. No change_count(): what a file holds
  /// stays true.
  void compact(const std::function<Timestamp(Timestamp)>& same);
  /// Calls for every ended row, ordinals ascending.
  void for_each(const std::function<void(uint32_t ordinal, Timestamp end)>& visit) const;

  /// Rises with every change; a checkpoint compares it to know what is dirty.
  uint64_t change_count() const;

  /// Committed ends only. docs/formats.md, with checksum.
  std::string serialise(const FileIdentity& identity) const;
  /// What a file holds.
  struct Stored {
    std::unique_ptr<DeleteVector> vector;
    std::optional<FileIdentity> identity;  // nothing for a file of an older version
  };
  /// ErrorCode::Corruption naming `path`.
  static Result<Stored> parse(ByteView bytes, uint32_t rows, MemoryBudget& budget, const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
