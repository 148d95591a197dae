// Updates some columns of a row: the others keep what the newest version of the row has. An object of this
// class keeps its buffers from row to row. It belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "table/table.h"

namespace hailstone {

class ColumnUpdate {
 public:
  /// Forgets the values that were set.
  void clear() { changes_.clear(); }
  /// The new value of a column, by table column number, set once. Bytes must stay valid until run()
  /// returns.
  void set(uint16_t column, const Value& value) { changes_.push_back({column, value}); }

  struct Outcome {
    std::string key;      // the row's clustered key from now on
    bool changed = true;  // false: the row had these values already, and no version was made
  };
  /// Locks the newest version of the row `key` for the rest of the transaction, and replaces it by one with
  /// the values set. The lock is an entry of the lock table: it stays when a rollback to a savepoint takes
  /// the new version back. Errors as Table::update().
  Result<Outcome> run(Table& table, Transaction& transaction, ByteView key, Duplicate& duplicate,
                      KeyReads* reads = nullptr);

 private:
  struct Change {
    uint16_t column;
    Value value;
  };
  std::vector<Change> changes_;
  std::vector<Value> values_;
  std::string before_, after_;
};

}  // namespace hailstone
