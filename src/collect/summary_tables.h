// The two tables by which summaries are kept track of: how many records each job has to read, and which jobs
// are done. A job is one summary of one period, for one value of the column that the summary is divided by.
//
// Counts are added by deliveries, in the transaction of the records; so a record that is in its table is
// counted. They are approximate in one way only: a record that was there already is counted again.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "collect/config.h"
#include "collect/load_text.h"
#include "collect/server_connection.h"

namespace hailstone {

/// Characters of a value that divides a summary, at most.
constexpr size_t longest_value = 191;

/// Names of the tables for tables of this engine.
std::string counts_table(std::string_view engine);
std::string jobs_table(std::string_view engine);

/// Makes them when they are not there.
Status make_counts_table(ServerConnection& connection, const std::string& engine);
Status make_jobs_table(ServerConnection& connection, const std::string& engine);

/// ErrorCode::InvalidArgument: values of the column that divides the summary can be longer than a count's.
Status check_value_column(ServerConnection& connection, const SummaryConfig& summary,
                          const std::string& table);

/// ErrorCode::InvalidArgument: nothing gives the column of the time, or the one that divides the summary, a
/// value: neither the records, which are of this layout, nor the stream's computed columns, nor the table.
Status check_counted_columns(ServerConnection& connection, const SummaryConfig& summary,
                             const StreamConfig& stream, const std::string& table,
                             const RecordLayout& layout);

/// The summary's SELECT for one job.
std::string select_statement(const SummaryConfig& summary, const StreamConfig& stream, WallTime begin,
                             const std::string& value);
/// The same, of this table.
std::string select_statement(const SummaryConfig& summary, const std::string& table, WallTime begin,
                             const std::string& value);

}  // namespace hailstone
