// What operators that read no table ask of their statement: that of rows which are given, or of a query whose
// scans come later.
#pragma once

#include <atomic>
#include <memory>

#include "table/query_host.h"
#include "table/table.h"

namespace hailstone {

/// Belongs to the statement's thread, but for check_interruption_seen().
class StatementHost final : public QueryHost {
 public:
  /// Both outlive it. `memory`: the query's own; null: the database's.
  StatementHost(TableHost& host, const Transaction& transaction, std::shared_ptr<MemoryBudget> memory)
      : host_(host), transaction_(transaction), memory_(std::move(memory)) {}

  Status check_interruption() const override;
  Status check_interruption_seen() const override;
  void run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const override;
  MemoryBudget& budget() const override { return memory_ != nullptr ? *memory_ : host_.budget(); }
  SpillSpace& spill_space() const override { return host_.spill_space(); }

 private:
  bool is_interrupted() const;
  TableHost& host_;
  const Transaction& transaction_;
  const std::shared_ptr<MemoryBudget> memory_;
  mutable std::atomic<bool> seen_{false};
};

}  // namespace hailstone
