// The columns that a statement reads of its tables, and where its scans have them. Belongs to the
// connection's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ha_hailstone.h"
#include "plain_field.h"
#include "source_tables.h"
#include "table/scan.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class ScanColumns {
 public:
  explicit ScanColumns(std::shared_ptr<const SourceTables> sources) : sources_(std::move(sources)) {}

  /// The field of a table that an item is, with the item's value; nothing when it is none, or is not stored.
  std::optional<PlainField> field_of(Item& item) const;
  /// The same of all fields that are stored, for the server's items; null: none.
  Field* stored_field_of(Item& item) const;
  /// The position of a field among the scan's columns, to which it is added when it is new.
  uint16_t position_of(PlainField field) { return position_in_record(*field); }
  /// The same where the record gets the column as it is stored.
  uint16_t position_in_record(const Field& field);
  /// The same where only the server's items may read that.
  uint16_t position_for_items(const Field& field);
  /// The same of a DECIMAL as a scaled number. Nothing where a table of an earlier version does not tell that
  /// the column holds decimals.
  std::optional<uint16_t> scaled_position_of(PlainField field);
  /// Of the column at a position, which may be read as a scaled number.
  const Field& field_at(size_t position) const {
    return field_of_column(source_at(position), static_cast<uint16_t>(numbers_[position] & ~scaled_bit));
  }
  bool is_scaled_at(size_t position) const { return is_scaled(numbers_[position]); }
  /// The number of the table whose column is at a position.
  size_t source_at(size_t position) const { return of_sources_[position]; }
  const Field& field_of_column(size_t source, uint16_t column) const {
    const SourceTables::Source& of = sources_->all()[source];
    return *of.table->field[of.reader().field_of_column(column)];
  }
  /// The column of a field that is stored, as the library has it.
  uint16_t column_of(const Field& field) const;
  const SourceTables& sources() const { return *sources_; }
  const std::shared_ptr<const SourceTables>& shared_sources() const { return sources_; }
  /// numbers(). A column that only items would read gives way to its scaled number, if that is read, too, and
  /// `read_by_items` lacks the column. So it is not packed for nothing.
  std::vector<uint16_t> numbers_without_unread(const std::vector<const Field*>& read_by_items) const;
  /// Of each column, as the library has it among its table's.
  const std::vector<uint16_t>& numbers() const { return numbers_; }
  /// Null where the column is read as a scaled number.
  const std::vector<const Field*>& fields() const { return fields_; }

 private:
  size_t source_of(const Field& field) const { return *sources_->number_of(field); }
  size_t position_of_number(size_t source, uint16_t number) const;

  std::shared_ptr<const SourceTables> sources_;
  std::vector<uint16_t> numbers_;
  std::vector<size_t> of_sources_;    // of the same columns: their tables
  std::vector<const Field*> fields_;  // of those
  std::vector<bool> for_items_;       // of those: only items may read them
};

/// What a scan has of a field's column.
std::optional<ScanColumn> scan_column(const Field& field);

}  // namespace hailstone
