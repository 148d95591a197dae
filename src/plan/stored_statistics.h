// Statistics of the library's tables: by what their segments and indexes know, and by samples of their
// blocks.
#pragma once

#include <functional>
#include <memory>

#include "plan/query.h"
#include "plan/statistics.h"
#include "table/table.h"

namespace hailstone::plan {

class StoredStatistics final : public Statistics {
 public:
  /// The tables that a name stands for: one, or the partitions of one, which all have its definition.
  using Stored = std::function<std::vector<std::shared_ptr<const Table>>(std::string_view table)>;
  /// `tables` outlives it.
  StoredStatistics(TableSource& tables, Stored stored) : tables_(tables), stored_(std::move(stored)) {}

  double rows(std::string_view table) override;
  double rows(const WantedRows& wanted) override;
  DistinctValues distinct(std::string_view table, std::span<const std::string> columns) override;
  std::optional<FoundRows> find(const WantedRows& wanted, std::span<const ColumnId> columns) override;

 private:
  struct Scanned {
    Scans scans;
    size_t conditions_left = 0;  // which no block is asked about
  };
  std::optional<Scanned> scan(const WantedRows& wanted, std::span<const ColumnId> columns);

  TableSource& tables_;
  const Stored stored_;
};

}  // namespace hailstone::plan
