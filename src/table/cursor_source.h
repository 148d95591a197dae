// One place of a table as a cursor reads it: its entries of one index in order, those only that the cursor's
// visibility takes. A cursor merges several. Belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "column/projection.h"
#include "table/key_search.h"
#include "table/table_state.h"
#include "table/visibility.h"

namespace hailstone {

enum class Direction : uint8_t { Forward, Backward };

/// Where a source begins to read. Forward: at the first key >= bound (after: > bound). Backward: at the last
/// key < bound, or the very last.
struct SeekBound {
  ByteView key;
  bool after = false;      // forward only
  bool unbounded = false;  // backward only
  bool prefix = false;     // forward only: entries that begin with `key`, and no others
};

class CursorSource {
 public:
  virtual ~CursorSource() = default;
  virtual Status seek(Direction direction, const SeekBound& bound) = 0;
  /// To the next entry in the direction of the last seek.
  virtual Status step() = 0;
  /// The place of the entry.
  virtual RowPlace place() const = 0;
  /// Reads columns of the entry's row. Bytes are valid until the next call of load or the end of the source.
  virtual Status load(std::span<Value> values) = 0;
  /// Replaces `to` by the entry's row, encoded. The projection holds all columns, in order.
  virtual Status load_row(std::string& to) = 0;
  /// Begins a run, which lasts until the next seek: while the entry comes before `rival` in the direction
  /// (null: always), step() says `in_run` and may leave `key` and `clustered_size` as they are. `rival` is
  /// not kept.
  virtual Status begin_run(const ByteView* rival) = 0;
  /// Ends a run, if there is one, before the next seek. A source that was sought by a prefix is in a run from
  /// the beginning.
  virtual Status end_run() = 0;
  /// Makes the key of an entry in a run.
  virtual Status make_key() = 0;
  /// The transaction has changed rows: what is known of them beyond the entry it stands on is not true any
  /// more. The next call is seek().
  virtual void forget() {}

  // The entry it stands on.
  bool valid = false;
  bool in_run = false;
  ByteView key;
  size_t clustered_size = 0;  // of the clustered key at the end of `key`
};

/// `secondary`: number of a secondary index or SegmentKeys::clustered (== DeltaReader::clustered).
std::unique_ptr<CursorSource> make_delta_source(const std::shared_ptr<TableDelta>& delta, size_t secondary,
                                                const Visibility& visibility, const Projection& projection);
std::unique_ptr<CursorSource> make_segment_source(const std::shared_ptr<TableSegment>& segment,
                                                  const Table::State& table, size_t secondary,
                                                  const Visibility& visibility, const Projection& projection);

}  // namespace hailstone
