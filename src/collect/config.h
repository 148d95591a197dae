// What `hailstone collect` is told by its configuration file, in TOML; docs/collect.md has every key.
// Everything is checked when it is read: errors name file, line and the cure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/wall_time.h"
#include "text/input.h"

namespace hailstone {

struct ServerConfig {
  /// Of MariaDB's clients: where the server is, user, password. Empty: those that the clients read.
  std::string option_file;
  std::string option_group = "client";
  std::string database;
};

struct SpoolConfig {
  std::string directory;
  uint64_t limit_bytes = uint64_t{4} << 30;  // of each stream
};

/// A table that the collector writes to. It may make it, make its partitions ahead, and drop what is old.
struct TableConfig {
  static constexpr std::string_view day_placeholder = "{day}";

  std::string name;         // with {day} in it: a table a day
  std::string definition;   // what stands behind the name in CREATE TABLE; empty: the table is there
  std::string time_column;  // decides on the partition, or the day's table
  std::optional<TimeStep> partition;  // divides_time()
  TimeStep ahead{.count = 3, .unit = TimeStep::Unit::Day};
  std::optional<TimeStep> keep;  // what is older is dropped, by partitions or tables; nothing: never

  bool is_daily() const { return name.find(day_placeholder) != std::string::npos; }
  /// The name of the table for this day; the same for all unless it is a table a day.
  std::string name_of(WallTime day) const;
};

struct StreamConfig {
  enum class Source : uint8_t { StandardInput, File, Directory };

  std::string name;
  TableConfig table;
  Source source = Source::File;
  std::string path;              // of the file or directory
  std::string pattern = "*";     // of names in the directory
  bool follow_symlinks = false;  // that lead out of the directory
  TextOptions text;
  std::vector<std::string> columns;  // where the fields go; "-": nowhere. Empty: as the header says
  std::vector<std::string>
      fields;  // of rows that name them: which go to the columns. Empty: of the same names
  std::vector<std::pair<std::string, std::string>> computed;  // column, SQL expression
  std::vector<std::pair<std::string, std::string>> times;     // column, format that TimeReader takes
  std::string character_set = "utf8mb4";
  std::string time_zone;  // of the session, and of the times that are made; empty: the server's
  std::string reject_file;

  /// What the field is called that goes to the column at `place`.
  const std::string& field_of(size_t place) const { return fields.empty() ? columns[place] : fields[place]; }
  bool is_computed(std::string_view column) const;
  /// The format of this column's times; empty: they go to the server as they are.
  std::string time_format(std::string_view column) const;
  bool is_repeatable =
      false;  // a key makes records that come again harmless: engines without transactions may do
  uint64_t batch_records = 40'000;
};

/// A SELECT whose rows are stored in a table, for each period of time by itself.
struct SummaryConfig {
  std::string name;
  std::string stream;                                        // whose table it reads
  TableConfig table;                                         // that it writes to
  TimeStep every;                                            // divides_time()
  TimeStep delay{.count = 1, .unit = TimeStep::Unit::Hour};  // from a period's end to its jobs
  std::string
      for_each;        // column of the stream's table, each value of which has a job of its own; empty: none
  std::string select;  // with {table}, {begin}, {end}, {value}
};

/// For a period: how long after its end late records are waited for, where nothing is said.
TimeStep default_delay(const TimeStep& period);

struct CollectConfig {
  ServerConfig server;
  SpoolConfig spool;
  std::vector<StreamConfig> streams;
  std::vector<SummaryConfig> summaries;

  /// The stream of this name, which a summary has.
  const StreamConfig& stream_of(const SummaryConfig& summary) const;
  /// `text` is the content of the file of that name. ErrorCode::InvalidArgument.
  static Result<CollectConfig> parse(std::string_view text, const std::string& name);
  static Result<CollectConfig> read(const std::string& path);
};

}  // namespace hailstone
