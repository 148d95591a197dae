// Rows of which a transaction has written a version on top of one that its snapshot does not see. Writes act
// on the newest state, so with an older snapshot the transaction would see two versions of such a row: its
// own, and the one that ended after its snapshot. Its own is the only one that counts; also when it deleted
// the row.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "transaction/transaction.h"

namespace hailstone {

using KeySet = std::multiset<std::string, std::less<>>;

/// Of one table, by transaction. Thread-safe; outlives the transactions that write the table.
class SupersededKeys {
 public:
  /// Until the end of the transaction, or its rollback to before this call. `owner` keeps the table alive as
  /// long.
  void add(const std::shared_ptr<void>& owner, Transaction& transaction, ByteView key);
  /// Clustered keys of rows of which only the transaction's own version counts; null: none.
  std::shared_ptr<const KeySet> of(const Transaction& transaction) const;

 private:
  class Action;
  void remove(TransactionId transaction, const std::string& key);

  std::atomic<size_t> count_{0};
  mutable std::mutex mutex_;
  absl::flat_hash_map<TransactionId, KeySet> keys_;  // protected by mutex_
};

}  // namespace hailstone
