// Makes tables and partitions before their time comes, and drops those whose rows are all older than is kept.
//
// What there is, the server says each time anew (information_schema); nothing is remembered but which tables
// of a day have been seen. Each change is one statement that is harmless when it comes twice (IF NOT EXISTS,
// IF EXISTS, names by time), so that two servers that replicate to each other may each have a collector;
// those of one server take turns by GET_LOCK. The clock is the server's NOW() in the connection's time zone.
//
// A partition, or a day's table, goes an hour after its last moment has become older than is kept, since a
// clock on the wall is set back by an hour at times.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/event_log.h"
#include "collect/server_connection.h"
#include "collect/wall_time.h"

namespace hailstone {

/// How a table's time column is written in bounds of partitions.
enum class TimeColumn : uint8_t { Date, DateTime, TimeStamp };

struct Partition {
  std::string name;
  WallTime end;  // its rows are before
};

/// The ends of the partitions to be made, in order: from `last` on, the last end that there is, so that there
/// are partitions for all times up to `until`. Nothing there yet: the first one ends after `now`.
std::vector<WallTime> missing_ends(std::optional<WallTime> last, WallTime now, WallTime until,
                                   const TimeStep& step);
/// Rows before this are not kept.
WallTime kept_from(WallTime now, const TimeStep& keep);

/// A table as it is, or one that is made for the connection alone by the definition of one that is not there
/// yet.
struct TableTrial {
  std::string table, engine;
};
/// Changes nothing; what keep_up() would refuse is an error here, too.
Result<TableTrial> try_table(ServerConnection& connection, const TableConfig& config, bool is_repeatable);

class TableUpkeep {
 public:
  /// `owner`: of events, a stream's or a summary's name.
  TableUpkeep(const TableConfig& config, std::string owner)
      : config_(config), owner_(std::move(owner)), trouble_(owner_) {}

  /// Does what is due: at once on a new connection, then once a minute. Not within a transaction.
  /// ErrorCode::Busy: what is missing could not be made now, and records of now would have no place.
  Status keep_up(ServerConnection& connection);
  /// A connection is new: all is looked at again.
  void forget();
  /// Sees to it that there is a table for this day. Not within a transaction.
  Status make_table_of(ServerConnection& connection, WallTime day);
  /// Of a table a day: whether a record of this time has a place, and if not, why. After keep_up().
  std::optional<std::string> refusal_of(WallTime time) const;
  /// What keep_up() would find wrong with the table, if it is there. Changes nothing.
  Status check(ServerConnection& connection);
  Status check_time_column(ServerConnection& connection, const std::string& table);
  /// The server's clock when it was asked last.
  WallTime now() const { return now_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Rows = std::vector<ServerConnection::Row>;

  Status work(ServerConnection& connection);
  Status keep_partitions(ServerConnection& connection);
  Status keep_days(ServerConnection& connection);
  Status drop_day(ServerConnection& connection, const std::string& table, WallTime day);
  /// What `change` does is done by one collector at a time.
  template <typename Change>
  Status alone(ServerConnection& connection, const Change& change);
  /// With the partitions that end at `ends`, if any.
  Status create(ServerConnection& connection, const std::string& table, const std::vector<WallTime>& ends);
  Result<TimeColumn> time_column_of(ServerConnection& connection, const std::string& table);
  /// By a temporary table, as the definition alone does not tell.
  Result<TimeColumn> time_column_of_definition(ServerConnection& connection);
  /// ErrorCode::InvalidArgument: it has none, or such as the collector does not know.
  Result<std::vector<Partition>> partitions_of(ServerConnection& connection, TimeColumn column);
  /// Only those that are later than the one before, as moments: where a clock is set forward, there are
  /// others.
  Result<std::vector<WallTime>> later_moments(ServerConnection& connection, TimeColumn column,
                                              std::optional<WallTime> last, std::vector<WallTime> ends);
  std::string partition_clause(TimeColumn column, WallTime end) const;

  const TableConfig& config_;
  const std::string owner_;
  Trouble trouble_;
  std::optional<Clock::time_point> looked_;
  WallTime now_;
  std::optional<WallTime> covered_until_;  // there are partitions for times before; nothing: for none
  bool failed_ = false;                    // the last work()
  std::set<WallTime> days_;                // tables of a day that are there
};

}  // namespace hailstone
