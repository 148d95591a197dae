// The table that a stream's records go to, as the server has it, and the statements that load it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/load_text.h"
#include "collect/server_connection.h"

namespace hailstone {

/// What a connection is set to before it loads.
Status set_session(ServerConnection& connection, const StreamConfig& config);

/// The table's engine. ErrorCode::InvalidArgument: there is no such table, or its engine has no transactions.
Result<std::string> engine_of_table(ServerConnection& connection, const StreamConfig& config);

/// The name of the bookkeeping table for tables of this engine.
std::string bookkeeping_table(std::string_view engine);

/// LOAD DATA LOCAL of records of this layout.
std::string load_statement(const StreamConfig& config, const RecordLayout& layout);

/// Columns that need a value, for which neither the layout nor the stream's computed columns have one.
Result<std::vector<std::string>> columns_without_value(ServerConnection& connection,
                                                       const StreamConfig& config,
                                                       const RecordLayout& layout);

}  // namespace hailstone
