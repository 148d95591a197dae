// Rows straight into segments that are private to the transaction until it commits. A load that stays small
// goes to the delta row by row instead. Uniqueness is checked at finish(). Encoding runs beside the caller on
// a background thread; memory stays within the database's budget.
#pragma once

#include <memory>
#include <span>

#include "table/table.h"

namespace hailstone {

class BulkLoad {
 public:
  /// The rows become part of `transaction`: rolling back behind this point discards them.
  BulkLoad(std::shared_ptr<Table> table, Transaction& transaction);
  /// Without finish(): discards what was appended.
  ~BulkLoad();

  /// Takes one row: a value for each column of the table, in order; their bytes are copied. Errors of
  /// background work appear at the next call.
  Status append(std::span<const Value> values);
  /// Checks uniqueness, makes the segments durable and hands them to the transaction. After an error nothing
  /// was loaded.
  Status finish(Duplicate& duplicate);
  uint64_t rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
