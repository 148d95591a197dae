// Which operations in the log take effect. A large or prepared transaction has redo in records ahead of its
// commit: before anything is applied, the log is read once to learn which of them belong to a transaction
// that commits, when, and what of them a rollback to a savepoint made void. So each can be applied as it is
// read, and no transaction need fit into memory.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/timestamp.h"
#include "log/log.h"

namespace hailstone {

/// What the records of a transaction begin with.
struct RedoRecord {
  TransactionId id = 0;
  Timestamp timestamp = 0;  // Commit
  uint64_t offset = 0;      // Operations, Prepare, Truncate, Commit: in the transaction's redo
  ByteView name;            // Prepare
  ByteView operations;      // Operations, Prepare, Commit: from there on

  /// False: the record is too short.
  bool parse(const LogRecord& record);
};

class CommittedRedo {
 public:
  /// Commits up to `applied` have no effect any more.
  explicit CommittedRedo(Timestamp applied) : applied_(applied) {}

  /// Every record of the log, in order. Not empty: what is wrong with this one.
  std::string_view add(const LogRecord& record);
  /// The log has no more.
  void finish();

  /// Of an Operations or Prepare record: the first `bytes` of its operations are of a transaction that
  /// commits at `commit`, or is still prepared.
  struct Valid {
    Timestamp commit = 0;  // 0: it is prepared
    uint64_t bytes = 0;
  };
  /// Null: the record has no effect. `begin`: of the record.
  const Valid* find(Lsn begin) const;
  /// A transaction that is prepared when the log ends.
  struct Prepared {
    std::string name;
    Lsn first = 0;  // its first record
  };
  const std::unordered_map<TransactionId, Prepared>& prepared() const { return prepared_; }
  /// Transactions that neither commit nor roll back in the log, nor are prepared.
  uint64_t open_transactions() const { return open_transactions_; }

 private:
  struct Piece {
    Lsn record;
    uint64_t offset, bytes;
  };
  /// What is behind the offset is void. False: there is nothing up to it.
  static bool cut(std::vector<Piece>& pieces, uint64_t offset);

  const Timestamp applied_;
  std::unordered_map<TransactionId, std::vector<Piece>> pieces_;  // of transactions without an end so far
  /// Their first records are in front of the log's part that is read: they had ended at the checkpoint.
  std::unordered_set<TransactionId> ended_before_;
  std::unordered_map<TransactionId, Prepared> prepared_;
  std::unordered_map<Lsn, Valid> valid_;
  uint64_t open_transactions_ = 0;
};

}  // namespace hailstone
