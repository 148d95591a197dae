#include "plan/stored_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "column/segment_columns.h"
#include "plan/scan_conditions.h"

namespace hailstone::plan {

namespace {

/// Of what only a row can tell, something.
constexpr double share_of_unknown = 0.3;

/// As the table knows of an index that begins with the columns, in any order; 0: there is none.
double distinct_by_index(const Table& table, std::span<const uint16_t> columns) {
  const TableStatistics statistics = table.statistics();
  const std::vector<Index>& indexes = table.definition().indexes;
  for (size_t i = 0; i < indexes.size() && i < statistics.distinct.size(); ++i) {
    const std::vector<IndexPart>& parts = indexes[i].parts;
    if (parts.size() < columns.size() || statistics.distinct[i].size() < columns.size()) continue;
    const bool begins = std::ranges::all_of(std::span(parts).first(columns.size()), [&](const auto& part) {
      return part.prefix == 0 && std::ranges::find(columns, part.column) != columns.end();
    });
    if (begins) return static_cast<double>(statistics.distinct[i][columns.size() - 1]);
  }
  return 0;
}

/// A scan of the column alone; its id is 0.
Scan scan_of(std::string_view table, const hailstone::Column& column) {
  Column read{.id = 0, .name = column.name, .stored = {}, .type = {}};
  read.stored.integer = column.is_integer();
  read.stored.type = column.type;
  read.stored.width = column.width;
  return {.table = std::string(table), .columns = {std::move(read)}};
}

}  // namespace

double StoredStatistics::rows(std::string_view table) {
  double rows = 0;
  for (const auto& each : stored_(table)) rows += static_cast<double>(each->statistics().rows);
  return std::max(1.0, rows);
}

std::optional<StoredStatistics::Scanned> StoredStatistics::scan(const WantedRows& wanted,
                                                                std::span<const ColumnId> columns) {
  const auto definition = tables_.definition(wanted.scan.table);
  if (!definition) return std::nullopt;
  const auto ordinals = ordinals_of(wanted.scan, **definition);
  if (!ordinals) return std::nullopt;
  // Blocks know of a DECIMAL's number only as it is stored.
  const auto is_scaled_here = [&](ColumnId id) { return is_scaled(ordinals->at(id)); };
  if (std::ranges::any_of(columns, is_scaled_here) ||
      std::ranges::any_of(wanted.within, is_scaled_here, &WantedRows::Within::column))
    return std::nullopt;
  std::vector<Expression> conditions = wanted.conditions;
  std::vector<Predicate> all{taken_by_scan(conditions, *ordinals)};
  for (const WantedRows::Within& within : wanted.within)
    all.push_back(Predicate::integer(ordinals->at(within.column), {within.range}));
  std::vector<uint16_t> read;
  for (const ColumnId id : columns) read.push_back(ordinals->at(id));
  auto scans = tables_.scan(wanted.scan.table,
                            std::make_shared<const Predicate>(Predicate::all_of(std::move(all))), read);
  if (!scans) return std::nullopt;
  return Scanned{.scans = *std::move(scans), .conditions_left = conditions.size()};
}

double StoredStatistics::rows(const WantedRows& wanted) {
  double found = rows(wanted.scan.table);
  if (wanted.conditions.empty() && wanted.within.empty()) return found;
  auto scanned = scan(wanted, {});
  if (!scanned) return found;
  if (const auto share = scanned->scans.sample()) found *= *share;
  return std::max(1.0, found * std::pow(share_of_unknown, static_cast<double>(scanned->conditions_left)));
}

DistinctValues StoredStatistics::distinct(std::string_view table, std::span<const std::string> columns) {
  const auto stored = stored_(table);
  const double all_rows = rows(table);
  const auto definition = tables_.definition(table);
  if (!definition) return {.values = all_rows, .is_known = false};
  std::vector<uint16_t> ordinals;
  for (const std::string& name : columns) {
    const auto found = std::ranges::find((*definition)->columns, name, &hailstone::Column::name);
    if (found == (*definition)->columns.end()) return {.values = all_rows, .is_known = false};
    ordinals.push_back(static_cast<uint16_t>(found - (*definition)->columns.begin()));
  }
  // Of partitions each knows its own.
  if (stored.size() == 1) {
    const double known = distinct_by_index(*stored.front(), ordinals);
    if (known != 0) return {.values = known, .is_known = true};
  }
  double most = 1;
  bool all_known = true;
  for (const uint16_t ordinal : ordinals) {
    auto values = static_cast<double>(Table::distinct_values(stored, ordinal));
    if (values == 0) {
      all_known = false;
      // Whole numbers are no more than there are between the least and the greatest.
      const hailstone::Column& column = (*definition)->columns[ordinal];
      values = std::numeric_limits<double>::infinity();
      if (column.type == Type::Signed || column.type == Type::Unsigned) {
        const Scan alone = scan_of(table, column);
        constexpr ColumnId id = 0;
        if (const auto found = find({.scan = alone}, {&id, 1}))
          values = static_cast<double>(found->ranges.front().high - found->ranges.front().low) + 1;
      }
    }
    most *= values;
  }
  return {.values = std::max(1.0, std::min(most, all_rows)), .is_known = all_known && columns.size() == 1};
}

std::optional<Statistics::FoundRows> StoredStatistics::find(const WantedRows& wanted,
                                                            std::span<const ColumnId> columns) {
  auto scanned = scan(wanted, columns);
  if (!scanned) return std::nullopt;
  std::vector<hailstone::Aggregate> aggregates{{.kind = hailstone::Aggregate::Kind::Rows}};
  for (uint16_t position = 0; position < columns.size(); ++position) {
    aggregates.push_back({.kind = hailstone::Aggregate::Kind::Minimum, .position = position});
    aggregates.push_back({.kind = hailstone::Aggregate::Kind::Maximum, .position = position});
  }
  const auto found = scanned->scans.aggregate(aggregates, 1);
  if (!found || found->front().count == 0) return std::nullopt;
  FoundRows rows{.rows = static_cast<double>(found->front().count)};
  for (size_t i = 1; i < found->size(); i += 2) {
    if ((*found)[i].count == 0) return std::nullopt;
    rows.ranges.push_back({(*found)[i].integer, (*found)[i + 1].integer});
  }
  return rows;
}

}  // namespace hailstone::plan
