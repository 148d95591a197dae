#include "scan_columns.h"

#include <algorithm>

namespace hailstone {

std::optional<ScanColumn> scan_column(const Field& field) {
  const auto stored = column_for(field);
  if (!stored) return std::nullopt;
  return ScanColumn{.integer = stored->is_integer(), .type = stored->type, .width = stored->width};
}

std::optional<PlainField> ScanColumns::field_of(Item& item) const {
  Field* const field = stored_field_of(item);
  return field != nullptr ? PlainField::of(*field) : std::nullopt;
}

Field* ScanColumns::stored_field_of(Item& item) const {
  Item* const real = item.real_item();
  if (real->type() != Item::FIELD_ITEM) return nullptr;
  Field* const field = static_cast<Item_field*>(real)->field;
  const auto source = sources_->number_of(*field);
  if (!source) return nullptr;
  const HailstoneHandler& reader = sources_->all()[*source].reader();
  if (reader.column_of_field(field->field_index) == RecordFormat::not_stored) return nullptr;
  // A virtual column that is no key's is stored where the table has no other column. The server need not have
  // computed what is stored.
  return field->stored_in_db() || field->table->s->keys != 0 ? field : nullptr;
}

uint16_t ScanColumns::column_of(const Field& field) const {
  return sources_->all()[source_of(field)].reader().column_of_field(field.field_index);
}

size_t ScanColumns::position_of_number(size_t source, uint16_t number) const {
  size_t position = 0;
  while (position < numbers_.size() && (numbers_[position] != number || of_sources_[position] != source))
    ++position;
  return position;
}

uint16_t ScanColumns::position_for_items(const Field& field) {
  const auto found = std::ranges::find(fields_, &field);
  const auto position = static_cast<uint16_t>(found - fields_.begin());
  if (found == fields_.end()) {
    fields_.push_back(&field);
    numbers_.push_back(column_of(field));
    of_sources_.push_back(source_of(field));
    for_items_.push_back(true);
  }
  return position;
}

uint16_t ScanColumns::position_in_record(const Field& field) {
  const uint16_t position = position_for_items(field);
  for_items_[position] = false;
  return position;
}

std::vector<uint16_t> ScanColumns::numbers_without_unread(
    const std::vector<const Field*>& read_by_items) const {
  std::vector<uint16_t> numbers = numbers_;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (for_items_[i] && position_of_number(of_sources_[i], scaled(numbers[i])) != numbers_.size() &&
        std::ranges::find(read_by_items, fields_[i]) == read_by_items.end())
      numbers[i] = scaled(numbers[i]);
  }
  return numbers;
}

std::optional<uint16_t> ScanColumns::scaled_position_of(PlainField field) {
  const uint16_t column = column_of(*field);
  const size_t source = source_of(*field);
  for (const HailstoneHandler* const reader : sources_->all()[source].readers) {
    if (!reader->stored_table()->layout()->decimal(column)) return std::nullopt;
  }
  const auto position = static_cast<uint16_t>(position_of_number(source, scaled(column)));
  if (position == numbers_.size()) {
    fields_.push_back(nullptr);
    numbers_.push_back(scaled(column));
    of_sources_.push_back(source);
    for_items_.push_back(false);
  }
  return position;
}

}  // namespace hailstone
