#include "column/segment_columns.h"

#include <fmt/format.h>

#include <utility>

namespace hailstone {

namespace {

std::vector<uint16_t> find_group_columns(const TableDefinition& definition) {
  // A search in an index reads the key columns of one row after the other: they must be had without the rest
  // of the row.
  std::vector<bool> stored_alone;
  stored_alone.reserve(definition.columns.size());
  for (const Column& column : definition.columns) stored_alone.push_back(column.columnar);
  for (const Index& index : definition.indexes) {
    for (const IndexPart& part : index.parts) stored_alone[part.column] = true;
  }
  std::vector<uint16_t> columns;
  for (size_t i = 0; i < stored_alone.size(); ++i) {
    if (!stored_alone[i]) columns.push_back(static_cast<uint16_t>(i));
  }
  return columns;
}

RowCodec make_group_codec(const TableDefinition& definition, std::span<const uint16_t> group_columns) {
  std::vector<Column> columns;
  for (const uint16_t column : group_columns) columns.push_back(definition.columns[column]);
  return RowCodec(columns);
}

int position_of(const Segment& segment, uint16_t id) {
  const auto position = segment.find_column(id);
  return position ? static_cast<int>(*position) : -1;
}

}  // namespace

TableLayout::TableLayout(TableDefinition definition)
    : definition_(std::move(definition)),
      row_codec_(definition_.columns),
      group_codec_(make_group_codec(definition_, find_group_columns(definition_))),
      group_columns_(find_group_columns(definition_)),
      group_positions_(definition_.columns.size(), -1) {
  for (size_t i = 0; i < group_columns_.size(); ++i)
    group_positions_[group_columns_[i]] = static_cast<int>(i);
}

std::vector<StoredColumn> TableLayout::stored_columns() const {
  std::vector<StoredColumn> stored;
  for (size_t i = 0; i < definition_.columns.size(); ++i) {
    const Column& column = definition_.columns[i];
    if (group_positions_[i] >= 0) continue;
    const bool integer = column.is_integer();
    stored.push_back({.id = static_cast<uint16_t>(i),
                      .integer = integer,
                      .width = static_cast<uint8_t>(integer ? column.width : 8),
                      .nullable = column.nullable,
                      .decimal = column.decimal});
  }
  if (!group_columns_.empty()) stored.push_back({.id = StoredColumn::row_group});
  if (!definition_.has_primary_key) stored.push_back({.id = StoredColumn::row_id, .integer = true});
  return stored;
}

bool TableLayout::is_sorted_by(uint16_t column) const {
  if (!definition_.has_primary_key) return false;
  const IndexPart& first = definition_.indexes.front().parts.front();
  return first.column == column && first.prefix == 0 && !first.descending;
}

SegmentColumns::SegmentColumns(std::shared_ptr<const Segment> segment,
                               std::shared_ptr<const TableLayout> layout)
    : segment_(std::move(segment)),
      layout_(std::move(layout)),
      row_group_(position_of(*segment_, StoredColumn::row_group)),
      row_id_(position_of(*segment_, StoredColumn::row_id)),
      begin_(position_of(*segment_, StoredColumn::begin)) {
  const size_t columns = layout_->definition().columns.size();
  locations_.resize(columns);
  for (size_t i = 0; i < columns; ++i) {
    const auto column = static_cast<uint16_t>(i);
    if (const int position = layout_->group_position(column); position >= 0) {
      if (row_group_ >= 0) locations_[i] = {Location::Kind::Grouped, static_cast<size_t>(position)};
    } else if (const auto stored = segment_->find_column(column)) {
      locations_[i] = {Location::Kind::Stored, *stored};
    }
  }
}

Status SegmentColumns::check_group(uint32_t block, uint32_t row, ByteView group) const {
  if (auto checked = layout_->group_codec().check(group); !checked) {
    return fail(ErrorCode::Corruption,
                fmt::format("{}: row {} of the row group is damaged: {}; restore the table from a backup",
                            segment_->path(), uint64_t{block} * block_rows + row, checked.error().message()));
  }
  return {};
}

}  // namespace hailstone
