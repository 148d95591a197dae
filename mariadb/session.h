// What a connection has in this engine: its transaction, where the running statement began, and the open
// readers of its handlers. Belongs to the connection's thread; others may only call wake().
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transaction/commit_order.h"
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

class Table;
class BlockRun;
class Trace;
struct LimitEstimate;

/// How long a statement waits for a lock.
std::chrono::seconds lock_wait_limit(THD* thd);
/// Whether the connection's changes are logged as statements, which gives the same rows where they are
/// repeated: only when none that a statement reads can change before the statement is logged.
bool repeats_statements(const THD* thd);
/// Whether the connection repeats a statement of another server's log, maybe before others that come earlier
/// there: it must not miss what they change.
bool applies_statement(const THD* thd);
/// Whether what the running statement reads has to stay as it is until its end, once the server has locked
/// its tables: when it is logged as a statement, which may be so in MIXED format, too, where it changes
/// tables of other engines only, and when it is applied.
bool repeats_this_statement(const THD* thd);

class Session final : private CommitOrder {
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

  /// Keeps the table as it is until the end of the transaction, if that may be prepared by the user: it then
  /// outlives the connection, and with it the server's locks.
  Status keep_table(const Table& table);
  /// The first phase of the transaction's commit, under the server's identity for it; nothing is stored of
  /// one that has changed nothing. What the user prepares (XA PREPARE) is of no session from then on: the
  /// one that has prepared it ends it as any other does, under its identity.
  Status prepare();
  /// Makes the commit visible, in the server's order of commits: maybe on another session's thread, while
  /// this one's waits. commit() tells of a failure.
  void commit_ordered() noexcept;
  /// End of a statement, or of the transaction when `all` or in autocommit mode.
  Status commit(bool all);
  /// Whether that ends the transaction.
  bool ends_transaction(bool all) const { return all || !in_multi_statement_transaction(); }
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

  /// The block of a SELECT that the engine is at work with; null: none. The connection's thread tells the
  /// server how far it is, whenever it looks for KILL.
  void set_running(BlockRun* run) { running_ = run; }
  /// Blocks of its statements that have memory of their own, one within another.
  int blocks_with_memory() const { return blocks_with_memory_; }
  /// Whether others may wait for what its transaction has locked, in this engine or another.
  bool may_hold_locks() const {
    return in_multi_statement_transaction() || (transaction_ != nullptr && transaction_->has_changes());
  }
  void note_block_with_memory(int more) { blocks_with_memory_ += more; }
  BlockRun* running() const { return running_; }

  /// What was estimated of the last statement that was left to the server for its LIMIT; null: none was.
  void keep_limit(std::shared_ptr<const LimitEstimate> estimate) { limit_ = std::move(estimate); }
  const LimitEstimate* kept_limit() const { return limit_.get(); }

  /// From any thread: makes a waiting statement look at whether it was killed.
  void wake() const;

 private:
  explicit Session(THD* thd);
  ~Session();
  void end_transaction();
  void roll_back_transaction();
  /// To end what this session has prepared; another one cannot, as long as the server calls this one for it.
  void take_back_prepared();
  /// Of a replica: until all transactions are committed that must be before this one. The server (10.11)
  /// keeps the order of those that its own log gets; not of those of two engines that write nothing to it.
  Status wait_for_turn();
  /// Of a replica, at the end of a statement of what the user will prepare (XA PREPARE): as above. One engine
  /// prepares it after the other, and between them the server waits for its turn, without the lock that keeps
  /// a backup out. A backup of that moment would have it prepared in one engine only.
  Status wait_for_turn_to_prepare();
  Status wait_for_prior_commits();

  void waits_for(const CommitOrder* other) noexcept override;
  bool settles(const CommitOrder& other) const noexcept override;
  bool precedes(const CommitOrder& other) const noexcept override;

  THD* thd_;
  std::unique_ptr<Transaction> transaction_;
  std::string prepared_name_;  // of what the user has prepared in this session; empty: nothing
  std::atomic<TransactionId> transaction_id_{0};
  std::optional<Statement> statement_;  // of transaction_
  std::optional<Status> ordered_;       // what came of commit_ordered()
  bool has_savepoints_ = false;
  std::vector<TransactionUser*> users_;
  std::pair<const TABLE*, uint> duplicate_{nullptr, MAX_KEY};
  bool partition_analyzed_ = false;
  std::unique_ptr<Trace> trace_;
  BlockRun* running_ = nullptr;
  int blocks_with_memory_ = 0;
  std::shared_ptr<const LimitEstimate> limit_;
};

}  // namespace hailstone
