// What runs a query, as its operators see it: whether the statement is to end, threads that help, memory, and
// files for what memory has no room for. Scans are one, of the tables that they read.
#pragma once

#include <functional>

#include "base/status.h"

namespace hailstone {

class MemoryBudget;
class SpillSpace;

/// Outlives the operators of its query.
class QueryHost {
 public:
  virtual ~QueryHost() = default;
  QueryHost() = default;
  QueryHost(QueryHost&&) = default;
  QueryHost& operator=(QueryHost&&) = default;

  /// ErrorCode::Interrupted when the statement is to end: for long work, on the statement's own thread.
  virtual Status check_interruption() const = 0;
  /// The same for threads that help that one: what it has found so far.
  virtual Status check_interruption_seen() const = 0;
  /// Either, as the thread with this number asks for it; 0 is the statement's own.
  Status go_on(unsigned part) const { return part == 0 ? check_interruption() : check_interruption_seen(); }
  /// hailstone::run_with_helpers(). While the caller's thread waits, it looks for interruption.
  virtual void run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const = 0;
  /// What operators take their memory from, and where they put aside what that has no room for.
  virtual MemoryBudget& budget() const = 0;
  virtual SpillSpace& spill_space() const = 0;
};

}  // namespace hailstone
