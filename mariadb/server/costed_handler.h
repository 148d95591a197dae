// A handler whose costs do not depend on the server's series.
//
// Before 11.0 the server's unit is what it takes five rows to go through its own checks (TIME_FOR_COMPARE),
// which it adds for each row by itself. With rows of this engine that is 0.4 microseconds. From 11.0 on the
// unit is the millisecond, and the server adds more by itself: for each row of a scan, each search and each
// entry.
#pragma once

// clang-format off
#include "../server.h"
// clang-format on

namespace hailstone {

class CostedHandler : public handler {
 public:
  using handler::handler;

 protected:
  /// All in the unit of before 11.0. A scan of the table, without what each row adds.
  virtual double scan_cost() = 0;
  /// Rows by an index that has all their columns when it is the clustered one; by another, what the columns
  /// add that the index does not have.
  virtual double rows_cost(uint index, ulong ranges, ha_rows rows) = 0;
  /// Rows one by one, by their positions. Asked from 11.0 on.
  virtual double positions_cost(ha_rows rows) = 0;
  /// Entries of an index, without their rows.
  virtual double entries_cost(uint index, ha_rows rows) = 0;

#if MYSQL_VERSION_ID < 110000
 public:
  double scan_time() final { return scan_cost(); }
  // A whole index in any order is read as the table is.
  double key_scan_time(uint) final { return scan_cost(); }
  double read_time(uint index, uint ranges, ha_rows rows) final { return rows_cost(index, ranges, rows); }
  double keyread_time(uint index, uint ranges, ha_rows rows) final {
    // The server's own number stands for the bytes of the keys: it prefers the index with the shorter keys.
    return handler::keyread_time(index, ranges, rows) + entries_cost(index, rows);
  }

  /// By how much the number of rows with one key is understated. The server's costs are made for an engine
  /// that tells half of the truth here, so that joins by indexes are not underrated.
  static constexpr uint64_t understated_rows_of_key = 2;
#else
 protected:
  IO_AND_CPU_COST scan_time() final { return milliseconds(scan_cost()); }
  IO_AND_CPU_COST key_scan_time(uint, ha_rows) final { return milliseconds(scan_cost()); }
  IO_AND_CPU_COST rnd_pos_time(ha_rows rows) final { return milliseconds(positions_cost(rows)); }
  IO_AND_CPU_COST keyread_time(uint index, ulong ranges, ha_rows rows, ulonglong) final {
    return milliseconds(is_clustering_key(index) ? rows_cost(index, ranges, rows)
                                                 : entries_cost(index, rows));
  }

 public:
  static constexpr uint64_t understated_rows_of_key = 1;

 private:
  /// All are costs of the processor: they include what it takes to bring blocks into memory.
  static IO_AND_CPU_COST milliseconds(double units) { return {0, units * 0.4e-3}; }
#endif
};

}  // namespace hailstone
