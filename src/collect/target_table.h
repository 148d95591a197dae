// The table that a stream's records go to, as the server has it, and the statements that load it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/load_text.h"
#include "collect/server_connection.h"
#include "collect/wall_time.h"

namespace hailstone {

/// What a connection is set to before it loads.
Status set_session(ServerConnection& connection, const StreamConfig& config);

/// What the server's clock shows in the connection's time zone.
Result<WallTime> server_time(ServerConnection& connection);

Result<bool> table_exists(ServerConnection& connection, const std::string& table);
/// The type of a table's column, as the server writes it; nothing: there is no such column.
Result<std::optional<std::string>> column_type(ServerConnection& connection, const std::string& table,
                                               const std::string& column);

/// Whether a primary or unique key, of columns that are NOT NULL and not the table's own numbers, tells rows
/// apart.
Result<bool> has_record_key(ServerConnection& connection, const std::string& table);

struct TargetEngine {
  std::string name;
  bool has_transactions = true;
};
/// The engine of this table. ErrorCode::NotFound: there is no such table. ErrorCode::InvalidArgument: the
/// engine has no transactions, and `is_repeatable` does not say that a key makes repeats harmless, or there
/// is no such key.
Result<TargetEngine> engine_of_table(ServerConnection& connection, const std::string& table,
                                     bool is_repeatable);

/// `prefix` and the engine's name in small letters.
std::string table_for_engine(std::string_view prefix, std::string_view engine);
/// The name of the bookkeeping table for tables of this engine.
std::string bookkeeping_table(std::string_view engine);

/// LOAD DATA LOCAL of records of this layout into this table; `is_ascii`: their text is nothing else.
std::string load_statement(const StreamConfig& config, const std::string& table, const RecordLayout& layout,
                           bool is_ascii);

/// ErrorCode::InvalidArgument: the table lacks a column that fields go to, or that is computed.
Status check_columns(ServerConnection& connection, const StreamConfig& config, const std::string& table,
                     const RecordLayout& layout);

/// Columns that need a value, for which neither the layout nor the stream's computed columns have one.
Result<std::vector<std::string>> columns_without_value(ServerConnection& connection,
                                                       const StreamConfig& config, const std::string& table,
                                                       const RecordLayout& layout);

}  // namespace hailstone
