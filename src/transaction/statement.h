// What stands or falls together within a transaction.
//
// A Statement is what a program asks for at once: an SQL statement, a call of hailstone.h, a change of the
// schema through haildb.h. When it fails, nothing of it stays; when it ends, a READ COMMITTED snapshot ends
// with it.
//
// A Write is one change: of a row, of a counter, of the catalog. It takes all the room that the transaction
// needs to remember the change, and to put it into the log, before anything is changed. So nothing can fail
// once a row has been written; and what a write has done so far when it fails is taken back.
//
//   Write write(transaction);
//   HAILSTONE_TRY(write.prepare(2));          // memory and log have room: nothing is changed yet
//   append_put(write.redo(), …);              // may throw std::bad_alloc: nothing is changed yet
//   …                                         // change rows, and note each: transaction.add_change()
//   write.keep();
//
// Both belong to their transaction's thread, and neither outlives the transaction.
#pragma once

#include <string>
#include <utility>

#include "transaction/transaction.h"

namespace hailstone {

class Statement {
 public:
  explicit Statement(Transaction& transaction)
      : transaction_(&transaction), start_(transaction.savepoint()) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  /// Rolls back, unless it has ended.
  ~Statement() {
    if (transaction_ != nullptr) roll_back();
  }

  /// What it has done is the transaction's.
  void end() noexcept {
    Transaction* const transaction = std::exchange(transaction_, nullptr);
    if (transaction != nullptr && transaction->state() == Transaction::State::Active) {
      transaction->next_statement();
    }
  }
  /// Takes back what it has done; row and table locks stay. Nothing to do when the transaction has ended.
  void roll_back() noexcept;
  /// There is nothing to take back any more: the transaction has ended, and may be gone.
  void forget() noexcept { transaction_ = nullptr; }

 private:
  Transaction* transaction_;  // null: it has ended
  const Savepoint start_;
};

class Write {
 public:
  explicit Write(Transaction& transaction) : transaction_(transaction), start_(transaction.savepoint()) {}
  Write(const Write&) = delete;
  Write& operator=(const Write&) = delete;
  /// Takes back what was done since the beginning, unless it is kept.
  ~Write() {
    if (!kept_) transaction_.roll_back_to(start_);
  }

  /// Room for so many changes and actions more, and for redo: what is over the limit of the redo buffer goes
  /// to the log. ErrorCode::OutOfMemory when the transaction has too many changes; the log's errors.
  Status prepare(size_t changes) { return transaction_.prepare(changes); }
  /// Operations of the log are appended here, in the database's format, before the change is made.
  std::string& redo() { return transaction_.redo_; }
  /// Of a row that the log is not told of.
  void note_unlogged(size_t bytes) noexcept { transaction_.unlogged_bytes_ += bytes; }
  void keep() noexcept {
    transaction_.take_redo();
    kept_ = true;
  }

 private:
  Transaction& transaction_;
  const Savepoint start_;
  bool kept_ = false;
};

}  // namespace hailstone
