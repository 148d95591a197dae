// The places that a cursor merges by key. Of the segments only those are open whose keys have to do with
// where the cursor is; the others wait, by their first key in the direction, until it comes to them. Belongs
// to one thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "table/cursor_source.h"

namespace hailstone {

class CursorSources {
 public:
  CursorSources(const Table::State& table, size_t secondary, const Projection& projection)
      : table_(table), secondary_(secondary), projection_(projection) {}

  /// Begins anew with the places of `view`.
  void open(std::shared_ptr<const TableView> view, const Visibility& visibility);
  /// Puts every source where the bound says. Valid until the next call is what nearest() gives.
  Status seek(Direction direction, const SeekBound& bound);
  /// The same for the deltas alone, which are in memory.
  Status seek_deltas(const SeekBound& bound);
  /// The source that comes next in the direction; null: none. Opens segments whose turn has come.
  Result<CursorSource*> nearest();
  /// The same without opening a segment, which reads files; nothing: one must be opened first.
  std::optional<CursorSource*> nearest_if_open() const;
  /// The key up to which `current` alone has entries; null: to the end. Valid until a source moves.
  const ByteView* rival_of(const CursorSource* current);
  /// Moves every source that stands on `key` to its next entry.
  Status leave_key(ByteView key);
  /// The transaction has changed rows; see CursorSource::forget().
  void forget();

 private:
  struct OpenSegment {
    uint32_t segment;  // position in the view
    std::unique_ptr<CursorSource> source;
  };
  template <typename Visit>
  void for_each_source(const Visit& visit) const {
    for (const auto& source : deltas_) visit(*source);
    for (const OpenSegment& open : segments_) visit(*open.source);
  }
  Status seek_prefix(const SeekBound& bound);
  bool comes_before(ByteView a, ByteView b) const { return direction_ == Direction::Forward ? a < b : b < a; }
  CursorSource* nearest_open(const CursorSource* except = nullptr) const;
  /// The segment that waits in front; null: none.
  const SegmentRange* waiting() const { return waits_ ? waiting_ : nullptr; }
  /// From here on so many wait, or have passed, as next_ tells.
  void let_wait(size_t next);
  CursorSource& source_of(uint32_t segment);
  Status open_waiting();
  void let_go();

  const Table::State& table_;
  const size_t secondary_;
  const Projection& projection_;
  std::shared_ptr<const TableView> view_;
  Visibility visibility_;
  std::vector<std::unique_ptr<CursorSource>> deltas_;
  std::vector<OpenSegment> segments_;
  Direction direction_ = Direction::Forward;
  bool waits_ = true;  // segments behind the open ones have entries that are wanted
  size_t next_ = 0;    // forward: of by_first(), the first that waits; backward: how many of by_last() wait
  const SegmentRange* waiting_ = nullptr;  // the first that waits; null: none
  ByteView rival_;
};

}  // namespace hailstone
