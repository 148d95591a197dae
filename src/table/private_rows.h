// What a large transaction writes to a table row by row goes to a delta of its own, which nobody else writes
// to. When that is full, its rows go to segments that are the transaction's alone until its end, as those of
// a bulk load are: so the disk bounds a transaction, not memory. See
// docs/design/large-transactions.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "table/table_state.h"

namespace hailstone {

class TablePrivateRows final : public PrivateRows {
 public:
  /// Those of the transaction in the table; null while the transaction is small.
  static TablePrivateRows* of(Table& table, Table::State& state, Transaction& transaction);
  /// Makes them, whether it is large or not.
  static TablePrivateRows* make(Table& table, Table::State& state, Transaction& transaction);

  TablePrivateRows(std::shared_ptr<Table> table, Table::State& state, Transaction& transaction)
      : table_(std::move(table)), state_(state), transaction_(transaction) {}
  ~TablePrivateRows() override;

  /// Adds a version to the transaction's delta, and gives that. The caller notes the change.
  struct Inserted {
    std::shared_ptr<TableDelta> delta;
    Version* version;
  };
  Inserted insert(ByteView key, ByteView row, std::span<const std::string> secondary_keys)
      HAILSTONE_REQUIRES(table_write_mutex);

  size_t bytes_in_memory() const override;
  Status spill() override;
  void commit(Timestamp timestamp) noexcept override;
  void take_back(uint64_t from) noexcept override;

 private:
  /// False also when all its versions have been taken back: a flush may drop it then.
  bool has_delta() const;
  /// All that can fail, before the rows move.
  void make_ready(const TableSegments& segments);
  void move_changes() noexcept;
  void end_rows(TableSegment& segment, uint64_t from) noexcept
      HAILSTONE_REQUIRES(table_write_mutex, table_latch);
  /// Takes the segments in withdrawn_ out of the table.
  void withdraw() noexcept HAILSTONE_REQUIRES(table_write_mutex, table_latch);

  const std::shared_ptr<Table> table_;
  Table::State& state_;
  Transaction& transaction_;
  std::shared_ptr<TableDelta> delta_;      // null: none so far, or it has been spilled
  TableSegments spilled_;                  // rows in files
  TableSegments withdrawn_;                // scratch space: room for all of spilled_
  std::shared_ptr<SpareView> spare_view_;  // for a rollback; null: a rollback has used it
};

}  // namespace hailstone
