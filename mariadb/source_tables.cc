#include "source_tables.h"

#include <algorithm>

#include "engine.h"
#include "ha_hailstone.h"
#include "item_parts.h"
// clang-format off
#include <ha_partition.h>
#include <opt_range.h>
#include <sql_partition.h>
// clang-format on

namespace hailstone {

std::optional<size_t> SourceTables::number_of(const Field& field) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].table == field.table) return i;
  }
  return std::nullopt;
}

std::optional<size_t> SourceTables::only_one_of(Item& item) const {
  std::optional<size_t> only;
  for (const Item_field* const column : columns_read_by(item)) {
    const auto number = number_of(*column->field);
    if (!number || (only && only != number)) return std::nullopt;
    only = number;
  }
  return only;
}

bool SourceTables::has_all_columns_of(Item& item) const {
  const auto columns = columns_read_by(item);
  return std::ranges::all_of(
      columns, [this](const Item_field* column) { return number_of(*column->field).has_value(); });
}

bool is_in_engine(const TABLE& table) {
  if (table.s->tmp_table == INTERNAL_TMP_TABLE) return false;  // of a merged view, and marked
  const handlerton* const of_file = table.file->ht;
  return of_file == engine_handlerton() ||
         (of_file->db_type == DB_TYPE_PARTITION_DB && table.file->partition_ht() == engine_handlerton());
}

bool is_plain_table(const TABLE_LIST& leaf) {
  return leaf.table != nullptr && is_in_engine(*leaf.table) && !leaf.table->versioned() &&
         leaf.table_function == nullptr && leaf.schema_table == nullptr;
}

std::vector<HailstoneHandler*> readers_of(const TABLE& table) {
  std::vector<HailstoneHandler*> readers;
  if (table.file->ht == engine_handlerton()) {
    readers.push_back(static_cast<HailstoneHandler*>(table.file));
    return readers;
  }
  handler** const partitions = static_cast<ha_partition*>(table.file)->get_child_handlers();
  const MY_BITMAP& read = table.part_info->read_partitions;
  readers.reserve(bitmap_bits_set(&read));
  for (uint i = bitmap_get_first_set(&read); i != MY_BIT_NONE; i = bitmap_get_next_set(&read, i))
    readers.push_back(static_cast<HailstoneHandler*>(partitions[i]));
  return readers;
}

void prune(THD& thd, TABLE& table, const std::vector<Item*>& conditions) {
  if (table.part_info == nullptr || conditions.empty()) return;
  MY_BITMAP& read = table.part_info->read_partitions;
  // One stays in any case: reading it finds that there is nothing.
  const uint first = bitmap_get_first_set(&read);
  std::vector<bool> wanted(read.n_bits, true);
  for (Item* const condition : conditions) {
    prune_partitions(&thd, &table, condition);
    for (uint i = 0; i < read.n_bits; ++i) wanted[i] = wanted[i] && bitmap_is_set(&read, i);
  }
  bitmap_clear_all(&read);
  for (uint i = 0; i < read.n_bits; ++i) {
    if (wanted[i]) bitmap_set_bit(&read, i);
  }
  if (bitmap_is_clear_all(&read)) bitmap_set_bit(&read, first);
  table.all_partitions_pruned_away = false;
}

std::string partitions_read(const TABLE& table) {
  if (table.part_info == nullptr) return {};
  StringBuffer<STRING_BUFFER_USUAL_SIZE> names(system_charset_info);
  String_list each;
  make_used_partitions_str(table.in_use->mem_root, table.part_info, &names, each);
  return {names.ptr(), names.length()};
}

bool have_same_columns(const std::vector<HailstoneHandler*>& readers) {
  const TableDefinition& first = readers.front()->stored_table()->layout()->definition();
  for (const HailstoneHandler* reader : readers) {
    const TableDefinition& other = reader->stored_table()->layout()->definition();
    if (first.columns.size() != other.columns.size()) return false;
    for (size_t i = 0; i < first.columns.size(); ++i) {
      const Column &one = first.columns[i], &another = other.columns[i];
      if (one.type != another.type || one.width != another.width || one.collation != another.collation)
        return false;
    }
  }
  return true;
}

int open_scans(const std::vector<HailstoneHandler*>& readers,
               const std::shared_ptr<const Predicate>& predicate, const std::vector<uint16_t>& columns,
               std::optional<Scans>& to) {
  std::vector<std::unique_ptr<Scan>> scans(readers.size());
  for (size_t i = 0; i < readers.size(); ++i) {
    if (const int error = readers[i]->open_scan(predicate, columns, scans[i]); error != 0) return error;
  }
  to.emplace(std::move(scans));
  return 0;
}

uint64_t distinct_values(const std::vector<HailstoneHandler*>& readers, uint16_t column) {
  if (column == RecordFormat::not_stored) return 0;
  std::vector<std::shared_ptr<const Table>> tables;
  for (const HailstoneHandler* reader : readers) tables.push_back(reader->stored_table());
  return Table::distinct_values(tables, column);
}

}  // namespace hailstone
