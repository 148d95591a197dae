// Rows of one table of which a transaction has written a version on top of one that its snapshot does not
// see. Writes act on the newest state, so with an older snapshot the transaction would see two versions of
// such a row: its own, and the one that ended after its snapshot. Its own is the only one that counts; also
// when it deleted the row.
//
// Belongs to its transaction, as that one's changes do: a rollback takes keys back. Readers of the
// transaction share it while nothing is written.
#pragma once

#include <map>
#include <string>

#include "transaction/transaction.h"

namespace hailstone {

class SupersededKeys final : public VersionStore {
 public:
  /// Whether only the own version of the row counts for a reader that began after `own_writes` writes of the
  /// transaction.
  bool contains(ByteView key, uint32_t own_writes) const {
    const auto found = keys_.find(key);
    return found != keys_.end() && found->second < own_writes;
  }
  /// Clustered keys in order, each with the number of the write that superseded the row.
  const std::map<std::string, uint32_t, std::less<>>& keys() const { return keys_; }

  void commit(std::span<const Change>, Timestamp) override {}
  void undo(const Change& change) override;

 private:
  friend class Transaction;
  std::map<std::string, uint32_t, std::less<>> keys_;  // a change's slot is the address of the entry's key
};

}  // namespace hailstone
