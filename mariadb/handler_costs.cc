// What the optimizer asks about ways to read a table. docs/design/costs.md has the measurements.
// The unit is 0.4 microseconds: server/costed_handler.h says why.
#include <algorithm>

#include "ha_hailstone.h"
// clang-format off
#include <sql_select.h>
// clang-format on

namespace hailstone {

namespace {

/// Tables up to this size are read from the processor's cache; of bigger ones, rows in another order than
/// their own come from memory.
constexpr double cached_bytes = 2 << 20;

// A row by the clustered key, in its order: the cursor compares its sources.
constexpr double clustered_row = 0.25;
// A search by the clustered key, and an entry of a secondary index with its row: in the cache, and what the
// way to memory adds. A search takes about twice as long; but one of a whole key the server itself takes for
// as cheap as this, and it chooses between the two.
constexpr double key_search = 1, key_search_from_memory = 1.5;
constexpr double index_entry = 0.75, index_entry_from_memory = 1.25;
// What the columns that are not the index's add.
constexpr double other_columns = 0.25;

}  // namespace

double HailstoneHandler::share_from_memory() const {
  const auto bytes = static_cast<double>(stats.data_file_length + stats.index_file_length);
  return bytes <= cached_bytes ? 0 : 1 - cached_bytes / bytes;
}

double HailstoneHandler::scan_cost() {
  return entry({"scan_time", Returns::Nothing}, [&]() -> double {
    // Scans go by columns: those that are not read cost nothing.
    const double columns = static_cast<double>(std::max<size_t>(format_->column_count(), 1));
    const double wanted = std::max(1.0, static_cast<double>(bitmap_bits_set(table->read_set)));
    return 2.0 + static_cast<double>(stats.data_file_length) / IO_SIZE * std::min(1.0, wanted / columns);
  });
}

double HailstoneHandler::rows_cost(uint index, ulong ranges, ha_rows rows) {
  return entry({"read_time", Returns::Nothing, Argument::Index, index}, [&]() -> double {
    const auto row_count = static_cast<double>(rows);
    if (!is_clustering_key(index)) return static_cast<double>(ranges) + row_count * other_columns;
    return static_cast<double>(ranges) * (key_search + key_search_from_memory * share_from_memory()) +
           row_count * clustered_row;
  });
}

double HailstoneHandler::positions_cost(ha_rows rows) {
  return entry({"rnd_pos_time", Returns::Nothing}, [&]() -> double {
    return static_cast<double>(rows) * (index_entry + index_entry_from_memory * share_from_memory());
  });
}

double HailstoneHandler::entries_cost(uint index, ha_rows rows) {
  return entry({"keyread_time", Returns::Nothing, Argument::Index, index}, [&]() -> double {
    const auto row_count = static_cast<double>(rows);
    if (is_clustering_key(index)) return row_count * clustered_row;
    return row_count * (index_entry + index_entry_from_memory * share_from_memory());
  });
}

ha_rows HailstoneHandler::records_in_range(uint index, const key_range* low, const key_range* high,
                                           page_range*) {
  return entry({"records_in_range", Returns::Number, Argument::Bounds, index,
                (low != nullptr ? 1 : 0) + (high != nullptr ? 2 : 0)},
               [&]() -> ha_rows {
                 if (transaction_ == nullptr) take_newest_table();
                 std::string from;
                 std::string to;
                 if (low != nullptr) {
                   if (!encode_key(index, low->key, low->keypart_map, from)) return 10;
                   if (low->flag == HA_READ_AFTER_KEY) from = key_after_prefix(from);
                 }
                 if (high != nullptr) {
                   if (!encode_key(index, high->key, high->keypart_map, to)) return 10;
                   if (high->flag == HA_READ_AFTER_KEY) to = key_after_prefix(to);
                 }
                 return std::max<ha_rows>(1, entries_from(index, std::move(from), std::move(to)));
               });
}

uint64_t HailstoneHandler::entries_from(uint index, std::string from, std::string to) const {
  if (last_estimate_.index != index || last_estimate_.from != from || last_estimate_.to != to) {
    const uint64_t entries = table_->estimate_range(index, from, to);
    last_estimate_ = {.index = index, .from = std::move(from), .to = std::move(to), .entries = entries};
  }
  return last_estimate_.entries;
}

uint64_t HailstoneHandler::entries_between(uint index, const Value& low, const Value& high) const {
  const KeyCodec& codec = table_->key_codec(index);
  std::string from, to;
  if (!codec.append({&low, 1}, from) || !codec.append({&high, 1}, to)) return 0;
  if (to < from) from.swap(to);  // the index is a descending one
  return entries_from(index, std::move(from), key_after_prefix(to));
}

bool HailstoneHandler::order_matters(uint index) const {
  // The server reads a whole index that has all columns in the place of the table, and asks for its order
  // even where the query has no use for it. Its plan tells: the order of the first table stands for a sort,
  // or serves a semi-join that looks at the first row of each key.
  const JOIN_TAB* const plan = table->reginfo.join_tab;
  if (plan == nullptr || plan->join == nullptr) return true;
  if ((plan->type != JT_NEXT && plan->type != JT_HASH_NEXT) || plan->index != index) return true;
  return plan->loosescan_match_tab != nullptr || plan->join->ordered_index_usage != JOIN::ordered_index_void;
}

}  // namespace hailstone
