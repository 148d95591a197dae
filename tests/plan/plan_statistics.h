// Statistics that are given, for tests.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "plan/statistics.h"

namespace hailstone::plan {

class GivenStatistics final : public Statistics {
 public:
  struct OfTable {
    double rows = 1;
    std::map<std::string, double> distinct = {};      // of columns whose values are known
    double share = 1;                                 // of the rows, that conditions leave
    double share_within = 1;                          // of the rows, that ranges leave
    std::map<std::string, IntegerRange> ranges = {};  // that columns have in the rows that conditions leave
  };
  explicit GivenStatistics(std::map<std::string, OfTable, std::less<>> tables) : tables_(std::move(tables)) {}

  double rows(std::string_view table) override { return of(table).rows; }
  double rows(const WantedRows& wanted) override {
    const OfTable& table = of(wanted.scan.table);
    return table.rows * (wanted.conditions.empty() ? 1 : table.share) *
           (wanted.within.empty() ? 1 : table.share_within);
  }
  DistinctValues distinct(std::string_view table, std::span<const std::string> columns) override {
    DistinctValues all{.values = 1, .is_known = true};
    for (const std::string& column : columns) {
      const auto found = of(table).distinct.find(column);
      all.is_known = all.is_known && found != of(table).distinct.end();
      all.values *= found == of(table).distinct.end() ? of(table).rows : found->second;
    }
    all.values = std::min(all.values, of(table).rows);
    return all;
  }
  std::optional<FoundRows> find(const WantedRows& wanted, std::span<const ColumnId> columns) override {
    FoundRows found{.rows = rows(wanted)};
    for (const ColumnId id : columns) {
      const OfTable& table = of(wanted.scan.table);
      const auto range = table.ranges.find(find_column(wanted.scan.columns, id)->name);
      if (range == table.ranges.end()) return std::nullopt;
      found.ranges.push_back(range->second);
    }
    return found;
  }

 private:
  const OfTable& of(std::string_view table) const {
    static const OfTable unknown;
    const auto found = tables_.find(table);
    return found == tables_.end() ? unknown : found->second;
  }

  const std::map<std::string, OfTable, std::less<>> tables_;
};

/// Numbers by chance, the same ones for the same scan: of any orders one is better than that which is
/// written.
class ArbitraryStatistics final : public Statistics {
 public:
  double rows(std::string_view table) override { return one_of(std::hash<std::string_view>()(table)); }
  double rows(const WantedRows& wanted) override { return one_of(wanted.scan.columns.front().id); }
  DistinctValues distinct(std::string_view table, std::span<const std::string> columns) override {
    const uint64_t of = std::hash<std::string_view>()(table) + std::hash<std::string>()(columns.back());
    return {.values = one_of(of), .is_known = of % 3 != 0};
  }
  std::optional<FoundRows> find(const WantedRows&, std::span<const ColumnId>) override {
    return std::nullopt;
  }

 private:
  static double one_of(uint64_t number) {
    constexpr std::array numbers{1.0, 10.0, 1000.0, 1e5, 1e7};
    return numbers[(number * 0x9e3779b97f4a7c15 >> 32) % numbers.size()];
  }
};

}  // namespace hailstone::plan
