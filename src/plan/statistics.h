// What is known of the rows of tables before a plan runs: what orders of joins are chosen by. Numbers may be
// estimates. An implementation leaves errors of its reads to the query, and says what it knows without them.
//
// Belongs to one thread, which is that of the query.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "segment/block.h"

namespace hailstone::plan {

struct DistinctValues {
  double values = 1;
  bool is_known = false;  // else there are no more
};

class Statistics {
 public:
  virtual ~Statistics() = default;

  /// Rows of a scan that pass conditions of its columns.
  struct WantedRows {
    /// Those whose column, of whole numbers, is in this range of ordered values.
    struct Within {
      ColumnId column = 0;
      IntegerRange range = {};
    };
    const Scan& scan;
    std::vector<Expression> conditions = {};
    std::vector<Within> within = {};
  };
  struct FoundRows {
    double rows = 0;
    std::vector<IntegerRange> ranges = {};  // of each column: its least and its greatest value, ordered
  };

  /// Of the table; at least 1.
  virtual double rows(std::string_view table) = 0;
  /// How many there are; at least 1.
  virtual double rows(const WantedRows& wanted) = 0;
  /// Of a column, or of several together.
  virtual DistinctValues distinct(std::string_view table, std::span<const std::string> columns) = 0;
  /// Looks at all rows, for columns of whole numbers. Nothing: there is no such row, a column has no value
  /// in them, or that cannot be told.
  virtual std::optional<FoundRows> find(const WantedRows& wanted, std::span<const ColumnId> columns) = 0;
};

}  // namespace hailstone::plan
