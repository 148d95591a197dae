#include "group_estimate.h"

#include <algorithm>
#include <cmath>

#include "ha_hailstone.h"
#include "item_parts.h"
#include "source_tables.h"

namespace hailstone {

namespace {

/// Of a column, NULL among them.
double values_of_column(const TABLE& source, uint16_t column) {
  const auto distinct = static_cast<double>(distinct_values(readers_of(source), column));
  return distinct == 0 ? static_cast<double>(source.file->stats.records) : distinct + 1;
}

/// Of an expression: not more than its columns have, nor than its digits can tell.
double values_of_item(const TABLE& source, const HailstoneHandler& reader, Item& item) {
  double values = 1;
  for (const Item_field* const field : columns_read_by(item))
    values *= values_of_column(source, reader.column_of_field(field->field->field_index));
  if (item.cmp_type() != INT_RESULT) return values;
  return std::min(values, 2 * std::pow(10.0, item.decimal_precision()));
}

}  // namespace

uint64_t most_groups(const GroupBlock& block, TABLE& source, const HailstoneHandler& reader) {
  double groups = 1;
  for (const RowColumn& key : block.keys) {
    groups *= key.computed
                  ? values_of_item(source, reader, *block.computed[key.number].item)
                  : values_of_column(source,
                                     reader.column_of_field(block.columns.field_at(key.number).field_index));
  }
  source.file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  const ha_rows rows = source.file->stats.records;
  return groups < static_cast<double>(rows) ? static_cast<uint64_t>(groups) : rows;
}

}  // namespace hailstone
