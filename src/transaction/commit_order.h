// What a coordinator of commits knows of a transaction, such as a server that applies another one's log on
// several threads and commits in that log's order.
#pragma once

namespace hailstone {

/// Of one transaction. The lock manager asks under its mutex, from any thread: the functions must not call
/// the engine, nor wait for anybody who does.
class CommitOrder {
 public:
  /// The transaction has to wait for another one; null: for one without an order. The coordinator may make
  /// the other one end, where it has to be committed later. Called again and again for one wait.
  virtual void waits_for(const CommitOrder* other) noexcept = 0;
  /// Whether the order of the two is given, so that neither must be kept out of ranges that the other reads.
  virtual bool settles(const CommitOrder& other) const noexcept = 0;
  /// Whether of two that wait for each other the other one should give way: this transaction has to be
  /// committed before it, or cannot be rolled back wholly.
  virtual bool precedes(const CommitOrder& other) const noexcept = 0;

 protected:
  ~CommitOrder() = default;
};

}  // namespace hailstone
