// All rows of a table that match a predicate, in no promised order, a batch at a time. Belongs to one thread
// and one transaction. Segments are filtered block by block on encoded data; then the deltas row by row. With
// a ReadLock each returned row has been locked and is the newest version, matching.
#pragma once

#include <memory>
#include <vector>

#include "table/table.h"

namespace hailstone {

class Scan {
 public:
  Scan(std::shared_ptr<Table> table, Transaction& transaction, ReadLock lock,
       std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns);
  ~Scan();

  /// The next batch, valid until the next call; null at the end.
  Result<const Batch*> next();
  /// Clustered key of a row of the current batch; valid until next(). Costs a key encoding.
  Result<ByteView> clustered_key(uint32_t row);
  /// Number of matching rows from here to the end, without reading any column but the predicate's.
  Result<uint64_t> count_rest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
