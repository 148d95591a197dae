#include "group_estimate.h"

#include <algorithm>
#include <cmath>

#include "ha_hailstone.h"
#include "item_parts.h"
#include "source_tables.h"

namespace hailstone {

namespace {

/// Of a field's column, NULL among them.
double values_of_field(const ScanColumns& columns, const Field& field) {
  const SourceTables::Source& source = columns.sources().all()[*columns.sources().number_of(field)];
  const auto distinct = static_cast<double>(distinct_values(source.readers, columns.column_of(field)));
  return distinct == 0 ? static_cast<double>(source.table->file->stats.records) : distinct + 1;
}

/// Of an expression: not more than its columns have, nor than its digits can tell.
double values_of_item(const ScanColumns& columns, Item& item) {
  double values = 1;
  for (const Item_field* const field : columns_read_by(item))
    values *= values_of_field(columns, *field->field);
  if (item.cmp_type() != INT_RESULT) return values;
  return std::min(values, 2 * std::pow(10.0, item.decimal_precision()));
}

}  // namespace

uint64_t most_groups(const GroupBlock& block) {
  double groups = 1;
  for (const RowColumn& key : block.keys) {
    groups *= key.computed ? values_of_item(block.columns, *block.computed[key.number].item)
                           : values_of_field(block.columns, block.columns.field_at(key.number));
  }
  // Of a join, each pair of rows may be a row.
  double rows = 1;
  for (const SourceTables::Source& source : block.columns.sources().all()) {
    source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
    rows *= static_cast<double>(source.table->file->stats.records);
  }
  constexpr double most = 1e18;
  return static_cast<uint64_t>(std::min({groups, rows, most}));
}

}  // namespace hailstone
