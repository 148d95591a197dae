// What a connection has in this engine: its transaction, where the running statement began, and the open
// readers of its handlers. Belongs to the connection's thread; others may only call wake().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transaction/statement.h"
#include "transaction/transaction_manager.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Has scans, cursors or bulk loads that must not outlive the transaction.
class TransactionUser {
 public:
  TransactionUser() = default;
  TransactionUser(const TransactionUser&) = delete;
  TransactionUser& operator=(const TransactionUser&) = delete;
  /// The transaction is about to end: let go of all that refers to it. The session has already forgotten this
  /// user.
  virtual void transaction_ends() = 0;
  /// Changes since the start of the statement are about to be taken back.
  virtual void statement_rolls_back() = 0;

 protected:
  ~TransactionUser() = default;

 private:
  friend class Session;
  static constexpr size_t no_slot = SIZE_MAX;
  size_t slot_ = no_slot;  // in the session's users_: a statement may use thousands of partitions
};

class Trace;

class Session {
 public:
  /// The connection's session, made when there is none.
  static Session& of(THD* thd);
  /// Null when the connection has not used the engine.
  static Session* find(THD* thd);
  static void destroy(THD* thd);

  /// Begins a transaction and a statement where none is open, and tells the server that the engine takes
  /// part.
  Transaction& enter_statement();
  /// Null when none is open.
  Transaction* transaction() { return transaction_.get(); }
  bool in_multi_statement_transaction() const;
  /// Between XA START and the end of that transaction.
  bool in_xa_transaction() const;

  /// End of a statement, or of the transaction when `all` or in autocommit mode.
  Status commit(bool all);
  void rollback(bool all);
  /// Ends the transaction by itself (deadlock) and makes the server do the same.
  void roll_back_deadlock();
  void roll_back_to(const Savepoint& savepoint);
  /// The user has set savepoints in this transaction.
  void note_savepoint() { has_savepoints_ = true; }
  bool has_savepoints() const { return has_savepoints_; }

  void add_user(TransactionUser* user);
  void remove_user(TransactionUser* user);

  /// The index that refused the last row of a table; MAX_KEY: none has. For all handlers of a partitioned
  /// table.
  void note_duplicate(const TABLE& table, uint index) { duplicate_ = {&table, index}; }
  uint duplicate_index(const TABLE& table) const {
    return duplicate_.first == &table ? duplicate_.second : MAX_KEY;
  }

  /// ANALYZE has looked at partitions of a table. The server's numbers of its keys are those of the largest
  /// one, which only the server knows: the first partition that is unlocked has them brought up to date.
  void note_partition_analysis() { partition_analyzed_ = true; }
  bool take_partition_analysis() { return std::exchange(partition_analyzed_, false); }

  /// What hailstone_trace has seen, made when there is none.
  Trace& trace();

  /// From any thread: makes a waiting statement look at whether it was killed.
  void wake() const;

 private:
  explicit Session(THD* thd);
  ~Session();
  void end_transaction();
  void roll_back_transaction();

  THD* thd_;
  std::unique_ptr<Transaction> transaction_;
  std::atomic<TransactionId> transaction_id_{0};
  std::optional<Statement> statement_;  // of transaction_
  bool has_savepoints_ = false;
  std::vector<TransactionUser*> users_;
  std::pair<const TABLE*, uint> duplicate_{nullptr, MAX_KEY};
  bool partition_analyzed_ = false;
  std::unique_ptr<Trace> trace_;
};

}  // namespace hailstone
