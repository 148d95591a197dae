// Rows straight into segments that are private to the transaction until it commits. A load that stays small
// goes to the delta row by row instead. Encoding runs beside the caller on a background thread; memory stays
// within the database's budget.
//
// A duplicate is told either at finish(), which is cheaper and fails the load as a whole, or at the append()
// of its row: that row is then not taken, the load goes on, and the caller may remove the row that is in the
// way.
#pragma once

#include <memory>
#include <span>

#include "table/table.h"

namespace hailstone {

class BulkLoad {
 public:
  enum class Duplicates : uint8_t { FailTheLoad, AreToldByRow };

  /// The rows become part of `transaction`: rolling back behind this point discards them.
  BulkLoad(std::shared_ptr<Table> table, Transaction& transaction,
           Duplicates duplicates = Duplicates::FailTheLoad);
  /// Without finish(): discards what was appended. Where duplicates are told by row, parts of the load may be
  /// in the transaction by then: the caller rolls back behind the load.
  ~BulkLoad();

  /// Takes one row: a value for each column of the table, in order; their bytes are copied. Errors of
  /// background work appear at the next call.
  Status append(std::span<const Value> values);
  /// The same where duplicates are told by row: ErrorCode::DuplicateKey fills `duplicate` and does not end
  /// the load. Rows of other transactions are waited for.
  Status append(std::span<const Value> values, Duplicate& duplicate);
  /// Whether the last append() was refused for a row that is still in the way.
  bool has_duplicate() const;
  /// That row, encoded and locked; false: it is gone.
  Result<bool> find_duplicate(std::string& row);
  /// Removes that row, from the load or from the table.
  Status remove_duplicate();

  /// Makes the segments durable and hands them to the transaction. Where duplicates fail the load, checks
  /// uniqueness, and after an error nothing was loaded; else the caller rolls back behind the load after an
  /// error.
  Status finish(Duplicate& duplicate);
  uint64_t rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
