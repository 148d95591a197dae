// Rows of a table in the order of an index, both ways. Merges deltas and segments by key. Belongs to one
// thread and one transaction; keeps the view it began with alive (locking cursors look at the newest state of
// each row).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "table/table.h"

namespace hailstone {

struct CursorOptions {
  /// What the transaction changes while the cursor is open is met where it lies ahead, and own deletes are
  /// passed over. Else a statement does not meet what it writes itself.
  bool sees_own_changes = false;
  /// Reads the newest committed state and own changes, whatever the transaction's snapshot is. The caller has
  /// locked the table so that no other transaction changes it.
  bool reads_newest = false;
};

class Cursor {
 public:
  /// `index`: position in TableDefinition::indexes, or `by_row_id` for the hidden clustered order. `columns`:
  /// what value() gives, by table column number.
  static constexpr size_t by_row_id = ~size_t{0};
  Cursor(std::shared_ptr<Table> table, Transaction& transaction, size_t index, ReadLock lock,
         std::vector<uint16_t> columns, CursorOptions options = {});
  ~Cursor();

  /// Tells whether an entry is one that was sought. `load_row` reads the entry's row, as Cursor::load_row().
  using Wanted =
      std::function<Result<bool>(ByteView key, const std::function<Status(std::string& to)>& load_row)>;

  // Each returns whether the cursor stands on a row then. Bounds are encoded keys or prefixes of them
  // (KeyCodec::append); empty: no bound.
  //
  // With `wanted`, a cursor that locks rows locks the entry that it finds only if it is wanted. If not, the
  // search has missed: the cursor neither locks nor waits for the row, and stands on the first one from there
  // on that is committed or the transaction's own. A transaction that locks ranges still keeps others from
  // inserting between the bound and the entry found.
  /// First entry whose key is >= bound (bytewise).
  Result<bool> seek_at_or_after(ByteView bound, const Wanted& wanted = {});
  /// Whether the next two may be called: it locks nothing, and meets what its snapshot has.
  bool takes_prefixes() const;
  /// First entry whose key begins with `prefix`; next_in_prefix() leads to the others.
  Result<bool> seek_prefix(ByteView prefix);
  Result<bool> next_in_prefix();
  /// Whether the last search was one of a prefix, and no other move has followed.
  bool is_in_prefix() const;
  /// The next search meets the rows as a new cursor would, which has read nothing yet.
  void begin_anew();
  /// Last entry whose key is < bound.
  Result<bool> seek_before(ByteView bound, const Wanted& wanted = {});
  /// Keeps others from making entries from `low` on and before `high`: for a search of one key that has found
  /// nothing, and is made again then. ErrorCode::TooManyLocks.
  Status lock_range(ByteView low, ByteView high);
  Result<bool> next(const Wanted& wanted = {});
  Result<bool> previous();

  /// Key of the entry: the index key, followed by the clustered key for a secondary index. Valid until the
  /// cursor moves.
  Result<ByteView> entry_key();
  Result<ByteView> clustered_key();
  /// Reads the values of the row where the cursor stands; only once until it moves.
  Status load_values();
  /// Values of the columns asked for, after load_values(); valid until the cursor moves.
  std::span<const Value> values();
  /// Replaces `to` by the row where the cursor stands, encoded by the layout's row_codec(). The cursor must
  /// have been made with all columns of the table, in order.
  Status load_row(std::string& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
