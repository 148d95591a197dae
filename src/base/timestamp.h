// Commit timestamps: 1, 2, 3 … in commit order, one counter for a database. The begin and end of a row
// version are Timestamps, or the marker of the transaction that is still open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hailstone {

using Timestamp = uint64_t;
using TransactionId = uint64_t;

constexpr Timestamp infinity = ~Timestamp{0};  // the end of a live version
constexpr Timestamp marker_bit = Timestamp{1} << 63;

/// What an uncommitted begin or end holds.
constexpr Timestamp marker_of(TransactionId id) { return marker_bit | id; }
constexpr bool is_marker(Timestamp stamp) { return (stamp & marker_bit) != 0 && stamp != infinity; }
constexpr TransactionId transaction_of(Timestamp marker) { return marker & ~marker_bit; }

/// What a reader sees: everything committed up to `read`, and the changes of its own transaction.
struct Snapshot {
  Timestamp read = 0;
  Timestamp own = 0;  // marker of the reading transaction; 0 for none
  /// Markers of transactions that were committed up to `read` and whose versions did not all have the
  /// timestamp yet. Null: none. Who holds the snapshot has them (HeldSnapshot).
  const std::vector<Timestamp>* settling = nullptr;

  bool includes(Timestamp stamp) const {
    if (stamp <= read || (stamp == own && own != 0)) return true;
    return settling != nullptr && std::ranges::find(*settling, stamp) != settling->end();
  }
  bool sees(Timestamp begin, Timestamp end) const { return includes(begin) && !includes(end); }
};

}  // namespace hailstone
