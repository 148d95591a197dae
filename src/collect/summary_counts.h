// How many records of a batch each job of the stream's summaries will have to read. One thread.
//
// A record's time, and the value that divides a summary, are read in the record. Where the server makes one
// of them (a computed column, a default, a generated column), both are read in a temporary table that the
// server has loaded the same records into.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "collect/batch.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {

class SummaryCounts {
 public:
  /// Those of `config`'s summaries that are of this stream.
  SummaryCounts(const CollectConfig& config, const StreamConfig& stream);

  bool empty() const { return summaries_.empty(); }
  /// Once the stream's table is known: makes the table of counts.
  Status prepare(ServerConnection& connection, const std::string& table, const std::string& engine,
                 const std::string& spool);
  /// Whether the server makes what records of this layout are counted by.
  bool is_made_by_server(const RecordLayout& layout) const;
  /// ErrorCode::InvalidArgument: nothing gives a column that records are counted by a value.
  Status check_layout(ServerConnection& connection, const std::string& table, const RecordLayout& layout);
  /// Forgets what was taken.
  void clear() { counts_.clear(); }
  /// Takes these records, where is_made_by_server() is false.
  void take(const Batch& batch, const Batch::Places& places);
  /// Takes the rows of a temporary table, where it is true.
  Status take_rows(ServerConnection& connection, const std::string& table);
  /// Adds what was taken to the counts, within the transaction that loads the records.
  Status store(ServerConnection& connection) const;

 private:
  bool is_in_records(const RecordLayout& layout, const std::string& column) const;
  void add(const SummaryConfig& summary, WallTime time, std::string value, uint64_t records);

  const StreamConfig& stream_;
  std::vector<const SummaryConfig*> summaries_;
  std::string table_, spool_;
  RecordLayout checked_;  // the last layout that was
  // In order, so that two deliveries never wait for each other. Values are in UTF-8 or in the records'
  // character set.
  std::map<std::tuple<std::string, WallTime, std::string>, uint64_t> counts_;
  std::string character_set_ = "utf8mb4";  // of the values
};

}  // namespace hailstone
