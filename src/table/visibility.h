// Which versions a scan or cursor takes up: those that its snapshot sees; or, for one that locks rows, every
// version that was not ended for good when it began, since only the lock decides what becomes of it.
//
// A statement never meets what it writes itself: versions of its own transaction that came into a delta after
// it began.
#pragma once

#include <vector>

#include "table/table_state.h"
#include "transaction/superseded.h"

namespace hailstone {

struct Visibility {
  Snapshot snapshot;                 // locking: the newest commit when the statement began
  bool candidates = false;           // locking
  uint32_t own_writes = all_writes;  // of the transaction: what it writes from there on is passed over
  std::shared_ptr<const SupersededKeys> superseded = nullptr;  // null: none
  std::shared_ptr<const HeldSnapshot> held = nullptr;          // keeps alive what the snapshot sees

  /// Behind each read.
  Status check() const { return held == nullptr ? Status() : held->check(); }
  bool holds() const { return held == nullptr || !held->is_expired(); }

  static constexpr uint32_t all_writes = ~uint32_t{0};
  /// Whether it takes up the same versions, and holds the same snapshot.
  bool is_same(const Visibility& other) const {
    return snapshot.read == other.snapshot.read && snapshot.own == other.snapshot.own &&
           candidates == other.candidates && own_writes == other.own_writes &&
           superseded == other.superseded && held == other.held;
  }

  bool takes(Timestamp begin, Timestamp end) const {
    return candidates ? !snapshot.includes(end) : snapshot.sees(begin, end);
  }
  bool is_superseded(ByteView key) const {
    return superseded != nullptr && superseded->contains(key, own_writes);
  }
  /// Whether the transaction has written the version after the reader began.
  bool is_own_and_new(const Version& version) const {
    return version.begin() == snapshot.own && version.write() >= own_writes;
  }
  bool is_own_and_new(const TableSegment& segment, uint32_t ordinal) const {
    return segment.shared_begin() == snapshot.own && segment.is_written_since(ordinal, own_writes);
  }
  bool is_own_and_new(const RowPlace& place) const {
    return place.version != nullptr ? is_own_and_new(*place.version)
                                    : is_own_and_new(*place.segment, place.ordinal);
  }
  bool takes(const Version& version) const {
    const auto [begin, end] = version.span();
    if (begin == snapshot.own) {
      if (version.write() >= own_writes) return false;
    } else if (is_superseded(version.key())) {
      return false;
    }
    return takes(begin, end);
  }
};

/// Clears the bits of the block's rows that are not taken, but for what is superseded. `reader`: of the
/// segment.
Status mask_versions(const TableSegment& segment, BlockReader& reader, uint32_t block,
                     const Visibility& visibility, BlockBitmap& bitmap);
/// The same with what is superseded.
Status mask_rows(const TableSegment& segment, const TableKeys& keys, BlockReader& reader, uint32_t block,
                 const Visibility& visibility, BlockBitmap& bitmap);

/// Entries of one order of a delta, some at a time, so that the latch is held for short.
class DeltaReader {
 public:
  struct Entry {
    ByteView key;  // entry key; valid as long as the delta
    const Version* version = nullptr;
  };
  static constexpr size_t clustered = ~size_t{0};
  DeltaReader(std::shared_ptr<TableDelta> delta, size_t secondary, const Visibility& visibility);

  /// Replaces `to` by up to `count` entries with key >= `bound`, ascending (`after`: > bound). Fewer: there
  /// are no more.
  void forward(ByteView bound, bool after, size_t count, std::vector<Entry>& to) const;
  /// Replaces `to` by up to `count` entries with key < `bound`, descending; without bound: from the last one
  /// on.
  void backward(ByteView bound, bool unbounded, size_t count, std::vector<Entry>& to) const;
  const std::shared_ptr<TableDelta>& delta() const { return delta_; }

 private:
  const Version* taken(const Version* newest) const;
  std::shared_ptr<TableDelta> delta_;
  size_t secondary_;
  Visibility visibility_;
};

}  // namespace hailstone
